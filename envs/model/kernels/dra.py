"""Diameter agent: static and dynamic limits, rated capacity, and the pool of transaction slots.

Each step it takes what the gateway and its other peers sent in the step before, and splits it into what passes, what
is beyond a limit and what finds the agent busy. Buckets are full at the start, fill at their rate and hold at most
their depth between steps.
"""

from numba import njit

from signalstorm.envs.model.kernels.core_layout import (
    B_BURST,
    B_COUNT,
    B_DYNAMIC,
    B_MEAN,
    B_OFFERED,
    B_OTHER,
    B_PASSED,
    B_SUM_OFFERED,
    B_SUM_PASSED,
    B_TOKENS,
    CCR_I,
    CCR_T,
    CCR_U,
    GY,
    MESSAGES,
    N_ACTION,
    N_BUSY_GX,
    N_BUSY_GY,
    N_COUNT,
    N_DEPTH,
    N_DONE_GX,
    N_DONE_GY,
    N_EGRESS,
    N_EGRESS_TOKENS,
    N_ENDED,
    N_ENDINGS_LOST,
    N_GX_ACTION,
    N_LIMIT,
    N_LIMITED,
    N_OCS_PENDING,
    N_OFFERED,
    N_OVER_GX,
    N_OVER_GY,
    N_PASS_GX,
    N_PASS_GY,
    N_PCRF_PENDING,
    N_PENDING_GX,
    N_PENDING_GY,
    N_PENDING_PEAK,
    N_PER_S,
    N_POOL,
    N_RATED,
    N_RATED_TOKENS,
    N_THROTTLE,
    N_UPDATES,
    N_WRITE_T,
    N_WRITE_U,
    PEERS,
    TOTAL,
    X_BLOCK,
    X_DATABASE,
    X_GX,
    X_GX_FAILED,
    X_GY,
    X_GY_FAILED,
    X_OCS,
    X_OVER_MASK,
    X_OVER_RING,
    X_PCRF,
    X_PEER,
    X_PEERS,
)
from signalstorm.envs.model.kernels.draws import D_DRAW, D_MEAN, SCRATCH_COUNT, draw_poisson
from signalstorm.envs.model.kernels.layout import (
    FIRST_SERVER,
    NEVER,
    P_CLASSES,
    P_COHORTS,
    P_CORE,
    P_REFUSE,
    P_REGISTERED,
    P_SCRATCH,
    P_SERVER_TABLE,
    P_STOCHASTIC,
    P_STORM,
    PS_BLOCK,
    PS_COUNT,
    PS_DELAY,
    PS_DELAY_MASK,
    PS_INFLOW,
    PS_MASK,
    PS_RING,
    PS_SERVED_RING,
    PS_WIDTH,
    Q_BURST,
    Q_COUNT,
    Q_LATENCY,
    Q_LOST,
    Q_REFUSES,
    Q_SUM_OVER,
    Q_TIMER,
    S_COUNT,
    S_STEP,
    STREAMS,
)
from signalstorm.envs.model.kernels.memory import area, block

_RETRY = 2.0
_UNABLE = 3.0
"""Action 5012: the answer says that another agent could not help either, so the gateway does not ask one."""


@njit(error_model="numpy")
def relay(base, plan, step, tile):
    """Advance the agent by one step."""
    _arrive(base, plan, tile)
    n = block(base, plan[plan[P_CORE] + X_BLOCK], N_COUNT, tile)
    _pending(base, plan, step, 0, plan[plan[P_CORE] + X_PCRF], N_PENDING_GX, N_DONE_GX, tile)
    if plan[plan[P_CORE] + X_OCS] >= 0:
        _pending(base, plan, step, 1, plan[plan[P_CORE] + X_OCS], N_PENDING_GY, N_DONE_GY, tile)
    for b in range(len(tile)):
        n[N_PENDING_PEAK, b] = max(n[N_PENDING_PEAK, b], n[N_PENDING_GX, b] + n[N_PENDING_GY, b])
        _ingress(base, plan, b, tile)
        _egress(base, plan, b, tile)
    _hand_on(base, plan, step, X_GX, X_PCRF, X_GX_FAILED, N_PASS_GX, N_OVER_GX, tile)
    if plan[plan[P_CORE] + X_OCS] >= 0:
        _hand_on(base, plan, step, X_GY, X_OCS, X_GY_FAILED, N_PASS_GY, N_OVER_GY, tile)


