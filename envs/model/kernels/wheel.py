"""Timer wheels: counts that fire uniformly between two delays, in O(1) per insertion whatever the width.

A ring of differences: ``n`` owners that fire over [lo, hi) add n / (hi - lo) to the firing rate at step s + lo and
take it away at s + hi. The rate is the running sum. Insertion fixes the times, so delays may change in mid-run. There
are two wheels: a short one with a number per cohort and a long one with a number per class (the long timers all lead
back to the first attempt), because a ring as long as T3402 for every cohort would not fit a cache.
"""

from numba import njit

from signalstorm.envs.model.kernels.cohorts import sends_in_use
from signalstorm.envs.model.kernels.draws import D_DRAW, D_MEAN, D_PART, SCRATCH_COUNT, draw_poisson
from signalstorm.envs.model.kernels.layout import (
    C_COUNT,
    C_SCATTER,
    P_ATTEMPTS,
    P_CLASS,
    P_CLASS_TABLE,
    P_CLASSES,
    P_COHORTS,
    P_END,
    P_FIRED_SHORT,
    P_SCRATCH,
    P_SHORT,
    P_SHORT_DEBT,
    P_SHORT_LEVEL,
    P_SHORT_MASK,
    P_SHORT_STOCK,
    PC_ATTEMPTS,
    PC_COUNT,
    PC_FIRST,
    SERVICE,
    STREAMS,
    TIMERS,
)
from signalstorm.envs.model.kernels.memory import area, block

_TINY = 1e-12
"""[subscribers] smaller firings stay on the wheel: they would only breed denormal numbers."""


@njit(error_model="numpy")
def fire(base, ring_offset, mask, level_offset, stock_offset, step, lanes, used, fired_offset, tile):
    """Fire one step's owners into ``fired_offset`` (one number per lane and storm), overwriting it.

    Of the ``lanes`` of the wheel only the first ``used`` hold anybody.
    """
    ring = block(base, ring_offset + (step & mask) * lanes * len(tile), lanes, tile)
    level = block(base, level_offset, lanes, tile)
    stock = block(base, stock_offset, lanes, tile)
    fired = block(base, fired_offset, lanes, tile)
    for i in range(used * len(tile)):
        now = level[0, i] + ring[0, i]
        level[0, i] = now
        ring[0, i] = 0.0
        n = min(now, stock[0, i])
        n = n if n >= _TINY else 0.0
        stock[0, i] -= n
        fired[0, i] = n


