"""The trainings of a study: each trial trains on several seeds, is ranked on storms of its own, and may end early.

A training that was cut short begins again, for only a whole one comes to the same policy every time; one that is
through is never done twice.
"""

import shutil
import threading
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import optuna
from optuna.exceptions import ExperimentalWarning

from signalstorm.agents.bundle import load
from signalstorm.envs.model.knob_table import KnobValue
from signalstorm.envs.model.storms import CHOICE
from signalstorm.experiments.evaluate import StormSet
from signalstorm.experiments.train import POLICY, RESULT, Judgement, Progress, evaluations, play, train
from signalstorm.experiments.training_environment import Environment
from signalstorm.experiments.training_space import TrainingSpace
from signalstorm.experiments.training_study import TrainingStudy
from signalstorm.experiments.trials import Claim, Scores, Trial

Floats = npt.NDArray[np.float64]

RANKING = CHOICE + 1000
"""Storms from here on rank trainings; those before pick the policy of each."""


class EndedError(Exception):
    """A training was ended early, by the pruner or because the search ends."""


@dataclass(frozen=True)
class Played:
    """What trainings of one setting came to, a row for each seed."""

    times_s: Floats
    """min(T, horizon), shape (seeds, storms) [s]."""
    lost_h: Floats
    """Hours without service per subscriber, of the same shape [h]."""

    def by(self, objective: str) -> Floats:
        """Return the figure by which trainings are ranked, shape (seeds, storms)."""
        return self.times_s if objective == "time" else self.lost_h


@dataclass
class Trainings:
    """Runs the trainings of claims, one after another."""

    folder: Path
    """Where trainings have their folders."""
    environment: Environment
    space: TrainingSpace
    spec: TrainingStudy
    progress: Progress
    """Told the name of a training, its steps, and of how many."""
    standing: str = ""
    """How far the search is, told with each training."""
    ended: threading.Event = field(default_factory=threading.Event)

    def end(self) -> None:
        """Let the training that is going on end soon."""
        self.ended.set()

    def __call__(self, claims: Sequence[Claim], known: Sequence[Trial]) -> list[Scores]:
        """Run claims; what is known of other trials decides which are ended early."""
        return [self.trial(claim.number, claim.proposal.setting, known) for claim in claims]

    def trial(self, number: int, setting: Mapping[str, KnobValue], known: Sequence[Trial]) -> Scores:
        """Return what the trainings of a trial come to.

        Args:
            number: The trial's number.
            setting: Changes of the training that is searched from.
            known: Trials with which it is compared.
        """
        curve: list[float] = []
        rows: list[Played] = []
        pruned = False
        for i, seed in enumerate(self.spec.search_seeds):
            watch = _Curve(self.spec, known, curve) if i == 0 else None
            try:
                rows.append(self.played(f"trial-{number:04}", setting, seed, self.ranking, watch))
            except EndedError:
                if self.ended.is_set():
                    raise
                pruned = True
                break
            if i + 1 < len(self.spec.search_seeds) and self._hopeless(rows, known):
                pruned = True
                break
        return self._scores(setting, rows, curve, known, pruned)

    @property
    def ranking(self) -> StormSet:
        """The storms that rank trainings."""
        options = self.environment.options
        return StormSet(options.scenario, tuple(range(RANKING, RANKING + self.spec.storms)), vary=options.vary)

    def played(
        self,
        name: str,
        setting: Mapping[str, KnobValue],
        seed: int,
        storms: StormSet,
        watch: "_Curve | None" = None,
    ) -> Played:
        """Train, where that has not been done, and play storms.

        Args:
            name: Of the folder, to which the seed is added.
            setting: Changes of the training that is searched from.
            seed: Seed of the training.
            storms: The storms.
            watch: Told every evaluation.
        """
        folder = self.folder / f"{name}-seed-{seed}"
        training = self.space.training(setting, seed)

        def told(stage: str, done: int, total: int) -> None:
            if self.ended.is_set():
                raise EndedError
            self.progress(f"{name.replace('-', ' ')}, seed {seed}{self.standing}", done, total)

        if not (folder / RESULT).exists():
            shutil.rmtree(folder, ignore_errors=True)
            train(training=training, out=folder, progress=told, judged=watch)
        elif watch is not None:
            for judged in evaluations(folder):
                watch(judged)
        policy = load(folder / POLICY).policy
        result = play(policy, self.environment.options, storms)
        return Played(result.restricted_s[np.newaxis], result.lost_h[np.newaxis])

    def _hopeless(self, rows: Sequence[Played], known: Sequence[Trial]) -> bool:
        """Ask the pruner after a whole training, by the means of the trainings so far."""
        means = [float(row.by(self.spec.objective).mean()) for row in rows]
        others = [list(_running(_per_seed(trial, self.spec.objective))) for trial in known if trial.complete]
        return _asked(self.spec, list(_running(means)), others, 0)

    def _scores(
        self,
        setting: Mapping[str, KnobValue],
        rows: Sequence[Played],
        curve: Sequence[float],
        known: Sequence[Trial],
        pruned: bool,
    ) -> Scores:
        times_s = tuple(float(row.times_s.mean()) for row in rows)
        lost_h = tuple(float(row.lost_h.mean()) for row in rows)
        own = times_s if self.spec.objective == "time" else lost_h
        value = float(np.mean(own)) if own else float(curve[-1])
        best = min((trial for trial in known if trial.complete), key=lambda trial: trial.value_s, default=None)
        if pruned and best is not None:
            # The best trial's value, and on top what separates the two where both have been; never below the median,
            # for there it was when it was ended.
            theirs = _per_seed(best, self.spec.objective)
            if own:
                value = best.value_s + float(np.mean(own) - np.mean(theirs[: len(own)]))
            elif best.scores.curve:
                at = min(len(curve), len(best.scores.curve)) - 1
                value = best.value_s + curve[at] - best.scores.curve[at]
            value = max(value, float(np.median([trial.value_s for trial in known if trial.complete])))
        return Scores(
            value_s=value, worse=0, times_s=times_s, lost_h=lost_h, pruned=pruned, curve=tuple(curve)
        )  # fmt: skip


