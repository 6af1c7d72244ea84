"""Diagnosis: which element bounds a storm and why, in words."""

from collections.abc import Iterator, Mapping

import numpy as np

from signalstorm.envs.model.knob_checks import warn_rto
from signalstorm.envs.model.knob_table import KNOBS, KnobValue
from signalstorm.envs.model.metrics import Outcomes, watched_s
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.model.scenario_events import LinkEvent
from signalstorm.experiments.core_diagnosis import diagnose_core
from signalstorm.experiments.evaluate import StormSet
from signalstorm.experiments.patience import endures_s
from signalstorm.experiments.room import gate_and_calm
from signalstorm.experiments.stuck_links import PINNED_SHARE, stuck_links

_MUCH = 0.05
"""Share of wasted work, or of storms, worth a sentence."""
_ROOM = 0.25
"""A gate that lies less than this share above the calm load is worth a sentence."""


def diagnose(storms: StormSet, setting: Mapping[str, KnobValue], outcomes: Outcomes) -> list[str]:
    """Say which element bounds the storms, whether it is overload or stale work, and where knobs cannot help.

    Args:
        storms: The storms.
        setting: The complete setting.
        outcomes: What the storms came to, shape (storms,).
    """
    return [
        *_not_converged(storms, outcomes),
        *_wasted(storms.scenario, outcomes),
        *_cliff(storms.scenario, setting),
        *_too_tight(outcomes),
        *_little_room(storms.scenario, setting),
        *_stalled(storms.scenario, outcomes),
        *_path_loss(storms.scenario, setting, outcomes),
        *_acknowledgements(setting),
        *diagnose_core(storms.scenario, setting, outcomes),
        *cannot_help(storms),
        *stuck_links(storms, setting, outcomes),
    ]


def _not_converged(storms: StormSet, outcomes: Outcomes) -> Iterator[str]:
    open_share = float(np.isnan(outcomes.convergence_time_s).mean())
    if open_share > 0:
        last_s = watched_s(storms.scenario)
        yield f"{open_share:.0%} of the storms are not over within the horizon, which is T = {last_s:g} s"


def _wasted(scenario: Scenario, outcomes: Outcomes) -> Iterator[str]:
    """Overload and stale work at each server."""
    for name, server in scenario.topology.servers().items():
        if name not in outcomes.served or server.rate_per_s is None:
            continue
        served = float(np.median(outcomes.served[name] + outcomes.stale[name]))
        stale = float(np.median(outcomes.stale[name])) / served if served > 0 else 0.0
        peak = float(np.median(outcomes.peak_admitted_rate_per_s))
        if peak > server.rate_per_s * (1 + _MUCH):
            gate = "the gate lets more through" if scenario.topology.gate else "without a gate more comes"
            yield (
                f"overload: up to {peak:.0f} requests/s go into the network, {name} serves {server.rate_per_s:g}/s; "
                f"{gate} than the bottleneck can answer"
            )
        if stale > _MUCH:
            yield (
                f"stale work: {stale:.0%} of what {name} served was answered after its requester had given up, "
                "so it used capacity and served nobody"
            )


def _cliff(scenario: Scenario, setting: Mapping[str, KnobValue]) -> Iterator[str]:
    """A buffer that holds more than can be served within the requester's patience."""
    pcrf, gateway = scenario.topology.pcrf, scenario.topology.gateway
    if pcrf is None or gateway is None or pcrf.rate_per_s is None or pcrf.buffer is None:
        return
    tx_s = float(setting.get("diameter_tx_s", gateway.tx_s))
    useful = pcrf.rate_per_s * max(tx_s - pcrf.latency_s, 0.0)
    if pcrf.buffer > useful:
        yield (
            f"the buffer of the PCRF holds {pcrf.buffer:g} messages, but only {useful:.0f} can be answered within "
            f"Tx = {tx_s:g} s: once full it answers too late for ever while load lasts"
        )


def _little_room(scenario: Scenario, setting: Mapping[str, KnobValue]) -> Iterator[str]:
    """A gate close above the calm load, or below it."""
    found = gate_and_calm(scenario, setting)
    if found is None or found[0] >= found[1] * (1.0 + _ROOM):
        return
    gate, calm = found
    if gate < calm:
        yield (
            f"the gate of {gate:g}/s lies below the {calm:.0f} attaches/s of calm times: it keeps people out for ever, "
            "storm or not"
        )
    else:
        yield (
            f"little room: the gate of {gate:g}/s lies {gate / calm - 1:.0%} above the {calm:.0f} attaches/s of calm "
            "times; where these grow past it, it keeps people out for ever"
        )


def _stalled(scenario: Scenario, outcomes: Outcomes) -> Iterator[str]:
    """Links that end the storm congested, whether or not their peer ever takes data again."""
    watched = scenario.horizon_s
    pinned = [
        name
        for name, seconds in outcomes.link_congested_s.items()
        if float(np.median(seconds)) > PINNED_SHARE * watched
    ]
    if pinned:
        yield (
            f"stalled peer: {', '.join(pinned)} congested for more than {PINNED_SHARE:.0%} of the time; "
            "a lower RTO-max helps only if the peer takes data again and nobody notices, "
            "a restart of the links empties their queues"
        )


def _path_loss(scenario: Scenario, setting: Mapping[str, KnobValue], outcomes: Outcomes) -> Iterator[str]:
    """Paths that die unnoticed: what is sent on them gets no answer until their associations fail."""
    found_s = endures_s(setting)
    for event in scenario.timeline:
        if found_s is None or not isinstance(event, LinkEvent) or event.kind != "link_down" or event.noticed:
            continue
        dead = [name for name in outcomes.link_lost if event.target in ("*", name, name.partition("/")[0])]
        lost = float(np.median(np.sum([outcomes.link_lost[name] for name in dead], axis=0)))
        yield (
            f"path loss: {', '.join(dead)} died unnoticed at {event.time_s:g} s; an association fails only after "
            f"{found_s:g} s without an acknowledgement, and until then its part of the messages gets no answer "
            f"({lost:.0f} were discarded); lower RTO limits or a lower max_assoc_retx find it sooner"
        )


def _acknowledgements(setting: Mapping[str, KnobValue]) -> Iterator[str]:
    """Limits of the retransmission time-out that acknowledgements may outlast."""
    for finding in warn_rto(setting):
        yield str(finding)


def _too_tight(outcomes: Outcomes) -> Iterator[str]:
    """A gate that turns away most of what arrives."""
    attempts = np.maximum(outcomes.attempts, 1.0)
    turned = float(np.median((outcomes.dropped + outcomes.expired) / attempts))
    if turned > _MUCH:
        yield f"the gate leaves {turned:.0%} of all requests without an answer; those handsets wait for their timers"


def cannot_help(storms: StormSet) -> list[str]:
    """Say in how many storms the bottleneck is slower than the lowest legal gate rate."""
    lowest = KNOBS["nop_rate"].low
    rates = np.array([_narrowest(scenario) for scenario in storms.scenarios])
    below = float((rates < lowest).mean())
    if storms.scenario.topology.gate is None or below == 0:
        return []
    return [
        f"in {below:.0%} of the storms the bottleneck serves fewer than {lowest:g} requests/s, the lowest legal "
        "nop_rate: there no gate rate keeps the load below capacity; chance or the retry timers end the storm"
    ]


def _narrowest(scenario: Scenario) -> float:
    rates = [server.rate_per_s for server in scenario.topology.servers().values() if server.rate_per_s is not None]
    return min(rates, default=np.inf)
