"""Failure handling at the gateway: what becomes of a request whose Gx or Gy question failed."""

from numba import njit

from signalstorm.envs.model.kernels.core_layout import (
    N_COUNT,
    N_DEGRADED,
    N_GX_ACTION,
    N_GY_ACTION,
    N_RETRIED,
    X_BLOCK,
    X_GX_FAILED,
    X_GX_NEXT,
    X_GY_FAILED,
    X_GY_NEXT,
    X_MATE,
)
from signalstorm.envs.model.kernels.layout import (
    P_COHORTS,
    P_CORE,
    P_REFUSE,
    P_SERVER_TABLE,
    PS_COUNT,
    PS_INFLOW,
)
from signalstorm.envs.model.kernels.memory import area, block

_CONTINUE, _RETRY = 1.0, 2.0


@njit(error_model="numpy")
def fall_back(base, plan, tile):
    """Refuse, go on without an answer, or ask the mate."""
    at = plan[P_CORE]
    _decide(base, plan, X_GX_FAILED, plan[at + X_GX_NEXT], N_GX_ACTION, plan[at + X_MATE], tile)
    _decide(base, plan, X_GY_FAILED, plan[at + X_GY_NEXT], N_GY_ACTION, -1, tile)


@njit(inline="always")
def _decide(base, plan, failed_row, on_offset, action_row, mate, tile):
    at = plan[P_CORE]
    share = plan[P_COHORTS] + 1
    n = block(base, plan[at + X_BLOCK], N_COUNT, tile)
    failed = block(base, plan[at + failed_row], share, tile)
    refused = area(base, plan, P_REFUSE, 0, share, tile)
    on = block(base, on_offset, share, tile)
    mate_at = plan[P_SERVER_TABLE] + max(mate, 0) * PS_COUNT
    again = block(base, plan[mate_at + PS_INFLOW] if mate >= 0 else plan[P_REFUSE], share, tile)
    for k in range(share):
        owners = 1.0 if k < share - 1 else 0.0
        for b in range(len(tile)):
            x = failed[k, b]
            if x <= 0.0:
                continue
            failed[k, b] = 0.0
            if n[action_row, b] == _CONTINUE:
                on[k, b] += x
                n[N_DEGRADED, b] += owners * x
            elif n[action_row, b] == _RETRY and mate >= 0:
                again[k, b] += x
                n[N_RETRIED, b] += owners * x
            else:
                refused[k, b] += x
