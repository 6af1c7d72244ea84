"""What a handset does after silence, a refusal or a back-off: the retry ladders (TS 24.301, TS 24.008)."""

import numpy as np
from numba import njit

from signalstorm.envs.model.kernels.cohorts import cohorts_in_use, sends_in_use, use_send
from signalstorm.envs.model.kernels.draws import D_DRAW, D_MEAN, D_TOTAL, SCRATCH_COUNT
from signalstorm.envs.model.kernels.layout import (
    C_COUNT,
    C_HONOURS,
    C_POWER_HIGH,
    C_POWER_LOW,
    C_POWER_SHARE,
    C_REFUSED_HIGH,
    C_REFUSED_LONG_HIGH,
    C_REFUSED_LONG_LOW,
    C_REFUSED_LOW,
    C_RESEND_HIGH,
    C_RESEND_LOW,
    C_RETRY_IS_RESPONSE,
    C_SILENT_HIGH,
    C_SILENT_LONG_HIGH,
    C_SILENT_LONG_LOW,
    C_SILENT_LOW,
    K_COUNT,
    K_DETACH_SUBSCRIBER,
    P_ATTEMPTS,
    P_CLASS,
    P_CLASS_TABLE,
    P_CLASSES,
    P_COHORTS,
    P_END,
    P_KPI,
    P_LONG,
    P_LONG_MASK,
    P_LONG_STOCK,
    P_PROC,
    P_SCRATCH,
    P_SHORT,
    P_SHORT_MASK,
    P_SHORT_STOCK,
    P_STORM,
    P_UNIFORM,
    PC_ATTEMPTS,
    PC_COUNT,
    PC_FIRST,
    PC_LIMITED,
    PC_SENDS,
    S_AGE,
    S_COUNT,
    S_STEP,
    S_T3346_HIGH,
    S_T3346_LOW,
)
from signalstorm.envs.model.kernels.memory import area, block
from signalstorm.envs.model.kernels.rows import add_rows
from signalstorm.envs.model.kernels.wheel import put, put_all


@njit(inline="always")
def elapsed(age, low, high):
    """Share of timers, uniform between ``low`` and ``high``, that have run out at ``age``."""
    share = max(age - low, 0.0) / (high - low)
    return 1.0 if age >= high else share


@njit(error_model="numpy")
def silence(base, plan, start, gave_up, step, tile):
    """Send unanswered handsets on their way: the next try counts from when they had sent.

    Args:
        base: Address of the tile.
        plan: The table of offsets and counts.
        start: Offset of their payload.
        gave_up: Their response timer has run out already; where it is the retry timer too, they send at once.
        step: The present step.
        tile: A `memory.Tile`.
    """
    cohorts = plan[P_COHORTS]
    payload = block(base, start, cohorts + 1, tile)
    proc = area(base, plan, P_PROC, 0, cohorts, tile)
    storm = area(base, plan, P_STORM, 0, S_COUNT, tile)
    d = area(base, plan, P_SCRATCH, 0, SCRATCH_COUNT, tile)
    classes = plan[P_CLASSES]
    attempts = plan[P_ATTEMPTS]
    used = cohorts_in_use(base, plan, tile)
    for b in range(len(tile)):
        storm[S_AGE, b] = 0.0
    for k in range(used):
        for b in range(len(tile)):
            storm[S_AGE, b] += payload[k, b]
    for b in range(len(tile)):
        total = storm[S_AGE, b]
        storm[S_AGE, b] = np.rint(storm[S_STEP, b] - payload[cohorts, b] / total) if total > 0.0 else 0.0
    for group in range(sends_in_use(base, plan, tile) * classes):
        sent = group // classes
        c = group % classes
        parameters = area(base, plan, P_CLASS, c * C_COUNT * len(tile), C_COUNT, tile)
        first = plan[plan[P_CLASS_TABLE] + c * PC_COUNT + PC_FIRST]
        last = first + plan[plan[P_CLASS_TABLE] + c * PC_COUNT + PC_ATTEMPTS] - 1
        limited = plan[plan[P_CLASS_TABLE] + c * PC_COUNT + PC_LIMITED]
        left = plan[plan[P_CLASS_TABLE] + c * PC_COUNT + PC_SENDS] - 1 - sent
        if not _any(payload, sent * attempts + first, sent * attempts + last, d, tile):
            continue
        for k in range(sent * attempts + first, sent * attempts + last + 1):
            for b in range(len(tile)):
                n = payload[k, b]
                age = int(storm[S_AGE, b])
                if n <= 0.0:
                    continue
                proc[k, b] -= n
                target = k - sent * attempts + limited
                if left > 0 and not gave_up:
                    target = k + attempts
                    use_send(base, plan, sent + 1, tile)
                    low = int(parameters[C_RESEND_LOW, b]) - age
                    high = int(parameters[C_RESEND_HIGH, b]) - age
                else:
                    # The attempt is over once the sends that are left have stayed unanswered as well.
                    wait = (left * int(parameters[C_RESEND_LOW, b]) if left > 0 else 0) - age
                    if limited and target > last:
                        low = int(parameters[C_SILENT_LONG_LOW, b]) + wait
                        high = int(parameters[C_SILENT_LONG_HIGH, b]) + wait
                        wait_long(base, plan, b, c, n, low, high, step, tile)
                        continue
                    low = int(parameters[C_SILENT_LOW, b]) + wait
                    high = int(parameters[C_SILENT_HIGH, b]) + wait
                # Timers that ran out while the network held the request fire in the next step.
                past = elapsed(1.0, np.float64(low), np.float64(high)) if low < 1 else 0.0
                past = 1.0 if gave_up and parameters[C_RETRY_IS_RESPONSE, b] > 0.0 else past
                if past > 0.0:
                    _put_short(base, plan, b, target, n * past, 1, 2, step, tile)
                if past < 1.0:
                    _put_short(base, plan, b, target, n * (1.0 - past), low, high, step, tile)


