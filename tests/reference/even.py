"""Draws that are spread evenly instead of falling as they like."""

from typing import Protocol

import numpy as np

_GOLDEN = (5.0**0.5 - 1.0) / 2.0


class Draws(Protocol):
    """What handsets need of a generator."""

    def uniform(self, low: float, high: float) -> float:
        """Draw between two ends."""


class EvenDraws:
    """Stands before handsets for a generator: draws from one span follow one another as evenly as can be.

    A model of counts spreads timers so. What differs between a storm with these and one with draws of its own is the
    chance of single handsets, and nothing else.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._places: dict[tuple[float, float], float] = {}

    def uniform(self, low: float, high: float) -> float:
        """Return the next place of the golden-ratio sequence of this span."""
        before = self._places.get((low, high))
        place = self._rng.random() if before is None else (before + _GOLDEN) % 1.0
        self._places[low, high] = place
        return low + (high - low) * place
