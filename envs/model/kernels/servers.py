"""Servers: a zombie deadline queue, its draw of capacity, delayed answers, repeats of unanswered requests."""

from numba import njit

from signalstorm.envs.model.kernels.draws import D_DRAW, D_MEAN, SCRATCH_COUNT, draw_poisson
from signalstorm.envs.model.kernels.layout import (
    FIRST_SERVER,
    FOREIGN,
    K_COUNT,
    K_STEP_SESSIONS,
    P_COHORTS,
    P_KPI,
    P_REFUSE,
    P_SCRATCH,
    P_SERVER_TABLE,
    P_SESSIONS,
    P_STOCHASTIC,
    PS_BLOCK,
    PS_COUNT,
    PS_DELAY,
    PS_DELAY_MASK,
    PS_ELEMENT,
    PS_INFLOW,
    PS_LINES,
    PS_LOST_RING,
    PS_MASK,
    PS_OUT,
    PS_OWN_RING,
    PS_REPEAT_TO,
    PS_REPEATS,
    PS_RING,
    PS_SERVED_RING,
    PS_STAGES,
    PS_STRIDE0,
    PS_TO0,
    PS_WIDTH,
    Q_BURST,
    Q_COUNT,
    Q_DRAW,
    Q_EXPIRED,
    Q_FOREIGN,
    Q_FOREIGN_IN,
    Q_FRESH,
    Q_IN,
    Q_LATENCY,
    Q_MEAN,
    Q_OVER,
    Q_PATIENCE,
    Q_REFUSES,
    Q_REPEAT,
    Q_REPEATED,
    Q_REPEATS,
    Q_SERVED_SUM,
    Q_SUM_REPEATED,
    Q_TIMER,
    SERVICE,
    STREAMS,
)
from signalstorm.envs.model.kernels.memory import block, flat
from signalstorm.envs.model.kernels.queue import advance, collect


@njit
def serve(base, plan, server, step, tile):
    """Advance one server by one step: what it was offered, what it answers, what fails."""
    at = plan[P_SERVER_TABLE] + server * PS_COUNT
    offset = plan[at + PS_BLOCK]
    q = block(base, offset, Q_COUNT, tile)
    _offer(base, plan, at, step, server == plan[P_SESSIONS], tile)
    if plan[P_STOCHASTIC]:
        d = block(base, plan[P_SCRATCH], SCRATCH_COUNT, tile)
        for b in range(len(tile)):
            d[D_MEAN, b] = q[Q_MEAN, b]
        draw_poisson(base, plan, step, (FIRST_SERVER + plan[at + PS_ELEMENT]) * STREAMS + SERVICE, tile)
        for b in range(len(tile)):
            q[Q_DRAW, b] = d[D_DRAW, b]
    else:
        for b in range(len(tile)):
            q[Q_DRAW, b] = q[Q_MEAN, b]
    advance(base, offset, plan[at + PS_RING], plan[at + PS_MASK], step, False, tile)
    if plan[at + PS_REPEATS]:
        _repeat(base, plan, at, step, tile)
    _answer(base, plan, at, step, tile)


@njit(inline="always")
def _offer(base, plan, at, step, sessions, tile):
    """Add up what this step brings: own requests, foreign messages, bursts."""
    q = block(base, plan[at + PS_BLOCK], Q_COUNT, tile)
    stages = plan[at + PS_STAGES]
    cohorts = plan[P_COHORTS]
    payload = plan[at + PS_WIDTH]
    inflow = flat(base, plan[at + PS_INFLOW], len(tile) * payload)
    kpi = block(base, plan[P_KPI], K_COUNT, tile)
    foreign = 0
    for b in range(len(tile)):
        foreign += q[Q_FOREIGN, b] > 0.0
        q[Q_FOREIGN_IN, b] = 0.0
    if foreign > 0:
        if plan[P_STOCHASTIC]:
            d = block(base, plan[P_SCRATCH], SCRATCH_COUNT, tile)
            for b in range(len(tile)):
                d[D_MEAN, b] = q[Q_FOREIGN, b]
            draw_poisson(base, plan, step, (FIRST_SERVER + plan[at + PS_ELEMENT]) * STREAMS + FOREIGN, tile)
            for b in range(len(tile)):
                q[Q_FOREIGN_IN, b] = d[D_DRAW, b]
        else:
            for b in range(len(tile)):
                q[Q_FOREIGN_IN, b] = q[Q_FOREIGN, b]
    for b in range(len(tile)):
        total = 0.0
        for stage in range(stages):
            for k in range(cohorts):
                total += inflow[b * payload + stage * (cohorts + 1) + k]
        if sessions:
            kpi[K_STEP_SESSIONS, b] += total
        q[Q_FOREIGN_IN, b] += q[Q_BURST, b]
        q[Q_BURST, b] = 0.0
        q[Q_IN, b] = total + q[Q_FOREIGN_IN, b]


