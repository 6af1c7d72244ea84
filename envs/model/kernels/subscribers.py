"""Subscribers: demand, power-cycles, location refreshes, and what becomes of accepts and refusals."""

import numpy as np
from numba import njit

from signalstorm.envs.model.kernels.cohorts import cohorts_in_use, sends_in_use
from signalstorm.envs.model.kernels.draws import (
    D_DRAW,
    D_MEAN,
    D_PART,
    D_SQUARE,
    D_TIME,
    D_TOTAL,
    SCRATCH_COUNT,
    draw_poisson,
)
from signalstorm.envs.model.kernels.ladders import elapsed, put_long, refuse, silence
from signalstorm.envs.model.kernels.layout import (
    C_CHURN,
    C_COUNT,
    C_REATTACH,
    C_RESEND_LOW,
    C_RESPONSE_HIGH,
    C_RESPONSE_LOW,
    DEMAND,
    K_COUNT,
    K_DETACH_NETWORK,
    K_DETACH_SUBSCRIBER,
    K_LATE,
    K_REFRESHES,
    K_REFUSED_NETWORK,
    K_STEP_ATTEMPTS,
    K_STEP_SESSIONS,
    K_SUCCESSES,
    P_ACCEPT,
    P_ARRIVE,
    P_ATTACH_MESSAGES,
    P_ATTEMPTS,
    P_CHURN,
    P_CLASS,
    P_CLASS_TABLE,
    P_CLASSES,
    P_COHORTS,
    P_DETACHED,
    P_END,
    P_FIRED_LONG,
    P_FIRED_SHORT,
    P_FLAGGED,
    P_IDLE,
    P_KPI,
    P_LONG,
    P_LONG_LEVEL,
    P_LONG_MASK,
    P_LONG_STOCK,
    P_MESSAGES,
    P_PACED,
    P_POOL,
    P_PROC,
    P_PROFILE,
    P_PROFILE_POINTS,
    P_PUT_OFF,
    P_PUT_OFF_FIRED,
    P_PUT_OFF_LEVEL,
    P_PUT_OFF_MASK,
    P_PUT_OFF_STOCK,
    P_REFUSE,
    P_REGISTERED,
    P_SCATTER,
    P_SCRATCH,
    P_SEND,
    P_SESSIONS,
    P_SHORT,
    P_SHORT_LEVEL,
    P_SHORT_MASK,
    P_SHORT_STOCK,
    P_STOCHASTIC,
    P_STORM,
    PC_ATTEMPTS,
    PC_COUNT,
    PC_FIRST,
    REFRESH,
    S_ACTIVITY,
    S_AGE,
    S_COUNT,
    S_DEMAND,
    S_DEMAND_DRAW,
    S_DEMAND_FROM,
    S_LATE,
    S_NO,
    S_PUT_OFF,
    S_SLOPE_FROM,
    S_SLOPE_HIGH,
    S_SLOPE_LOW,
    S_SLOPE_NEXT,
    S_SLOPE_TO,
    S_SQUARES,
    S_STEP,
    S_WAITING,
    S_YES,
    SERVICE,
    STREAMS,
)
from signalstorm.envs.model.kernels.memory import area
from signalstorm.envs.model.kernels.rows import add_rows, add_up, clear
from signalstorm.envs.model.kernels.wheel import fire, fire_drawn, put


