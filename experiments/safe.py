"""Safe intervals: how far one knob can move, the others as recommended, before storms cost 10 % more."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from signalstorm.envs.model.errors import InputError
from signalstorm.envs.model.knob_checks import warn_rto
from signalstorm.envs.model.knob_table import KNOBS, Knob, KnobValue
from signalstorm.envs.model.knobs import Setting, round_to_legal
from signalstorm.experiments.engines import Engine
from signalstorm.experiments.recommendation import IntervalEnd, Profile, SafeInterval
from signalstorm.experiments.search_space import RETRANSMISSIONS, SearchSpace
from signalstorm.experiments.storm_sets import Paired, Progress, meet

SHARE = 0.1
"""A value is safe while the mean cost of storms is at most this share above that of the recommended value."""
_QUEUE_WAIT = "nop_queue_wait_s"
_ROUNDS = 9
"""Halvings of the way to the end of the range."""


class Sweep(NamedTuple):
    """What moving one knob at a time has shown, by the knob's name."""

    intervals: dict[str, SafeInterval]
    """The intervals of knobs of numbers."""
    words: dict[str, tuple[str, ...]]
    """The safe words of knobs of words."""
    profiles: dict[str, Profile]
    """The cost of storms for every value tried, the recommended one among them."""


@dataclass(frozen=True)
class _Side:
    """A search for the last safe value on one side of the recommended one."""

    knob: str
    safe: float
    """The farthest value known to be safe."""
    unsafe: float | None
    """The nearest value known not to be safe; None while nothing is known."""
    end: float
    """The end of the range."""
    why: IntervalEnd = "cost"
    """Why the nearest value that is not safe is none."""

    @property
    def next(self) -> float | None:
        """The value to try next; None when the last safe one is known."""
        if self.unsafe is None:
            return None if self.safe == self.end else self.end
        knob = KNOBS[self.knob]
        middle = (self.safe * self.unsafe) ** 0.5 if knob.scale == "log" else (self.safe + self.unsafe) / 2
        value = _legal(knob, middle)
        return None if value in (self.safe, self.unsafe) else value

    @property
    def limit(self) -> IntervalEnd:
        """What is beyond the last safe value."""
        return "range" if self.safe == self.end else self.why

    def told(self, value: float, why: IntervalEnd | None) -> "_Side":
        """Return the search after a value was tried, None: it is safe."""
        return replace(self, safe=value) if why is None else replace(self, unsafe=value, why=why)


def safe_intervals(
    space: SearchSpace, setting: Setting, storms: Paired, engine: Engine, progress: Progress | None = None
) -> Sweep:
    """Find the safe interval of each searched knob by halving, all knobs and both sides at once.

    Args:
        space: The search space.
        setting: The recommended setting, as overrides of the present one.
        storms: The storms by whose cost values are compared.
        engine: Where storms run.
        progress: Told after each round.

    Returns:
        The intervals, the safe words, and the costs from which they come.
    """
    complete = space.identity(setting)
    values = {name: knob_value(name, complete) for name in space.knobs}
    sides = [side for name, value in values.items() if value is not None for side in _sides(name, value)]
    words = [(name, word) for name, value in values.items() if isinstance(complete.get(name), str) and value is None
             for word in KNOBS[name].choices]  # fmt: skip
    before = _present_values(space, setting, values)
    trials = [setting, *(moved(space, setting, name, word) or setting for name, word in words), *before.values()]
    values_s = storms.values_of(meet(trials, storms.storms, engine))
    limit = float(values_s[0]) * (1.0 + SHARE)
    of_words, of_before = values_s[1 : 1 + len(words)], values_s[1 + len(words) :]
    safe_words = {pair for pair, value_s in zip(words, of_words, strict=True) if value_s <= limit}
    costs: dict[str, dict[KnobValue, float]] = {name: {} for name in space.knobs}
    for name, value in values.items():
        known = complete.get(name) if value is None else value
        if known is not None:
            costs[name][known] = float(values_s[0])
    pairs: list[tuple[str, KnobValue]] = [*words, *before]
    for (name, moved_to), value_s in zip(pairs, [*of_words, *of_before], strict=True):
        costs[name].setdefault(moved_to, float(value_s))
    for step in range(_ROUNDS):
        if progress is not None:
            progress("safe intervals", step, _ROUNDS)
        asked = [(i, side.next) for i, side in enumerate(sides)]
        tried = {i: value for i, value in asked if value is not None}
        if not tried:
            break
        moves = {i: moved(space, setting, sides[i].knob, value) for i, value in tried.items()}
        legal = {i: candidate for i, candidate in moves.items() if candidate is not None}
        costs_s = storms.values_of(meet(list(legal.values()), storms.storms, engine)) if legal else ()
        found = dict(zip(legal, costs_s, strict=True))
        for i, value in tried.items():
            if i in found:
                costs[sides[i].knob][value] = float(found[i])
            sides[i] = sides[i].told(value, _why_not(sides[i].knob, value, complete, found.get(i, math.inf), limit))
    intervals = {
        low.knob: SafeInterval(
            unit=KNOBS[low.knob].unit, low=low.safe, high=high.safe, low_end=low.limit, high_end=high.limit
        )
        for low, high in zip(sides[::2], sides[1::2], strict=True)
    }
    good = {name: tuple(word for word in KNOBS[name].choices if (name, word) in safe_words) for name in space.knobs}
    return Sweep(
        intervals,
        {name: found for name, found in good.items() if found},
        {name: _profile(name, tried) for name, tried in costs.items() if len(tried) > 1},
    )


