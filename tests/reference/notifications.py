"""Downlink data notifications of the SGW to the MME, and their throttle."""

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import simpy

from tests.reference.clock import after
from tests.reference.observer import Observer
from tests.reference.server import Server

EVEN = (1.0 / 15.0,) * 15


@dataclass(frozen=True)
class Throttle:
    """The SGW's settings: limit [1/s], times [s], factors [%], and the ARP above which a bearer is of low priority."""

    limit_per_s: float = 1000.0
    window_s: float = 10.0
    poll_s: float = 2.0
    factor_percent: float = 10.0
    increment_percent: float = 10.0
    watermark: int = 10
    throttle_time_s: float = 864_000.0
    stabilisation_s: float = 28_800.0
    by_mme: bool = False
    """Release 10: the MME says when, at a utilisation of `overload_share` or more, and for `delay_s` after that."""
    delay_s: float = 60.0
    overload_share: float = 0.8


LOOK_S = 0.1
"""Time between two looks at the MME's utilisation."""
SMOOTH_S = 5.0
"""Time constant of that utilisation."""


class Notifications:
    """A Poisson stream and surges. Each that is sent costs the MME some messages."""

    def __init__(
        self,
        env: simpy.Environment,
        rng: np.random.Generator,
        observer: Observer,
        mme: Server | None,
        throttle: Throttle,
        rate_per_s: float = 0.0,
        messages: float = 1.0,
        arp_shares: Sequence[float] = EVEN,
    ) -> None:
        self._env, self._rng, self._observer, self._mme = env, rng, observer, mme
        self._set, self._messages = throttle, messages
        self._low = float(sum(arp_shares[throttle.watermark :]))
        self.factor = 0.0
        self._started_s: float | None = None
        self._in_window = self._handled = 0
        if rate_per_s > 0.0:
            env.process(self._stream(rate_per_s))
        env.process(self._look() if not throttle.by_mme else self._listen())

    def surge(self, count: int, spread_s: float) -> None:
        for index in range(count):
            after(self._env, spread_s * index / count, self.arrive)

    def arrive(self) -> None:
        """A notification: a share of those of low priority is dropped, one by one."""
        self._handled += 1
        low = self._rng.random() < self._low
        if low and self._rng.random() * 100.0 < self.factor:
            self._observer.note("ddn_dropped")
            return
        self._observer.note("ddn_sent")
        self._in_window += 1
        if self._mme is not None:
            self._mme.load(int(self._messages + self._rng.random()))

    def _stream(self, rate_per_s: float) -> Generator[simpy.Event, Any, None]:
        while True:
            yield self._env.timeout(self._rng.standard_exponential() / rate_per_s)
            self.arrive()

    def _look(self) -> Generator[simpy.Event, Any, None]:
        """Polls and ends of windows in order of time; a poll sees the window that ends with it."""
        poll, window = 1, 1
        while True:
            due_s = min(poll * self._set.poll_s, window * self._set.window_s)
            yield self._env.timeout(due_s - self._env.now)
            if poll * self._set.poll_s <= due_s + 1e-9:
                poll += 1
                self._poll()
            if window * self._set.window_s <= due_s + 1e-9:
                window += 1
                self._end_window()

    def _listen(self) -> Generator[simpy.Event, Any, None]:
        """The MME's acknowledgements name factor and delay while it is overloaded, and renew each other."""
        assert self._mme is not None
        utilisation, busy_s, until_s = 0.0, self._mme.busy_s, 0.0
        weight = 1.0 - math.exp(-LOOK_S / SMOOTH_S)
        while True:
            yield self._env.timeout(LOOK_S)
            utilisation += weight * ((self._mme.busy_s - busy_s) / LOOK_S - utilisation)
            busy_s = self._mme.busy_s
            if utilisation >= self._set.overload_share:
                until_s = self._env.now + self._set.delay_s
                self._turn(self._set.factor_percent)
            elif self._env.now >= until_s:
                self.factor = 0.0

    def _poll(self) -> None:
        most = self._set.limit_per_s * self._set.window_s
        if self._started_s is None and self._in_window > most:
            self._started_s = self._env.now
            self._turn(self._set.factor_percent)
            self._observer.note("ddn_throttles")
            self._handled = 0
            after(self._env, self._set.throttle_time_s, partial(self._stop, self._env.now))
            after(self._env, self._set.stabilisation_s, partial(self._settle, self._env.now))

    def _end_window(self) -> None:
        sent, self._in_window = self._in_window, 0
        if self._started_s is None or self._started_s > self._env.now - self._set.window_s + 1e-9:
            return
        over = sent > self._set.limit_per_s * self._set.window_s
        change = self._set.increment_percent if over else -self._set.increment_percent
        self._turn(min(100.0, max(self._set.factor_percent, self.factor + change)))

    def _settle(self, since_s: float) -> None:
        """A whole stabilisation time below the limit ends it; otherwise the next such time begins."""
        if since_s != self._started_s:
            return
        if self._handled < self._set.limit_per_s * self._set.stabilisation_s:
            self._stop(since_s)
        else:
            self._handled = 0
            after(self._env, self._set.stabilisation_s, lambda: self._settle(since_s))

    def _stop(self, since_s: float) -> None:
        if since_s == self._started_s:
            self._started_s = None
            self.factor = 0.0

    def _turn(self, percent: float) -> None:
        self.factor = percent
        self._observer.peak("ddn_factor_peak_percent", percent)
