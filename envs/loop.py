"""The loop around the model that all environments share: act, advance one interval, look, judge."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from signalstorm.envs.actions import STEPS, action_space
from signalstorm.envs.features import Features
from signalstorm.envs.kpis import KPIS, Tally
from signalstorm.envs.model.knob_table import KNOBS
from signalstorm.envs.model.parameters import SETTING_FIELDS
from signalstorm.envs.model.renewal import Storms
from signalstorm.envs.observation import ACCEPTS, Observer
from signalstorm.envs.options import Options
from signalstorm.envs.reward import names

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

EPISODE = (*KPIS, "storm", "changes")
"""What an episode comes to."""
_FOR_EVER = 1e9
"""[intervals] since a knob was changed that never was."""


@dataclass(frozen=True)
class Result:
    """What one interval brought, one number per row."""

    observation: npt.NDArray[np.float32]
    """Shape (rows, features)."""
    reward: Floats
    """The sum of the terms."""
    terms: Floats
    """The terms by their order in `Loop.terms`, shape (terms, rows)."""
    terminated: Flags
    """Storms that are over: healthy again, with nothing more to come."""
    truncated: Flags
    """Storms that reached the horizon, over or not."""


class Loop:
    """Storms in rows, each under its own agent."""

    def __init__(self, options: Options, rows: int, threads: int | None = None) -> None:
        """Lay out the rows; each waits for `start`.

        Args:
            options: What is played.
            rows: Storms at a time.
            threads: Threads at most; by default one per core.

        Raises:
            InputError: If an option does not fit the scenario.
        """
        self.options = options
        self.rows = rows
        self._interval = options.interval_steps
        self._space = action_space(options.knobs, options.action_mode)
        self.actuator = options.actuator()
        longest = {
            name: float(high)
            for name, high in zip(options.knobs, self.actuator.high, strict=True)
            if name in SETTING_FIELDS and KNOBS[name].kind != "choice"
        }
        setting = self.actuator.settings(self.actuator.start[np.newaxis])[0]
        self.storms = Storms(options.scenario, rows, setting, vary=options.vary, longest=longest, threads=threads)
        self.batch = self.storms.batch
        self.observer = Observer(self.batch)
        self.features = Features(self.observer.quantities, options.scenario, options.knobs, rows)
        self.tally = Tally(self.batch, self.observer.numbers, options.weights, options.shaping_gamma)
        self.terms = names(options.shaping_gamma)
        """Names of the reward's terms, in order."""
        self.values = np.repeat(self.actuator.start[np.newaxis], rows, axis=0)
        """The knobs in force, shape (rows, knobs)."""
        self.changes = np.zeros(rows)
        """Commands given since the storm began."""
        self._idle = np.full_like(self.values, _FOR_EVER)
        width = len(self.features.list) - len(options.knobs)
        self._late: deque[npt.NDArray[np.float32]] = deque(
            (np.zeros((rows, width), np.float32) for _ in range(options.delay + 1)), maxlen=options.delay + 1
        )
        self._completed: deque[Floats] = deque(
            (np.full(rows, np.nan) for _ in range(options.delay + 1)), maxlen=options.delay + 1
        )
        self._table: Floats | None = None
        self._first = np.concatenate([np.zeros(width, np.float32), self._places(self.values)[0]])

    @property
    def seen(self) -> dict[str, Floats]:
        """The reading of the last interval by quantity, without delay; empty before the first."""
        return {} if self._table is None else dict(zip(self.observer.numbers, self._table, strict=True))

    @property
    def observation_space(self) -> spaces.Box:
        """The space of one agent's observations."""
        return spaces.Box(0.0, 1.0, (len(self.features.list),), np.float32)

    @property
    def action_space(self) -> spaces.Space[Any]:
        """The space of one agent's actions."""
        return self._space

    @property
    def episode_steps(self) -> npt.NDArray[np.int64]:
        """Intervals that each row's storm has made."""
        return self.storms.steps // self._interval

    def start(self, rows: Sequence[int], numbers: Sequence[int]) -> None:
        """Let rows begin storms.

        Args:
            rows: Rows.
            numbers: The storm of each.
        """
        if not len(rows):
            return
        self.storms.start(rows, numbers)
        index = np.asarray(rows, np.int64)
        self.values[index] = self.actuator.start
        self.changes[index] = 0.0
        self._idle[index] = _FOR_EVER
        self.observer.forget(index)
        self.features.forget(index)
        self.tally.forget(index)
        for late in self._late:
            late[index] = 0.0
        for completed in self._completed:
            completed[index] = np.nan

    def observe(self) -> npt.NDArray[np.float32]:
        """Return what the agents see now; shape (rows, features)."""
        return np.concatenate([self._late[0], self._places(self.values)], axis=1)

    def show_start(self, rows: npt.NDArray[np.intp], observation: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Return an observation in which rows see what any storm shows at its beginning; shape (rows, features)."""
        shown = observation.copy()
        shown[rows] = self._first
        return shown

    def _places(self, values: Floats) -> npt.NDArray[np.float32]:
        return self.actuator.scaled(values).astype(np.float32)

    def step(self, actions: npt.NDArray[Any]) -> Result:
        """Set the knobs, advance one interval, and judge it.

        Args:
            actions: One action per row.

        Raises:
            ValueError: If they do not belong to the action space; nothing has moved then.
        """
        change = self._act(self._checked(actions))
        self.batch.run(self._interval)
        table = self._table = self.observer.table()
        self._late.append(self.features.see_table(table))
        self._completed.append(table[self.observer.numbers[ACCEPTS]].copy())
        interval = self.tally.read(table, change, self.options.early_end)
        truncated = self.storms.steps + self._interval > self.storms.horizon
        return Result(self.observe(), interval.reward, interval.terms, interval.over, truncated)

    def _checked(self, actions: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return actions that belong to the space, numbers beyond its bounds aside, which are taken as the bound."""
        space = self.action_space
        wanted = (self.rows, *(space.shape or ()))
        if isinstance(space, spaces.Box):
            if actions.dtype.kind not in "fiu":
                raise ValueError(f"actions must be real numbers from -1 to 1, but are of the type {actions.dtype}")
        elif actions.dtype.kind not in "iu":
            rule = f"actions must be whole numbers from 0 to {len(STEPS) - 1}"
            raise ValueError(f"{rule}, but are of the type {actions.dtype}: {actions!r}")
        if actions.shape != wanted:
            raise ValueError(
                f"actions must have the shape {wanted[1:]} per environment, in all {wanted}, but have {actions.shape}"
            )
        if isinstance(space, spaces.Box):
            if not np.isfinite(actions).all():
                raise ValueError("actions must be finite, but some are NaN or infinite")
            return actions
        most = np.asarray(space.nvec if isinstance(space, spaces.MultiDiscrete) else len(STEPS))
        if (actions < 0).any() or (actions >= most).any():
            raise ValueError(f"actions must be whole numbers from 0 to {len(STEPS) - 1}, but are {actions!r}")
        return actions

    def _act(self, actions: npt.NDArray[Any]) -> Floats:
        """Move the knobs; returns how far, shape (rows,)."""
        moved = self.actuator.move(actions, self.values, self._completed[0], self._idle)
        self.values = moved.values
        if moved.changes.any():
            self.changes += moved.changes
            self.actuator.put(self.values, self.batch)
        return moved.distance

    def kpis(self, rows: npt.ArrayLike) -> Floats:
        """Return the `EPISODE` KPIs of some rows so far, NaN where not reached; shape (KPIs, rows)."""
        index = np.asarray(rows, np.int64)
        return np.concatenate([self.tally.kpis(index), [self.storms.numbers[index], self.changes[index]]])
