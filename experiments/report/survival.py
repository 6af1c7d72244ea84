"""Kaplan-Meier curves of the convergence time, and intervals of its restricted mean, over held-out storms."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from signalstorm.experiments.recommendation import StormRow

Floats = npt.NDArray[np.float64]

_Z = 1.959964
"""Standard normal quantile of a two-sided interval of 95 %."""
_RESAMPLES = 4000


@dataclass(frozen=True)
class Survival:
    """Share of storms that are not over yet; arrays of shape (steps,), values hold from their time on."""

    setting: str
    """`present` or `recommended`."""
    time_s: Floats
    """T at which the share changes, 0 and the horizon included [s]."""
    share: Floats
    """Share of storms not over."""
    low: Floats
    """Lower end of its 95 % interval."""
    high: Floats
    """Upper end."""


@dataclass(frozen=True)
class Interval:
    """A mean over storms, and between what it lies by 95 %."""

    mean: float
    low: float
    high: float


def survival(setting: str, times_s: Sequence[float | None], horizon_s: float) -> Survival:
    """Return the Kaplan-Meier curve of convergence times.

    All storms that do not converge are censored at the horizon, so the estimate is the share that is left; its interval
    is Wilson's for a share.

    Args:
        setting: Whose times they are.
        times_s: T of each storm, None where not reached within the horizon [s].
        horizon_s: Time within which a storm can end [s].
    """
    ended = np.sort(np.array([t for t in times_s if t is not None], np.float64))
    steps, counts = np.unique(ended, return_counts=True)
    left = len(times_s) - np.concatenate([[0], np.cumsum(counts)])
    time_s, left = np.concatenate([[0.0], steps, [horizon_s]]), np.concatenate([left, left[-1:]])
    share, n = left / len(times_s), float(len(times_s))
    middle = (share + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
    half = _Z * np.sqrt(share * (1 - share) / n + _Z**2 / (4 * n**2)) / (1 + _Z**2 / n)
    return Survival(setting, time_s, share, np.clip(middle - half, 0.0, 1.0), np.clip(middle + half, 0.0, 1.0))


def survivals(storms: Sequence[StormRow], horizon_s: float) -> tuple[Survival, ...]:
    """Return the curves of both settings; none without storms."""
    if not storms:
        return ()
    return (
        survival("present", [storm.present_s for storm in storms], horizon_s),
        survival("recommended", [storm.recommended_s for storm in storms], horizon_s),
    )


def restricted_means(storms: Sequence[StormRow], horizon_s: float) -> tuple[Interval, Interval] | None:
    """Return the restricted means of T under the present and the recommended setting; None with fewer than two storms.

    Intervals come from a bootstrap over the storms, always the same.

    Args:
        storms: Held-out storms.
        horizon_s: Time within which a storm can end [s].
    """
    if len(storms) < 2:
        return None
    times = np.array([[horizon_s if t is None else min(t, horizon_s) for t in (s.present_s, s.recommended_s)]
                      for s in storms])  # fmt: skip
    drawn = np.random.default_rng(0).integers(len(times), size=(_RESAMPLES, len(times)))
    means = times[drawn].mean(axis=1)
    low, high = np.percentile(means, [2.5, 97.5], axis=0)
    present, recommended = (Interval(*map(float, row)) for row in zip(times.mean(axis=0), low, high, strict=True))
    return present, recommended
