"""Subscribers: demand, churn, and what a handset does after an answer, a refusal or silence (TS 24.301)."""

import numpy as np
from numba import njit

from signalstorm.envs.model.kernels.draws import D_DRAW, D_MEAN, SCRATCH_COUNT, draw_poisson
from signalstorm.envs.model.kernels.layout import (
    C_CHURN,
    C_COUNT,
    C_HONOURS,
    C_REFUSED_HIGH,
    C_REFUSED_LONG_HIGH,
    C_REFUSED_LONG_LOW,
    C_REFUSED_LOW,
    C_RESPONSE_HIGH,
    C_RESPONSE_LOW,
    C_RETRY_IS_RESPONSE,
    C_SILENT_HIGH,
    C_SILENT_LONG_HIGH,
    C_SILENT_LONG_LOW,
    C_SILENT_LOW,
    DEMAND,
    K_COUNT,
    K_LATE,
    K_REFUSED_NETWORK,
    K_STEP_ATTEMPTS,
    K_STEP_SESSIONS,
    K_SUCCESSES,
    P_ACCEPT,
    P_ARRIVE,
    P_CHURN,
    P_CLASS,
    P_CLASS_TABLE,
    P_CLASSES,
    P_COHORTS,
    P_END,
    P_FIRED_LONG,
    P_FIRED_SHORT,
    P_IDLE,
    P_KPI,
    P_LONG,
    P_LONG_LEVEL,
    P_LONG_MASK,
    P_LONG_STOCK,
    P_PACED,
    P_PROC,
    P_REFUSE,
    P_REGISTERED,
    P_SCATTER,
    P_SCRATCH,
    P_SESSIONS,
    P_SHORT,
    P_SHORT_LEVEL,
    P_SHORT_MASK,
    P_SHORT_STOCK,
    P_STOCHASTIC,
    P_STORM,
    PC_COHORTS,
    PC_COUNT,
    PC_FIRST,
    PC_LIMITED,
    S_COUNT,
    S_DEMAND,
    S_DEMAND_DRAW,
    S_DEMAND_FROM,
    S_T3346_HIGH,
    S_T3346_LOW,
    SERVICE,
    STREAMS,
)
from signalstorm.envs.model.kernels.memory import block, flat
from signalstorm.envs.model.kernels.wheel import fire, fire_drawn, put


@njit
def request(base, plan, step, tile):
    """Collect this step's requests: timers that fire, idle subscribers switched on, power-cycles."""
    cohorts = plan[P_COHORTS]
    classes = plan[P_CLASSES]
    share = cohorts + 1
    width = len(tile)
    if plan[P_SCATTER]:
        fire_drawn(base, plan, step, tile)
    else:
        fire(
            base, plan[P_SHORT], plan[P_SHORT_MASK], plan[P_SHORT_LEVEL], plan[P_SHORT_STOCK], step, cohorts,
            plan[P_FIRED_SHORT], tile,
        )  # fmt: skip
    fire(
        base, plan[P_LONG], plan[P_LONG_MASK], plan[P_LONG_LEVEL], plan[P_LONG_STOCK], step, classes,
        plan[P_FIRED_LONG], tile,
    )  # fmt: skip
    _demand(base, plan, step, tile)
    kpi = block(base, plan[P_KPI], K_COUNT, tile)
    storm = block(base, plan[P_STORM], S_COUNT, tile)
    arrive = flat(base, plan[P_ARRIVE], width * share)
    short = flat(base, plan[P_FIRED_SHORT], width * cohorts)
    long = flat(base, plan[P_FIRED_LONG], width * classes)
    idle = flat(base, plan[P_IDLE], width * classes)
    proc = flat(base, plan[P_PROC], width * cohorts)
    registered = flat(base, plan[P_REGISTERED], width * classes)
    for b in range(width):
        for k in range(cohorts):
            arrive[b * share + k] = short[b * cohorts + k]
        waiting = 0.0
        for c in range(classes):
            waiting += idle[b * classes + c]
        switched = min(storm[S_DEMAND_DRAW, b], waiting)
        part = switched / waiting if switched > 0.0 else 0.0
        for c in range(classes):
            first = plan[plan[P_CLASS_TABLE] + c * PC_COUNT + PC_FIRST]
            on = part * idle[b * classes + c]
            idle[b * classes + c] = idle[b * classes + c] - on if part < 1.0 else 0.0
            cycled = 0.0
            if plan[P_CHURN]:
                parameters = block(base, plan[P_CLASS] + c * C_COUNT * width, C_COUNT, tile)
                cycled = parameters[C_CHURN, b] * registered[b * classes + c]
                registered[b * classes + c] -= cycled
            arrive[b * share + first] += long[b * classes + c] + on + cycled
        total = 0.0
        for k in range(cohorts):
            total += arrive[b * share + k]
            proc[b * cohorts + k] += arrive[b * share + k]
        arrive[b * share + cohorts] = total * step
        kpi[K_STEP_ATTEMPTS, b] = total


