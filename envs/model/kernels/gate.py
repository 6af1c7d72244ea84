"""The attach-rate gate (network overload protection, NOP): a purging deadline queue with an exact rate."""

from numba import njit

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
    P_COHORTS,
    P_GATE,
    P_GATE_LINES,
    P_GATE_MASK,
    P_GATE_OUT,
    P_GATE_RING,
    P_KPI,
    P_RELEASE,
    P_RELEASE_STRIDE,
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
    S_T3346_HIGH,
)
from signalstorm.envs.model.kernels.memory import block, flat
from signalstorm.envs.model.kernels.queue import advance, collect
from signalstorm.envs.model.kernels.subscribers import back_off, refuse, silence


@njit
def pace(base, plan, step, tile):
    """Advance the gate by one step; without one every request passes at once."""
    kpi = block(base, plan[P_KPI], K_COUNT, tile)
    cohorts = plan[P_COHORTS]
    share = cohorts + 1
    arrive = flat(base, plan[P_ARRIVE], len(tile) * share)
    if plan[P_GATE] < 0:
        for b in range(len(tile)):
            kpi[K_STEP_ADMITTED, b] = kpi[K_STEP_ATTEMPTS, b]
            _release(base, plan, b, plan[P_ARRIVE] + b * share, tile)
        return
    q = block(base, plan[P_GATE], Q_COUNT, tile)
    for b in range(len(tile)):
        q[Q_IN, b] = kpi[K_STEP_ATTEMPTS, b]
        q[Q_DRAW, b] = q[Q_MEAN, b]
    advance(base, plan[P_GATE], plan[P_GATE_RING], plan[P_GATE_MASK], step, True, tile)
    collect(
        base, plan[P_GATE], plan[P_GATE_RING], plan[P_GATE_LINES], plan[P_GATE_MASK], step, share,
        plan[P_ARRIVE], plan[P_GATE_OUT], tile,
    )  # fmt: skip
    for b in range(len(tile)):
        kpi[K_STEP_ADMITTED, b] = q[Q_FRESH, b]
        kpi[K_EXPIRED, b] += q[Q_EXPIRED, b]
        out = plan[P_GATE_OUT] + 2 * b * share
        if q[Q_FRESH, b] > 0.0:
            _release(base, plan, b, out, tile)
        if q[Q_EXPIRED, b] > 0.0:
            silence(base, plan, b, out + share, False, step, tile)
        if q[Q_OVER, b] > 0.0:
            _overflow(base, plan, b, q[Q_OVER, b] / q[Q_IN, b], step, arrive, tile)


@njit(inline="always")
def _release(base, plan, b, start, tile):
    """Hand a payload to the first transaction."""
    share = plan[P_COHORTS] + 1
    payload = flat(base, start, share)
    to = flat(base, plan[P_RELEASE] + b * plan[P_RELEASE_STRIDE], share)
    for k in range(share):
        to[k] += payload[k]


@njit(inline="always")
def _overflow(base, plan, b, part, step, arrive, tile):
    """Apply the action to the ``part`` of this step's requests that found the queue full."""
    storm = block(base, plan[P_STORM], S_COUNT, tile)
    kpi = block(base, plan[P_KPI], K_COUNT, tile)
    share = plan[P_COHORTS] + 1
    start = b * share
    over = 0.0
    for k in range(share):
        arrive[start + k] *= part
    for k in range(share - 1):
        over += arrive[start + k]
    action = int(storm[S_GATE_ACTION, b])
    if action == DROP:
        kpi[K_DROPPED, b] += over
        silence(base, plan, b, plan[P_ARRIVE] + start, False, step, tile)
    elif action == REJECT_CONGESTION:
        kpi[K_REFUSED_CONGESTION, b] += over
        if storm[S_T3346_HIGH, b] > 0.0:
            back_off(base, plan, b, plan[P_ARRIVE] + start, step, tile)
        refuse(base, plan, b, plan[P_ARRIVE] + start, step, tile)
    elif action == REJECT_FAILURE:
        kpi[K_REFUSED_GATE_FAILURE, b] += over
        refuse(base, plan, b, plan[P_ARRIVE] + start, step, tile)
