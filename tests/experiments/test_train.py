"""Training runs in small; skipped where the extra is not installed."""

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sb3_contrib")

from signalstorm.agents.bundle import load
from signalstorm.cli.train import _text
from signalstorm.envs.model import scenario_file
from signalstorm.envs.model.errors import InputError, RunError
from signalstorm.experiments import contestants
from signalstorm.experiments.evaluate import StormSet
from signalstorm.experiments.loops import run_loop
from signalstorm.experiments.train import train
from signalstorm.experiments.training_environment import environment_of, own_training
from signalstorm.experiments.training_file import TrainingFile

SMALL = TrainingFile.model_validate(
    {
        "environment": "AttachLteEasy",
        "timesteps": 256,
        "rows": 16,
        "storms": [0, 16],
        "learning": {"steps": 8, "batch_size": 64, "epochs": 1},
        "evaluation": {"every": 1, "storms": 4},
    }
)


train_module: Any = import_module("signalstorm.experiments.train")


class StoppedError(Exception):
    """Stands for Ctrl-C."""


def test_an_interrupted_training_goes_on(tmp_path: Path) -> None:
    def stop(stage: str, done: int, total: int) -> None:
        if done >= 128:
            raise StoppedError

    with pytest.raises(StoppedError):
        train(training=SMALL, out=tmp_path, progress=stop)
    result = train(training=SMALL, out=tmp_path)
    assert result.steps == 256
    steps = [row.split(",")[0] for row in (tmp_path / "evaluations.csv").read_text().splitlines()[1:]]
    assert steps == ["128", "256"]
    assert json.loads((tmp_path / "result.json").read_text())["judged_storms"] == 4
    for name in ("training.yaml", "scenario.yaml", "command.txt", "versions.json", "seeds.json", "log.txt"):
        assert (tmp_path / name).exists()
    assert load(tmp_path / "policy").facts["knobs"] == ["nop_rate"]
    # The bundle takes part wherever a controller does.
    scenario = scenario_file.load("attach-lte-easy")
    policy = contestants.find(tmp_path, scenario)
    found = run_loop(policy, StormSet(scenario, (20_000, 20_001), vary=True))
    assert found.changes.shape == (2,)
    # Another network shows other counters.
    other = scenario_file.load("incident-sgsn-easy")
    with pytest.raises(InputError, match=r"does not fit the environment: .*features were trained, .* are here: number"):
        contestants.find(tmp_path, other)


def test_a_folder_keeps_to_its_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train(training=SMALL, out=tmp_path, timesteps=128)
    with pytest.raises(InputError, match="another training, which differs in seed"):
        train(training=SMALL, out=tmp_path, seed=9)
    monkeypatch.setattr(train_module, "model_hash", lambda: "0123456789abcdef")
    with pytest.raises(InputError, match=r"another training, which differs in model \(was \w{12}, is 0123456789ab\)"):
        train(training=SMALL, out=tmp_path, timesteps=256)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "recommendation.json").write_text("{}")
    with pytest.raises(InputError, match="holds another run"):
        train(training=SMALL, out=tmp_path / "other")


def test_a_training_that_diverges_says_so_and_keeps_no_checkpoint_of_it(tmp_path: Path) -> None:
    from safetensors.numpy import load_file

    plain = SMALL.model_dump(mode="json")
    plain["learning"] |= {"value": 1e300}
    with pytest.raises(RunError, match=r"the training has diverged: at step 128 .* lower learning_rate"):
        train(training=TrainingFile.model_validate(plain), out=tmp_path)
    # What was judged before the update that spoilt it is still there, and whole.
    for name in ("checkpoint.safetensors", "policy/policy.safetensors"):
        assert all(np.isfinite(weights).all() for weights in load_file(tmp_path / name).values())


