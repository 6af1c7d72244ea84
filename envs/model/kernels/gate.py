"""The attach-rate gate (network overload protection, NOP): a purging deadline queue with an exact rate."""

from numba import njit

from signalstorm.envs.model.kernels.cohorts import cohorts_in_use
from signalstorm.envs.model.kernels.draws import D_PART, SCRATCH_COUNT
from signalstorm.envs.model.kernels.ladders import back_off, refuse, silence
from signalstorm.envs.model.kernels.layout import (
    DROP,
    K_COUNT,
    K_DROPPED,
    K_EXPIRED,
    K_REFUSED_CONGESTION,
    K_REFUSED_GATE_FAILURE,
    K_STEP_ADMITTED,
    K_STEP_ATTEMPTS,
    P_ARRIVE,
    P_ATTACH_MESSAGES,
    P_COHORTS,
    P_GATE,
    P_GATE_LINES,
    P_GATE_MASK,
    P_GATE_OUT,
    P_GATE_RING,
    P_KPI,
    P_LINE_ROWS,
    P_MESSAGES,
    P_RELEASE,
    P_SCRATCH,
    P_SEND,
    P_STORM,
    Q_COUNT,
    Q_DRAW,
    Q_EXPIRED,
    Q_FRESH,
    Q_IN,
    Q_MEAN,
    Q_OVER,
    REJECT_CONGESTION,
    REJECT_FAILURE,
    S_COUNT,
    S_GATE_ACTION,
)
from signalstorm.envs.model.kernels.memory import area, block
from signalstorm.envs.model.kernels.queue import advance, collect
from signalstorm.envs.model.kernels.rows import add_rows, add_up


@njit(error_model="numpy")
def pace(base, plan, step, linked, tile):
    """Advance the gate by one step; without one every request passes at once."""
    kpi = area(base, plan, P_KPI, 0, K_COUNT, tile)
    share = plan[P_COHORTS] + 1
    if plan[P_GATE] < 0:
        for b in range(len(tile)):
            kpi[K_STEP_ADMITTED, b] = kpi[K_STEP_ATTEMPTS, b]
        release(base, plan, plan[P_ARRIVE], linked, tile)
        return
    q = area(base, plan, P_GATE, 0, Q_COUNT, tile)
    for b in range(len(tile)):
        q[Q_DRAW, b] = q[Q_MEAN, b]
    arrive = area(base, plan, P_ARRIVE, 0, share, tile)
    used = cohorts_in_use(base, plan, tile)
    add_up(arrive, used, q, Q_IN, tile)
    advance(base, plan[P_GATE], plan[P_GATE_RING], plan[P_GATE_MASK], step, True, tile)
    collect(
        base, plan[P_GATE], plan[P_GATE_RING], plan[P_GATE_LINES], plan[P_GATE_MASK], step, share, share,
        used, plan[P_ARRIVE], plan[P_GATE_OUT], tile,
    )  # fmt: skip
    expired = 0
    over = 0
    for b in range(len(tile)):
        kpi[K_STEP_ADMITTED, b] = q[Q_FRESH, b]
        kpi[K_EXPIRED, b] += q[Q_EXPIRED, b]
        expired += q[Q_EXPIRED, b] > 0.0
        over += q[Q_OVER, b] > 0.0
    release(base, plan, plan[P_GATE_OUT], linked, tile)
    if expired > 0:
        silence(base, plan, plan[P_GATE_OUT] + share * len(tile), False, step, tile)
    if over > 0:
        for action in (DROP, REJECT_CONGESTION, REJECT_FAILURE):
            _overflow(base, plan, action, step, tile)


@njit(inline="always")
def release(base, plan, start, linked, tile):
    """Hand a payload to the first transaction."""
    share = plan[P_COHORTS] + 1
    payload = block(base, start, share, tile)
    to = block(base, plan[P_RELEASE], share, tile)
    used = cohorts_in_use(base, plan, tile)
    if linked is None:
        add_rows(to, 0, payload, 0, share, tile)
        return
    send = area(base, plan, P_SEND, 0, plan[P_LINE_ROWS], tile)
    d = area(base, plan, P_SCRATCH, 0, SCRATCH_COUNT, tile)
    add_rows(to, 0, payload, 0, used, tile)
    add_up(payload, used, d, D_PART, tile)
    times = plan[P_MESSAGES]
    squares = times + plan[P_ATTACH_MESSAGES]
    for b in range(len(tile)):
        n = d[D_PART, b]
        # What the gate lets go in a step has waited equally long.
        mean = payload[share - 1, b] / n
        send[0, b] += n
        send[times, b] += payload[share - 1, b]
        send[squares, b] += mean * payload[share - 1, b] if n > 0.0 else 0.0


@njit(error_model="numpy")
def _overflow(base, plan, action, step, tile):
    """Apply an action to the requests that found the queue full in the storms that have this action."""
    q = area(base, plan, P_GATE, 0, Q_COUNT, tile)
    storm = area(base, plan, P_STORM, 0, S_COUNT, tile)
    kpi = area(base, plan, P_KPI, 0, K_COUNT, tile)
    cohorts = plan[P_COHORTS]
    arrive = area(base, plan, P_ARRIVE, 0, cohorts + 1, tile)
    turned_away = area(base, plan, P_GATE_OUT, 0, cohorts + 1, tile)
    d = area(base, plan, P_SCRATCH, 0, SCRATCH_COUNT, tile)
    any_over = 0
    for b in range(len(tile)):
        concerned = (q[Q_OVER, b] > 0.0) & (storm[S_GATE_ACTION, b] == action)
        d[D_PART, b] = q[Q_OVER, b] / q[Q_IN, b] if concerned else 0.0
        any_over += concerned
    if any_over == 0:
        return
    used = cohorts_in_use(base, plan, tile)
    for i in range(used + 1):
        k = i if i < used else cohorts
        for b in range(len(tile)):
            turned_away[k, b] = arrive[k, b] * d[D_PART, b]
    counter = K_DROPPED if action == DROP else K_REFUSED_CONGESTION
    counter = K_REFUSED_GATE_FAILURE if action == REJECT_FAILURE else counter
    add_up(turned_away, used, d, D_PART, tile)
    for b in range(len(tile)):
        kpi[counter, b] += d[D_PART, b]
    if action == DROP:
        silence(base, plan, plan[P_GATE_OUT], False, step, tile)
    else:
        if action == REJECT_CONGESTION:
            back_off(base, plan, plan[P_GATE_OUT], step, tile)
        refuse(base, plan, plan[P_GATE_OUT], step, tile)
