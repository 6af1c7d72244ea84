"""The rows through the eyes of Stable-Baselines3; skipped where its extra is not installed."""

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

import gymnasium as gym
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.vec_env import VecMonitor

from signalstorm.envs import families
from signalstorm.envs.model.errors import InputError
from signalstorm.envs.sb3 import KPIS, make_sb3_vec
from signalstorm.envs.vector import StormVectorEnv


@pytest.mark.parametrize("name", [name for name, _, variant in families.ids() if variant == "Easy"])
def test_the_library_finds_nothing_to_say(name: str) -> None:
    check_env(gym.make(name).unwrapped)


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name, _, _ in families.ids()])
def test_the_library_finds_nothing_to_say_about_any(name: str) -> None:
    check_env(gym.make(name).unwrapped)


def test_rows_are_those_of_the_native_environment() -> None:
    rows = make_sb3_vec("signalstorm/AttachLteEasy-v0", num_envs=3, max_episode_steps=6)
    native = StormVectorEnv("AttachLte", "Easy", num_envs=3, max_episode_steps=6)
    rows.seed(5)
    expected, _ = native.reset(seed=5)
    np.testing.assert_array_equal(rows.reset(), expected)
    assert [info["storm"] for info in rows.reset_infos] == native.loop.storms.numbers.tolist()
    for step in range(7):
        actions = np.full((3, 1), 0.3 - 0.1 * step, np.float32)
        observation, reward, done, infos = rows.step(actions)
        expected, rewards, _, truncated, facts = native.step(actions)
        np.testing.assert_array_equal(observation, expected)
        np.testing.assert_array_equal(reward, rewards.astype(np.float32))
        assert done.tolist() == truncated.tolist()
        for row in np.flatnonzero(done):
            assert infos[row]["TimeLimit.truncated"]
            np.testing.assert_array_equal(infos[row]["terminal_observation"], facts["final_obs"][row])
            assert infos[row]["rmst_s"] == facts["final_info"]["rmst_s"][row]
    assert done.tolist() == [False] * 3
    assert set(rows.reward_terms) == set(facts["reward_terms"]) - {f"_{name}" for name in rows.reward_terms}


def test_the_monitor_keeps_kpis() -> None:
    rows = VecMonitor(make_sb3_vec("AttachLteEasy", num_envs=2, max_episode_steps=3), info_keywords=KPIS)
    rows.seed(0)
    rows.reset()
    for _ in range(3):
        *_, infos = rows.step(np.zeros((2, 1), np.float32))
    assert set(KPIS) <= set(infos[0]["episode"])


def test_storms_can_be_chosen_for_all_rows_or_none() -> None:
    rows = make_sb3_vec("attach-lte-easy", num_envs=2)
    rows.set_options({"storm": 17})
    rows.reset()
    assert [info["storm"] for info in rows.reset_infos] == [17, 17]
    rows.set_options([{"storm": 17}, {}])
    with pytest.raises(ValueError, match="every row"):
        rows.reset()


@pytest.mark.parametrize(("options", "word"), [({"strom": 17}, "did you mean storm"), ({"storm": -1}, "whole number")])
def test_wrong_options_are_refused_at_the_reset(options: dict[str, int], word: str) -> None:
    rows = make_sb3_vec("AttachLteEasy", num_envs=2)
    rows.set_options(options)
    with pytest.raises(InputError, match=f"(?i){word}"):
        rows.reset()


def test_what_rows_share_can_be_read_but_not_set() -> None:
    rows = make_sb3_vec("AttachLteEasy", num_envs=2)
    rows.reset()
    assert rows.get_attr("render_mode") == [None, None]
    assert rows.get_attr("num_envs", 0) == [2]
    assert rows.env_is_wrapped(VecMonitor) == [False, False]
    assert "registered" in rows.text() or "reported" in rows.text()
    assert rows.get_images() == [None, None]
    assert len(rows.env_method("render")) == 2
    with pytest.raises(NotImplementedError):
        rows.set_attr("num_envs", 3)
    rows.close()


def test_a_wrong_reset_mode_or_argument_is_refused() -> None:
    with pytest.raises(ValueError, match="in the step that ends one"):
        make_sb3_vec("AttachLteEasy", autoreset_mode="NextStep")
    with pytest.raises(InputError, match="delay"):
        make_sb3_vec("AttachLteEasy", delya=1)
