"""The search space: the knob table's ranges as Optuna's distributions, and its points as legal settings."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from signalstorm.envs.model.errors import ABSENT, Finding, Shown, located
from signalstorm.envs.model.knob_table import KNOBS, Knob, KnobValue
from signalstorm.envs.model.knobs import Setting, resolve, round_to_legal
from signalstorm.envs.model.procedures import PROCEDURES
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.model.wording import nearest
from signalstorm.experiments.patience import patient_retransmissions
from signalstorm.experiments.study_file import KnobRange

_QUEUE, _QUEUE_WAIT = "nop_queue", "nop_queue_wait_s"
RETRANSMISSIONS = "max_assoc_retx"
"""The knob that follows the retransmission time-outs where it is not searched itself."""
_GATE_SHARES = (1.0, 1.1, 1.2)
"""Rates of the gate that every search tries first, as shares of the narrowest server's rate."""
_LINK_SHARES = (1.0, 1.5)
"""The same, as shares of what the signalling links carry; of the published storm's, 1.5 is near the advised rate."""
_ADVICE_MS = (
    {"rto_min_ms": 500, "rto_initial_ms": 500, "rto_max_ms": 500},
    {"rto_max_ms": 5000},
)
"""Limits of the retransmission time-out as vendors advise them: a published advice reads both as half a second, which
needs all three limits moved together, and as five."""
_WIDE = 100
"""A range that ends at so many times its start is searched on a logarithmic scale, or its small values would drown."""


_COST = {"live": 1, "association restart": 2, "reload": 3}
"""What changing one knob counts for."""


