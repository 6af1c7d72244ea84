"""M3UA/SCTP links to the signalling transfer points: congestion, windows, retransmission, load sharing.

All links get the same mixture of messages in a step, so the mixture is kept once per storm and step and each link
only counts (cumulative admissions A, service D, deadline X as in ``queue``). A message's owner waits for its MAP
timer; a message served later has used the link and served nobody.
"""

import numpy as np
from numba import njit

from signalstorm.envs.model.kernels.alarms import log_alarm
from signalstorm.envs.model.kernels.banks import link_ring, link_rows, link_scratch
from signalstorm.envs.model.kernels.draws import D_DRAW, D_MEAN, draw_hashed, hash_storms
from signalstorm.envs.model.kernels.layout import (
    ALARM_DOWN,
    L_ADMITTED,
    L_CALM,
    L_CLEAR,
    L_CONGESTED,
    L_DEADLINE,
    L_DIRECT,
    L_DIRECT_LOST,
    L_DOWN,
    L_EXPIRED,
    L_EXPIRIES,
    L_FLUSH,
    L_FRESH,
    L_HOLD,
    L_IN,
    L_LOGGED,
    L_LOSS,
    L_MARK,
    L_MEAN,
    L_NEXT,
    L_OUT,
    L_PATIENCE,
    L_PEER,
    L_POINTER,
    L_QUEUE,
    L_RETRANSMISSIONS,
    L_RTO,
    L_RTO_INITIAL,
    L_RTO_MAX,
    L_RTO_MIN,
    L_SERVED,
    L_SET,
    L_STALLED,
    L_START,
    L_SUM_CONGESTED,
    L_SUM_FRESH,
    L_SUM_LOST,
    L_SUM_RX_BASE,
    L_SUM_STALE,
    L_SUM_STALLS,
    L_SUM_TX,
    L_TIMER,
    L_TRICKLE,
    L_UPDATES,
    L_WINDOW,
    LINKS,
    P_ANSWERED,
    P_FAILED,
    P_LINE_ROWS,
    P_LINK_LINES,
    P_LINK_MASK,
    P_LINKS,
    P_LOST_RING,
    P_MESSAGES,
    P_SEND,
    P_STOCHASTIC,
    P_STORM,
    P_UNIFORM,
    S_COUNT,
    S_DISCARDED,
    S_EXPIRED,
    S_FRESH,
    S_FRESH_LOST,
    S_SETTLED,
    S_STPS,
    S_TOTAL,
    SERVICE,
    STREAMS,
)
from signalstorm.envs.model.kernels.memory import area, links_per_bank
from signalstorm.envs.model.kernels.resends import count_resends
from signalstorm.envs.model.kernels.rows import add_up, clear
from signalstorm.envs.model.kernels.sharing import count_answers, offer, settle

_REOPEN = 0.75
"""A peer that sends window updates does so when a quarter of its buffer is free (RFC 9260 6.2)."""


@njit(error_model="numpy")
def signal(base, plan, step, tile):
    """Advance all links by one step: share, queue, serve, answer; fills P_ANSWERED and P_FAILED."""
    kinds = plan[P_MESSAGES]
    rows = plan[P_LINE_ROWS]
    mask = plan[P_LINK_MASK]
    send = area(base, plan, P_SEND, 0, rows, tile)
    lines = area(base, plan, P_LINK_LINES, (step & mask) * rows * len(tile), rows, tile)
    storm = area(base, plan, P_STORM, 0, S_COUNT, tile)
    links = plan[P_LINKS]
    size = links_per_bank(tile)
    # Long before the draws are needed: what does not wait for them goes on meanwhile.
    for first in range(0, links, size):
        _draw(base, plan, first, min(size, links - first), tile)
    clear(area(base, plan, P_ANSWERED, 0, rows, tile), 0, rows, tile)
    clear(area(base, plan, P_FAILED, 0, kinds, tile), 0, kinds, tile)
    add_up(send, kinds, storm, S_TOTAL, tile)
    _mix(send, lines, rows, storm, tile)
    clear(send, 0, rows, tile)
    settled = 0
    for b in range(len(tile)):
        settled += storm[S_SETTLED, b] > 0.0
    if settled < len(tile):
        settle(base, plan, tile)
    offer(base, plan, tile)
    changed = 0
    for first in range(0, links, size):
        some = min(size, links - first)
        moved, alarms = _carry(base, plan, first, some, step, tile)
        changed += moved
        count_resends(base, plan, first, some, tile)
        if alarms > 0:
            _log(base, plan, first, some, tile)
    if changed > 0:
        settle(base, plan, tile)
    for first in range(0, links, size):
        _find(base, plan, first, min(size, links - first), step, tile)
    _deliver(base, plan, step, tile)
    count_answers(base, plan, tile)


