"""Tune a training: find hyper-parameters of PPO with which trainings end storms sooner, whatever their seed.

Search on training seeds and storms of their own, choice among the best on fresh seeds, and the last word on fresh seeds
and held-out storms that influence nothing. The answer is a training file, never worse than the one searched from.
"""

import logging
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from signalstorm import __version__
from signalstorm.envs.model import yaml_lines
from signalstorm.envs.model.errors import wrong_input
from signalstorm.envs.model.knob_table import KnobValue
from signalstorm.envs.model.storms import HELD_OUT
from signalstorm.experiments import paired, sampling
from signalstorm.experiments.evaluate import StormSet
from signalstorm.experiments.recommendation import digest
from signalstorm.experiments.run_folder import RunFolder, model_hash
from signalstorm.experiments.search import run_study
from signalstorm.experiments.storage import open_storage, quiet_optuna, with_room
from signalstorm.experiments.storm_sets import TOLERANCE, Progress
from signalstorm.experiments.study import Study
from signalstorm.experiments.train import RUNS, library
from signalstorm.experiments.training_environment import Environment, training_of, with_arguments
from signalstorm.experiments.training_file import TrainingFile
from signalstorm.experiments.training_space import TrainingSpace, training_space
from signalstorm.experiments.training_study import TrainingStudy, load_training_study
from signalstorm.experiments.trainings import RANKING, Played, Trainings
from signalstorm.experiments.trials import Trial
from signalstorm.experiments.tune import checked_number, terminable

_log = logging.getLogger(__name__)

TRAINING, RESULT, TRIALS, TRAININGS = "training.yaml", "tuned-training.json", "trials.csv", "trainings"
_GAIN = 0.01
"""A training is better if what it is ranked by is at least this share below that of the one searched from."""
_MOST_TRIALS, _MOST_SEEDS = 100_000, 100


@dataclass(frozen=True)
class Compared:
    """Two trainings on the same fresh seeds and storms."""

    seeds: tuple[int, ...]
    """Seeds of the trainings."""
    storms: tuple[int, int]
    """The first storm, and the first beyond."""
    before: tuple[float, ...]
    """What the training searched from came to under each seed: mean time [s], or mean hours lost."""
    after: tuple[float, ...]
    """The same with the hyper-parameters found."""
    ratio: tuple[float, float, float]
    """Mean after over mean before, and its 95 % interval of a bootstrap over storms."""

    @property
    def worse(self) -> tuple[int, ...]:
        """Seeds under which the found one is worse by more than 2 %."""
        pairs = zip(self.seeds, self.before, self.after, strict=True)
        return tuple(seed for seed, before, after in pairs if after > before * (1.0 + TOLERANCE) + 1e-9)


@dataclass(frozen=True)
class TunedTraining:
    """What a search among trainings found."""

    environment: str
    """Its name."""
    folder: Path
    """The folder of the run; the training is in its `training.yaml`."""
    objective: str
    """What trainings are ranked by: `time` or `lost`."""
    trials: int
    """Trials, the training searched from included."""
    pruned: int
    """Trials that were ended early."""
    before: Mapping[str, Any]
    """Hyper-parameters of the training searched from, those that the search moves."""
    after: Mapping[str, Any]
    """Those of the training in the folder."""
    changes: Mapping[str, Any]
    """What differs; empty if nothing better was found."""
    held_out: Compared | None
    """The last word, None if no candidate came so far."""
    better: bool
    """Whether the training found is better, and worse under no fresh seed."""
    verdict: str
    """The same in words."""
    seconds: float
    """Time spent [s]."""

    def to_json(self) -> dict[str, Any]:
        """Return it in JSON's own types."""
        worse = None if self.held_out is None else list(self.held_out.worse)
        return {**asdict(self), "folder": str(self.folder), "worse_seeds": worse}


