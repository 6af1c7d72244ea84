"""Processor loads: of the session database, which the dynamic limit of the Diameter agent follows, and of the MME."""

from numba import njit

from signalstorm.envs.model.kernels.core_layout import (
    BANDS,
    N_BAND_FROM,
    N_BAND_POINTS,
    N_CALM,
    N_COUNT,
    N_CPU,
    N_CPU_BASE,
    N_CPU_BEFORE,
    N_CPU_LUCK,
    N_CPU_PEAK,
    N_CPU_SERVED,
    N_DYNAMIC,
    N_HOLD,
    N_MME_CPU,
    N_MME_LOAD,
    N_MME_PEAK,
    N_MME_SERVED,
    N_MME_SMOOTH,
    N_SAMPLE,
    N_STEP,
    N_THROTTLE,
    N_THROTTLE_PEAK,
    N_THROTTLE_RISES,
    X_BLOCK,
    X_DATABASE,
    X_MME,
)
from signalstorm.envs.model.kernels.layout import (
    P_CORE,
    P_SERVER_TABLE,
    P_STORM,
    PS_BLOCK,
    PS_COUNT,
    Q_ADMITTED_SUM,
    Q_COUNT,
    Q_DRAW,
    Q_MEAN,
    Q_SERVED_SUM,
    Q_TAKEN,
    S_COUNT,
    S_STEP,
)
from signalstorm.envs.model.kernels.memory import area, block

_EPSILON = 1e-9
"""Rounding of a load that stands exactly on the edge of a band."""


@njit(error_model="numpy")
def measure(base, plan, tile):
    """Sample the loads after this step's work, and let the dynamic limit follow."""
    at = plan[P_CORE]
    n = block(base, plan[at + X_BLOCK], N_COUNT, tile)
    storm = area(base, plan, P_STORM, 0, S_COUNT, tile)
    if plan[at + X_MME] >= 0:
        q = block(base, plan[plan[P_SERVER_TABLE] + plan[at + X_MME] * PS_COUNT + PS_BLOCK], Q_COUNT, tile)
        for b in range(len(tile)):
            done = q[Q_SERVED_SUM, b] - n[N_MME_SERVED, b]
            load = (done + _luck(q, b, done)) / q[Q_MEAN, b] if q[Q_MEAN, b] > 0.0 else 1.0
            n[N_MME_SERVED, b] = q[Q_SERVED_SUM, b]
            n[N_MME_LOAD, b] += n[N_MME_SMOOTH, b] * (load - n[N_MME_LOAD, b])
            n[N_MME_CPU, b] = min(max(n[N_MME_LOAD, b], 0.0), 1.0)
            n[N_MME_PEAK, b] = max(n[N_MME_PEAK, b], n[N_MME_CPU, b])
    if plan[at + X_DATABASE] >= 0:
        q = block(base, plan[plan[P_SERVER_TABLE] + plan[at + X_DATABASE] * PS_COUNT + PS_BLOCK], Q_COUNT, tile)
        for b in range(len(tile)):
            n[N_CPU_LUCK, b] += _luck(q, b, q[Q_SERVED_SUM, b] - n[N_CPU_BEFORE, b])
            n[N_CPU_BEFORE, b] = q[Q_SERVED_SUM, b]
            if (int(storm[S_STEP, b]) + 1) % int(n[N_SAMPLE, b]) == 0:
                work = q[Q_MEAN, b] * n[N_SAMPLE, b]
                done = q[Q_SERVED_SUM, b] - n[N_CPU_SERVED, b] + n[N_CPU_LUCK, b]
                used = min(max(done / work, 0.0), 1.0) if work > 0.0 else 1.0
                n[N_CPU, b] = n[N_CPU_BASE, b] + (1.0 - n[N_CPU_BASE, b]) * used
                n[N_CPU_SERVED, b] = q[Q_SERVED_SUM, b]
                n[N_CPU_LUCK, b] = 0.0
                n[N_CPU_PEAK, b] = max(n[N_CPU_PEAK, b], n[N_CPU, b])
                if n[N_DYNAMIC, b] > 0.0:
                    _follow(n, b)


@njit(inline="always")
def _luck(q, b, done):
    """Return by how much the draw of this step's capacity fell short of its mean, where that was chance alone.

    With at least a mean step's work waiting a processor is busy, however much or little of it the draw lets through.
    What waits at the start of a step does not depend on the step's draw, whose deviations from the mean average out:
    so a load with them taken out is right on average, and steady where there is always work.
    """
    waited = q[Q_ADMITTED_SUM, b] - q[Q_TAKEN, b] - (q[Q_SERVED_SUM, b] - done)
    return q[Q_MEAN, b] - q[Q_DRAW, b] if waited >= q[Q_MEAN, b] else 0.0


@njit(inline="always")
def _follow(n, b):
    """Set the throttle by the band of a sample; below all bands take it back by steps, one after each full hold."""
    if n[N_CPU, b] >= n[N_BAND_FROM, b] - _EPSILON:
        before = n[N_THROTTLE, b]
        n[N_CALM, b] = -1.0
        for band in range(BANDS):
            if n[N_CPU, b] >= n[N_BAND_FROM + band, b] - _EPSILON:
                n[N_THROTTLE, b] = n[N_BAND_POINTS + band, b]
        n[N_THROTTLE_RISES, b] += n[N_THROTTLE, b] > before
        n[N_THROTTLE_PEAK, b] = max(n[N_THROTTLE_PEAK, b], n[N_THROTTLE, b])
        return
    n[N_CALM, b] = n[N_CALM, b] + n[N_SAMPLE, b] if n[N_CALM, b] >= 0.0 else 0.0
    if n[N_CALM, b] >= n[N_HOLD, b]:
        n[N_THROTTLE, b] = max(n[N_THROTTLE, b] - n[N_STEP, b], 0.0)
        n[N_CALM, b] = 0.0
