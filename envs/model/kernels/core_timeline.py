"""Timeline events of the elements beyond the attach chain."""

import numpy as np
from numba import njit

from signalstorm.envs.model.kernels.core_layout import (
    B_BURST,
    B_COUNT,
    CCR_T,
    EVENT_DDN,
    EVENT_FLUSH,
    EVENT_HOLD,
    EVENT_NODE_LOSS,
    EVENT_NODE_RESTART,
    EVENT_PEER_BURST,
    EVENT_REBOOT,
    EVENT_RECONNECT,
    EVENT_RELEASE,
    EVENT_STALL,
    EVENT_SWITCH_ON,
    EVENT_UNKNOWN,
    MESSAGES,
    N_BARRED,
    N_BOOTED,
    N_COUNT,
    N_DDN_SURGE,
    N_DOMAINS,
    N_ENDED,
    N_HELD,
    N_HELD_PEAK,
    N_LOST_NODES,
    N_RECOVERY,
    N_STAGE_NEXT,
    N_STAGE_SPREAD,
    N_STAGE_STEPS,
    N_STAGES,
    N_STAGES_LEFT,
    N_UNKNOWN,
    N_UNKNOWN_BASE,
    X_BLOCK,
    X_DRA,
    X_HELD,
    X_PEER,
)
from signalstorm.envs.model.kernels.ladders import put_long
from signalstorm.envs.model.kernels.layout import (
    E_COUNT,
    E_EXTRA,
    E_KIND,
    E_START,
    E_STEP,
    E_TARGET,
    E_UNTIL,
    E_VALUE,
    K_COUNT,
    K_DETACH_NETWORK,
    P_CLASS_TABLE,
    P_CLASSES,
    P_CORE,
    P_EVENT,
    P_EVENTS,
    P_IDLE,
    P_KPI,
    P_REGISTERED,
    P_SERVER_TABLE,
    PC_COUNT,
    PC_GROUP,
    PS_BLOCK,
    PS_COUNT,
    Q_BASE,
    Q_COUNT,
    Q_GONE,
    Q_MEAN,
    Q_UP,
)
from signalstorm.envs.model.kernels.memory import area, block


