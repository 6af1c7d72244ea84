"""Transactions over the links: who waits at which message, and what an answer or a time-out means for them.

At each message of a procedure waits a pool of requests. The links know how many messages of each kind were answered
or timed out; whose they were follows from the pool's own mixture of classes and attempts.
"""

from numba import njit

from signalstorm.envs.model.kernels.cohorts import cohorts_in_use
from signalstorm.envs.model.kernels.layout import (
    K_COUNT,
    K_REFRESHES_FAILED,
    LINK_ATTACH,
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
    P_PARTS,
    P_POOL,
    P_REFUSE,
    P_REGISTERED,
    P_SEND,
    P_STORM,
    S_COUNT,
    S_SQUARES,
)
from signalstorm.envs.model.kernels.links import signal
from signalstorm.envs.model.kernels.memory import area
from signalstorm.envs.model.kernels.rows import add_rows, add_up


@njit(error_model="numpy")
def exchange(base, plan, step, tile):
    """Send this step's messages, advance the links, and pass requests on: next message, done, or failed.

    A message that follows an answer is sent in the next step. What is reckoned per kind is done for all kinds in one
    loop, and a cohort is passed on from all messages of an attach at once: that takes half the time of kind by kind.
    """
    kinds = plan[P_MESSAGES]
    signal(base, plan, step, tile)
    answered = area(base, plan, P_ANSWERED, 0, plan[P_LINE_ROWS], tile)
    failed = area(base, plan, P_FAILED, 0, kinds, tile)
    busy = 0
    for i in range(kinds * len(tile)):
        busy += answered[0, i] + failed[0, i] > 0.0
    if busy == 0:
        return
    _find_parts(base, plan, tile)
    _send_next(base, plan, tile)
    _pass_refreshes(base, plan, tile)
    _pass_attaches(base, plan, tile)


@njit(inline="always")
def _find_parts(base, plan, tile):
    """Find which part of those who wait at each message was answered, and which failed.

    Rows of the parts: per kind who waits, the part answered, the part failed, who was answered, who failed.
    """
    kinds = plan[P_MESSAGES]
    attach = plan[P_ATTACH_MESSAGES]
    share = plan[P_COHORTS] + 1
    answered = area(base, plan, P_ANSWERED, 0, plan[P_LINE_ROWS], tile)
    failed = area(base, plan, P_FAILED, 0, kinds, tile)
    parts = area(base, plan, P_PARTS, 0, 5 * kinds, tile)
    used = cohorts_in_use(base, plan, tile)
    for m in range(kinds):
        pool = area(base, plan, P_POOL, m * share * len(tile), share, tile)
        add_up(pool, used if m < attach else plan[P_CLASSES], parts, m, tile)
    for i in range(kinds * len(tile)):
        held = parts[0, i]
        good = min(answered[0, i] / held, 1.0) if held > 0.0 else 0.0
        bad = min(failed[0, i] / held, 1.0 - good) if held > 0.0 else 0.0
        parts[kinds, i] = good
        parts[2 * kinds, i] = bad
        parts[3 * kinds, i] = good * held
        parts[4 * kinds, i] = bad * held


@njit(inline="always")
def _send_next(base, plan, tile):
    """Send the messages that follow an answer, with the ages of the requests, and note the ages of the accepted."""
    kinds = plan[P_MESSAGES]
    attach = plan[P_ATTACH_MESSAGES]
    last = attach - 1
    cohorts = plan[P_COHORTS]
    send = area(base, plan, P_SEND, 0, plan[P_LINE_ROWS], tile)
    answered = area(base, plan, P_ANSWERED, 0, plan[P_LINE_ROWS], tile)
    storm = area(base, plan, P_STORM, 0, S_COUNT, tile)
    accept = area(base, plan, P_ACCEPT, 0, cohorts + 1, tile)
    parts = area(base, plan, P_PARTS, 0, 5 * kinds, tile)
    add_rows(send, 1, parts, 3 * kinds, last, tile)
    add_rows(send, attach + 1, parts, 3 * kinds + attach, kinds - attach - 1, tile)
    # The age of those answered is that of their messages, not of all who wait: links differ in speed.
    for i in range(last * len(tile)):
        part = _taken(parts[0, i], answered[0, i])
        send[kinds + 1, i] += part * answered[kinds, i]
        send[kinds + attach + 1, i] += part * answered[kinds + attach, i]
    for b in range(len(tile)):
        part = _taken(parts[last, b], answered[last, b])
        accept[cohorts, b] += part * answered[kinds + last, b]
        storm[S_SQUARES, b] += part * answered[kinds + attach + last, b]


