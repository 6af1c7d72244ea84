"""The bound that no setting can beat but by chance: the fluid limit of a storm, with nothing wasted."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from signalstorm.envs.model.capacity import loads, server_rates
from signalstorm.envs.model.fluid_links import links_bound_s
from signalstorm.envs.model.knob_table import KnobValue
from signalstorm.envs.model.procedures import PROCEDURES
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.model.scenario_core_events import CrowdEvent, NodeEvent
from signalstorm.envs.model.scenario_events import MassDetachEvent

Floats = npt.NDArray[np.float64]

_FIELDS = {
    "pcrf_rate_per_s": "pcrf.rate_per_s",
    "gx_failure_action": "gateway.gx_failure",
    "gy_failure_action": "ocs.gy_failure",
    "failure_domains": "resilience.failure_domains",
    "recovery_share": "resilience.recovery_share",
    "refresh_delay_max_s": "links.refresh_delay_max_s",
}
KNOBS_OF_BOUND = tuple(_FIELDS)
"""Knobs that change what a storm needs at least."""
_NOBODY = 0.5
"""[subscribers] with fewer left a laboratory run is done, and a fluid backlog is empty."""


def as_set(scenario: Scenario, setting: Mapping[str, KnobValue]) -> Scenario:
    """Return a scenario whose own fields are what a setting's what-ifs and failure actions make of them.

    Args:
        scenario: The scenario; the same knobs of its present setting count where the setting has none.
        setting: The setting.
    """
    values = {**scenario.present, **setting}
    fields = {f"topology.{_FIELDS[name]}": values[name] for name in _FIELDS if name in values}
    if not fields:
        return scenario
    if values.get("gx_failure_action") == "retry" and scenario.topology.pcrf_mate is None:
        fields["topology.gateway.gx_failure"] = "terminate"  # what a gateway does that has nobody to ask
    rest = {name: value for name, value in scenario.present.items() if name not in _FIELDS}
    return scenario.with_fields({**fields, "present": rest})


def lower_bound_s(scenario: Scenario) -> float:
    """Return the time that no setting can beat but by chance: the fluid limit without any wasted work [s].

    Servers whose draws are lucky, and the band within which a network counts as healthy, let some storms end a few per
    cent sooner.

    Demand enters at its own pace, mass detaches at theirs; every server passes at most its rate, in order of arrival,
    from the first request on; nothing is refused, late or tried twice. Min-plus algebra: a server of cumulative
    capacity C turns cumulative arrivals A into D(t) = min over s <= t of A(s) + C(t) - C(s).

    Args:
        scenario: The storm, with its drawn fields.

    Returns:
        From ``count_from`` to the instant when the backlog is within the band of health again, in a laboratory run when
        less than half a subscriber is left; 0 if it never leaves the band; infinite if it is above it at the horizon.
        What an attach can do without, because a failed question lets it go on, bounds nothing. Behind signalling
        links see `fluid_links`.
    """
    scenario = as_set(scenario, {})
    count = max(round(scenario.horizon_s / scenario.dt), 1)
    time = np.arange(count + 1, dtype=np.float64) * np.float64(scenario.dt)
    if scenario.topology.links is not None:
        return links_bound_s(scenario, scenario.topology.links)
    arrived = _arrivals(scenario, time)
    passed = arrived
    for name in scenario.topology.servers():
        if not needed(scenario, name):
            continue  # the mate is asked only after a failure
        messages = messages_per_attach(scenario, name)
        rates = server_rates(scenario, name, time)
        if rates is not None:
            # First in first out: own requests among foreign messages, all in units of one attach.
            foreign = _cumulative(loads(scenario, name, time), scenario.dt) / messages
            both = passed + foreign
            capacity = _cumulative(rates, scenario.dt) / messages
            out = np.minimum(np.minimum.accumulate(both - capacity) + capacity, both)
            passed = np.minimum(np.interp(out, both, passed), passed) if foreign[-1] > 0 else out
    left = (arrived[-1] if scenario.closed else arrived) - passed
    origin = scenario.convergence.count_from_s
    if scenario.closed:
        waiting = np.flatnonzero(left >= _NOBODY)
        if waiting.size == 0:
            return 0.0
        last = int(waiting[-1])
        return float("inf") if last == count else max(float(time[last + 1]) - origin, 0.0)
    population = sum(group.size for group in scenario.subscribers)
    above = (left > max(_NOBODY, scenario.convergence.band_share * population)) & (time >= origin)
    if not above.any():
        return 0.0
    # T ends at the first health after it was lost; a later disturbance does not move it.
    first = int(np.argmax(above))
    within = np.flatnonzero(~above[first:])
    return float(time[first + within[0]]) - origin if within.size else float("inf")


def needed(scenario: Scenario, name: str) -> bool:
    """Tell whether every attach needs a server: it is no mate, and no failure lets attaches go on without it."""
    return messages_per_attach(scenario, name) > 0 and not _dispensable(scenario, name)


def messages_per_attach(scenario: Scenario, name: str) -> int:
    """Return how many messages a server gets of an attach that is tried once."""
    return sum(step.element == name for step in PROCEDURES[scenario.access])


def _dispensable(scenario: Scenario, name: str) -> bool:
    """Tell whether an attach can do without a server: its failure may let it go on, or another is asked."""
    gateway, ocs = scenario.topology.gateway, scenario.topology.ocs
    if name == "pcrf":
        return "gx_failure_action" in scenario.tunable or (gateway is not None and gateway.gx_failure != "terminate")
    return name == "ocs" and ("gy_failure_action" in scenario.tunable or (ocs and ocs.gy_failure) != "terminate")


def _lost_with_nodes(scenario: Scenario, event: NodeEvent) -> float:
    """Return the subscribers whose sessions go with the nodes of an event, were it the first."""
    resilience = scenario.topology.resilience
    if resilience is None:
        return 0.0
    registered = sum(group.size * group.registered_share for group in scenario.subscribers)
    return registered * (1.0 - resilience.recovery_share) * event.nodes / resilience.failure_domains


def _arrivals(scenario: Scenario, time: Floats) -> Floats:
    """Return first requests up to each instant, power-cycles of the registered left out."""
    crowd = scenario.subscribers
    registered = sum(group.size * group.registered_share for group in scenario.subscribers)
    idle = sum(group.size for group in scenario.subscribers) - registered
    arrived = np.zeros_like(time)
    if scenario.demand is not None:
        arrived += np.minimum(np.maximum(time - scenario.demand.start_s, 0.0) * scenario.demand.rate_per_s, idle)
    for event in scenario.timeline:
        if isinstance(event, MassDetachEvent):
            sizes = [g.size * g.registered_share for g in scenario.subscribers if event.target in ("*", g.name)]
            spread = max(event.spread_s, scenario.dt)
            arrived += event.share * sum(sizes) * np.clip((time - event.time_s) / spread, 0.0, 1.0)
        elif isinstance(event, CrowdEvent):
            shares = [1.0 - g.registered_share if event.kind == "redirect" else g.registered_share for g in crowd]
            sizes = [
                group.size * share
                for group, share in zip(crowd, shares, strict=True)
                if event.target in ("*", group.name) and not group.broken
            ]
            spread = max(event.spread_s, scenario.dt)
            arrived += event.share * sum(sizes) * np.clip((time - event.time_s) / spread, 0.0, 1.0)
        elif isinstance(event, NodeEvent) and event.kind == "node_loss" and not event.load_removed:
            arrived += _lost_with_nodes(scenario, event) * np.clip((time - event.time_s) / event.spread_s, 0.0, 1.0)
    return arrived


def _cumulative(rates: Floats, dt: float) -> Floats:
    """Integrate rates from the start up to each instant."""
    return np.concatenate([[0.0], np.cumsum(rates[:-1]) * dt])
