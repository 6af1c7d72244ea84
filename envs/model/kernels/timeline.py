"""Timeline events: what changes in mid-storm, at its step, for each storm of a tile."""

import numpy as np
from numba import njit

from signalstorm.envs.model.kernels.banks import link_rows
from signalstorm.envs.model.kernels.core_layout import FIRST_CORE_EVENT, N_COUNT, N_ENDED, X_BLOCK
from signalstorm.envs.model.kernels.core_timeline import apply_core
from signalstorm.envs.model.kernels.ladders import put_long
from signalstorm.envs.model.kernels.layout import (
    C_COUNT,
    C_SIZE,
    E_COUNT,
    E_EXTRA,
    E_KIND,
    E_START,
    E_STEP,
    E_TARGET,
    E_UNTIL,
    E_VALUE,
    EVENT_ACTIVITY,
    EVENT_BURST,
    EVENT_DETACH,
    EVENT_FOREIGN,
    EVENT_HLR_RESET,
    EVENT_LATENCY,
    EVENT_LINK_DOWN,
    EVENT_LINK_RATE,
    EVENT_LINK_RESET,
    EVENT_RATE,
    L_DOWN,
    L_FLUSH,
    L_MEAN,
    P_CLASS,
    P_CLASS_TABLE,
    P_CLASSES,
    P_CORE,
    P_EVENT,
    P_EVENTS,
    P_FLAGGED,
    P_LAST_EVENT,
    P_REGISTERED,
    P_SERVER_TABLE,
    P_STORM,
    P_YOUNGEST,
    PC_COUNT,
    PC_GROUP,
    PS_BLOCK,
    PS_COUNT,
    Q_BASE,
    Q_BURST,
    Q_COUNT,
    Q_FOREIGN,
    Q_LATENCY,
    Q_MEAN,
    Q_PATIENCE,
    Q_TIMER,
    Q_UP,
    S_ACTIVITY,
    S_COUNT,
    S_SETTLED,
    S_STEP,
)
from signalstorm.envs.model.kernels.memory import area, block


@njit(error_model="numpy")
def happen(base, plan, step, linked, core, tile):
    """Apply the events of this step; ramps move on."""
    if step > plan[P_LAST_EVENT] + plan[P_YOUNGEST]:
        return
    storm = area(base, plan, P_STORM, 0, S_COUNT, tile)
    for e in range(plan[P_EVENTS]):
        event = area(base, plan, P_EVENT, e * E_COUNT * len(tile), E_COUNT, tile)
        for b in range(len(tile)):
            own = storm[S_STEP, b]
            if event[E_STEP, b] <= own <= event[E_UNTIL, b]:
                _apply(base, plan, event, b, own, step, linked, core, tile)


@njit(inline="always")
def _apply(base, plan, event, b, own, step, linked, core, tile):
    kind = int(event[E_KIND, b])
    target = int(event[E_TARGET, b])
    if core is not None:
        if kind >= FIRST_CORE_EVENT:
            apply_core(base, plan, event, b, own, step, tile)
            return
    if kind == EVENT_DETACH:
        for c in range(plan[P_CLASSES]):
            if target < 0 or target == plan[plan[P_CLASS_TABLE] + c * PC_COUNT + PC_GROUP]:
                _detach(base, plan, b, c, event[E_VALUE, b], int(event[E_EXTRA, b]), step, core, tile)
        return
    if linked is not None:
        if kind >= EVENT_HLR_RESET:
            _apply_linked(base, plan, event, b, own, tile)
            return
    q = block(base, plan[plan[P_SERVER_TABLE] + target * PS_COUNT + PS_BLOCK], Q_COUNT, tile)
    if kind == EVENT_BURST:
        q[Q_BURST, b] += event[E_VALUE, b]
    elif kind == EVENT_RATE:
        q[Q_BASE, b] = _ramp(event, b, own, q[Q_BASE, b])
        q[Q_MEAN, b] = q[Q_BASE, b] * q[Q_UP, b]
    elif kind == EVENT_FOREIGN:
        q[Q_FOREIGN, b] = _ramp(event, b, own, q[Q_FOREIGN, b])
    elif kind == EVENT_LATENCY:
        q[Q_LATENCY, b] = np.rint(_ramp(event, b, own, q[Q_LATENCY, b]))
        q[Q_PATIENCE, b] = max(q[Q_TIMER, b] - q[Q_LATENCY, b], 0.0)


@njit(error_model="numpy")
def _apply_linked(base, plan, event, b, own, tile):
    """Apply an event of the HLR, of handsets' activity or of signalling links."""
    kind = int(event[E_KIND, b])
    target = int(event[E_TARGET, b])
    if kind == EVENT_HLR_RESET:
        registered = area(base, plan, P_REGISTERED, 0, plan[P_CLASSES], tile)
        flagged = area(base, plan, P_FLAGGED, 0, plan[P_CLASSES], tile)
        for c in range(plan[P_CLASSES]):
            n = event[E_VALUE, b] * registered[c, b]
            registered[c, b] -= n
            flagged[c, b] += n
        return
    storm = area(base, plan, P_STORM, 0, S_COUNT, tile)
    if kind == EVENT_ACTIVITY:
        storm[S_ACTIVITY, b] = _ramp(event, b, own, storm[S_ACTIVITY, b])
        return
    storm[S_SETTLED, b] = 0.0
    for link in range(target, target + int(event[E_EXTRA, b])):
        k = link_rows(base, plan, link, tile)
        if kind == EVENT_LINK_RATE:
            k[L_MEAN, b] = _ramp(event, b, own, k[L_MEAN, b])
        else:
            k[L_FLUSH, b] = 1.0 if kind == EVENT_LINK_RESET else k[L_FLUSH, b]
            k[L_DOWN, b] = event[E_VALUE, b] if kind == EVENT_LINK_DOWN else 0.0


@njit(inline="always")
def _ramp(event, b, own, present):
    """Value at this step between the value found at the start and the event's own."""
    if own == event[E_STEP, b]:
        event[E_START, b] = present
    if own == event[E_UNTIL, b]:
        return event[E_VALUE, b]
    part = (own - event[E_STEP, b]) / (event[E_UNTIL, b] - event[E_STEP, b])
    return event[E_START, b] + part * (event[E_VALUE, b] - event[E_START, b])


@njit(inline="always")
def _detach(base, plan, b, c, share, spread, step, core, tile):
    """Detach a share of a class's registered subscribers; they attach again uniformly within ``spread`` steps."""
    registered = area(base, plan, P_REGISTERED, 0, plan[P_CLASSES], tile)
    parameters = area(base, plan, P_CLASS, c * C_COUNT * len(tile), C_COUNT, tile)
    n = min(share * registered[c, b], parameters[C_SIZE, b])
    registered[c, b] -= n
    if core is not None:
        block(base, plan[plan[P_CORE] + X_BLOCK], N_COUNT, tile)[N_ENDED, b] += n
    put_long(base, plan, b, c, n, 1, 1 + spread, step, tile)
