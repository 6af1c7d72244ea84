"""M3UA/SCTP links to the signalling transfer points: congestion, windows, retransmission, load sharing.

All links get the same mixture of messages in a step, so the mixture is kept once per storm and step and each link
only counts (cumulative admissions A, service D, deadline X as in ``queue``). A message's owner waits for its MAP
timer; a message served later has used the link and served nobody.
"""

from numba import njit

from signalstorm.envs.model.kernels.alarms import log_alarm
from signalstorm.envs.model.kernels.draws import D_DRAW, D_MEAN, SCRATCH_COUNT, draw_poisson
from signalstorm.envs.model.kernels.layout import (
    L_ADMITTED,
    L_CALM,
    L_CLEAR,
    L_CONGESTED,
    L_COUNT,
    L_DEADLINE,
    L_DOWN,
    L_DRAW,
    L_EXPIRED,
    L_EXPIRIES,
    L_FLUSH,
    L_FRESH,
    L_HOLD,
    L_IN,
    L_LOGGED,
    L_LOW,
    L_MEAN,
    L_NEXT,
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
    L_SUM_RX,
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
    P_LINK,
    P_LINK_LINES,
    P_LINK_MASK,
    P_LINK_RING,
    P_LINKS,
    P_LINKS_PER_STP,
    P_LOST_RING,
    P_MESSAGES,
    P_SCRATCH,
    P_SEND,
    P_STOCHASTIC,
    P_STORM,
    S_ANSWER_LOSS,
    S_COUNT,
    S_FREE,
    S_STPS,
    S_TOTAL,
    S_UP,
    SERVICE,
    STREAMS,
)
from signalstorm.envs.model.kernels.memory import block

_REOPEN = 0.75
"""A peer that sends window updates does so when a quarter of its buffer is free (RFC 9260 6.2)."""


@njit(error_model="numpy")
def signal(base, plan, step, tile):
    """Advance all links by one step: share, queue, serve, answer; fills P_ANSWERED and P_FAILED."""
    kinds = plan[P_MESSAGES]
    mask = plan[P_LINK_MASK]
    send = block(base, plan[P_SEND], kinds, tile)
    lost = block(base, plan[P_LOST_RING], (mask + 1) * kinds, tile)
    answered = block(base, plan[P_ANSWERED], kinds, tile)
    failed = block(base, plan[P_FAILED], kinds, tile)
    lines = block(base, plan[P_LINK_LINES], (mask + 1) * kinds, tile)
    storm = block(base, plan[P_STORM], S_COUNT, tile)
    now = (step & mask) * kinds
    for b in range(len(tile)):
        storm[S_TOTAL, b] = 0.0
    for m in range(kinds):
        for b in range(len(tile)):
            answered[m, b] = 0.0
            failed[m, b] = lost[now + m, b]
            lost[now + m, b] = 0.0
            storm[S_TOTAL, b] += send[m, b]
    for m in range(kinds):
        for b in range(len(tile)):
            lines[now + m, b] = send[m, b] / storm[S_TOTAL, b] if storm[S_TOTAL, b] > 0.0 else 0.0
            send[m, b] = 0.0
    _share(base, plan, tile)
    for link in range(plan[P_LINKS]):
        _carry(base, plan, link, step, tile)
        _deliver(base, plan, link, step, tile)
    _count_answers(base, plan, tile)


