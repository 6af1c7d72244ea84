"""All handsets: how they are switched on, and what makes them lose service."""

import math
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any

import numpy as np
import simpy

from tests.reference.activity import Activity
from tests.reference.clock import after
from tests.reference.fields import Fields, section, value
from tests.reference.handset import (
    ATTEMPT_LIMIT,
    SENDS,
    EpsLadder,
    GprsLadder,
    Habits,
    Handset,
    LaboratoryLadder,
    Ladder,
    Span,
    State,
)
from tests.reference.observer import Observer
from tests.reference.rate import Profile

EVERY_CLASS = "*"

Classes = Mapping[str, list[Handset]]


def ladder(fields: Fields) -> Ladder:
    """The ladder that a class of subscribers declares."""
    if fields["kind"] == "laboratory":
        return LaboratoryLadder(span(fields["retry_refused_s"]), span(fields["retry_silent_s"]))
    limit = value(fields, "attempt_limit", ATTEMPT_LIMIT)
    if fields["kind"] == "gprs":
        timers = _timers(fields, "t3310_s", "t3311_s", "t3302_s")
        return GprsLadder(**timers, attempt_limit=limit, sends=value(fields, "sends", SENDS))
    return EpsLadder(**_timers(fields, "t3410_s", "t3411_s", "t3402_s"), attempt_limit=limit)


def _timers(fields: Fields, *names: str) -> dict[str, Span]:
    return {name: span(fields[name]) for name in names if name in fields}


def span(written: float | Sequence[float]) -> Span:
    """A time, or the bounds between which it is drawn."""
    if isinstance(written, Sequence):
        lowest, highest = written
        return lowest, highest
    return written, written


