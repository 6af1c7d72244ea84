"""What a storm is measured by: counters, peaks, convergence, conservation."""

from numba import njit

from signalstorm.envs.model.kernels.core_layout import N_COUNT, N_RECORDED, X_BLOCK, X_DRA, X_HELD
from signalstorm.envs.model.kernels.dra import imbalance
from signalstorm.envs.model.kernels.layout import (
    C_COUNT,
    C_SIZE,
    K_ADMITTED,
    K_ATTEMPTS,
    K_BIN_ADMITTED,
    K_BIN_ATTEMPTS,
    K_BIN_SESSIONS,
    K_COUNT,
    K_ERROR,
    K_HEALTHY_SINCE,
    K_LOST,
    K_OVER,
    K_PEAK_ADMITTED,
    K_PEAK_ATTEMPTS,
    K_PEAK_SESSIONS,
    K_PEAK_WITHOUT,
    K_SECOND_PEAK,
    K_SESSIONS,
    K_STEADY,
    K_STEADY_SUM,
    K_STEP_ADMITTED,
    K_STEP_ATTEMPTS,
    K_STEP_SESSIONS,
    K_STORMED,
    K_T,
    K_T50,
    K_T75,
    K_T95,
    K_WITHOUT,
    P_ATTACH_MESSAGES,
    P_ATTEMPTS,
    P_BIN,
    P_CHECK,
    P_CHURN,
    P_CLASS,
    P_CLASS_TABLE,
    P_CLASSES,
    P_CLOSED,
    P_COHORTS,
    P_CORE,
    P_COUNT_FROM,
    P_FINAL,
    P_FLAGGED,
    P_GATE,
    P_HEALTH,
    P_IDLE,
    P_KPI,
    P_LAST_EVENT,
    P_LONG_STOCK,
    P_MESSAGES,
    P_POOL,
    P_PROC,
    P_PUT_OFF_MASK,
    P_PUT_OFF_STOCK,
    P_REGISTERED,
    P_SERVER_TABLE,
    P_SERVERS,
    P_SHORT_STOCK,
    P_STEADY_FROM,
    P_STORM,
    P_TRIGGER,
    P_YOUNGEST,
    PC_ATTEMPTS,
    PC_COUNT,
    PC_FIRST,
    PS_BLOCK,
    PS_COUNT,
    Q_ADMITTED_SUM,
    Q_COUNT,
    Q_DEADLINE,
    Q_SERVED_SUM,
    Q_SUM_EXPIRED,
    Q_SUM_FRESH,
    Q_SUM_OFFERED,
    Q_SUM_OVER,
    Q_SUM_STALE,
    RECORD_COUNTERS,
    RECORD_PER_QUEUE,
    S_ALARM,
    S_APART,
    S_BAND,
    S_COUNT,
    S_POPULATION,
    S_STEP,
)
from signalstorm.envs.model.kernels.memory import area, block

_NOBODY = 0.5
"""[subscribers] a laboratory run is done when fewer are left."""
_OVER = 1e-6
"""[subscribers] with fewer left and nothing to come, a storm is over and its counters are final."""


