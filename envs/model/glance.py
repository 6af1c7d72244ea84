"""What running storms show, read in one pass once per interval: an operator's counters, features, costs, KPIs.

Every number depends on its own storm alone and is worked out by the same instructions whatever the number of storms, so
a row of a batch shows what the storm shows alone, bit for bit. There is no function here that a compiler might replace
by a faster one of another rounding (``exp``, ``log``, powers): square roots are exact.

Compiled, but no part of the kernel: what is called here is defined here or in ``kernels``, so Numba's cache notices
every change.
"""

import math

import numpy as np
from numba import njit

from signalstorm.envs.model.kernels.layout import NEVER

RATE, LEVEL, REST, WAITING, OUTSTANDING, IS_DOWN, SUM = range(7)
"""How a quantity comes from its places: mean rate of their sum; the first as it stands; the first less the second; less
the larger of the others; less the sum of the others; whether it is 1; the sum of quantities worked out before."""
LIVE, FINAL = range(2)
"""Columns of places: a row's offset in a tile while a storm goes on, and once it is over (-1: it then reads 0)."""


@njit(inline="always")
def _at(memory, tile, b, places, i, over):
    """Return what a place holds for a storm."""
    if not over:
        return memory[tile, places[i, LIVE] + b]
    if places[i, FINAL] < 0:
        return 0.0
    return memory[tile, places[i, FINAL] + b]


@njit(error_model="numpy")
def _load(memory, tile, places, i, over, some_over, into):
    """Read a place for the storms of a tile."""
    live, final = places[i, LIVE], places[i, FINAL]
    for b in range(len(into)):
        into[b] = memory[tile, live + b]
    if some_over:
        for b in range(len(into)):
            if over[b]:
                into[b] = memory[tile, final + b] if final >= 0 else 0.0


@njit(nogil=True, cache=True, error_model="numpy")
def look(memory, width, over_at, program, places, before, seconds, out):
    """Work out all quantities of all storms, and keep the counters for the next time.

    Args:
        memory: Shape (tiles, numbers per tile).
        width: Storms per tile.
        over_at: Offset of the row that is at least 0 once a storm is over.
        program: Per quantity how it comes about, its first place, and how many; shape (quantities, 3).
        places: Offsets, of a `SUM` numbers of quantities; shape (places, 2).
        before: Counters at the last time, brought up to date; shape (quantities, storms).
        seconds: Time since then [s].
        out: Filled; shape (quantities, storms).
    """
    for tile in range(len(memory)):
        first = tile * width
        count = min(width, out.shape[1] - first)
        over = np.empty(count, np.bool_)
        some_over = False
        for b in range(count):
            over[b] = memory[tile, over_at + b] >= 0.0
            some_over |= over[b]
        other, another = np.empty(count), np.empty(count)
        for q in range(len(program)):
            kind, i, parts = program[q, 0], program[q, 1], program[q, 2]
            found = out[q, first : first + count]
            if kind == SUM:
                found[:] = 0.0
                for part in range(i, i + parts):
                    found += out[places[part, LIVE], first : first + count]
                continue
            _load(memory, tile, places, i, over, some_over, found)
            if kind == RATE:
                for part in range(i + 1, i + parts):
                    _load(memory, tile, places, part, over, some_over, other)
                    found += other
                last = before[q, first : first + count]
                for b in range(count):
                    now = found[b]
                    found[b] = (now - last[b]) / seconds
                    last[b] = now
            elif kind == REST:
                _load(memory, tile, places, i + 1, over, some_over, other)
                found -= other
            elif kind in (WAITING, OUTSTANDING):
                _load(memory, tile, places, i + 1, over, some_over, other)
                _load(memory, tile, places, i + 2, over, some_over, another)
                for b in range(count):
                    found[b] -= max(other[b], another[b]) if kind == WAITING else other[b] + another[b]
            elif kind == IS_DOWN:
                for b in range(count):
                    found[b] = 1.0 if found[b] == 1.0 else 0.0


@njit(nogil=True, cache=True, error_model="numpy")
def begin(memory, width, over_at, program, places, before, rows):
    """Take the counters of some storms as they stand for those of the last time; arguments as for `look`."""
    for row in rows:
        tile, b = row // width, row % width
        over = memory[tile, over_at + b] >= 0.0
        for q in range(len(program)):
            if program[q, 0] == RATE:
                value = 0.0
                for part in range(program[q, 1], program[q, 1] + program[q, 2]):
                    value += _at(memory, tile, b, places, part, over)
                before[q, row] = value