class Population:
    """The classes of subscribers by name. Each is a list, so that every handset can be looked at.

    `ended` is called for each session that ends, unless a lost node took it.
    """

    def __init__(
        self,
        env: simpy.Environment,
        rng: np.random.Generator,
        observer: Observer,
        classes: Classes,
        activity: Activity | None = None,
    ) -> None:
        self._env, self._rng, self._observer, self._activity = env, rng, observer, activity
        self.classes = classes
        self._refresh: Callable[[Handset], None] = lambda handset: None
        self._expected: set[Handset] = set()
        self.ended: Callable[[], None] = lambda: None

    def everyone(self) -> list[Handset]:
        return [handset for members in self.classes.values() for handset in members]

    def count(self, state: State) -> int:
        return sum(handset.state is state for handset in self.everyone())

    def switch_on(self, rate_per_s: float, start_s: float, pattern: str) -> Generator[simpy.Event, Any, None]:
        """Demand, in a random order of the idle: each class in proportion to its idle number."""
        idle = [handset for handset in self.everyone() if handset.state is State.IDLE]
        due_s = start_s
        for index, chosen in enumerate(self._rng.permutation(len(idle))):
            if pattern == "poisson":
                due_s += self._rng.standard_exponential() / rate_per_s
            else:
                due_s = start_s + index / rate_per_s
            yield self._env.timeout(max(0.0, due_s - self._env.now))
            if idle[chosen].state is State.IDLE:
                idle[chosen].send()

    def churn(self, name: str, per_s: float, profile: Profile | None = None) -> Generator[simpy.Event, Any, None]:
        """Every subscriber of a class has its Poisson power-cycles; they matter while it is registered."""
        members = self.classes[name]
        most = 1.0 if profile is None else profile.largest
        while True:
            yield self._env.timeout(self._rng.standard_exponential() / (per_s * most * len(members)))
            handset = members[self._rng.integers(len(members))]
            happens = profile is None or self._rng.random() * most < profile.at(self._env.now)
            if happens and handset.state is State.REGISTERED:
                self._observer.subscriber_detaches += 1
                self.ended()
                handset.lose_service()

    def updates(self, per_s: float, send: Callable[[], None]) -> Generator[simpy.Event, Any, None]:
        """Every registered subscriber has its session updated now and then, a Poisson process."""
        everyone = self.everyone()
        while True:
            yield self._env.timeout(self._rng.standard_exponential() / (per_s * len(everyone)))
            if everyone[self._rng.integers(len(everyone))].state is State.REGISTERED:
                send()

    def forget(self, share: float, refresh: Callable[[Handset], None]) -> None:
        """An HLR reset: a share of the registered is flagged; `refresh` takes each of them once it is active."""
        self._refresh = refresh
        registered = [handset for handset in self.everyone() if handset.state is State.REGISTERED]
        for chosen in self._rng.permutation(len(registered))[: round(share * len(registered))]:
            registered[chosen].flagged = True
            self._expect(registered[chosen])

    def _expect(self, handset: Handset) -> None:
        """Await the next activity; one that is still awaited is as good as a new one, for it has no memory."""
        if self._activity is None or handset in self._expected:
            return
        active_s = self._activity.next_s(self._env.now, self._rng)
        if active_s < math.inf:
            self._expected.add(handset)
            after(self._env, active_s - self._env.now, lambda: self._active(handset))

    def _active(self, handset: Handset) -> None:
        self._expected.discard(handset)
        if handset.flagged and handset.state is State.REGISTERED:
            handset.state = State.REFRESHING
            self._observer.refreshes += 1
            self._refresh(handset)

    def detach(self, target: str, share: float, spread_s: float, flush_s: float = 0.0) -> None:
        """A share of the registered loses service and comes back within a time; `*` is every class.

        The ends of their sessions are told evenly within `flush_s`.
        """
        chosen = self._choose(target, share, State.REGISTERED)
        for index, handset in enumerate(chosen):
            after(self._env, flush_s * index / len(chosen), self.ended)
            handset.lose_service(self._rng.uniform(0.0, spread_s))

    def redirect(self, target: str, share: float, spread_s: float) -> None:
        """A share of the idle attaches within a time."""
        for handset in self._choose(target, share, State.IDLE):
            handset.release(self._rng.uniform(0.0, spread_s))

    def _choose(self, target: str, share: float, state: State) -> list[Handset]:
        """A share of those of each class, or of one, that are in a state."""
        found: list[Handset] = []
        for name, members in self.classes.items():
            if target in (name, EVERY_CLASS):
                there = [handset for handset in members if handset.state is state]
                picked = self._rng.permutation(len(there))[: round(share * len(there))]
                found.extend(there[index] for index in picked)
        return found


def populate(
    env: simpy.Environment,
    rng: np.random.Generator,
    observer: Observer,
    request: Callable[[Handset], None],
    subscribers: list[Fields],
    activity: Activity | None = None,
) -> Population:
    """The handsets of a scenario; the registered, those that honour T3346, those that power-cycle are exact shares."""
    classes = {}
    for fields in subscribers:
        timers = ladder(section(fields, "ladder"))
        registered = registered_number(fields)
        members = [Handset(env, rng, timers, each, request, observer.moved) for each in _habits(rng, fields)]
        for handset in members[:registered]:
            handset.state = State.REGISTERED
        classes[fields["name"]] = members
    return Population(env, rng, observer, classes, activity)


def _habits(rng: np.random.Generator, fields: Fields) -> list[Habits]:
    size = fields["size"]
    honours, cycles = (
        rng.permutation(size) < round(size * value(fields, name, 0.0))
        for name in ("honours_t3346_share", "power_cycle_share")
    )
    power_cycle_s = span(value(fields, "power_cycle_s", (60.0, 300.0)))
    reattach_s = value(fields, "reattach_s", 10.0)
    kind = value(fields, "priority", False), value(fields, "broken", False)
    return [
        Habits(bool(obeys), bool(impatient), power_cycle_s, reattach_s, *kind)
        for obeys, impatient in zip(honours, cycles, strict=True)
    ]


def registered_number(fields: Fields) -> int:
    """How many of a class are registered at time 0."""
    size: int = fields["size"]
    return round(size * value(fields, "registered_share", 0.0))
