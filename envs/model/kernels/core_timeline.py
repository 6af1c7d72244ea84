"""Timeline events of the elements beyond the attach chain."""

import numpy as np
from numba import njit

from signalstorm.envs.model.kernels.core_layout import (
    B_COUNT,
    B_LEFT,
    B_PER_STEP,
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
    N_DDN_LEFT,
    N_DDN_PER_STEP,
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
    X_BLOCK,
    X_DRA,
    X_HELD,
    X_PEER,
)
from signalstorm.envs.model.kernels.ladders import put_long
from signalstorm.envs.model.kernels.layout import (
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
    P_IDLE,
    P_KPI,
    P_REGISTERED,
    P_SERVER_TABLE,
    PC_COUNT,
    PC_GROUP,
    PS_BLOCK,
    PS_COUNT,
    Q_COUNT,
    Q_MEAN,
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
    first = own == event[E_STEP, b]
    last = own == event[E_UNTIL, b]
    if kind == EVENT_STALL:
        q = block(base, plan[plan[P_SERVER_TABLE] + target * PS_COUNT + PS_BLOCK], Q_COUNT, tile)
        if first:
            event[E_START, b] = q[Q_MEAN, b]
        q[Q_MEAN, b] = event[E_START, b] if last else 0.0
    elif kind == EVENT_UNKNOWN:
        if first:
            event[E_START, b] = n[N_UNKNOWN, b]
        n[N_UNKNOWN, b] = event[E_START, b] if last and not first else value
    elif kind == EVENT_PEER_BURST:
        _send(base, plan, b, target // MESSAGES, target % MESSAGES, value, extra, tile)
    elif kind == EVENT_DDN:
        n[N_DDN_LEFT, b] += value
        n[N_DDN_PER_STEP, b] += value / max(extra, 1)
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
    else:
        _crowd(base, plan, n, event, b, step, tile)


@njit(inline="always")
def _send(base, plan, b, p, m, count, spread, tile):
    peer = block(base, plan[plan[P_CORE] + X_PEER] + p * B_COUNT * len(tile), B_COUNT, tile)
    peer[B_LEFT + m, b] += count
    peer[B_PER_STEP + m, b] += count / max(spread, 1)


@njit(inline="always")
def _crowd(base, plan, n, event, b, step, tile):
    """Flush the gateway's sessions, let handsets reconnect, or switch idle subscribers on."""
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
    if kind in (EVENT_FLUSH, EVENT_RECONNECT):
        area(base, plan, P_KPI, 0, K_COUNT, tile)[K_DETACH_NETWORK, b] += total
    if kind == EVENT_FLUSH and plan[plan[P_CORE] + X_DRA]:
        _send(base, plan, b, 0, CCR_T, total, int(event[E_START, b]), tile)
    elif kind == EVENT_RECONNECT:
        n[N_ENDED, b] += total


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
    before = domains - n[N_LOST_NODES, b]
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
        n[N_STAGES_LEFT, b] = n[N_STAGES, b]
        n[N_STAGE_NEXT, b] = own
        n[N_STAGE_STEPS, b] = max(spread, 1)
        n[N_STAGE_SPREAD, b] = max(spread, 1)
    q[Q_MEAN, b] *= after / before  # at least one node is always left
    n[N_LOST_NODES, b] = domains - after