@njit(error_model="numpy")
def request(base, plan, step, linked, tile):
    """Collect this step's requests: timers that fire, idle subscribers switched on, power-cycles."""
    cohorts = plan[P_COHORTS]
    used = cohorts_in_use(base, plan, tile)
    if plan[P_SCATTER]:
        fire_drawn(base, plan, step, tile)
    else:
        fire(
            base, plan[P_SHORT], plan[P_SHORT_MASK], plan[P_SHORT_LEVEL], plan[P_SHORT_STOCK], step, cohorts,
            used, plan[P_FIRED_SHORT], tile,
        )  # fmt: skip
    fire(
        base, plan[P_LONG], plan[P_LONG_MASK], plan[P_LONG_LEVEL], plan[P_LONG_STOCK], step, plan[P_CLASSES],
        plan[P_CLASSES], plan[P_FIRED_LONG], tile,
    )  # fmt: skip
    kpi = area(base, plan, P_KPI, 0, K_COUNT, tile)
    storm = area(base, plan, P_STORM, 0, S_COUNT, tile)
    arrive = area(base, plan, P_ARRIVE, 0, cohorts + 1, tile)
    short = area(base, plan, P_FIRED_SHORT, 0, cohorts, tile)
    proc = area(base, plan, P_PROC, 0, cohorts, tile)
    for i in range(used * len(tile)):
        arrive[0, i] = short[0, i]
    _first_attempts(base, plan, linked, tile)
    add_up(arrive, used, kpi, K_STEP_ATTEMPTS, tile)
    add_rows(proc, 0, arrive, 0, used, tile)
    for b in range(len(tile)):
        arrive[cohorts, b] = kpi[K_STEP_ATTEMPTS, b] * storm[S_STEP, b]


@njit(inline="always")
def _first_attempts(base, plan, linked, tile):
    """Add first attempts: long timers, demand, power-cycles."""
    classes = plan[P_CLASSES]
    storm = area(base, plan, P_STORM, 0, S_COUNT, tile)
    arrive = area(base, plan, P_ARRIVE, 0, plan[P_COHORTS] + 1, tile)
    long = area(base, plan, P_FIRED_LONG, 0, classes, tile)
    idle = area(base, plan, P_IDLE, 0, classes, tile)
    registered = area(base, plan, P_REGISTERED, 0, classes, tile)
    kpi = area(base, plan, P_KPI, 0, K_COUNT, tile)
    _demand(base, plan, tile)
    for b in range(len(tile)):
        storm[S_WAITING, b] = idle[0, b]
    for c in range(1, classes):
        for b in range(len(tile)):
            storm[S_WAITING, b] += idle[c, b]
    for c in range(classes):
        parameters = area(base, plan, P_CLASS, c * C_COUNT * len(tile), C_COUNT, tile)
        first = plan[plan[P_CLASS_TABLE] + c * PC_COUNT + PC_FIRST]
        for b in range(len(tile)):
            switched = min(storm[S_DEMAND_DRAW, b], storm[S_WAITING, b])
            part = switched / storm[S_WAITING, b] if switched > 0.0 else 0.0
            on = part * idle[c, b]
            idle[c, b] = idle[c, b] - on if part < 1.0 else 0.0
            arrive[first, b] += long[c, b] + on
        if plan[P_CHURN]:
            for b in range(len(tile)):
                cycled = parameters[C_CHURN, b] * registered[c, b]
                registered[c, b] -= cycled
                arrive[first, b] += cycled
                kpi[K_DETACH_SUBSCRIBER, b] += cycled
            if linked is not None:
                flagged = area(base, plan, P_FLAGGED, 0, classes, tile)
                for b in range(len(tile)):
                    cycled = parameters[C_CHURN, b] * flagged[c, b]
                    flagged[c, b] -= cycled
                    arrive[first, b] += cycled
                    kpi[K_DETACH_SUBSCRIBER, b] += cycled


