"""Transactions over the links: who waits at which message, and what an answer or a time-out means for them.

At each message of a procedure waits a pool of requests. The links know how many messages of each kind were answered
or timed out; whose they were follows from the pool's own mixture of classes and attempts.
"""

from numba import njit

from signalstorm.envs.model.kernels.draws import D_DRAW, D_MEAN, D_PART, SCRATCH_COUNT
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
    P_MESSAGES,
    P_POOL,
    P_REFUSE,
    P_REGISTERED,
    P_SCRATCH,
    P_SEND,
)
from signalstorm.envs.model.kernels.links import signal
from signalstorm.envs.model.kernels.memory import block


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
    send = block(base, plan[P_SEND], kinds, tile)
    answered = block(base, plan[P_ANSWERED], kinds, tile)
    failed = block(base, plan[P_FAILED], kinds, tile)
    accept = block(base, plan[P_ACCEPT], share, tile)
    refuse = block(base, plan[P_REFUSE], share, tile)
    registered = block(base, plan[P_REGISTERED], classes, tile)
    detached = block(base, plan[P_DETACHED], classes, tile)
    kpi = block(base, plan[P_KPI], K_COUNT, tile)
    d = block(base, plan[P_SCRATCH], SCRATCH_COUNT, tile)
    # From the last message to the first: what moves on in this step is not moved twice.
    for back in range(kinds):
        m = kinds - 1 - back
        lanes = cohorts if m < attach else classes
        pool = block(base, plan[P_POOL] + m * share * len(tile), 2 * share, tile)
        busy = 0
        for b in range(len(tile)):
            d[D_MEAN, b] = 0.0
            busy += answered[m, b] + failed[m, b] > 0.0
        if busy == 0:
            continue
        for k in range(lanes):
            for b in range(len(tile)):
                d[D_MEAN, b] += pool[k, b]
        last = (m == attach - 1) | (m == kinds - 1)
        for b in range(len(tile)):
            held = d[D_MEAN, b]
            good = min(answered[m, b] / held, 1.0) if held > 0.0 else 0.0
            bad = min(failed[m, b] / held, 1.0 - good) if held > 0.0 else 0.0
            d[D_PART, b] = good
            d[D_DRAW, b] = bad
            if m >= attach:
                kpi[K_REFRESHES_FAILED, b] += bad * held
            if not last:
                send[m + 1, b] += good * held
        for k in range(share if m < attach else lanes):
            for b in range(len(tile)):
                good = d[D_PART, b] * pool[k, b]
                bad = d[D_DRAW, b] * pool[k, b]
                if not last:
                    pool[share + k, b] += good
                elif m < attach:
                    accept[k, b] += good
                else:
                    registered[k, b] += good
                if m < attach:
                    refuse[k, b] += bad
                else:
                    detached[k, b] += bad
                pool[k, b] = max(pool[k, b] - good - bad, 0.0)
