"""Diagnosis of the elements beyond the attach chain, in words."""

from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt

from signalstorm.envs.model.bound import messages_per_attach, needed
from signalstorm.envs.model.capacity import loads, server_rates
from signalstorm.envs.model.knob_table import KnobValue
from signalstorm.envs.model.metrics import Outcomes
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.model.scenario_checks import warn_dynamic
from signalstorm.envs.model.scenario_core_checks import losses

_MUCH = 0.02
"""Share of messages, or of subscribers, worth a sentence."""
_FULL = 0.999
"""Utilisation at which a processor does nothing but queue."""
_INSTANTS = 2001
"""Times of a run at which capacities and loads are looked at."""
LASTING = 0.1
"""Share of a run for which a load above capacity is more than a part of the storm."""
_TWITCHY_PER_HOUR = 30
"""A limit that tightens more often swings rather than settles."""


def diagnose_core(scenario: Scenario, setting: Mapping[str, KnobValue], outcomes: Outcomes) -> Iterator[str]:
    """Say what the elements beyond the attach chain did to the storms.

    Args:
        scenario: The nominal scenario.
        setting: The complete setting.
        outcomes: What the storms came to, shape (storms,).
    """
    found = {name: float(np.median(values)) for name, values in outcomes.core.items()}
    yield from _agent(scenario, setting, found)
    yield from map(str, warn_dynamic(scenario, setting))
    yield from _database(scenario, found)
    yield from _gateway(found, float(np.median(outcomes.admitted)))
    yield from _manager_overload(scenario, outcomes)
    yield from _manager(found)
    yield from _notifications(scenario, found)
    yield from _crowd(scenario, found, float(np.median(outcomes.attempts)))
    yield from _beyond_capacity(scenario, outcomes)


def _agent(scenario: Scenario, setting: Mapping[str, KnobValue], found: Mapping[str, float]) -> Iterator[str]:
    offered = found.get("dra_offered", 0.0)
    if offered <= 0:
        return
    limited, busy = found["dra_limited"] / offered, (found["dra_busy_gx"] + found["dra_busy_gy"]) / offered
    if limited > _MUCH:
        yield (
            f"count limit: the Diameter agent keeps {limited:.0%} of all messages back by its limits "
            f"(answer: {setting.get('dra_limit_action', 'none')}); attaches among them come back by their timers"
        )
    dra = scenario.topology.dra
    slots = dra is not None and dra.pool is not None and found["pending_peak"] >= _FULL * dra.pool
    if busy > _MUCH and dra is not None and dra.rate_per_s is not None and not slots:
        yield (
            f"overload: the Diameter agent turned away {busy:.0%} of {offered:.0f} messages as too busy; its rated "
            f"capacity is {dra.rate_per_s:g}/s"
        )
    if busy > _MUCH and found["dra_busy_gx"] > 0 and dra is not None and slots:
        what, remedy = (
            ("collateral refusals", "a pending limit (dra_ocs_pending) or an egress limit contains the slow one")
            if scenario.topology.ocs is not None
            else ("overload", "an egress limit towards the policy servers (dra_pcrf_limit_per_s) keeps slots free")
        )
        whose = ", whether or not their own server was slow" if scenario.topology.ocs is not None else ""
        yield (
            f"{what}: the agent's {dra.pool:g} transaction slots were all taken (up to {found['pending_peak']:.0f} "
            f"pending), and it refused {found['dra_busy_gx']:.0f} Gx messages{whose}; {remedy}"
        )
    if found["endings_lost"] > 0:
        yield (
            f"{found['endings_lost']:.0f} CCR-T did not get through: their sessions stay in the policy server until "
            "it cleans up"
        )


def _database(scenario: Scenario, found: Mapping[str, float]) -> Iterator[str]:
    if found.get("database_cpu_peak", 0.0) >= _FULL:
        yield "overload: the session database was saturated; beyond that its latency grows and writes fail"
    rises = found.get("throttle_rises", 0.0) / max(scenario.horizon_s / 3600.0, 1.0)
    if rises > _TWITCHY_PER_HOUR:
        yield (
            f"too twitchy a limiter: the dynamic limit tightened {rises:.0f} times an hour; whether another "
            "dynamic_hold_s or dynamic_step_percent lets it settle differs from network to network: try with `--set`"
        )


def _gateway(found: Mapping[str, float], admitted: float) -> Iterator[str]:
    if found.get("degraded", 0.0) > 0:
        yield (
            f"{found['degraded']:.0f} sessions went on without policy or charging: degraded, their question had failed"
        )
    if found.get("retried", 0.0) > _MUCH * max(admitted, 1.0):
        yield f"{found['retried']:.0f} questions were asked again at the mated policy server, which has to carry them"


