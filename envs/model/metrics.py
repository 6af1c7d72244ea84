"""What a storm comes to: outcomes per storm, percentiles under censoring, and the bound that no setting can beat."""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from signalstorm.envs.model.batch import Batch
from signalstorm.envs.model.capacity import loads, server_rates
from signalstorm.envs.model.core_metrics import core_outcomes, peer_outcomes
from signalstorm.envs.model.fluid_links import links_bound_s
from signalstorm.envs.model.kernels import layout
from signalstorm.envs.model.procedures import PROCEDURES
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.model.scenario_core_events import CrowdEvent, NodeEvent
from signalstorm.envs.model.scenario_events import MassDetachEvent

Floats = npt.NDArray[np.float64]

NOBODY = 0.5
"""[subscribers] with fewer left a laboratory run is done, and a fluid backlog is empty."""
CVAR_SHARE = 0.1
"""Share of the worst storms that CVaR averages over."""


@dataclass(frozen=True)
class Outcomes:
    """One number per row of a batch; times count from ``count_from`` [s], NaN where not reached."""

    convergence_time_s: Floats
    t50_s: Floats
    t75_s: Floats
    t95_s: Floats
    stormed: Floats
    attempts: Floats
    admitted: Floats
    successes: Floats
    failures: Floats
    refused_congestion: Floats
    refused_gate_failure: Floats
    refused_network: Floats
    dropped: Floats
    expired: Floats
    late: Floats
    lost_by_imsimgr: Floats
    """Requests that an overloaded IMSI manager lost before the gate."""
    refreshes: Floats
    refreshes_failed: Floats
    detaches_network: Floats
    detaches_subscriber: Floats
    imsimgr_cpu_peak: Floats
    """Largest smoothed utilisation, NaN without an IMSI manager."""
    session_requests: Floats
    peak_request_rate_per_s: Floats
    peak_admitted_rate_per_s: Floats
    peak_session_rate_per_s: Floats
    second_wave_peak_per_s: Floats
    subscriber_hours_lost: Floats
    conservation_error: Floats
    offered: dict[str, Floats]
    """Messages offered to each queue."""
    served: dict[str, Floats]
    """Messages that each queue served in time."""
    stale: dict[str, Floats]
    """Messages that each queue served for nobody."""
    overflow: dict[str, Floats]
    """Messages that found each queue full."""
    queue_peak: dict[str, Floats]
    """Most messages waiting in each queue."""
    link_tx: dict[str, Floats]
    """Messages sent on each signalling link."""
    link_rx: dict[str, Floats]
    """Answers received on each signalling link."""
    link_resent: dict[str, Floats]
    """Messages sent again on each signalling link although they had arrived."""
    link_congested_s: dict[str, Floats]
    """Time for which each link's alarm was up [s]."""
    core: dict[str, Floats]
    """What the elements beyond the attach chain came to, by the names of `CORE_QUANTITIES`; empty without any."""
    peers: dict[str, Floats]
    """Messages offered to the Diameter agent and passed by it: ``gateway/offered_ccr_i``, ``gateway/passed_ccr_i``."""

    def pick(self, rows: npt.ArrayLike) -> "Outcomes":
        """Return the outcomes of some rows, in any shape of row numbers."""
        index = np.asarray(rows)
        picked: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            picked[field.name] = (
                {name: array[index] for name, array in value.items()} if isinstance(value, dict) else value[index]
            )
        return Outcomes(**picked)