@njit(inline="always")
def _mix(send, lines, rows, storm, tile):
    """Write what a message that is sent in this step consists of."""
    if len(tile) == 1:
        total = storm[S_TOTAL, 0]
        total = total if total > 0.0 else np.inf
        for r in range(rows):
            lines[r, 0] = send[r, 0] / total
        return
    for r in range(rows):
        for b in range(len(tile)):
            total = storm[S_TOTAL, b]
            part = send[r, b] / total
            lines[r, b] = part if total > 0.0 else 0.0


@njit(inline="always")
def _draw(base, plan, first, links, tile):
    """Draw what the STP can take from ``links`` links from ``first`` on in this step."""
    numbers = links * len(tile)
    k = link_rows(base, plan, first, tile)
    d = link_scratch(base, plan, first, tile)
    if plan[P_STOCHASTIC]:
        for i in range(numbers):
            d[D_MEAN, i] = k[L_MEAN, i]
        for link in range(links):
            hash_storms(base, plan, (LINKS + first + link) * STREAMS + SERVICE, d, link * len(tile), tile)
        draw_hashed(d, numbers)
    else:
        for i in range(numbers):
            d[D_DRAW, i] = k[L_MEAN, i]


@njit(error_model="numpy")
def _carry(base, plan, first, links, step, tile):
    """Queue, send within the window, serve at the STP, stall and reopen; totals only.

    A loop runs over ``links`` links from ``first`` on and the storms of the tile at once. All that it reads is read
    first: a value read under a condition would keep it from being vectorised. Returns how many links changed their
    state, and how many alarms of the log did.
    """
    numbers = links * len(tile)
    k = link_rows(base, plan, first, tile)
    mask = plan[P_LINK_MASK]
    ring = link_ring(base, plan, first, tile)
    d = link_scratch(base, plan, first, tile)
    if plan[P_UNIFORM]:
        past = (step - int(k[L_PATIENCE, 0])) & mask
        for i in range(numbers):
            k[L_START, i] = ring[past, i]
    else:
        for i in range(numbers):
            past = (step - int(k[L_PATIENCE, i])) & mask
            k[L_START, i] = ring[past, i]
    for i in range(numbers):
        served = k[L_SERVED, i]
        peer = k[L_PEER, i]
        window = k[L_WINDOW, i]
        state = k[L_DOWN, i]
        stalled = k[L_STALLED, i]
        rto = k[L_RTO, i]
        ticking = k[L_TIMER, i]
        waiting = k[L_ADMITTED, i] - served - peer
        up = 0.0 if state > 0.0 else 1.0
        dead = 1.0 if (state == 2.0) & (waiting > 0.0) else 0.0
        open_ = (1.0 - stalled) * up
        # Open: service in this step refills the window, so all that waits can be served; stalled: what the peer holds.
        trickle = min(waiting, k[L_TRICKLE, i] * up)
        offer = peer + (waiting if open_ > 0.0 else trickle)
        reached = min(d[D_DRAW, i] * up, offer)
        held = offer - reached
        shut = open_ * (1.0 if held >= window else 0.0)
        # A closed window starts T3; each expiry doubles RTO; one that finds room, or an update, reopens the window.
        begins = max(shut, dead * (1.0 - stalled))
        stalled = max(stalled, begins)
        timer = (rto if begins > 0.0 else ticking) - stalled
        expired = stalled * (1.0 if timer <= 0.0 else 0.0)
        room = 1.0 if held < window else 0.0
        update = stalled * k[L_UPDATES, i] * (1.0 if held <= _REOPEN * window else 0.0)
        reopen = max(expired * room, update) * up
        doubled = min(max(rto * 2.0, k[L_RTO_MIN, i]), k[L_RTO_MAX, i])
        rto = doubled if expired > 0.0 else rto
        # A fresh round-trip sample needs a step without a closed window and with traffic.
        fresh_sample = open_ * (1.0 - shut) * (1.0 if reached > 0.0 else 0.0)
        expiries = (k[L_EXPIRIES, i] + expired) * (1.0 - reopen)
        failed = (dead > 0.0) & (expiries > k[L_RETRANSMISSIONS, i])
        least = k[L_RTO_MIN, i]
        k[L_TIMER, i] = rto if expired > 0.0 else timer
        k[L_RTO, i] = least if fresh_sample > 0.0 else rto
        k[L_EXPIRIES, i] = expiries
        k[L_STALLED, i] = stalled * (1.0 - reopen)
        k[L_DOWN, i] = 1.0 if failed else state
        k[L_SUM_STALLS, i] += shut
        k[L_NEXT, i] = served + reached
        k[L_PEER, i] = min(held, window)
        k[L_SUM_TX, i] += reached + min(held, window) - peer
    for i in range(numbers):
        admitted = k[L_ADMITTED, i]
        served = k[L_SERVED, i]
        end = k[L_NEXT, i]
        offered = k[L_IN, i]
        low = max(served, k[L_DEADLINE, i])
        deadline = max(k[L_DEADLINE, i], k[L_START, i])
        start = max(low, deadline)
        fresh = max(end - start, 0.0)
        limit = k[L_QUEUE, i] + k[L_WINDOW, i]
        taken = min(offered, max(limit - (admitted - end), 0.0))
        k[L_START, i] = start
        k[L_NEXT, i] = max(end, start)
        k[L_DEADLINE, i] = deadline
        k[L_SERVED, i] = end
        k[L_ADMITTED, i] = admitted + taken
        k[L_EXPIRED, i] = start - low
        k[L_FRESH, i] = fresh
        k[L_SUM_LOST, i] += offered - taken
        k[L_SUM_FRESH, i] += fresh
        k[L_SUM_STALE, i] += end - served - fresh
        k[L_IN, i] = offered - taken
        ring[step & mask, i] = admitted + taken
    changed = 0
    alarms = 0
    for i in range(numbers):
        out = 1.0 if k[L_DOWN, i] == 1.0 else 0.0
        before = k[L_CONGESTED, i]
        queue = k[L_ADMITTED, i] - k[L_SERVED, i] - k[L_PEER, i]
        stalled = k[L_STALLED, i] > 0.0
        # A link that died unnoticed has no closed window: it takes messages until its queue or its death shows.
        raised = (stalled & (k[L_DOWN, i] != 2.0)) | (queue > k[L_SET, i])
        cleared = (queue <= k[L_CLEAR, i]) & (not stalled)
        after = 1.0 if raised else (0.0 if cleared else before)
        calm = 0.0 if after > 0.0 else k[L_CALM, i] + 1.0
        held = k[L_LOGGED, i] if calm < k[L_HOLD, i] else 0.0
        logged = max(after, held)
        new = (logged != k[L_LOGGED, i]) | (out != k[L_OUT, i])
        alarms += new
        changed += new | (after != before)
        k[L_CONGESTED, i] = after
        k[L_SUM_CONGESTED, i] += after
        k[L_CALM, i] = calm
        k[L_MARK, i] = logged
    return changed, alarms


