"""The same rows of storms as a vector environment of Stable-Baselines3, which has an interface of its own."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode
from stable_baselines3.common.vec_env import VecEnv
from stable_baselines3.common.vec_env.base_vec_env import VecEnvIndices, VecEnvObs, VecEnvStepReturn

from signalstorm.envs.arguments import check_reset
from signalstorm.envs.loop import EPISODE
from signalstorm.envs.registry import resolve_id
from signalstorm.envs.render import describe
from signalstorm.envs.vector import StormVectorEnv

KPIS = ("rmst_s", "subscriber_hours_lost", "converged", "changes")
"""What ``VecMonitor(info_keywords=KPIS)`` keeps of each episode."""


class StormVecEnv(VecEnv):
    """Rows of storms for Stable-Baselines3: same-step resets, ``terminal_observation``, ``TimeLimit.truncated``."""

    def __init__(self, environment: StormVectorEnv) -> None:
        """Adapt a native vector environment, which must reset in the step that ends an episode."""
        if environment.autoreset_mode is not AutoresetMode.SAME_STEP:
            raise ValueError("Stable-Baselines3 needs rows that begin their next storm in the step that ends one")
        self.native = environment
        self._actions: npt.NDArray[Any] | None = None
        self.terms: npt.NDArray[np.float64] | None = None
        """The terms of the last step's rewards, in the order of ``Loop.terms``; shape (terms, rows); None before it."""
        self.render_mode = None
        super().__init__(environment.num_envs, environment.single_observation_space, environment.single_action_space)

    def reset(self) -> VecEnvObs:
        """Begin a storm in every row, with the seeds and options that were set.

        Raises:
            InputError: If an option is wrong; no row begins another storm then.
        """
        for options in self._options:
            check_reset(options)
        seeds = [seed for seed in self._seeds]
        storms = [options.get("storm") for options in self._options]
        chosen = None
        if any(storm is not None for storm in storms):
            if any(storm is None for storm in storms):
                raise ValueError("set the option `storm` for every row, or for none")
            chosen = {"storm": storms}
        observation, infos = self.native.reset(seed=seeds, options=chosen)
        self.reset_infos = [{"storm": int(number)} for number in infos["storm"]]
        self._reset_seeds()
        self._reset_options()
        return observation

    def step_async(self, actions: npt.NDArray[Any]) -> None:
        """Keep the actions for `step_wait`."""
        self._actions = actions

    def step_wait(self) -> VecEnvStepReturn:
        """Advance one control interval."""
        made = self.native.advance(self._actions)
        self.terms = made.terms
        # A new list of empty dicts per step: what ends is rare, and callers may keep what they got.
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        if made.ended is not None:
            for row, last, kpis in zip(*made.ended[:2], made.ended.kpis.T.tolist(), strict=True):
                infos[row] = {
                    **{name: None if value != value else value for name, value in zip(EPISODE, kpis, strict=True)},
                    "terminal_observation": last,
                    "TimeLimit.truncated": bool(made.truncated[row] and not made.terminated[row]),
                }
        return made.observation, made.reward.astype(np.float32), made.terminated | made.truncated, infos

    @property
    def reward_terms(self) -> dict[str, npt.NDArray[np.float64]]:
        """The same by name, each of shape (rows,)."""
        return {} if self.terms is None else dict(zip(self.native.loop.terms, self.terms, strict=True))

    def close(self) -> None:
        """Let go of the rows."""
        self.native.close()

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        """Return an attribute, the same for every row."""
        if attr_name == "render_mode":
            return [None for _ in self._get_indices(indices)]
        return [getattr(self.native, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        """Refuse: rows share what they are made of."""
        raise NotImplementedError("rows cannot differ; make another environment instead")

    def env_method(self, method_name: str, *args: Any, indices: VecEnvIndices = None, **kwargs: Any) -> list[Any]:
        """Call a method of the environment once, for it serves all rows."""
        result = getattr(self.native, method_name)(*args, **kwargs)
        return [result for _ in self._get_indices(indices)]

    def env_is_wrapped(self, wrapper_class: type[Any], indices: VecEnvIndices = None) -> list[bool]:
        """Say that no row is wrapped."""
        return [False for _ in self._get_indices(indices)]

    def get_images(self) -> Sequence[npt.NDArray[np.uint8] | None]:
        """Return no pictures; `text` shows a row."""
        return [None for _ in range(self.num_envs)]

    def text(self, row: int = 0) -> str:
        """Return the state of one row in lines."""
        return describe(self.native.loop, row)


def make_sb3_vec(env_id: str, num_envs: int = 1, **kwargs: Any) -> StormVecEnv:
    """Make rows of storms for Stable-Baselines3.

    Args:
        env_id: An environment's id, or a scenario's name or path.
        num_envs: Rows, 1 to 16,384; each takes 13 to 340 kB of memory.
        **kwargs: As for the native vector environment.

    Raises:
        InputError: If an argument is not legal.
    """
    family, variant = resolve_id(env_id)
    return StormVecEnv(StormVectorEnv(family, variant, num_envs=num_envs, **kwargs))