@dataclass(frozen=True)
class SearchSpace:
    """The knobs that a search moves, in the knob table's order."""

    scenario: Scenario
    """The nominal scenario: its present setting completes every point."""
    knobs: tuple[str, ...]
    """Names of the knobs."""
    ranges: Mapping[str, Knob] = field(default_factory=dict)
    """Rows of the knob table with a narrower range, by name."""

    def knob(self, name: str) -> Knob:
        """Return a row of the knob table, with the range that is searched."""
        return self.ranges.get(name, KNOBS[name])

    @cached_property
    def distributions(self) -> dict[str, BaseDistribution]:
        """Optuna's distribution of each knob."""
        return {name: _distribution(self.knob(name)) for name in self.knobs}

    @property
    def followers(self) -> tuple[str, ...]:
        """Names of the knobs that settings may have without being searched: they follow from others."""
        return () if RETRANSMISSIONS in self.knobs else (RETRANSMISSIONS,)

    def setting(self, point: Mapping[str, Any]) -> Setting:
        """Return the legal setting of a point, as overrides of the present setting.

        Args:
            point: A value for some of the knobs; others stay as the present setting has them.
        """
        return self.overrides(round_to_legal(point))

    def stored(self, values: Mapping[str, Any]) -> Setting:
        """Return overrides as a storage has kept them."""
        return Setting(values)

    def overrides(self, values: Mapping[str, KnobValue]) -> Setting:
        """Write values in the form in which commands take them: the queue in requests, or not at all.

        Where they lower the retransmission time-out so far that associations would fail too soon, the number of
        retransmissions is raised in the same change, as vendors advise, unless the values say what it is.

        Args:
            values: Legal values by knob.
        """
        complete = resolve(values, self.scenario)
        kept = {name: value for name, value in values.items() if name != _QUEUE_WAIT}
        if _QUEUE_WAIT in values and _QUEUE in complete and complete.number(_QUEUE) >= KNOBS[_QUEUE].low:
            kept[_QUEUE] = complete[_QUEUE]
        if RETRANSMISSIONS not in values:
            raised = patient_retransmissions(complete, resolve({}, self.scenario))
            kept |= {} if raised is None else {RETRANSMISSIONS: raised}
        return Setting(kept)

    def identity(self, setting: Mapping[str, KnobValue]) -> Setting:
        """Return what the network is set to: two settings with equal identities are the same."""
        return resolve(setting, self.scenario)

    @cached_property
    def present_point(self) -> dict[str, KnobValue] | None:
        """The present setting as a point, None if it lies outside the space."""
        present = resolve({}, self.scenario)
        point = {}
        for name in self.knobs:
            value = self._queue_wait_s(present) if name == _QUEUE_WAIT else present.get(name)
            if value is None or not _contains(self.knob(name), value):
                return None
            point[name] = value
        return point if self.identity(self.setting(point)) == present else None

    @cached_property
    def start_points(self) -> tuple[dict[str, KnobValue], ...]:
        """Points that every search tries first: the table's defaults, as they are and moved by rules of thumb.

        The gate lets through what the narrowest server can do, or somewhat more, and holds the rest for as long as
        it may; and the gateway waits for the policy server as long as it takes to work off a full buffer. Behind
        signalling links the present setting is moved to the advised limits of the retransmission time-out, as it is
        and with a gate that lets through what the links carry, or somewhat more; and to its RTO-min for all three.
        """
        defaults = {name: _default(KNOBS[name]) for name in self.knobs}
        rates, patience = self._bottleneck_rates(), self._buffer_patience_s()
        longest = {name: KNOBS[name].high for name in ("nop_wait_s", _QUEUE_WAIT) if name in self.knobs}
        points = [defaults, {**defaults, **round_to_legal(longest)}] if longest else [defaults]
        if "diameter_tx_s" in self.knobs and patience is not None:
            points += [{**point, **round_to_legal({"diameter_tx_s": patience})} for point in points]
        if "nop_rate" in self.knobs and rates:
            paced = [{**point, **round_to_legal({"nop_rate": rate})} for rate in rates for point in points]
            points = [defaults, *paced]
        return tuple(self._inside(point) for point in (*points, *self._advised_points()))

    def _inside(self, point: Mapping[str, KnobValue]) -> dict[str, KnobValue]:
        """Move a point into the ranges that are searched."""
        return {name: _clipped(self.knob(name), value) for name, value in point.items()}

    def _advised_points(self) -> Iterator[dict[str, KnobValue]]:
        base = self.present_point or {name: _default(KNOBS[name]) for name in self.knobs}
        advised = [{name: ms for name, ms in limits.items() if name in self.knobs} for limits in _ADVICE_MS]
        moved = [{**base, **limits} for limits in advised if limits]
        if self.scenario.topology.links is not None:
            # What counts in calm times, RTO-min, stays: what is no storm today then stays none.
            least = self.identity({})["rto_min_ms"]
            kept: dict[str, KnobValue] = {
                name: least for name in ("rto_initial_ms", "rto_max_ms") if name in self.knobs
            }
            yield from [{**base, **round_to_legal(kept)}] if kept else []
        yield from moved
        if "nop_rate" in self.knobs:
            for rate in self._link_rates():
                yield from ({**point, **round_to_legal({"nop_rate": rate})} for point in [base, *moved])

    def _queue_wait_s(self, present: Setting) -> KnobValue | None:
        if isinstance(present.get("nop_rate"), str) or _QUEUE not in present:
            return None
        knob = KNOBS[_QUEUE_WAIT]
        wait = present.number(_QUEUE) / present.number("nop_rate")
        return round_to_legal({_QUEUE_WAIT: min(max(wait, knob.low), knob.high)})[_QUEUE_WAIT]

    def _bottleneck_rates(self) -> list[float]:
        rates = [s.rate_per_s for s in self.scenario.topology.servers().values() if s.rate_per_s is not None]
        return [share * min(rates) for share in _GATE_SHARES] if rates else []

    def _link_rates(self) -> list[float]:
        links = self.scenario.topology.links
        if links is None:
            return []
        messages = sum(step.element == "links" for step in PROCEDURES[self.scenario.access])
        of_stps = sum(links.stp_rate_shares) or links.stps
        return [share * links.rate_per_s * links.links_per_stp * of_stps / messages for share in _LINK_SHARES]

    def _buffer_patience_s(self) -> float | None:
        pcrf = self.scenario.topology.pcrf
        if pcrf is None or pcrf.buffer is None or pcrf.rate_per_s is None:
            return None
        low, _ = self.scenario.variation_or_default().get("topology.pcrf.rate_per_s", (pcrf.rate_per_s, 0.0))
        return pcrf.latency_s + math.ceil(pcrf.buffer / low)