@njit(inline="always")
def _demand(base, plan, step, tile):
    """Number of idle subscribers that the demand wants to switch on in this step."""
    storm = block(base, plan[P_STORM], S_COUNT, tile)
    if plan[P_PACED] or not plan[P_STOCHASTIC]:
        for b in range(len(tile)):
            storm[S_DEMAND_DRAW, b] = storm[S_DEMAND, b]
    else:
        d = block(base, plan[P_SCRATCH], SCRATCH_COUNT, tile)
        for b in range(len(tile)):
            d[D_MEAN, b] = storm[S_DEMAND, b]
        draw_poisson(base, plan, step, DEMAND * STREAMS + SERVICE, tile)
        for b in range(len(tile)):
            storm[S_DEMAND_DRAW, b] = d[D_DRAW, b]
    for b in range(len(tile)):
        storm[S_DEMAND_DRAW, b] = storm[S_DEMAND_DRAW, b] if step >= storm[S_DEMAND_FROM, b] else 0.0


@njit
def conclude(base, plan, step, tile):
    """Let the handsets take note of this step's accepts and refusals."""
    share = plan[P_COHORTS] + 1
    kpi = block(base, plan[P_KPI], K_COUNT, tile)
    accepted = flat(base, plan[P_ACCEPT], len(tile) * share)
    refused = flat(base, plan[P_REFUSE], len(tile) * share)
    for b in range(len(tile)):
        yes = 0.0
        no = 0.0
        for k in range(share - 1):
            yes += accepted[b * share + k]
            no += refused[b * share + k]
        if plan[P_SESSIONS] == -1:
            kpi[K_STEP_SESSIONS, b] += yes
        if yes > 0.0:
            _accept(base, plan, b, yes, step, tile)
        if no > 0.0:
            kpi[K_REFUSED_NETWORK, b] += no
            refuse(base, plan, b, plan[P_REFUSE] + b * share, step, tile)
        for k in range(share):
            accepted[b * share + k] = 0.0
            refused[b * share + k] = 0.0


@njit(inline="always")
def _accept(base, plan, b, total, step, tile):
    """Register those whose handset still waits; the others have given up, so the work was wasted."""
    cohorts = plan[P_COHORTS]
    classes = plan[P_CLASSES]
    share = cohorts + 1
    kpi = block(base, plan[P_KPI], K_COUNT, tile)
    accepted = flat(base, plan[P_ACCEPT] + b * share, share)
    registered = flat(base, plan[P_REGISTERED] + b * classes, classes)
    proc = flat(base, plan[P_PROC] + b * cohorts, cohorts)
    age = step - accepted[cohorts] / total
    late = 0.0
    for c in range(classes):
        parameters = block(base, plan[P_CLASS] + c * C_COUNT * len(tile), C_COUNT, tile)
        gone = _elapsed(age, parameters[C_RESPONSE_LOW, b], parameters[C_RESPONSE_HIGH, b])
        first = plan[plan[P_CLASS_TABLE] + c * PC_COUNT + PC_FIRST]
        for k in range(first, first + plan[plan[P_CLASS_TABLE] + c * PC_COUNT + PC_COHORTS]):
            n = accepted[k]
            served = n * (1.0 - gone)
            registered[c] += served
            proc[k] -= served
            kpi[K_SUCCESSES, b] += served
            accepted[k] = n - served
            late += n - served
    if late > 0.0:
        kpi[K_LATE, b] += late
        accepted[cohorts] = late * (step - age)
        silence(base, plan, b, plan[P_ACCEPT] + b * share, True, step, tile)


@njit
def _elapsed(age, low, high):
    """Share of timers, uniform between ``low`` and ``high``, that have run out at ``age``."""
    if age >= high:
        return 1.0
    if age <= low:
        return 0.0
    return (age - low) / (high - low)