@njit(nogil=True, cache=True, error_model="numpy")
def fetch(memory, width, over_at, places, rows, out):
    """Read places of some storms.

    Args:
        memory: Shape (tiles, numbers per tile).
        width: Storms per tile.
        over_at: As for `look`.
        places: Shape (places, 2).
        rows: Numbers of storms; shape (rows,).
        out: Filled; shape (places, rows).
    """
    for r in range(len(rows)):
        tile, b = rows[r] // width, rows[r] % width
        over = memory[tile, over_at + b] >= 0.0
        for i in range(len(places)):
            out[i, r] = _at(memory, tile, b, places, i, over)


@njit(inline="always")
def _share(part, whole):
    """Return a share, 0 where there is nothing to share."""
    return part / whole if whole > 0.0 else 0.0


@njit(nogil=True, cache=True, error_model="numpy")
def scale(table, shown, per_unit, rooted, shares, accepts, spans, averages, counts, out):
    """Turn quantities into features from 0 to 1.

    Args:
        table: Shape (quantities, storms).
        shown: Numbers of the quantities that are features; shape (shown,).
        per_unit: What each is multiplied by; shape (shown,).
        rooted: Whether its fourth root is shown; shape (shown,).
        shares: Numbers of part, whole, and what is added to the whole (-1: nothing); shape (shares, 3).
        accepts: Number of the quantity whose trend is seen.
        spans: Intervals of the averages; shape (trends,).
        averages: Brought up to date; shape (trends, storms).
        counts: Intervals seen, brought up to date; shape (storms,).
        out: Filled; float32, shape (storms, features).
    """
    storms = table.shape[1]
    found = np.empty(storms)
    for f in range(len(shown)):
        q, factor = shown[f], per_unit[f]
        if rooted[f]:
            for r in range(storms):
                found[r] = min(math.sqrt(math.sqrt(max(table[q, r] * factor, 0.0))), 1.0)
        else:
            for r in range(storms):
                found[r] = min(max(table[q, r] * factor, 0.0), 1.0)
        for r in range(storms):
            out[r, f] = found[r]
    first = len(shown)
    for s in range(len(shares)):
        for r in range(storms):
            whole = table[shares[s, 1], r]
            if shares[s, 2] >= 0:
                whole += table[shares[s, 2], r]
            out[r, first + s] = min(_share(table[shares[s, 0], r], whole), 1.0)
    first += len(shares)
    for r in range(storms):
        counts[r] += 1.0
        now = table[accepts, r]
        for t in range(len(spans)):
            averages[t, r] += (now - averages[t, r]) / min(counts[r], spans[t])
            out[r, first + t] = min(_share(now, now + averages[t, r]), 1.0)


LOST, ATTEMPTS, WITHOUT, STEADY, CONVERGED, HEALTHY, STORMED, POPULATION, OFFSET, REFUSED = range(10)
"""What `cost` reads, in this order; from `REFUSED` on all that was refused or dropped."""


@njit(nogil=True, cache=True, error_model="numpy")
def start_costs(memory, width, over_at, places, before, rows):
    """Take what has been counted of some storms for that of the last time; arguments as for `cost`."""
    for row in rows:
        tile, b = row // width, row % width
        over = memory[tile, over_at + b] >= 0.0
        for i in range(len(places)):
            before[i, row] = _at(memory, tile, b, places, i, over)


