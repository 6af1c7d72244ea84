"""When flagged subscribers become active: a rate that is linear between points."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np


class Change(NamedTuple):
    """From a time on a factor holds on all rates, reached at once or linearly until another time [s]."""

    time_s: float
    factor: float
    until_s: float | None = None


class Activity:
    """Rates [1/s] per flagged subscriber at times [s]; before the first and behind the last point they hold."""

    def __init__(
        self, points: Sequence[tuple[float, float]], scale: float = 1.0, changes: Sequence[Change] = ()
    ) -> None:
        self._changes = sorted(changes)
        self._largest = max([1.0, *(change.factor for change in changes)])
        self._points = [(time_s, per_s * scale * self._largest) for time_s, per_s in points]

    def next_s(self, now_s: float, rng: np.random.Generator) -> float:
        """When a subscriber flagged now becomes active; infinite if never. Changes by thinning the largest factor."""
        while True:
            now_s = self._candidate_s(now_s, rng)
            # Without changes no number is drawn: a storm of the reference stays what it was.
            if now_s == math.inf or not self._changes or rng.random() * self._largest < self._factor(now_s):
                return now_s

    def _factor(self, time_s: float) -> float:
        found = 1.0
        for change in self._changes:
            if time_s >= change.time_s:
                end_s = change.time_s if change.until_s is None else change.until_s
                part = 1.0 if time_s >= end_s else (time_s - change.time_s) / (end_s - change.time_s)
                found += part * (change.factor - found)
        return found

    def _candidate_s(self, now_s: float, rng: np.random.Generator) -> float:
        """The integral of the rate is exponential."""
        left = rng.standard_exponential()
        for start_s, from_per_s, end_s, to_per_s in self._pieces(now_s):
            area = (from_per_s + to_per_s) / 2.0 * (end_s - start_s)
            if left < area:
                return start_s + _reach(left, from_per_s, (to_per_s - from_per_s) / (end_s - start_s))
            left -= area
        last_s, last_per_s = self._points[-1]
        return max(now_s, last_s) + left / last_per_s if last_per_s > 0.0 else math.inf

    def _pieces(self, now_s: float) -> list[tuple[float, float, float, float]]:
        """Straight pieces (start, rate, end, rate) from now to the last point."""
        first_s, first_per_s = self._points[0]
        pieces = [(now_s, first_per_s, first_s, first_per_s)] if now_s < first_s else []
        for (start_s, from_per_s), (end_s, to_per_s) in pairwise(self._points):
            if end_s > max(now_s, start_s):
                begin_s = max(now_s, start_s)
                share = (begin_s - start_s) / (end_s - start_s)
                pieces.append((begin_s, from_per_s + share * (to_per_s - from_per_s), end_s, to_per_s))
        return pieces


def _reach(area: float, per_s: float, slope: float) -> float:
    """How far from the start a straight rate has gathered an area."""
    if slope == 0.0:
        return area / per_s
    return 2.0 * area / (per_s + math.sqrt(max(0.0, per_s * per_s + 2.0 * slope * area)))
