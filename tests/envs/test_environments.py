"""Every id through the checks of Gymnasium, and rows of a batch against single environments."""

import copy
import pickle
import warnings
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

import signalstorm
from signalstorm.envs import families
from signalstorm.envs.loop import Loop
from signalstorm.envs.model.errors import InputError
from signalstorm.envs.registry import options_of
from signalstorm.envs.storm import StormEnv
from signalstorm.envs.vector import StormVectorEnv

IDS = [name for name, _, _ in families.ids()]
SMALL = [name for name in IDS if "Easy" in name]


@pytest.fixture(autouse=True)
def _no_warnings() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def loop_of(rows: gym.vector.VectorEnv[Any, Any, Any]) -> Loop:
    assert isinstance(rows.unwrapped, StormVectorEnv)
    return rows.unwrapped.loop


def actions_of(space: gym.Space[Any], seed: int, count: int) -> list[Any]:
    space.seed(seed)
    return [space.sample() for _ in range(count)]


def equal(single: gym.Env[Any, Any], rows: Any, seed: int, steps: int, episodes: int) -> int:
    """Play single environments with the seeds of rows of a batch, with the same actions; returns the episodes seen."""
    count = rows.num_envs
    actions = [actions_of(single.action_space, 100 + row, steps) for row in range(count)]
    observation, _ = rows.reset(seed=seed)
    seen = []
    for step in range(steps):
        batch = np.array([actions[row][step] for row in range(count)])
        result = rows.step(batch)
        seen.append((observation, *(np.array(part) for part in result[:4]), result[4]))
        observation = result[0]
    done = 0
    for row in range(count):
        observation, _ = single.reset(seed=seed + row)
        for step in range(steps):
            before, _, reward, terminated, truncated, info = (part for part in seen[step])
            np.testing.assert_array_equal(before[row], observation)
            observation, alone, over, cut, facts = single.step(actions[row][step])
            assert (alone, over, cut) == (reward[row], terminated[row], truncated[row])
            for name, value in facts["reward_terms"].items():
                assert info["reward_terms"][name][row] == value
            if over or cut:
                done += 1
                np.testing.assert_array_equal(info["final_obs"][row], observation)
                final = info["final_info"]
                for name in ("storm", "rmst_s", "subscriber_hours_lost", "attempts", "changes"):
                    assert final[name][row] == facts[name]
                observation, _ = single.reset()
                if done >= episodes * count:
                    return done
    return done


@pytest.mark.parametrize("name", SMALL)
def test_gymnasium_finds_nothing_to_say(name: str) -> None:
    check_env(gym.make(name).unwrapped)


@pytest.mark.long
@pytest.mark.parametrize("name", IDS)
def test_gymnasium_finds_nothing_to_say_about_any(name: str) -> None:
    check_env(gym.make(name).unwrapped)


@pytest.mark.parametrize("name", SMALL[:2])
def test_rows_equal_single_environments(name: str) -> None:
    assert equal(gym.make(name), gym.make_vec(name, num_envs=3, threads=2), 7, 300, 2) >= 3


@pytest.mark.long
@pytest.mark.parametrize("name", IDS)
def test_rows_equal_single_environments_for_ten_episodes(name: str) -> None:
    steps = 11 * gym.spec(name).max_episode_steps  # type: ignore[operator]
    assert equal(gym.make(name), gym.make_vec(name, num_envs=2, threads=2), 0, steps, 10) >= 20


@pytest.mark.long
@pytest.mark.parametrize("family", [family.name for family in families.FAMILIES.values()])
def test_random_steps_stay_inside_the_spaces(family: str) -> None:
    rows = gym.make_vec(f"signalstorm/{family}-v0", num_envs=250)
    rows.action_space.seed(3)
    observation, _ = rows.reset(seed=1)
    for _ in range(400):
        observation, reward, *_ = rows.step(rows.action_space.sample())
        assert rows.observation_space.contains(observation)
        assert np.isfinite(reward).all()


@pytest.mark.parametrize("name", IDS)
def test_ids_know_the_length_of_their_episodes(name: str) -> None:
    spec = gym.spec(name)
    assert spec.max_episode_steps == options_of(**spec.kwargs).episode_steps
    assert gym.envs.registration.EnvSpec.from_json(spec.to_json()) == spec


def test_a_module_before_the_id_registers_it() -> None:
    env = gym.make("signalstorm:signalstorm/AttachLteEasy-v0")
    assert env.spec is not None
    assert env.spec.max_episode_steps == 120


