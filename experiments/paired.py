"""Statistics of storms that several contestants have met: paired by storm, intervals by the bootstrap.

After Agarwal et al., "Deep reinforcement learning at the edge of the statistical precipice", NeurIPS 2021: means of the
middle half and probabilities of improvement with bootstrap intervals, in place of best runs and bare means.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

RESAMPLES = 5000
"""Resamples of the storms."""
COVERAGE = 0.95
"""Of the intervals."""
SEED = 20_000
"""Seed of the resamples: the same for every pair, so that differences between pairs are no noise of theirs."""


@dataclass(frozen=True)
class Estimate:
    """A figure with its interval."""

    value: float
    low: float
    high: float

    def to_json(self) -> list[float]:
        """Return the figure and its bounds."""
        return [round(self.value, 6), round(self.low, 6), round(self.high, 6)]


def iqm(values: Floats, axis: int = -1) -> Floats:
    """Return the mean of the middle half, a quarter cut off at each end; shares of a value count as such.

    Args:
        values: Any shape.
        axis: Along which.
    """
    ordered = np.sort(values, axis=axis)
    count = ordered.shape[axis]
    edges = np.arange(count + 1)
    inside = np.clip(edges, count / 4.0, count * 0.75)
    weights = np.diff(inside) / (count / 2.0)
    return np.asarray(np.average(ordered, axis=axis, weights=weights))


def mean(values: Floats, axis: int = -1) -> Floats:
    """Return the mean."""
    return np.asarray(values.mean(axis=axis))


def estimate(values: Floats, statistic: Callable[[Floats], Floats] = mean) -> Estimate:
    """Return a statistic of one contestant's storms, with its interval.

    Args:
        values: One number per storm.
        statistic: Of the last axis.
    """
    return _interval(float(statistic(values)), statistic(values[resamples(values.size)]))


def ratio(values: Floats, others: Floats) -> Estimate:
    """Return the ratio of two contestants' means over the same storms; 1 where both are 0."""
    at = resamples(values.size)
    return _interval(float(_over(values.mean(), others.mean())), _over(values[at].mean(-1), others[at].mean(-1)))


def difference(values: Floats, others: Floats) -> Estimate:
    """Return the mean difference of two contestants on the same storms."""
    return estimate(values - others)


def improvement(values: Floats, others: Floats) -> Estimate:
    """Return the share of storms on which the first is smaller, a tie counting half."""
    return estimate(np.where(values < others, 1.0, np.where(values == others, 0.5, 0.0)))


def resamples(count: int) -> npt.NDArray[np.intp]:
    """Return the numbers of storms drawn with replacement, shape (`RESAMPLES`, count)."""
    return np.random.default_rng([SEED, count]).integers(0, count, (RESAMPLES, count))


def _over(a: npt.ArrayLike, b: npt.ArrayLike) -> Floats:
    top, bottom = np.asarray(a, np.float64), np.asarray(b, np.float64)
    both_zero = (top == 0.0) & (bottom == 0.0)
    return np.where(both_zero, 1.0, top / np.where(bottom == 0.0, np.finfo(np.float64).tiny, bottom))


def _interval(value: float, draws: Floats) -> Estimate:
    low, high = np.quantile(draws, [(1.0 - COVERAGE) / 2.0, (1.0 + COVERAGE) / 2.0])
    return Estimate(value, float(low), float(high))
