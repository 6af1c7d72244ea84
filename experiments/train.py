"""Train: PPO on rows of storms, judged on storms of its own, resumable, into a policy bundle."""

import csv
import io
import json
import logging
import os
import shlex
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from signalstorm.agents.bundle import interface, save
from signalstorm.agents.policy import Policy
from signalstorm.agents.steering import Static, Steering
from signalstorm.envs.loop import Loop
from signalstorm.envs.model import scenario_file, yaml_lines
from signalstorm.envs.model.errors import ABSENT, RunError, wrong_input
from signalstorm.envs.model.knobs import resolve
from signalstorm.envs.model.metrics import outcomes
from signalstorm.envs.model.wording import installing
from signalstorm.envs.options import Options
from signalstorm.experiments.can_help import Without, loops_tried
from signalstorm.experiments.effects import Answer, answer, effect
from signalstorm.experiments.evaluate import StormSet
from signalstorm.experiments.loops import LoopResult, run_loop
from signalstorm.experiments.run_folder import RunFolder, installed_versions, model_hash
from signalstorm.experiments.training_environment import Environment, training_of, with_arguments
from signalstorm.experiments.training_file import TrainingFile
from signalstorm.experiments.warm_start import lesson_of, warm_start

if TYPE_CHECKING:
    from signalstorm.agents.ppo import Learner

_log = logging.getLogger(__name__)

RUNS = "runs"
"""The folder below which runs have theirs."""
TRAINING, POLICY, EVALUATIONS, RESULT = "training.yaml", "policy", "evaluations.csv", "result.json"
_FREE = ("timesteps",)
"""What may differ when a training is taken up again."""
Progress = Callable[[str, int, int], None]
"""Told the stage, how much of it is done, and of how much."""


@dataclass(frozen=True)
class Judgement:
    """How a contestant did on the storms that judge."""

    rmst_s: float
    """Restricted mean time [s]."""
    lost_h: float
    """Hours without service per subscriber [h]."""
    converged_share: float
    """Share of storms that were over within the horizon."""
    changes_per_hour: float
    """Changes of knobs [1/h]."""


Judged = Callable[[Judgement], None]
"""Told an evaluation of a training that is going on."""


@dataclass(frozen=True)
class Trained:
    """What a training came to."""

    environment: str
    """Its name."""
    folder: Path
    """The folder of the run."""
    steps: int
    """Steps made."""
    seconds: float
    """Time spent learning, evaluations left out [s]."""
    judged_storms: int
    """Storms of each judgement."""
    policy: Judgement
    """The policy that was kept, on the storms that chose it; held-out storms are for `compare`."""
    present: Judgement
    """The present setting on the same storms."""
    best_static: Judgement
    """The setting with which episodes begin, on the same storms."""
    answer: Answer | None = None
    """Whether anything helps beside the present setting, loops tried for the purpose among it; None if it does."""

    def to_json(self) -> dict[str, Any]:
        """Return it in JSON's own types."""
        told = {name: value for name, value in vars(self).items() if name != "answer"}
        plain = {name: value for name, value in told.items() if not isinstance(value, Judgement)}
        judged = {name: vars(value) for name, value in told.items() if isinstance(value, Judgement)}
        found = None if self.answer is None else self.answer.to_json()
        return {**plain, "folder": str(self.folder), **judged, "answer": found}


def train(
    what: str | None = None,
    *,
    training: TrainingFile | str | os.PathLike[str] | None = None,
    timesteps: int | None = None,
    rows: int | None = None,
    seed: int | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    judged: Judged | None = None,
) -> Trained:
    """Train a policy; interrupted, the same call goes on where it stopped.

    Args:
        what: An environment's id, or a scenario's name or path; by default what the training file names.
        training: A training file, its name or its content; by default the one that is packaged for the environment.
        timesteps: Steps in all, instead of the file's.
        rows: Rows, instead of the file's.
        seed: Seed, instead of the file's.
        out: The folder of the run; by default ``runs/NAME-SEED``.
        progress: Told how far it is.
        judged: Told every evaluation; what it raises ends the training.

    Raises:
        InputError: If something is wrong with the input, the folder holds another run, or the extra ``rl`` is not
            installed.
    """
    told = progress or (lambda stage, done, total: None)
    shown = judged or (lambda judgement: None)
    environment, file = training_of(what, training)
    given = {"timesteps": timesteps, "rows": rows, "seed": seed}
    file = with_arguments(file, {name: value for name, value in given.items() if value is not None})
    folder = Path(out) if out is not None else Path(RUNS) / f"{environment.name}-{file.seed}"
    ppo = library()
    with RunFolder(folder) as run:
        _claim(run, environment, file)
        return _Training(run, environment, file, ppo, told, shown).run()


def library() -> Any:
    """Return the module that learns.

    Raises:
        InputError: If the extra ``rl`` is not installed.
    """
    try:
        return import_module("signalstorm.agents.ppo")
    except ImportError as error:
        rule = f"training needs {error.name}, which this installation lacks"
        raise wrong_input(rule, ABSENT, f"install it with {installing('rl')}") from None