@njit(error_model="numpy")
def count(base, plan, step, linked, core, tile):
    """Take this step into the counters and judge each storm's health."""
    k = area(base, plan, P_KPI, 0, K_COUNT, tile)
    storm = area(base, plan, P_STORM, 0, S_COUNT, tile)
    classes = plan[P_CLASSES]
    registered = area(base, plan, P_REGISTERED, 0, classes, tile)
    for b in range(len(tile)):
        k[K_WITHOUT, b] = registered[0, b]
    for c in range(1, classes):
        for b in range(len(tile)):
            k[K_WITHOUT, b] += registered[c, b]
    if linked is not None:
        _serve_unconfirmed(base, plan, tile)
    for b in range(len(tile)):
        k[K_WITHOUT, b] = storm[S_POPULATION, b] - k[K_WITHOUT, b]
    for b in range(len(tile)):
        k[K_ATTEMPTS, b] += k[K_STEP_ATTEMPTS, b]
        k[K_ADMITTED, b] += k[K_STEP_ADMITTED, b]
        k[K_SESSIONS, b] += k[K_STEP_SESSIONS, b]
        k[K_BIN_ATTEMPTS, b] += k[K_STEP_ATTEMPTS, b]
        k[K_BIN_ADMITTED, b] += k[K_STEP_ADMITTED, b]
        k[K_BIN_SESSIONS, b] += k[K_STEP_SESSIONS, b]
        k[K_STEP_SESSIONS, b] = 0.0
        k[K_LOST, b] += k[K_WITHOUT, b]
    if storm[S_APART, 0] > 0.0:
        for b in range(len(tile)):
            if (int(storm[S_STEP, b]) + 1) % plan[P_BIN] == 0:
                _close_bin(k, b)
    elif (int(storm[S_STEP, 0]) + 1) % plan[P_BIN] == 0:
        for b in range(len(tile)):
            _close_bin(k, b)
    if step <= plan[P_TRIGGER] + plan[P_YOUNGEST]:
        _steady(k, storm, plan, tile)
    for b in range(len(tile)):
        if k[K_OVER, b] < 0.0:
            _recover(k, b, storm[S_STEP, b])
            if plan[P_CLOSED]:
                k[K_STORMED, b] = 1.0
                if k[K_T, b] < 0.0 and k[K_WITHOUT, b] < _NOBODY:
                    k[K_T, b] = storm[S_STEP, b]
            else:
                _judge(k, storm, plan, b, storm[S_STEP, b], linked)
            nothing_left = k[K_WITHOUT, b] < _OVER and k[K_T, b] >= 0.0
            if core is None:  # else sessions, notifications and what they cost go on
                if nothing_left and plan[P_CHURN] == 0 and storm[S_STEP, b] > plan[P_LAST_EVENT]:
                    k[K_OVER, b] = storm[S_STEP, b]
                    _finish(base, plan, b, tile)
    if plan[P_CHECK]:
        _conserve(base, plan, linked, core, tile)


@njit(inline="always")
def _serve_unconfirmed(base, plan, tile):
    """Add to those with service who is registered but to be confirmed, or being confirmed."""
    k = area(base, plan, P_KPI, 0, K_COUNT, tile)
    classes = plan[P_CLASSES]
    share = plan[P_COHORTS] + 1
    flagged = area(base, plan, P_FLAGGED, 0, classes, tile)
    for c in range(classes):
        for b in range(len(tile)):
            k[K_WITHOUT, b] += flagged[c, b]
    if plan[P_PUT_OFF_MASK] > 0:
        later = area(base, plan, P_PUT_OFF_STOCK, 0, classes, tile)
        for c in range(classes):
            for b in range(len(tile)):
                k[K_WITHOUT, b] += later[c, b]
    for m in range(plan[P_ATTACH_MESSAGES], plan[P_MESSAGES]):
        pool = area(base, plan, P_POOL, m * share * len(tile), share, tile)
        for c in range(classes):
            for b in range(len(tile)):
                k[K_WITHOUT, b] += pool[c, b]


@njit(inline="always")
def _confirming(base, plan, c, b, tile):
    """Subscribers of a class who are registered but to be confirmed, or being confirmed."""
    share = plan[P_COHORTS] + 1
    total = area(base, plan, P_FLAGGED, 0, plan[P_CLASSES], tile)[c, b]
    if plan[P_PUT_OFF_MASK] > 0:
        total += area(base, plan, P_PUT_OFF_STOCK, 0, plan[P_CLASSES], tile)[c, b]
    for m in range(plan[P_ATTACH_MESSAGES], plan[P_MESSAGES]):
        total += area(base, plan, P_POOL, m * share * len(tile), share, tile)[c, b]
    return total


@njit(inline="always")
def _close_bin(k, b):
    """End a bin: keep the largest counts, start again."""
    k[K_PEAK_ATTEMPTS, b] = max(k[K_PEAK_ATTEMPTS, b], k[K_BIN_ATTEMPTS, b])
    k[K_PEAK_ADMITTED, b] = max(k[K_PEAK_ADMITTED, b], k[K_BIN_ADMITTED, b])
    k[K_PEAK_SESSIONS, b] = max(k[K_PEAK_SESSIONS, b], k[K_BIN_SESSIONS, b])
    later = k[K_BIN_ATTEMPTS, b] if k[K_T, b] >= 0.0 else 0.0
    k[K_SECOND_PEAK, b] = max(k[K_SECOND_PEAK, b], later)
    k[K_BIN_ATTEMPTS, b] = 0.0
    k[K_BIN_ADMITTED, b] = 0.0
    k[K_BIN_SESSIONS, b] = 0.0


