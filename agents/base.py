"""What a controller is: a pure function from what an operator sees and what is set to what to set next."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from signalstorm.envs.model.knob_table import KnobValue
from signalstorm.envs.observation import ACCEPTS, ADMITTED, CONGESTED, FAILURES, REQUESTS

__all__ = [
    "ACCEPTS",
    "ADMITTED",
    "CONGESTED",
    "FAILURES",
    "REQUESTS",
    "SEEN",
    "Controller",
    "Counters",
    "Decision",
    "held",
]

SEEN = (REQUESTS, ADMITTED, ACCEPTS, FAILURES, CONGESTED)
"""The counters that controllers look at."""


@dataclass(frozen=True, slots=True)
class Counters:
    """What an operator sees of one interval."""

    end_s: float
    """End of the interval, from the scenario's start [s]."""
    interval_s: float
    """Its length [s]."""
    values: Mapping[str, float]
    """By name, see `SEEN`; a counter that is missing is absent."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What to set next."""

    knobs: Mapping[str, KnobValue]
    """Knobs to change; empty to leave everything as it is."""
    reason: str
    """Why, in a sentence for the person who enters it."""
    said: tuple[str, ...] = field(default=())
    """What else that person must know: missing counters, and where no knob helps."""


class Controller(Protocol):
    """A rule, a table or a policy; it keeps no state, so a decision can be made again from its inputs."""

    @property
    def name(self) -> str:
        """The name by which commands call it."""
        ...

    def decide(self, seen: Counters, setting: Mapping[str, KnobValue]) -> Decision:
        """Return what to set next.

        Args:
            seen: The latest interval; a missing counter holds its last known value already, see `held`.
            setting: The complete setting in force.
        """
        ...


def held(before: Counters | None, now: Counters) -> tuple[Counters, tuple[str, ...]]:
    """Fill counters that are missing with their last known values.

    Returns:
        The counters, and a sentence for each that was filled or is not known at all.
    """
    known = {} if before is None else before.values
    values = {**known, **now.values}
    missing = [name for name in SEEN if name not in now.values]
    said = tuple(
        f"{name} is missing; its last value, {known[name]:g}, is held" if name in known else f"{name} is not known"
        for name in missing
    )
    return Counters(now.end_s, now.interval_s, values), said