def _present_values(
    space: SearchSpace, setting: Setting, values: Mapping[str, float | None]
) -> dict[tuple[str, float], Setting]:
    """Return the settings in which one knob of numbers has its present value again, where that alone is legal."""
    present = space.identity(Setting({}))
    found = {}
    for name, value in values.items():
        back = knob_value(name, present)
        if value is not None and back is not None and back != value:
            there = moved(space, setting, name, back)
            if there is not None:
                found[name, back] = there
    return found


def _profile(name: str, costs: Mapping[KnobValue, float]) -> Profile:
    """Return costs in the order of the values."""
    order = sorted(costs, key=lambda value: KNOBS[name].choices.index(value) if isinstance(value, str) else value)
    return Profile(unit=KNOBS[name].unit, values=tuple(order), value_s=tuple(round(costs[v], 3) for v in order))


def _why_not(
    name: str, value: float, complete: Mapping[str, KnobValue], cost_s: float, limit_s: float
) -> IntervalEnd | None:
    """Return why a value is not safe, None if it is; a warning counts unless the recommended value carries it too.

    Args:
        name: The knob.
        value: The value.
        complete: The recommended setting.
        cost_s: The cost of storms, infinite where the value is not legal beside the other knobs [s].
        limit_s: The largest cost that counts as safe [s].
    """
    if math.isinf(cost_s):
        return "rule"
    if cost_s > limit_s:
        return "cost"
    known = {finding.path for finding in warn_rto(complete)}
    return "warning" if any(finding.path not in known for finding in warn_rto({**complete, name: value})) else None


def _sides(name: str, value: float) -> Iterator[_Side]:
    knob = KNOBS[name]
    yield _Side(name, value, None, knob.low)
    yield _Side(name, value, None, knob.high)


def knob_value(name: str, complete: Mapping[str, KnobValue]) -> float | None:
    """Return the recommended value of a searched knob as a number, None for a word."""
    if name == _QUEUE_WAIT:
        rate, queue = complete.get("nop_rate"), complete.get("nop_queue")
        if isinstance(rate, str | None) or isinstance(queue, str | None):
            return None
        return _legal(KNOBS[name], queue / rate)
    value = complete.get(name)
    return None if isinstance(value, str | None) else float(value)


def moved(space: SearchSpace, setting: Setting, name: str, value: Any) -> Setting | None:
    """Return the setting with one knob moved and the others kept, None if that is not legal."""
    complete = space.identity(setting)
    # Retransmissions that go with lower time-outs stay as they are, too.
    values = {**{kept: complete[kept] for kept in (RETRANSMISSIONS,) if kept in complete}, **setting}
    if name in (_QUEUE_WAIT, "nop_rate", "nop_wait_s"):
        values.pop("nop_queue", None)  # the queue follows, at the same seconds of the rate
    if name in ("nop_rate", "nop_wait_s") and "nop_queue" in setting:
        wait_s = knob_value(_QUEUE_WAIT, complete)
        values |= {} if wait_s is None else {_QUEUE_WAIT: wait_s}
    try:
        there = space.overrides(round_to_legal({**values, name: value}))
    except InputError:
        return None
    # A value that is legal only with another knob moved along, such as an RTO-min above RTO-max, is not safe alone.
    before, after = complete, space.identity(there)
    reached = knob_value(name, after) if name == _QUEUE_WAIT else after.get(name, value)
    by_itself = name == "nop_wait_s" and "nop_queue" not in {**space.scenario.present, **setting}
    kept = (name, "nop_queue") if name in (_QUEUE_WAIT, "nop_rate") or by_itself else (name,)
    alone = reached == value and all(after.get(other) == before.get(other) for other in before if other not in kept)
    return there if alone else None


def _legal(knob: Knob, value: float) -> float:
    return float(round_to_legal({knob.name: min(max(value, knob.low), knob.high)})[knob.name])