@njit(nogil=True, cache=True, error_model="numpy")
def cost(memory, width, over_at, places, before, clock, closed, out, over):
    """Work out what an interval cost.

    Args:
        memory: Shape (tiles, numbers per tile).
        width: Storms per tile.
        over_at: As for `look`.
        places: In the order of `LOST` and so on; shape (places, 2).
        before: What they held at the last time, brought up to date; shape (places, storms).
        clock: Step of the batch, steps since the last time, last step in which something happens.
        closed: Whether nobody is without service in steady state.
        out: Filled with the share of subscribers without service beyond the steady one (mean of the interval), the
            share of requests refused or dropped, the share without service at the end, and at the beginning, and
            whether the storm lasts; shape (5, storms).
        over: Filled: healthy again, with nothing more to come; shape (storms,).
    """
    step, steps, last_event = clock
    for row in range(out.shape[1]):
        tile, b = row // width, row % width
        done = memory[tile, over_at + b] >= 0.0
        population = _at(memory, tile, b, places, POPULATION, done)
        steady = 0.0 if closed else _at(memory, tile, b, places, STEADY, done)
        lost = _at(memory, tile, b, places, LOST, done)
        attempts = _at(memory, tile, b, places, ATTEMPTS, done)
        without = _at(memory, tile, b, places, WITHOUT, done)
        refused = 0.0
        for i in range(REFUSED, len(places)):
            now = _at(memory, tile, b, places, i, done)
            refused += now - before[i, row]
            before[i, row] = now
        asked = attempts - before[ATTEMPTS, row]
        out[0, row] = max((lost - before[LOST, row]) / steps - steady, 0.0) / population
        out[1, row] = min(_share(refused, asked), 1.0)
        out[2, row] = max(without - steady, 0.0) / population
        out[3, row] = max(before[WITHOUT, row] - steady, 0.0) / population
        converged = _at(memory, tile, b, places, CONVERGED, done) >= 0.0
        unhealthy = _at(memory, tile, b, places, HEALTHY, done) < 0.0
        healthy = closed or not unhealthy
        stormed = _at(memory, tile, b, places, STORMED, done) > 0.0
        out[4, row] = 1.0 if stormed and unhealthy and not converged else 0.0
        over[row] = converged and healthy and step - _at(memory, tile, b, places, OFFSET, done) > last_event
        before[LOST, row], before[ATTEMPTS, row], before[WITHOUT, row] = lost, attempts, without


@njit(nogil=True, cache=True, error_model="numpy")
def judge(costs, table, congested, links, loads, limit, change, over, weights, gamma, parts, reward):
    """Weigh an interval's costs, and add them.

    Args:
        costs: As `cost` fills them.
        table: Quantities; shape (quantities, storms).
        congested: Number of the quantity that counts links with an alarm, -1 without links.
        links: How many links there are.
        loads: Numbers of the quantities that are processors' utilisation.
        limit: Utilisation that costs nothing [share].
        change: How far knobs were moved; shape (storms,).
        over: Storms that are over for good.
        weights: Of the six terms; shape (6,).
        gamma: Discount of the shaping, NaN for none.
        parts: Filled with the weighted terms, at last the shaping; shape (terms, storms).
        reward: Filled with their sum; shape (storms,).
    """
    for row in range(len(reward)):
        load = 0.0
        for i in range(len(loads)):
            load = max(load, table[loads[i], row])
        parts[0, row] = -weights[0] * costs[0, row]
        parts[1, row] = -weights[1] * costs[1, row]
        parts[2, row] = -weights[2] * (table[congested, row] / links if congested >= 0 else 0.0)
        parts[3, row] = -weights[3] * max(load - limit, 0.0)
        parts[4, row] = -weights[4] * change[row]
        parts[5, row] = -weights[5] * costs[4, row]
        if not math.isnan(gamma):
            parts[6, row] = costs[3, row] - gamma * (0.0 if over[row] else costs[2, row])
        total = 0.0
        for i in range(len(parts)):
            total += parts[i, row]
        reward[row] = total


@njit(nogil=True, cache=True, error_model="numpy")
def sum_up(raw, dt, origin_s, watched_s, bin_s, out):
    """Work out the KPIs of storms.

    Args:
        raw: Whether there was a storm, when it was over [steps], subscriber-steps lost, most requests of a bin and
            those of the present bin, requests refused in three ways, late, then what is taken as it is; shape
            (counters, storms).
        dt: Length of a step [s].
        origin_s: From when the time to convergence is counted [s].
        watched_s: How long is watched from then [s].
        bin_s: Length of a bin [s].
        out: Filled: whether there was a storm, whether it is over, time to convergence (NaN if not), the same or all
            that was watched, subscriber-hours lost, highest rate of requests, failures, refusals, the rest of ``raw``.
    """
    for r in range(raw.shape[1]):
        stormed = raw[0, r] > 0.0
        time = max(raw[1, r] * dt - origin_s, 0.0) if raw[1, r] >= 0.0 else math.nan
        time = time if stormed else 0.0
        out[0, r] = 1.0 if stormed else 0.0
        out[1, r] = 0.0 if math.isnan(time) else 1.0
        out[2, r] = time
        out[3, r] = watched_s if math.isnan(time) else min(time, watched_s)
        out[4, r] = raw[2, r] * dt / 3600.0
        out[5, r] = max(raw[3, r], raw[4, r]) / bin_s
        out[6, r] = raw[7, r] + raw[8, r]
        out[7, r] = raw[5, r] + raw[6, r] + raw[7, r]
        for i in range(8, len(out)):
            out[i, r] = raw[i + 1, r]


