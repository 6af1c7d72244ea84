"""Actions of an agent as settings of knobs: four ways to move them, limits of change, and the rules that tie them.

An action is one number in [-1, 1] per knob (or one choice among `STEPS`). What comes out is always a legal setting: on
the grid of the knob table, inside its ranges, and within its rules.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from signalstorm.envs.model import core_parameters, parameters
from signalstorm.envs.model.batch import Batch
from signalstorm.envs.model.core_knobs import THROTTLES
from signalstorm.envs.model.errors import ABSENT, Finding, located
from signalstorm.envs.model.glance import fit_queue, follow, move
from signalstorm.envs.model.kernels import layout
from signalstorm.envs.model.knob_table import KNOBS, OFF, RTO_NAMES, Knob, KnobValue
from signalstorm.envs.model.knob_ties import TIES
from signalstorm.envs.model.knobs import movable, resolve
from signalstorm.envs.model.parameters import GATE_FIELDS, GATE_RATE_KNOBS, SETTING_FIELDS, setting_vector
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.model.wording import nearest

Floats = npt.NDArray[np.float64]

ActionMode = Literal["absolute", "delta", "ratio", "discrete"]

RATIO_BASE = 4.0
"""In ratio mode a rate is set to the completions of the last interval times this to the power of the action."""
DELTA_GAIN = 0.7
"""In delta mode a knob on a logarithmic scale is multiplied by exp(gain x action)."""
DELTA_SHARE = 0.1
"""In delta mode a knob on a linear scale moves by this share of its range times the action."""
STEPS = (0.5, 0.8, 1.0, 1.25, 2.0)
"""Discrete actions: factors on a logarithmic scale; on a linear scale the same steps as shares of the range."""
_LINEAR_STEPS = (-0.25, -0.05, 0.0, 0.05, 0.25)
_SPAN = 100.0
"""Ranges wider than a factor of its square are narrowed to this factor either side of the value that is set."""
_ORDERED = tuple(tie.names for tie in TIES if tie.gap == 0)
"""Knobs that must not exceed the next of their row."""
(_WINDOW,) = (tie.names for tie in TIES if tie.gap == 1)
"""The poll, which must stay below its window."""
_QUEUE = KNOBS["nop_queue"]
_RATES = ("nop_rate", "dra_peer_limit_per_s", "dra_ccr_i_limit_per_s", "dra_ccr_t_limit_per_s", "ddn_limit_per_s")
"""Knobs that ratio mode sets by what was completed; others move as in absolute mode."""


@dataclass(frozen=True)
class Limits:
    """How fast knobs may change; by default as fast as the agent likes."""

    largest_change: Mapping[str, float]
    """By knob, the largest change in one interval: a factor on a logarithmic scale, else in the knob's unit."""
    cool_down_s: Mapping[str, float]
    """By what a change costs (``live``, ``association restart``, ``reload``), the time between two changes [s]."""


NO_LIMITS = Limits({}, {})


def action_space(knobs: Sequence[str], mode: ActionMode) -> spaces.Space[Any]:
    """Return the space of one agent's actions."""
    if mode == "discrete":
        if len(knobs) == 1:
            return spaces.Discrete(len(STEPS))
        return spaces.MultiDiscrete([len(STEPS)] * len(knobs))
    return spaces.Box(-1.0, 1.0, (len(knobs),), np.float32)


class Moved(NamedTuple):
    """Knobs after an action."""

    values: Floats
    """Legal values on the grid, shape (rows, knobs)."""
    changes: Floats
    """How many knobs of each row have changed, shape (rows,)."""
    distance: Floats
    """How far, see ``Weights.change_cost``; shape (rows,)."""


