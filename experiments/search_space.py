"""The search space: the knob table's ranges as Optuna's distributions, and its points as legal settings."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from optuna.distributions import BaseDistribution

from signalstorm.envs.model.errors import ABSENT, Finding, Shown, located
from signalstorm.envs.model.knob_checks import SGSN_ACTIONS
from signalstorm.envs.model.knob_table import KNOBS, Knob, KnobValue
from signalstorm.envs.model.knob_ties import below, ceiling, lowered
from signalstorm.envs.model.knobs import Setting, movable, resolve, round_to_legal
from signalstorm.envs.model.procedures import PROCEDURES
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.model.wording import nearest
from signalstorm.experiments.patience import patient_retransmissions
from signalstorm.experiments.ranges import clipped, contains, default, distribution, narrow
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
        """Return a row of the knob table, with the range that is searched.

        It ends where a knob that stays as the present setting has it allows no more.
        """
        row = self.ranges.get(name, KNOBS[name])
        return replace(row, high=ceiling(row, self.staying)[0]) if row.kind != "choice" else row

    @cached_property
    def staying(self) -> dict[str, KnobValue]:
        """The present values of the knobs that are not searched."""
        return {name: value for name, value in self.identity({}).items() if name not in self.knobs}

    @cached_property
    def distributions(self) -> dict[str, BaseDistribution]:
        """Optuna's distribution of each knob."""
        return {name: distribution(self.knob(name)) for name in self.knobs}

    @property
    def followers(self) -> tuple[str, ...]:
        """Names of the knobs that settings may have without being searched: they follow from others."""
        tied = dict.fromkeys(name for knob in self.knobs for name in below(knob))
        return tuple(name for name in (*tied, RETRANSMISSIONS) if name not in self.knobs)

    def setting(self, point: Mapping[str, Any]) -> Setting:
        """Return the legal setting of a point, as overrides of the present setting.

        Args:
            point: A value for some of the knobs; others stay as the present setting has them, but for those that
                follow, and those that the others would let rise no further.
        """
        values = round_to_legal(point)
        staying = {name: value for name, value in self.identity({}).items() if name not in values}
        legal = lowered({**staying, **values})
        return self.overrides({name: legal[name] for name in values})

    def stored(self, values: Mapping[str, Any]) -> Setting:
        """Return overrides as a storage has kept them."""
        return Setting(values)

    def overrides(self, values: Mapping[str, KnobValue]) -> Setting:
        """Write values in the form in which commands take them: the queue in requests, or not at all.

        Where they lower a knob below one that is tied to it and not searched, that is lowered as well, such as
        RTO-initial with RTO-max. Where they lower the retransmission time-out so far that associations would fail too
        soon, the number of retransmissions is raised in the same change, as vendors advise. Neither happens to knobs
        of which the values say what they are.

        Args:
            values: Legal values by knob.

        Raises:
            InputError: If the values, and what follows, break a rule.
        """
        values = {**values, **self._lowered_along(values)}
        complete = resolve(values, self.scenario)
        kept = {name: value for name, value in values.items() if name != _QUEUE_WAIT}
        if _QUEUE_WAIT in values and _QUEUE in complete and complete.number(_QUEUE) >= KNOBS[_QUEUE].low:
            kept[_QUEUE] = complete[_QUEUE]
        if RETRANSMISSIONS not in values:
            raised = patient_retransmissions(complete, resolve({}, self.scenario))
            kept |= {} if raised is None else {RETRANSMISSIONS: raised}
        return Setting(kept)

    def _lowered_along(self, values: Mapping[str, KnobValue]) -> dict[str, KnobValue]:
        """Return the followers that must be lower than in the present setting beside some values."""
        present = self.identity({})
        legal = lowered({**present, **values})
        return {
            name: legal[name]
            for name in self.followers
            if name in present and name not in values and legal[name] != present[name]
        }

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
            if value is None or not contains(self.knob(name), value):
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
        defaults = {name: default(KNOBS[name]) for name in self.knobs}
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
        return {name: clipped(self.knob(name), value) for name, value in point.items()}

    def _advised_points(self) -> Iterator[dict[str, KnobValue]]:
        base = self.present_point or {name: default(KNOBS[name]) for name in self.knobs}
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
    twice = dict.fromkeys(name for name in wanted if wanted.count(name) > 1)
    wanted = [_QUEUE_WAIT if name == _QUEUE else name for name in wanted]
    possible = movable(scenario)
    faults = [_fault(name, scenario, possible) for name in dict.fromkeys(wanted) if name not in possible]
    faults += [Finding((name,), "is named twice", ABSENT, "name each knob once") for name in twice]
    if not wanted:
        rule = "a search needs at least one knob"
        faults.append(Finding((), rule, ABSENT, f"name some of {', '.join(possible)}"))
    rows = {}
    for name, part in narrowed.items():
        if part is not None and name in possible and name in wanted:
            wrong, rows[name] = narrow(KNOBS[name], part)
            faults += wrong
    if scenario.topology.links is not None:
        faults += _sgsn_actions(wanted, rows)
    space = SearchSpace(scenario, tuple(name for name in KNOBS if name in wanted), rows)
    if not faults:
        faults = [fault for row in rows.values() for fault in _beyond(space, row)]
    if faults:
        raise located(faults, origin)
    return space


def change_cost(space: SearchSpace, setting: Mapping[str, KnobValue]) -> tuple[int, int]:
    """Return how much a setting changes: the cost of its changes, and their number."""
    now, then = space.identity({}), space.identity(setting)
    changed = [name for name in setting if now.get(name) != then.get(name)]
    return sum(_COST[KNOBS[name].change] for name in changed), len(changed)


def _beyond(space: SearchSpace, row: Knob) -> Iterator[Finding]:
    """Yield a finding if a range begins above what a knob that is not searched allows."""
    most, other = ceiling(row, space.staying)
    if other is not None and row.low > most:
        rule = f"its range must begin at most at {most:g}, for {other} stays at {space.staying[other]}"
        yield Finding((row.name,), rule, Shown(f"low {row.low:g}"), f"lower the range, or search {other} as well")


def _sgsn_actions(wanted: list[str], rows: dict[str, Knob]) -> Iterator[Finding]:
    """Narrow what the gate is told to do to what an SGSN has a command for; yields a finding if nothing is left."""
    if "nop_action" in wanted:
        row = rows.get("nop_action", KNOBS["nop_action"])
        rows["nop_action"] = replace(row, choices=tuple(word for word in row.choices if word in SGSN_ACTIONS))
        if not rows["nop_action"].choices:
            rule = f"the gate of an SGSN knows {' and '.join(SGSN_ACTIONS)}"
            yield Finding(("nop_action", "choices"), rule, list(row.choices), "choose among these")


def _fault(name: str, scenario: Scenario, possible: list[str]) -> Finding:
    if name not in KNOBS:
        return Finding((name,), "there is no such knob", ABSENT, nearest(name, possible))
    if not KNOBS[name].searchable:
        return Finding((name,), "is a what-if, no search may use it", ABSENT, f"use some of {', '.join(possible)}")
    if name == "t3346_s" and scenario.topology.gate is not None:
        rule = "an SGSN has no such command: its back-off is a range of minutes"
        return Finding((name,), rule, ABSENT, "use t3346_low_min and t3346_high_min")
    element = KNOBS[name].element
    rule = f"the scenario {scenario.name} has no {element}"
    if getattr(scenario.topology, element) is not None:
        rule = f"the {element} of the scenario {scenario.name} has no such limit"
    return Finding((name,), rule, ABSENT, f"use some of {', '.join(possible)}")
