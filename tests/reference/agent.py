"""The Diameter agent between gateways and policy servers, charging systems."""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

import numpy as np
import simpy

from tests.reference.bucket import Bucket
from tests.reference.clock import after
from tests.reference.observer import Observer
from tests.reference.server import Server

KINDS = ("ccr_i", "ccr_u", "ccr_t", "gy")
THROTTLED = ("ccr_i", "ccr_t")
Heard = Callable[[bool, bool], None]
"""Whether a question succeeded, and, if not, whether another agent would say the same."""


@dataclass(frozen=True)
class AgentLimits:
    """Limits [messages/s], depth of their buckets and numbers of pending transactions; None: none."""

    peer: float | None = None
    kinds: tuple[float | None, ...] = (None,) * len(KINDS)
    pcrf: float | None = None
    pcrf_kinds: tuple[float | None, ...] = (None,) * 3
    ocs: float | None = None
    burst: float | None = None
    action: str = "3002"
    rate: float | None = None
    pool: float | None = None
    pcrf_pending: float | None = None
    ocs_pending: float | None = None


class Peer:
    """A gateway as the agent sees it: a bucket for each kind and one for all."""

    def __init__(self, env: simpy.Environment, limits: AgentLimits, dynamic: bool) -> None:
        self._env, self._limits, self._dynamic = env, limits, dynamic
        self.total = _bucket(env, limits.peer, limits.burst)
        self.kinds = {kind: _bucket(env, each, limits.burst) for kind, each in zip(KINDS, limits.kinds, strict=True)}

    def throttle(self, percent: float) -> None:
        """A part of what CCR-I and CCR-T may have: the kind's limit or the peer's, whichever is lower."""
        if not self._dynamic:
            return
        for kind in THROTTLED:
            given = [each for each in (self._limits.kinds[KINDS.index(kind)], self._limits.peer) if each is not None]
            if not given:
                continue
            per_s = min(given) * (1.0 - percent / 100.0)
            bucket = self.kinds[kind]
            if bucket is None:
                self.kinds[kind] = Bucket(self._env, per_s, self._limits.burst)
            else:
                bucket.turn(per_s)


class Agent:
    """Passes a message on, or answers that it may not or cannot.

    Args:
        peers: The first is the own gateway.
        pcrf, ocs: Where Gx and Gy go; they hold a question no longer than whoever asks waits.
        database: Is written to by what passes and is no attach's own; None: there is none.
        writes: Writes per message of a kind.
        timers: How long the gateway waits on Gx and Gy [s].
    """

    def __init__(
        self,
        env: simpy.Environment,
        rng: np.random.Generator,
        observer: Observer,
        limits: AgentLimits,
        peers: dict[str, Peer],
        pcrf: Server,
        ocs: Server | None,
        database: Server | None,
        writes: dict[str, float],
        timers: tuple[float, float],
    ) -> None:
        self._env, self._rng, self._observer, self._limits = env, rng, observer, limits
        self._peers, self._pcrf, self._ocs, self._database = peers, pcrf, ocs, database
        self._writes, self._timers = writes, timers
        self._capacity = _bucket(env, limits.rate, None if limits.rate is None else max(1.0, 0.1 * limits.rate))
        self._to_pcrf = _bucket(env, limits.pcrf, limits.burst)
        gx = zip(KINDS, limits.pcrf_kinds, strict=False)
        self._to_pcrf_kinds = {kind: _bucket(env, each, limits.burst) for kind, each in gx}
        self._to_ocs = _bucket(env, limits.ocs, limits.burst)
        self._pending = {"gx": 0, "gy": 0}
        self.own = next(iter(peers))

    def ask(self, kind: str, heard: Heard) -> None:
        """An attach's own question, CCR-I or Gy."""
        refusal = self._refusal(kind, self.own)
        if refusal is None:
            self._pass(kind, lambda success: heard(success, False))
        elif refusal == "drop":
            after(self._env, self._timers[kind == "gy"], lambda: heard(False, False))
        else:
            heard(False, refusal == "5012")

    def message(self, kind: str, peer: str) -> None:
        """A message for which no attach waits."""
        if self._refusal(kind, peer) is None:
            self._pass(kind, lambda success: None)
            if self._database is not None:
                self._database.load(self._whole(self._writes.get(kind, 0.0)))

    def chatter(self, kind: str, peer: str, per_s: float) -> Generator[simpy.Event, Any, None]:
        """A peer's own messages, a Poisson process."""
        while True:
            yield self._env.timeout(self._rng.standard_exponential() / per_s)
            self.message(kind, peer)

    def burst(self, kind: str, peer: str, count: int, spread_s: float) -> None:
        """So many messages evenly within a time."""
        for index in range(count):
            after(self._env, spread_s * index / count, lambda: self.message(kind, peer))

    def throttle(self, percent: float) -> None:
        for peer in self._peers.values():
            peer.throttle(percent)
        self._observer.peak("throttle_peak_percent", percent)

    def _refusal(self, kind: str, peer: str) -> str | None:
        """Why a message does not pass. What a later stage turns away has used up what earlier ones allowed."""
        self._observer.note("dra_offered")
        sender = self._peers[peer]
        outward = [self._to_ocs] if kind == "gy" else [self._to_pcrf]
        outward.append(self._to_pcrf_kinds.get(kind))
        if not _allow([sender.kinds[kind], sender.total]) or not _allow(outward):
            self._observer.note("dra_limited")
            return self._limits.action
        if not _allow([self._capacity]) or self._full(kind):
            self._observer.note("dra_busy_gy" if kind == "gy" else "dra_busy_gx")
            return "3004"
        return None

    def _full(self, kind: str) -> bool:
        group, limit = ("gy", self._limits.ocs_pending) if kind == "gy" else ("gx", self._limits.pcrf_pending)
        pool = self._limits.pool
        return (limit is not None and self._pending[group] >= limit) or (
            pool is not None and sum(self._pending.values()) >= pool
        )

    def _pass(self, kind: str, answer: Callable[[bool], None]) -> None:
        """Each transaction holds a slot until its answer or the end of the timer."""
        group = "gy" if kind == "gy" else "gx"
        server = self._ocs if kind == "gy" else self._pcrf
        if server is None:
            answer(True)
            return
        self._pending[group] += 1
        self._observer.peak("pending_peak", sum(self._pending.values()))

        def answered(success: bool) -> None:
            self._pending[group] -= 1
            answer(success)

        server.ask(answered)

    def _whole(self, number: float) -> int:
        return int(number + self._rng.random())


def _bucket(env: simpy.Environment, per_s: float | None, depth: float | None) -> Bucket | None:
    return None if per_s is None else Bucket(env, per_s, depth)


def _allow(buckets: list[Bucket | None]) -> bool:
    """Take one from each if each holds one."""
    limits = [bucket for bucket in buckets if bucket is not None]
    if not all(bucket.holds_one() for bucket in limits):
        return False
    for bucket in limits:
        bucket.take()
    return True