@njit(error_model="numpy")
def refresh(base, plan, step, tile):
    """Let flagged subscribers refresh their location as they become active; they keep service meanwhile."""
    classes = plan[P_CLASSES]
    share = plan[P_COHORTS] + 1
    attach = plan[P_ATTACH_MESSAGES]
    storm = area(base, plan, P_STORM, 0, S_COUNT, tile)
    kpi = area(base, plan, P_KPI, 0, K_COUNT, tile)
    flagged = area(base, plan, P_FLAGGED, 0, classes, tile)
    pool = area(base, plan, P_POOL, attach * share * len(tile), share, tile)
    send = area(base, plan, P_SEND, 0, plan[P_MESSAGES], tile)
    d = area(base, plan, P_SCRATCH, 0, SCRATCH_COUNT, tile)
    for b in range(len(tile)):
        storm[S_WAITING, b] = 0.0
    for c in range(classes):
        for b in range(len(tile)):
            storm[S_WAITING, b] += flagged[c, b]
    due = 0
    for b in range(len(tile)):
        due += storm[S_STEP, b] >= storm[S_SLOPE_NEXT, b]
    if due > 0:
        _take_slope(base, plan, tile)
    for b in range(len(tile)):
        begin = storm[S_SLOPE_FROM, b]
        low = storm[S_SLOPE_LOW, b]
        part = min(max((storm[S_STEP, b] - begin) / (storm[S_SLOPE_TO, b] - begin), 0.0), 1.0)
        rate = low + part * (storm[S_SLOPE_HIGH, b] - low)
        d[D_MEAN, b] = min(rate * storm[S_ACTIVITY, b], 1.0) * storm[S_WAITING, b]
        d[D_DRAW, b] = d[D_MEAN, b]
    if plan[P_STOCHASTIC]:
        draw_poisson(base, plan, REFRESH * STREAMS + SERVICE, tile)
    for b in range(len(tile)):
        n = min(d[D_DRAW, b], storm[S_WAITING, b])
        d[D_PART, b] = n / storm[S_WAITING, b] if n > 0.0 else 0.0
    if plan[P_PUT_OFF_MASK] > 0:
        _put_off(base, plan, step, tile)
        return
    for b in range(len(tile)):
        n = min(d[D_DRAW, b], storm[S_WAITING, b])
        send[attach, b] += n
        kpi[K_REFRESHES, b] += n
    for c in range(classes):
        for b in range(len(tile)):
            own = d[D_PART, b] * flagged[c, b]
            flagged[c, b] -= own
            pool[c, b] += own


@njit(error_model="numpy")
def _put_off(base, plan, step, tile):
    """Refresh those whose time has come, and put off those who have just become active, uniformly over S_PUT_OFF."""
    classes = plan[P_CLASSES]
    share = plan[P_COHORTS] + 1
    attach = plan[P_ATTACH_MESSAGES]
    storm = area(base, plan, P_STORM, 0, S_COUNT, tile)
    kpi = area(base, plan, P_KPI, 0, K_COUNT, tile)
    flagged = area(base, plan, P_FLAGGED, 0, classes, tile)
    pool = area(base, plan, P_POOL, attach * share * len(tile), share, tile)
    send = area(base, plan, P_SEND, 0, plan[P_MESSAGES], tile)
    fired = area(base, plan, P_PUT_OFF_FIRED, 0, classes, tile)
    d = area(base, plan, P_SCRATCH, 0, SCRATCH_COUNT, tile)
    fire(
        base, plan[P_PUT_OFF], plan[P_PUT_OFF_MASK], plan[P_PUT_OFF_LEVEL], plan[P_PUT_OFF_STOCK], step, classes,
        classes, plan[P_PUT_OFF_FIRED], tile,
    )  # fmt: skip
    for b in range(len(tile)):
        # Added up as in a storm that puts nobody off, so that the storms beside it in a tile change none of its bits.
        now = min(d[D_DRAW, b], storm[S_WAITING, b]) if storm[S_PUT_OFF, b] == 0.0 else 0.0
        send[attach, b] += now
        kpi[K_REFRESHES, b] += now
    for c in range(classes):
        for b in range(len(tile)):
            own = d[D_PART, b] * flagged[c, b]
            flagged[c, b] -= own
            now = fired[c, b]
            send[attach, b] += now
            kpi[K_REFRESHES, b] += now
            if storm[S_PUT_OFF, b] > 0.0:
                put(
                    base, plan[P_PUT_OFF], plan[P_PUT_OFF_MASK], plan[P_PUT_OFF_STOCK], step, plan[P_END], classes,
                    b, c, own, 1, 1 + int(storm[S_PUT_OFF, b]), tile,
                )  # fmt: skip
            else:
                now += own
            pool[c, b] += now


