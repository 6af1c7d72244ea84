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
    P_SCRATCH,
    P_SERVER_TABLE,
    P_SESSIONS,
    P_STOCHASTIC,
    PS_BLOCK,
    PS_COUNT,
    PS_DELAY,
    PS_DELAY_MASK,
    PS_ELEMENT,
    PS_FAIL,
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
    PS_TO0,
    PS_WIDTH,
    Q_BURST,
    Q_COUNT,
    Q_DRAW,
    Q_EXPIRED,
    Q_FOREIGN,
    Q_FOREIGN_IN,
    Q_IN,
    Q_LATENCY,
    Q_LATER_IN,
    Q_LOST,
    Q_MEAN,
    Q_OVER,
    Q_PASS,
    Q_PASS_LATER,
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
from signalstorm.envs.model.kernels.memory import area, block
from signalstorm.envs.model.kernels.queue import advance, collect
from signalstorm.envs.model.kernels.rows import add_rows


@njit(error_model="numpy")
def serve(base, plan, server, step, tile):
    """Advance one server by one step: what it was offered, what it answers, what fails."""
    at = plan[P_SERVER_TABLE] + server * PS_COUNT
    offset = plan[at + PS_BLOCK]
    q = block(base, offset, Q_COUNT, tile)
    _offer(base, plan, at, step, server == plan[P_SESSIONS], tile)
    if plan[P_STOCHASTIC]:
        d = area(base, plan, P_SCRATCH, 0, SCRATCH_COUNT, tile)
        for b in range(len(tile)):
            d[D_MEAN, b] = q[Q_MEAN, b]
        draw_poisson(base, plan, (FIRST_SERVER + plan[at + PS_ELEMENT]) * STREAMS + SERVICE, tile)
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
    inflow = block(base, plan[at + PS_INFLOW], plan[at + PS_WIDTH], tile)
    kpi = area(base, plan, P_KPI, 0, K_COUNT, tile)
    foreign = 0
    for b in range(len(tile)):
        foreign += q[Q_FOREIGN, b] > 0.0
        q[Q_FOREIGN_IN, b] = 0.0
    if foreign > 0:
        if plan[P_STOCHASTIC]:
            d = area(base, plan, P_SCRATCH, 0, SCRATCH_COUNT, tile)
            for b in range(len(tile)):
                d[D_MEAN, b] = q[Q_FOREIGN, b]
            draw_poisson(base, plan, (FIRST_SERVER + plan[at + PS_ELEMENT]) * STREAMS + FOREIGN, tile)
            for b in range(len(tile)):
                q[Q_FOREIGN_IN, b] = d[D_DRAW, b]
        else:
            for b in range(len(tile)):
                q[Q_FOREIGN_IN, b] = q[Q_FOREIGN, b]
    for b in range(len(tile)):
        q[Q_IN, b] = 0.0
        q[Q_LATER_IN, b] = 0.0
    for stage in range(stages):
        for k in range(cohorts):
            for b in range(len(tile)):
                n = inflow[stage * (cohorts + 1) + k, b]
                q[Q_IN, b] += n
                q[Q_LATER_IN, b] += n if stage > 0 else 0.0
    for b in range(len(tile)):
        kpi[K_STEP_SESSIONS, b] += q[Q_IN, b] if sessions else 0.0
        q[Q_FOREIGN_IN, b] += q[Q_BURST, b]
        q[Q_BURST, b] = 0.0
        q[Q_IN, b] += q[Q_FOREIGN_IN, b]


@njit(inline="always")
def _repeat(base, plan, at, step, tile):
    """Repeat what is still unanswered at the ages T3, 2 T3, ... below the requester's timer (TS 29.274 7.6).

    Unanswered at age a: admitted in step s - a and not served by s - latency, or lost then at a full buffer; foreign
    messages and earlier repeats are not repeated.
    """
    q = block(base, plan[at + PS_BLOCK], Q_COUNT, tile)
    kpi = area(base, plan, P_KPI, 0, K_COUNT, tile)
    mask = plan[at + PS_MASK]
    ring = block(base, plan[at + PS_RING], mask + 1, tile)
    lost = block(base, plan[at + PS_LOST_RING], mask + 1, tile)
    own = block(base, plan[at + PS_OWN_RING], mask + 1, tile)
    served = block(base, plan[at + PS_SERVED_RING], mask + 1, tile)
    now = step & mask
    repeats = 0
    for b in range(len(tile)):
        foreign = q[Q_FOREIGN_IN, b] / q[Q_IN, b] if q[Q_IN, b] > 0.0 else 0.0
        own[now, b] = 1.0 - foreign
        lost[now, b] = q[Q_OVER, b] * (1.0 - q[Q_REFUSES, b]) * (1.0 - foreign) + q[Q_LOST, b]
        served[now, b] = q[Q_SERVED_SUM, b]
        q[Q_REPEATED, b] = 0.0
        repeats += (q[Q_REPEATS, b] > 0.0) & (q[Q_REPEAT, b] < q[Q_TIMER, b])
    if repeats == 0:
        return
    for b in range(len(tile)):
        answered = served[(step - int(q[Q_LATENCY, b])) & mask, b]
        repeated = 0.0
        for n in range(1, int(q[Q_REPEATS, b]) + 1):
            age = n * int(q[Q_REPEAT, b])
            if age >= int(q[Q_TIMER, b]):
                break
            slot = (step - age) & mask
            before = (step - age - 1) & mask
            repeated += max(ring[slot, b] - max(ring[before, b], answered), 0.0) * own[slot, b] + lost[slot, b]
        q[Q_REPEATED, b] = repeated
        q[Q_SUM_REPEATED, b] += repeated
        kpi[K_STEP_SESSIONS, b] += repeated
    target = plan[at + PS_REPEAT_TO]
    if target >= 0:
        to = block(base, plan[plan[P_SERVER_TABLE] + target * PS_COUNT + PS_BLOCK], Q_COUNT, tile)
        for b in range(len(tile)):
            to[Q_BURST, b] += q[Q_REPEATED, b]