@njit(inline="always")
def _share(base, plan, tile):
    """Share new messages: equally over the STPs, there over the links without alarm, over all in service if none is.

    A link that is out of service gets nothing; an STP without any link in service leaves its part to the others.
    """
    size = plan[P_LINKS_PER_STP]
    storm = block(base, plan[P_STORM], S_COUNT, tile)
    for b in range(len(tile)):
        storm[S_STPS, b] = 0.0
    for first in range(0, plan[P_LINKS], size):
        for b in range(len(tile)):
            storm[S_UP, b] = 0.0
        for link in range(first, first + size):
            k = block(base, plan[P_LINK] + link * L_COUNT * len(tile), L_COUNT, tile)
            for b in range(len(tile)):
                storm[S_UP, b] += 1.0 if k[L_DOWN, b] != 1.0 else 0.0
        for b in range(len(tile)):
            storm[S_STPS, b] += 1.0 if storm[S_UP, b] > 0.0 else 0.0
    for first in range(0, plan[P_LINKS], size):
        for b in range(len(tile)):
            storm[S_UP, b] = 0.0
            storm[S_FREE, b] = 0.0
        for link in range(first, first + size):
            k = block(base, plan[P_LINK] + link * L_COUNT * len(tile), L_COUNT, tile)
            for b in range(len(tile)):
                up = 1.0 if k[L_DOWN, b] != 1.0 else 0.0
                storm[S_UP, b] += up
                storm[S_FREE, b] += up * (1.0 - k[L_CONGESTED, b])
        for link in range(first, first + size):
            k = block(base, plan[P_LINK] + link * L_COUNT * len(tile), L_COUNT, tile)
            for b in range(len(tile)):
                free = storm[S_FREE, b] > 0.0
                takers = storm[S_FREE, b] if free else max(storm[S_UP, b], 1.0)
                takes = 1.0 - k[L_CONGESTED, b] if free else 1.0
                takes = takes if k[L_DOWN, b] != 1.0 else 0.0
                k[L_IN, b] = takes * storm[S_TOTAL, b] / (takers * max(storm[S_STPS, b], 1.0))