@njit(error_model="numpy")
def _log(base, plan, first, links, tile):
    """Write the alarms of ``links`` links from ``first`` on that changed in this step to the log."""
    for link in range(first, first + links):
        k = link_rows(base, plan, link, tile)
        for b in range(len(tile)):
            if k[L_MARK, b] != k[L_LOGGED, b]:
                k[L_LOGGED, b] = k[L_MARK, b]
                log_alarm(base, plan, b, link, k[L_LOGGED, b], tile)
        for b in range(len(tile)):
            out = 1.0 if k[L_DOWN, b] == 1.0 else 0.0
            if out != k[L_OUT, b]:
                k[L_OUT, b] = out
                log_alarm(base, plan, b, ALARM_DOWN + link, out, tile)


@njit(error_model="numpy")
def _find(base, plan, first, links, step, tile):
    """Find what ``links`` links from ``first`` on have served or thrown away that `_look_up` cannot tell.

    What a link without a queue serves was queued in the step before; `_walk` looks for the rest, link by link.
    """
    numbers = links * len(tile)
    k = link_rows(base, plan, first, tile)
    ring = link_ring(base, plan, first, tile)
    before = (step - 2) & plan[P_LINK_MASK]
    slow = 0
    for i in range(numbers):
        fresh = k[L_FRESH, i]
        flushed = (k[L_FLUSH, i] > 0.0) | ((k[L_DOWN, i] == 1.0) & (k[L_ADMITTED, i] > k[L_SERVED, i]))
        late = (k[L_START, i] < ring[before, i]) & (fresh > 0.0)
        slow += flushed | late
        direct = 0.0 if flushed | late else fresh
        lost = direct * k[L_LOSS, i]
        k[L_MARK, i] = 2.0 if flushed else (1.0 if late else 0.0)
        k[L_DIRECT, i] = direct - lost
        k[L_DIRECT_LOST, i] = lost
    if slow > 0:
        for link in range(first, first + links):
            _walk(base, plan, link_rows(base, plan, link, tile), link_ring(base, plan, link, tile), step, tile)


