"""A rate that holds, or moves in a straight line towards a new value."""

import math
from collections.abc import Sequence
from itertools import pairwise


class Rate:
    """A rate in [1/s] that the timeline may change; `ceiling` is the largest value it will ever take."""

    def __init__(self, per_s: float, ceiling: float) -> None:
        self.ceiling = ceiling
        self.share = 1.0
        """Of it that is there: a server's nodes that are left."""
        self._from, self._to = per_s, per_s
        self._start_s, self._until_s = -math.inf, -math.inf

    def aim(self, per_s: float, now_s: float, until_s: float) -> None:
        """Go from the present value to another, reached at `until_s`; at once if that is not later."""
        self._from, self._to = self._whole(now_s), per_s
        self._start_s, self._until_s = now_s, until_s

    def at(self, now_s: float) -> float:
        return self.share * self._whole(now_s)

    def _whole(self, now_s: float) -> float:
        if now_s >= self._until_s:
            return self._to
        share = (now_s - self._start_s) / (self._until_s - self._start_s)
        return self._from + share * (self._to - self._from)


class Profile:
    """A factor that is linear between points (time [s], factor); before the first and behind the last it holds."""

    def __init__(self, points: Sequence[tuple[float, float]]) -> None:
        self._points = points
        self.largest = max(factor for _, factor in points)

    def at(self, now_s: float) -> float:
        for (start_s, first), (end_s, second) in pairwise(self._points):
            if now_s < start_s:
                return first
            if now_s < end_s:
                return first + (second - first) * (now_s - start_s) / (end_s - start_s)
        return self._points[-1][1]