@njit(error_model="numpy")
def _arrive(base, plan, tile):
    """Count what each peer sends in this step, own subscribers' questions included."""
    at = plan[P_CORE]
    n = block(base, plan[at + X_BLOCK], N_COUNT, tile)
    registered = area(base, plan, P_REGISTERED, 0, plan[P_CLASSES], tile)
    d = area(base, plan, P_SCRATCH, 0, SCRATCH_COUNT, tile)
    cohorts = plan[P_COHORTS]
    for p in range(plan[at + X_PEERS]):
        peer = block(base, plan[at + X_PEER] + p * B_COUNT * len(tile), B_COUNT, tile)
        for m in range(MESSAGES):
            some = 0
            for b in range(len(tile)):
                d[D_MEAN, b] = peer[B_MEAN + m, b]
                if p == 0 and m == CCR_U:
                    for c in range(plan[P_CLASSES]):
                        d[D_MEAN, b] += n[N_UPDATES, b] * registered[c, b]
                d[D_DRAW, b] = d[D_MEAN, b]
                some += d[D_MEAN, b] > 0.0
            if some > 0 and plan[P_STOCHASTIC]:
                draw_poisson(base, plan, (FIRST_SERVER + PEERS) * STREAMS + p * MESSAGES + m, tile)
            for b in range(len(tile)):
                burst = peer[B_BURST + m, b]
                peer[B_BURST + m, b] = 0.0
                ended = n[N_ENDED, b] if p == 0 and m == CCR_T else 0.0
                peer[B_OTHER + m, b] = d[D_DRAW, b] + burst + ended
                peer[B_OFFERED + m, b] = peer[B_OTHER + m, b]
    own = block(base, plan[at + X_PEER], B_COUNT, tile)
    gx = block(base, plan[at + X_GX], cohorts + 1, tile)
    gy = block(base, plan[at + X_GY], cohorts + 1, tile)
    for k in range(cohorts):
        for b in range(len(tile)):
            own[B_OFFERED + CCR_I, b] += gx[k, b]
            own[B_OFFERED + GY, b] += gy[k, b]
    for b in range(len(tile)):
        n[N_ENDED, b] = 0.0


@njit(error_model="numpy")
def _pending(base, plan, step, which, server, row, done_row, tile):
    """Count the slots that one kind of transaction holds: each until its answer or its requester's timer.

    A slot once free stays free: where the latency has just risen, what was answered before the rise was answered.
    """
    n = block(base, plan[plan[P_CORE] + X_BLOCK], N_COUNT, tile)
    at = plan[P_SERVER_TABLE] + server * PS_COUNT
    q = block(base, plan[at + PS_BLOCK], Q_COUNT, tile)
    mask = plan[at + PS_MASK]
    ring = block(base, plan[at + PS_RING], mask + 1, tile)
    served = block(base, plan[at + PS_SERVED_RING], mask + 1, tile)
    over_mask = plan[plan[P_CORE] + X_OVER_MASK]
    start = plan[plan[P_CORE] + X_OVER_RING] + which * (over_mask + 1) * len(tile)
    over = block(base, start, over_mask + 1, tile)
    storm = area(base, plan, P_STORM, 0, S_COUNT, tile)
    last = step - 1
    for b in range(len(tile)):
        timer = int(q[Q_TIMER, b])
        over[last & over_mask, b] = q[Q_SUM_OVER, b] * (1.0 - q[Q_REFUSES, b])
        done = max(served[(last - int(q[Q_LATENCY, b])) & mask, b], ring[(last - timer) & mask, b])
        done = max(done, n[done_row, b])
        n[done_row, b] = done
        lost = over[last & over_mask, b] - over[(last - timer) & over_mask, b]
        n[row, b] = max(ring[last & mask, b] - done, 0.0) + max(lost, 0.0) if storm[S_STEP, b] > 0.0 else 0.0