@njit(error_model="numpy")
def _deliver(base, plan, step, tile):
    """Find what the served and timed-out messages were, from the shared mixture of the steps they were queued in.

    What times out was queued a MAP timer ago, whatever the link; what a link without a queue serves was queued in the
    step before. Both are added up over the links and looked up once: gains a factor of three over a look per link.
    """
    storm = area(base, plan, P_STORM, 0, S_COUNT, tile)
    links = plan[P_LINKS]
    if len(tile) == 1:
        expired = 0.0
        direct = 0.0
        lost = 0.0
        # With no link in service nobody takes the messages: their owners' timers run out all the same.
        discarded = 0.0 if storm[S_STPS, 0] > 0.0 else storm[S_TOTAL, 0]
        size = links_per_bank(tile)
        for start in range(0, links, size):
            k = link_rows(base, plan, start, tile)
            for i in range(min(size, links - start)):
                expired += k[L_EXPIRED, i]
                direct += k[L_DIRECT, i]
                lost += k[L_DIRECT_LOST, i]
                discarded += k[L_IN, i]
        storm[S_EXPIRED, 0] = expired
        storm[S_FRESH, 0] = direct
        storm[S_FRESH_LOST, 0] = lost
        storm[S_DISCARDED, 0] = discarded
    else:
        for b in range(len(tile)):
            storm[S_EXPIRED, b] = 0.0
            storm[S_FRESH, b] = 0.0
            storm[S_FRESH_LOST, b] = 0.0
            total = storm[S_TOTAL, b]
            storm[S_DISCARDED, b] = 0.0 if storm[S_STPS, b] > 0.0 else total
        for link in range(links):
            k = link_rows(base, plan, link, tile)
            for b in range(len(tile)):
                storm[S_EXPIRED, b] += k[L_EXPIRED, b]
                storm[S_FRESH, b] += k[L_DIRECT, b]
                storm[S_FRESH_LOST, b] += k[L_DIRECT_LOST, b]
                storm[S_DISCARDED, b] += k[L_IN, b]
    _look_up(base, plan, step, tile)