@njit(error_model="numpy")
def fire_drawn(base, plan, step, tile):
    """Fire one step of the short wheel with the chance of timers that each handset draws for itself.

    A step fires a Poisson number whose mean is what is due; a debt (due so far less fired so far) evens out at the
    rate C_SCATTER, or sooner where the last ones are due, so that everybody fires once and in time. With less than one
    subscriber on the wheel, and in classes whose timers have no spread, it fires exactly what is due.
    """
    cohorts = plan[P_COHORTS]
    classes = plan[P_CLASSES]
    groups = sends_in_use(base, plan, tile) * classes
    ring = area(base, plan, P_SHORT, (step & plan[P_SHORT_MASK]) * cohorts * len(tile), cohorts, tile)
    level = area(base, plan, P_SHORT_LEVEL, 0, cohorts, tile)
    stock = area(base, plan, P_SHORT_STOCK, 0, cohorts, tile)
    debt = area(base, plan, P_SHORT_DEBT, 0, cohorts, tile)
    fired = area(base, plan, P_FIRED_SHORT, 0, cohorts, tile)
    d = area(base, plan, P_SCRATCH, 0, SCRATCH_COUNT, tile)
    for b in range(len(tile)):
        d[D_MEAN, b] = 0.0
        d[D_PART, b] = 0.0
    for group in range(groups):
        c = group % classes
        parameters = area(base, plan, P_CLASS, c * C_COUNT * len(tile), C_COUNT, tile)
        first = group // classes * plan[P_ATTEMPTS] + plan[plan[P_CLASS_TABLE] + c * PC_COUNT + PC_FIRST]
        for k in range(first, first + plan[plan[P_CLASS_TABLE] + c * PC_COUNT + PC_ATTEMPTS]):
            # In loops of few blocks each: the compiler would not vectorise one of many.
            for b in range(len(tile)):
                level[k, b] += ring[k, b]
                ring[k, b] = 0.0
            for b in range(len(tile)):
                # Of those that have not fired by the timers' spans, the share that these let fire now.
                now = level[k, b]
                share = now / max(stock[k, b] - debt[k, b], now) if now > _TINY else 1.0
                evening = max(parameters[C_SCATTER, b], share) if parameters[C_SCATTER, b] > 0.0 else 0.0
                fired[k, b] = min(max(now + evening * debt[k, b], 0.0), stock[k, b])
            for b in range(len(tile)):
                n = fired[k, b]
                held = stock[k, b]
                chance = parameters[C_SCATTER, b] > 0.0
                d[D_MEAN, b] += n if chance else 0.0
                d[D_PART, b] += held if chance else 0.0
    for b in range(len(tile)):
        d[D_MEAN, b] = d[D_MEAN, b] if d[D_PART, b] >= 1.0 else 0.0
    draw_poisson(base, plan, TIMERS * STREAMS + SERVICE, tile)
    for group in range(groups):
        c = group % classes
        parameters = area(base, plan, P_CLASS, c * C_COUNT * len(tile), C_COUNT, tile)
        first = group // classes * plan[P_ATTEMPTS] + plan[plan[P_CLASS_TABLE] + c * PC_COUNT + PC_FIRST]
        for k in range(first, first + plan[plan[P_CLASS_TABLE] + c * PC_COUNT + PC_ATTEMPTS]):
            for b in range(len(tile)):
                drawn = (parameters[C_SCATTER, b] > 0.0) & (d[D_MEAN, b] > 0.0)
                ratio = d[D_DRAW, b] / d[D_MEAN, b]
                n = min(fired[k, b] * (ratio if drawn else 1.0), stock[k, b])
                fired[k, b] = n if n >= _TINY else 0.0
            for b in range(len(tile)):
                debt[k, b] += level[k, b] - fired[k, b]
                stock[k, b] -= fired[k, b]


@njit(inline="always")
def put_all(base, plan, wheel, stocks, mask, lanes, step, counts, row, many, lane, low, high, tile):
    """Do as `put` does for ``many`` rows of ``counts`` and lanes at once, where all storms have the same delays.

    Gains a factor of four on the storm's commonest act, to send the refused away until their timers run out. ``wheel``
    and ``stocks`` are the entries of the plan that lead to the ring and to who waits on it.
    """
    ring = area(base, plan, wheel, 0, (mask + 1) * lanes, tile)
    stock = area(base, plan, stocks, 0, lanes, tile)
    end = plan[P_END]
    first = step + max(low, 1)
    last = max(step + high, first + 1)
    begin = (first & mask) * lanes + lane
    finish = (last & mask) * lanes + lane
    if last <= end:
        for i in range(many * len(tile)):
            n = max(counts[row, i], 0.0)
            rate = n / (last - first)
            stock[lane, i] += n
            ring[begin, i] += rate
            ring[finish, i] -= rate
        return
    for i in range(many * len(tile)):
        stock[lane, i] += max(counts[row, i], 0.0)
    if first <= end:
        for i in range(many * len(tile)):
            ring[begin, i] += max(counts[row, i], 0.0) / (last - first)


@njit(inline="always")
def put(base, ring_offset, mask, stock_offset, step, end, lanes, b, lane, n, low, high, tile):
    """Let ``n`` owners of storm ``b`` fire uniformly over the steps [step + low, step + high).

    ``low`` is at least 1. What would fire after ``end``, the horizon, only waits.
    """
    ring = block(base, ring_offset, (mask + 1) * lanes, tile)
    stock = block(base, stock_offset, lanes, tile)
    stock[lane, b] += n
    first = step + max(low, 1)
    last = max(step + high, first + 1)
    rate = n / (last - first)
    if first <= end:
        ring[(first & mask) * lanes + lane, b] += rate
        if last <= end:
            ring[(last & mask) * lanes + lane, b] -= rate
