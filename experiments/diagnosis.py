"""Diagnosis: which element bounds a storm and why, in words."""

from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt

from signalstorm.envs.model.bound import as_set, messages_per_attach, needed
from signalstorm.envs.model.capacity import UNLIMITED_PER_S, server_rates
from signalstorm.envs.model.knob_checks import warn_rto, without_command
from signalstorm.envs.model.knob_table import KNOBS, KnobValue
from signalstorm.envs.model.metrics import Outcomes, watched_s
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.model.scenario_core_events import StallEvent
from signalstorm.experiments.can_help import moving_cannot_help
from signalstorm.experiments.core_diagnosis import diagnose_core, instants
from signalstorm.experiments.evaluate import StormSet
from signalstorm.experiments.link_diagnosis import diagnose_links
from signalstorm.experiments.room import gate_and_calm

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
    scenario = as_set(storms.scenario, setting)
    return [
        *_not_converged(storms, outcomes),
        *_wasted(scenario, outcomes),
        *_cliff(scenario, setting, outcomes),
        *_too_tight(outcomes),
        *_little_room(scenario, setting),
        *diagnose_links(scenario, setting, outcomes),
        *map(str, warn_rto(setting)),
        *(f"simulated all the same, but no command does it: {finding}" for finding in without_command(setting)),
        *diagnose_core(scenario, setting, outcomes),
        *cannot_help(storms, setting),
        *moving_cannot_help(storms, setting, outcomes),
    ]


def _not_converged(storms: StormSet, outcomes: Outcomes) -> Iterator[str]:
    open_share = float(np.isnan(outcomes.convergence_time_s).mean())
    if open_share > 0:
        last_s = watched_s(storms.scenario)
        yield f"{open_share:.0%} of the storms are not over within the horizon, which is T = {last_s:g} s"


def _wasted(scenario: Scenario, outcomes: Outcomes) -> Iterator[str]:
    """Overload and stale work at each server, by what reached it and what became of that."""
    for name in scenario.topology.servers():
        rates, stalled = server_rates(scenario, name, instants(scenario)), _stalled(scenario, name)
        if name not in outcomes.served or (rates is None and not stalled):
            continue
        offered = float(np.median(outcomes.offered[name]))
        served = float(np.median(outcomes.served[name] + outcomes.stale[name]))
        stale = float(np.median(outcomes.stale[name])) / served if served > 0 else 0.0
        full = float(np.median(outcomes.overflow[name])) / offered if offered > 0 else 0.0
        if stalled or max(full, stale) > _MUCH:
            peak = float(np.median(outcomes.peak_admitted_rate_per_s))
            through = "pass the gate" if scenario.topology.gate else "come in, as there is no gate"
            most = "" if rates is None else f"{', otherwise' if stalled else ' serves'} at most {_rates(rates)}/s"
            yield (
                f"{'stall' if stalled else 'overload'}: {name}{stalled}{most}, and of {offered:.0f} messages that "
                f"reached it {full:.0%} found its buffer full and {stale:.0%} of what it served came too late; up to "
                f"{peak:.0f} requests/s {through}"
            )
        if stale > _MUCH:
            yield (
                f"stale work: {stale:.0%} of what {name} served was answered after its requester had given up, "
                "so it used capacity and served nobody"
            )


def _stalled(scenario: Scenario, name: str) -> str:
    """Return in words when events stall a server; empty if none does."""
    times = []
    for event in scenario.timeline:
        if isinstance(event, StallEvent) and event.target == name:
            end_s = min(event.end_s(scenario.timeline), scenario.horizon_s)
            times.append(f"from {event.time_s:g} s to {'the end' if end_s == scenario.horizon_s else f'{end_s:g} s'}")
    return f" serves nothing {' and '.join(times)}" if times else ""


def _rates(rates: npt.NDArray[np.float64]) -> str:
    """Return the capacity of a run in words: one figure, or the least and the most."""
    low, high = float(rates.min()), float(rates.max())
    return f"{low:g}" if low == high else f"{low:g} to {high:g}" if high < UNLIMITED_PER_S else f"at times only {low:g}"


def _cliff(scenario: Scenario, setting: Mapping[str, KnobValue], outcomes: Outcomes) -> Iterator[str]:
    """A buffer that holds more than can be served within the requester's patience, where it came to hold that."""
    pcrf, gateway = scenario.topology.pcrf, scenario.topology.gateway
    if pcrf is None or gateway is None or pcrf.rate_per_s is None or pcrf.buffer is None:
        return
    tx_s = float(setting.get("diameter_tx_s", gateway.tx_s))
    useful = pcrf.rate_per_s * max(tx_s - pcrf.latency_s, 0.0)
    waited = float(np.median(outcomes.queue_peak["pcrf"])) if "pcrf" in outcomes.queue_peak else 0.0
    if pcrf.buffer > useful and waited > useful:
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


def _too_tight(outcomes: Outcomes) -> Iterator[str]:
    """A gate that turns away most of what arrives."""
    attempts = np.maximum(outcomes.attempts, 1.0)
    turned = float(np.median((outcomes.dropped + outcomes.expired) / attempts))
    if turned > _MUCH:
        yield f"the gate leaves {turned:.0%} of all requests without an answer; those handsets wait for their timers"


def cannot_help(storms: StormSet, setting: Mapping[str, KnobValue]) -> list[str]:
    """Say in how many storms the bottleneck is slower than the lowest legal gate rate.

    Args:
        storms: The storms.
        setting: The complete setting; its what-ifs count.
    """
    lowest = KNOBS["nop_rate"].low
    other = storms.changes(setting)
    rates = np.array([_narrowest(as_set(scenario, other)) for scenario in storms.scenarios])
    below = float((rates < lowest).mean())
    if storms.scenario.topology.gate is None or below == 0:
        return []
    return [
        f"in {below:.0%} of the storms the bottleneck serves fewer than {lowest:g} requests/s, the lowest legal "
        "nop_rate: there no gate rate keeps the load below capacity; chance or the retry timers end the storm"
    ]


def _narrowest(scenario: Scenario) -> float:
    rates = [
        server.rate_per_s / messages_per_attach(scenario, name)
        for name, server in scenario.topology.servers().items()
        if server.rate_per_s is not None and needed(scenario, name)
    ]
    return min(rates, default=np.inf)