@njit(inline="always")
def _look_up(base, plan, step, tile):
    """Turn the sums over all links into kinds of message."""
    kinds = plan[P_MESSAGES]
    mask = plan[P_LINK_MASK]
    storm = area(base, plan, P_STORM, 0, S_COUNT, tile)
    rows = plan[P_LINE_ROWS]
    lines = area(base, plan, P_LINK_LINES, 0, (mask + 1) * rows, tile)
    lost = area(base, plan, P_LOST_RING, 0, (mask + 1) * kinds, tile)
    answered = area(base, plan, P_ANSWERED, 0, rows, tile)
    failed = area(base, plan, P_FAILED, 0, kinds, tile)
    patience = link_rows(base, plan, 0, tile)
    now = (step & mask) * kinds
    sent = (step & mask) * rows
    before = ((step - 1) & mask) * rows
    for r in range(rows):
        for b in range(len(tile)):
            answered[r, b] += storm[S_FRESH, b] * lines[before + r, b]
    for m in range(kinds):
        for b in range(len(tile)):
            failed[m, b] += lost[now + m, b]
            lost[now + m, b] = 0.0
    # Lost answers, and messages discarded beyond a queue's limit: the owners find out when their timers run out.
    if plan[P_UNIFORM]:
        patient = int(patience[L_PATIENCE, 0])
        then = ((step - patient) & mask) * rows
        late = ((step - 1 + patient) & mask) * kinds
        last = ((step + patient) & mask) * kinds
        for m in range(kinds):
            for b in range(len(tile)):
                failed[m, b] += storm[S_EXPIRED, b] * lines[then + m, b]
                lost[late + m, b] += storm[S_FRESH_LOST, b] * lines[before + m, b]
            for b in range(len(tile)):
                lost[last + m, b] += storm[S_DISCARDED, b] * lines[sent + m, b]
        return
    for b in range(len(tile)):
        patient = int(patience[L_PATIENCE, b])
        then = ((step - patient) & mask) * rows
        late = ((step - 1 + patient) & mask) * kinds
        last = ((step + patient) & mask) * kinds
        for m in range(kinds):
            failed[m, b] += storm[S_EXPIRED, b] * lines[then + m, b]
            lost[late + m, b] += storm[S_FRESH_LOST, b] * lines[before + m, b]
            lost[last + m, b] += storm[S_DISCARDED, b] * lines[sent + m, b]


@njit(error_model="numpy")
def _walk(base, plan, k, ring, step, tile):
    """Find what the storms marked in L_MARK served from a queue, or threw away at a restart of the association."""
    kinds = plan[P_MESSAGES]
    mask = plan[P_LINK_MASK]
    rows = plan[P_LINE_ROWS]
    lines = area(base, plan, P_LINK_LINES, 0, (mask + 1) * rows, tile)
    lost = area(base, plan, P_LOST_RING, 0, (mask + 1) * kinds, tile)
    answered = area(base, plan, P_ANSWERED, 0, rows, tile)
    for b in range(len(tile)):
        mark = k[L_MARK, b]
        if mark == 0.0:
            continue
        patience = int(k[L_PATIENCE, b])
        loss = k[L_LOSS, b]
        position = k[L_START, b]
        served = k[L_NEXT, b]
        flushed = mark == 2.0
        # Thrown away by a restart: the owners find out when their timers run out, as those of lost answers do.
        target = k[L_ADMITTED, b] if flushed else served
        # What was queued longer ago than the MAP timer has timed out.
        pointer = max(int(k[L_POINTER, b]), step - patience)
        while position < target:
            slot = pointer & mask
            reached = min(ring[slot, b], target)
            if reached > position:
                fresh = max(min(reached, served) - position, 0.0)
                gone = reached - position - fresh
                then = ((pointer + patience) & mask) * kinds
                for r in range(rows):
                    answered[r, b] += fresh * (1.0 - loss) * lines[slot * rows + r, b]
                for m in range(kinds):
                    lost[then + m, b] += (fresh * loss + gone) * lines[slot * rows + m, b]
                position = reached
            pointer += position < target
        k[L_POINTER, b] = pointer
        if flushed:
            _restart(k, b)


@njit(inline="always")
def _restart(k, b):
    """Begin an association anew: nothing queued, window open, RTO at its initial value."""
    k[L_SUM_RX_BASE, b] += k[L_ADMITTED, b] - k[L_SERVED, b]
    k[L_SUM_LOST, b] += k[L_ADMITTED, b] - k[L_SERVED, b]
    k[L_SERVED, b] = k[L_ADMITTED, b]
    k[L_PEER, b] = 0.0
    k[L_STALLED, b] = 0.0
    k[L_TIMER, b] = 0.0
    k[L_EXPIRIES, b] = 0.0
    k[L_RTO, b] = min(max(k[L_RTO_INITIAL, b], k[L_RTO_MIN, b]), k[L_RTO_MAX, b])
    k[L_FLUSH, b] = 0.0
