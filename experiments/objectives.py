"""What a search minimises: the cost of a storm, which still tells settings apart where no storm ends, and its mean.

The restricted time min(T, horizon) is the same for every setting under which a storm outlasts the horizon, so a search
among such settings would have no direction. A storm that does not end therefore costs the horizon and, on top, the part

    horizon x lost / (lost + lost by the present setting)

where *lost* are the subscriber-hours without service up to the horizon. The part lies between 0 and 1 horizon, is half
of it for the present setting, and needs no scale of its own. So any storm that ends costs less than any that does not,
and of two that do not, the one that serves more subscribers costs less. Where every storm ends, cost is time.
"""

from collections.abc import Callable, Mapping
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from signalstorm.envs.model.metrics import Outcomes, cvar

Floats = npt.NDArray[np.float64]
Risk = Literal["mean", "cvar", "worst"]
"""How costs of many storms become one number: their mean, the mean of the worst tenth, or the worst."""
Objective = Literal["time", "subscriber_hours_lost", "refused_share", "imsimgr_cpu_peak", "change_cost"]
"""What can be minimised: cost of the storms [s]; subscriber-hours lost; share of attempts turned away; peak of the
IMSI manager's utilisation [share]; and the cost of the change, 1 for each knob changed live, 2 with a restart of
associations, 3 with a reload."""
OBJECTIVES: tuple[Objective, ...] = get_args(Objective)
RISKS: tuple[Risk, ...] = get_args(Risk)

_AGGREGATES: Mapping[Risk, Callable[[Floats], float]] = {
    "mean": lambda costs: float(costs.mean()),
    "cvar": cvar,
    "worst": lambda costs: float(costs.max()),
}


def storm_costs_s(times_s: Floats, lost_h: Floats, present_lost_h: Floats, horizon_s: float) -> Floats:
    """Return the cost of each storm [s].

    Args:
        times_s: T, NaN where not reached, shape (..., storms) [s].
        lost_h: Subscriber-hours without service, shape (..., storms).
        present_lost_h: The same under the present setting, shape (storms,).
        horizon_s: Time within which a storm can end [s].
    """
    both = lost_h + present_lost_h
    share = np.divide(lost_h, both, out=np.zeros_like(both), where=both > 0)
    return np.asarray(np.where(np.isnan(times_s), horizon_s * (1.0 + share), np.minimum(times_s, horizon_s)))


def aggregate(costs_s: Floats, risk: Risk) -> Floats:
    """Return one number per setting.

    Args:
        costs_s: Costs, shape (settings, storms) [s].
        risk: How storms are weighed.
    """
    return np.array([_AGGREGATES[risk](row) for row in np.atleast_2d(costs_s)])


def refused_share(outcomes: Outcomes) -> Floats:
    """Return the share of attempts that the network turned away: refused, dropped at the gate, or left there too long.

    Args:
        outcomes: Outcomes of any shape.
    """
    refused = outcomes.refused_congestion + outcomes.refused_gate_failure + outcomes.refused_network
    turned_away = refused + outcomes.dropped + outcomes.expired
    return np.asarray(turned_away / np.maximum(outcomes.attempts, 1.0))


def quantities(outcomes: Outcomes) -> dict[Objective, Floats]:
    """Return what can be minimised of each storm, in the shape of the outcomes; `time` and the cost of change left out.

    Args:
        outcomes: Outcomes of any shape.
    """
    found: dict[Objective, Floats] = {
        "subscriber_hours_lost": outcomes.subscriber_hours_lost,
        "refused_share": refused_share(outcomes),
    }
    if not np.isnan(outcomes.imsimgr_cpu_peak).any():
        found["imsimgr_cpu_peak"] = outcomes.imsimgr_cpu_peak
    return found
