"""Benchmarks of environments and of learning on them: what is spent outside the kernel and outside PPO."""

import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

import signalstorm  # noqa: F401 - registers the environments
from benchmarks.measure import Ratio, compare, wall_seconds
from signalstorm.envs import families
from signalstorm.envs.model.storms import SEARCH
from signalstorm.envs.vector import StormVectorEnv

_EASY = [name for name, _, variant in families.ids() if variant == "Easy"]
_USUAL = [name for name, _, variant in families.ids() if variant == "Randomised"]


def _rows(name: str, count: int) -> tuple[StormVectorEnv, list[Any]]:
    """Make rows whose storms are at hand, in the middle of their episodes, and actions for them."""
    made = gym.make_vec(name, num_envs=count).unwrapped
    assert isinstance(made, StormVectorEnv)  # noqa: S101
    made.loop.storms.prepare(range(SEARCH, SEARCH + min(1024, made.options.storms[1])))
    made.reset(seed=0)
    made.action_space.seed(0)
    actions = [made.action_space.sample() for _ in range(16)]
    rng = np.random.default_rng(0)
    longest = made.options.episode_steps
    for step in range(min(longest, 40)):
        made.step(actions[step % 16])
        late = np.flatnonzero(rng.random(count) < 1.0 / longest).tolist()
        made.loop.start(late, [int(n) for n in rng.integers(0, 1024, len(late))])
    return made, actions


def rows() -> Iterator[Ratio]:
    """Steps per second of the native rows against single environments one after another, and against the kernel."""
    for name in (*_EASY, *_USUAL):
        most = 1 / 20 if name in _EASY else 1 / 5
        native, actions = _rows(name, 256)
        singles = [gym.make(name) for _ in range(8)]
        for row, single in enumerate(singles):
            single.reset(seed=row)
        steps = 16

        def run_native(native: StormVectorEnv = native, actions: list[Any] = actions, steps: int = steps) -> float:
            return wall_seconds(lambda: [native.step(actions[i % 16]) for i in range(steps)]) / steps / 256

        def run_single(singles: list[Any] = singles, actions: list[Any] = actions, steps: int = steps) -> float:
            return wall_seconds(lambda: _one_by_one(singles, actions, steps)) / steps / len(singles)

        yield compare(
            f"{_short(name)}: native, 256 rows / one by one", run_native, run_single, scale=1e6, unit="us per step",
            most=most, rounds=5,
        )  # fmt: skip
    for name in (*_EASY, *_USUAL):
        yield _over_kernel(name)


def _one_by_one(singles: list[Any], actions: list[Any], steps: int) -> None:
    """Do as ``DummyVecEnv`` does: step each environment, and reset those that have ended."""
    for i in range(steps):
        for row, single in enumerate(singles):
            *_, terminated, truncated, _ = single.step(actions[i % 16][row])
            if terminated or truncated:
                single.reset()


def _over_kernel(name: str) -> Ratio:
    """Wall time of steps of 1,024 rows over the time that the kernel took of it."""
    native, actions = _rows(name, 1024)
    kernel = _Stopwatch(native.loop.batch.run)
    native.loop.batch.run = kernel  # type: ignore[method-assign]
    pairs = []
    for _ in range(6):
        kernel.seconds = 0.0
        total = wall_seconds(lambda: [native.step(actions[i]) for i in range(16)])
        pairs.append((total, kernel.seconds))
    ratios = sorted(a / b for a, b in pairs[1:])
    whole, inner = (sorted(pair[i] for pair in pairs[1:])[2] * 1e6 / 16 / 1024 for i in (0, 1))
    middle = ratios[len(ratios) // 2]
    return Ratio(
        f"{_short(name)}: 1,024 rows / kernel", whole, inner, "us per step", middle, ratios[0], ratios[-1], 1.15
    )


class _Stopwatch:
    """Adds up the time of calls."""

    def __init__(self, work: Callable[..., Any]) -> None:
        self._work = work
        self.seconds = 0.0

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        began = time.perf_counter()
        try:
            return self._work(*arguments, **options)
        finally:
            self.seconds += time.perf_counter() - began


def learning() -> Iterator[Ratio]:
    """Time of training outside kernel and PPO, and PPO's rate against an environment that costs nothing."""
    try:
        from signalstorm.agents.ppo import Hyperparameters, Learner, Watch
        from signalstorm.envs.sb3 import StormVecEnv
    except ImportError as error:
        print(f"skipped: learning needs the extra `rl` ({error})", file=sys.stderr)
        return
    parameters = Hyperparameters()
    for name in (*_EASY, *_USUAL):
        native, _ = _rows(name, 128)
        kernel = _Stopwatch(native.loop.batch.run)
        native.loop.batch.run = kernel  # type: ignore[method-assign]
        vec = StormVecEnv(native)
        learner = Learner(vec, parameters, 0, 4 * 8192)
        learner.learn(Watch(lambda it: it.steps < 8192))  # compiles, fills caches
        environment = _Stopwatch(vec.step_wait)
        vec.step_wait = environment  # type: ignore[method-assign]
        kernel.seconds = 0.0
        total = wall_seconds(lambda learner=learner: learner.learn(Watch(lambda it: True)))  # type: ignore[misc]
        free = _Free(native, parameters)
        rest = environment.seconds - kernel.seconds
        yield Ratio(
            f"{_short(name)}: training, outside kernel and PPO", rest, total, "s", rest / total, rest / total,
            rest / total, 0.1,
        )  # fmt: skip
        if name in _EASY:
            alone = free.seconds(4 * 8192 - 8192)
            yield Ratio(
                f"{_short(name)}: PPO / PPO on a free environment", total, alone, "s", total / alone, total / alone,
                total / alone, 1 / 0.9,
            )  # fmt: skip


class _Free:
    """PPO on rows that cost nothing, with the same spaces."""

    def __init__(self, native: StormVectorEnv, parameters: Any) -> None:
        from signalstorm.agents.ppo import Learner, Watch

        self._watch = Watch(lambda it: True)
        rows = _free_rows(native)
        self._make: Callable[[int], Learner] = lambda total: Learner(rows, parameters, 0, total)

    def seconds(self, steps: int) -> float:
        """Return the wall time of so many steps [s]."""
        learner = self._make(steps)
        return wall_seconds(lambda: learner.learn(self._watch))


def _free_rows(native: StormVectorEnv) -> Any:
    from stable_baselines3.common.vec_env import VecEnv

    count = native.num_envs
    seen = np.zeros((count, *(native.single_observation_space.shape or ())), np.float32)
    reward, done = np.zeros(count, np.float32), np.zeros(count, bool)

    class Free(VecEnv):  # type: ignore[misc]
        reward_terms: dict[str, Any] = {}  # noqa: RUF012

        def reset(self) -> Any:
            return seen

        def step_async(self, actions: Any) -> None:
            pass

        def step_wait(self) -> Any:
            return seen, reward, done, [{} for _ in range(count)]

        def close(self) -> None:
            pass

        def get_attr(self, name: str, indices: Any = None) -> list[Any]:
            return [None] * count

        def set_attr(self, name: str, value: Any, indices: Any = None) -> None:
            pass

        def env_method(self, name: str, *arguments: Any, indices: Any = None, **options: Any) -> list[Any]:
            return [None] * count

        def env_is_wrapped(self, wrapper: Any, indices: Any = None) -> list[bool]:
            return [False] * count

    space = native.single_action_space
    assert isinstance(space, spaces.Space)  # noqa: S101
    return Free(count, native.single_observation_space, space)


def _short(name: str) -> str:
    return name.partition("/")[2].rpartition("-")[0]
