"""Subscribers beyond the plain ladder: profile of power-cycles, barring, priority, broken handsets."""

from numba import njit

from signalstorm.envs.model.kernels.cohorts import sends_in_use
from signalstorm.envs.model.kernels.core_layout import (
    N_BARRED,
    N_BROKEN_REFUSED,
    N_COUNT,
    N_ENDED,
    N_HELD,
    N_HELD_PEAK,
    N_STAGE_NEXT,
    N_STAGE_SPREAD,
    N_STAGE_STEPS,
    N_STAGES_LEFT,
    X_ASIDE,
    X_BLOCK,
    X_BROKEN_AT,
    X_CHURN,
    X_HELD,
    X_POINTS,
    X_PROFILE,
)
from signalstorm.envs.model.kernels.gate import release
from signalstorm.envs.model.kernels.ladders import put_long
from signalstorm.envs.model.kernels.layout import (
    C_CHURN,
    C_COUNT,
    K_COUNT,
    K_STEP_ADMITTED,
    K_STEP_ATTEMPTS,
    P_ARRIVE,
    P_ATTEMPTS,
    P_CHURN,
    P_CLASS,
    P_CLASS_TABLE,
    P_CLASSES,
    P_COHORTS,
    P_CORE,
    P_GATE,
    P_KPI,
    P_PROC,
    P_REFUSE,
    P_REGISTERED,
    P_STORM,
    PC_ATTEMPTS,
    PC_BROKEN,
    PC_COUNT,
    PC_FIRST,
    PC_PRIORITY,
    S_COUNT,
    S_STEP,
)
from signalstorm.envs.model.kernels.memory import area, block


@njit(error_model="numpy")
def pulse(base, plan, tile):
    """Move the rate of power-cycles along its profile, and count the sessions that they end in this step."""
    at = plan[P_CORE]
    points = plan[at + X_POINTS]
    n = block(base, plan[at + X_BLOCK], N_COUNT, tile)
    profile = block(base, plan[at + X_PROFILE], 2 * points, tile)
    churn = block(base, plan[at + X_CHURN], plan[P_CLASSES], tile)
    registered = area(base, plan, P_REGISTERED, 0, plan[P_CLASSES], tile)
    storm = area(base, plan, P_STORM, 0, S_COUNT, tile)
    if plan[P_CHURN] == 0:
        return
    for b in range(len(tile)):
        factor = 1.0
        if points > 0:
            i = 0
            step = storm[S_STEP, b]
            while i < points - 2 and profile[i + 1, b] <= step:
                i += 1
            part = min(max((step - profile[i, b]) / (profile[i + 1, b] - profile[i, b]), 0.0), 1.0)
            factor = profile[points + i, b] + part * (profile[points + i + 1, b] - profile[points + i, b])
        for c in range(plan[P_CLASSES]):
            parameters = area(base, plan, P_CLASS, c * C_COUNT * len(tile), C_COUNT, tile)
            parameters[C_CHURN, b] = min(churn[c, b] * factor, 1.0)
            n[N_ENDED, b] += parameters[C_CHURN, b] * registered[c, b]


@njit(error_model="numpy")
def bar(base, plan, step, tile):
    """Hold back this step's requests of barred handsets, and let a stage of those held go, if one is due."""
    at = plan[P_CORE]
    n = block(base, plan[at + X_BLOCK], N_COUNT, tile)
    kpi = area(base, plan, P_KPI, 0, K_COUNT, tile)
    storm = area(base, plan, P_STORM, 0, S_COUNT, tile)
    cohorts = plan[P_COHORTS]
    arrive = area(base, plan, P_ARRIVE, 0, cohorts + 1, tile)
    proc = area(base, plan, P_PROC, 0, cohorts, tile)
    held = block(base, plan[at + X_HELD], plan[P_CLASSES], tile)
    groups = sends_in_use(base, plan, tile) * plan[P_CLASSES]
    for b in range(len(tile)):
        if n[N_STAGES_LEFT, b] > 0.0 and storm[S_STEP, b] >= n[N_STAGE_NEXT, b]:
            _let_go(base, plan, n, held, b, storm[S_STEP, b], step, tile)
        if n[N_BARRED, b] <= 0.0:
            continue
        for group in range(groups):
            c = group % plan[P_CLASSES]
            entry = plan[P_CLASS_TABLE] + c * PC_COUNT
            if plan[entry + PC_PRIORITY]:
                continue
            first = group // plan[P_CLASSES] * plan[P_ATTEMPTS] + plan[entry + PC_FIRST]
            for k in range(first, first + plan[entry + PC_ATTEMPTS]):
                x = arrive[k, b] * n[N_BARRED, b]
                arrive[k, b] -= x
                proc[k, b] -= x
                held[c, b] += x
                n[N_HELD, b] += x
        kpi[K_STEP_ATTEMPTS, b] = 0.0
        for k in range(cohorts):
            kpi[K_STEP_ATTEMPTS, b] += arrive[k, b]
        arrive[cohorts, b] = kpi[K_STEP_ATTEMPTS, b] * storm[S_STEP, b]
        n[N_HELD_PEAK, b] = max(n[N_HELD_PEAK, b], n[N_HELD, b])


