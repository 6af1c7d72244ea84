"""IMSI manager: what the HLR's requests about unknown subscribers cost, and when they are not broadcast."""

from numba import njit

from signalstorm.envs.model.kernels.core_layout import (
    N_BOOTED,
    N_BROADCAST_COST,
    N_BROADCAST_ON,
    N_BROADCASTS,
    N_COUNT,
    N_MANAGERS,
    N_PER_S,
    N_SINGLE,
    N_THRESHOLD,
    N_UNKNOWN,
    N_UNKNOWN_DROPPED,
    UNKNOWNS,
    X_BLOCK,
)
from signalstorm.envs.model.kernels.draws import D_DRAW, D_MEAN, SCRATCH_COUNT, draw_poisson
from signalstorm.envs.model.kernels.layout import (
    FIRST_SERVER,
    I_COUNT,
    I_EXTRA,
    I_UTILISATION,
    P_CORE,
    P_IMSIMGR,
    P_SCRATCH,
    P_STOCHASTIC,
    P_STORM,
    S_COUNT,
    S_STEP,
    STREAMS,
)
from signalstorm.envs.model.kernels.memory import area, block

_DROP_FROM = 0.70
"""Utilisation at or above which these requests are dropped without an answer; not configurable."""
_QUIET_S = 3600.0
"""For so long after a start nothing is broadcast; not configurable [s]."""
_EPSILON = 1e-9


@njit(error_model="numpy")
def ask(base, plan, tile):
    """Send this step's requests to all session managers, to one, or to none, by the utilisation of the step before.

    All the requests of a step are treated alike.
    """
    n = block(base, plan[plan[P_CORE] + X_BLOCK], N_COUNT, tile)
    m = area(base, plan, P_IMSIMGR, 0, I_COUNT, tile)
    d = area(base, plan, P_SCRATCH, 0, SCRATCH_COUNT, tile)
    storm = area(base, plan, P_STORM, 0, S_COUNT, tile)
    for b in range(len(tile)):
        d[D_MEAN, b] = n[N_UNKNOWN, b]
        d[D_DRAW, b] = n[N_UNKNOWN, b]
    if plan[P_STOCHASTIC]:
        draw_poisson(base, plan, (FIRST_SERVER + UNKNOWNS) * STREAMS, tile)
    for b in range(len(tile)):
        level = m[I_UTILISATION, b] + _EPSILON
        count = d[D_DRAW, b]
        awake = storm[S_STEP, b] - n[N_BOOTED, b] >= _QUIET_S * n[N_PER_S, b]
        on = (level < n[N_THRESHOLD, b]) & (level < _DROP_FROM) & awake
        n[N_BROADCAST_ON, b] = 1.0 if on else 0.0
        asked = 0.0
        if level >= _DROP_FROM:
            n[N_UNKNOWN_DROPPED, b] += count
        elif on:
            n[N_BROADCASTS, b] += count
            asked = count * n[N_MANAGERS, b]
        else:
            n[N_SINGLE, b] += count
            asked = count
        m[I_EXTRA, b] = asked * n[N_BROADCAST_COST, b]
