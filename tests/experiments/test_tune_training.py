"""Searches among trainings: the search and its gates on figures made up, then one training in small that is real."""

import csv
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from optuna.trial import TrialState

from signalstorm.envs.model.errors import InputError
from signalstorm.envs.model.knob_table import KnobValue
from signalstorm.experiments import tune_training as module
from signalstorm.experiments.evaluate import StormSet
from signalstorm.experiments.storage import open_storage
from signalstorm.experiments.training_file import load_training
from signalstorm.experiments.training_study import TrainingStudy
from signalstorm.experiments.trainings import Played, Trainings
from signalstorm.experiments.tune_training import TunedTraining, tune_training

STUDY = TrainingStudy.model_validate(
    {
        "parameters": {"learning_rate": None, "gamma": None, "steps": None},
        "storms": 4,
        "sampler": {"startup": 3, "batch": 1},
        "pruner": {"startup": 3},
        "budget": {"trials": 12},
        "seeds": {"count": 2},
        "confirmation": {"candidates": 2, "seeds": 2, "held_out": 8},
    }
)
Cost = Callable[[Mapping[str, KnobValue], int], float]


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> Callable[[Cost], list[str]]:
    """Let trainings cost nothing and come to what a function says; returns the names of those that were made."""

    def use(cost: Cost) -> list[str]:
        made: list[str] = []

        def played(
            self: Trainings, name: str, setting: Mapping[str, KnobValue], seed: int, storms: StormSet, watch: Any = None
        ) -> Played:
            made.append(f"{name}-{seed}")
            mean = cost(self.space.identity(setting), seed)
            times_s = np.array([[mean * (1.0 + 0.01 * i) for i in range(len(storms.numbers))]], np.float64)
            return Played(times_s, times_s / 3600.0)

        monkeypatch.setattr(Trainings, "played", played)
        monkeypatch.setattr(module, "library", lambda: None)
        return made

    return use


def slower_far_from(best: float) -> Cost:
    """Return trainings that end storms the sooner the closer the learning rate is to a value."""
    return lambda setting, seed: 100.0 + 30.0 * abs(np.log10(float(setting["learning_rate"]) / best)) + 0.1 * seed


def run(folder: Path, **options: Any) -> TunedTraining:
    return tune_training("AttachLteEasy", **{"study": STUDY, "out": folder / "run", **options})