class Actuator:
    """Turns the actions of many agents into setting vectors."""

    def __init__(
        self,
        scenario: Scenario,
        knobs: Sequence[str],
        mode: ActionMode,
        start: Mapping[str, KnobValue],
        interval_s: float,
        limits: Limits = NO_LIMITS,
    ) -> None:
        """Look up ranges, scales and rules.

        Args:
            scenario: The nominal scenario.
            knobs: The knobs that actions move, in their order.
            mode: How actions move them.
            start: The setting with which a storm begins, over the present one.
            interval_s: Time between two actions [s].
            limits: How fast knobs may change.

        Raises:
            InputError: If a knob is unknown, cannot be moved, or the start breaks a rule.
        """
        _check(scenario, knobs, limits)
        self.knobs = tuple(knobs)
        self.mode = mode
        complete = resolve(start, scenario)
        self._base = setting_vector(start, scenario)
        # Limits that others must stay below are written out, so that the rules can be kept.
        for name in (*RTO_NAMES, *THROTTLES, *_WINDOW):
            if name in complete:
                self._base[SETTING_FIELDS.index(name)] = complete.number(name)
        rows = [KNOBS[name] for name in knobs]
        first = [_number(knob, _at_start(knob, complete)) for knob in rows]
        spans = [_span(knob, value) for knob, value in zip(rows, first, strict=True)]
        self.low = np.array([low for low, _ in spans])
        self.high = np.array([high for _, high in spans])
        self.start = np.array(first)
        self._log = np.array([knob.scale == "log" and low > 0 for knob, (low, _) in zip(rows, spans, strict=True)])
        self._all_log = bool(self._log.all())
        self._width = np.where(self.high > self.low, self.high - self.low, 1.0)
        self._log_low = np.where(self._log, self.low, 1.0)
        self._log_span = np.log(np.where(self._log, self.high, np.e) / self._log_low)
        self._words = np.array([knob.kind == "choice" for knob in rows])
        self._grid = np.array([1.0 if knob.kind == "choice" else knob.step for knob in rows])
        self._ratio = np.array([name in _RATES for name in knobs])
        self._all_ratio = bool(self._ratio.all())
        inf = np.full(len(rows), np.inf)
        self._largest = np.array([limits.largest_change.get(name, np.inf) for name in knobs]) if rows else inf
        waits = [limits.cool_down_s.get(knob.change, 0.0) for knob in rows]
        self._cool_down = np.ceil(np.array(waits) / interval_s)
        self._columns = [SETTING_FIELDS.index(name) if name in SETTING_FIELDS else -1 for name in knobs]
        self._ordered = [names for names in _ORDERED if set(names) & {*knobs, *start}]
        self._has_gate = scenario.topology.gate is not None
        self._moves_gate = self._has_gate and bool({"nop_rate", "nop_wait_s", "nop_queue_wait_s"} & set(knobs))
        self._touched = self.touched
        self._gate_alone = self._moves_gate and self._touched <= GATE_RATE_KNOBS
        self._queue_wait_s = _queue_wait_s(self._base, start, scenario) if self._has_gate else np.nan

    @property
    def floor(self) -> Floats:
        """What completions count as at least in ratio mode, shape (knobs,)."""
        return self.low

    def scaled(self, values: Floats) -> Floats:
        """Return the knobs' places in their ranges, on their scales, from 0 to 1; shape (rows, knobs)."""
        inside = _between(values, self.low, self.high)
        if self._all_log:
            return np.asarray(np.log(inside / self.low) / self._log_span)
        linear = (inside - self.low) / self._width
        if not self._log.any():
            return np.asarray(linear)
        return np.where(self._log, np.log(np.where(self._log, inside, 1.0) / self._log_low) / self._log_span, linear)

    def target(self, actions: npt.NDArray[Any], values: Floats, completed: Floats, idle: Floats) -> Floats:
        """Return the knobs' next values.

        Args:
            actions: Shape (rows, knobs), or (rows,) of a discrete space.
            values: The present values, shape (rows, knobs).
            completed: What was completed in the last interval that is known, NaN where none is, shape (rows,) [1/s].
            idle: Intervals since each knob last changed, shape (rows, knobs).

        Returns:
            Legal values on the grid, shape (rows, knobs).
        """
        return self.move(np.nan_to_num(actions), values, completed, idle.copy()).values

    def move(self, actions: npt.NDArray[Any], values: Floats, completed: Floats, idle: Floats) -> Moved:
        """Move the knobs; brings ``idle`` up to date.

        Args:
            actions: As for `target`, as the rest; finite.
            values: The present values.
            completed: What was completed.
            idle: Intervals since each knob last changed.
        """
        wanted = self._wanted(np.asarray(actions).reshape(len(values), -1), values, completed)
        wanted = self._limited(wanted, values)
        ratios = np.empty_like(wanted)
        changes = move(wanted, values, idle, self._cool_down, self._grid, self.low, self.high, ratios)
        return Moved(wanted, changes, self._distance(values, wanted, ratios))

    def aimed(self, wanted: Floats, values: Floats, completed: Floats) -> Floats:
        """Return the actions that bring knobs nearest to wanted values: `target` the other way round.

        Args:
            wanted: Shape (rows, knobs).
            values: The present values, shape (rows, knobs).
            completed: As for `target`.

        Raises:
            ValueError: If actions are discrete.
        """
        if self.mode == "discrete":
            raise ValueError("discrete actions do not reach every value")
        aim, now = _between(wanted, self.low, self.high), _between(values, self.low, self.high)
        actions = 2.0 * self.scaled(aim) - 1.0
        # A knob on a linear scale may be 0, of which no ratio is taken: it has one of 1 in its place.
        if self.mode == "ratio":
            base = np.maximum(completed[:, np.newaxis], self.floor)
            base = np.where(self._ratio, np.where(np.isnan(base), now, base), 1.0)
            ratio = np.log(np.where(self._ratio, aim, 1.0) / base) / np.log(RATIO_BASE)
            actions = np.where(self._ratio, ratio, actions)
        if self.mode == "delta":
            factor = np.where(self._log, aim, 1.0) / np.where(self._log, now, 1.0)
            moved = np.where(self._log, np.log(factor) / DELTA_GAIN, (aim - now) / (DELTA_SHARE * self._width))
            actions = np.where(self._words, actions, moved)
        return _between(actions, -1.0, 1.0)

    def _wanted(self, actions: npt.NDArray[Any], values: Floats, completed: Floats) -> Floats:
        if self.mode == "ratio":
            return self._by_ratio(_between(actions.astype(np.float64), -1.0, 1.0), values, completed)
        now = _between(values, self.low, self.high)
        span = self.high - self.low
        if self.mode == "discrete":
            index = actions.astype(np.intp)
            moved = np.where(self._log, now * np.take(STEPS, index), now + np.take(_LINEAR_STEPS, index) * span)
            return np.where(self._words, now + np.sign(index - 2), moved)
        a = _between(actions.astype(np.float64), -1.0, 1.0)
        if self.mode == "absolute":
            return self._absolute(a)
        moved = np.where(self._log, now * np.exp(DELTA_GAIN * a), now + DELTA_SHARE * span * a)
        return np.where(self._words, self._absolute(a), moved) if self._words.any() else moved

    def _by_ratio(self, actions: Floats, values: Floats, completed: Floats) -> Floats:
        found: Floats = follow(RATIO_BASE**actions, values, completed, self.floor, self.high)
        return found if self._all_ratio else np.where(self._ratio, found, self._absolute(actions))

    def _absolute(self, actions: Floats) -> Floats:
        share = 0.5 * (actions + 1.0)
        high = np.where(self._log, self.high, 1.0)
        return np.where(
            self._log, self._log_low * (high / self._log_low) ** share, self.low + share * (self.high - self.low)
        )

    def _limited(self, wanted: Floats, values: Floats) -> Floats:
        if np.isinf(self._largest).all():
            return wanted
        now = np.clip(values, self.low, self.high)
        factor = np.maximum(self._largest, 1.0)
        low = np.where(self._log, now / factor, now - self._largest)
        high = np.where(self._log, now * factor, now + self._largest)
        return np.clip(wanted, low, high)

    def settings(self, values: Floats) -> Floats:
        """Return complete setting vectors, rules kept; shape (rows, setting fields).

        Limits of the retransmission time-out are lowered to the one above them, throttles to that of the band above,
        the shortest back-off to the longest, and the poll below its window; the gate's queue follows rate and wait.
        """
        rows = np.repeat(self._base[np.newaxis], len(values), axis=0)
        for i, at in enumerate(self._columns):
            if at >= 0:
                rows[:, at] = values[:, i]
        for names in self._ordered:
            self._keep_order(rows, names)
        if set(_WINDOW) & set(self.knobs):
            poll, window = (SETTING_FIELDS.index(name) for name in _WINDOW)
            rows[:, poll] = np.fmin(rows[:, poll], rows[:, window] - 1.0)
        if self._moves_gate:
            self._fit_queue(rows, values)
        return rows

    def _keep_order(self, rows: Floats, names: Sequence[str]) -> None:
        at = [SETTING_FIELDS.index(name) for name in names]
        for above, below in zip(at[:0:-1], at[-2::-1], strict=True):
            limited = np.fmin(rows[:, below], rows[:, above])
            rows[:, below] = np.where(np.isnan(rows[:, below]), np.nan, limited)

    def _fit_queue(self, rows: Floats, values: Floats) -> None:
        """Give the gate the queue that the command would have, as ``effective_queue`` does for one setting."""
        fit_queue(rows, GATE_FIELDS, self._held_s(values), _QUEUE.low, _QUEUE.high)

    def _held_s(self, values: Floats) -> Floats:
        """Return how long the gate's full queue waits, NaN for the default length; shape (rows,) [s]."""
        if "nop_queue_wait_s" in self.knobs:
            return values[:, self.knobs.index("nop_queue_wait_s")]
        return np.full(len(values), self._queue_wait_s)

    def put(self, values: Floats, batch: Batch) -> None:
        """Let the storms of a batch, whose settings so far come from here as well, have these values.

        Args:
            values: Shape (rows, knobs).
            batch: The batch.
        """
        if not self._gate_alone:
            batch.set_settings(self.settings(values), self._touched)
            return
        for i, at in enumerate(self._columns):
            if at >= 0:
                batch.settings[:, at] = values[:, i]
        batch.retune(_QUEUE.low, _QUEUE.high, self._held_s(values))

    @property
    def touched(self) -> frozenset[str]:
        """The fields of a setting vector that actions may change."""
        own = {name for name in self.knobs if name in SETTING_FIELDS}
        tied = {name for names in self._ordered if own & set(names) for name in names}
        window = set(_WINDOW) if own & set(_WINDOW) else set()
        return frozenset(own | tied | window | ({"nop_queue"} if self._moves_gate else set()))

    def _distance(self, before: Floats, after: Floats, ratios: Floats) -> Floats:
        """Return how far knobs were moved, added over the knobs: |ln| of the factor, or the share of the range."""
        if self._all_log:
            return np.asarray(np.abs(np.log(ratios)).sum(axis=1))
        old, new = _between(before, self.low, self.high), _between(after, self.low, self.high)
        linear = np.abs(new - old) / self._width
        return np.asarray(np.where(self._log, np.abs(np.log(np.where(self._log, ratios, 1.0))), linear).sum(axis=1))

    def named(self, values: Floats) -> dict[str, KnobValue]:
        """Return one row of values by knob, as the knob table writes them."""
        found: dict[str, KnobValue] = {}
        for name, value in zip(self.knobs, values, strict=True):
            knob = KNOBS[name]
            if knob.kind == "choice":
                found[name] = knob.choices[round(float(value))]
            elif value >= layout.NEVER:
                found[name] = OFF
            else:
                found[name] = round(float(value)) if knob.kind == "int" else round(float(value), 9)
        return found


