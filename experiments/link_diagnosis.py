"""Diagnosis of signalling links, in words: overloaded ones, stalled peers, closed windows, paths that die unnoticed."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TypeVar

import numpy as np

from signalstorm.envs.model.capacity import link_rates
from signalstorm.envs.model.knob_table import KNOBS, KnobValue
from signalstorm.envs.model.metrics import Outcomes
from signalstorm.envs.model.procedures import PROCEDURES
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.model.scenario_events import CapacityEvent, LinkEvent
from signalstorm.experiments.core_diagnosis import LASTING, instants
from signalstorm.experiments.patience import endurance

E = TypeVar("E", LinkEvent, CapacityEvent)

PINNED_SHARE = 0.7
"""A link congested for more than this share of the run does not recover by itself."""
_BUSY = 0.5
"""A congested link that sent this share of what it could was overloaded; no closed window was the reason."""
_LOADED = 0.8
"""Attaches of a whole run, calm times among them, over what links carry, from which on they were overloaded."""


def diagnose_links(scenario: Scenario, setting: Mapping[str, KnobValue], outcomes: Outcomes) -> Iterator[str]:
    """Say what signalling links did to the storms.

    Args:
        scenario: The nominal scenario.
        setting: The complete setting.
        outcomes: What the storms came to, shape (storms,).
    """
    pinned = [
        name
        for name, seconds in outcomes.link_congested_s.items()
        if float(np.median(seconds)) > PINNED_SHARE * scenario.horizon_s
    ]
    yield from _out_of_service(scenario)
    yield from _held_up(scenario, setting, outcomes, pinned)
    if pinned:
        yield from _overload(scenario, setting, outcomes)
        yield from _stalled(scenario, setting, outcomes, pinned)
    yield from _path_loss(scenario, setting, outcomes)


def _out_of_service(scenario: Scenario) -> Iterator[str]:
    """Links that are taken out of service and known to be; a reset takes one back into service, as ``link_up`` does."""
    links = scenario.topology.links
    if links is None:
        return
    found: dict[str, list[str]] = {}
    for name in links.names():
        if times := _outages(scenario, name):
            found.setdefault(" and ".join(times), []).append(name)
    for when, names in found.items():
        everything = len(names) == len(links.names())
        which = f"all {len(names)}" if everything else ", ".join(names)
        rest = "; nothing reaches the HLR meanwhile" if everything else ""
        yield f"links out of service: {which} down {when}, as the timeline has it{rest}"


def _outages(scenario: Scenario, link: str) -> list[str]:
    """Return from when to when the SGSN knows a link to be down, in words."""
    down: list[tuple[float, bool]] = []
    for event in _events(scenario, LinkEvent, link):
        if event.kind != "link_down" or event.noticed:
            down.append((event.time_s, event.kind == "link_down"))
    return _times(down)


def _events(scenario: Scenario, kind: type[E], link: str) -> Iterator[E]:
    """Yield the events of a kind that concern a link, in order."""
    for event in sorted(scenario.timeline, key=lambda each: each.time_s):
        if isinstance(event, kind) and event.target in ("*", link, link.partition("/")[0]):
            yield event


def _times(changes: Iterable[tuple[float, bool]]) -> list[str]:
    """Return from when to when something lasts, in words.

    Args:
        changes: When it begins (true) or ends (false), in order; what ends at once does not last.
    """
    since: float | None = None
    times = []
    for time_s, begins in changes:
        if begins:
            since = time_s if since is None else since
        elif since is not None:
            times += [f"from {since:g} s to {time_s:g} s"] if time_s > since else []
            since = None
    return times if since is None else [*times, f"from {since:g} s to the end"]


def _held_up(
    scenario: Scenario, setting: Mapping[str, KnobValue], outcomes: Outcomes, pinned: Collection[str]
) -> Iterator[str]:
    """Peers that the timeline keeps from taking data for a time, unless they are named for all of the run anyway."""
    links = scenario.topology.links
    if links is None:
        return
    limit, least = setting.get("rto_max_ms"), KNOBS["rto_max_ms"].low
    lowest = isinstance(limit, int | float) and limit <= least
    sooner = "" if lowest else "; with a lower RTO-max a link notices sooner that its peer takes data again"
    found: dict[str, list[str]] = {}
    for name in links.names():
        times = _standstills(scenario, name)
        if times and name not in pinned and float(np.median(outcomes.link_congested_s[name])) > 0.0:
            found.setdefault(" and ".join(times), []).append(name)
    for when, names in found.items():
        congested_s = max(float(np.median(outcomes.link_congested_s[name])) for name in names)
        yield (
            f"stalled peer: {', '.join(names)} served nothing {when}, as the timeline has it, and congested for up to "
            f"{congested_s:.0f} s{sooner}"
        )


def _standstills(scenario: Scenario, link: str) -> list[str]:
    """Return from when to when a link's peer serves nothing, in words; ramps count from their end."""
    events = _events(scenario, CapacityEvent, link)
    return _times(
        (event.until_s or event.time_s, True) if event.value == 0.0 else (event.time_s, False) for event in events
    )