@njit(inline="always")
def _any(payload, first, last, d, tile):
    """Whether any of the cohorts ``first`` to ``last`` of a payload holds somebody."""
    for b in range(len(tile)):
        d[D_TOTAL, b] = 0.0
    for k in range(first, last + 1):
        for b in range(len(tile)):
            d[D_TOTAL, b] += payload[k, b]
    some = 0
    for b in range(len(tile)):
        some += d[D_TOTAL, b] > 0.0
    return some > 0


@njit(error_model="numpy")
def refuse(base, plan, start, step, tile):
    """Send the refused handsets of the payload at ``start`` on their way: the next try counts from the refusal.

    How often a handset has sent within the attempt makes no difference, so first all sends are added up. Spends the
    payload.
    """
    attempts = plan[P_ATTEMPTS]
    used = cohorts_in_use(base, plan, tile)
    payload = block(base, start, plan[P_COHORTS] + 1, tile)
    proc = area(base, plan, P_PROC, 0, plan[P_COHORTS], tile)
    for i in range(used * len(tile)):
        n = max(payload[0, i], 0.0)
        payload[0, i] = n
        proc[0, i] -= n
    for before in range(attempts, used, attempts):
        add_rows(payload, 0, payload, before, attempts, tile)
    if plan[P_UNIFORM]:
        _refuse_all(base, plan, payload, step, tile)
        return
    for c in range(plan[P_CLASSES]):
        parameters = area(base, plan, P_CLASS, c * C_COUNT * len(tile), C_COUNT, tile)
        first = plan[plan[P_CLASS_TABLE] + c * PC_COUNT + PC_FIRST]
        last = first + plan[plan[P_CLASS_TABLE] + c * PC_COUNT + PC_ATTEMPTS] - 1
        limited = plan[plan[P_CLASS_TABLE] + c * PC_COUNT + PC_LIMITED]
        for k in range(first, last + 1):
            target = k + limited
            for b in range(len(tile)):
                n = payload[k, b]
                if n <= 0.0:
                    continue
                if target > last:
                    low = int(parameters[C_REFUSED_LONG_LOW, b])
                    high = int(parameters[C_REFUSED_LONG_HIGH, b])
                    wait_long(base, plan, b, c, n, low, high, step, tile)
                else:
                    low = int(parameters[C_REFUSED_LOW, b])
                    high = int(parameters[C_REFUSED_HIGH, b])
                    _put_short(base, plan, b, target, n, low, high, step, tile)


@njit(error_model="numpy")
def _refuse_all(base, plan, payload, step, tile):
    """Let the refused wait where all storms have the same timers; their sends are added up."""
    for c in range(plan[P_CLASSES]):
        first = plan[plan[P_CLASS_TABLE] + c * PC_COUNT + PC_FIRST]
        last = first + plan[plan[P_CLASS_TABLE] + c * PC_COUNT + PC_ATTEMPTS] - 1
        limited = plan[plan[P_CLASS_TABLE] + c * PC_COUNT + PC_LIMITED]
        # Where attempts are limited the long timer follows the last.
        tries = last - first + 1 - limited
        if tries > 0:
            parameters = area(base, plan, P_CLASS, c * C_COUNT * len(tile), C_COUNT, tile)
            low = int(parameters[C_REFUSED_LOW, 0])
            high = int(parameters[C_REFUSED_HIGH, 0])
            put_all(
                base, plan, P_SHORT, P_SHORT_STOCK, plan[P_SHORT_MASK], plan[P_COHORTS], step,
                payload, first, tries, first + limited, low, high, tile,
            )  # fmt: skip
        if limited:
            _exhaust(base, plan, payload, c, last, step, tile)