@njit(error_model="numpy")
def apply_core(base, plan, event, b, own, step, tile):
    """Apply one of these events to one storm, in its ``own`` step, which is ``step`` of the batch."""
    n = block(base, plan[plan[P_CORE] + X_BLOCK], N_COUNT, tile)
    kind = int(event[E_KIND, b])
    value = event[E_VALUE, b]
    extra = int(event[E_EXTRA, b])
    target = int(event[E_TARGET, b])
    if kind == EVENT_STALL:
        if own == event[E_STEP, b] or own == event[E_UNTIL, b]:
            _set_rate(base, plan, n, target, b, own, tile)
    elif kind == EVENT_UNKNOWN:
        if own == event[E_STEP, b] or own == event[E_UNTIL, b]:
            latest = _going_on(base, plan, kind, target, b, own, tile)
            n[N_UNKNOWN, b] = n[N_UNKNOWN_BASE, b]
            if latest >= 0:
                n[N_UNKNOWN, b] = _event(base, plan, latest, tile)[E_VALUE, b]
    elif kind == EVENT_PEER_BURST:
        _send(base, plan, b, target // MESSAGES, target % MESSAGES, value / extra, tile)
    elif kind == EVENT_DDN:
        n[N_DDN_SURGE, b] += value / extra
    elif kind == EVENT_FLUSH:
        _flush(base, plan, n, event, b, own, step, tile)
    elif kind == EVENT_REBOOT:
        n[N_BOOTED, b] = own
    elif kind == EVENT_HOLD:
        n[N_BARRED, b] = value
        n[N_STAGES_LEFT, b] = 0.0
    elif kind == EVENT_RELEASE:
        n[N_STAGES_LEFT, b] = n[N_STAGES, b]
        n[N_STAGE_NEXT, b] = own
        n[N_STAGE_STEPS, b] = max(np.rint(value), 1.0)
        n[N_STAGE_SPREAD, b] = extra
    elif kind in (EVENT_NODE_LOSS, EVENT_NODE_RESTART):
        _nodes(base, plan, n, event, b, own, step, kind == EVENT_NODE_LOSS, tile)
    elif kind == EVENT_RECONNECT:
        n[N_ENDED, b] += _crowd(base, plan, event, b, step, tile)
    else:
        _crowd(base, plan, event, b, step, tile)


@njit(inline="always")
def _event(base, plan, e, tile):
    return area(base, plan, P_EVENT, e * E_COUNT * len(tile), E_COUNT, tile)


@njit(error_model="numpy")
def _going_on(base, plan, kind, target, b, own, tile):
    """Return which event of a kind and target goes on, of several the one that began last; -1: none.

    What lasts is looked up where it begins or ends, not put back from memory: events may overlap and stand in any
    order, and drawn storms move them.
    """
    found = -1
    began = -1.0
    for e in range(plan[P_EVENTS]):
        event = _event(base, plan, e, tile)
        same = int(event[E_KIND, b]) == kind and int(event[E_TARGET, b]) == target
        if same and event[E_STEP, b] <= own < event[E_UNTIL, b] and event[E_STEP, b] >= began:
            found = e
            began = event[E_STEP, b]
    return found


@njit(error_model="numpy")
def _set_rate(base, plan, n, target, b, own, tile):
    """Set what a server can serve: nothing while it is stalled, else its rate times the share of its nodes left."""
    q = block(base, plan[plan[P_SERVER_TABLE] + target * PS_COUNT + PS_BLOCK], Q_COUNT, tile)
    stalled = _going_on(base, plan, EVENT_STALL, target, b, own, tile) >= 0
    q[Q_UP, b] = 0.0 if stalled else (n[N_DOMAINS, b] - q[Q_GONE, b]) / n[N_DOMAINS, b]
    q[Q_MEAN, b] = q[Q_BASE, b] * q[Q_UP, b]


@njit(inline="always")
def _send(base, plan, b, p, m, count, tile):
    """Let a peer of the agent send messages in this step."""
    block(base, plan[plan[P_CORE] + X_PEER] + p * B_COUNT * len(tile), B_COUNT, tile)[B_BURST + m, b] += count


@njit(inline="always")
def _flush(base, plan, n, event, b, own, step, tile):
    """Flush the gateway's sessions; it ends them one after another, evenly."""
    if own == event[E_STEP, b]:
        total = _crowd(base, plan, event, b, step, tile)
        event[E_START, b] = total / (event[E_UNTIL, b] - own + 1.0)
    if plan[plan[P_CORE] + X_DRA]:
        _send(base, plan, b, 0, CCR_T, event[E_START, b], tile)


@njit(inline="always")
def _crowd(base, plan, event, b, step, tile):
    """Take subscribers' sessions, who attach again, or switch idle ones on; return how many."""
    kind = int(event[E_KIND, b])
    target = int(event[E_TARGET, b])
    spread = int(event[E_EXTRA, b])
    registered = area(base, plan, P_REGISTERED, 0, plan[P_CLASSES], tile)
    idle = area(base, plan, P_IDLE, 0, plan[P_CLASSES], tile)
    total = 0.0
    for c in range(plan[P_CLASSES]):
        if target < 0 or target == plan[plan[P_CLASS_TABLE] + c * PC_COUNT + PC_GROUP]:
            stock = idle[c, b] if kind == EVENT_SWITCH_ON else registered[c, b]
            x = event[E_VALUE, b] * stock
            if kind == EVENT_SWITCH_ON:
                idle[c, b] -= x
            else:
                registered[c, b] -= x
            put_long(base, plan, b, c, x, 1, 1 + spread, step, tile)
            total += x
    if kind != EVENT_SWITCH_ON:
        area(base, plan, P_KPI, 0, K_COUNT, tile)[K_DETACH_NETWORK, b] += total
    return total


@njit(inline="always")
def _nodes(base, plan, n, event, b, own, step, lost, tile):
    """Lose nodes, with their capacity and their subscribers' sessions, or start them again."""
    target = int(event[E_TARGET, b])
    spread = abs(int(event[E_EXTRA, b]))
    keep_out = event[E_EXTRA, b] < 0.0
    held = block(base, plan[plan[P_CORE] + X_HELD], plan[P_CLASSES], tile)
    registered = area(base, plan, P_REGISTERED, 0, plan[P_CLASSES], tile)
    q = block(base, plan[plan[P_SERVER_TABLE] + target * PS_COUNT + PS_BLOCK], Q_COUNT, tile)
    domains = n[N_DOMAINS, b]
    before = domains - q[Q_GONE, b]
    if lost:
        after = max(before - event[E_VALUE, b], 1.0)
        gone = (before - after) / before
        total = 0.0
        for c in range(plan[P_CLASSES]):
            x = registered[c, b] * gone * (1.0 - n[N_RECOVERY, b])
            registered[c, b] -= x
            total += x
            if keep_out:
                held[c, b] += x
            else:
                put_long(base, plan, b, c, x, 1, max(spread, 2), step, tile)
        area(base, plan, P_KPI, 0, K_COUNT, tile)[K_DETACH_NETWORK, b] += total
        n[N_HELD, b] += total if keep_out else 0.0
        n[N_HELD_PEAK, b] = max(n[N_HELD_PEAK, b], n[N_HELD, b])
    else:
        after = min(before + event[E_VALUE, b], domains)
        n[N_STAGES_LEFT, b] = 1.0
        n[N_STAGE_NEXT, b] = own
        n[N_STAGE_STEPS, b] = 1.0
        n[N_STAGE_SPREAD, b] = max(spread, 1)
    n[N_LOST_NODES, b] += before - after
    q[Q_GONE, b] = domains - after  # at least one node is always left
    _set_rate(base, plan, n, target, b, own, tile)
