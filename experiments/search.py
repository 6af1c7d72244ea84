"""The search: batches of points from the sampler, each batch against all search storms in one call of the kernel.

A trial's value is the mean cost of the search storms [s] (see ``objectives``), and not a mean of ratios to each
storm's lower bound: seconds of all storms add up, a bound of zero or beyond the horizon spoils nothing, and as every
setting meets the same storms, a storm that lasts long for all of them cancels out. Its constraint is the number of
storms, guards included, on which it is worse than the present setting; a trial that is worse on none beats every one
that is.
"""

import logging
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from signalstorm.envs.model.knobs import Setting
from signalstorm.envs.model.metrics import restricted, watched_s
from signalstorm.experiments.evaluate import StormSet
from signalstorm.experiments.storm_sets import (
    Budget,
    Paired,
    Progress,
    find_guards,
    float_times,
    meet,
    paired,
    plain_hours,
    plain_times,
)
from signalstorm.experiments.study import Proposal, Study, Trial

_log = logging.getLogger(__name__)

BATCH = 16
"""Points of a batch: enough rows to keep all cores busy, few enough for the sampler to learn often."""
_INSTANT_S = 1e-9
"""Stands for the time of a present setting under which nothing storms [s]."""
GAIN = 0.01
"""A setting is better than the present one if its value is at least this share below."""


def prepare(study: Study, budget: Budget, threads: int | None, progress: Progress | None = None) -> Paired:
    """Find the guards, run the present setting as trial 0, and return the storms of all trials.

    Both are taken from the study where it holds them already.
    """
    scenario = study.space.scenario
    seeds = range(budget.seeds)
    guards = study.recall("guards")
    if guards is None:
        if progress is not None:
            progress("present setting", 0, 1)
        guards = find_guards(scenario, budget.search_scan, budget.guards, threads)
        study.remember("guards", guards)
    known = next((trial for trial in study.trials() if trial.present), None)
    if known is not None:
        storms = (*seeds, *guards)
        if len(known.times_s) == len(storms):
            times_s, lost_h = float_times(known.times_s), np.array(known.lost_h)
            return Paired(StormSet(scenario, storms, vary=True), len(seeds), times_s, lost_h, budget.risk)
    found = paired(scenario, seeds, guards, threads, budget.risk)
    present = Proposal(study.space.present_point or {}, Setting({}))
    hours = plain_hours(found.present_lost_h)
    study.add(0, present, found.present_value_s, 0, plain_times(found.present_s), hours)
    return found


def search(study: Study, storms: Paired, trials: int, threads: int | None, progress: Progress | None = None) -> None:
    """Run batches until the study holds the asked number of trials, or the space holds no more points.

    Args:
        study: The study; it has the present setting as trial 0.
        storms: What `prepare` returned.
        trials: Trials to end with, the present setting included.
        threads: Threads at most.
        progress: Told after each batch.
    """
    while True:
        finished = study.trials()
        if progress is not None:
            progress("search", len(finished), trials)
        if len(finished) >= trials:
            return
        batch = _open_batch(finished)
        before = sum(trial.batch < batch for trial in finished)
        done = {study.space.identity(trial.setting) for trial in finished}
        proposals = study.propose(batch, min(BATCH, trials - before))
        fresh = [proposal for proposal in proposals if study.space.identity(proposal.setting) not in done]
        if not fresh:
            _log.info("the search space holds no more points: %d trials instead of %d", len(finished), trials)
            return
        run_batch(study, storms, batch, fresh, threads)


def run_batch(study: Study, storms: Paired, batch: int, proposals: Sequence[Proposal], threads: int | None) -> None:
    """Run points against all storms of a trial and store them."""
    evaluation = meet([proposal.setting for proposal in proposals], storms.storms, threads)
    times, lost = evaluation.outcomes.convergence_time_s, evaluation.outcomes.subscriber_hours_lost
    values = storms.values_of(evaluation)
    worse = storms.worse(evaluation.restricted_s).sum(axis=1)
    for i, proposal in enumerate(proposals):
        study.add(batch, proposal, float(values[i]), int(worse[i]), plain_times(times[i]), plain_hours(lost[i]))


def ranked(trials: Sequence[Trial], storms: Paired, *, guarded: bool) -> list[Trial]:
    """Return the trials worth a closer look, best first; all are better on average than the present setting.

    Of trials that came to the same on every storm the one with the fewest overrides stays.

    Args:
        trials: All trials.
        storms: The storms of a trial.
        guarded: Take only trials that are worse on no storm; otherwise also those that are worse on guards alone,
            the fewest first.
    """
    present = next(trial for trial in trials if trial.present)
    better = [trial for trial in trials if trial.value_s < present.value_s * (1.0 - GAIN)]
    if guarded:
        better = [trial for trial in better if trial.feasible]
    else:
        better = [trial for trial in better if not _worse(trial, storms)[: storms.counted].any()]
    better.sort(key=lambda trial: (trial.worse, trial.value_s, len(trial.setting), trial.number))
    return list({(trial.times_s, trial.lost_h): trial for trial in reversed(better)}.values())[::-1]


def rejected(trials: Sequence[Trial], storms: Paired) -> str | None:
    """Say which setting is faster on average than every feasible one, and why it is not an answer."""
    feasible = [trial.value_s for trial in trials if trial.feasible]
    faster = [trial for trial in trials if not trial.feasible and trial.value_s < min(feasible) * 0.98]
    if not faster:
        return None
    best = min(faster, key=lambda trial: (trial.worse, trial.value_s))
    horizon = watched_s(storms.storms.scenario)
    ratios = restricted(float_times(best.times_s), horizon) / np.maximum(storms.present_restricted_s, _INSTANT_S)
    knobs = ", ".join(f"{name}={value}" for name, value in best.setting.items())
    return (
        f"faster on average but not never worse: {knobs} comes to {best.value_s:.1f} s against "
        f"{min(feasible):.1f} s of the best that is, but takes up to {ratios.max() - 1:.0%} longer than the present "
        f"setting on {best.worse} of {len(best.times_s)} storms, where the present one recovers by itself"
    )


def _worse(trial: Trial, storms: Paired) -> npt.NDArray[np.bool_]:
    restricted_s = restricted(float_times(trial.times_s), watched_s(storms.storms.scenario))
    return np.asarray(storms.worse(restricted_s)[0])


def _open_batch(finished: Sequence[Trial]) -> int:
    """Return the batch to go on with: the last one while it has room, else a new one."""
    last = max(trial.batch for trial in finished)
    size = sum(trial.batch == last for trial in finished)
    return last if last > 0 and size < BATCH else last + 1