def search_space(
    scenario: Scenario, knobs: Iterable[str] | None = None, ranges: Mapping[str, KnobRange | None] | None = None
) -> SearchSpace:
    """Return the space of some knobs.

    Args:
        scenario: The scenario.
        knobs: Names of the knobs; by default those of the ranges, or those that the scenario calls tunable.
        ranges: Parts of the knobs' ranges, as a study file gives them.

    Raises:
        InputError: With every knob that cannot be searched, or if there is none.
    """
    narrowed = ranges or {}
    origin = "--knobs" if knobs is not None else "--study" if narrowed else "tunable"
    wanted = list(knobs if knobs is not None else narrowed or scenario.tunable)
    wanted = [_QUEUE_WAIT if name == _QUEUE else name for name in wanted]
    possible = [
        name for name, knob in KNOBS.items() if knob.searchable and getattr(scenario.topology, knob.element) is not None
    ]
    faults = [_fault(name, scenario, possible) for name in wanted if name not in possible]
    if not wanted:
        rule = "a search needs at least one knob"
        faults.append(Finding((), rule, ABSENT, f"name some of {', '.join(possible)}"))
    rows = {}
    for name, part in narrowed.items():
        if part is not None and name in possible and name in wanted:
            wrong, rows[name] = _narrow(KNOBS[name], part)
            faults += wrong
    if faults:
        raise located(faults, origin)
    return SearchSpace(scenario, tuple(name for name in KNOBS if name in wanted), rows)


def change_cost(space: SearchSpace, setting: Mapping[str, KnobValue]) -> tuple[int, int]:
    """Return how much a setting changes: the cost of its changes, and their number."""
    now, then = space.identity({}), space.identity(setting)
    changed = [name for name in setting if now.get(name) != then.get(name)]
    return sum(_COST[KNOBS[name].change] for name in changed), len(changed)


def _narrow(knob: Knob, part: KnobRange) -> tuple[list[Finding], Knob]:
    """Return a row of the table with a part of its range, and what is wrong with the part."""
    if knob.kind == "choice":
        words = knob.choices if part.choices is None else part.choices
        odd = [word for word in words if word not in knob.choices]
        rule = f"must be some of {', '.join(knob.choices)}"
        faults = [Finding((knob.name, "choices"), rule, word, nearest(word, knob.choices)) for word in odd]
        if not words or part.low is not None or part.high is not None:
            faults.append(Finding((knob.name,), "is a knob of words", ABSENT, f"give `choices`, which {rule}"))
        return faults, replace(knob, choices=tuple(words))
    low = knob.low if part.low is None else float(part.low)
    high = knob.high if part.high is None else float(part.high)
    if part.choices is not None or not knob.low <= low <= high <= knob.high:
        rule = f"its range must have low <= high, within {knob.range_text}"
        return [
            Finding((knob.name,), rule, Shown(f"low {low:g}, high {high:g}"), "leave out what is not to change")
        ], knob
    return [], replace(knob, low=low, high=high)


def _fault(name: str, scenario: Scenario, possible: list[str]) -> Finding:
    if name not in KNOBS:
        return Finding((name,), "there is no such knob", ABSENT, nearest(name, possible))
    if not KNOBS[name].searchable:
        return Finding((name,), "is a what-if, no search may use it", ABSENT, f"use some of {', '.join(possible)}")
    rule = f"the scenario {scenario.name} has no {KNOBS[name].element}"
    return Finding((name,), rule, ABSENT, f"use some of {', '.join(possible)}")


def _distribution(knob: Knob) -> BaseDistribution:
    """Return the range of a knob; Optuna takes no step on a logarithmic scale, so points are rounded afterwards."""
    if knob.kind == "choice":
        return CategoricalDistribution(knob.choices)
    log = knob.scale == "log" or (knob.low > 0 and knob.high / knob.low >= _WIDE and knob.step == 1)
    if knob.kind == "int":
        step = 1 if log else round(knob.step)
        low = -(-round(knob.low) // step) * step
        return IntDistribution(low, low + (round(knob.high) - low) // step * step, log=log, step=step)
    return FloatDistribution(knob.low, knob.high, log=log, step=None if log else knob.step)


def _clipped(knob: Knob, value: KnobValue) -> KnobValue:
    """Return the nearest value of a row's range."""
    if knob.kind == "choice" or isinstance(value, str):
        return value if value in knob.choices else knob.choices[0]
    nearest_value = min(max(float(value), knob.low), knob.high)
    return value if nearest_value == value else round_to_legal({knob.name: nearest_value})[knob.name]


def _contains(knob: Knob, value: KnobValue) -> bool:
    if knob.kind == "choice" or isinstance(value, str):
        return value in knob.choices
    return knob.low <= value <= knob.high


def _default(knob: Knob) -> KnobValue:
    """Return the table's default, or a point of the range where the default is none or a word."""
    if knob.kind == "choice":
        return knob.choices[0] if knob.default is None else knob.default
    if isinstance(knob.default, int | float):
        return knob.default
    middle = (knob.low * knob.high) ** 0.5 if knob.scale == "log" else 5.0
    return round_to_legal({knob.name: middle})[knob.name]