@njit(inline="always")
def _take(tokens, limit, depth, wanted):
    """Return what of ``wanted`` a bucket lets through in one step, and what is left in it."""
    if limit >= NEVER:
        return wanted, tokens
    held = min(tokens, depth) + limit
    passed = min(wanted, held)
    return passed, min(held - passed, depth)


@njit(inline="always")
def _depth(n, b, limit):
    return n[N_DEPTH, b] if n[N_DEPTH, b] > 0.0 else limit * n[N_PER_S, b]


@njit(error_model="numpy")
def _ingress(base, plan, b, tile):
    """Apply each peer's limits: per kind of message, then in all, which cuts all kinds alike."""
    at = plan[P_CORE]
    n = block(base, plan[at + X_BLOCK], N_COUNT, tile)
    for p in range(plan[at + X_PEERS]):
        peer = block(base, plan[at + X_PEER] + p * B_COUNT * len(tile), B_COUNT, tile)
        wanted = 0.0
        for m in range(MESSAGES):
            limit, depth = _limit(n, peer, b, m)
            passed, _ = _take(peer[B_TOKENS + m, b], limit, depth, peer[B_OFFERED + m, b])
            peer[B_PASSED + m, b] = passed
            wanted += passed
        whole = n[N_LIMIT + TOTAL, b]
        passed, left = _take(peer[B_TOKENS + TOTAL, b], whole, _depth(n, b, whole), wanted)
        peer[B_TOKENS + TOTAL, b] = left
        share = passed / wanted if wanted > 0.0 else 1.0
        for m in range(MESSAGES):
            peer[B_PASSED + m, b] *= share
            limit, depth = _limit(n, peer, b, m)
            if limit < NEVER:
                held = min(peer[B_TOKENS + m, b], depth) + limit - peer[B_PASSED + m, b]
                peer[B_TOKENS + m, b] = min(max(held, 0.0), depth)


@njit(inline="always")
def _limit(n, peer, b, m):
    """Return a peer's limit for a kind of message, lowered by the dynamic limit, and its bucket's depth."""
    limit = n[N_LIMIT + m, b]
    depth = _depth(n, b, limit)
    if (m in (CCR_I, CCR_T)) and peer[B_DYNAMIC, b] > 0.0 and n[N_THROTTLE, b] > 0.0:
        whole = min(limit, n[N_LIMIT + TOTAL, b])
        if whole < NEVER:
            limit = whole * (1.0 - 0.01 * n[N_THROTTLE, b])
            depth = _depth(n, b, limit)
    return limit, depth