@njit(error_model="numpy")
def _take_slope(base, plan, tile):
    """Find the part of the activity profile on which each storm is."""
    points = plan[P_PROFILE_POINTS]
    storm = area(base, plan, P_STORM, 0, S_COUNT, tile)
    profile = area(base, plan, P_PROFILE, 0, 2 * points, tile)
    for b in range(len(tile)):
        at = 0
        while (at < points - 2) and (profile[at + 1, b] <= storm[S_STEP, b]):
            at += 1
        storm[S_SLOPE_FROM, b] = profile[at, b]
        storm[S_SLOPE_TO, b] = profile[at + 1, b]
        storm[S_SLOPE_LOW, b] = profile[points + at, b]
        storm[S_SLOPE_HIGH, b] = profile[points + at + 1, b]
        storm[S_SLOPE_NEXT, b] = profile[at + 1, b] if at < points - 2 else np.inf


@njit(inline="always")
def _demand(base, plan, tile):
    """Number of idle subscribers that the demand wants to switch on in this step."""
    storm = area(base, plan, P_STORM, 0, S_COUNT, tile)
    if plan[P_PACED] or not plan[P_STOCHASTIC]:
        for b in range(len(tile)):
            storm[S_DEMAND_DRAW, b] = storm[S_DEMAND, b]
    else:
        d = area(base, plan, P_SCRATCH, 0, SCRATCH_COUNT, tile)
        for b in range(len(tile)):
            d[D_MEAN, b] = storm[S_DEMAND, b]
        draw_poisson(base, plan, DEMAND * STREAMS + SERVICE, tile)
        for b in range(len(tile)):
            storm[S_DEMAND_DRAW, b] = d[D_DRAW, b]
    for b in range(len(tile)):
        storm[S_DEMAND_DRAW, b] = storm[S_DEMAND_DRAW, b] if storm[S_STEP, b] >= storm[S_DEMAND_FROM, b] else 0.0


@njit(error_model="numpy")
def conclude(base, plan, step, linked, tile):
    """Let the handsets take note of this step's accepts and refusals."""
    cohorts = plan[P_COHORTS]
    kpi = area(base, plan, P_KPI, 0, K_COUNT, tile)
    storm = area(base, plan, P_STORM, 0, S_COUNT, tile)
    accepted = area(base, plan, P_ACCEPT, 0, cohorts + 1, tile)
    refused = area(base, plan, P_REFUSE, 0, cohorts + 1, tile)
    used = cohorts_in_use(base, plan, tile)
    add_up(accepted, used, storm, S_YES, tile)
    add_up(refused, used, storm, S_NO, tile)
    yes = 0
    no = 0
    for b in range(len(tile)):
        yes += storm[S_YES, b] > 0.0
        no += storm[S_NO, b] > 0.0
        kpi[K_REFUSED_NETWORK, b] += storm[S_NO, b]
        kpi[K_STEP_SESSIONS, b] += storm[S_YES, b] if plan[P_SESSIONS] == -1 else 0.0
    if yes > 0:
        _accept(base, plan, step, linked, tile)
    if no > 0:
        refuse(base, plan, plan[P_REFUSE], step, tile)
    clear(accepted, 0, used, tile)
    clear(accepted, cohorts, 1, tile)
    clear(refused, 0, used, tile)
    clear(refused, cohorts, 1, tile)
    if linked is not None:
        _detach(base, plan, step, tile)


@njit(inline="always")
def _detach(base, plan, step, tile):
    """A refresh that failed makes the SGSN detach the subscriber and ask for re-attach: attempt 1 within seconds."""
    kpi = area(base, plan, P_KPI, 0, K_COUNT, tile)
    detached = area(base, plan, P_DETACHED, 0, plan[P_CLASSES], tile)
    for c in range(plan[P_CLASSES]):
        parameters = area(base, plan, P_CLASS, c * C_COUNT * len(tile), C_COUNT, tile)
        for b in range(len(tile)):
            n = detached[c, b]
            if n > 0.0:
                put_long(base, plan, b, c, n, 1, 1 + int(parameters[C_REATTACH, b]), step, tile)
                kpi[K_DETACH_NETWORK, b] += n
                detached[c, b] = 0.0


