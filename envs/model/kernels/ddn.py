"""Downlink data notifications: the SGW's throttle towards an MME, by its own count or by the MME's word."""

from numba import njit

from signalstorm.envs.model.kernels.core_layout import (
    DDNS,
    N_COUNT,
    N_DDN,
    N_DDN_COST,
    N_DDN_DELAY,
    N_DDN_DROPPED,
    N_DDN_FACTOR,
    N_DDN_FACTOR_PEAK,
    N_DDN_FIRST_FACTOR,
    N_DDN_IN_WINDOW,
    N_DDN_INCREMENT,
    N_DDN_LIMIT,
    N_DDN_LOW_SHARE,
    N_DDN_MANAGERS,
    N_DDN_OVERLOAD,
    N_DDN_POLL,
    N_DDN_POLLS,
    N_DDN_RELEASE_10,
    N_DDN_SEEN,
    N_DDN_SENT,
    N_DDN_SINCE,
    N_DDN_STABLE,
    N_DDN_STARTS,
    N_DDN_SURGE,
    N_DDN_TIME,
    N_DDN_UNTIL,
    N_DDN_WINDOW,
    N_MME_CPU,
    X_BLOCK,
    X_MME,
)
from signalstorm.envs.model.kernels.draws import D_DRAW, D_MEAN, SCRATCH_COUNT, draw_poisson
from signalstorm.envs.model.kernels.layout import (
    FIRST_SERVER,
    P_CORE,
    P_SCRATCH,
    P_SERVER_TABLE,
    P_STOCHASTIC,
    P_STORM,
    PS_BLOCK,
    PS_COUNT,
    Q_BURST,
    Q_COUNT,
    S_COUNT,
    S_STEP,
    STREAMS,
)
from signalstorm.envs.model.kernels.memory import area, block

_EPSILON = 1e-6
"""[notifications] rounding of a count that stands exactly on the limit."""


@njit(error_model="numpy")
def notify(base, plan, tile):
    """Send this step's notifications, drop some of the low-priority ones, page at the MME."""
    at = plan[P_CORE]
    n = block(base, plan[at + X_BLOCK], N_COUNT, tile)
    d = area(base, plan, P_SCRATCH, 0, SCRATCH_COUNT, tile)
    storm = area(base, plan, P_STORM, 0, S_COUNT, tile)
    for b in range(len(tile)):
        d[D_MEAN, b] = n[N_DDN, b]
        d[D_DRAW, b] = n[N_DDN, b]
    if plan[P_STOCHASTIC]:
        draw_poisson(base, plan, (FIRST_SERVER + DDNS) * STREAMS, tile)
    for b in range(len(tile)):
        surge = n[N_DDN_SURGE, b]
        n[N_DDN_SURGE, b] = 0.0
        count = d[D_DRAW, b] + surge
        dropped = count * n[N_DDN_LOW_SHARE, b] * 0.01 * n[N_DDN_FACTOR, b]
        sent = count - dropped
        n[N_DDN_SENT, b] += sent
        n[N_DDN_DROPPED, b] += dropped
        n[N_DDN_IN_WINDOW, b] += sent
        n[N_DDN_SEEN, b] += count
        if plan[at + X_MME] >= 0:
            server = plan[P_SERVER_TABLE] + plan[at + X_MME] * PS_COUNT
            block(base, plan[server + PS_BLOCK], Q_COUNT, tile)[Q_BURST, b] += sent * n[N_DDN_COST, b]
        if n[N_DDN_RELEASE_10, b] > 0.0:
            _obey(n, b, storm[S_STEP, b])
        else:
            _poll(n, b, int(storm[S_STEP, b]))
        n[N_DDN_FACTOR_PEAK, b] = max(n[N_DDN_FACTOR_PEAK, b], n[N_DDN_FACTOR, b])


@njit(inline="always")
def _obey(n, b, step):
    """Release 10: an overloaded MME names factor and delay in its acknowledgements, which renew each other."""
    if n[N_MME_CPU, b] >= n[N_DDN_OVERLOAD, b]:
        n[N_DDN_STARTS, b] += n[N_DDN_FACTOR, b] == 0.0
        n[N_DDN_FACTOR, b] = n[N_DDN_FIRST_FACTOR, b]
        n[N_DDN_UNTIL, b] = step + n[N_DDN_DELAY, b]
    elif step >= n[N_DDN_UNTIL, b]:
        n[N_DDN_FACTOR, b] = 0.0


@njit(inline="always")
def _poll(n, b, step):
    """The SGW's own law: windows in a row, looked at by each poll; the factor moves at the ends of windows."""
    end = (step + 1) % int(n[N_DDN_WINDOW, b]) == 0
    over = n[N_DDN_IN_WINDOW, b] > n[N_DDN_LIMIT, b] * n[N_DDN_WINDOW, b] + _EPSILON
    began = False
    if (step + 1) % int(n[N_DDN_POLL, b]) == 0:
        n[N_DDN_POLLS, b] += n[N_DDN_MANAGERS, b]
        if n[N_DDN_SINCE, b] < 0.0 and over:
            n[N_DDN_SINCE, b] = step + 1
            n[N_DDN_FACTOR, b] = n[N_DDN_FIRST_FACTOR, b]
            n[N_DDN_SEEN, b] = 0.0
            n[N_DDN_STARTS, b] += 1.0
            began = True
    if end:
        # The window in which throttling began has set the factor already.
        whole = step + 1 - n[N_DDN_SINCE, b] >= n[N_DDN_WINDOW, b]
        if n[N_DDN_SINCE, b] >= 0.0 and whole and not began:
            change = n[N_DDN_INCREMENT, b] if over else -n[N_DDN_INCREMENT, b]
            n[N_DDN_FACTOR, b] = min(max(n[N_DDN_FACTOR, b] + change, n[N_DDN_FIRST_FACTOR, b]), 100.0)
        n[N_DDN_IN_WINDOW, b] = 0.0
    if n[N_DDN_SINCE, b] >= 0.0:
        lasted = step + 1 - n[N_DDN_SINCE, b]
        stable = False
        if lasted > 0.0 and lasted % n[N_DDN_STABLE, b] == 0.0:
            stable = n[N_DDN_SEEN, b] < n[N_DDN_LIMIT, b] * n[N_DDN_STABLE, b] - _EPSILON
            n[N_DDN_SEEN, b] = 0.0
        if stable or lasted >= n[N_DDN_TIME, b]:
            n[N_DDN_SINCE, b] = -1.0
            n[N_DDN_FACTOR, b] = 0.0
