"""All handsets: how they are switched on, and what makes them lose service."""

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any

import numpy as np
import simpy

from tests.reference.fields import Fields, section, value
from tests.reference.handset import ATTEMPT_LIMIT, EpsLadder, Handset, LaboratoryLadder, Ladder, Span, State
from tests.reference.observer import Observer

EVERY_CLASS = "*"

Classes = Mapping[str, list[Handset]]


def ladder(fields: Fields) -> Ladder:
    """The ladder that a class of subscribers declares."""
    if fields["kind"] == "laboratory":
        return LaboratoryLadder(span(fields["retry_refused_s"]), span(fields["retry_silent_s"]))
    timers = {name: span(fields[name]) for name in ("t3410_s", "t3411_s", "t3402_s") if name in fields}
    return EpsLadder(**timers, attempt_limit=value(fields, "attempt_limit", ATTEMPT_LIMIT))


def span(written: float | Sequence[float]) -> Span:
    """A time, or the bounds between which it is drawn."""
    if isinstance(written, Sequence):
        lowest, highest = written
        return lowest, highest
    return written, written


class Population:
    """The classes of subscribers by name. Each is a list, so that every handset can be looked at."""

    def __init__(self, env: simpy.Environment, rng: np.random.Generator, classes: Classes) -> None:
        self._env, self._rng = env, rng
        self.classes = classes

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
            idle[chosen].send()

    def churn(self, name: str, per_s: float) -> Generator[simpy.Event, Any, None]:
        """Every subscriber of a class has its Poisson power-cycles; they matter while it is registered."""
        members = self.classes[name]
        while True:
            yield self._env.timeout(self._rng.standard_exponential() / (per_s * len(members)))
            handset = members[self._rng.integers(len(members))]
            if handset.state is State.REGISTERED:
                handset.lose_service()

    def detach(self, target: str, share: float, spread_s: float) -> None:
        """A share of the registered loses service and comes back within a time; `*` is every class."""
        for name, members in self.classes.items():
            if target in (name, EVERY_CLASS):
                registered = [handset for handset in members if handset.state is State.REGISTERED]
                for chosen in self._rng.permutation(len(registered))[: round(share * len(registered))]:
                    registered[chosen].lose_service(self._rng.uniform(0.0, spread_s))


def populate(
    env: simpy.Environment,
    rng: np.random.Generator,
    observer: Observer,
    request: Callable[[Handset], None],
    subscribers: list[Fields],
) -> Population:
    """The handsets of a scenario; the registered and those that honour T3346 are exact shares."""
    classes = {}
    for fields in subscribers:
        timers = ladder(section(fields, "ladder"))
        size = fields["size"]
        registered = registered_number(fields)
        honours = rng.permutation(size) < round(size * value(fields, "honours_t3346_share", 0.0))
        members = [Handset(env, rng, timers, bool(each), request, observer.moved) for each in honours]
        for handset in members[:registered]:
            handset.state = State.REGISTERED
        classes[fields["name"]] = members
    return Population(env, rng, classes)


def registered_number(fields: Fields) -> int:
    """How many of a class are registered at time 0."""
    size: int = fields["size"]
    return round(size * value(fields, "registered_share", 0.0))