def test_environments_find_their_trainings() -> None:
    assert environment_of("signalstorm/IncidentSgsnEasy-v0").name == "incident-sgsn-easy"
    assert environment_of("incident-2014-randomised").variant == "Randomised"
    assert environment_of("site-loss").variant == ""
    assert own_training(environment_of("IncidentSgsnEasy")).storms == (0, 1024)
    assert own_training(environment_of("site-loss")) == TrainingFile()
    with pytest.raises(InputError, match=r"Did you mean .*IncidentSgsnEasy"):
        environment_of("IncidentSgsnEazy")
    with pytest.raises(InputError, match="names no environment"):
        train(training=TrainingFile())


def test_policies_on_many_knobs_are_trained_and_judged_too(tmp_path: Path) -> None:
    plain = SMALL.model_dump(mode="json") | {"environment": "AttachLte", "timesteps": 128}
    result = train(training=TrainingFile.model_validate(plain), out=tmp_path)
    assert result.policy.rmst_s > 0
    scenario = scenario_file.load("lab-pcrf")
    with pytest.raises(InputError, match="a comparison moves only nop_rate"):
        contestants.find(tmp_path, scenario)


def test_numbers_of_the_command_line_are_checked_like_those_of_a_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="seed"):
        train(training=SMALL, out=tmp_path, seed=-1)
    with pytest.raises(InputError, match="timesteps"):
        train(training=SMALL, out=tmp_path, timesteps=0)
    with pytest.raises(InputError, match="rows"):
        train(training=SMALL, out=tmp_path, rows=0)


def test_other_rows_get_minibatches_that_fit(tmp_path: Path) -> None:
    train(training=SMALL, out=tmp_path, rows=7, timesteps=56)
    assert "batch_size: 56" in (tmp_path / "training.yaml").read_text()


def test_a_damaged_checkpoint_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    train(training=SMALL, out=tmp_path, timesteps=128)
    content = bytearray((tmp_path / "checkpoint.safetensors").read_bytes())
    content[-3] ^= 1
    (tmp_path / "checkpoint.safetensors").write_bytes(bytes(content))
    train(training=SMALL, out=tmp_path, timesteps=128)
    assert "starts over" in caplog.text


def test_fewer_steps_than_were_made_are_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "signalstorm")
    train(training=SMALL, out=tmp_path)
    kept = (tmp_path / "policy" / "policy.safetensors").read_bytes()
    caplog.clear()
    assert train(training=SMALL, out=tmp_path).steps == 256
    assert "all 256 steps were made before" in caplog.text
    assert train(training=SMALL, out=tmp_path, timesteps=128).steps == 256
    assert "256 steps were made before, more than the 128 asked for" in caplog.text
    assert (tmp_path / "policy" / "policy.safetensors").read_bytes() == kept


def test_a_run_without_a_whole_policy_says_what_is_missing(tmp_path: Path) -> None:
    train(training=SMALL, out=tmp_path, timesteps=128)
    scenario = scenario_file.load("attach-lte-easy")
    for name in ("policy.json", "policy.safetensors"):
        (tmp_path / "policy" / name).rename(tmp_path / "kept")
        for thing in (tmp_path, tmp_path / "policy"):
            with pytest.raises(InputError, match=rf"is not a whole policy bundle: {name} missing"):
                contestants.find(thing, scenario)
        (tmp_path / "kept").rename(tmp_path / "policy" / name)
    assert contestants.find(tmp_path / "policy" / "policy.json", scenario).name == tmp_path.name
    for file in (tmp_path / "policy").iterdir():
        file.unlink()
    with pytest.raises(InputError, match="a training without a policy"):
        contestants.find(tmp_path, scenario)


def test_a_training_that_cannot_help_says_so(tmp_path: Path) -> None:
    result = train("IncidentSgsnBrokenKnob", training=SMALL, timesteps=128, out=tmp_path)
    assert result.answer is not None
    assert result.answer.cannot_help
    assert result.answer.loops >= 6
    record = json.loads((tmp_path / "result.json").read_text())
    assert record["answer"]["sentence"].startswith("cannot help: none of the ")
    assert _text(result).count("cannot help: ") == 1
