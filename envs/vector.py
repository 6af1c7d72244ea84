"""The native vector environment: many storms advanced by one call of the compiled model."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from signalstorm.envs.announce import announce_compiling
from signalstorm.envs.arguments import MASK, STORM, check_reset, faults_of_making
from signalstorm.envs.loop import EPISODE, Loop, Result
from signalstorm.envs.registry import options_of
from signalstorm.envs.render import RENDER_FPS
from signalstorm.envs.storm import storm_number

Observations = npt.NDArray[np.float32]
Flags = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]


_AHEAD = 64
"""Rows at most whose next storm is worked out ahead of time."""


class Ended(NamedTuple):
    """Episodes that a step has ended."""

    rows: npt.NDArray[np.intp]
    """Their rows."""
    observations: Observations
    """What their agents saw last; shape (ended, features)."""
    kpis: Floats
    """What they came to, in the order of ``loop.EPISODE``, NaN where not reached; shape (KPIs, ended)."""


class Advance(NamedTuple):
    """One interval of all rows, after which those that ended have begun another storm."""

    observation: Observations
    """Shape (rows, features)."""
    reward: Floats
    """Shape (rows,)."""
    terminated: Flags
    """Shape (rows,)."""
    truncated: Flags
    """Shape (rows,)."""
    terms: Floats
    """Terms of the reward, in the order of ``Loop.terms``; shape (terms, rows)."""
    ended: Ended | None
    """The episodes that ended; None: there are none."""


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
            num_envs: Rows, 1 to 16,384; each takes 13 to 340 kB of memory.
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
        self._ahead: dict[int, int] = {}

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
            given: Any = seed
            if np.ndim(given) != 1:
                raise gym.error.Error(f"seed must be a whole number, or a list of one per row, but is {seed!r}")
            seeds = list(seed)
            if len(seeds) != self.num_envs:
                raise ValueError(f"needs one seed per row, {self.num_envs}, but got {len(seeds)}")
        if not self._generators:
            self._generators = [seeding.np_random(one)[0] for one in seeds]
        else:
            for row, one in enumerate(seeds):
                if one is not None:
                    self._generators[row] = seeding.np_random(one)[0]
                    self._ahead.pop(row, None)
        self._np_random = self._generators[0]

    def _begin(self, rows: Sequence[int], options: Mapping[str, Any] | None = None) -> None:
        asked = options is not None and options.get(STORM) is not None
        numbers = [
            storm_number(self._generators[row], self.options.storms, options, row) if asked else self._draw(row)
            for row in rows
        ]
        storms = self.loop.storms
        if len(rows) < self.num_envs and not storms.knows(numbers):
            # Worked out together, storms take a quarter of the time each: so the next ones of other rows come along.
            late = [int(row) for row in np.argsort(-storms.steps, kind="stable")[:_AHEAD] if row not in rows]
            self._ahead = {row: self._draw(row) for row in late} | self._ahead
            storms.prepare([*numbers, *self._ahead.values()])
        self.loop.start(rows, numbers)

    def _draw(self, row: int) -> int:
        """Return the number of a row's next storm."""
        number = self._ahead.pop(row, None)
        return storm_number(self._generators[row], self.options.storms, None) if number is None else number

    def step(self, actions: Any) -> tuple[Observations, npt.NDArray[np.float64], Flags, Flags, dict[str, Any]]:
        """Set the knobs of every row and advance one control interval.

        Args:
            actions: One action per row.
        """
        waiting = self._ended.copy()
        if self.autoreset_mode is AutoresetMode.SAME_STEP:
            made = self.advance(actions)
            infos = self._infos(made.terms)
            if made.ended is not None:
                infos |= self._final(made.ended)
            return made.observation, made.reward, made.terminated, made.truncated, infos
        result, truncated = self._step(actions)
        observation, reward, terminated = result.observation, result.reward, result.terminated
        infos = self._infos(result.terms)
        if self.autoreset_mode is AutoresetMode.NEXT_STEP and waiting.any():
            self._begin(np.flatnonzero(waiting).tolist())
            observation = self.loop.observe()
            reward = np.where(waiting, 0.0, reward)
            terminated, truncated = terminated & ~waiting, truncated & ~waiting
        self._ended = terminated | truncated
        if self._ended.any():
            rows = np.flatnonzero(self._ended)
            infos |= self._kpis(rows, self.loop.kpis(rows))
        return observation, reward, terminated, truncated, infos

    def _step(self, actions: Any) -> tuple[Result, Flags]:
        """Advance all rows; returns with the result what is cut, at the horizon or before."""
        if not self._generators:
            raise gym.error.ResetNeeded("call reset() before step()")
        result = self.loop.step(np.asarray(actions))
        if self._longest == self.options.episode_steps:
            return result, result.truncated
        return result, result.truncated | (self.loop.episode_steps >= self._longest)

    def advance(self, actions: Any) -> Advance:
        """Do what `step` does where rows begin their next storm at once, and return what learners need of it.

        Args:
            actions: One action per row.
        """
        result, truncated = self._step(actions)
        ended = np.flatnonzero(result.terminated | truncated)
        if not len(ended):
            return Advance(result.observation, result.reward, result.terminated, truncated, result.terms, None)
        last = Ended(ended, result.observation[ended], self.loop.kpis(ended))
        self._begin(ended.tolist())
        shown = self.loop.show_start(ended, result.observation)
        return Advance(shown, result.reward, result.terminated, truncated, result.terms, last)

    def _infos(self, terms: Floats) -> dict[str, Any]:
        every = np.ones(self.num_envs, bool)
        found: dict[str, Any] = {}
        for name, values in zip(self.loop.terms, terms, strict=True):
            found[name], found[f"_{name}"] = values, every
        return {"reward_terms": found, "_reward_terms": every}

    def _final(self, ended: Ended) -> dict[str, Any]:
        """Return what the last storms of rows have come to, as Gymnasium wants it."""
        mask = np.zeros(self.num_envs, bool)
        mask[ended.rows] = True
        final = np.full(self.num_envs, None, object)
        for row, observation in zip(ended.rows, ended.observations, strict=True):
            final[row] = observation
        kpis = self._kpis(ended.rows, ended.kpis)
        return {"final_obs": final, "_final_obs": mask, "final_info": kpis, "_final_info": mask.copy()}

    def _kpis(self, rows: npt.NDArray[np.intp], kpis: Floats) -> dict[str, Any]:
        """Return one array per KPI for rows that have ended, with a mask of those that reached it."""
        values, known = np.zeros((len(EPISODE), self.num_envs)), np.zeros((len(EPISODE), self.num_envs), bool)
        known[:, rows] = ~np.isnan(kpis)
        values[:, rows] = np.where(known[:, rows], kpis, 0.0)
        found: dict[str, Any] = {}
        for name, own, mask in zip(EPISODE, values, known, strict=True):
            found[name], found[f"_{name}"] = own, mask
        return found

    def render(self) -> Any:
        """Return the first row's storm as text, once for each row that is shown."""
        from signalstorm.envs.render import describe

        return (describe(self.loop, 0),)