@njit(inline="always")
def _steady(k, storm, plan, tile):
    """Average the number without service over the window before the trigger."""
    window = plan[P_TRIGGER] - plan[P_STEADY_FROM]
    for b in range(len(tile)):
        step = storm[S_STEP, b]
        if window > 0 and plan[P_STEADY_FROM] <= step < plan[P_TRIGGER]:
            k[K_STEADY_SUM, b] += k[K_WITHOUT, b]
            k[K_STEADY, b] = k[K_STEADY_SUM, b] / (step + 1 - plan[P_STEADY_FROM])


@njit(inline="always")
def _recover(k, b, step):
    """Note when 50, 75 and 95 % of the peak number without service is back; a new peak starts again."""
    without = k[K_WITHOUT, b]
    if without >= k[K_PEAK_WITHOUT, b]:
        k[K_PEAK_WITHOUT, b] = without
        k[K_T50, b] = -1.0
        k[K_T75, b] = -1.0
        k[K_T95, b] = -1.0
        return
    if k[K_T50, b] < 0.0 and without <= 0.5 * k[K_PEAK_WITHOUT, b]:
        k[K_T50, b] = step
    if k[K_T75, b] < 0.0 and without <= 0.25 * k[K_PEAK_WITHOUT, b]:
        k[K_T75, b] = step
    if k[K_T95, b] < 0.0 and without <= 0.05 * k[K_PEAK_WITHOUT, b]:
        k[K_T95, b] = step


@njit(inline="always")
def _judge(k, storm, plan, b, step, linked):
    """Healthy within the band and without a congestion alarm; T starts the first unbroken health after it was lost."""
    if step < plan[P_COUNT_FROM]:
        return
    unhealthy = k[K_WITHOUT, b] > k[K_STEADY, b] + storm[S_BAND, b]
    if linked is not None:
        unhealthy |= storm[S_ALARM, b] > 0.0
    if unhealthy:
        k[K_STORMED, b] = 1.0
        k[K_HEALTHY_SINCE, b] = -1.0
        return
    if k[K_HEALTHY_SINCE, b] < 0.0:
        k[K_HEALTHY_SINCE, b] = step
    long_enough = step - k[K_HEALTHY_SINCE, b] >= plan[P_HEALTH]
    if k[K_STORMED, b] > 0.0 and k[K_T, b] < 0.0 and long_enough:
        k[K_T, b] = k[K_HEALTHY_SINCE, b]


@njit(error_model="numpy")
def _finish(base, plan, b, tile):
    """Keep the counters and queues of a storm that is over, whatever its tile does next."""
    width = len(tile)
    final = plan[P_FINAL]
    _copy(base, plan[P_KPI], final, K_COUNT, b, tile)
    final += K_COUNT * width
    if plan[P_GATE] >= 0:
        _copy(base, plan[P_GATE], final, Q_COUNT, b, tile)
    for server in range(plan[P_SERVERS]):
        final += Q_COUNT * width
        _copy(base, plan[plan[P_SERVER_TABLE] + server * PS_COUNT + PS_BLOCK], final, Q_COUNT, b, tile)


@njit(inline="always")
def _copy(base, source, target, rows, b, tile):
    a = block(base, source, rows, tile)
    z = block(base, target, rows, tile)
    for row in range(rows):
        z[row, b] = a[row, b]


