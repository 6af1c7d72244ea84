"""The native vector environment: many storms advanced by one call of the compiled model."""

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from signalstorm.envs.announce import announce_compiling
from signalstorm.envs.arguments import MASK, check_reset, faults_of_making
from signalstorm.envs.loop import Loop
from signalstorm.envs.registry import options_of
from signalstorm.envs.render import RENDER_FPS
from signalstorm.envs.storm import storm_number

Observations = npt.NDArray[np.float32]
Flags = npt.NDArray[np.bool_]


class StormVectorEnv(VectorEnv[Observations, Any, Any]):
    """Rows of storms; row i equals the single environment with seed i, bit for bit.

    By default a row begins its next storm in the step that ends one (``AutoresetMode.SAME_STEP``): the last observation
    is in ``info["final_obs"]``, the KPIs of the episode are in ``info["final_info"]``. ``autoreset_mode`` chooses
    another.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012
        "render_modes": ["ansi"],
        "render_fps": RENDER_FPS,
        "autoreset_mode": AutoresetMode.SAME_STEP,
    }

    def __init__(
        self,
        family: str,
        variant: str = "",
        num_envs: int = 1,
        max_episode_steps: int | None = None,
        render_mode: str | None = None,
        threads: int | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.SAME_STEP,
        **changes: Any,
    ) -> None:
        """Build the rows.

        Args:
            family: As for the single environment.
            variant: As for the single environment.
            num_envs: Rows.
            max_episode_steps: Control intervals after which an episode is cut; None, or more than there are: never
                before the horizon.
            render_mode: ``ansi``, for the first row.
            threads: Threads at most; by default one per core.
            autoreset_mode: When a row that has ended begins its next storm.
            **changes: As for the single environment.

        Raises:
            InputError: If an argument is not legal.
        """
        modes = self.metadata["render_modes"]
        wrong = faults_of_making(modes, render_mode, threads, num_envs, max_episode_steps)
        self.options = options_of(family, variant, beside=wrong, **changes)
        announce_compiling()
        self.num_envs = num_envs
        self.render_mode = render_mode
        self.loop = Loop(self.options, num_envs, threads)
        self.single_observation_space = self.loop.observation_space
        self.single_action_space = self.loop.action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {**type(self).metadata, "autoreset_mode": self.autoreset_mode}
        self._longest = min(max_episode_steps or self.options.episode_steps, self.options.episode_steps)
        self._generators: list[np.random.Generator] = []
        self._ended = np.zeros(num_envs, bool)

    @property
    def features(self) -> tuple[str, ...]:
        """What each number of an observation is."""
        return tuple(feature.name for feature in self.loop.features.list)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Observations, dict[str, Any]]:
        """Begin a storm in every row.

        Args:
            seed: One seed per row, or the first row's, which then rises by one per row.
            options: ``storm``: the number of the storm to play, or one per row; ``reset_mask``: the rows to reset.

        Raises:
            InputError: If the options are wrong; no row begins another storm then.
        """
        check_reset(options, self.num_envs)
        self._seed(seed)
        mask = None if options is None else options.get(MASK)
        rows = range(self.num_envs) if mask is None else np.flatnonzero(mask).tolist()
        self._begin(rows, options)
        self._ended[list(rows)] = False
        return self.loop.observe(), {"storm": self.loop.storms.numbers.copy(), "_storm": np.ones(self.num_envs, bool)}

    def _seed(self, seed: int | Sequence[int | None] | None) -> None:
        if isinstance(seed, int | np.integer):
            seeds: Sequence[int | None] = [int(seed) + row for row in range(self.num_envs)]
        elif seed is None:
            seeds = [None] * self.num_envs
        else:
            seeds = list(seed)
            if len(seeds) != self.num_envs:
                raise ValueError(f"needs one seed per row, {self.num_envs}, but got {len(seeds)}")
        if not self._generators:
            self._generators = [seeding.np_random(one)[0] for one in seeds]
        else:
            for row, one in enumerate(seeds):
                if one is not None:
                    self._generators[row] = seeding.np_random(one)[0]
        self._np_random = self._generators[0]

    def _begin(self, rows: Sequence[int], options: Mapping[str, Any] | None = None) -> None:
        numbers = [storm_number(self._generators[row], self.options.storms, options, row) for row in rows]
        self.loop.start(rows, numbers)

    def step(self, actions: Any) -> tuple[Observations, npt.NDArray[np.float64], Flags, Flags, dict[str, Any]]:
        """Set the knobs of every row and advance one control interval.

        Args:
            actions: One action per row.
        """
        if not self._generators:
            raise gym.error.ResetNeeded("call reset() before step()")
        waiting = self._ended.copy()
        result = self.loop.step(np.asarray(actions))
        cut = self.loop.episode_steps >= self._longest
        truncated = result.truncated | cut
        ended = result.terminated | truncated
        infos: dict[str, Any] = {"reward_terms": _terms(result.terms), "_reward_terms": np.ones(self.num_envs, bool)}
        observation, reward, terminated = result.observation, result.reward, result.terminated
        if self.autoreset_mode is AutoresetMode.SAME_STEP:
            if ended.any():
                observation = self._replace(np.flatnonzero(ended).tolist(), observation, ended, infos)
            return observation, reward, terminated, truncated, infos
        if self.autoreset_mode is AutoresetMode.NEXT_STEP:
            if waiting.any():
                self._begin(np.flatnonzero(waiting).tolist())
                observation = self.loop.observe()
                reward = np.where(waiting, 0.0, reward)
                terminated, truncated = terminated & ~waiting, truncated & ~waiting
            ended = terminated | truncated
        self._ended = ended
        if ended.any():
            infos |= self._kpis(ended)
        return observation, reward, terminated, truncated, infos

    def _replace(self, rows: list[int], observation: Observations, ended: Flags, infos: dict[str, Any]) -> Observations:
        """Begin the next storm in rows that have ended, and keep what their last one came to."""
        final = np.full(self.num_envs, None, object)
        for row in rows:
            final[row] = observation[row].copy()
        infos["final_obs"], infos["_final_obs"] = final, ended.copy()
        infos["final_info"] = self._kpis(ended)
        infos["_final_info"] = ended.copy()
        self._begin(rows)
        return self.loop.observe()

    def _kpis(self, ended: Flags) -> dict[str, Any]:
        """Return one array per KPI for the rows that have ended, with a mask of those that reached it."""
        rows = np.flatnonzero(ended)
        found: dict[str, Any] = {}
        for name, values in self.loop.kpis(rows).items():
            found[name], found[f"_{name}"] = np.zeros(self.num_envs), np.zeros(self.num_envs, bool)
            found[name][rows] = np.nan_to_num(values)
            found[f"_{name}"][rows] = ~np.isnan(values)
        return found

    def render(self) -> Any:
        """Return the first row's storm as text, once for each row that is shown."""
        from signalstorm.envs.render import describe

        return (describe(self.loop, 0),)


def _terms(terms: Mapping[str, npt.NDArray[np.float64]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, values in terms.items():
        found[name], found[f"_{name}"] = values, np.ones(len(values), bool)
    return found