def tune_training(
    what: str | None = None,
    *,
    study: TrainingStudy | str | os.PathLike[str] | None = None,
    parameters: Sequence[str] | None = None,
    trials: int | None = None,
    seeds: int | None = None,
    out: str | os.PathLike[str] | None = None,
    storage: str | None = None,
    name: str | None = None,
    command: Sequence[str] | None = None,
    progress: Progress | None = None,
) -> TunedTraining:
    """Find better hyper-parameters for a training, or take up again the search that a folder holds.

    Args:
        what: An environment's id, or a scenario's name or path; by default what the study's training file names.
        study: A study file of trainings, the name of one that comes with the package, or its content.
        parameters: Hyper-parameters to move, by their names in a training file; by default as the study says.
        trials: Trials, the training searched from included; by default as the study says.
        seeds: Trainings of each trial; by default as the study says.
        out: The folder of the run; by default ``runs/<name>``.
        storage: Where trials are kept, as for scenarios.
        name: Name of the study; by default the environment's with ``-training``.
        command: The words of the command, for command.txt.
        progress: Told the stage, how much of it is done, and of how much.

    Raises:
        InputError: If an argument, a file or the folder is wrong, or the extra ``rl`` is not installed.
        KeyboardInterrupt: On Ctrl-C or a request to terminate; the same call goes on where it stopped.
    """
    spec = _with(study, parameters, trials, seeds)
    environment, base = _base(what, spec)
    space = training_space(base, spec.parameters)
    sampling.check_installed(spec.sampler.kind)
    library()
    study_name = name or f"{environment.name}-training"
    plan = _plan(environment, space, spec, study_name)
    where = Path(RUNS) / study_name if out is None else out
    with quiet_optuna(), terminable(), with_room(), RunFolder(where) as folder:
        folder.check(plan)
        folder.mend_journal()
        opened = open_storage(storage, folder.journal)
        worker = "" if storage is None else folder.worker()
        identity = {key: value for key, value in plan.items() if key not in ("name", "trials", "limits")}
        held = Study(space, opened, study_name, spec, digest(identity), worker)
        known = folder.claim(environment.options.scenario, plan, command)
        folder.note(f"{'going on with' if known else 'started'} {study_name}: {spec.budget.trials} trials")
        return _Run(folder, environment, space, spec, held, progress).finish()