class _Curve:
    """Follows the first training of a trial, and ends it where it has fallen behind others at the same step."""

    def __init__(self, spec: TrainingStudy, known: Sequence[Trial], curve: list[float]) -> None:
        self._spec, self._known, self._curve = spec, known, curve

    def __call__(self, judged: Judgement) -> None:
        now = judged.rmst_s if self._spec.objective == "time" else judged.lost_h
        self._curve.append(min([now, *self._curve[-1:]]))
        others = [list(trial.scores.curve) for trial in self._known if trial.complete]
        longest = max((len(curve) for curve in others), default=0)
        if len(self._curve) < longest and _asked(
            self._spec, self._curve, others, round(self._spec.pruner.warmup * longest)
        ):
            raise EndedError


def _per_seed(trial: Trial, objective: str) -> list[float]:
    values = trial.times_s if objective == "time" else trial.lost_h
    return [float(value) for value in values if value is not None]


def _running(values: Sequence[float]) -> Floats:
    """Return the means of the first values."""
    return np.asarray(np.cumsum(values) / np.arange(1, len(values) + 1))


def _asked(spec: TrainingStudy, own: Sequence[float], others: Sequence[Sequence[float]], warmup: int) -> bool:
    """Ask Optuna's median pruner whether a trial is to end, as it stands now."""
    if spec.pruner.kind == "none":
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExperimentalWarning)
        judge = optuna.pruners.MedianPruner(n_startup_trials=spec.pruner.startup, n_warmup_steps=warmup)
    scratch = optuna.create_study(pruner=judge)
    scratch.add_trials(
        [optuna.create_trial(value=row[-1], intermediate_values=dict(enumerate(row))) for row in others if row]
    )
    return judge.prune(scratch, optuna.create_trial(value=0.0, intermediate_values=dict(enumerate(own))))
