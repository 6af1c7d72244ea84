"""IMSI manager: its processor load, and what is lost before the gate when that exceeds its capacity."""

from numba import njit

from signalstorm.envs.model.kernels.alarms import log_alarm
from signalstorm.envs.model.kernels.cohorts import cohorts_in_use
from signalstorm.envs.model.kernels.ladders import silence
from signalstorm.envs.model.kernels.layout import (
    ALARM_IMSIMGR,
    I_BACKLOG,
    I_BASE,
    I_CAPACITY,
    I_COUNT,
    I_DROP,
    I_DROPS,
    I_EXTRA,
    I_LOST,
    I_OVER,
    I_PEAK,
    I_REFUSAL,
    I_REFUSALS,
    I_REQUEST,
    I_ROOM,
    I_SMOOTH,
    I_STATE,
    I_UTILISATION,
    I_WARN,
    K_COUNT,
    K_DROPPED,
    K_OVERLOAD,
    K_REFUSED_CONGESTION,
    K_REFUSED_GATE_FAILURE,
    K_STEP_ATTEMPTS,
    P_ARRIVE,
    P_COHORTS,
    P_GATE_OUT,
    P_IMSIMGR,
    P_KPI,
)
from signalstorm.envs.model.kernels.memory import area


@njit(error_model="numpy")
def manage(base, plan, step, tile):
    """Spend the processor on this step's requests; what it could not do soon is lost without a word.

    Work comes in lumps, such as a question to all session managers, so what a step leaves undone is done in the next.
    """
    if plan[P_IMSIMGR] < 0:
        return
    m = area(base, plan, P_IMSIMGR, 0, I_COUNT, tile)
    kpi = area(base, plan, P_KPI, 0, K_COUNT, tile)
    cohorts = plan[P_COHORTS]
    arrive = area(base, plan, P_ARRIVE, 0, cohorts + 1, tile)
    gone = area(base, plan, P_GATE_OUT, 0, cohorts + 1, tile)
    losing = 0
    for b in range(len(tile)):
        turned = kpi[K_REFUSED_CONGESTION, b] + kpi[K_REFUSED_GATE_FAILURE, b]
        fixed = m[I_BASE, b] + m[I_EXTRA, b] + m[I_REFUSAL, b] * (turned - m[I_REFUSALS, b])
        fixed += m[I_DROP, b] * (kpi[K_DROPPED, b] - m[I_DROPS, b])
        m[I_REFUSALS, b] = turned
        m[I_DROPS, b] = kpi[K_DROPPED, b]
        asked = m[I_REQUEST, b] * kpi[K_STEP_ATTEMPTS, b]
        work = m[I_BACKLOG, b] + fixed + asked
        left = max(work - m[I_CAPACITY, b], 0.0)
        m[I_UTILISATION, b] += m[I_SMOOTH, b] * ((work - left) / m[I_CAPACITY, b] - m[I_UTILISATION, b])
        m[I_PEAK, b] = max(m[I_PEAK, b], m[I_UTILISATION, b])
        lost = min(max(left - m[I_ROOM, b], 0.0), asked)
        m[I_LOST, b] = lost / asked if asked > 0.0 else 0.0
        m[I_BACKLOG, b] = left - lost
        losing += m[I_LOST, b] > 0.0
    if losing > 0:
        used = cohorts_in_use(base, plan, tile)
        for i in range(used + 1):
            k = i if i < used else cohorts
            for b in range(len(tile)):
                gone[k, b] = m[I_LOST, b] * arrive[k, b]
                arrive[k, b] -= gone[k, b]
        for b in range(len(tile)):
            kpi[K_OVERLOAD, b] += m[I_LOST, b] * kpi[K_STEP_ATTEMPTS, b]
        silence(base, plan, plan[P_GATE_OUT], False, step, tile)
    for b in range(len(tile)):
        level = m[I_UTILISATION, b]
        state = 2.0 if level > m[I_OVER, b] else (1.0 if level > m[I_WARN, b] else 0.0)
        if (state > 0.0) != (m[I_STATE, b] > 0.0):
            log_alarm(base, plan, b, ALARM_IMSIMGR, 1.0 if state > 0.0 else 0.0, tile)
        m[I_STATE, b] = state