class _Run:
    """A search among trainings on its way from the first trial to the training file."""

    def __init__(
        self,
        folder: RunFolder,
        environment: Environment,
        space: TrainingSpace,
        spec: TrainingStudy,
        study: Study,
        progress: Progress | None,
    ) -> None:
        self.folder, self.environment, self.space, self.spec = folder, environment, space, spec
        self.study = study
        told: Progress = progress or (lambda stage, done, total: None)
        self.trainings = Trainings(folder.path / TRAININGS, environment, space, spec, told)
        self._began, self._before_s = time.monotonic(), float(study.recall("seconds") or 0.0)

    def finish(self) -> TunedTraining:
        """Do what is still to do, and return what was found."""
        self.study.fail_ghosts()
        self._write_seeds()
        if not any(trial.present for trial in self.study.trials()):
            self.study.start(self.trainings.trial(0, self.space.stored({}), ()))
        limit_s = self.spec.budget.seconds
        deadline = None if limit_s is None else self._began + limit_s - self._before_s
        run_study(
            self.study, self.trainings, self.spec.budget.trials, 1,
            None, deadline, self._shown, self.trainings.end,
        )  # fmt: skip
        trials = self.study.trials()
        self._write_trials(trials)
        candidates = self._candidates(trials)
        chosen = self._choice(candidates)
        result = self._told(trials, chosen, len(candidates))
        setting = chosen if result.better and chosen is not None else self.space.stored({})
        found = self.space.training(setting)
        description = "found by tune --target training" if result.better else self.space.base.description
        file = found.model_copy(update={"description": description})
        self.folder.write(TRAINING, yaml_lines.write(file.model_dump(mode="json")))
        self.folder.write_json(RESULT, result.to_json())
        self.folder.note(result.verdict)
        return result

    def _shown(self, trials: Sequence[Trial]) -> None:
        self.study.remember("seconds", self._seconds())
        whole = [trial.value_s for trial in trials if trial.complete]
        before = next(trial.value_s for trial in trials if trial.present)
        unit = "s" if self.spec.objective == "time" else "h lost"
        self.trainings.standing = f", best {min(whole):,.4g} {unit} against {before:,.4g} {unit} before"

    def _seconds(self) -> float:
        return round(self._before_s + time.monotonic() - self._began, 1)

    def _candidates(self, trials: Sequence[Trial]) -> list[Trial]:
        """Return the best complete trials that are better than the training searched from."""
        before = next(trial.value_s for trial in trials if trial.present)
        better = [trial for trial in trials if trial.complete and trial.value_s < before * (1.0 - _GAIN)]
        better.sort(key=lambda trial: (trial.value_s, trial.number))
        return better[: self.spec.confirmation.candidates]

    def _choice(self, candidates: Sequence[Trial]) -> Any:
        """Return the candidate that is best on fresh seeds, None if none is better there than what is searched from."""
        if not candidates:
            return None
        options = self.environment.options
        first = RANKING + self.spec.storms
        storms = StormSet(options.scenario, tuple(range(first, first + self.spec.storms)), vary=options.vary)
        before = self._played("before", self.space.stored({}), self.spec.choice_seeds, storms).by(self.spec.objective)
        best, least = None, float(before.mean()) * (1.0 - _GAIN)
        for trial in candidates:
            name = f"candidate-{trial.number:04}"
            value = float(
                self._played(name, trial.setting, self.spec.choice_seeds, storms).by(self.spec.objective).mean()
            )
            self.folder.note(f"trial {trial.number} on fresh seeds: {value:.4g}, before {before.mean():.4g}")
            if value < least:
                best, least = trial.setting, value
        return best

    def _told(self, trials: Sequence[Trial], chosen: Any, candidates: int) -> TunedTraining:
        held = None if chosen is None else self._held_out(chosen)
        better = held is not None and not held.worse and held.ratio[0] < 1.0
        before, after = self.space.identity({}), self.space.identity(chosen if better and chosen is not None else {})
        return TunedTraining(
            environment=self.environment.name,
            folder=self.folder.path,
            objective=self.spec.objective,
            trials=len(trials),
            pruned=sum(not trial.complete for trial in trials),
            before={name: before[name] for name in self.space.knobs},
            after={name: after[name] for name in self.space.knobs},
            changes={} if not better or chosen is None else dict(chosen),
            held_out=held,
            better=better,
            verdict=_verdict(held, better, candidates, len(trials)),
            seconds=self._seconds(),
        )

    def _held_out(self, chosen: Mapping[str, KnobValue]) -> Compared:
        options, seeds, objective = self.environment.options, self.spec.last_seeds, self.spec.objective
        numbers = range(HELD_OUT, HELD_OUT + self.spec.confirmation.held_out)
        storms = StormSet(options.scenario, tuple(numbers), vary=options.vary)
        before = self._played("before", self.space.stored({}), seeds, storms).by(objective)
        after = self._played("found", chosen, seeds, storms).by(objective)
        ratio = paired.ratio(after.mean(axis=0), before.mean(axis=0))
        low, middle, high = round(ratio.low, 6), round(ratio.value, 6), round(ratio.high, 6)
        return Compared(
            seeds, (numbers.start, numbers.stop), _means(before), _means(after), (middle, low, high)
        )  # fmt: skip

    def _played(self, name: str, setting: Mapping[str, KnobValue], seeds: Sequence[int], storms: StormSet) -> Played:
        rows = [self.trainings.played(name, setting, seed, storms) for seed in seeds]
        return Played(np.concatenate([row.times_s for row in rows]), np.concatenate([row.lost_h for row in rows]))

    def _write_seeds(self) -> None:
        first = RANKING + self.spec.storms
        self.folder.write_json(
            "seeds.json",
            {
                "training_seeds": {
                    "search": list(self.spec.search_seeds),
                    "choice": list(self.spec.choice_seeds),
                    "held_out": list(self.spec.last_seeds),
                },
                "storms": {
                    "training": list(self.space.base.storms),
                    "policy": [self.space.base.judged_on.start, self.space.base.judged_on.stop],
                    "search": [RANKING, first],
                    "choice": [first, first + self.spec.storms],
                    "held_out": [HELD_OUT, HELD_OUT + self.spec.confirmation.held_out],
                },
            },
        )

    def _write_trials(self, trials: Sequence[Trial]) -> None:
        """Write trials.csv: hyper-parameters, what each training came to, and whether all of them are through."""
        names = list(self.space.knobs)
        rows = []
        for trial in trials:
            full = self.space.identity(trial.setting)
            columns = (self.spec.search_seeds[: len(trial.times_s)], trial.times_s, trial.lost_h, trial.scores.curve)
            row = [trial.number, trial.present, f"{trial.value_s:.6g}", trial.complete, *(full[n] for n in names)]
            rows.append([*row, *(" ".join(f"{x:.10g}" for x in column if x is not None) for column in columns)])
        header = ["number", "before", "value", "complete", *names, "seeds", "times_s", "lost_h", "curve"]
        self.folder.write_table(TRIALS, header, rows)