def _between(values: Floats, low: Floats | float, high: Floats | float) -> Floats:
    """Return values within a range, as ``np.clip`` does for a part of its time."""
    return np.minimum(np.maximum(values, low), high)


def _check(scenario: Scenario, knobs: Sequence[str], limits: Limits) -> None:
    """Raise an error with every knob that an agent cannot move here."""
    possible = movable(scenario)
    findings = [
        Finding((name,), f"is no knob that an agent can move in {scenario.name}", ABSENT, nearest(name, possible))
        for name in knobs
        if name not in possible
    ]
    if not knobs:
        findings.append(Finding(("knobs",), "an agent needs at least one knob", ABSENT, f"such as {possible[0]}"))
    findings += [
        Finding(("largest_change", name), "must be one of the agent's knobs", ABSENT, nearest(name, knobs))
        for name in limits.largest_change
        if name not in knobs
    ]
    costs = sorted({knob.change for knob in KNOBS.values()})
    findings += [
        Finding(("cool_down_s", cost), f"must be one of {', '.join(costs)}", ABSENT, nearest(cost, costs))
        for cost in limits.cool_down_s
        if cost not in costs
    ]
    if findings:
        raise located(findings, "environment")


def _at_start(knob: Knob, complete: Mapping[str, KnobValue]) -> KnobValue | None:
    """Return a knob's value in the setting with which storms begin."""
    if knob.name != "nop_queue_wait_s":
        return complete.get(knob.name, knob.default)
    queue, rate = complete.get("nop_queue"), complete.get("nop_rate")
    if isinstance(queue, str) or isinstance(rate, str) or queue is None or rate is None:
        return complete.get("nop_wait_s")
    return min(max(round(2.0 * queue / rate) / 2.0, knob.low), knob.high)