def _claim(run: RunFolder, environment: Environment, file: TrainingFile) -> None:
    """Write what the run is made of, or check that the folder holds the same training."""
    content = {
        **file.model_dump(mode="json"),
        "scenario_hash": environment.options.scenario.hash(),
        "model": model_hash(),
    }
    path = run.path / TRAINING
    if path.exists():
        known = yaml_lines.read(path.read_text("utf-8"))[0]
        known = known if isinstance(known, dict) else {}
        plain = json.loads(json.dumps(content))
        differing = [key for key in plain if key not in _FREE and known.get(key) != plain[key]]
        if differing:
            named = ", ".join(_difference(key, known.get(key), plain[key]) for key in differing)
            rule = f"the folder holds another training, which differs in {named}"
            raise wrong_input(rule, ABSENT, "give another --out, or remove the folder", file=str(run.path))
    elif (run.path / "recommendation.json").exists():
        raise wrong_input("holds another run", ABSENT, "give another --out", file=str(run.path))
    run.write(TRAINING, yaml_lines.write(content))
    run.write("scenario.yaml", scenario_file.dump(environment.options.scenario))
    run.write("command.txt", shlex.join(sys.argv) + "\n")
    run.write_json("versions.json", installed_versions())
    run.write_json(
        "seeds.json", {"training": list(file.storms), "evaluation": [file.judged_on.start, file.judged_on.stop]}
    )


def _difference(key: str, was: Any, now: Any) -> str:
    """Name a key in which trainings differ; of scenario and model, which nobody has written there, both hashes too."""
    return f"{key} (was {str(was)[:12]}, is {str(now)[:12]})" if key in ("scenario_hash", "model") else key