@njit(inline="always")
def _repeat(base, plan, at, step, tile):
    """Repeat what is still unanswered at the ages T3, 2 T3, ... below the requester's timer (TS 29.274 7.6).

    Unanswered at age a: admitted in step s - a and not served by s - latency, or lost then at a full buffer; foreign
    messages and earlier repeats are not repeated.
    """
    q = block(base, plan[at + PS_BLOCK], Q_COUNT, tile)
    kpi = block(base, plan[P_KPI], K_COUNT, tile)
    width = len(tile)
    mask = plan[at + PS_MASK]
    ring = flat(base, plan[at + PS_RING], (mask + 1) * width)
    lost = flat(base, plan[at + PS_LOST_RING], (mask + 1) * width)
    own = flat(base, plan[at + PS_OWN_RING], (mask + 1) * width)
    served = flat(base, plan[at + PS_SERVED_RING], (mask + 1) * width)
    for b in range(width):
        foreign = q[Q_FOREIGN_IN, b] / q[Q_IN, b] if q[Q_IN, b] > 0.0 else 0.0
        own[(step & mask) * width + b] = 1.0 - foreign
        lost[(step & mask) * width + b] = q[Q_OVER, b] * (1.0 - q[Q_REFUSES, b]) * (1.0 - foreign)
        served[(step & mask) * width + b] = q[Q_SERVED_SUM, b]
    for b in range(width):
        answered = served[((step - int(q[Q_LATENCY, b])) & mask) * width + b]
        repeated = 0.0
        for n in range(1, int(q[Q_REPEATS, b]) + 1):
            age = n * int(q[Q_REPEAT, b])
            if age >= int(q[Q_TIMER, b]):
                break
            slot = ((step - age) & mask) * width + b
            before = ((step - age - 1) & mask) * width + b
            repeated += max(ring[slot] - max(ring[before], answered), 0.0) * own[slot] + lost[slot]
        q[Q_REPEATED, b] = repeated
        q[Q_SUM_REPEATED, b] += repeated
        kpi[K_STEP_SESSIONS, b] += repeated
    target = plan[at + PS_REPEAT_TO]
    if target >= 0:
        to = block(base, plan[plan[P_SERVER_TABLE] + target * PS_COUNT + PS_BLOCK], Q_COUNT, tile)
        for b in range(width):
            to[Q_BURST, b] += q[Q_REPEATED, b]


@njit(inline="always")
def _answer(base, plan, at, step, tile):
    """Send on what was served in time, fail what timed out or was refused, each after the answer's delay."""
    offset = plan[at + PS_BLOCK]
    q = block(base, offset, Q_COUNT, tile)
    width = len(tile)
    payload = plan[at + PS_WIDTH]
    inflow = flat(base, plan[at + PS_INFLOW], width * payload)
    out = flat(base, plan[at + PS_OUT], 2 * width * payload)
    delayed = plan[at + PS_DELAY] >= 0
    mask = plan[at + PS_DELAY_MASK]
    delay = flat(base, max(plan[at + PS_DELAY], 0), (mask + 1) * width * 2 * payload)
    collect(
        base, offset, plan[at + PS_RING], plan[at + PS_LINES], plan[at + PS_MASK], step, payload,
        plan[at + PS_INFLOW], plan[at + PS_OUT], tile,
    )  # fmt: skip
    for b in range(width):
        line = 2 * b * payload
        active = q[Q_EXPIRED, b] + q[Q_FRESH, b] > 0.0
        over = q[Q_OVER, b]
        refused = over * q[Q_REFUSES, b] / q[Q_IN, b] if over > 0.0 else 0.0
        if delayed:
            if active:
                late = int(q[Q_TIMER, b] - q[Q_PATIENCE, b])
                then = (((step + int(q[Q_LATENCY, b])) & mask) * width + b) * 2 * payload
                fails = (((step + late) & mask) * width + b) * 2 * payload + payload
                for k in range(payload):
                    delay[then + k] += out[line + k]
                    delay[fails + k] += out[line + payload + k]
            if over > 0.0 and q[Q_REFUSES, b] == 0.0:
                lost = over / q[Q_IN, b]
                then = (((step + int(q[Q_TIMER, b])) & mask) * width + b) * 2 * payload + payload
                for k in range(payload):
                    delay[then + k] += lost * inflow[b * payload + k]
            now = ((step & mask) * width + b) * 2 * payload
            for k in range(2 * payload):
                out[line + k] = delay[now + k]
                delay[now + k] = 0.0
            active = True
        if refused > 0.0:
            _fail(base, plan, at, b, plan[at + PS_INFLOW] + b * payload, refused, tile)
        # Before sending on: the next transaction may queue at this very server, in the next step.
        for k in range(payload):
            inflow[b * payload + k] = 0.0
        if active:
            _send_on(base, plan, at, b, tile)


@njit(inline="always")
def _send_on(base, plan, at, b, tile):
    """Hand storm ``b``'s successes to the next transaction of each stage, and fail its failures."""
    payload = plan[at + PS_WIDTH]
    share = plan[P_COHORTS] + 1
    start = plan[at + PS_OUT] + 2 * b * payload
    out = flat(base, start, 2 * payload)
    for stage in range(plan[at + PS_STAGES]):
        stride = plan[at + PS_STRIDE0 + stage]
        to = flat(base, plan[at + PS_TO0 + stage] + b * stride, share)
        for k in range(share):
            to[k] += out[stage * share + k]
    _fail(base, plan, at, b, start + payload, 1.0, tile)


@njit(inline="always")
def _fail(base, plan, at, b, start, part, tile):
    """Refuse ``part`` of the requests whose payload lies at ``start``."""
    share = plan[P_COHORTS] + 1
    failed = flat(base, start, plan[at + PS_WIDTH])
    to = flat(base, plan[P_REFUSE] + b * share, share)
    for stage in range(plan[at + PS_STAGES]):
        for k in range(share):
            to[k] += part * failed[stage * share + k]
