"""Racing: a batch of settings meets its storms step by step, and settings that fall behind are ended early.

All settings meet the same storms, so they are compared storm by storm. What an ended trial would have come to is
estimated from the difference to the best trial on the storms that both have met.
"""

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import optuna
from optuna.exceptions import ExperimentalWarning

from signalstorm.envs.model.knobs import Setting
from signalstorm.envs.model.metrics import restricted, watched_s
from signalstorm.experiments.engines import Engine, Told
from signalstorm.experiments.evaluate import StormSet
from signalstorm.experiments.objectives import Objective, aggregate, quantities
from signalstorm.experiments.search_space import SearchSpace, change_cost
from signalstorm.experiments.storm_sets import TOLERANCE, Floats, Paired, float_times, plain_hours, plain_times
from signalstorm.experiments.study_file import Pruner, StudyFile
from signalstorm.experiments.trials import Proposal, Scores, Trial


class Heat:
    """Settings on their way through their storms, and what they came to on those that they have met."""

    def __init__(self, space: SearchSpace, settings: Sequence[Setting], storms: Paired) -> None:
        self.space, self.settings, self.storms = space, settings, storms
        shape = (len(settings), len(storms.storms.numbers))
        self.met = np.zeros(shape, np.bool_)
        self.times_s = np.full(shape, np.nan)
        self._found: dict[Objective, Floats] = {}

    def meet(self, rows: npt.NDArray[np.intp], step: slice, engine: Engine, progress: Told | None = None) -> None:
        """Run some of the settings against some of the storms."""
        some = StormSet(self.storms.storms.scenario, self.storms.storms.numbers[step], vary=True)
        outcomes = engine.evaluate([self.settings[int(j)] for j in rows], some, progress).outcomes
        self.met[rows, step] = True
        self.times_s[rows, step] = outcomes.convergence_time_s
        for name, values in quantities(outcomes).items():
            self._found.setdefault(name, np.full(self.met.shape, np.nan))[rows, step] = values

    @property
    def lost_h(self) -> Floats:
        """Subscriber-hours lost, shape (settings, storms)."""
        return self._found["subscriber_hours_lost"]

    @property
    def costs_s(self) -> Floats:
        """Costs of the storms, shape (settings, storms); of no meaning where not met [s]."""
        return self.storms.costs_s(self.times_s, self.lost_h)

    def worse(self, tolerance: float = TOLERANCE) -> npt.NDArray[np.bool_]:
        """Tell where settings are worse than the present one, shape (settings, storms); false where not met."""
        restricted_s = restricted(self.times_s, watched_s(self.storms.storms.scenario))
        return np.asarray(self.storms.worse(restricted_s, tolerance) & self.met)

    def value_s(self, j: int) -> float:
        """Return what a setting is ranked by, over the counted storms that it has met [s]."""
        return float(aggregate(self.costs_s[j, self._counted(j)], self.storms.risk)[0])

    def figures(self, j: int) -> dict[Objective, float]:
        """Return the other figures of a setting, over the counted storms that it has met."""
        figures: dict[Objective, float] = {
            name: float(aggregate(values[j, self._counted(j)], self.storms.risk)[0])
            for name, values in self._found.items()
        }
        return figures | {"change_cost": float(change_cost(self.space, self.settings[j])[0])}

    def _counted(self, j: int) -> npt.NDArray[np.intp]:
        return np.flatnonzero(self.met[j, : self.storms.counted])


@dataclass(frozen=True)
class Rival:
    """The best trial known when a batch is claimed."""

    costs_s: Floats
    """The costs of its counted storms, shape (storms,) [s]."""
    value_s: float
    """What it is ranked by [s]."""


def rival(trials: Sequence[Trial], storms: Paired) -> Rival | None:
    """Return the best of the feasible trials, None if there is none."""
    feasible = (trial for trial in trials if trial.feasible)
    best = min(feasible, key=lambda trial: (trial.value_s, trial.number), default=None)
    if best is None:
        return None
    costs_s = storms.costs_s(float_times(best.times_s), np.array(best.lost_h))
    return Rival(costs_s[: storms.counted], best.value_s)


