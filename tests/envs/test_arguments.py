"""What environments refuse before anything is built or moved."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from signalstorm.envs.model.errors import InputError
from signalstorm.envs.storm import StormEnv
from signalstorm.envs.vector import StormVectorEnv

EASY = ("AttachLte", "Easy")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("num_envs", 0), ("num_envs", -1), ("num_envs", 2.5), ("num_envs", True),
        ("max_episode_steps", -1), ("max_episode_steps", 0), ("max_episode_steps", 2.5),
        ("threads", 0), ("threads", -3), ("threads", 1.5),
        ("render_mode", "foo"), ("render_mode", "rgb_array"),
    ],
)  # fmt: skip
def test_rows_refuse_odd_values(name: str, value: Any) -> None:
    with pytest.raises(InputError) as failure:
        StormVectorEnv(*EASY, **{name: value})
    assert [fault.key for fault in failure.value.faults] == [name]


@pytest.mark.parametrize(("name", "value"), [("threads", 0), ("render_mode", "foo"), ("render_mode", "human")])
def test_the_single_environment_refuses_odd_values(name: str, value: Any) -> None:
    with pytest.raises(InputError) as failure:
        StormEnv(*EASY, **{name: value})
    assert [fault.key for fault in failure.value.faults] == [name]


def test_the_mode_that_a_wrapper_adds_is_named() -> None:
    with pytest.raises(InputError, match="One of: rgb_array, ansi, human"):
        StormEnv(*EASY, render_mode="foo")
    with pytest.raises(InputError, match=r"with gymnasium\.make"):
        StormEnv(*EASY, render_mode="human")
    with pytest.raises(InputError, match=r"One of: ansi\."):
        StormVectorEnv(*EASY, render_mode="human")


def test_all_faults_of_a_call_come_at_once() -> None:
    with pytest.raises(InputError) as failure:
        StormVectorEnv(*EASY, num_envs=0, threads=-1, render_mode="foo", dleay=1, delay=True)
    assert [fault.key for fault in failure.value.faults] == ["num_envs", "threads", "render_mode", "dleay", "delay"]


@pytest.mark.parametrize("count", [10**9, 16_385])
def test_rows_that_no_memory_holds_are_refused_before_they_are_made(count: int) -> None:
    with pytest.raises(InputError, match="num_envs: must be a whole number from 1 to 16,384") as failure:
        gym.make_vec("signalstorm/AttachLteEasy-v0", num_envs=count)
    assert [fault.key for fault in failure.value.faults] == ["num_envs"]
    with pytest.raises(InputError, match="num_envs: must be a whole number from 1 to 16,384"):
        StormVectorEnv("CoreStorm", "Randomised", num_envs=count)


def test_numbers_of_numpy_will_do() -> None:
    numbers: dict[str, Any] = {"num_envs": np.int64(2), "max_episode_steps": np.int32(5), "delay": np.int8(1)}
    rows = StormVectorEnv(*EASY, **numbers)
    assert rows.num_envs == 2
    rows.reset(options={"storm": np.array([7, 8])})
    assert rows.loop.storms.numbers.tolist() == [7, 8]


@pytest.mark.parametrize(
    ("options", "keys"),
    [
        (5, ["options"]),
        ({"strom": 3}, ["options.strom"]),
        ({"storm": 10**30}, ["options.storm"]),
        ({"storm": -1}, ["options.storm"]),
        ({"storm": True}, ["options.storm"]),
        ({"storm": 1.0, "seed": 3}, ["options.seed", "options.storm"]),
    ],
)
def test_wrong_options_of_reset_leave_the_storm_as_it_is(options: Any, keys: list[str]) -> None:
    env = StormEnv(*EASY)
    _, before = env.reset(seed=1, options={"storm": 17})
    with pytest.raises(InputError) as failure:
        env.reset(seed=2, options=options)
    assert [fault.key for fault in failure.value.faults] == keys
    rows = StormVectorEnv(*EASY, num_envs=2)
    rows.reset(seed=1, options={"storm": 17})
    with pytest.raises(InputError) as failure:
        rows.reset(seed=2, options=options)
    assert [fault.key for fault in failure.value.faults] == keys
    assert before["storm"] == 17
    assert rows.loop.storms.numbers.tolist() == [17, 17]


@pytest.mark.parametrize("options", [{"storm": [1, 2, 3]}, {"storm": [1, -2]}, {"reset_mask": [1, 0]}])
def test_rows_refuse_options_that_do_not_fit_them(options: Any) -> None:
    rows = StormVectorEnv(*EASY, num_envs=2)
    with pytest.raises(InputError, match=r"or 2 of them|one truth value per row"):
        rows.reset(options=options)


def test_a_step_needs_a_storm() -> None:
    with pytest.raises(gym.error.ResetNeeded):
        StormEnv(*EASY).step(np.zeros(1, np.float32))
    with pytest.raises(gym.error.ResetNeeded):
        StormVectorEnv(*EASY, num_envs=2).step(np.zeros((2, 1), np.float32))
