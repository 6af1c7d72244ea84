"""The deadline queue, in cumulative counts: the gate (purging) and every server (zombie) are this one function.

A is what has been admitted so far, D what has been served, X the entries up to which all have timed out. An entry
is a position between them; a ring keeps A at the end of each past step, so the entries that reach the patience W
are those up to A(s - W). A second ring keeps, for each step, what one admitted entry consisted of (its payload).
"""

from numba import njit

from signalstorm.envs.model.kernels.layout import (
    Q_ADMITTED_SUM,
    Q_CAPACITY,
    Q_COUNT,
    Q_DEADLINE,
    Q_DRAW,
    Q_EXPIRED,
    Q_FRESH,
    Q_IN,
    Q_LATER_IN,
    Q_LOW,
    Q_NEXT,
    Q_OVER,
    Q_PASS,
    Q_PASS_LATER,
    Q_PATIENCE,
    Q_PEAK,
    Q_POINTER,
    Q_SERVED_SUM,
    Q_START,
    Q_SUM_EXPIRED,
    Q_SUM_FRESH,
    Q_SUM_OFFERED,
    Q_SUM_OVER,
    Q_SUM_STALE,
    Q_TAKEN,
)
from signalstorm.envs.model.kernels.memory import block
from signalstorm.envs.model.kernels.rows import clear


@njit(error_model="numpy")
def advance(base, offset, ring_offset, mask, step, purging, tile):
    """Age, serve, admit and overflow one step; totals only.

    Reads Q_IN (offered) and Q_DRAW (what can be served); writes Q_LOW, Q_START, Q_NEXT, Q_EXPIRED, Q_FRESH, Q_TAKEN
    and Q_OVER.
    """
    q = block(base, offset, Q_COUNT, tile)
    ring = block(base, ring_offset, mask + 1, tile)
    for b in range(len(tile)):
        past = step - max(int(q[Q_PATIENCE, b]), 1)
        aged = ring[past & mask, b]
        # Service falls anywhere within a step, so of those admitted W steps ago a server still serves half in time.
        older = aged if purging else ring[(past - 1) & mask, b]
        q[Q_START, b] = 0.5 * (aged + older) if q[Q_PATIENCE, b] > 0.0 else q[Q_ADMITTED_SUM, b]
    zombie = 0.0 if purging else 1.0
    for b in range(len(tile)):
        admitted = q[Q_ADMITTED_SUM, b]
        served = q[Q_SERVED_SUM, b]
        low = max(served, q[Q_DEADLINE, b])
        deadline = max(q[Q_DEADLINE, b], q[Q_START, b])
        start = max(low, deadline)
        head = served if zombie > 0.0 else start
        reached = min(head + q[Q_DRAW, b], admitted)
        fresh = max(reached - start, 0.0)
        room = max(q[Q_CAPACITY, b] - (admitted - reached), 0.0)
        # A question that follows an answer takes the place that the answer has left, before anybody else.
        later = min(q[Q_LATER_IN, b], room)
        others = q[Q_IN, b] - q[Q_LATER_IN, b]
        first = min(others, room - later)
        taken = later + first
        q[Q_PASS, b] = first / others if others > 0.0 else 1.0
        q[Q_PASS_LATER, b] = later / q[Q_LATER_IN, b] if q[Q_LATER_IN, b] > 0.0 else 1.0
        expired = start - low
        over = q[Q_IN, b] - taken
        q[Q_LOW, b] = low
        q[Q_START, b] = start
        q[Q_NEXT, b] = max(reached, start)
        q[Q_DEADLINE, b] = deadline
        q[Q_SERVED_SUM, b] = reached
        q[Q_ADMITTED_SUM, b] = admitted + taken
        q[Q_EXPIRED, b] = expired
        q[Q_FRESH, b] = fresh
        q[Q_TAKEN, b] = taken
        q[Q_OVER, b] = over
        q[Q_SUM_OFFERED, b] += q[Q_IN, b]
        q[Q_SUM_EXPIRED, b] += expired
        q[Q_SUM_FRESH, b] += fresh
        q[Q_SUM_STALE, b] += reached - head - fresh
        q[Q_SUM_OVER, b] += over
        q[Q_PEAK, b] = max(q[Q_PEAK, b], admitted + taken - reached)
    now = step & mask
    for b in range(len(tile)):
        ring[now, b] = q[Q_ADMITTED_SUM, b]


@njit(error_model="numpy")
def collect(base, offset, ring_offset, lines_offset, mask, step, stage, payload, used, inflow_offset, out_offset, tile):
    """Find the payload of what was served in time and of what timed out, then write this step's line.

    ``out_offset`` has two payloads, served in time and timed out; both are overwritten. The first ``stage`` numbers of
    a payload are the first transaction's, the others follow an answer of the same server. Of a payload only the first
    ``used`` numbers and the last are in use.
    """
    q = block(base, offset, Q_COUNT, tile)
    ring = block(base, ring_offset, mask + 1, tile)
    lines = block(base, lines_offset, (mask + 1) * payload, tile)
    inflow = block(base, inflow_offset, payload, tile)
    out = block(base, out_offset, 2 * payload, tile)
    clear(out, 0, used, tile)
    clear(out, payload - 1, 1, tile)
    clear(out, payload, used, tile)
    clear(out, 2 * payload - 1, 1, tile)
    for b in range(len(tile)):
        position = q[Q_LOW, b]
        start = q[Q_START, b]
        target = q[Q_NEXT, b]
        # Older lines are gone from the ring, and so are their entries: served, or past every patience.
        pointer = max(int(q[Q_POINTER, b]), step - mask)
        while position < target:
            slot = pointer & mask
            reached = min(ring[slot, b], target)
            if reached > position:
                expired = max(min(reached, start) - position, 0.0)
                fresh = max(reached - max(position, start), 0.0)
                for k in range(used):
                    out[k, b] += fresh * lines[slot * payload + k, b]
                out[payload - 1, b] += fresh * lines[slot * payload + payload - 1, b]
                if expired > 0.0:
                    for k in range(used):
                        out[payload + k, b] += expired * lines[slot * payload + k, b]
                    out[2 * payload - 1, b] += expired * lines[slot * payload + payload - 1, b]
                position = reached
            pointer += position < target
        empty = q[Q_ADMITTED_SUM, b] - q[Q_TAKEN, b] <= target
        q[Q_POINTER, b] = step if empty else pointer
    first = (step & mask) * payload
    at_once = min(used, stage)
    _write_lines(lines, first, inflow, 0, at_once, q, Q_PASS, tile)
    if used > at_once:
        _write_lines(lines, first, inflow, at_once, used - at_once, q, Q_PASS_LATER, tile)
    _write_lines(lines, first, inflow, payload - 1, 1, q, Q_PASS if payload <= stage else Q_PASS_LATER, tile)


@njit(inline="always")
def _write_lines(lines, first, inflow, begin, count, q, passed, tile):
    """Write ``count`` numbers of what one entry consists of."""
    if len(tile) == 1:
        part = q[passed, 0]
        taken = q[Q_TAKEN, 0]
        if taken > 0.0:
            for k in range(begin, begin + count):
                lines[first + k, 0] = inflow[k, 0] * part / taken
        else:
            clear(lines, first + begin, count, tile)
        return
    for k in range(begin, begin + count):
        for b in range(len(tile)):
            lines[first + k, b] = inflow[k, b] * q[passed, b] / q[Q_TAKEN, b] if q[Q_TAKEN, b] > 0.0 else 0.0
