"""Closed loops over many storms at once: one batch, one hand on its knobs, interval by interval."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from signalstorm.agents.plant import as_number
from signalstorm.agents.steering import Steering, fast_knobs
from signalstorm.envs.model.batch import Batch
from signalstorm.envs.model.knob_table import KNOBS, OFF, KnobValue
from signalstorm.envs.model.knobs import resolve
from signalstorm.envs.model.metrics import Outcomes, outcomes, restricted, watched_s
from signalstorm.envs.model.parameters import setting_vector
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.observation import Observer, Reading
from signalstorm.experiments.evaluate import StormSet

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Progress = Callable[[int, int], None]
"""Told how many intervals are done, and of how many."""


@dataclass(frozen=True)
class LoopResult:
    """What storms came to under a hand."""

    storms: StormSet
    """The storms, one per row."""
    outcomes: Outcomes
    """Their outcomes."""
    changed: Flags
    """Whether a knob was changed at the end of each interval, shape (intervals, rows)."""
    interval_s: float
    """Length of an interval [s]."""
    readings: tuple[Reading, ...] = ()
    """What was seen of each interval, if asked for."""
    values: Mapping[str, Floats] = field(default_factory=dict)
    """The fast knobs in force in each interval, if asked for, each of shape (intervals, rows)."""

    @property
    def restricted_s(self) -> Floats:
        """min(T, horizon), shape (rows,) [s]."""
        return restricted(self.outcomes.convergence_time_s, watched_s(self.storms.scenario))

    @property
    def converged(self) -> Flags:
        """Whether each storm was over within the horizon."""
        return ~np.isnan(self.outcomes.convergence_time_s)

    @property
    def lost_h(self) -> Floats:
        """Hours without service per subscriber, shape (rows,) [h]."""
        population = [float(sum(group.size for group in s.subscribers)) for s in self.storms.scenarios]
        return np.asarray(self.outcomes.subscriber_hours_lost / np.array(population))

    @property
    def changes(self) -> Floats:
        """Changes until each storm was over, or until the horizon, shape (rows,)."""
        return np.asarray((self.changed & self._lasting).sum(axis=0), np.float64)

    @property
    def changes_per_hour(self) -> Floats:
        """The same per hour of storm, from ``count_from`` on, shape (rows,) [1/h]."""
        first = self.storms.scenario.convergence.count_from_s
        counted = self.changed & self._lasting & (self._ends_s[:, np.newaxis] > first)
        hours = np.maximum(self.restricted_s, self.interval_s) / 3600.0
        return np.asarray(counted.sum(axis=0) / hours)

    @property
    def most_in_an_hour(self) -> Floats:
        """Largest number of changes within any hour until each storm was over, shape (rows,)."""
        counted = np.cumsum(self.changed & self._lasting, axis=0, dtype=np.float64)
        hour = max(round(3600.0 / self.interval_s), 1)
        before = np.zeros_like(counted)
        before[hour:] = counted[:-hour]
        return np.asarray((counted - before).max(axis=0, initial=0.0))

    @property
    def _ends_s(self) -> Floats:
        return np.arange(1, len(self.changed) + 1, dtype=np.float64) * self.interval_s

    @property
    def _lasting(self) -> Flags:
        over_s = self.storms.scenario.convergence.count_from_s + self.restricted_s
        return self._ends_s[:, np.newaxis] <= over_s


class Knobs:
    """The settings of the rows of a batch, of which only some knobs move; each distinct setting is worked out once."""

    def __init__(self, scenario: Scenario, start: Mapping[str, KnobValue], rows: int) -> None:
        """Give every row the start."""
        self._scenario = scenario
        self._start = dict(start)
        self._vectors: dict[tuple[float, ...], Floats] = {}
        complete = resolve(self._start, scenario)
        self._own = fast_knobs(scenario)
        self.values = {name: np.full(rows, as_number(name, complete.get(name))) for name in self._own}
        """The moving knobs' values, infinite where one is off, each of shape (rows,)."""
        self.matrix = np.tile(setting_vector(self._start, scenario), (rows, 1))
        """Setting vectors, shape (rows, fields)."""

    def put(self, wanted: Mapping[str, Floats]) -> Flags:
        """Set knobs to the legal values next to the wanted ones and return which rows changed, shape (rows,)."""
        changed = np.zeros(len(self.matrix), bool)
        for name, values in wanted.items():
            if name not in self.values:
                self.values[name] = np.full(
                    len(values), as_number(name, resolve(self._start, self._scenario).get(name))
                )
            legal = _legal(name, values, self.values[name])
            changed |= legal != self.values[name]
            self.values[name] = legal
        for row in np.flatnonzero(changed):
            self.matrix[row] = self._vector(int(row))
        return changed

    def _vector(self, row: int) -> Floats:
        key = tuple(float(values[row]) for values in self.values.values())
        if key not in self._vectors:
            moved = {name: _word(name, value) for name, value in zip(self.values, key, strict=True)}
            override = {**self._start, **moved}
            if "nop_rate" in moved and "nop_queue_wait_s" not in override:
                override.pop("nop_queue", None)
            self._vectors[key] = setting_vector(override, self._scenario)
        return self._vectors[key]