@njit(inline="always")
def _let_go(base, plan, n, held, b, own, step, tile):
    """Release one stage: its part of those held attach within the spread, and its part of the barring ends."""
    part = 1.0 / n[N_STAGES_LEFT, b]
    spread = int(n[N_STAGE_SPREAD, b])
    total = 0.0
    for c in range(plan[P_CLASSES]):
        x = held[c, b] * part
        held[c, b] = held[c, b] - x if part < 1.0 else 0.0
        put_long(base, plan, b, c, x, 1, 1 + spread, step, tile)
        total += held[c, b]
    n[N_HELD, b] = total
    n[N_BARRED, b] = n[N_BARRED, b] * (1.0 - part) if part < 1.0 else 0.0
    n[N_STAGES_LEFT, b] -= 1.0
    n[N_STAGE_NEXT, b] = own + n[N_STAGE_STEPS, b]


@njit(error_model="numpy")
def step_aside(base, plan, tile):
    """Take the requests of priority classes out of this step's, before the gate sees them."""
    at = plan[P_CORE]
    cohorts = plan[P_COHORTS]
    arrive = area(base, plan, P_ARRIVE, 0, cohorts + 1, tile)
    aside = block(base, plan[at + X_ASIDE], cohorts + 1, tile)
    groups = sends_in_use(base, plan, tile) * plan[P_CLASSES]
    for b in range(len(tile)):
        total = 0.0
        taken = 0.0
        for group in range(groups):
            entry = plan[P_CLASS_TABLE] + group % plan[P_CLASSES] * PC_COUNT
            first = group // plan[P_CLASSES] * plan[P_ATTEMPTS] + plan[entry + PC_FIRST]
            for k in range(first, first + plan[entry + PC_ATTEMPTS]):
                total += arrive[k, b]
                aside[k, b] = arrive[k, b] if plan[entry + PC_PRIORITY] else 0.0
                arrive[k, b] -= aside[k, b]
                taken += aside[k, b]
        share = taken / total if total > 0.0 else 0.0
        aside[cohorts, b] = arrive[cohorts, b] * share
        arrive[cohorts, b] -= aside[cohorts, b]


@njit(error_model="numpy")
def step_in(base, plan, linked, tile):
    """Put them behind the gate."""
    cohorts = plan[P_COHORTS]
    kpi = area(base, plan, P_KPI, 0, K_COUNT, tile)
    aside = block(base, plan[plan[P_CORE] + X_ASIDE], cohorts + 1, tile)
    if plan[P_GATE] >= 0:
        for k in range(cohorts):
            for b in range(len(tile)):
                kpi[K_STEP_ADMITTED, b] += aside[k, b]
    release(base, plan, plan[plan[P_CORE] + X_ASIDE], linked, tile)


@njit(error_model="numpy")
def turn_away(base, plan, tile):
    """Refuse broken handsets where the network finds out: behind the HSS's first answer, or at the gate's exit."""
    at = plan[P_CORE]
    cohorts = plan[P_COHORTS]
    n = block(base, plan[at + X_BLOCK], N_COUNT, tile)
    passing = block(base, plan[at + X_BROKEN_AT], cohorts + 1, tile)
    refused = area(base, plan, P_REFUSE, 0, cohorts + 1, tile)
    groups = sends_in_use(base, plan, tile) * plan[P_CLASSES]
    for b in range(len(tile)):
        total = 0.0
        turned = 0.0
        for group in range(groups):
            entry = plan[P_CLASS_TABLE] + group % plan[P_CLASSES] * PC_COUNT
            first = group // plan[P_CLASSES] * plan[P_ATTEMPTS] + plan[entry + PC_FIRST]
            for k in range(first, first + plan[entry + PC_ATTEMPTS]):
                total += passing[k, b]
                if plan[entry + PC_BROKEN]:
                    turned += passing[k, b]
                    refused[k, b] += passing[k, b]
                    passing[k, b] = 0.0
        sent = passing[cohorts, b] * turned / total if total > 0.0 else 0.0
        passing[cohorts, b] = passing[cohorts, b] - sent if turned < total else 0.0
        refused[cohorts, b] += sent
        n[N_BROKEN_REFUSED, b] += turned