def _overload(scenario: Scenario, setting: Mapping[str, KnobValue], outcomes: Outcomes) -> Iterator[str]:
    """More attaches than the links carry for long: a lasting load, not one wave in front of a peer that stalls."""
    links = scenario.topology.links
    if links is None:
        return
    peak = float(np.median(outcomes.peak_admitted_rate_per_s))
    whole_run = float(np.median(outcomes.admitted)) / scenario.horizon_s
    messages = len(PROCEDURES[scenario.access])
    rates = link_rates(scenario, links, instants(scenario))
    short = (rates > 0.0) & (rates < messages * peak)
    if short.mean() <= LASTING:
        return
    carried = float(np.median(rates[short])) / messages
    if whole_run < _LOADED * carried:
        return
    always = bool(short.all())
    while_ = "" if always else f" for {short.mean():.0%} of the run"
    said = f"overload: the links carry about {carried:.0f} attaches/s{while_}, {messages} messages each"
    if scenario.topology.gate is None:
        yield f"{said}, and up to {peak:,.0f}/s come in, as there is no gate"
    elif isinstance(setting.get("nop_rate"), str):
        yield f"{said}, the gate is off and lets up to {peak:,.0f}/s through: set nop_rate below what they carry"
    elif carried <= KNOBS["nop_rate"].low:
        way_out = ": add links" if always else ""
        yield f"{said}, the gate lets {peak:,.0f}/s through, and no legal nop_rate is below what they carry{way_out}"
    else:
        yield f"{said}, the gate lets {peak:,.0f}/s through: lower nop_rate"


def _stalled(
    scenario: Scenario, setting: Mapping[str, KnobValue], outcomes: Outcomes, pinned: list[str]
) -> Iterator[str]:
    """Links that are congested most of the time without being busy: their peer takes nothing, or the window is closed.

    A window that is full closes; the backlog fills it again at each expiry of the retransmission timer, so the time-out
    stays at RTO-max and a window per RTO-max is all that the link carries, although its peer takes data.
    """
    links = scenario.topology.links
    if links is None:
        return
    shares = links.stp_rate_shares or (1.0,) * links.stps
    could = {
        name: links.rate_per_s * shares[number // links.links_per_stp] * scenario.horizon_s
        for number, name in enumerate(links.names())
    }
    idle = [name for name in pinned if float(np.median(outcomes.link_tx[name])) < _BUSY * could[name]]
    if not idle:
        return
    limit, least = setting.get("rto_max_ms"), KNOBS["rto_max_ms"].low
    at_least = isinstance(limit, int | float) and limit <= least
    lowest = f"RTO-max is {least:g} ms, the least that is legal" if at_least else ""
    congested = f"congested for more than {PINNED_SHARE:.0%} of the time"
    restart = "a restart of the links empties their queues"
    silent = [name for name in idle if _standstills(scenario, name)]
    if silent:
        no_use = "a lower RTO-max helps only if the peer takes data again"
        help_ = f"{lowest}, so no lower one can help" if lowest else no_use
        yield f"stalled peer: {', '.join(silent)} {congested}; {help_}, {restart}"
    shut = [name for name in idle if name not in silent]
    if shut:
        sent = max(float(np.median(outcomes.link_tx[name])) / could[name] for name in shut)
        window = (
            f"the backlog fills a window of {links.window:g} messages again at each expiry of T3, by now after RTO-max"
        )
        seconds = f" = {limit / 1000:g} s" if isinstance(limit, int | float) else ""
        help_ = f"{lowest}; " if lowest else "a lower RTO-max tries sooner, "
        yield (
            f"closed windows: {', '.join(shut)} {congested}, though they sent at most {sent:.0%} of what their peers "
            f"could take: {window}{seconds}; {help_}{restart}"
        )


def _path_loss(scenario: Scenario, setting: Mapping[str, KnobValue], outcomes: Outcomes) -> Iterator[str]:
    """Paths that die unnoticed: what is sent on them gets no answer until their associations fail."""
    found = endurance(setting)
    for event in scenario.timeline:
        if found is None or not isinstance(event, LinkEvent) or event.kind != "link_down" or event.noticed:
            continue
        dead = [name for name in outcomes.link_lost if event.target in ("*", name, name.partition("/")[0])]
        lost = float(np.median(np.sum([outcomes.link_lost[name] for name in dead], axis=0)))
        yield (
            f"path loss: {', '.join(dead)} died unnoticed at {event.time_s:g} s; an association fails only after "
            f"{found} without an acknowledgement, and until then its part of the messages gets no answer "
            f"({lost:.0f} were discarded); lower RTO limits or a lower max_assoc_retx find it sooner"
        )
