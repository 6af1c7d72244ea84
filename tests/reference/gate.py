"""Network overload protection: a pacing queue in front of everything else."""

from collections import deque
from collections.abc import Callable, Generator
from typing import Any, Protocol

import numpy as np
import simpy

from tests.reference.clock import after
from tests.reference.handset import Handset
from tests.reference.knobs import Pace
from tests.reference.observer import Observer

BACK_OFF_SPREAD = 0.1  # the MME sends a T3346 of 90 % to 110 % of the configured one


class Entrance(Protocol):
    """What stands before the network."""

    def arrive(self, handset: Handset) -> None:
        """A request arrives."""


class OpenGate:
    """No pacing: every request is admitted."""

    def __init__(self, observer: Observer, admit: Callable[[Handset], None]) -> None:
        self._observer, self._admit = observer, admit

    def arrive(self, handset: Handset) -> None:
        self._observer.request()
        self._observer.admission()
        self._admit(handset)


class PacingGate:
    """First in, first out; a release every `1 / rate` seconds, never sooner; idle times give no credit.

    `turned_away` hears of every request that finds the queue full, and whether it was refused.
    """

    def __init__(
        self,
        env: simpy.Environment,
        rng: np.random.Generator,
        observer: Observer,
        admit: Callable[[Handset], None],
        pace: Pace,
        turned_away: Callable[[bool], None] = lambda refused: None,
    ) -> None:
        self._env, self._rng, self._observer, self._admit = env, rng, observer, admit
        self._pace, self._turned_away = pace, turned_away
        self._queue: deque[tuple[Handset, object]] = deque()
        self._wake = env.event()
        env.process(self._release())

    def __len__(self) -> int:
        return len(self._queue)

    def arrive(self, handset: Handset) -> None:
        self._observer.request()
        if handset.priority:
            self._observer.admission()
            self._admit(handset)
        elif len(self._queue) >= self._pace.capacity:
            self._overflow(handset)
        else:
            self._enter(handset)

    def _enter(self, handset: Handset) -> None:
        entry = (handset, object())
        self._queue.append(entry)
        after(self._env, self._pace.wait_s, lambda: self._age(entry))
        if not self._wake.triggered:
            self._wake.succeed()

    def _age(self, entry: tuple[Handset, object]) -> None:
        """Whoever is as old as the wait allows is the oldest, so it can only be the first of the queue."""
        if self._queue and self._queue[0] is entry:
            self._queue.popleft()
            self._observer.expired += 1
            entry[0].unanswered()

    def _release(self) -> Generator[simpy.Event, Any, None]:
        while True:
            if not self._queue:
                self._wake = self._env.event()
                yield self._wake
            handset, _ = self._queue.popleft()
            self._observer.admission()
            self._admit(handset)
            yield self._env.timeout(1.0 / self._pace.rate)

    def _overflow(self, handset: Handset) -> None:
        self._turned_away(self._pace.action != "drop")
        if self._pace.action == "drop":
            self._observer.dropped += 1
            handset.unanswered()
        else:
            self._observer.refused += 1
            handset.refused(self._back_off())

    def _back_off(self) -> float | None:
        value_s = self._pace.back_off_s
        if self._pace.action != "reject-congestion" or value_s is None:
            return None
        return value_s * self._rng.uniform(1.0 - BACK_OFF_SPREAD, 1.0 + BACK_OFF_SPREAD)
