"""What the elements of a storm can serve at each instant, by its topology and its timeline."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.model.scenario_events import ActivityEvent, CapacityEvent, LinkEvent, OtherLoadEvent
from signalstorm.envs.model.scenario_topology import Links

Floats = npt.NDArray[np.float64]

UNLIMITED_PER_S = 1e9
"""[1/s] a server without a rate, small enough for sums to stay exact."""


def link_rates(scenario: Scenario, links: Links, time: Floats) -> Floats:
    """Return what all links together carry at each instant, shape (times,) [1/s]."""
    return np.asarray(_stp_rates(scenario, links, time).sum(axis=0))


def shared_link_rates(scenario: Scenario, links: Links, time: Floats) -> Floats:
    """Return what the links carry without congestion, shape (times,) [1/s].

    Messages are shared equally over the STPs that have a link in service, so the slowest STP sets the pace of all.
    """
    rates = _stp_rates(scenario, links, time)
    up = rates > 0.0
    slowest = np.where(up, rates, np.inf).min(axis=0)
    return np.where(up.any(axis=0), up.sum(axis=0) * slowest, 0.0)


def _stp_rates(scenario: Scenario, links: Links, time: Floats) -> Floats:
    """Return what the links of each STP carry together, shape (STPs, times) [1/s]."""
    total = np.zeros((links.stps, time.size))
    for index, name in enumerate(links.names()):
        stp = index // links.links_per_stp
        share = links.stp_rate_shares[stp] if links.stp_rate_shares else 1.0
        rates = np.full(time.shape, links.rate_per_s * share)
        up = np.ones_like(time)
        for event in sorted(scenario.timeline, key=lambda e: e.time_s):
            if isinstance(event, CapacityEvent | LinkEvent) and event.target in ("*", name, name.split("/")[0]):
                after = time >= event.time_s
                if isinstance(event, LinkEvent):
                    up[after] = 0.0 if event.kind == "link_down" else 1.0
                elif event.until_s is None:
                    rates[after] = event.value
                else:
                    part = np.clip((time[after] - event.time_s) / (event.until_s - event.time_s), 0.0, 1.0)
                    rates[after] += part * (event.value - rates[after])
        total[stp] += rates * up
    return total


def activity_factors(scenario: Scenario, time: Floats) -> Floats:
    """Return the factor on the activity profile at each instant, shape (times,)."""
    changes = [event for event in scenario.timeline if isinstance(event, ActivityEvent)]
    return _changed(np.ones_like(time), changes, time)


def server_rates(scenario: Scenario, name: str, time: Floats) -> Floats | None:
    """Return what a server serves at each instant, shape (times,) [1/s]; None if it never has a limit."""
    rate = scenario.topology.servers()[name].rate_per_s
    changes = [e for e in scenario.timeline if isinstance(e, CapacityEvent) and e.target == name]
    if rate is None and not changes:
        return None
    rates = np.full(time.shape, UNLIMITED_PER_S if rate is None else rate)
    return _changed(rates, changes, time)


def _changed(values: Floats, changes: Sequence[ActivityEvent | CapacityEvent], time: Floats) -> Floats:
    """Apply changes of a value in their order, each at once or as a ramp; shape (times,)."""
    for change in sorted(changes, key=lambda event: event.time_s):
        after = time >= change.time_s
        if change.until_s is None:
            values[after] = change.value
        elif after.any():
            start = float(values[after][0])
            part = np.clip((time[after] - change.time_s) / (change.until_s - change.time_s), 0.0, 1.0)
            values[after] = start + part * (change.value - start)
    return values


def loads(scenario: Scenario, name: str, time: Floats) -> Floats:
    """Return the foreign messages that reach a server at each instant, shape (times,) [1/s]."""
    found = np.full(time.shape, scenario.topology.servers()[name].other_load_per_s)
    for load in sorted((e for e in scenario.timeline if isinstance(e, OtherLoadEvent)), key=lambda e: e.time_s):
        if load.target == name:
            found[time >= load.time_s] = load.value_per_s
    return found