@njit(inline="always")
def _exhaust(base, plan, payload, c, k, step, tile):
    """Let those whose last attempt was refused wait for the long timer, or power-cycle."""
    parameters = area(base, plan, P_CLASS, c * C_COUNT * len(tile), C_COUNT, tile)
    kpi = area(base, plan, P_KPI, 0, K_COUNT, tile)
    d = area(base, plan, P_SCRATCH, 0, SCRATCH_COUNT, tile)
    cycling = 0
    for b in range(len(tile)):
        n = max(payload[k, b], 0.0)
        part = n * parameters[C_POWER_SHARE, b]
        kpi[K_DETACH_SUBSCRIBER, b] += part
        cycling += part > 0.0
        d[D_MEAN, b] = part
        d[D_DRAW, b] = n - part
    if cycling > 0:
        low = int(parameters[C_POWER_LOW, 0])
        high = int(parameters[C_POWER_HIGH, 0])
        put_all(
            base, plan, P_LONG, P_LONG_STOCK, plan[P_LONG_MASK], plan[P_CLASSES], step,
            d, D_MEAN, 1, c, low, high, tile,
        )  # fmt: skip
    low = int(parameters[C_REFUSED_LONG_LOW, 0])
    high = int(parameters[C_REFUSED_LONG_HIGH, 0])
    put_all(
        base, plan, P_LONG, P_LONG_STOCK, plan[P_LONG_MASK], plan[P_CLASSES], step,
        d, D_DRAW, 1, c, low, high, tile,
    )  # fmt: skip


@njit(error_model="numpy")
def back_off(base, plan, start, step, tile):
    """Start T3346 in the handsets that honour it, where it was sent, and leave the others in the payload."""
    cohorts = plan[P_COHORTS]
    storm = area(base, plan, P_STORM, 0, S_COUNT, tile)
    payload = block(base, start, cohorts + 1, tile)
    proc = area(base, plan, P_PROC, 0, cohorts, tile)
    classes = plan[P_CLASSES]
    sent = 0
    for b in range(len(tile)):
        sent += storm[S_T3346_HIGH, b] > 0.0
    if sent == 0:
        return
    for group in range(sends_in_use(base, plan, tile) * classes):
        c = group % classes
        parameters = area(base, plan, P_CLASS, c * C_COUNT * len(tile), C_COUNT, tile)
        first = group // classes * plan[P_ATTEMPTS] + plan[plan[P_CLASS_TABLE] + c * PC_COUNT + PC_FIRST]
        for k in range(first, first + plan[plan[P_CLASS_TABLE] + c * PC_COUNT + PC_ATTEMPTS]):
            for b in range(len(tile)):
                n = payload[k, b] * parameters[C_HONOURS, b]
                if n > 0.0 and storm[S_T3346_HIGH, b] > 0.0:
                    proc[k, b] -= n
                    payload[k, b] -= n
                    low = int(storm[S_T3346_LOW, b])
                    high = int(storm[S_T3346_HIGH, b])
                    put_long(base, plan, b, c, n, low, high, step, tile)


@njit(inline="always")
def _put_short(base, plan, b, cohort, n, low, high, step, tile):
    put(
        base, plan[P_SHORT], plan[P_SHORT_MASK], plan[P_SHORT_STOCK], step, plan[P_END], plan[P_COHORTS], b, cohort,
        n, low, high, tile,
    )  # fmt: skip


@njit(inline="always")
def wait_long(base, plan, b, c, n, low, high, step, tile):
    """Start the long timer; some users power-cycle rather than wait for it."""
    parameters = area(base, plan, P_CLASS, c * C_COUNT * len(tile), C_COUNT, tile)
    cycling = n * parameters[C_POWER_SHARE, b]
    if cycling > 0.0:
        sooner = int(parameters[C_POWER_LOW, b])
        later = int(parameters[C_POWER_HIGH, b])
        put_long(base, plan, b, c, cycling, sooner, later, step, tile)
        area(base, plan, P_KPI, 0, K_COUNT, tile)[K_DETACH_SUBSCRIBER, b] += cycling
    put_long(base, plan, b, c, n - cycling, low, high, step, tile)


@njit(inline="always")
def put_long(base, plan, b, c, n, low, high, step, tile):
    """Let ``n`` of storm ``b`` and class ``c`` make a first attempt after ``low`` to ``high`` steps."""
    put(
        base, plan[P_LONG], plan[P_LONG_MASK], plan[P_LONG_STOCK], step, plan[P_END], plan[P_CLASSES], b, c,
        n, low, high, tile,
    )  # fmt: skip