@njit(inline="always")
def _accept(base, plan, step, linked, tile):
    """Register those whose handset still waits; the others have given up, so the work was wasted."""
    cohorts = plan[P_COHORTS]
    classes = plan[P_CLASSES]
    kpi = area(base, plan, P_KPI, 0, K_COUNT, tile)
    storm = area(base, plan, P_STORM, 0, S_COUNT, tile)
    accepted = area(base, plan, P_ACCEPT, 0, cohorts + 1, tile)
    registered = area(base, plan, P_REGISTERED, 0, classes, tile)
    proc = area(base, plan, P_PROC, 0, cohorts, tile)
    d = area(base, plan, P_SCRATCH, 0, SCRATCH_COUNT, tile)
    for b in range(len(tile)):
        n = storm[S_YES, b]
        mean = accepted[cohorts, b] / n
        storm[S_AGE, b] = storm[S_STEP, b] - mean if n > 0.0 else 0.0
        storm[S_LATE, b] = 0.0
        # Ages differ by the links that the messages took: taken as uniform, with the mean and variance they have.
        d[D_SQUARE, b] = 0.0
        if linked is not None:
            variance = storm[S_SQUARES, b] / n - mean * mean
            d[D_SQUARE, b] = np.sqrt(3.0 * max(variance, 0.0)) if n > 0.0 else 0.0
            storm[S_SQUARES, b] = 0.0
        accepted[cohorts, b] = 0.0
    for group in range(sends_in_use(base, plan, tile) * classes):
        before = group // classes
        c = group % classes
        parameters = area(base, plan, P_CLASS, c * C_COUNT * len(tile), C_COUNT, tile)
        first = before * plan[P_ATTEMPTS] + plan[plan[P_CLASS_TABLE] + c * PC_COUNT + PC_FIRST]
        for b in range(len(tile)):
            # The attempt began with its first send.
            ago = before * parameters[C_RESEND_LOW, b] if before > 0 else 0.0
            low = parameters[C_RESPONSE_LOW, b] - ago
            high = parameters[C_RESPONSE_HIGH, b] - ago
            half = d[D_SQUARE, b]
            age = storm[S_AGE, b]
            d[D_PART, b] = elapsed(age, low - half, high + half)
            # Mean age of those who come too late.
            d[D_TIME, b] = max(age, 0.5 * (low + age + half)) if half > 0.0 else age
        _split(accepted, proc, first, plan[plan[P_CLASS_TABLE] + c * PC_COUNT + PC_ATTEMPTS], d, tile)
        for b in range(len(tile)):
            registered[c, b] += d[D_DRAW, b]
            kpi[K_SUCCESSES, b] += d[D_DRAW, b]
        for b in range(len(tile)):
            storm[S_LATE, b] += d[D_TOTAL, b]
            accepted[cohorts, b] += d[D_TOTAL, b] * (storm[S_STEP, b] - d[D_TIME, b])
    late = 0
    for b in range(len(tile)):
        late += storm[S_LATE, b] > 0.0
        kpi[K_LATE, b] += storm[S_LATE, b]
    if late > 0:
        silence(base, plan, plan[P_ACCEPT], True, step, tile)


@njit(inline="always")
def _split(accepted, proc, first, attempts, d, tile):
    """Take those served in time, all but D_PART, off what is under way and leave the late; sums: D_DRAW and D_TOTAL."""
    if len(tile) == 1:
        part = d[D_PART, 0]
        in_time = 0.0
        too_late = 0.0
        for k in range(first, first + attempts):
            late = accepted[k, 0] * part
            served = accepted[k, 0] - late
            accepted[k, 0] = late
            proc[k, 0] -= served
            in_time += served
            too_late += late
        d[D_DRAW, 0] = in_time
        d[D_TOTAL, 0] = too_late
        return
    for b in range(len(tile)):
        d[D_TOTAL, b] = 0.0
        d[D_DRAW, b] = 0.0
    for k in range(first, first + attempts):
        # In two loops of few blocks each: the compiler would not vectorise one of many.
        for b in range(len(tile)):
            late = accepted[k, b] * d[D_PART, b]
            served = accepted[k, b] - late
            accepted[k, b] = late
            d[D_MEAN, b] = served
            d[D_DRAW, b] += served
            d[D_TOTAL, b] += late
        for b in range(len(tile)):
            proc[k, b] -= d[D_MEAN, b]