@njit(error_model="numpy")
def _egress(base, plan, b, tile):
    """Apply limits towards policy servers and OCS, rated capacity, pending limits and the pool; count all."""
    at = plan[P_CORE]
    n = block(base, plan[at + X_BLOCK], N_COUNT, tile)
    peers = plan[at + X_PEERS]
    first = plan[at + X_PEER]
    offered = 0.0
    gx = 0.0
    for m in range(MESSAGES):
        wanted = 0.0
        for p in range(peers):
            peer = block(base, first + p * B_COUNT * len(tile), B_COUNT, tile)
            wanted += peer[B_PASSED + m, b]
            offered += peer[B_OFFERED + m, b]
        limit = n[N_EGRESS + m, b]
        passed, left = _take(n[N_EGRESS_TOKENS + m, b], limit, _depth(n, b, limit), wanted)
        n[N_EGRESS_TOKENS + m, b] = left
        gx += passed if m != GY else 0.0
        _cut(base, first, peers, m, passed / wanted if wanted > 0.0 else 1.0, b, tile)
    limit = n[N_EGRESS + TOTAL, b]
    passed, left = _take(n[N_EGRESS_TOKENS + TOTAL, b], limit, _depth(n, b, limit), gx)
    n[N_EGRESS_TOKENS + TOTAL, b] = left
    share = passed / gx if gx > 0.0 else 1.0
    for m in range(GY):
        _cut(base, first, peers, m, share, b, tile)
    own = block(base, first, B_COUNT, tile)
    asked_gx = own[B_OFFERED + CCR_I, b]
    asked_gy = own[B_OFFERED + GY, b]
    n[N_OVER_GX, b] = 1.0 - own[B_PASSED + CCR_I, b] / asked_gx if asked_gx > 0.0 else 0.0
    n[N_OVER_GY, b] = 1.0 - own[B_PASSED + GY, b] / asked_gy if asked_gy > 0.0 else 0.0
    gx = 0.0
    gy = 0.0
    for p in range(peers):
        peer = block(base, first + p * B_COUNT * len(tile), B_COUNT, tile)
        gx += peer[B_PASSED + CCR_I, b] + peer[B_PASSED + CCR_U, b] + peer[B_PASSED + CCR_T, b]
        gy += peer[B_PASSED + GY, b]
    n[N_OFFERED, b] += offered
    n[N_LIMITED, b] += max(offered - gx - gy, 0.0)
    limit = n[N_RATED, b]
    passed, left = _take(n[N_RATED_TOKENS, b], limit, limit * n[N_PER_S, b], gx + gy)
    n[N_RATED_TOKENS, b] = left
    share = passed / (gx + gy) if gx + gy > 0.0 else 1.0
    go_gx = min(gx * share, max(n[N_PCRF_PENDING, b] - n[N_PENDING_GX, b], 0.0))
    go_gy = min(gy * share, max(n[N_OCS_PENDING, b] - n[N_PENDING_GY, b], 0.0))
    room = max(n[N_POOL, b] - n[N_PENDING_GX, b] - n[N_PENDING_GY, b], 0.0)
    share = min(room / (go_gx + go_gy), 1.0) if go_gx + go_gy > 0.0 else 1.0
    n[N_BUSY_GX, b] += gx - go_gx * share
    n[N_BUSY_GY, b] += gy - go_gy * share
    for m in range(MESSAGES):
        whole = gy if m == GY else gx
        part = go_gy if m == GY else go_gx
        _cut(base, first, peers, m, part * share / whole if whole > 0.0 else 1.0, b, tile)
    n[N_PASS_GX, b] = own[B_PASSED + CCR_I, b] / asked_gx if asked_gx > 0.0 else 0.0
    n[N_PASS_GY, b] = own[B_PASSED + GY, b] / asked_gy if asked_gy > 0.0 else 0.0
    for p in range(peers):
        peer = block(base, first + p * B_COUNT * len(tile), B_COUNT, tile)
        n[N_ENDINGS_LOST, b] += peer[B_OFFERED + CCR_T, b] - peer[B_PASSED + CCR_T, b]
        for m in range(MESSAGES):
            peer[B_SUM_OFFERED + m, b] += peer[B_OFFERED + m, b]
            peer[B_SUM_PASSED + m, b] += peer[B_PASSED + m, b]
    _load_servers(base, plan, b, tile)


@njit(inline="always")
def _cut(base, first, peers, m, share, b, tile):
    for p in range(peers):
        block(base, first + p * B_COUNT * len(tile), B_COUNT, tile)[B_PASSED + m, b] *= share


