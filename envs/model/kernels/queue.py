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
    Q_LOW,
    Q_NEXT,
    Q_OVER,
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
from signalstorm.envs.model.kernels.memory import block, flat


@njit
def advance(base, offset, ring_offset, mask, step, purging, tile):
    """Age, serve, admit and overflow one step; totals only.

    Reads Q_IN (offered) and Q_DRAW (what can be served); writes Q_LOW, Q_START, Q_NEXT, Q_EXPIRED, Q_FRESH, Q_TAKEN
    and Q_OVER.
    """
    q = block(base, offset, Q_COUNT, tile)
    width = len(tile)
    ring = flat(base, ring_offset, (mask + 1) * width)
    now = (step & mask) * width
    for b in range(width):
        past = step - max(int(q[Q_PATIENCE, b]), 1)
        aged = ring[(past & mask) * width + b]
        # Service falls anywhere within a step, so of those admitted W steps ago a server still serves half in time.
        older = aged if purging else ring[((past - 1) & mask) * width + b]
        q[Q_START, b] = 0.5 * (aged + older) if q[Q_PATIENCE, b] > 0.0 else q[Q_ADMITTED_SUM, b]
    zombie = 0.0 if purging else 1.0
    for b in range(width):
        admitted = q[Q_ADMITTED_SUM, b]
        served = q[Q_SERVED_SUM, b]
        low = max(served, q[Q_DEADLINE, b])
        deadline = max(q[Q_DEADLINE, b], q[Q_START, b])
        start = max(low, deadline)
        head = served if zombie > 0.0 else start
        reached = min(head + q[Q_DRAW, b], admitted)
        fresh = max(reached - start, 0.0)
        room = max(q[Q_CAPACITY, b] - (admitted - reached), 0.0)
        taken = min(q[Q_IN, b], room)
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
    for b in range(width):
        ring[now + b] = q[Q_ADMITTED_SUM, b]


@njit(inline="always")
def _take(ring, lines, mask, width, b, payload, pointer, position, target, out, out_at):
    """Add the payload of the entries from ``position`` to ``target`` to ``out``; returns the new pointer."""
    while position < target:
        slot = (pointer & mask) * width + b
        end = ring[slot]
        if end > position:
            reached = min(end, target)
            take = reached - position
            for k in range(payload):
                out[out_at + k] += take * lines[slot * payload + k]
            position = reached
        if position < target:
            pointer += 1
    return pointer


@njit
def collect(base, offset, ring_offset, lines_offset, mask, step, payload, inflow_offset, out_offset, tile):
    """Find the payload of what was served in time and of what timed out, then write this step's line.

    ``out_offset`` has two payloads per storm, served in time and timed out; both are overwritten.
    """
    q = block(base, offset, Q_COUNT, tile)
    width = len(tile)
    ring = flat(base, ring_offset, (mask + 1) * width)
    lines = flat(base, lines_offset, (mask + 1) * width * payload)
    out = flat(base, out_offset, 2 * width * payload)
    inflow = flat(base, inflow_offset, width * payload)
    for i in range(2 * width * payload):
        out[i] = 0.0
    for b in range(width):
        taken = q[Q_TAKEN, b]
        expired = q[Q_EXPIRED, b]
        fresh = q[Q_FRESH, b]
        # Older lines are gone from the ring, and so are their entries: served, or past every patience.
        pointer = max(int(q[Q_POINTER, b]), step - mask)
        at = 2 * b * payload
        if expired > 0.0:
            pointer = _take(
                ring, lines, mask, width, b, payload, pointer, q[Q_LOW, b], q[Q_START, b], out, at + payload
            )
        if fresh > 0.0:
            pointer = _take(ring, lines, mask, width, b, payload, pointer, q[Q_START, b], q[Q_NEXT, b], out, at)
        if q[Q_ADMITTED_SUM, b] - taken <= q[Q_NEXT, b]:
            pointer = step
        q[Q_POINTER, b] = pointer
        if taken > 0.0:
            share = 1.0 / q[Q_IN, b]
            line = ((step & mask) * width + b) * payload
            for k in range(payload):
                lines[line + k] = inflow[b * payload + k] * share