def outcomes(batch: Batch) -> Outcomes:
    """Read the outcomes of a batch that has run."""
    k = batch.counters()
    scenario, dt = batch.scenario, batch.dt
    origin = scenario.convergence.count_from_s
    bins = float(int(batch.plan.table[layout.P_BIN])) * dt
    names = [name for name in batch.plan.queues if batch.plan.queue_offset(name) >= 0]
    queues = {name: batch.queue(name) for name in names}

    names_of_links = scenario.topology.links.names() if scenario.topology.links else ()
    links = batch.links()

    def time(row: int) -> Floats:
        return np.where(k[row] < 0, np.nan, np.maximum(k[row] * dt - origin, 0.0))

    stormed = k[layout.K_STORMED]
    return Outcomes(
        convergence_time_s=np.where(stormed > 0, time(layout.K_T), 0.0),
        t50_s=time(layout.K_T50),
        t75_s=time(layout.K_T75),
        t95_s=time(layout.K_T95),
        stormed=stormed,
        attempts=k[layout.K_ATTEMPTS],
        admitted=k[layout.K_ADMITTED],
        successes=k[layout.K_SUCCESSES],
        failures=k[layout.K_REFUSED_NETWORK] + k[layout.K_LATE],
        refused_congestion=k[layout.K_REFUSED_CONGESTION],
        refused_gate_failure=k[layout.K_REFUSED_GATE_FAILURE],
        refused_network=k[layout.K_REFUSED_NETWORK],
        dropped=k[layout.K_DROPPED],
        expired=k[layout.K_EXPIRED],
        late=k[layout.K_LATE],
        lost_by_imsimgr=k[layout.K_OVERLOAD],
        refreshes=k[layout.K_REFRESHES],
        refreshes_failed=k[layout.K_REFRESHES_FAILED],
        detaches_network=k[layout.K_DETACH_NETWORK],
        detaches_subscriber=k[layout.K_DETACH_SUBSCRIBER],
        imsimgr_cpu_peak=batch.imsimgr_peak(),
        session_requests=k[layout.K_SESSIONS],
        peak_request_rate_per_s=np.maximum(k[layout.K_PEAK_ATTEMPTS], k[layout.K_BIN_ATTEMPTS]) / bins,
        peak_admitted_rate_per_s=np.maximum(k[layout.K_PEAK_ADMITTED], k[layout.K_BIN_ADMITTED]) / bins,
        peak_session_rate_per_s=np.maximum(k[layout.K_PEAK_SESSIONS], k[layout.K_BIN_SESSIONS]) / bins,
        second_wave_peak_per_s=k[layout.K_SECOND_PEAK] / bins,
        subscriber_hours_lost=k[layout.K_LOST] * dt / 3600.0,
        conservation_error=k[layout.K_ERROR],
        offered={name: q[layout.Q_SUM_OFFERED] for name, q in queues.items()},
        served={name: q[layout.Q_SUM_FRESH] for name, q in queues.items()},
        stale={name: q[layout.Q_SUM_STALE] for name, q in queues.items()},
        overflow={name: q[layout.Q_SUM_OVER] for name, q in queues.items()},
        queue_peak={name: q[layout.Q_PEAK] for name, q in queues.items()},
        link_tx={name: links[i, layout.L_SUM_TX] for i, name in enumerate(names_of_links)},
        link_rx={name: links[i, layout.L_SUM_RX] for i, name in enumerate(names_of_links)},
        link_resent={name: links[i, layout.L_RESENT] for i, name in enumerate(names_of_links)},
        core=core_outcomes(batch),
        peers=peer_outcomes(batch),
        link_congested_s={name: links[i, layout.L_SUM_CONGESTED] * dt for i, name in enumerate(names_of_links)},
    )


def percentile(times: Floats, share: float) -> float | None:
    """Return the Kaplan-Meier percentile of times of which NaN ones are censored at the horizon.

    All are censored at the same instant, so the estimate of the distribution is the share of all storms that have
    converged by then; the percentile is the first time at which it reaches ``share``.

    Args:
        times: Convergence times, shape (storms,) [s].
        share: 0 to 1.

    Returns:
        The time [s], or None where it is not reached within the horizon.
    """
    if times.size == 0:
        return None
    ordered = np.sort(times[~np.isnan(times)])
    rank = max(int(np.ceil(share * times.size - 1e-9)), 1)
    return float(ordered[rank - 1]) if rank <= ordered.size else None


def restricted(times: Floats, horizon_s: float) -> Floats:
    """Return min(T, horizon), censored times as the horizon [s]."""
    return np.minimum(np.where(np.isnan(times), horizon_s, times), horizon_s)


def cvar(values: Floats) -> float:
    """Return the mean of the worst (largest) tenth, at least one."""
    worst = max(round(values.size * CVAR_SHARE), 1)
    return float(np.sort(values)[-worst:].mean())


def watched_s(scenario: Scenario) -> float:
    """Return the time within which a storm can converge: from ``count_from`` to the horizon [s]."""
    return scenario.horizon_s - scenario.convergence.count_from_s


def lower_bound_s(scenario: Scenario) -> float:
    """Return the time that no setting can beat: the fluid limit without any wasted work [s].

    Demand enters at its own pace, mass detaches at theirs; every server passes at most its rate, in order of arrival,
    from the first request on; nothing is refused, late or tried twice. Min-plus algebra: a server of cumulative
    capacity C turns cumulative arrivals A into D(t) = min over s <= t of A(s) + C(t) - C(s).

    Args:
        scenario: The storm, with its drawn fields.

    Returns:
        From ``count_from`` to the instant when less than half a subscriber is left; 0 if no backlog forms;
        infinite if it lasts beyond the horizon. Behind signalling links see `fluid_links`.
    """
    count = max(round(scenario.horizon_s / scenario.dt), 1)
    time = np.arange(count + 1, dtype=np.float64) * np.float64(scenario.dt)
    if scenario.topology.links is not None:
        return links_bound_s(scenario, scenario.topology.links)
    arrived = _arrivals(scenario, time)
    passed = arrived
    messages = [t.element for t in PROCEDURES[scenario.access]]
    for name in scenario.topology.servers():
        if name not in messages:
            continue  # the mate is asked only after a failure
        rates = server_rates(scenario, name, time)
        if rates is not None:
            # First in first out: own requests among foreign messages, all in units of one attach.
            foreign = _cumulative(loads(scenario, name, time), scenario.dt) / messages.count(name)
            both = passed + foreign
            capacity = _cumulative(rates, scenario.dt) / messages.count(name)
            out = np.minimum(np.minimum.accumulate(both - capacity) + capacity, both)
            passed = np.minimum(np.interp(out, both, passed), passed) if foreign[-1] > 0 else out
    left = (arrived[-1] if scenario.closed else arrived) - passed
    waiting = np.flatnonzero(left >= NOBODY)
    if waiting.size == 0:
        return 0.0
    last = int(waiting[-1])
    return float("inf") if last == count else max(float(time[last + 1]) - scenario.convergence.count_from_s, 0.0)


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