@njit(error_model="numpy")
def _carry(base, plan, link, step, tile):
    """Queue, send within the window, serve at the STP, stall and reopen; totals only."""
    width = len(tile)
    k = block(base, plan[P_LINK] + link * L_COUNT * width, L_COUNT, tile)
    mask = plan[P_LINK_MASK]
    ring = block(base, plan[P_LINK_RING] + link * (mask + 1) * width, mask + 1, tile)
    d = block(base, plan[P_SCRATCH], SCRATCH_COUNT, tile)
    for b in range(width):
        d[D_MEAN, b] = k[L_MEAN, b]
        d[D_DRAW, b] = k[L_MEAN, b]
    if plan[P_STOCHASTIC]:
        draw_poisson(base, plan, step, (LINKS + link) * STREAMS + SERVICE, tile)
    for b in range(width):
        past = (step - int(k[L_PATIENCE, b])) & mask
        k[L_START, b] = ring[past, b]
        k[L_DRAW, b] = d[D_DRAW, b]
    for b in range(width):
        admitted = k[L_ADMITTED, b]
        served = k[L_SERVED, b]
        peer = k[L_PEER, b]
        waiting = admitted - served - peer
        down = 1.0 if k[L_DOWN, b] > 0.0 else 0.0
        dead = 1.0 if (k[L_DOWN, b] == 2.0) & (waiting > 0.0) else 0.0
        window = k[L_WINDOW, b]
        open_ = (1.0 - k[L_STALLED, b]) * (1.0 - down)
        # Open: service in this step refills the window, so all that waits can be served; stalled: what the peer holds.
        trickle = min(waiting, k[L_TRICKLE, b] * (1.0 - down))
        offer = peer + (waiting if open_ > 0.0 else trickle)
        reached = min(k[L_DRAW, b] * (1.0 - down), offer)
        held = offer - reached
        k[L_PEER, b] = min(held, window)
        shut = open_ * (1.0 if held >= window else 0.0)
        # A closed window starts T3; each expiry doubles RTO; one that finds room, or an update, reopens the window.
        begins = max(shut, dead * (1.0 - k[L_STALLED, b]))
        stalled = max(k[L_STALLED, b], begins)
        timer = (k[L_RTO, b] if begins > 0.0 else k[L_TIMER, b]) - stalled
        expired = stalled * (1.0 if timer <= 0.0 else 0.0)
        room = 1.0 if held < window else 0.0
        update = stalled * k[L_UPDATES, b] * (1.0 if held <= _REOPEN * window else 0.0)
        reopen = max(expired * room, update) * (1.0 - down)
        doubled = min(max(k[L_RTO, b] * 2.0, k[L_RTO_MIN, b]), k[L_RTO_MAX, b])
        k[L_RTO, b] = doubled if expired > 0.0 else k[L_RTO, b]
        k[L_TIMER, b] = k[L_RTO, b] if expired > 0.0 else timer
        k[L_EXPIRIES, b] = (k[L_EXPIRIES, b] + expired) * (1.0 - reopen)
        k[L_STALLED, b] = stalled * (1.0 - reopen)
        failed = (dead > 0.0) & (k[L_EXPIRIES, b] > k[L_RETRANSMISSIONS, b])
        k[L_DOWN, b] = 1.0 if failed else k[L_DOWN, b]
        k[L_SUM_STALLS, b] += shut
        # A fresh round-trip sample needs a step without a closed window and with traffic.
        fresh_sample = open_ * (1.0 - shut) * (1.0 if reached > 0.0 else 0.0)
        k[L_RTO, b] = k[L_RTO_MIN, b] if fresh_sample > 0.0 else k[L_RTO, b]
        low = max(served, k[L_DEADLINE, b])
        deadline = max(k[L_DEADLINE, b], k[L_START, b])
        start = max(low, deadline)
        end = served + reached
        fresh = max(end - start, 0.0)
        room_left = max(k[L_QUEUE, b] + window - (admitted - end), 0.0)
        taken = min(k[L_IN, b], room_left)
        k[L_LOW, b] = low
        k[L_START, b] = start
        k[L_NEXT, b] = max(end, start)
        k[L_DEADLINE, b] = deadline
        k[L_SERVED, b] = end
        k[L_ADMITTED, b] = admitted + taken
        k[L_EXPIRED, b] = start - low
        k[L_FRESH, b] = fresh
        k[L_SUM_TX, b] += reached + k[L_PEER, b] - peer
        k[L_SUM_LOST, b] += k[L_IN, b] - taken
        k[L_SUM_FRESH, b] += fresh
        k[L_SUM_STALE, b] += reached - fresh
        k[L_IN, b] = k[L_IN, b] - taken
    for b in range(width):
        ring[step & mask, b] = k[L_ADMITTED, b]
    for b in range(width):
        queue = k[L_ADMITTED, b] - k[L_SERVED, b] - k[L_PEER, b]
        # A link that died unnoticed has no closed window: it takes messages until its queue or its death shows.
        closed = (k[L_STALLED, b] > 0.0) & (k[L_DOWN, b] != 2.0)
        raised = closed | (queue > k[L_SET, b])
        cleared = (k[L_STALLED, b] == 0.0) & (queue <= k[L_CLEAR, b])
        before = k[L_CONGESTED, b]
        after = 1.0 if raised else (0.0 if cleared else before)
        k[L_CONGESTED, b] = after
        k[L_SUM_CONGESTED, b] += after
        k[L_CALM, b] = 0.0 if after > 0.0 else k[L_CALM, b] + 1.0
        logged = after > 0.0 or (k[L_LOGGED, b] > 0.0 and k[L_CALM, b] < k[L_HOLD, b])
        if logged != (k[L_LOGGED, b] > 0.0):
            k[L_LOGGED, b] = 1.0 if logged else 0.0
            log_alarm(base, plan, b, step, link, k[L_LOGGED, b], tile)