@njit(inline="always")
def _answer(base, plan, at, step, tile):
    """Send on what was served in time, fail what timed out or was refused, each after the answer's delay."""
    offset = plan[at + PS_BLOCK]
    q = block(base, offset, Q_COUNT, tile)
    payload = plan[at + PS_WIDTH]
    inflow = block(base, plan[at + PS_INFLOW], payload, tile)
    collect(
        base, offset, plan[at + PS_RING], plan[at + PS_LINES], plan[at + PS_MASK], step, plan[P_COHORTS] + 1, payload,
        payload - 1, plan[at + PS_INFLOW], plan[at + PS_OUT], tile,
    )  # fmt: skip
    refused = 0
    lost = 0
    for b in range(len(tile)):
        refused += (q[Q_OVER, b] > 0.0) & (q[Q_REFUSES, b] > 0.0)
        lost += (q[Q_OVER, b] > 0.0) & (q[Q_REFUSES, b] == 0.0)
    share = plan[P_COHORTS] + 1
    if refused + lost > 0:
        # From here on the inflow is what found the buffer full.
        for k in range(payload):
            for b in range(len(tile)):
                inflow[k, b] *= 1.0 - (q[Q_PASS, b] if k < share else q[Q_PASS_LATER, b])
    if plan[at + PS_DELAY] >= 0:
        _delay(base, plan, at, lost, step, tile)
    stages = plan[at + PS_STAGES]
    fail = block(base, plan[at + PS_FAIL], share, tile)
    if refused > 0:
        for stage in range(stages):
            for k in range(share):
                for b in range(len(tile)):
                    fail[k, b] += q[Q_REFUSES, b] * inflow[stage * share + k, b]
    # Before sending on: the next transaction may queue at this very server, in the next step.
    for k in range(payload):
        for b in range(len(tile)):
            inflow[k, b] = 0.0
    out = block(base, plan[at + PS_OUT], 2 * payload, tile)
    for stage in range(stages):
        to = block(base, plan[at + PS_TO0 + stage], share, tile)
        for k in range(share):
            for b in range(len(tile)):
                to[k, b] += out[stage * share + k, b]
                fail[k, b] += out[payload + stage * share + k, b]


@njit(inline="always")
def _delay(base, plan, at, lost, step, tile):
    """Put this step's answers, and the news of what was lost, on the ring of answers; take out what is due."""
    q = block(base, plan[at + PS_BLOCK], Q_COUNT, tile)
    payload = plan[at + PS_WIDTH]
    mask = plan[at + PS_DELAY_MASK]
    delay = block(base, plan[at + PS_DELAY], (mask + 1) * 2 * payload, tile)
    out = block(base, plan[at + PS_OUT], 2 * payload, tile)
    inflow = block(base, plan[at + PS_INFLOW], payload, tile)
    expired = 0
    unlike = 0
    for b in range(len(tile)):
        expired += q[Q_EXPIRED, b] > 0.0
        unlike += q[Q_LATENCY, b] != q[Q_LATENCY, 0]
        unlike += q[Q_TIMER, b] - q[Q_PATIENCE, b] != q[Q_TIMER, 0] - q[Q_PATIENCE, 0]
    if unlike == 0:
        answer = ((step + int(q[Q_LATENCY, 0])) & mask) * 2 * payload
        failure = ((step + int(q[Q_TIMER, 0] - q[Q_PATIENCE, 0])) & mask) * 2 * payload + payload
        add_rows(delay, answer, out, 0, payload, tile)
        if expired > 0:
            add_rows(delay, failure, out, payload, payload, tile)
    else:
        for b in range(len(tile)):
            answer = ((step + int(q[Q_LATENCY, b])) & mask) * 2 * payload
            failure = ((step + int(q[Q_TIMER, b] - q[Q_PATIENCE, b])) & mask) * 2 * payload + payload
            for k in range(payload):
                delay[answer + k, b] += out[k, b]
                delay[failure + k, b] += out[payload + k, b]
    if lost > 0:
        for b in range(len(tile)):
            failure = ((step + int(q[Q_TIMER, b])) & mask) * 2 * payload + payload
            for k in range(payload):
                delay[failure + k, b] += (1.0 - q[Q_REFUSES, b]) * inflow[k, b]
    now = (step & mask) * 2 * payload
    for k in range(2 * payload):
        for b in range(len(tile)):
            out[k, b] = delay[now + k, b]
            delay[now + k, b] = 0.0
