"""Transactions over the links: who waits at which message, and what an answer or a time-out means for them.

At each message of a procedure waits a pool of requests. The links know how many messages of each kind were answered
or timed out; whose they were follows from the pool's own mixture of classes and attempts.
"""

from numba import njit

from signalstorm.envs.model.kernels.cohorts import cohorts_in_use
from signalstorm.envs.model.kernels.draws import D_DRAW, D_MEAN, D_PART, D_SQUARE, D_TIME, D_TOTAL, SCRATCH_COUNT
from signalstorm.envs.model.kernels.layout import (
    K_COUNT,
    K_REFRESHES_FAILED,
    P_ACCEPT,
    P_ANSWERED,
    P_ATTACH_MESSAGES,
    P_CLASSES,
    P_COHORTS,
    P_DETACHED,
    P_FAILED,
    P_KPI,
    P_LINE_ROWS,
    P_MESSAGES,
    P_POOL,
    P_REFUSE,
    P_REGISTERED,
    P_SCRATCH,
    P_SEND,
    P_STORM,
    S_COUNT,
    S_SQUARES,
)
from signalstorm.envs.model.kernels.links import signal
from signalstorm.envs.model.kernels.memory import block
from signalstorm.envs.model.kernels.rows import add_up


@njit(error_model="numpy")
def exchange(base, plan, step, tile):
    """Send this step's messages, advance the links, and pass requests on: next message, done, or failed.

    A message that follows an answer is sent in the next step.
    """
    kinds = plan[P_MESSAGES]
    attach = plan[P_ATTACH_MESSAGES]
    cohorts = plan[P_COHORTS]
    classes = plan[P_CLASSES]
    share = cohorts + 1
    signal(base, plan, step, tile)
    send = block(base, plan[P_SEND], plan[P_LINE_ROWS], tile)
    answered = block(base, plan[P_ANSWERED], plan[P_LINE_ROWS], tile)
    storm = block(base, plan[P_STORM], S_COUNT, tile)
    failed = block(base, plan[P_FAILED], kinds, tile)
    accept = block(base, plan[P_ACCEPT], share, tile)
    refuse = block(base, plan[P_REFUSE], share, tile)
    registered = block(base, plan[P_REGISTERED], classes, tile)
    detached = block(base, plan[P_DETACHED], classes, tile)
    kpi = block(base, plan[P_KPI], K_COUNT, tile)
    d = block(base, plan[P_SCRATCH], SCRATCH_COUNT, tile)
    used = cohorts_in_use(base, plan, tile)
    # From the last message to the first: what moves on in this step is not moved twice.
    for back in range(kinds):
        m = kinds - 1 - back
        lanes = used if m < attach else classes
        pool = block(base, plan[P_POOL] + m * share * len(tile), 2 * share, tile)
        busy = 0
        for b in range(len(tile)):
            busy += answered[m, b] + failed[m, b] > 0.0
        if busy == 0:
            continue
        add_up(pool, lanes, d, D_MEAN, tile)
        last = (m == attach - 1) | (m == kinds - 1)
        for b in range(len(tile)):
            held = d[D_MEAN, b]
            good = min(answered[m, b] / held, 1.0) if held > 0.0 else 0.0
            bad = min(failed[m, b] / held, 1.0 - good) if held > 0.0 else 0.0
            d[D_PART, b] = good
            d[D_DRAW, b] = bad
            d[D_TOTAL, b] = held
            d[D_MEAN, b] = bad * held
            if not last:
                send[m + 1, b] += good * held
        if m >= attach:
            for b in range(len(tile)):
                kpi[K_REFRESHES_FAILED, b] += d[D_MEAN, b]
        if m < attach:
            # The age of those answered is that of their messages, not of all who wait: links differ in speed.
            for b in range(len(tile)):
                part = min(d[D_TOTAL, b] / answered[m, b], 1.0) if answered[m, b] > 0.0 else 0.0
                d[D_TIME, b] = part * answered[kinds + m, b]
                d[D_SQUARE, b] = part * answered[kinds + attach + m, b]
            if last:
                for b in range(len(tile)):
                    accept[cohorts, b] += d[D_TIME, b]
                    storm[S_SQUARES, b] += d[D_SQUARE, b]
            else:
                for b in range(len(tile)):
                    send[kinds + m + 1, b] += d[D_TIME, b]
                    send[kinds + attach + m + 1, b] += d[D_SQUARE, b]
            if last:
                _pass_on(pool, used, accept, 0, refuse, d, tile)
            else:
                _pass_on(pool, used, pool, share, refuse, d, tile)
        elif last:
            _pass_on(pool, classes, registered, 0, detached, d, tile)
        else:
            _pass_on(pool, classes, pool, share, detached, d, tile)


@njit(inline="always")
def _pass_on(pool, lanes, to, into, gone, d, tile):
    """Move the answered part of a pool's rows to the rows from ``into`` on of ``to``, the failed part to ``gone``."""
    if len(tile) == 1:
        part = d[D_PART, 0]
        lost = d[D_DRAW, 0]
        for k in range(lanes):
            held = pool[k, 0]
            good = part * held
            bad = lost * held
            to[into + k, 0] += good
            gone[k, 0] += bad
            pool[k, 0] = max(held - good - bad, 0.0)
        return
    for k in range(lanes):
        for b in range(len(tile)):
            held = pool[k, b]
            good = d[D_PART, b] * held
            bad = d[D_DRAW, b] * held
            to[into + k, b] += good
            gone[k, b] += bad
            pool[k, b] = max(held - good - bad, 0.0)