def test_a_storm_can_be_chosen_and_is_that_of_simulate() -> None:
    env = gym.make("signalstorm/AttachLte-v0", knobs=["nop_rate"], action_mode="delta")
    env.reset(seed=1, options={"storm": 20_003})
    for _ in range(600):
        _, _, terminated, truncated, info = env.step(np.zeros(1, np.float32))
        if terminated or truncated:
            break
    expected = signalstorm.simulate("lab-pcrf", seeds=[20_003])
    assert info["storm"] == 20_003
    assert info["convergence_time_s"] == expected.outcomes.convergence_time_s[0]
    assert info["attempts"] == expected.outcomes.attempts[0]


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.DISABLED])
def test_other_ways_to_reset(mode: AutoresetMode) -> None:
    rows = gym.make_vec("signalstorm/AttachLteEasy-v0", num_envs=4, autoreset_mode=mode, max_episode_steps=5)
    assert rows.metadata["autoreset_mode"] is mode
    rows.reset(seed=0)
    first = loop_of(rows).storms.numbers.copy()
    for _ in range(5):
        *_, truncated, infos = rows.step(rows.action_space.sample())
    assert truncated.all()
    assert infos["_rmst_s"].all()
    if mode is AutoresetMode.DISABLED:
        rows.reset(options={"reset_mask": np.array([True, False, True, False])})
        assert (loop_of(rows).storms.numbers != first).tolist() == [True, False, True, False]
        return
    _observation, reward, terminated, truncated, infos = rows.step(rows.action_space.sample())
    assert not terminated.any()
    assert not truncated.any()
    assert not reward.any()
    assert (loop_of(rows).storms.numbers != first).all()
    assert not loop_of(rows).storms.steps.any()


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("again", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))], ids=["copy", "pickle"])
def test_copies_go_on_like_the_original(name: str, again: Any) -> None:
    env = gym.make(name, render_mode="ansi")
    env.reset(seed=1)
    env.step(np.array([0.5], np.float32))
    other = again(env)
    for action in (-0.2, 0.3):
        expected, found = (one.step(np.array([action], np.float32)) for one in (env, other))
        np.testing.assert_array_equal(found[0], expected[0])
        assert found[1:] == expected[1:]
    assert other.render() == env.render()
    rows = gym.make_vec(name, num_envs=2)
    rows.reset(seed=1)
    actions = rows.action_space.sample()
    expected, found = (one.step(actions) for one in (rows, again(rows)))
    for left, right in zip(found[:4], expected[:4], strict=True):
        np.testing.assert_array_equal(left, right)


def test_storms_worked_out_ahead_of_time_are_those_the_seeds_draw() -> None:
    rows = gym.make_vec("signalstorm/AttachLteEasy-v0", num_envs=4, max_episode_steps=3)
    _, infos = rows.reset(seed=40)
    played = [[number] for number in infos["storm"].tolist()]
    rows.reset(options={"reset_mask": np.array([False, True, False, False])})
    played[1].append(int(loop_of(rows).storms.numbers[1]))
    seeds: Any = [None, None, 50, None]
    rows.reset(seed=seeds, options={"reset_mask": np.array([False, False, True, False])})
    played[2] = [int(loop_of(rows).storms.numbers[2])]
    for _ in range(9):
        *_, terminated, truncated, _ = rows.step(rows.action_space.sample())
        for row in np.flatnonzero(terminated | truncated):
            played[row].append(int(loop_of(rows).storms.numbers[row]))
    first, beyond = options_of("AttachLte", "Easy").storms
    for seed, numbers in zip((40, 41, 50, 43), played, strict=True):
        rng, _ = gym.utils.seeding.np_random(seed)
        assert numbers == [int(rng.integers(first, beyond)) for _ in numbers]


def test_shaping_adds_up_to_the_difference_of_potentials() -> None:
    changes: dict[str, Any] = {"family": "AttachLte", "variant": "Easy", "num_envs": 3, "early_end": False}
    plain, shaped = StormVectorEnv(**changes), StormVectorEnv(**changes, shaping_gamma=1.0)
    for rows in (plain, shaped):
        rows.reset(seed=0)
    potential, sums = [], np.zeros(3)
    for _ in range(20):
        actions = np.full((3, 1), 0.2, np.float32)
        _, reward, *_, infos = plain.step(actions)
        _, more, *_, found = shaped.step(actions)
        np.testing.assert_allclose(more, reward + found["reward_terms"]["shaping"])
        assert "shaping" not in infos["reward_terms"]
        sums += found["reward_terms"]["shaping"]
        potential.append(plain.loop.seen["registered"] / 40_000)
    np.testing.assert_allclose(sums, potential[-1] - 1.0, atol=1e-3)  # at first only the steady few are without service
    assert (sums < -0.05).all()