def run_loop(
    steering: Steering,
    storms: StormSet,
    *,
    delay: int | None = None,
    interval_s: float | None = None,
    series: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
) -> LoopResult:
    """Run storms to their horizon under a hand.

    Args:
        steering: What sets the knobs.
        storms: The storms.
        delay: Intervals by which counters arrive late; by default that of the scenario's loop.
        interval_s: Time between two decisions; by default the scenario's [s].
        series: Whether to keep what was seen and set.
        threads: Threads at most; by default one per core.
        progress: Told after each interval.
    """
    scenario = storms.scenario
    late = (scenario.loop.delay if scenario.loop else 0) if delay is None else delay
    knobs = Knobs(scenario, steering.start(scenario), len(storms.numbers))
    batch = Batch(storms.scenarios, storms.numbers, knobs.matrix, threads=threads)
    steps = max(round((interval_s or scenario.control_interval_s) / batch.dt), 1)
    hand = steering.hand(scenario, batch, storms.scenarios)
    observer = Observer(batch)
    arrived: deque[Reading] = deque(maxlen=late + 1)
    changed, kept, values = [], [], []
    intervals = -(-batch.end // steps)
    while batch.step < batch.end:
        batch.run(steps)
        arrived.append(observer.read())
        if series:
            kept.append(arrived[-1])
            values.append({name: array.copy() for name, array in knobs.values.items()})
        moved = np.zeros(batch.size, bool)
        if hand is not None and len(arrived) > late and batch.step < batch.end:
            moved = knobs.put(hand.act(arrived[0], knobs.values))
            if moved.any():
                batch.set_settings(knobs.matrix)
        changed.append(moved)
        if progress is not None:
            progress(len(changed), intervals)
    return LoopResult(
        storms,
        outcomes(batch),
        np.array(changed),
        steps * batch.dt,
        tuple(kept),
        {name: np.array([one[name] for one in values]) for name in (values[0] if values else {})},
    )


def _legal(name: str, wanted: Floats, now: Floats) -> Floats:
    """Round to the knob's grid and range; what is not a number stays as it is, what is infinite is off."""
    knob = KNOBS[name]
    step = knob.step or 1.0
    on_grid = knob.low + np.rint((np.where(np.isfinite(wanted), wanted, knob.low) - knob.low) / step) * step
    legal = np.clip(on_grid, knob.low, knob.high)
    off = np.isinf(wanted) & (OFF in knob.words)
    return np.where(np.isnan(wanted), now, np.where(off, np.inf, legal))


def _word(name: str, value: float) -> KnobValue:
    if np.isinf(value):
        return OFF
    return round(value) if KNOBS[name].kind == "int" else value


def numbers_from(first: int, count: int) -> Sequence[int]:
    """Return storm numbers from the first on."""
    return range(first, first + count)