def _manager_overload(scenario: Scenario, outcomes: Outcomes) -> Iterator[str]:
    lost, attempts = float(np.median(outcomes.lost_by_imsimgr)), float(np.median(outcomes.attempts))
    if scenario.topology.imsimgr is not None and lost > 0:
        yield (
            f"overload: the IMSI manager, with {scenario.topology.imsimgr.capacity_per_s:g} units of work per second, "
            f"lost {lost:.0f} requests before the gate ({lost / max(attempts, 1.0):.0%} of all); those handsets wait "
            "for their timers"
        )


def _manager(found: Mapping[str, float]) -> Iterator[str]:
    asked = found.get("broadcasts", 0.0) + found.get("sent_to_one", 0.0) + found.get("unknown_dropped", 0.0)
    if asked <= 0:
        return
    if found["sent_to_one"] + found["unknown_dropped"] > 0:
        yield (
            f"unknown subscribers: {found['broadcasts'] / asked:.0%} of the HLR's requests were broadcast, "
            f"{found['sent_to_one'] / asked:.0%} went to one session manager (which does not know the subscriber), "
            f"{found['unknown_dropped'] / asked:.0%} were dropped at or above a CPU of 70 %"
        )


def _notifications(scenario: Scenario, found: Mapping[str, float]) -> Iterator[str]:
    sent, dropped = found.get("ddn_sent", 0.0), found.get("ddn_dropped", 0.0)
    if dropped > 0:
        yield (
            f"the SGW dropped {dropped / (sent + dropped):.0%} of the downlink data notifications, with a factor of "
            f"up to {found['ddn_factor_peak_percent']:g} %"
        )
    starts = found.get("ddn_throttles", 0.0) / max(scenario.horizon_s / 3600.0, 1.0)
    if starts > _TWITCHY_PER_HOUR / 3:
        yield f"too twitchy a limiter: the SGW's throttle began {starts:.0f} times an hour; a longer time keeps it on"


def _crowd(scenario: Scenario, found: Mapping[str, float], attempts: float) -> Iterator[str]:
    broken = found.get("broken_refused", 0.0)
    if broken > _MUCH * max(attempts, 1.0):
        yield (
            f"standing load: {broken / attempts:.0%} of all requests come from handsets that the network refuses "
            "whatever they do; they take capacity for ever, also after the storm"
        )
    population = sum(group.size for group in scenario.subscribers)
    if found.get("held_peak", 0.0) > _MUCH * population:
        share = found["held_peak"] / population
        yield f"up to {share:.0%} of the subscribers were kept from attaching: barred, or their node out"
    nodes = max((out for _, _, out in losses(scenario.timeline)), default=0)
    if nodes and scenario.topology.resilience is not None:
        domains = scenario.topology.resilience.failure_domains
        nodes = min(nodes, domains - 1)  # the last one stays, however many events take one
        yield (
            f"{nodes} of {domains} nodes were lost, with their capacity; what ends sooner is session recovery or more, "
            "smaller failure domains, not a knob of the gate alone"
        )


def instants(scenario: Scenario) -> npt.NDArray[np.float64]:
    """Return times of a run at which to look at capacities and loads, shape (times,) [s]."""
    return np.linspace(0.0, scenario.horizon_s, _INSTANTS)


def _beyond_capacity(scenario: Scenario, outcomes: Outcomes) -> Iterator[str]:
    """A load above a server's capacity that lasts, where no storm ends.

    Only the attaches of the subscribers themselves, more of them than a server takes, keep a storm open whatever the
    setting. Of a load that is in part foreign, attaches get their share of the server, and may all come through.
    """
    if not np.isnan(outcomes.convergence_time_s).all():
        return
    time = instants(scenario)
    steady = np.full(time.shape, sum(group.size * scenario.churn_per_s(group) for group in scenario.subscribers))
    if scenario.churn_profile is not None:
        times, factors = zip(*scenario.churn_profile.points, strict=True)
        steady *= np.interp(time, times, factors)
    for name in scenario.topology.servers():
        rates = server_rates(scenario, name, time)
        if rates is None or not needed(scenario, name):
            continue
        foreign, own = loads(scenario, name, time), steady * messages_per_attach(scenario, name)
        asked = own + foreign
        above = asked > rates
        if above.mean() <= LASTING and not above[-1]:
            continue
        worst = int(np.argmax(np.where(above, asked - rates, -np.inf)))
        of_others = f" ({foreign[worst]:g}/s of them foreign)" if foreign[worst] > 0 else ""
        for_ever = bool(own[-1] > rates[-1])
        yield (
            f"{'no knob ends this storm' if for_ever else 'overload by the load of calm times'}: up to "
            f"{asked[worst]:.0f} messages/s are needed of {name}{of_others}, which then serves {rates[worst]:g}/s, and "
            f"more than it serves for {above.mean():.0%} of the run; knobs choose who is refused, and only more "
            f"capacity or less load {'ends it' if for_ever else 'ends the overload'}"
        )
