"""The reward: named terms, each at most about 1 per interval, added with their weights."""

from dataclasses import asdict, dataclass

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
    unhealthy: float = 0.0
    """1 while the storm lasts, as the time to convergence counts it; for who weighs that above service."""


TERMS = tuple(asdict(Weights()))
"""Names of the terms, in order."""
SHAPING = "shaping"
"""Name of the term that shaping adds."""


def names(gamma: float | None) -> tuple[str, ...]:
    """Return the names of a reward's terms, in order.

    With a discount ``gamma`` the last is the shaping, gamma x potential after - potential before, the potential being
    minus the share without service. Such a term leaves the best policy as it is (Ng, Harada, Russell, ICML 1999); where
    an episode ends in a terminal state, the potential there is 0.
    """
    return TERMS if gamma is None else (*TERMS, SHAPING)
