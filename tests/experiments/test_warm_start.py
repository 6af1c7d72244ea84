"""A policy that is shown what a law does; skipped where the extra is not installed."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sb3_contrib")

from signalstorm.agents.steering import Lawful
from signalstorm.envs.model.errors import InputError
from signalstorm.experiments.contestants import laws
from signalstorm.experiments.evaluate import StormSet
from signalstorm.experiments.loops import run_loop
from signalstorm.experiments.train import evaluations, judge, train
from signalstorm.experiments.training_environment import environment_of
from signalstorm.experiments.training_file import TrainingFile, parse_training
from signalstorm.experiments.warm_start import Played, lesson_of, play_and_ask

PLAIN: dict[str, Any] = {
    "environment": "AttachLteEasy",
    "options": {"action_mode": "delta"},
    "timesteps": 256,
    "rows": 16,
    "storms": [0, 16],
    "learning": {"steps": 8, "batch_size": 64, "epochs": 1, "log_std": -3.0, "learning_rate": 1.0e-5},
    "warm_start": {"law": "pid", "rounds": 2, "storms": 16, "epochs": 60},
    "evaluation": {"every": 1, "storms": 4},
}
SMALL = TrainingFile.model_validate(PLAIN)
OPTIONS = environment_of("AttachLteEasy", {"action_mode": "delta"}).options


class StoppedError(Exception):
    """Stands for Ctrl-C."""


def test_a_law_that_plays_through_actions_does_what_it_does_without() -> None:
    law = laws(OPTIONS.scenario)["pid"]
    played = play_and_ask(law, OPTIONS, range(6), None)
    plain = run_loop(Lawful(law), StormSet(OPTIONS.scenario, tuple(range(6)), vary=True))
    over_s = plain.outcomes.convergence_time_s + OPTIONS.scenario.convergence.count_from_s
    lasted = played.lasting[:-1].sum(axis=0) * OPTIONS.control_interval_s
    assert len(played.observations) == len(played.actions) + 1 == OPTIONS.episode_steps + 1
    ended = lasted < OPTIONS.episode_steps * OPTIONS.control_interval_s
    assert ended.any()
    # An episode ends once it is sure that the storm is over, some intervals after it was.
    assert ((lasted >= over_s) & (lasted <= over_s + 600.0))[ended].all()
    assert np.abs(played.actions[played.lasting[:-1]]).max() > 0.05


def test_returns_add_up_and_end_with_the_storm() -> None:
    lasting = np.array([[True, True], [True, True], [False, True]])
    played = Played(
        np.zeros((3, 2, 1), np.float32), np.zeros((2, 2, 1)), np.array([[-1.0, -1.0], [-2.0, -3.0]]), lasting
    )
    np.testing.assert_allclose(played.returns(0.5, np.array([-8.0, -8.0])), [[-2.0, -4.5], [-2.0, -7.0]])


def test_a_policy_begins_as_the_law_and_its_bundle_says_so(tmp_path: Path) -> None:
    stages: list[tuple[str, int, int]] = []
    train(training=SMALL, out=tmp_path, progress=lambda *told: stages.append(told))
    assert [told for told in stages if told[0] == "warm start"] == [("warm start", n, 2) for n in range(3)]
    storms = StormSet(OPTIONS.scenario, tuple(SMALL.judged_on), vary=True)
    law = laws(OPTIONS.scenario)["pid"]
    shown = judge(run_loop(Lawful(law), storms))
    first = evaluations(tmp_path)[0]
    assert (tmp_path / "evaluations.csv").read_text().splitlines()[1].startswith("0,")
    assert first.rmst_s == pytest.approx(shown.rmst_s, rel=0.15)
    facts = json.loads((tmp_path / "policy" / "policy.json").read_text())
    assert facts["warm_start"]["law"] == "pid"
    assert facts["warm_start"]["parameters"] == vars(law)
    log = (tmp_path / "log.txt").read_text()
    assert "round 1: pid played 16 storms" in log
    assert "round 2: the policy played 16 storms" in log


def test_a_warm_start_that_is_cut_short_begins_again_and_comes_to_the_same(tmp_path: Path) -> None:
    def stop(stage: str, done: int, total: int) -> None:
        if (stage, done) == ("warm start", 1):
            raise StoppedError

    train(training=SMALL, out=tmp_path / "whole")
    with pytest.raises(StoppedError):
        train(training=SMALL, out=tmp_path / "cut", progress=stop)
    assert not (tmp_path / "cut" / "checkpoint.json").exists()
    train(training=SMALL, out=tmp_path / "cut")
    assert (tmp_path / "cut" / "evaluations.csv").exists()
    first, second = (evaluations(tmp_path / name) for name in ("whole", "cut"))
    assert first == second


def test_a_warm_start_is_made_once(tmp_path: Path) -> None:
    def stop(stage: str, done: int, total: int) -> None:
        if stage == "train":
            raise StoppedError

    with pytest.raises(StoppedError):
        train(training=SMALL, out=tmp_path, progress=stop)
    stages: list[str] = []
    assert train(training=SMALL, out=tmp_path, progress=lambda stage, *_: stages.append(stage)).steps == 256
    assert set(stages) == {"train"}
    steps = [row.split(",")[0] for row in (tmp_path / "evaluations.csv").read_text().splitlines()[1:]]
    assert steps == ["0", "128", "256"]


@pytest.mark.parametrize(
    ("environment", "options", "law", "said"),
    [
        ("AttachLteEasy", {"action_mode": "discrete"}, "pid", "which discrete actions do not reach"),
        ("AttachLteEasy", {}, "adaptive-lifo", "does not apply to nop_rate of attach-lte-easy"),
        ("AttachLte", {}, "pid", "laws move nop_rate alone, but the policy is to move nop_rate, "),
        ("ImsimgrBroadcastRandomised", {}, "pid", "does not apply to broadcast_off_percent"),
    ],
)
def test_laws_that_cannot_be_followed_are_refused_before_anything_is_written(
    tmp_path: Path, environment: str, options: dict[str, Any], law: str, said: str
) -> None:
    plain = {**PLAIN, "environment": environment, "options": options, "warm_start": {"law": law}}
    with pytest.raises(InputError, match=said) as failure:
        train(training=TrainingFile.model_validate(plain), out=tmp_path / "run")
    assert failure.value.faults[0].key == "warm_start.law"
    assert not (tmp_path / "run").exists()


def test_without_a_warm_start_there_is_no_lesson() -> None:
    assert lesson_of(OPTIONS, TrainingFile()) is None


def test_faults_of_the_file_are_said_together() -> None:
    text = "warm_start: {law: pit, rounds: 0}\nlearning: {gamma: 2}"
    with pytest.raises(InputError) as failure:
        parse_training(text, "mine.yaml")
    assert {fault.key for fault in failure.value.faults} == {"warm_start.law", "warm_start.rounds", "learning.gamma"}
    assert "Did you mean pid" in str(failure.value)
    with pytest.raises(InputError, match="for policies without a memory"):
        parse_training("warm_start: {law: pid}\nlearning: {algorithm: recurrent-ppo}", "mine.yaml")