def _means(values: Any) -> tuple[float, ...]:
    return tuple(round(float(x), 6) for x in values.mean(axis=1))


def _verdict(held: Compared | None, better: bool, candidates: int, trials: int) -> str:
    if held is None and candidates == 0:
        return f"none of {trials} trials is better by 1 % than the training searched from, which stays"
    if held is None:
        return f"none of the {candidates} best trials is better by 1 % on fresh seeds, so the training stays as it is"
    low, high = held.ratio[1:]
    figures = f"{held.ratio[0]:.3f} [{low:.3f}, {high:.3f}] times the training searched from"
    where = f"on {held.storms[1] - held.storms[0]} held-out storms, {len(held.seeds)} fresh seeds of each"
    if better:
        return f"{figures} {where}; worse under none of them"
    why = f"worse under seed {', '.join(map(str, held.worse))}" if held.worse else "no better on average"
    return f"{figures} {where}, and {why}: the training stays as it is"


def _with(
    study: TrainingStudy | str | os.PathLike[str] | None,
    parameters: Sequence[str] | None,
    trials: int | None,
    seeds: int | None,
) -> TrainingStudy:
    """Return the study with the arguments of a command."""
    if isinstance(study, TrainingStudy):
        spec = study
    else:
        spec = TrainingStudy() if study is None else load_training_study(study)
    if trials is not None:
        checked_number("--trials", trials, _MOST_TRIALS)
        spec = spec.model_copy(update={"budget": spec.budget.model_copy(update={"trials": trials})})
    if seeds is not None:
        checked_number("--seeds", seeds, _MOST_SEEDS)
        spec = spec.model_copy(update={"seeds": spec.seeds.model_copy(update={"count": seeds})})
    if parameters is not None:
        if not parameters:
            raise wrong_input("a search needs at least one hyper-parameter", key="--knobs")
        known = spec.parameters or {}
        spec = spec.model_copy(update={"parameters": {name: known.get(name) for name in parameters}})
    return spec


def _base(what: str | None, spec: TrainingStudy) -> tuple[Environment, TrainingFile]:
    """Return the environment and the training that is searched from."""
    environment, file = training_of(what, spec.training)
    return environment, with_arguments(file, {} if spec.timesteps is None else {"timesteps": spec.timesteps})


def _plan(environment: Environment, space: TrainingSpace, spec: TrainingStudy, name: str) -> dict[str, Any]:
    """Return everything that decides what a study finds."""
    return {
        "name": name,
        "trials": spec.budget.trials,
        "target": "training",
        "scenario": environment.options.scenario.name,
        "scenario_hash": environment.options.scenario.hash(),
        "training": space.base.model_dump(mode="json", exclude={"description", "seed"}),
        "study": spec.model_dump(mode="json", exclude={"description", "budget"}),
        "limits": spec.budget.model_dump(mode="json", exclude={"trials"}),
        "version": __version__,
        "model": model_hash(),
    }
