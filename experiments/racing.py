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

from signalstorm.envs.model.metrics import restricted, watched_s
from signalstorm.experiments.engines import Engine
from signalstorm.experiments.evaluate import StormSet
from signalstorm.experiments.objectives import Objective, aggregate, quantities
from signalstorm.experiments.search_space import SearchSpace, change_cost
from signalstorm.experiments.storm_sets import Floats, Paired, float_times, plain_hours, plain_times
from signalstorm.experiments.study import Proposal, Scores, Trial
from signalstorm.experiments.study_file import Pruner, StudyFile


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
    alive = np.arange(len(proposals))
    shape = (len(proposals), len(storms.storms.numbers))
    met = np.zeros(len(proposals), np.intp)
    times_s = np.full(shape, np.nan)
    found: dict[Objective, Floats] = {}
    steps = list(_steps(spec.pruner, storms, best))
    for step in steps:
        some = StormSet(storms.storms.scenario, storms.storms.numbers[step], vary=True)
        outcomes = engine.evaluate([proposals[int(j)].setting for j in alive], some).outcomes
        times_s[alive, step] = outcomes.convergence_time_s
        for name, values in quantities(outcomes).items():
            found.setdefault(name, np.full(shape, np.nan))[alive, step] = values
        met[alive] = step.stop
        if step is not steps[-1] and best is not None:
            costs_s = storms.costs_s(times_s[alive], found["subscriber_hours_lost"][alive])
            alive = alive[_go_on(spec.pruner, costs_s[:, : step.stop], best)]
    worse = storms.worse(restricted(times_s, watched_s(storms.storms.scenario)))
    costs_s = storms.costs_s(times_s, found["subscriber_hours_lost"])
    scores = []
    for j, proposal in enumerate(proposals):
        counted = slice(0, min(int(met[j]), storms.counted))
        figures: dict[Objective, float] = {
            name: float(aggregate(values[j, counted], storms.risk)[0]) for name, values in found.items()
        }
        figures["change_cost"] = float(change_cost(space, proposal.setting)[0])
        value_s = float(aggregate(costs_s[j, counted], storms.risk)[0])
        pruned = met[j] < shape[1]
        if pruned and best is not None:
            value_s = best.value_s + float((costs_s[j, counted] - best.costs_s[counted]).mean())
        scores.append(
            Scores(
                value_s=value_s,
                worse=int(worse[j, : met[j]].sum()),
                times_s=tuple(plain_times(times_s[j, : met[j]])),
                lost_h=tuple(plain_hours(found["subscriber_hours_lost"][j, : met[j]])),
                figures=figures,
                excess=excess(spec, {"time": value_s, **figures}),
                pruned=bool(pruned),
            )
        )
    return scores


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
