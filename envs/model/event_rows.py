"""Timeline events of a storm as rows of the kernel's event table."""

from signalstorm.envs.model import core_parameters
from signalstorm.envs.model.kernels import layout
from signalstorm.envs.model.plan import Plan
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.model.scenario_events import (
    ActivityEvent,
    CapacityEvent,
    HlrResetEvent,
    LatencyEvent,
    LinkEvent,
    MassDetachEvent,
    MessageBurstEvent,
    OtherLoadEvent,
)


def event_column(scenario: Scenario, e: int, plan: Plan) -> dict[int, float]:
    """Return the rows of an event of one storm."""
    event, dt = scenario.timeline[e], scenario.dt
    if core_parameters.is_core_event(event):
        return core_parameters.event_rows(scenario, event, plan.servers)
    at = float(round(event.time_s / dt))
    rows = {layout.E_STEP: at, layout.E_UNTIL: at, layout.E_START: 0.0, layout.E_EXTRA: 0.0}
    if isinstance(event, HlrResetEvent):
        return rows | {layout.E_KIND: layout.EVENT_HLR_RESET, layout.E_VALUE: event.share, layout.E_TARGET: -1}
    if isinstance(event, ActivityEvent):
        scale = scenario.activity.scale if scenario.activity else 0.0
        rows |= {layout.E_KIND: layout.EVENT_ACTIVITY, layout.E_VALUE: event.value * scale, layout.E_TARGET: -1}
        return rows | ({} if event.until_s is None else {layout.E_UNTIL: float(round(event.until_s / dt))})
    links = scenario.topology.links
    if links is not None and (isinstance(event, LinkEvent) or event.target.startswith(("stp", "*"))):
        hit = [i for i, name in enumerate(links.names()) if _hits(event.target, name)]
        rows |= {layout.E_TARGET: hit[0], layout.E_EXTRA: float(len(hit))}
        if isinstance(event, LinkEvent):
            rows |= {layout.E_KIND: LINK_EVENTS[event.kind], layout.E_VALUE: 1.0 if event.noticed else 2.0}
            return rows
        if isinstance(event, CapacityEvent):
            until = at if event.until_s is None else float(round(event.until_s / dt))
            value = event.value * dt
            return rows | {layout.E_KIND: layout.EVENT_LINK_RATE, layout.E_VALUE: value, layout.E_UNTIL: until}
    if isinstance(event, MassDetachEvent):
        names = [group.name for group in scenario.subscribers]
        target = names.index(event.target) if event.target in names else -1
        rows |= {layout.E_KIND: layout.EVENT_DETACH, layout.E_TARGET: target}
        return rows | {layout.E_VALUE: event.share, layout.E_EXTRA: float(round(event.spread_s / dt))}
    rows[layout.E_TARGET] = float(plan.servers.index(event.target))
    if isinstance(event, CapacityEvent):
        until = at if event.until_s is None else float(round(event.until_s / dt))
        return rows | {
            layout.E_KIND: layout.EVENT_RATE,
            layout.E_VALUE: event.value * dt,
            layout.E_UNTIL: until,
        }
    if isinstance(event, LatencyEvent):
        return rows | {layout.E_KIND: layout.EVENT_LATENCY, layout.E_VALUE: float(round(event.value_s / dt))}
    if isinstance(event, OtherLoadEvent):
        return rows | {layout.E_KIND: layout.EVENT_FOREIGN, layout.E_VALUE: event.value_per_s * dt}
    if isinstance(event, MessageBurstEvent):
        return rows | {layout.E_KIND: layout.EVENT_BURST, layout.E_VALUE: float(event.count)}
    raise TypeError(f"no kernel event for {event!r}")


def last_step(rows: dict[int, float]) -> int:
    """Return the last step in which an event has something to do: for good, which is its first, or until its end."""
    return int(rows[layout.E_STEP] if rows[layout.E_UNTIL] >= layout.NEVER else rows[layout.E_UNTIL])


LINK_EVENTS = {
    "link_reset": layout.EVENT_LINK_RESET,
    "link_down": layout.EVENT_LINK_DOWN,
    "link_up": layout.EVENT_LINK_UP,
}


def _hits(target: str, name: str) -> bool:
    """Whether a link event's target means this link."""
    return target in ("*", name, name.partition("/")[0])