@njit(nogil=True, cache=True, error_model="numpy")
def follow(factors, now, completed, low, high):
    """Return what was completed times a factor, the present value where nothing is known.

    Args:
        factors: Shape (rows, knobs).
        now: Present values; shape (rows, knobs).
        completed: NaN where nothing is known; shape (rows,).
        low: What counts as completed at least, and the least present value; shape (knobs,).
        high: The highest present value.

    Returns:
        Shape (rows, knobs).
    """
    found = np.empty_like(now)
    for row in range(len(now)):
        for k in range(len(low)):
            base = max(completed[row], low[k])
            if math.isnan(completed[row]):
                base = min(max(now[row, k], low[k]), high[k])
            found[row, k] = base * factors[row, k]
    return found


@njit(nogil=True, cache=True, error_model="numpy")
def move(wanted, now, idle, cool_down, grid, low, high, ratios):
    """Bring wanted values onto the grid and into range, leave alone what still cools down, and count the changes.

    Args:
        wanted: Shape (rows, knobs); becomes the values in force.
        now: Values in force so far.
        idle: Intervals since each knob changed, brought up to date.
        cool_down: Intervals that must lie between two changes; shape (knobs,).
        grid: Step of each knob.
        low: Its lowest value.
        high: Its highest.
        ratios: Filled with new over old value, both within their range; shape (rows, knobs).

    Returns:
        The number of changes of each row.
    """
    changes = np.zeros(len(wanted))
    for row in range(len(wanted)):
        for k in range(len(grid)):
            value = now[row, k]
            if not idle[row, k] < cool_down[k]:
                value = min(max(np.rint(wanted[row, k] / grid[k]) * grid[k], low[k]), high[k])
            if value != now[row, k]:
                changes[row] += 1.0
                idle[row, k] = 0.0
            idle[row, k] += 1.0
            ratios[row, k] = min(max(value, low[k]), high[k]) / min(max(now[row, k], low[k]), high[k])
            wanted[row, k] = value
    return changes


@njit(nogil=True, cache=True, error_model="numpy")
def fit_queue(settings, fields, held_s, lowest, highest):
    """Give the gate the queue that the command would have, as ``effective_queue`` does for one setting.

    Args:
        settings: Setting vectors, whose queue is filled in; shape (rows, fields).
        fields: Numbers of the fields for rate, wait and queue.
        held_s: How long a full queue waits, NaN for the default length; shape (rows,) [s].
        lowest: Shortest legal queue.
        highest: Longest.
    """
    for row in range(len(settings)):
        rate = settings[row, fields[0]]
        default = np.rint(rate * settings[row, fields[1]])
        queue = min(highest, default)
        if not math.isnan(held_s[row]):
            queue = min(max(np.rint(rate * held_s[row]), lowest, math.ceil(rate)), queue)
        if default < lowest:
            queue = default
        settings[row, fields[2]] = NEVER if rate >= NEVER else queue


@njit(nogil=True, cache=True, error_model="numpy")
def set_gate(memory, width, rows, settings, fields, dt):
    """Write rate, queue and patience into the gate's queue block; rows beyond the batch get the last one's.

    Args:
        memory: Shape (tiles, numbers per tile).
        width: Storms per tile.
        rows: Offsets of the rows for the mean of a step, the capacity and the patience.
        settings: Setting vectors; shape (rows, fields).
        fields: Numbers of the fields for rate, wait and queue.
        dt: Length of a step [s].
    """
    for tile in range(len(memory)):
        for b in range(width):
            row = min(tile * width + b, len(settings) - 1)
            rate, wait, queue = settings[row, fields[0]], settings[row, fields[1]], settings[row, fields[2]]
            memory[tile, rows[0] + b] = NEVER if rate >= NEVER else rate * dt
            memory[tile, rows[1] + b] = queue
            # Older than the wait, not just as old.
            memory[tile, rows[2] + b] = max(np.rint(wait / dt), 1.0) + 1.0
