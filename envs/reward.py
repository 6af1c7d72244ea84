"""The reward: named terms, each at most about 1 per interval, added with their weights."""

from dataclasses import asdict, dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

CPU_LIMIT = 0.8
"""Utilisation above which a processor counts as over its limit [share]."""


@dataclass(frozen=True)
class Weights:
    """What each term counts; all terms are costs, so their sum is at most 0."""

    service_lost: float = 1.0
    """Share of subscribers without service beyond the steady one, mean of the interval."""
    refused: float = 0.02
    """Share of requests that were refused or dropped."""
    alarms: float = 0.02
    """Share of signalling links with a congestion alarm up."""
    cpu_over_limit: float = 0.05
    """Utilisation above the limit of the busiest processor."""
    change_cost: float = 0.02
    """How far knobs were moved: the sum over knobs of |ln(new / old)|, on a linear scale of the share of the range."""


TERMS = tuple(asdict(Weights()))
"""Names of the terms, in order."""
SHAPING = "shaping"
"""Name of the term that shaping adds."""


@dataclass(frozen=True)
class Costs:
    """What an interval cost, each of shape (rows,)."""

    service_lost: Floats
    refused: Floats
    alarms: Floats
    cpu_over_limit: Floats
    change_cost: Floats


def terms(costs: Costs, weights: Weights) -> dict[str, Floats]:
    """Return the terms, weighted, by name; each of shape (rows,)."""
    return {name: -getattr(weights, name) * getattr(costs, name) for name in TERMS}


def total(parts: dict[str, Floats]) -> Floats:
    """Return the sum of terms, in their order; shape (rows,)."""
    found = np.zeros_like(next(iter(parts.values())))
    for part in parts.values():
        found += part
    return found


def shaping(before: Floats, after: Floats, ended: npt.NDArray[np.bool_], gamma: float) -> Floats:
    """Return gamma x potential after - potential before, the potential being minus the share without service.

    Such a term leaves the best policy as it is (Ng, Harada, Russell, ICML 1999); where an episode ends in a terminal
    state, the potential there is 0.

    Args:
        before: Share without service before the interval, shape (rows,).
        after: The same after it.
        ended: Which rows ended in a terminal state.
        gamma: The discount per interval.
    """
    return np.asarray(before - gamma * np.where(ended, 0.0, after))