@njit(inline="always")
def _load_servers(base, plan, b, tile):
    """Let what passes and belongs to nobody counted here load the policy server, the OCS and the database."""
    at = plan[P_CORE]
    n = block(base, plan[at + X_BLOCK], N_COUNT, tile)
    gx = 0.0
    gy = 0.0
    writes = 0.0
    for p in range(plan[at + X_PEERS]):
        peer = block(base, plan[at + X_PEER] + p * B_COUNT * len(tile), B_COUNT, tile)
        for m in range(MESSAGES):
            share = peer[B_PASSED + m, b] / peer[B_OFFERED + m, b] if peer[B_OFFERED + m, b] > 0.0 else 0.0
            others = peer[B_OTHER + m, b] * share
            gx += others if m != GY else 0.0
            gy += others if m == GY else 0.0
            weight = 1.0 if m == CCR_I else (n[N_WRITE_U, b] if m == CCR_U else n[N_WRITE_T, b])
            writes += others * weight if m != GY else 0.0
    _burst(base, plan, plan[at + X_PCRF], b, gx, tile)
    _burst(base, plan, plan[at + X_OCS], b, gy, tile)
    _burst(base, plan, plan[at + X_DATABASE], b, writes, tile)


@njit(inline="always")
def _burst(base, plan, server, b, count, tile):
    if server >= 0 and count > 0.0:
        block(base, plan[plan[P_SERVER_TABLE] + server * PS_COUNT + PS_BLOCK], Q_COUNT, tile)[Q_BURST, b] += count


@njit(error_model="numpy")
def _hand_on(base, plan, step, buffer_row, server_row, failed_row, pass_row, over_row, tile):
    """Hand the subscribers' questions to the server; answer, or lose, what is beyond a limit or finds no slot."""
    at = plan[P_CORE]
    n = block(base, plan[at + X_BLOCK], N_COUNT, tile)
    share = plan[P_COHORTS] + 1
    table = plan[P_SERVER_TABLE] + plan[at + server_row] * PS_COUNT
    q = block(base, plan[table + PS_BLOCK], Q_COUNT, tile)
    waiting = block(base, plan[at + buffer_row], share, tile)
    to = block(base, plan[table + PS_INFLOW], share, tile)
    failed = block(base, plan[at + failed_row], share, tile)
    refused = area(base, plan, P_REFUSE, 0, share, tile)
    width = plan[table + PS_WIDTH]
    mask = plan[table + PS_DELAY_MASK]
    delay = block(base, plan[table + PS_DELAY], (mask + 1) * 2 * width, tile)
    for b in range(len(tile)):
        q[Q_LOST, b] = 0.0
    for k in range(share):
        for b in range(len(tile)):
            x = waiting[k, b]
            if x <= 0.0:
                continue
            waiting[k, b] = 0.0
            passed = x * n[pass_row, b]
            over = x * n[over_row, b]
            to[k, b] += passed
            failed[k, b] += max(x - passed - over, 0.0)
            if n[N_ACTION, b] == 0.0:
                slot = ((step + int(q[Q_TIMER, b])) & mask) * 2 * width + width
                delay[slot + k, b] += over
                q[Q_LOST, b] += over if k < share - 1 else 0.0
            elif n[N_ACTION, b] == _UNABLE and n[N_GX_ACTION, b] == _RETRY and buffer_row == X_GX:
                refused[k, b] += over
            else:
                failed[k, b] += over


@njit(inline="always")
def imbalance(base, plan, b, tile):
    """Return by how much offered differs from passed, beyond a limit and turned away, as a share."""
    at = plan[P_CORE]
    n = block(base, plan[at + X_BLOCK], N_COUNT, tile)
    left = n[N_LIMITED, b] + n[N_BUSY_GX, b] + n[N_BUSY_GY, b]
    offered = 0.0
    for p in range(plan[at + X_PEERS]):
        peer = block(base, plan[at + X_PEER] + p * B_COUNT * len(tile), B_COUNT, tile)
        for m in range(MESSAGES):
            left += peer[B_SUM_PASSED + m, b]
            offered += peer[B_SUM_OFFERED + m, b]
    return max(abs(left - offered), abs(n[N_OFFERED, b] - offered)) / max(offered, 1.0)
