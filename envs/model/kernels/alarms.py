"""The log of alarms: which element, when set, when cleared; the kernel's traps."""

from numba import njit

from signalstorm.envs.model.kernels.layout import (
    A_COUNT,
    A_EDGE,
    A_ELEMENT,
    A_STEP,
    ALARM_LOG,
    P_ALARMS,
    P_STORM,
    S_ALARMS,
    S_COUNT,
    S_STEP,
)
from signalstorm.envs.model.kernels.memory import area


@njit(error_model="numpy")
def log_alarm(base, plan, b, element, edge, tile):
    """Append an alarm of storm ``b``; once the log is full further ones are only counted."""
    storm = area(base, plan, P_STORM, 0, S_COUNT, tile)
    n = int(storm[S_ALARMS, b])
    storm[S_ALARMS, b] += 1.0
    if n < ALARM_LOG:
        row = area(base, plan, P_ALARMS, n * A_COUNT * len(tile), A_COUNT, tile)
        row[A_STEP, b] = storm[S_STEP, b]
        row[A_ELEMENT, b] = element
        row[A_EDGE, b] = edge