def _number(knob: Knob, value: KnobValue | None) -> float:
    """Return a value as a number: a word by its place, ``off`` as what never limits."""
    if value is None:
        return knob.low
    if knob.name == "nop_action":
        return float(parameters.ACTIONS[str(value)])
    return core_parameters.encode(knob.name, value)


def _span(knob: Knob, value: float) -> tuple[float, float]:
    """Return the range in which actions move a knob."""
    if knob.kind == "choice":
        return 0.0, float(len(knob.choices) - 1)
    if knob.low <= 0 or knob.high / knob.low <= _SPAN**2:
        return knob.low, knob.high
    centre = value if value < layout.NEVER else float(knob.default) if isinstance(knob.default, int | float) else 1e3
    return max(knob.low, centre / _SPAN), min(knob.high, centre * _SPAN)


def _queue_wait_s(base: Floats, start: Mapping[str, KnobValue], scenario: Scenario) -> float:
    """Return how long a full queue waits in the setting with which storms begin, NaN for the default length."""
    if "nop_queue_wait_s" in start:
        return float(start["nop_queue_wait_s"])
    given = {**scenario.present, **start}
    follows = "nop_queue" not in start and bool({"nop_rate", "nop_wait_s"} & start.keys())
    if "nop_queue" not in given or follows:
        return float("nan")
    rate, queue = (base[SETTING_FIELDS.index(name)] for name in ("nop_rate", "nop_queue"))
    return float(queue / rate)