@njit(error_model="numpy")
def _conserve(base, plan, linked, core, tile):
    """Check that nothing is lost: subscribers of each class, and entries of each queue."""
    k = area(base, plan, P_KPI, 0, K_COUNT, tile)
    storm = area(base, plan, P_STORM, 0, S_COUNT, tile)
    classes = plan[P_CLASSES]
    cohorts = plan[P_COHORTS]
    registered = area(base, plan, P_REGISTERED, 0, classes, tile)
    idle = area(base, plan, P_IDLE, 0, classes, tile)
    proc = area(base, plan, P_PROC, 0, cohorts, tile)
    short = area(base, plan, P_SHORT_STOCK, 0, cohorts, tile)
    long = area(base, plan, P_LONG_STOCK, 0, classes, tile)
    for b in range(len(tile)):
        for c in range(classes):
            size = area(base, plan, P_CLASS, c * C_COUNT * len(tile), C_COUNT, tile)[C_SIZE, b]
            total = registered[c, b] + idle[c, b] + long[c, b]
            if linked is not None:
                total += _confirming(base, plan, c, b, tile)
            if core is not None:
                total += block(base, plan[plan[P_CORE] + X_HELD], classes, tile)[c, b]
            first = plan[plan[P_CLASS_TABLE] + c * PC_COUNT + PC_FIRST]
            attempts = plan[plan[P_CLASS_TABLE] + c * PC_COUNT + PC_ATTEMPTS]
            for i in range(cohorts):
                if first <= i % plan[P_ATTEMPTS] < first + attempts:
                    total += proc[i, b] + short[i, b]
            k[K_ERROR, b] = max(k[K_ERROR, b], abs(total - size) / max(size, 1.0))
        if core is not None:
            if plan[plan[P_CORE] + X_DRA]:
                k[K_ERROR, b] = max(k[K_ERROR, b], imbalance(base, plan, b, tile))
        owners = 0.0
        if plan[P_GATE] >= 0:
            owners += _conserve_queue(base, k, plan[P_GATE], b, True, tile)
        for server in range(plan[P_SERVERS]):
            offset = plan[plan[P_SERVER_TABLE] + server * PS_COUNT + PS_BLOCK]
            owners += _conserve_queue(base, k, offset, b, False, tile)
        if plan[P_CHECK] == 2:
            held = 0.0
            for i in range(cohorts):
                held += proc[i, b]
            k[K_ERROR, b] = max(k[K_ERROR, b], abs(held - owners) / storm[S_POPULATION, b])


@njit(inline="always")
def _conserve_queue(base, k, offset, b, purging, tile):
    """Check offered = served + expired + over + waiting; returns the entries whose owner still waits."""
    q = block(base, offset, Q_COUNT, tile)
    left = q[Q_SUM_FRESH, b] + q[Q_SUM_STALE, b] + q[Q_SUM_OVER, b] + q[Q_ADMITTED_SUM, b] - q[Q_SERVED_SUM, b]
    if purging:
        left += q[Q_SUM_EXPIRED, b]
    offered = q[Q_SUM_OFFERED, b]
    k[K_ERROR, b] = max(k[K_ERROR, b], abs(left - offered) / max(offered, 1.0))
    return q[Q_ADMITTED_SUM, b] - max(q[Q_SERVED_SUM, b], q[Q_DEADLINE, b])


@njit(error_model="numpy")
def record(base, plan, out, core, tile):
    """Write one record per storm; ``out``: shape (quantities, storms of the tile)."""
    width = len(tile)
    live = area(base, plan, P_KPI, 0, K_COUNT, tile)
    final = area(base, plan, P_FINAL, 0, K_COUNT, tile)
    for b in range(width):
        for row in range(RECORD_COUNTERS):
            out[row, b] = final[row, b] if live[K_OVER, b] >= 0.0 else live[row, b]
        out[RECORD_COUNTERS, b] = final[K_WITHOUT, b] if live[K_OVER, b] >= 0.0 else live[K_WITHOUT, b]
        at = RECORD_COUNTERS + 1
        for server in range(-1, plan[P_SERVERS]):
            offset = plan[P_GATE] if server < 0 else plan[plan[P_SERVER_TABLE] + server * PS_COUNT + PS_BLOCK]
            if offset >= 0:
                if live[K_OVER, b] >= 0.0:
                    offset = plan[P_FINAL] + (K_COUNT + (server + 1) * Q_COUNT) * width
                q = block(base, offset, Q_COUNT, tile)
                out[at, b] = q[Q_ADMITTED_SUM, b] - q[Q_SERVED_SUM, b]
                out[at + 1, b] = max(q[Q_DEADLINE, b] - q[Q_SERVED_SUM, b], 0.0)
                out[at + 2, b] = q[Q_SUM_FRESH, b]
                out[at + 3, b] = q[Q_SUM_STALE, b] + (q[Q_SUM_EXPIRED, b] if server < 0 else 0.0)
                out[at + 4, b] = q[Q_SUM_OVER, b]
            at += RECORD_PER_QUEUE
        if core is not None:
            n = block(base, plan[plan[P_CORE] + X_BLOCK], N_COUNT, tile)
            for row in range(N_RECORDED):
                out[at + row, b] = n[row, b]


@njit(error_model="numpy")
def all_over(base, plan, tile):
    """Tell whether no storm of the tile can change any more."""
    k = area(base, plan, P_KPI, 0, K_COUNT, tile)
    over = 0
    for b in range(len(tile)):
        over += k[K_OVER, b] >= 0.0
    return over == len(tile)
