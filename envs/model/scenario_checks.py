"""Rules of a scenario that tie several fields together."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from signalstorm.envs.model import scenario_loop
from signalstorm.envs.model.errors import ABSENT, Finding, Path, Shown
from signalstorm.envs.model.knob_checks import check_rto, in_command_units, warn_rto
from signalstorm.envs.model.knob_table import KNOBS, OFF, RTO_NAMES
from signalstorm.envs.model.scenario_core_checks import core_targets, elements
from signalstorm.envs.model.scenario_core_events import (
    CrowdEvent,
    DdnSurgeEvent,
    HoldEvent,
    PeerBurstEvent,
    RebootEvent,
    StagedReleaseEvent,
    UnknownEvent,
)
from signalstorm.envs.model.scenario_events import (
    EVERYONE,
    ActivityEvent,
    CapacityEvent,
    HlrResetEvent,
    LatencyEvent,
    LinkEvent,
    MassDetachEvent,
)
from signalstorm.envs.model.wording import nearest

if TYPE_CHECKING:
    from signalstorm.envs.model.scenario import Scenario
    from signalstorm.envs.model.scenario_topology import Links

Check = Callable[["Scenario"], Iterable[Finding]]

_PATIENCE_PARTS = 100
"""The default step is at most this part of the shortest patience."""
_PATIENCE_PARTS_LEAST = 4
"""A step above this part of the shortest patience is refused."""
_GATE_PARTS = 20
"""The default step is at most this part of the shortest legal wait in the gate."""
_MOST_STEPS = 10**9
"""A run of more steps is refused: it would take hours."""
_TOLERANCE = 1e-6


def patience_s(scenario: "Scenario") -> tuple[float, str]:
    """Return the shortest patience of a queue that serves stale work, and the field that sets it.

    A server has such a queue if it has a rate, from the start or by an event. Where the policy server's
    latency alone exceeds Tx no entry is ever useful; the queue's patience is then Tx.

    Returns:
        The time [s], infinite without such a queue, and the dotted path.
    """
    topology = scenario.topology
    limited = {name for name, server in topology.servers().items() if server.rate_per_s is not None}
    limited |= {event.target for event in scenario.timeline if isinstance(event, CapacityEvent)}
    found = [(math.inf, "")]
    if topology.gateway and "gateway" in limited:
        whole = topology.gateway.t3_response_s * (topology.gateway.n3_requests + 1)
        found.append((whole, "topology.gateway.t3_response_s"))
    if topology.gateway and topology.pcrf and "pcrf" in limited:
        rest = topology.gateway.tx_s - topology.pcrf.latency_s
        found.append((rest if rest > 0 else topology.gateway.tx_s, "topology.gateway.tx_s"))
    if topology.links:
        found.append((topology.links.map_timer_s, "topology.links.map_timer_s"))
    if topology.gateway and topology.pcrf_mate and "pcrf_mate" in limited:
        rest = topology.gateway.tx_s - topology.pcrf_mate.latency_s
        found.append((rest if rest > 0 else topology.gateway.tx_s, "topology.gateway.tx_s"))
    if topology.ocs and "ocs" in limited:
        rest = topology.ocs.tx_s - topology.ocs.latency_s
        found.append((rest if rest > 0 else topology.ocs.tx_s, "topology.ocs.tx_s"))
    for name in ("mme", "hss", "database"):
        server = getattr(topology, name)
        if server and name in limited:
            found.append((server.timer_s, f"topology.{name}.timer_s"))
    return min(found)


def default_step_s(scenario: "Scenario") -> float:
    """Return the default step: the largest 1/n that the shortest patience and the gate allow [s]."""
    shortest_gate_wait = KNOBS["nop_wait_s"].low
    step = min(patience_s(scenario)[0] / _PATIENCE_PARTS, shortest_gate_wait / _GATE_PARTS)
    return 1.0 / math.ceil(1.0 / step - _TOLERANCE)


def findings(scenario: "Scenario") -> Iterator[Finding]:
    """Yield every rule that the scenario breaks."""
    for check in _CHECKS:
        yield from check(scenario)


def warnings(scenario: "Scenario") -> Iterator[Finding]:
    """Yield what is allowed but probably not meant."""
    yield from _coarse_step(scenario)
    if scenario.demand is None and any(group.registered_share < 1 for group in scenario.subscribers):
        rule = "subscribers that start idle are never switched on without a demand"
        yield Finding(("demand",), rule, ABSENT, "add a demand, or set registered_share: 1")
    gateway = scenario.topology.gateway
    pcrf = scenario.topology.pcrf
    if gateway and pcrf and pcrf.latency_s >= gateway.tx_s:
        rule = "the policy server answers later than the gateway waits, so every answer is wasted"
        shown = Shown(f"(latency_s={pcrf.latency_s:g} s, gateway.tx_s={gateway.tx_s:g} s)")
        yield Finding(("topology", "pcrf", "latency_s"), rule, shown, "raise tx_s unless that is meant")
    yield from warn_dynamic(scenario, scenario.present)
    if scenario.topology.links:
        period = scenario.present.get("sack_period_ms", scenario.topology.links.sack_period_ms)
        yield from _odd_limits(scenario, scenario.topology.links)
        for found in warn_rto({**_rto(scenario), "sack_period_ms": period}):
            yield found._replace(path=_rto_path(scenario, found))


def warn_dynamic(scenario: "Scenario", setting: Mapping[str, Any]) -> Iterator[Finding]:
    """Warn of a dynamic limit that limits nothing, as it only takes a share off static limits.

    Args:
        scenario: The scenario, for the limits that no knob of the setting gives.
        setting: The setting in force, as far as it is given.
    """
    dra = scenario.topology.dra
    if dra is None or dra.dynamic is None:
        return
    names = ("peer_limit_per_s", "ccr_i_limit_per_s", "ccr_t_limit_per_s")
    limits = (setting.get(f"dra_{name}", getattr(dra, name)) for name in names)
    if not any(peer.dynamic for peer in dra.peers) or all(limit in (None, OFF) for limit in limits):
        rule = (
            "changes nothing: it takes a share off the static limits for all messages, CCR-I and CCR-T, which are off"
        )
        way_out = f"give topology.dra.{names[0]}, {names[1]} or {names[2]}, and a peer that is dynamic"
        yield Finding(("topology", "dra", "dynamic"), rule, ABSENT, way_out)


def _coarse_step(scenario: "Scenario") -> Iterator[Finding]:
    """Of the waits in the gate the one in force counts here; the default step allows for the shortest legal one."""
    given = float(scenario.present.get("nop_wait_s", KNOBS["nop_wait_s"].default or 0))
    wait = math.inf if scenario.topology.gate is None else given
    parts = ((patience_s(scenario)[0], _PATIENCE_PARTS, "shortest patience"), (wait, _GATE_PARTS, "wait in the gate"))
    longest, part, what = min((time / part, part, what) for time, part, what in parts)
    if scenario.step_s is not None and scenario.step_s > longest * (1 + _TOLERANCE):
        rule = f"the step should be at most {longest:g} s, 1/{part} of the {what}"
        way_out = f"leave step_s out for the default of {default_step_s(scenario):g} s"
        yield Finding(("step_s",), rule, Shown(f"{scenario.step_s:g} s"), way_out)


def _times(scenario: "Scenario") -> Iterator[Finding]:
    times: list[tuple[Path, float]] = [
        (("trigger", "time_s"), scenario.trigger.time_s),
        (("convergence", "count_from_s"), scenario.convergence.count_from_s),
    ]
    times += [(("timeline", number, "time_s"), event.time_s) for number, event in enumerate(scenario.timeline)]
    if scenario.demand:
        times.append((("demand", "start_s"), scenario.demand.start_s))
    for path, time_s in times:
        if time_s >= scenario.horizon_s:
            rule = f"must be before the end of the scenario, horizon_s = {scenario.horizon_s:g} s"
            yield Finding(path, rule, Shown(f"{time_s:g} s"), "move it, or raise horizon_s")
    for number, event in enumerate(scenario.timeline):
        if (
            isinstance(event, CapacityEvent | ActivityEvent)
            and event.until_s is not None
            and event.until_s <= event.time_s
        ):
            rule = f"must be after the event's time_s = {event.time_s:g} s"
            shown = Shown(f"{event.until_s:g} s")
            yield Finding(("timeline", number, "until_s"), rule, shown, "leave it out for a change at once")


def _delays(scenario: "Scenario") -> Iterator[Finding]:
    """Answers later than the end of the run are of no use, and their rings would not fit the memory."""
    for name, server in scenario.topology.servers().items():
        latency = getattr(server, "latency_s", 0.0)
        if latency > scenario.horizon_s:
            rule = f"must be at most horizon_s = {scenario.horizon_s:g} s"
            yield Finding(("topology", name, "latency_s"), rule, Shown(f"{latency:g} s"), "shorten it")
    for number, event in enumerate(scenario.timeline):
        if isinstance(event, LatencyEvent) and event.value_s > scenario.horizon_s:
            rule = f"must be at most horizon_s = {scenario.horizon_s:g} s"
            yield Finding(("timeline", number, "value_s"), rule, Shown(f"{event.value_s:g} s"), "shorten it")


def _targets(scenario: "Scenario") -> Iterator[Finding]:
    servers = scenario.topology.servers()
    classes = [EVERYONE, *(group.name for group in scenario.subscribers)]
    for number, event in enumerate(scenario.timeline):
        core = core_targets(scenario, event)
        if core is not None:
            known = core
        elif isinstance(event, HlrResetEvent):
            known = ["hlr"]
        elif isinstance(event, ActivityEvent):
            known = [EVERYONE]
        elif isinstance(event, LinkEvent) or (isinstance(event, CapacityEvent) and "stp" in event.target):
            links = scenario.topology.links
            names = links.names() if links else ()
            known = [EVERYONE, *dict.fromkeys(name.partition("/")[0] for name in names), *names] if links else []
        elif isinstance(event, MassDetachEvent):
            known = classes
        elif isinstance(event, LatencyEvent):
            known = [name for name, server in servers.items() if "latency_s" in type(server).model_fields]
        else:
            known = list(servers)
        if event.target not in known:
            what, element = _target_kind(event)
            if known:
                rule, way_out = f"must be {what}", nearest(event.target, known)
            else:
                rule = f"must be {what}, and the topology has no {element or 'server'}"
                way_out = f"add topology.{element}, or leave the event out" if element else "leave the event out"
            yield Finding(("timeline", number, "target"), rule, event.target, way_out)


def _target_kind(event: Any) -> tuple[str, str]:
    """Return in words what an event happens to, and the element of the topology that has it, empty if any server."""
    if isinstance(event, PeerBurstEvent):
        return "a peer of the Diameter agent", "dra"
    if isinstance(event, UnknownEvent | RebootEvent):
        return "imsimgr, the IMSI manager", "imsimgr"
    if isinstance(event, DdnSurgeEvent):
        return "ddn, the notifications", "ddn"
    if isinstance(event, LinkEvent) or (isinstance(event, CapacityEvent) and "stp" in event.target):
        return "a link such as stp1/slc1, an STP such as stp1, or *", "links"
    if isinstance(event, CrowdEvent | MassDetachEvent):
        return "a class of subscribers or *", ""
    if isinstance(event, HoldEvent | StagedReleaseEvent | ActivityEvent):
        return "*, which is everybody", ""
    return ("hlr, the HLR", "") if isinstance(event, HlrResetEvent) else ("a server that can have this event", "")


def _resets(scenario: "Scenario") -> Iterator[Finding]:
    """A reset flags subscribers, who refresh over the links when they are active: without either it does nothing."""
    missing = "topology.links" if scenario.topology.links is None else "activity" if scenario.activity is None else ""
    for number, event in enumerate(scenario.timeline if missing else ()):
        if isinstance(event, HlrResetEvent | ActivityEvent):
            what = "a reset of the HLR" if isinstance(event, HlrResetEvent) else "a change of the activity"
            rule = f"{what} needs {missing}, or nobody ever refreshes the location"
            yield Finding(("timeline", number, "kind"), rule, event.kind, f"add {missing}, or leave the event out")


def _names(scenario: "Scenario") -> Iterator[Finding]:
    seen: set[str] = set()
    for number, group in enumerate(scenario.subscribers):
        if group.name in seen:
            yield Finding(("subscribers", number, "name"), "must be unique among the classes", group.name, "rename one")
        seen.add(group.name)


def _elements(scenario: "Scenario") -> Iterator[Finding]:
    topology = scenario.topology
    if topology.pcrf and not topology.gateway:
        rule = "a pcrf needs a gateway, which is what asks it"
        yield Finding(("topology", "pcrf"), rule, ABSENT, "add topology.gateway, or leave the pcrf out")
    if scenario.closed and not scenario.demand:
        rule = "closed: true needs a demand, or nobody ever attaches"
        yield Finding(("closed",), rule, ABSENT, "add demand: {rate_per_s: ...}")
    if scenario.closed:
        for number, group in enumerate(scenario.subscribers):
            if group.registered_share > 0:
                yield Finding(
                    ("subscribers", number, "registered_share"),
                    "must be 0 where closed: true, for everybody starts unattached",
                    group.registered_share,
                    "set it to 0, or closed to false",
                )
    named: list[tuple[Path, str]] = [(("present", name), name) for name in scenario.present]
    named += [(("tunable", number), name) for number, name in enumerate(scenario.tunable) if name in KNOBS]
    for path, name in named:
        element = KNOBS[name].element
        if getattr(topology, element) is None:
            rule = f"the knob {name} belongs to the {element}, which the topology does not have"
            yield Finding(path, rule, ABSENT, f"add topology.{element}, or leave the knob out")


def _links(scenario: "Scenario") -> Iterator[Finding]:
    links = scenario.topology.links
    if links is None:
        return
    path: Path = ("topology", "links")
    if links.stop > links.start or links.stop > links.queue:
        rule = "must be at most start and queue, or a queue that fills never clears its alarm"
        shown = Shown(f"(stop={links.stop:g}, start={links.start:g}, queue={links.queue:g})")
        yield Finding((*path, "stop"), rule, shown, "lower it")
    if links.start > links.queue:
        rule = "must be at most queue, or the queue alone never raises the alarm"
        shown = Shown(f"(start={links.start:g}, queue={links.queue:g})")
        yield Finding((*path, "start"), rule, shown, "lower it")
    if links.stp_rate_shares and len(links.stp_rate_shares) != links.stps:
        shown = Shown(f"{len(links.stp_rate_shares)} for {links.stps} STPs")
        yield Finding((*path, "stp_rate_shares"), "must have one share per STP", shown, "or leave it empty")
    for name in links.window_updates:
        if name not in links.names():
            yield Finding((*path, "window_updates"), "must name links", name, nearest(name, links.names()))
    for found in check_rto(_rto(scenario)):
        yield found._replace(path=_rto_path(scenario, found))


def _rto(scenario: "Scenario") -> dict[str, Any]:
    """Return the limits of the retransmission time-out in force."""
    return {name: scenario.present.get(name, getattr(scenario.topology.links, name)) for name in RTO_NAMES}


def _odd_limits(scenario: "Scenario", links: "Links") -> Iterator[Finding]:
    """Limits that the links have by themselves and that no command could set, such as 5 for 5 units of 100 ms."""
    for name in RTO_NAMES:
        value, knob = getattr(links, name), KNOBS[name]
        if name not in scenario.present and not knob.low <= value <= knob.high:
            rule = f"should be {knob.low:g} to {knob.high:g} ms, which is what a command can set ({knob.source})"
            way_out = in_command_units(knob, value) or "give a value in milliseconds"
            yield Finding(("topology", "links", name), rule, Shown(f"{value:g} ms"), way_out)


def _rto_path(scenario: "Scenario", found: Finding) -> Path:
    (name,) = found.path
    return ("present", name) if name in scenario.present else ("topology", "links", name)


def _tunable(scenario: "Scenario") -> Iterator[Finding]:
    for number, name in enumerate(scenario.tunable):
        path = ("tunable", number)
        if name not in KNOBS:
            yield Finding(path, "there is no such knob", name, nearest(name, KNOBS))
        elif not KNOBS[name].searchable:
            known = [knob.name for knob in KNOBS.values() if knob.searchable]
            way_out = "use nop_queue_wait_s" if name == "nop_queue" else f"one of: {', '.join(known)}"
            yield Finding(path, "a search cannot use this knob", name, way_out)
        elif name in scenario.tunable[:number]:
            yield Finding(path, "must be named once", name, "leave one of them out")


def _tunable_together(scenario: "Scenario") -> Iterator[Finding]:
    """The limits of the retransmission time-out are ordered, so a search that moves one must move the others."""
    moved = [name for name in RTO_NAMES if name in scenario.tunable]
    if moved and len(moved) < len(RTO_NAMES):
        rule = "a search must move all three limits of the retransmission time-out or none"
        yield Finding(("tunable",), rule, Shown(", ".join(moved)), f"list {', '.join(RTO_NAMES)}")


def _steps(scenario: "Scenario") -> Iterator[Finding]:
    step = scenario.dt
    patience, cause = patience_s(scenario)
    if step > patience / _PATIENCE_PARTS_LEAST:
        rule = f"must be at most a quarter of the shortest patience, {patience:g} s by {cause}"
        way_out = f"leave step_s out for {default_step_s(scenario):g} s"
        yield Finding(("step_s",), rule, Shown(f"{step:g} s"), way_out)
    if scenario.horizon_s / step > _MOST_STEPS:
        rule = f"must be at most {_MOST_STEPS:g} steps of {step:g} s"
        yield Finding(("horizon_s",), rule, Shown(f"{scenario.horizon_s:g} s"), "shorten it, or give a step_s")
    steps = scenario.control_interval_s / step
    if abs(steps - round(steps)) > _TOLERANCE * steps or round(steps) < 1:
        interval = f"control_interval_s = {scenario.control_interval_s:g} s"
        near = max(1, round(steps)) * step
        if scenario.step_s is not None:
            rule = f"must divide {interval}"
            yield Finding(("step_s",), rule, Shown(f"{step:g} s"), f"leave it out, or give {interval[:18]} {near:g}")
        else:
            rule = f"must be a whole number of steps of {step:g} s"
            shown = Shown(f"{scenario.control_interval_s:g} s")
            yield Finding(("control_interval_s",), rule, shown, f"give {near:g} s, or a step_s that divides it")
    if scenario.control_interval_s > scenario.horizon_s:
        rule = f"must be at most horizon_s = {scenario.horizon_s:g} s"
        yield Finding(("control_interval_s",), rule, Shown(f"{scenario.control_interval_s:g} s"), "shorten it")


_CHECKS: tuple[Check, ...] = (
    _times,
    _delays,
    _targets,
    _resets,
    _names,
    _elements,
    elements,
    _links,
    _tunable,
    _tunable_together,
    scenario_loop.findings,
    _steps,
)
