"""Which storms a study uses, and the comparison with the present setting, storm by storm.

A storm on which the present setting recovers by itself, close to the lower bound, is where another setting can be
slower; one of which it makes nothing, where another can make a storm. Such storms are rare, so a study looks for them
among many and keeps the tightest as *guards*: every candidate has to meet them too.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from signalstorm.envs.model.bound import lower_bound_s
from signalstorm.envs.model.metrics import restricted, watched_s
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.model.storms import CHOICE, HELD_OUT, SEARCH
from signalstorm.experiments.engines import Engine
from signalstorm.experiments.evaluate import Evaluation, StormSet
from signalstorm.experiments.objectives import Risk, aggregate, storm_costs_s

Floats = npt.NDArray[np.float64]
Progress = Callable[[str, int, int], None]
"""Told the stage, how much of it is done, and of how much."""

TOLERANCE = 0.02
"""A storm is worse if its restricted time is more than this share above that of the present setting."""
MARGIN = 0.01
"""The same among the best candidates: what is chosen there has to hold on storms that nobody has seen."""
_NARROWED = 4
"""Lower bounds are worked out for so many times the guards wanted, those that end soonest."""


@dataclass(frozen=True)
class Budget:
    """How many storms and candidates a study spends; the numbers fit two cores and two minutes."""

    trials: int = 256
    """Settings tried, the present one included."""
    seeds: int = 32
    """Storms of a trial, from the search range."""
    scan_per_guard: int = 32
    """Storms looked through for each guard."""
    candidates: int = 12
    """Candidates compared on fresh storms."""
    choice: int = 200
    """Storms of that comparison."""
    choice_guards: int = 48
    """Guards of that comparison."""
    safe: int = 50
    """Storms by which the safe intervals are found, the first of the choice."""
    held_out: int = 100
    """Storms that no choice has seen."""
    nominal: int = 20
    """Seeds of the scenario as it is."""
    risk: Risk = "mean"
    """How the costs of storms become the value of a setting."""
    numbers: tuple[int, ...] | None = None
    """Storms of a trial by number; None: the first ones of the search range."""

    @property
    def storms(self) -> Sequence[int]:
        """Storms of a trial, guards left out."""
        return range(SEARCH, SEARCH + self.seeds) if self.numbers is None else self.numbers

    @property
    def guards(self) -> int:
        """Guards of a trial."""
        return self.seeds // 2

    @property
    def search_scan(self) -> Sequence[int]:
        """Storms among which the guards of trials are found."""
        free = (number for number in range(SEARCH, CHOICE) if number not in set(self.storms))
        return tuple(islice(free, self.guards * self.scan_per_guard))

    @property
    def choice_scan(self) -> range:
        """Storms among which the guards of the choice are found."""
        first = CHOICE + self.choice
        return range(first, first + self.choice_guards * self.scan_per_guard // 2)

    @property
    def held_out_range(self) -> range:
        """The held-out storms."""
        return range(HELD_OUT, HELD_OUT + self.held_out)

    @property
    def nominal_range(self) -> range:
        """The seeds of the scenario as it is, from the held-out range."""
        return range(HELD_OUT, HELD_OUT + self.nominal)


@dataclass(frozen=True)
class Paired:
    """Storms together with what the present setting makes of them."""

    storms: StormSet
    """The storms; the first ``counted`` give means, the rest are guards."""
    counted: int
    """Storms that give means."""
    present_s: Floats
    """T under the present setting, NaN where not reached, shape (storms,) [s]."""
    present_lost_h: Floats
    """Subscriber-hours lost under the present setting, shape (storms,)."""
    risk: Risk = "mean"
    """How the costs of storms become the value of a setting."""

    @property
    def present_restricted_s(self) -> Floats:
        """min(T, horizon) under the present setting, shape (storms,) [s]."""
        return restricted(self.present_s, watched_s(self.storms.scenario))

    @property
    def present_value_s(self) -> float:
        """The value of the present setting [s]."""
        return float(self.values_s(self.present_s[np.newaxis], self.present_lost_h[np.newaxis])[0])

    def first(self, count: int) -> "Paired":
        """Return the first storms alone; all of them count, always by their mean."""
        storms = StormSet(self.storms.scenario, self.storms.numbers[:count], vary=self.storms.vary)
        return Paired(storms, len(storms.numbers), self.present_s[:count], self.present_lost_h[:count])

    def mean_s(self, restricted_s: Floats) -> Floats:
        """Return restricted means over the counted storms, shape (settings,) [s]."""
        return np.asarray(np.atleast_2d(restricted_s)[:, : self.counted].mean(axis=1))

    def values_s(self, times_s: Floats, lost_h: Floats) -> Floats:
        """Return what settings are ranked by, the smaller the better, shape (settings,) [s].

        Args:
            times_s: T on each storm, NaN where not reached, shape (settings, storms) [s].
            lost_h: Subscriber-hours lost, of the same shape.
        """
        return aggregate(self.costs_s(times_s, lost_h)[:, : self.counted], self.risk)

    def costs_s(self, times_s: Floats, lost_h: Floats) -> Floats:
        """Return the cost of each storm, shape (..., storms) [s]."""
        return storm_costs_s(times_s, lost_h, self.present_lost_h, watched_s(self.storms.scenario))

    def values_of(self, evaluation: Evaluation) -> Floats:
        """Return the values of evaluated settings, shape (settings,) [s]."""
        return self.values_s(evaluation.outcomes.convergence_time_s, evaluation.outcomes.subscriber_hours_lost)

    def worse(self, restricted_s: Floats, tolerance: float = TOLERANCE) -> npt.NDArray[np.bool_]:
        """Tell where settings are worse than the present one, shape (settings, storms)."""
        return is_worse(np.atleast_2d(restricted_s), self.present_restricted_s, tolerance)


def is_worse(restricted_s: Floats, present_s: Floats, tolerance: float = TOLERANCE) -> npt.NDArray[np.bool_]:
    """Tell where a restricted time is more than the tolerance above the present one, storm by storm."""
    return np.asarray(restricted_s > present_s * (1.0 + tolerance) + 1e-9)


def longer(restricted_s: Floats, present_s: Floats) -> str:
    """Say how much longer storms take than under the present setting, and how many are new.

    Args:
        restricted_s: Restricted times, shape (storms,) [s].
        present_s: Those of the present setting, of the same shape.
    """
    known = present_s > 0
    most = float((restricted_s[known] / present_s[known]).max(initial=0.0)) - 1.0
    new = int((restricted_s[~known] > 0).sum())
    parts = [f"takes up to {most:.0%} longer than the present setting"] if most > 0 or new == 0 else []
    parts += [f"has a storm on {new} on which the present setting has none"] if new else []
    return " and ".join(parts)


def paired(
    scenario: Scenario, numbers: Sequence[int], guards: Sequence[int], engine: Engine, risk: Risk = "mean"
) -> Paired:
    """Run the present setting on storms and guards."""
    storms = StormSet(scenario, (*numbers, *guards), vary=True)
    present = engine.evaluate([{}], storms).outcomes
    # As JSON keeps them, so that a run that is taken up again compares with the same numbers.
    times_s = float_times(plain_times(present.convergence_time_s[0]))
    lost_h = np.array(plain_hours(present.subscriber_hours_lost[0]))
    return Paired(storms, len(numbers), times_s, lost_h, risk)


def find_guards(scenario: Scenario, scan: Sequence[int], count: int, engine: Engine) -> list[int]:
    """Return the storms on which the present setting is hardest to equal.

    Half of them are those that it ends closest to their lower bound; half are those of which it makes no storm at all,
    the busiest first, for which a gate or a timer may be too tight. Where one kind is rare the other makes up for it.

    Args:
        scenario: The nominal scenario.
        scan: Numbers of the storms to look through.
        count: Storms wanted; fewer come back where it ends fewer.
        engine: Where storms run.
    """
    if count == 0 or len(scan) == 0:
        return []
    storms = StormSet(scenario, tuple(scan), vary=True)
    outcomes = engine.evaluate([{}], storms).outcomes
    times = outcomes.convergence_time_s[0]
    calm = np.flatnonzero(times == 0)
    busiest = calm[np.argsort(-outcomes.peak_request_rate_per_s[0][calm], kind="stable")]
    ended = np.flatnonzero(times > 0)
    soonest = ended[np.argsort(times[ended], kind="stable")][: _NARROWED * count]
    bounds = np.array([lower_bound_s(storms.scenarios[i]) for i in soonest])
    tightness = times[soonest] / np.maximum(bounds, storms.scenario.dt)
    tightest = soonest[np.argsort(tightness, kind="stable")]
    half = max(count // 2, count - tightest.size)
    few = [*busiest[:half], *tightest[: count - min(half, busiest.size)]]
    return sorted(storms.numbers[i] for i in few)


def meet(
    settings: Sequence[Mapping[str, Any]],
    storms: StormSet,
    engine: Engine,
    stage: str = "",
    progress: Progress | None = None,
) -> Evaluation:
    """Run settings on storms and report under the name of a stage."""
    told = None if progress is None else lambda done, total: progress(stage, done, total)
    return engine.evaluate(settings, storms, told)


def plain_times(times: Floats) -> list[float | None]:
    """Return times for JSON: NaN as None, rounded to microseconds."""
    return [None if np.isnan(t) else round(float(t), 6) for t in times]


def plain_hours(hours: Floats) -> list[float]:
    """Return subscriber-hours for JSON, rounded to a few subscriber-seconds."""
    return [round(float(x), 3) for x in hours]


def float_times(times: Sequence[float | None]) -> Floats:
    """Return times with None as NaN, shape (storms,) [s]."""
    return np.array([np.nan if t is None else t for t in times], np.float64)
