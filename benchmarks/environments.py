"""Benchmarks of environments and of learning on them: rows against single ones, and time outside kernel and PPO."""

import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import gymnasium as gym
import numpy as np

import signalstorm  # noqa: F401 - registers the environments
from benchmarks.measure import Ratio, of_pairs, wall_seconds
from signalstorm.envs import families
from signalstorm.envs.model.storms import SEARCH
from signalstorm.envs.vector import StormVectorEnv

_EASY = [name for name, _, variant in families.ids() if variant == "Easy"]
_USUAL = [name for name, _, variant in families.ids() if variant == "Randomised"]
_SINGLES = 8
"""Single environments one after another; what a step of one takes does not depend on their number."""
_STEPS = 16
"""Steps per measurement of rows."""


def made_rows(name: str, count: int) -> tuple[StormVectorEnv, list[Any]]:
    """Make rows whose storms are at hand, in the middle of their episodes, and actions for them."""
    made = gym.make_vec(name, num_envs=count).unwrapped
    assert isinstance(made, StormVectorEnv)  # noqa: S101
    made.loop.storms.prepare(range(SEARCH, SEARCH + min(1024, made.options.storms[1])))
    made.reset(seed=0)
    made.action_space.seed(0)
    actions = [made.action_space.sample() for _ in range(_STEPS)]
    rng = np.random.default_rng(0)
    longest = made.options.episode_steps
    for step in range(min(longest, 40)):
        made.step(actions[step % _STEPS])
        late = np.flatnonzero(rng.random(count) < 1.0 / longest).tolist()
        made.loop.start(late, [int(n) for n in rng.integers(0, 1024, len(late))])
    return made, actions


def rows() -> Iterator[Ratio]:
    """Steps per second of 256 native rows against single environments, and the time of 1,024 against the kernel's."""
    for name in (*_EASY, *_USUAL):
        yield _against_singles(name, 20.0 if name in _EASY else 5.0)
    for name in (*_EASY, *_USUAL):
        yield _over_kernel(name)


def _against_singles(name: str, least: float) -> Ratio:
    native, actions = made_rows(name, 256)
    singles = [gym.make(name) for _ in range(_SINGLES)]
    for row, single in enumerate(singles):
        single.reset(seed=row)
    pairs = []
    for _ in range(6):
        together = wall_seconds(lambda: [native.step(actions[i]) for i in range(_STEPS)])
        alone = wall_seconds(lambda: _one_by_one(singles, actions))
        pairs.append((256 * _STEPS / together, _SINGLES * _STEPS / alone))
    return of_pairs(f"{_short(name)}: 256 rows / single environments", pairs[1:], "steps per s", least=least)


def _one_by_one(singles: list[Any], actions: list[Any]) -> None:
    """Do as ``DummyVecEnv`` does, its copying aside: step each environment, and reset those that have ended."""
    for i in range(_STEPS):
        for row, single in enumerate(singles):
            *_, terminated, truncated, _ = single.step(actions[i][row])
            if terminated or truncated:
                single.reset()


def _over_kernel(name: str) -> Ratio:
    """Wall time of steps of 1,024 rows over the time that the kernel took of it."""
    native, actions = made_rows(name, 1024)
    kernel = Stopwatch(native.loop.batch.run)
    native.loop.batch.run = kernel  # type: ignore[method-assign]
    pairs = []
    for _ in range(6):
        kernel.seconds = 0.0
        total = wall_seconds(lambda: [native.step(actions[i]) for i in range(_STEPS)])
        pairs.append((total * 1e6 / _STEPS / 1024, kernel.seconds * 1e6 / _STEPS / 1024))
    return of_pairs(f"{_short(name)}: 1,024 rows / kernel", pairs[1:], "us per step", most=1.15)


class Stopwatch:
    """Adds up the time of calls."""

    def __init__(self, work: Callable[..., Any]) -> None:
        """Stand in for a function."""
        self._work = work
        self.seconds = 0.0

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Do what the function does."""
        began = time.perf_counter()
        try:
            return self._work(*arguments, **options)
        finally:
            self.seconds += time.perf_counter() - began


def learning() -> Iterator[Ratio]:
    """Time of training outside kernel and PPO, and PPO's rate against an environment that costs nothing."""
    try:
        from benchmarks.learning import Course
    except ImportError as error:
        print(f"skipped: learning needs the extra `rl` ({error})", file=sys.stderr)
        return
    for name in (*_EASY, *_USUAL):
        course = Course(made_rows(name, 128)[0])
        rounds = [course.round(compare=name in _EASY) for _ in range(4)][1:]
        outside = [(one.outside_s, one.total_s) for one in rounds]
        yield of_pairs(f"{_short(name)}: training, outside kernel and PPO / all", outside, "s", most=0.1)
        if name in _EASY:
            rates = [(one.steps / one.total_s, one.steps / one.free_s) for one in rounds]
            yield of_pairs(f"{_short(name)}: PPO / PPO on a free environment", rates, "steps per s", least=0.9)


def _short(name: str) -> str:
    return name.partition("/")[2].rpartition("-")[0]