@njit(error_model="numpy")
def _deliver(base, plan, link, step, tile):
    """Find what each served and timed-out message was, from the shared mixture of the step in which it was queued."""
    kinds = plan[P_MESSAGES]
    mask = plan[P_LINK_MASK]
    size = plan[P_LINKS_PER_STP]
    k = block(base, plan[P_LINK] + link * L_COUNT * len(tile), L_COUNT, tile)
    storm = block(base, plan[P_STORM], S_COUNT, tile)
    ring = block(base, plan[P_LINK_RING] + link * (mask + 1) * len(tile), mask + 1, tile)
    lines = block(base, plan[P_LINK_LINES], (mask + 1) * kinds, tile)
    lost = block(base, plan[P_LOST_RING], (mask + 1) * kinds, tile)
    answered = block(base, plan[P_ANSWERED], kinds, tile)
    failed = block(base, plan[P_FAILED], kinds, tile)
    first = link - link % size
    for b in range(len(tile)):
        storm[S_FREE, b] = 0.0
    for other in range(first, first + size):
        congested = block(base, plan[P_LINK] + other * L_COUNT * len(tile), L_COUNT, tile)
        for b in range(len(tile)):
            storm[S_FREE, b] += congested[L_CONGESTED, b]
    for b in range(len(tile)):
        patience = int(k[L_PATIENCE, b])
        loss = storm[S_ANSWER_LOSS, b] * storm[S_FREE, b] / size
        if (k[L_DOWN, b] == 1.0) & (k[L_ADMITTED, b] > k[L_SERVED, b]):
            k[L_FLUSH, b] = 1.0
        position = k[L_LOW, b]
        start = k[L_START, b]
        served = k[L_NEXT, b]
        flushed = k[L_FLUSH, b] > 0.0
        # Thrown away by a restart: the owners find out when their timers run out, as those of lost answers do.
        target = k[L_ADMITTED, b] if flushed else served
        pointer = max(int(k[L_POINTER, b]), step - mask)
        while position < target:
            slot = pointer & mask
            reached = min(ring[slot, b], target)
            if reached > position:
                expired = max(min(reached, start) - position, 0.0)
                fresh = max(min(reached, served) - max(position, start), 0.0)
                gone = reached - position - expired - fresh
                then = (max(pointer + patience, step + 1) & mask) * kinds
                for m in range(kinds):
                    line = lines[slot * kinds + m, b]
                    failed[m, b] += expired * line
                    answered[m, b] += fresh * (1.0 - loss) * line
                    lost[then + m, b] += (fresh * loss + gone) * line
                position = reached
            pointer += position < target
        k[L_POINTER, b] = step if k[L_ADMITTED, b] <= target else pointer
        if flushed:
            _restart(k, b)
        if k[L_IN, b] > 0.0:
            # Discarded beyond the queue's limit: the owners find out when their timer runs out.
            then = ((step + patience) & mask) * kinds
            for m in range(kinds):
                lost[then + m, b] += k[L_IN, b] * lines[(step & mask) * kinds + m, b]


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


@njit(inline="always")
def _count_answers(base, plan, tile):
    """Spread each STP's answers evenly over its links, congested or not; those on congested links may be lost."""
    size = plan[P_LINKS_PER_STP]
    storm = block(base, plan[P_STORM], S_COUNT, tile)
    for first in range(0, plan[P_LINKS], size):
        for b in range(len(tile)):
            storm[S_TOTAL, b] = 0.0
        for link in range(first, first + size):
            k = block(base, plan[P_LINK] + link * L_COUNT * len(tile), L_COUNT, tile)
            for b in range(len(tile)):
                storm[S_TOTAL, b] += k[L_SERVED, b] - k[L_SUM_RX_BASE, b]
                k[L_SUM_RX_BASE, b] = k[L_SERVED, b]
        for link in range(first, first + size):
            k = block(base, plan[P_LINK] + link * L_COUNT * len(tile), L_COUNT, tile)
            for b in range(len(tile)):
                kept = 1.0 - storm[S_ANSWER_LOSS, b] * k[L_CONGESTED, b]
                k[L_SUM_RX, b] += storm[S_TOTAL, b] / size * kept