def rows(folder: Path) -> list[dict[str, str]]:
    with (folder / "run" / "trials.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_better_hyper_parameters_are_found_and_written(tmp_path: Path, trained: Callable[[Cost], list[str]]) -> None:
    trained(slower_far_from(2e-3))
    found = run(tmp_path)
    assert found.better
    assert found.held_out is not None
    assert found.held_out.ratio[2] < 1.0
    assert found.held_out.seeds == (4, 5)
    assert found.after["learning_rate"] > found.before["learning_rate"] == 5e-4
    training = load_training(tmp_path / "run" / "training.yaml")
    assert training.learning.learning_rate == found.after["learning_rate"]
    assert training.environment == "AttachLteEasy"
    assert training.timesteps == load_training("attach-lte-easy").timesteps
    table = rows(tmp_path)
    assert len(table) == found.trials == 12
    assert table[0]["before"] == "True"
    assert found.pruned == sum(row["complete"] == "False" for row in table) > 0
    assert json.loads((tmp_path / "run" / "tuned-training.json").read_text())["worse_seeds"] == []
    for name in ("study.yaml", "scenario.yaml", "command.txt", "versions.json", "seeds.json", "log.txt"):
        assert (tmp_path / "run" / name).exists()


def test_what_is_no_better_on_fresh_seeds_changes_nothing(tmp_path: Path, trained: Callable[[Cost], list[str]]) -> None:
    lucky = slower_far_from(2e-3)
    trained(lambda setting, seed: lucky(setting, seed) if seed < 2 else 100.0)
    found = run(tmp_path)
    assert (found.better, found.held_out, dict(found.changes)) == (False, None, {})
    assert "on fresh seeds" in found.verdict
    written = load_training(tmp_path / "run" / "training.yaml")
    assert written.learning == load_training("attach-lte-easy").learning


def test_what_is_worse_under_one_fresh_seed_changes_nothing(
    tmp_path: Path, trained: Callable[[Cost], list[str]]
) -> None:
    plain = slower_far_from(2e-3)
    trained(lambda setting, seed: 130.0 if seed == 5 and setting["learning_rate"] != 5e-4 else plain(setting, seed))
    found = run(tmp_path)
    assert not found.better
    assert found.held_out is not None
    assert found.held_out.worse == (5,)
    assert "worse under seed 5" in found.verdict
    assert not found.changes


def test_where_nothing_is_better_the_training_stays(tmp_path: Path, trained: Callable[[Cost], list[str]]) -> None:
    made = trained(lambda setting, seed: 100.0)
    found = run(tmp_path)
    assert "none of 12 trials" in found.verdict
    assert not [name for name in made if not name.startswith("trial")]


def test_an_interrupted_search_comes_to_the_same(tmp_path: Path, trained: Callable[[Cost], list[str]]) -> None:
    cost = slower_far_from(2e-3)
    trained(cost)
    whole = run(tmp_path)
    calls = 0

    def failing(setting: Mapping[str, KnobValue], seed: int) -> float:
        nonlocal calls
        calls += 1
        if calls in (1, 4, 9):
            raise KeyboardInterrupt
        return cost(setting, seed)

    trained(failing)
    again = tmp_path / "again"
    again.mkdir()
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            run(again)
    resumed = run(again)
    assert rows(again) == rows(tmp_path)
    assert resumed.changes == whole.changes
    assert resumed.held_out == whole.held_out
    frozen = open_storage(None, again / "run" / "journal.log").get_all_trials(0)
    assert {trial.state for trial in frozen} <= {TrialState.COMPLETE, TrialState.PRUNED}
    assert len(frozen) == 12


def test_more_trials_go_on_and_other_studies_are_refused(tmp_path: Path, trained: Callable[[Cost], list[str]]) -> None:
    trained(slower_far_from(2e-3))
    run(tmp_path, trials=5)
    run(tmp_path, trials=7)
    assert len(rows(tmp_path)) == 7
    with pytest.raises(InputError, match="run of another study"):
        run(tmp_path, seeds=3)
    with pytest.raises(InputError, match="holds another study of the name attach-lte-easy-training"):
        run(tmp_path, seeds=3, out=tmp_path / "other", storage=str(tmp_path / "run" / "journal.log"))


def test_two_commands_share_a_study(tmp_path: Path, trained: Callable[[Cost], list[str]]) -> None:
    trained(slower_far_from(2e-3))
    store = str(tmp_path / "store.log")
    run(tmp_path, storage=store, trials=5)
    other = tmp_path / "other"
    other.mkdir()
    run(other, storage=store, trials=9)
    table = rows(other)
    assert len(table) == 9
    assert len({(row["learning_rate"], row["gamma"], row["steps"]) for row in table}) == 9


def test_wrong_arguments(tmp_path: Path, trained: Callable[[Cost], list[str]]) -> None:
    trained(slower_far_from(2e-3))
    with pytest.raises(InputError, match="must be 1 to"):
        run(tmp_path, trials=0)
    with pytest.raises(InputError, match="Did you mean gamma"):
        run(tmp_path, parameters=["gama"])
    with pytest.raises(InputError, match="at least one hyper-parameter"):
        run(tmp_path, parameters=[])
    with pytest.raises(InputError, match="names no environment"):
        tune_training(study=STUDY, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_real_trainings_in_small(tmp_path: Path) -> None:
    pytest.importorskip("sb3_contrib")
    training = tmp_path / "small.yaml"
    training.write_text(
        "environment: AttachLteEasy\ntimesteps: 384\nrows: 16\nstorms: [0, 16]\n"
        "learning: {steps: 8, batch_size: 64, epochs: 1}\nevaluation: {every: 1, storms: 4}\n"
    )
    study = STUDY.model_copy(
        update={
            "training": str(training),
            "parameters": {"learning_rate": None},
            "budget": STUDY.budget.model_copy(update={"trials": 3}),
            "pruner": STUDY.pruner.model_copy(update={"startup": 1}),
            "seeds": STUDY.seeds.model_copy(update={"count": 1}),
        }
    )
    told: list[str] = []
    found = tune_training(study=study, out=tmp_path / "run", progress=lambda stage, done, total: told.append(stage))
    assert found.trials == 3
    assert told[0] == "trial 0000, seed 0"
    assert any("before" in stage for stage in told)
    curves = [row["curve"].split() for row in rows(tmp_path)]
    assert len(curves[0]) == 3
    # Nothing is trained a second time.
    told.clear()
    again = tune_training(study=study, out=tmp_path / "run", progress=lambda stage, done, total: told.append(stage))
    assert not told
    assert again.verdict == found.verdict
    # Nor where a trial is run again whose trainings are through, and their curves are the same.
    before = rows(tmp_path)
    (tmp_path / "run" / "journal.log").unlink()
    tune_training(study=study, out=tmp_path / "run", progress=lambda stage, done, total: told.append(stage))
    assert not told
    assert rows(tmp_path) == before
