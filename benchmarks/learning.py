"""Training rollout by rollout, with stopwatches in it, beside training on an environment that costs nothing."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from stable_baselines3.common.vec_env import VecEnv  # noqa: TID253 - this file is imported where it is needed

from benchmarks.environments import Stopwatch
from benchmarks.measure import wall_seconds
from signalstorm.agents import ppo
from signalstorm.agents.ppo import Hyperparameters, Learner, Watch
from signalstorm.envs.sb3 import StormVecEnv
from signalstorm.envs.vector import StormVectorEnv

_ROLLOUTS = 2
"""Rollouts, each with its update, per round."""
_ENDLESS = 1 << 40
"""Steps of a training that ends when it is told to."""


@dataclass(frozen=True)
class Round:
    """What some rollouts and their updates took."""

    steps: int
    total_s: float
    outside_s: float
    """Of it in the environment, its wrappers and the callback, but not in the kernel."""
    free_s: float
    """The same number of steps on an environment that costs nothing; NaN if not measured."""


class Course:
    """A training on rows of storms, and one on an environment that costs nothing."""

    def __init__(self, native: StormVectorEnv) -> None:
        """Set both up as `train` does."""
        self._kernel = Stopwatch(native.loop.batch.run)
        native.loop.batch.run = self._kernel  # type: ignore[method-assign]
        parameters = Hyperparameters()
        self._learner = Learner(StormVecEnv(native), parameters, 0, _ENDLESS)
        self._free = Learner(Free(native), parameters, 0, _ENDLESS)
        # All that PPO calls and that is not its own: rows with their wrappers, and the callback.
        environment = self._learner.model.env
        self._environment = environment.step = Stopwatch(environment.step)
        self._each_step, self._each_rollout = _watched("_on_step"), _watched("_on_rollout_end")

    def round(self, *, compare: bool) -> Round:
        """Train for some rollouts.

        Args:
            compare: Whether to train as long on the environment that costs nothing.
        """
        watches = (self._environment, self._each_step, self._each_rollout)
        for watch in (self._kernel, *watches):
            watch.seconds = 0.0
        steps, total = _train(self._learner)
        outside = sum(watch.seconds for watch in watches) - self._kernel.seconds
        free = float("nan")
        if compare:
            free_steps, seconds = _train(self._free)
            free = seconds * steps / free_steps
        return Round(steps, total, outside, free)


def _watched(name: str) -> Stopwatch:
    """Put a stopwatch into the callback of all trainings to come."""
    work = getattr(ppo._Callback, name)
    work = getattr(work, "__wrapped__", work)
    watch = Stopwatch(work)

    def timed(self: Any) -> Any:
        return watch(self)

    timed.__wrapped__ = work  # type: ignore[attr-defined]
    setattr(ppo._Callback, name, timed)
    return watch


def _train(learner: Learner) -> tuple[int, float]:
    """Train for some rollouts; returns steps and seconds."""
    first, seen = learner.steps, []

    def goes_on(it: Learner) -> bool:
        seen.append(it.steps)
        return len(seen) < _ROLLOUTS

    seconds = wall_seconds(lambda: learner.learn(Watch(goes_on)))
    return learner.steps - first, seconds


class Free(VecEnv):  # type: ignore[misc]
    """Rows that cost nothing, with the spaces of others."""

    terms = None
    reward_terms: dict[str, Any] = {}  # noqa: RUF012

    def __init__(self, native: StormVectorEnv) -> None:
        """Take over the spaces."""
        space = native.single_observation_space
        self._seen = np.zeros((native.num_envs, *(space.shape or ())), np.float32)
        self._reward, self._done = np.zeros(native.num_envs, np.float32), np.zeros(native.num_envs, bool)
        super().__init__(native.num_envs, space, native.single_action_space)

    def reset(self) -> Any:
        """Return zeros."""
        return self._seen

    def step_async(self, actions: Any) -> None:
        """Do nothing."""

    def step_wait(self) -> Any:
        """Return zeros."""
        return self._seen, self._reward, self._done, [{} for _ in range(self.num_envs)]

    def close(self) -> None:
        """Do nothing."""

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return nothing."""
        return [None] * self.num_envs

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Do nothing."""

    def env_method(self, method_name: str, *arguments: Any, indices: Any = None, **options: Any) -> list[Any]:
        """Return nothing."""
        return [None] * self.num_envs

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """Say that nothing is wrapped."""
        return [False] * self.num_envs