@njit(inline="always")
def _taken(held, answered):
    """Return the share of the answers that anybody waits for."""
    return min(held / answered, 1.0) if answered > 0.0 else 0.0


@njit(inline="always")
def _pass_refreshes(base, plan, tile):
    """Pass refreshes on: to the next message, back to the registered, or to those whom the SGSN detaches."""
    kinds = plan[P_MESSAGES]
    classes = plan[P_CLASSES]
    share = plan[P_COHORTS] + 1
    kpi = area(base, plan, P_KPI, 0, K_COUNT, tile)
    registered = area(base, plan, P_REGISTERED, 0, classes, tile)
    detached = area(base, plan, P_DETACHED, 0, classes, tile)
    parts = area(base, plan, P_PARTS, 0, 5 * kinds, tile)
    # From the last message to the first: what moves on in this step is not moved twice.
    for m in range(kinds - 1, plan[P_ATTACH_MESSAGES] - 1, -1):
        pool = area(base, plan, P_POOL, m * share * len(tile), 2 * share, tile)
        for b in range(len(tile)):
            kpi[K_REFRESHES_FAILED, b] += parts[4 * kinds + m, b]
        for c in range(classes):
            for b in range(len(tile)):
                held = pool[c, b]
                good = parts[kinds + m, b] * held
                bad = parts[2 * kinds + m, b] * held
                if m == kinds - 1:
                    registered[c, b] += good
                else:
                    pool[share + c, b] += good
                detached[c, b] += bad
                pool[c, b] = max(held - good - bad, 0.0)


@njit(inline="always")
def _pass_attaches(base, plan, tile):
    """Pass attaches on: to the next message, to the accepted, or to the refused."""
    kinds = plan[P_MESSAGES]
    share = plan[P_COHORTS] + 1
    pool = area(base, plan, P_POOL, 0, LINK_ATTACH * share, tile)
    accept = area(base, plan, P_ACCEPT, 0, share, tile)
    refuse = area(base, plan, P_REFUSE, 0, share, tile)
    good = area(base, plan, P_PARTS, kinds * len(tile), kinds, tile)
    bad = area(base, plan, P_PARTS, 2 * kinds * len(tile), kinds, tile)
    used = cohorts_in_use(base, plan, tile)
    if len(tile) == 1:
        right = (good[0, 0], good[1, 0], good[2, 0], good[3, 0])
        wrong = (bad[0, 0], bad[1, 0], bad[2, 0], bad[3, 0])
        for k in range(used):
            _pass_cohort(pool, share, k, 0, right, wrong, accept, refuse)
        return
    for k in range(used):
        for b in range(len(tile)):
            right = (good[0, b], good[1, b], good[2, b], good[3, b])
            wrong = (bad[0, b], bad[1, b], bad[2, b], bad[3, b])
            _pass_cohort(pool, share, k, b, right, wrong, accept, refuse)


@njit(inline="always")
def _pass_cohort(pool, share, k, b, right, wrong, accept, refuse):
    """Move the answered part of a cohort at each of the LINK_ATTACH messages one message on, and take out the failed.

    ``right`` and ``wrong`` are the parts, per message. All is read before anything is written, for the vectoriser.
    """
    n0 = pool[k, b]
    n1 = pool[share + k, b]
    n2 = pool[2 * share + k, b]
    n3 = pool[3 * share + k, b]
    accepted = accept[k, b]
    refused = refuse[k, b]
    on0, on1, on2, on3 = right[0] * n0, right[1] * n1, right[2] * n2, right[3] * n3
    off0, off1, off2, off3 = wrong[0] * n0, wrong[1] * n1, wrong[2] * n2, wrong[3] * n3
    accept[k, b] = accepted + on3
    refuse[k, b] = (((refused + off3) + off2) + off1) + off0
    pool[3 * share + k, b] = max(n3 - on3 - off3, 0.0) + on2
    pool[2 * share + k, b] = max(n2 - on2 - off2, 0.0) + on1
    pool[share + k, b] = max(n1 - on1 - off1, 0.0) + on0
    pool[k, b] = max(n0 - on0 - off0, 0.0)