def run_batch(
    space: SearchSpace,
    spec: StudyFile,
    proposals: Sequence[Proposal],
    storms: Paired,
    best: Rival | None,
    engine: Engine,
) -> list[Scores]:
    """Run points against the storms of a trial.

    Args:
        space: The search space.
        spec: The study, with its limits and its pruner.
        proposals: The points.
        storms: The storms, guards last.
        best: The best trial so far, against which points are ended early; None: none is.
        engine: Where storms run.

    Returns:
        What each point came to.
    """
    heat = Heat(space, [proposal.setting for proposal in proposals], storms)
    alive = np.arange(len(proposals))
    steps = list(_steps(spec.pruner, storms, best))
    for step in steps:
        heat.meet(alive, step, engine)
        if step is not steps[-1] and best is not None:
            alive = alive[_go_on(spec.pruner, heat.costs_s[alive, : step.stop], best)]
    return [_scores(spec, heat, j, best) for j in range(len(proposals))]


def _scores(spec: StudyFile, heat: Heat, j: int, best: Rival | None) -> Scores:
    met = np.flatnonzero(heat.met[j])
    value_s, figures = heat.value_s(j), heat.figures(j)
    pruned = met.size < heat.met.shape[1]
    if pruned and best is not None:
        counted = met[met < heat.storms.counted]
        value_s = best.value_s + float((heat.costs_s[j, counted] - best.costs_s[counted]).mean())
    return Scores(
        value_s=value_s,
        worse=int(heat.worse()[j].sum()),
        times_s=tuple(plain_times(heat.times_s[j, met])),
        lost_h=tuple(plain_hours(heat.lost_h[j, met])),
        figures=figures,
        excess=excess(spec, {"time": value_s, **figures}),
        pruned=pruned,
    )


def excess(spec: StudyFile, figures: Mapping[Objective, float]) -> dict[str, float]:
    """Return by how much figures exceed the limits of a study, as shares of the limits.

    Args:
        spec: The study.
        figures: Figures of a setting, `time` among them.
    """
    return {
        f"at_most_{name}": figures[name] - limit if limit == 0 else (figures[name] - limit) / abs(limit)
        for name, limit in spec.constraints.items()
        if name in figures
    }


def _steps(pruner: Pruner, storms: Paired, best: Rival | None) -> Iterator[slice]:
    """Yield the storms of each step; the guards come with the last."""
    first, total = 0, len(storms.storms.numbers)
    if pruner.kind != "none" and best is not None:
        last = pruner.first
        while last < storms.counted:
            yield slice(first, last)
            first, last = last, 2 * last
    yield slice(first, total)


def _go_on(pruner: Pruner, costs_s: Floats, best: Rival) -> npt.NDArray[np.intp]:
    """Return which settings go on after a step.

    Args:
        pruner: Who decides.
        costs_s: Costs so far, shape (settings, storms met) [s].
        best: The best trial.
    """
    if pruner.kind == "halving":
        # A setting that beats the best one so far goes on whatever its rank.
        better = costs_s.mean(axis=1) <= best.costs_s[: costs_s.shape[1]].mean()
        kept = max(math.ceil(len(costs_s) * pruner.keep), 1)
        ranks = np.argsort(np.argsort(costs_s.mean(axis=1), kind="stable"), kind="stable")
        return np.flatnonzero(better | (ranks < kept))
    return np.array([i for i, row in enumerate(costs_s) if not _hopeless(pruner, row, best)], np.intp)


def _hopeless(pruner: Pruner, costs_s: Floats, best: Rival) -> bool:
    """Ask Optuna's Wilcoxon pruner whether a setting is worse than the best one over the storms that it has met."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExperimentalWarning)
        judge = optuna.pruners.WilcoxonPruner(p_threshold=pruner.p_threshold)
    scratch = optuna.create_study()
    met = dict(enumerate(best.costs_s.tolist()))
    scratch.add_trial(optuna.create_trial(value=best.value_s, intermediate_values=met))
    own = dict(enumerate(costs_s.tolist()))
    return judge.prune(scratch, optuna.create_trial(value=0.0, intermediate_values=own))
