"""Learning in small; skipped where its extra is not installed."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sb3_contrib")

from signalstorm.agents.ppo import Hyperparameters, Learner, Watch
from signalstorm.envs.model.errors import RunError
from signalstorm.envs.sb3 import make_sb3_vec

SMALL = Hyperparameters(steps=8, batch_size=32, epochs=2)


def learner(total: int, board: Path | None = None, **changes: Any) -> Learner:
    rows = make_sb3_vec("AttachLteEasy", num_envs=8, max_episode_steps=6, **changes)
    return Learner(rows, SMALL, 3, total, board)


def test_a_policy_without_the_library_does_the_same(tmp_path: Path) -> None:
    seen: list[int] = []

    def note(it: Learner) -> bool:
        seen.append(it.steps)
        return True

    one = learner(128, tmp_path / "board")
    one.learn(Watch(note))
    assert seen == [64, 128]
    assert np.isfinite(one.return_mean)
    x = np.random.default_rng(0).random((100, one.rows.observation_space.shape[0])).astype(np.float32)
    expected, _ = one.model.predict(x, deterministic=True)
    np.testing.assert_allclose(one.policy().act(x)[0], expected, atol=1e-5)
    assert list((tmp_path / "board").glob("events*"))
    one.close()


@pytest.mark.parametrize("steps", [64, 192])
def test_weights_that_are_no_numbers_end_a_training(steps: int) -> None:
    rows = make_sb3_vec("AttachLteEasy", num_envs=8, max_episode_steps=6)
    one = Learner(rows, replace(SMALL, learning_rate=1e30, learning_rate_end=1e30), 3, steps)
    assert one.sound
    # Whether the library stumbles over its next action, or the last update has spoilt them.
    with pytest.raises(RunError, match="the training has diverged: at step 64 weights are no finite numbers"):
        one.learn(Watch(lambda it: True))
    assert not one.sound
    one.close()


@pytest.mark.parametrize("mode", ["discrete"])
def test_choices_are_learnt_too(mode: str) -> None:
    one = learner(64, action_mode=mode)
    one.learn(Watch(lambda it: True))
    x = np.random.default_rng(0).random((50, one.rows.observation_space.shape[0])).astype(np.float32)
    expected, _ = one.model.predict(x, deterministic=True)
    np.testing.assert_array_equal(one.policy().act(x)[0], expected)


def test_the_recurrent_one_as_well() -> None:
    rows = make_sb3_vec("AttachLteEasy", num_envs=8, max_episode_steps=6)
    parameters = Hyperparameters(algorithm="recurrent-ppo", steps=8, batch_size=32, epochs=1, lstm=16)
    one = Learner(rows, parameters, 0, 64)
    one.learn(Watch(lambda it: True))
    policy = one.policy()
    rng = np.random.default_rng(0)
    theirs, mine, first = None, None, np.ones(4, bool)
    for _ in range(3):
        x = rng.random((4, rows.observation_space.shape[0])).astype(np.float32)
        expected, theirs = one.model.predict(x, state=theirs, episode_start=first, deterministic=True)
        actions, mine = policy.act(x, mine)
        np.testing.assert_allclose(actions, expected, atol=1e-5)
        first = np.zeros(4, bool)


def test_a_checkpoint_takes_up_where_it_was(tmp_path: Path) -> None:
    one = learner(64)
    one.learn(Watch(lambda it: True))
    one.save(tmp_path, {"note": 1})
    other = learner(128)
    assert other.restore(tmp_path) == {"steps": 64, "updates": 2, "note": 1}
    for mine, its in zip(one.model.policy.parameters(), other.model.policy.parameters(), strict=True):
        assert (mine == its).all()
    other.learn(Watch(lambda it: True))
    assert other.steps == 128
    (tmp_path / "checkpoint.safetensors").write_bytes(b"broken")
    assert learner(64).restore(tmp_path) is None