@njit
def silence(base, plan, b, start, gave_up, step, tile):
    """Send storm ``b``'s unanswered handsets on their way: the next try counts from when they had sent.

    ``gave_up``: their response timer has run out already; where it is the retry timer too, they send at once.
    """
    cohorts = plan[P_COHORTS]
    classes = plan[P_CLASSES]
    payload = flat(base, start, cohorts + 1)
    proc = flat(base, plan[P_PROC] + b * cohorts, cohorts)
    total = 0.0
    for k in range(cohorts):
        total += payload[k]
    if total <= 0.0:
        return
    age = int(np.rint(step - payload[cohorts] / total))
    for c in range(classes):
        parameters = block(base, plan[P_CLASS] + c * C_COUNT * len(tile), C_COUNT, tile)
        first = plan[plan[P_CLASS_TABLE] + c * PC_COUNT + PC_FIRST]
        last = first + plan[plan[P_CLASS_TABLE] + c * PC_COUNT + PC_COHORTS] - 1
        limited = plan[plan[P_CLASS_TABLE] + c * PC_COUNT + PC_LIMITED]
        low = int(parameters[C_SILENT_LOW, b]) - age
        high = int(parameters[C_SILENT_HIGH, b]) - age
        past = 0.0
        if gave_up and parameters[C_RETRY_IS_RESPONSE, b] > 0.0:
            past = 1.0
        elif low < 1:
            # Timers that ran out while the network held the request fire in the next step.
            past = _elapsed(1.0, np.float64(low), np.float64(high))
        for k in range(first, last + 1):
            n = payload[k]
            if n <= 0.0:
                continue
            proc[k] -= n
            if limited and k == last:
                long_low = int(parameters[C_SILENT_LONG_LOW, b]) - age
                long_high = int(parameters[C_SILENT_LONG_HIGH, b]) - age
                put_long(base, plan, b, c, n, long_low, long_high, step, tile)
            else:
                target = k + limited
                if past > 0.0:
                    _put_short(base, plan, b, target, n * past, 1, 2, step, tile)
                if past < 1.0:
                    _put_short(base, plan, b, target, n * (1.0 - past), low, high, step, tile)


@njit
def refuse(base, plan, b, start, step, tile):
    """Send storm ``b``'s refused handsets on their way: the next try counts from the refusal."""
    cohorts = plan[P_COHORTS]
    payload = flat(base, start, cohorts + 1)
    proc = flat(base, plan[P_PROC] + b * cohorts, cohorts)
    for c in range(plan[P_CLASSES]):
        parameters = block(base, plan[P_CLASS] + c * C_COUNT * len(tile), C_COUNT, tile)
        first = plan[plan[P_CLASS_TABLE] + c * PC_COUNT + PC_FIRST]
        last = first + plan[plan[P_CLASS_TABLE] + c * PC_COUNT + PC_COHORTS] - 1
        limited = plan[plan[P_CLASS_TABLE] + c * PC_COUNT + PC_LIMITED]
        low = int(parameters[C_REFUSED_LOW, b])
        high = int(parameters[C_REFUSED_HIGH, b])
        for k in range(first, last + 1):
            n = payload[k]
            if n <= 0.0:
                continue
            proc[k] -= n
            if limited and k == last:
                long_low = int(parameters[C_REFUSED_LONG_LOW, b])
                long_high = int(parameters[C_REFUSED_LONG_HIGH, b])
                put_long(base, plan, b, c, n, long_low, long_high, step, tile)
            else:
                _put_short(base, plan, b, k + limited, n, low, high, step, tile)


@njit
def back_off(base, plan, b, start, step, tile):
    """Start T3346 in the handsets that honour it, and leave the others in the payload."""
    cohorts = plan[P_COHORTS]
    storm = block(base, plan[P_STORM], S_COUNT, tile)
    payload = flat(base, start, cohorts + 1)
    proc = flat(base, plan[P_PROC] + b * cohorts, cohorts)
    low = int(storm[S_T3346_LOW, b])
    high = int(storm[S_T3346_HIGH, b])
    for c in range(plan[P_CLASSES]):
        parameters = block(base, plan[P_CLASS] + c * C_COUNT * len(tile), C_COUNT, tile)
        first = plan[plan[P_CLASS_TABLE] + c * PC_COUNT + PC_FIRST]
        for k in range(first, first + plan[plan[P_CLASS_TABLE] + c * PC_COUNT + PC_COHORTS]):
            n = payload[k] * parameters[C_HONOURS, b]
            if n > 0.0:
                proc[k] -= n
                payload[k] -= n
                put_long(base, plan, b, c, n, low, high, step, tile)


@njit(inline="always")
def _put_short(base, plan, b, cohort, n, low, high, step, tile):
    put(
        base, plan[P_SHORT], plan[P_SHORT_MASK], plan[P_SHORT_STOCK], step, plan[P_END], plan[P_COHORTS], b, cohort,
        n, low, high, tile,
    )  # fmt: skip


@njit(inline="always")
def put_long(base, plan, b, c, n, low, high, step, tile):
    """Let ``n`` of storm ``b`` and class ``c`` make a first attempt after ``low`` to ``high`` steps."""
    put(
        base, plan[P_LONG], plan[P_LONG_MASK], plan[P_LONG_STOCK], step, plan[P_END], plan[P_CLASSES], b, c,
        n, low, high, tile,
    )  # fmt: skip