class _Training:
    """A training that is going on."""

    def __init__(
        self,
        run: RunFolder,
        environment: Environment,
        file: TrainingFile,
        ppo: Any,
        progress: Progress,
        judged: Judged,
    ) -> None:
        self._run, self._environment, self._file, self._ppo, self._progress = run, environment, file, ppo, progress
        self._judged = judged
        self._options = environment.options
        self._storms = StormSet(self._options.scenario, tuple(file.judged_on), vary=self._options.vary)
        self._rows: list[dict[str, float]] = []
        self._best: Judgement | None = None
        self._updates = 0
        self._spent = 0.0
        self._since = 0.0
        self._saved = -1

    def run(self) -> Trained:
        from signalstorm.envs.sb3 import StormVecEnv
        from signalstorm.envs.vector import StormVectorEnv

        file, made = self._file, self._environment
        native = StormVectorEnv(
            made.family, made.variant, num_envs=file.rows, **{**made.changes, "storms": list(file.storms)}
        )
        learning = self._ppo.Hyperparameters(**file.learning.model_dump())
        learner = self._ppo.Learner(
            StormVecEnv(native), learning, file.seed, file.timesteps, self._run.path / "tensorboard"
        )
        try:
            if not self._resume(learner):
                self._warm_up(learner)
            self._learn(learner)
        finally:
            learner.close()
        return self._result(learner)

    def _learn(self, learner: "Learner") -> None:
        try:
            self._since = time.monotonic()
            learner.learn(self._ppo.Watch(self._after_update))
            self._spent += time.monotonic() - self._since
            self._judge(learner)
        finally:
            if learner.sound:
                self._keep(learner)

    def _warm_up(self, learner: "Learner") -> None:
        """Fit the policy to a law if the training says so; what is cut short begins again, the same as before."""
        lesson = lesson_of(self._options, self._file)
        if lesson is None:
            return
        began = time.monotonic()
        said = warm_start(learner, lesson, self._options, self._file, partial(self._progress, "warm start"))
        self._spent += time.monotonic() - began
        for line in said:
            self._run.note(line)
        self._judge(learner)
        self._keep(learner)

    def _resume(self, learner: "Learner") -> bool:
        """Go on from a checkpoint; false if there is none."""
        numbers = learner.restore(self._run.path)
        if numbers is None:
            if (self._run.path / EVALUATIONS).exists():
                _log.warning("the checkpoint in %s is damaged or missing: the training starts over", self._run.path)
            return False
        self._rows = list(numbers["evaluations"])
        self._spent, self._updates = float(numbers["seconds"]), int(numbers["rollouts"])
        self._best = None if numbers["best"] is None else Judgement(**numbers["best"])
        self._saved = learner.steps
        wanted, rollout = self._file.timesteps, self._file.learning.steps * self._file.rows
        if learner.steps < wanted:
            _log.info("going on at step %d of %d", learner.steps, wanted)
        elif learner.steps < wanted + rollout:
            _log.info("all %d steps were made before: nothing is left to learn", learner.steps)
        else:
            said = "%d steps were made before, more than the %d asked for: nothing is learnt, the policy stays as it is"
            _log.warning(said, learner.steps, wanted)
        return True

    def _after_update(self, learner: "Learner") -> bool:
        self._updates += 1
        if self._updates % self._file.evaluation.every == 0:
            self._spent += time.monotonic() - self._since
            self._judge(learner)
            self._keep(learner)
            self._since = time.monotonic()
        self._progress("train", min(learner.steps, self._file.timesteps), self._file.timesteps)
        return True

    def _judge(self, learner: "Learner") -> None:
        """Run the policy over the storms that judge, and keep it if it is the best so far."""
        if self._rows and self._rows[-1]["steps"] == learner.steps:
            return
        policy = learner.policy()
        judged = judge(play(policy, self._options, self._storms))
        self._rows.append({"steps": learner.steps, "seconds": round(self._spent, 3), **vars(judged)})
        learner.log({f"eval/{name}": value for name, value in vars(judged).items()})
        self._run.note(f"step {learner.steps}: restricted mean {judged.rmst_s:.1f} s, lost {judged.lost_h:.4f} h")
        if self._best is None or judged.rmst_s < self._best.rmst_s:
            self._best = judged
            save(self._run.path / POLICY, policy, self._facts())
        self._write_evaluations()
        self._judged(judged)

    def _facts(self) -> dict[str, Any]:
        return facts_of(self._environment, self._file)

    def _keep(self, learner: "Learner") -> None:
        if learner.steps == self._saved:
            return
        best = None if self._best is None else vars(self._best)
        learner.save(
            self._run.path,
            {"evaluations": self._rows, "seconds": self._spent, "rollouts": self._updates, "best": best},
        )
        self._saved = learner.steps

    def _write_evaluations(self) -> None:
        table = io.StringIO()
        writer = csv.DictWriter(table, list(self._rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(self._rows)
        self._run.write(EVALUATIONS, table.getvalue())

    def _result(self, learner: "Learner") -> Trained:
        options = self._options
        now = run_loop_of(Static("present"), self._storms, options)
        present = judge(now)
        static = judge(run_loop_of(Static("best-static", options.start), self._storms, options))
        if self._best is None:
            raise RunError("the training ended before its first evaluation")
        result = Trained(
            self._environment.name, self._run.path, learner.steps, round(self._spent, 3), len(self._storms.numbers),
            self._best, present, static, self._answer(now, static),
        )  # fmt: skip
        self._run.write_json(RESULT, result.to_json())
        return result

    def _answer(self, now: LoopResult, static: Judgement) -> Answer | None:
        """Try loops where neither the policy nor the start is any better than the present setting."""
        policy, present = self._best or static, judge(now)
        effects = [
            effect(name, *map(np.array, ([one.rmst_s], [one.lost_h], [present.rmst_s], [present.lost_h])))
            for name, one in (("policy", policy), ("best-static", static))
        ]
        if any(one.helps for one in effects):
            return None
        setting = resolve(self._options.start, self._options.scenario)
        loops = 1
        for one in loops_tried(Without(self._storms, now.outcomes), setting):
            effects.append(one)
            loops += 1
            if one.helps:
                return None
        return answer(effects, loops)


def evaluations(folder: Path) -> list[Judgement]:
    """Return the evaluations of a training that a folder holds, in their order."""
    with (folder / EVALUATIONS).open(encoding="utf-8", newline="") as file:
        return [
            Judgement(**{field.name: float(row[field.name]) for field in fields(Judgement)})
            for row in csv.DictReader(file)
        ]


def facts_of(environment: Environment, file: TrainingFile) -> dict[str, Any]:
    """Return what a bundle says of itself, in JSON's own types."""
    loop = Loop(environment.options, 1, 1)
    names = tuple(feature.name for feature in loop.features.list)
    lesson = lesson_of(environment.options, file)
    return {
        **interface(environment.options, names, loop.actuator.low, loop.actuator.high),
        "environment": {
            "family": environment.family,
            "variant": environment.variant,
            "changes": dict(environment.changes),
        },
        "training": file.model_dump(mode="json"),
        "warm_start": None if lesson is None else lesson.to_json(),
        "versions": installed_versions(),
        "model": model_hash(),
    }


def play(policy: Policy, options: Options, storms: StormSet) -> LoopResult:
    """Let a policy play storms to their horizon, each in a row of its own environment.

    Args:
        policy: The policy; what it does is deterministic.
        options: Its environment.
        storms: The storms.
    """
    rows = len(storms.numbers)
    loop = Loop(replace(options, early_end=False), rows)
    loop.start(range(rows), storms.numbers)
    state, changed = policy.start(rows), []
    for _ in range(options.episode_steps):
        before = loop.values
        actions, state = policy.act(loop.observe(), state)
        loop.step(actions)
        changed.append((loop.values != before).any(axis=1))
    interval_s = options.interval_steps * loop.batch.dt
    return LoopResult(storms, outcomes(loop.batch), np.array(changed), interval_s)


def run_loop_of(steering: Steering, storms: StormSet, options: Options) -> LoopResult:
    """Run a contestant over storms, on the clock of an environment."""
    return run_loop(steering, storms, delay=options.delay, interval_s=options.control_interval_s)


def judge(result: LoopResult) -> Judgement:
    """Sum a run up."""
    return Judgement(
        float(result.restricted_s.mean()),
        float(result.lost_h.mean()),
        float(result.converged.mean()),
        float(np.mean(result.changes_per_hour)),
    )