def test_the_unhealthy_term_counts_the_time_to_convergence() -> None:
    rows = StormVectorEnv(family="AttachLte", variant="Easy", num_envs=8, weights={"unhealthy": 2.0})
    rows.reset(seed=0)
    counted, times_s = np.zeros(8), np.full(8, np.nan)
    while np.isnan(times_s).any():
        *_, ended, cut, infos = rows.step(np.full((8, 1), 0.2, np.float32))
        running = np.isnan(times_s)
        counted[running] -= infos["reward_terms"]["unhealthy"][running] / 2.0
        done = running & (ended | cut)
        if done.any():
            times_s[done] = infos["final_info"]["rmst_s"][done]
    interval_s = options_of("AttachLte", "Easy").control_interval_s
    # Both count from the same second on, the term in whole intervals.
    ahead_s = times_s - counted * interval_s
    assert counted.min() > 3
    assert np.ptp(ahead_s) <= interval_s


def test_statistics_wrappers_of_gymnasium_work_on_the_rows() -> None:
    rows = gym.wrappers.vector.RecordEpisodeStatistics(
        gym.make_vec("signalstorm/AttachLteEasy-v0", num_envs=3, max_episode_steps=4)
    )
    rows.reset(seed=0)
    for _ in range(4):
        *_, infos = rows.step(rows.action_space.sample())
    assert infos["episode"]["l"].tolist() == [4, 4, 4]


def test_an_episode_costs_between_a_hundredth_and_a_thousand() -> None:
    for name in SMALL:
        rows = gym.make_vec(name, num_envs=8)
        rows.reset(seed=0)
        returns = np.zeros(8)
        for _ in range(gym.spec(name).max_episode_steps or 0):
            _, reward, _, _, _ = rows.step(rows.action_space.sample())
            returns += reward
        assert (returns < -1e-2).all(), name
        assert (returns > -1e3).all(), name


def test_populations_of_any_size_cost_alike() -> None:
    returns = []
    for size in (1_000, 125_000_000):
        scenario = options_of("lab-pcrf").scenario
        factor = size / 1000
        scaled = scenario.with_fields(
            {
                "subscribers.0.size": size,
                "demand.rate_per_s": 100.0 * factor,
                "topology.pcrf.rate_per_s": 50.0 * factor,
                "topology.pcrf.buffer": 117.0 * factor,
            }
        )
        env = StormEnv("lab-pcrf", scenario=scaled, knobs=["diameter_tx_s"])
        env.reset(options={"storm": 0})
        total = 0.0
        for _ in range(600):
            _, reward, terminated, truncated, _ = env.step(np.array([-0.8], np.float32))
            total += reward
            if terminated or truncated:
                break
        returns.append(total)
    assert all(1e-2 < -value < 1e3 for value in returns)


def test_wrong_options_are_refused_by_name() -> None:
    with pytest.raises(InputError, match="whole number"):
        gym.make("signalstorm/AttachLteEasy-v0").reset(options={"storm": -1})
    rows = gym.make_vec("signalstorm/AttachLteEasy-v0", num_envs=2)
    with pytest.raises(ValueError, match="one seed per row"):
        rows.reset(seed=[1, 2, 3])  # type: ignore[arg-type]
    for seed in (1.5, "7"):
        with pytest.raises(gym.error.Error, match="seed must be a whole number, or a list of one per row"):
            rows.reset(seed=seed)  # type: ignore[arg-type]
    rows.reset(seed=0)
    with pytest.raises(InputError, match="one truth value per row"):
        rows.reset(options={"reset_mask": np.zeros(3, bool)})


def test_of_an_action_of_a_wrong_type_and_shape_the_type_is_named() -> None:
    env = gym.make("signalstorm/AttachLteEasy-v0", action_mode="discrete", disable_env_checker=True).unwrapped
    env.reset(seed=0)
    with pytest.raises(ValueError, match="whole numbers from 0 to 4, but are of the type float64"):
        env.step(np.array([0.5, 1.5]))


@pytest.mark.parametrize(
    ("mode", "action"),
    [
        ("ratio", np.zeros(2)),
        ("ratio", np.array([np.nan])),
        ("ratio", np.array([0.5j])),
        ("ratio", np.array([True])),
        ("ratio", np.array(["0.5"])),
        ("ratio", [None]),
        ("ratio", None),
        ("discrete", np.int64(7)),
        ("discrete", np.float64(0.5)),
        ("discrete", True),
        ("discrete", None),
    ],
)
def test_a_wrong_action_is_refused_and_leaves_the_storm_as_it_was(mode: str, action: Any) -> None:
    env = StormEnv("AttachLte", "Easy", action_mode=mode)
    other = StormEnv("AttachLte", "Easy", action_mode=mode)
    env.reset(seed=3)
    other.reset(seed=3)
    with pytest.raises(ValueError, match="actions must"):
        env.step(action)
    right: Any = np.array([0.5], np.float32) if mode == "ratio" else np.int64(3)
    np.testing.assert_array_equal(env.step(right)[0], other.step(right)[0])
