"""Whether anything that took part helps: storms under several hands, paired with those under the setting in force."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

THRESHOLD = 0.05
"""What shortens neither the mean time nor the hours lost by more than this share is no help [share]."""
FEWEST_LOOPS = 3
"""Without so many that move the knob while the storm goes on, nothing is said about what moving it can do."""


@dataclass(frozen=True)
class Effect:
    """What the storms come to under one hand, over what they come to without it."""

    name: str
    """Who or what it is."""
    time: float
    """Restricted mean time, over that without it [share]."""
    lost: float
    """Subscriber-hours without service, over those without it [share]."""

    @property
    def helps(self) -> bool:
        """Whether one of the two is shorter by more than the threshold."""
        return min(self.time, self.lost) < 1.0 - THRESHOLD

    @property
    def words(self) -> str:
        """The two figures in words."""
        return f"{self.name}: T x {self.time:.3f}, hours lost x {self.lost:.3f}"


@dataclass(frozen=True)
class Answer:
    """Whether one of several helps."""

    tried: int
    """How many took part, the setting in force left out."""
    loops: int
    """How many of them move a knob while the storm goes on."""
    nearest: Effect
    """The one that does most, by the better of its two figures."""

    @property
    def cannot_help(self) -> bool:
        """Whether none does, and enough of them move the knob to say so."""
        return not self.nearest.helps and self.loops >= FEWEST_LOOPS

    @property
    def sentence(self) -> str:
        """The answer in words; empty where something helps."""
        if self.nearest.helps:
            return ""
        moving = f", {self.loops} of which move a knob while the storm goes on," if self.cannot_help else ""
        none = (
            f"none of the {self.tried} contestants beside the present setting{moving} shortens the mean time or the "
            f"hours lost by more than {THRESHOLD:.0%} (nearest {self.nearest.words})"
        )
        if self.cannot_help:
            return f"cannot help: {none}"
        return f"no help so far: {none}; too few of them move a knob while the storm goes on to say that none can"

    def to_json(self) -> dict[str, Any]:
        """Return the answer in JSON's own types."""
        return {
            "cannot_help": self.cannot_help,
            "tried": self.tried,
            "loops": self.loops,
            "nearest": {
                "name": self.nearest.name,
                "time_ratio": round(self.nearest.time, 6),
                "lost_ratio": round(self.nearest.lost, 6),
            },
            "sentence": self.sentence,
        }


def effect(name: str, times_s: Floats, lost: Floats, without_s: Floats, lost_without: Floats) -> Effect:
    """Return what a hand does to storms, by the ratios of means.

    Args:
        name: Who or what it is.
        times_s: min(T, horizon) of each storm [s].
        lost: Hours of service lost in each, in any unit.
        without_s: min(T, horizon) of the same storms without it [s].
        lost_without: Hours lost in them, in the same unit.
    """
    return Effect(name, _over(times_s, without_s), _over(lost, lost_without))


def answer(effects: Sequence[Effect], loops: int) -> Answer:
    """Return the answer that several effects give; there must be at least one.

    Args:
        effects: Of all that took part, the setting in force left out.
        loops: How many of them move a knob while the storm goes on.
    """
    return Answer(len(effects), loops, min(effects, key=lambda one: min(one.time, one.lost)))


def _over(values: Floats, others: Floats) -> float:
    """Return the ratio of two means; 1 where both are nothing."""
    value, other = float(values.mean()), float(others.mean())
    if other == 0.0:
        return 1.0 if value == 0.0 else float("inf")
    return value / other
