"""Rules of a scenario about the elements beyond the attach chain."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from signalstorm.envs.model.errors import ABSENT, Finding, Path, Shown
from signalstorm.envs.model.scenario_core_events import (
    CrowdEvent,
    DdnSurgeEvent,
    HoldEvent,
    NodeEvent,
    PeerBurstEvent,
    RebootEvent,
    ReleaseEvent,
    StagedReleaseEvent,
    StallEvent,
    UnknownEvent,
)

if TYPE_CHECKING:
    from signalstorm.envs.model.scenario import Scenario

_SHARE_TOLERANCE = 1e-6


def core_targets(scenario: "Scenario", event: Any) -> list[str] | None:
    """Return the targets that a core event may have; None for other events."""
    topology = scenario.topology
    if isinstance(event, PeerBurstEvent):
        return [peer.name for peer in topology.dra.peers] if topology.dra else []
    if isinstance(event, CrowdEvent):
        return ["*", *(group.name for group in scenario.subscribers)]
    if isinstance(event, StallEvent | ReleaseEvent | NodeEvent):
        return list(topology.servers())
    if isinstance(event, HoldEvent | StagedReleaseEvent):
        return ["*"]
    if isinstance(event, UnknownEvent | RebootEvent):
        return ["imsimgr"] if topology.imsimgr else []
    if isinstance(event, DdnSurgeEvent):
        return ["ddn"] if topology.ddn else []
    return None


def elements(scenario: "Scenario") -> Iterator[Finding]:
    """Check what elements need each other."""
    topology = scenario.topology
    needs = (
        ("dra", "pcrf", "a dra needs a pcrf, to which it leads"),
        ("ocs", "gateway", "an ocs needs a gateway, which is what asks it"),
        ("pcrf_mate", "pcrf", "a pcrf_mate needs a pcrf, whose failures it takes"),
    )
    for name, other, rule in needs:
        if getattr(topology, name) is not None and getattr(topology, other) is None:
            yield Finding(("topology", name), rule, ABSENT, f"add topology.{other}, or leave the {name} out")
    if scenario.access == "gprs":
        for name in ("dra", "ocs", "pcrf_mate", "mme", "ddn"):
            if getattr(topology, name) is not None:
                rule = "belongs to LTE; the scenario's access is gprs"
                yield Finding(("topology", name), rule, ABSENT, "leave it out, or set access: eps")
    elif topology.links is not None:
        rule = "belongs to 2G and 3G, whose requests go to the HLR by signalling links; the scenario's access is eps"
        yield Finding(("topology", "links"), rule, ABSENT, "leave it out, or set access: gprs")
    if topology.dra is not None:
        yield from _agent(scenario)
    yield from _mate(scenario)
    if topology.ddn is not None:
        yield from _notifications(scenario)
    for name in ("churn_profile", "activity"):
        profile = getattr(scenario, name)
        times = [time for time, _ in profile.points] if profile is not None else []
        if any(a >= b for a, b in pairwise(times)):
            shown = Shown(", ".join(f"{time:g} s" for time in times))
            yield Finding((name, "points"), "times must rise", shown, "sort them, each once")
    yield from _crowd(scenario)


def _agent(scenario: "Scenario") -> Iterator[Finding]:
    dra = scenario.topology.dra
    if dra is None:
        return
    names = [peer.name for peer in dra.peers]
    for number, name in enumerate(names):
        if name in names[:number]:
            path: Path = ("topology", "dra", "peers", number, "name")
            yield Finding(path, "must be unique among the peers", name, "rename one")
    database = scenario.topology.database
    if dra.dynamic is not None and (database is None or database.rate_per_s is None):
        rule = "follows the processor of the session database, which needs a rate"
        yield Finding(("topology", "dra", "dynamic"), rule, ABSENT, "add topology.database.rate_per_s")
    if dra.dynamic is not None and dra.dynamic.sample_s < scenario.dt:
        rule = f"must be at least the step of {scenario.dt:g} s"
        shown = Shown(f"{dra.dynamic.sample_s:g} s")
        yield Finding(("topology", "dra", "dynamic", "sample_s"), rule, shown, "raise it")


def _mate(scenario: "Scenario") -> Iterator[Finding]:
    """A question that is to be asked again needs somebody else to ask."""
    topology = scenario.topology
    if topology.gateway is None or topology.pcrf_mate is not None:
        return
    fields: tuple[tuple[Path, Any], ...] = (
        (("topology", "gateway", "gx_failure"), topology.gateway.gx_failure),
        (("present", "gx_failure_action"), scenario.present.get("gx_failure_action")),
    )
    for path, value in fields:
        if value == "retry":
            rule = "asks the mated policy server, which the topology does not have"
            yield Finding(path, rule, value, "add topology.pcrf_mate, or choose terminate or continue")


def _notifications(scenario: "Scenario") -> Iterator[Finding]:
    ddn = scenario.topology.ddn
    if ddn is None:
        return
    window = scenario.present.get("ddn_window_s", ddn.window_s)
    poll = scenario.present.get("ddn_poll_s", ddn.poll_s)
    if float(poll) >= float(window):
        shown = Shown(f"(poll_s={float(poll):g} s, window_s={float(window):g} s)")
        yield Finding(("topology", "ddn", "poll_s"), "must be below window_s", shown, "lower it")
    total = sum(ddn.arp_shares)
    if abs(total - 1.0) > _SHARE_TOLERANCE:
        yield Finding(("topology", "ddn", "arp_shares"), "must add up to 1", Shown(f"{total:g}"), "scale them")
    if scenario.topology.mme is None:
        rule = "notifications need an MME, which pages for them, or they and their throttle change nothing"
        yield Finding(("topology", "ddn"), rule, ABSENT, "add topology.mme, or leave the ddn out")


def _crowd(scenario: "Scenario") -> Iterator[Finding]:
    for number, group in enumerate(scenario.subscribers):
        if group.broken and group.registered_share > 0:
            path: Path = ("subscribers", number, "registered_share")
            yield Finding(path, "must be 0 for broken handsets", group.registered_share, "set it to 0")
        if group.broken and scenario.topology.links is not None:
            path = ("subscribers", number, "broken")
            yield Finding(path, "is not modelled behind signalling links", True, "leave it out")
    domains = scenario.topology.resilience.failure_domains if scenario.topology.resilience else 1
    domains = int(scenario.present.get("failure_domains", domains))
    for number, event in enumerate(scenario.timeline):
        path = ("timeline", number, "until_s")
        until = getattr(event, "until_s", None)
        if isinstance(event, StallEvent | UnknownEvent) and until is not None and until <= event.time_s:
            yield Finding(
                path, f"must be after the event's time_s = {event.time_s:g} s", Shown(f"{until:g} s"), "raise it"
            )
        if isinstance(event, NodeEvent) and event.kind == "node_loss" and event.nodes >= domains:
            rule = f"must leave a node: resilience.failure_domains = {domains}"
            yield Finding(("timeline", number, "nodes"), rule, event.nodes, "lower it, or raise failure_domains")
    yield from _stalls(scenario)


def losses(timeline: Sequence[Any]) -> Iterator[tuple[int, NodeEvent, int]]:
    """Yield every event that takes nodes, in order of time.

    Args:
        timeline: The events, in any order.

    Yields:
        The event's place in the timeline, the event, and how many nodes of its server are out after it: those that
        events before it took, less those that started again.
    """
    out: dict[str, int] = {}
    for number, event in sorted(enumerate(timeline), key=lambda each: each[1].time_s):
        if isinstance(event, NodeEvent):
            taken = event.nodes if event.kind == "node_loss" else -event.nodes
            out[event.target] = max(out.get(event.target, 0) + taken, 0)
            if taken > 0:
                yield number, event, out[event.target]


def _stalls(scenario: "Scenario") -> Iterator[Finding]:
    """Check that a release finds a stall."""
    stalls = [event for event in scenario.timeline if isinstance(event, StallEvent)]
    for number, event in enumerate(scenario.timeline):
        if not isinstance(event, ReleaseEvent):
            continue
        own = [stall for stall in stalls if stall.target == event.target]
        if not any(stall.time_s < event.time_s == stall.end_s(scenario.timeline) for stall in own):
            rule = f"releases what has queued behind a stall, but the {event.target} is not stalled then"
            shown = Shown(f"{event.time_s:g} s")
            yield Finding(("timeline", number, "time_s"), rule, shown, "add an event stall before it, or move it")
