"""Per-storm numbers of the elements beyond the attach chain: scenario fields and knobs, turned into kernel rows."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from signalstorm.envs.model.core_knobs import CORE_ROWS, FIELDS, THROTTLES, field_value
from signalstorm.envs.model.kernels import core_layout as core
from signalstorm.envs.model.kernels import layout
from signalstorm.envs.model.knob_table import KNOBS, OFF, KnobValue
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.model.scenario_core import MESSAGE_NAMES, Ddn, Dra, Peer
from signalstorm.envs.model.scenario_core_events import (
    CrowdEvent,
    DdnSurgeEvent,
    GatewayFlushEvent,
    HoldEvent,
    NodeEvent,
    PeerBurstEvent,
    RebootEvent,
    RedirectEvent,
    ReleaseEvent,
    StagedReleaseEvent,
    StallEvent,
    UnknownEvent,
)

Floats = npt.NDArray[np.float64]

NAMES = tuple(knob.name for knob in CORE_ROWS)
"""The core knobs' names, in the table's order."""

_UNLIMITED = layout.NEVER
_MME_SMOOTH_S = 5.0
"""Time constant of the MME's utilisation, as the IMSI manager's [s]."""


def uses_core(scenario: Scenario, settings: Floats, names: tuple[str, ...]) -> bool:
    """Tell whether a scenario under some settings needs anything beyond the attach chain.

    Args:
        scenario: The nominal scenario.
        settings: Setting vectors, shape (rows, fields).
        names: The knob of each field.
    """
    topology = scenario.topology
    elements = (topology.dra, topology.ocs, topology.pcrf_mate, topology.ddn, topology.resilience, topology.mme)
    crowd = scenario.churn_profile is not None or any(g.priority or g.broken for g in scenario.subscribers)
    manager = topology.imsimgr is not None and (topology.links is None or _asks(scenario))
    bypass = topology.gateway is not None and topology.gateway.gx_failure != "terminate"
    # A knob of the gateway that is absent from the scenario: only a setting tells.
    chosen = np.nan_to_num(settings[:, names.index("gx_failure_action")]) > 0
    named = "gx_failure_action" in scenario.present or "gx_failure_action" in scenario.tunable
    return (
        any(element is not None for element in elements)
        or any(is_core_event(event) for event in scenario.timeline)
        or crowd
        or manager
        or bypass
        or named
        or bool(chosen.any())
    )


def _asks(scenario: Scenario) -> bool:
    manager = scenario.topology.imsimgr
    return manager is not None and manager.unknown_per_s > 0


def is_core_event(event: Any) -> bool:
    """Tell whether an event belongs to the elements beyond the attach chain."""
    return isinstance(
        event,
        PeerBurstEvent
        | CrowdEvent
        | StallEvent
        | ReleaseEvent
        | NodeEvent
        | HoldEvent
        | StagedReleaseEvent
        | UnknownEvent
        | DdnSurgeEvent
        | RebootEvent,
    )


def encode(name: str, value: KnobValue) -> float:
    """Return a knob's value as the kernel's number: a word by its place, ``off`` as a limit that never holds."""
    if value == OFF:
        return layout.NEVER
    return float(KNOBS[name].choices.index(str(value)) if isinstance(value, str) else value)


def core_columns(scenario: Scenario) -> dict[str, float]:
    """Return one storm's numbers: those that knobs override by the knob's name, the others by the field's."""
    topology = scenario.topology
    found = {}
    for name in FIELDS:
        value = field_value(topology, name)
        found[name] = 0.0 if value is None else encode(name, value)
    dra, ddn, manager = topology.dra or Dra(), topology.ddn or Ddn(), topology.imsimgr
    for field in (
        "rate_per_s",
        "ccr_u_limit_per_s",
        "gy_limit_per_s",
        "pcrf_ccr_i_limit_per_s",
        "pcrf_ccr_u_limit_per_s",
        "pcrf_ccr_t_limit_per_s",
        "pool",
        "pcrf_pending",
    ):
        value = getattr(dra, field)
        found[field] = _UNLIMITED if value is None else value
    if topology.dra is None:
        for name in ("dra_peer_limit_per_s", "dra_ccr_i_limit_per_s", "dra_ccr_t_limit_per_s"):
            found[name] = _UNLIMITED
    found |= {"burst": dra.burst or 0.0, "update_per_s": dra.update_per_s}
    found |= {"writes_per_update": dra.writes_per_update, "writes_per_end": dra.writes_per_end}
    if dra.dynamic is not None:
        found |= {f"from_{i}": edge for i, edge in enumerate(dra.dynamic.from_percent)}
        found["sample_s"] = dra.dynamic.sample_s
    found["dynamic"] = float(dra.dynamic is not None)
    found["cpu_base_share"] = topology.database.cpu_base_share if topology.database else 0.0
    found["unknown_per_s"] = manager.unknown_per_s if manager else 0.0
    found["broadcast_cost"] = manager.broadcast_cost if manager else 0.0
    found["uptime_s"] = manager.uptime_s if manager else 0.0
    found |= {f"arp_{i + 1}": share for i, share in enumerate(ddn.arp_shares)}
    for field in ("rate_per_s", "messages", "session_managers", "overload_share"):
        found[f"ddn_{field}"] = float(getattr(ddn, field)) if topology.ddn else 0.0
    found["ddn_by_mme"] = float(ddn.by_mme)
    return found


def core_rows(fields: Mapping[str, Floats], settings: Floats, names: tuple[str, ...], dt: float) -> dict[int, Floats]:
    """Turn the numbers, overridden by knobs where given, into rows of the core block.

    Args:
        fields: One array per name, one number per row.
        settings: Setting vectors, shape (rows, fields).
        names: The knob of each field.
        dt: The step [s].
    """
    f = dict(fields)
    for name in FIELDS:
        given = settings[:, names.index(name)]
        f[name] = np.where(np.isnan(given), f[name], given)

    def steps(seconds: Floats) -> Floats:
        return np.maximum(np.rint(seconds / dt), 1.0)

    def per_step(rate: Floats) -> Floats:
        return np.where(rate >= _UNLIMITED, _UNLIMITED, rate * dt)

    one = np.ones_like(f["dynamic"])
    rows = {
        core.N_PER_S: one / dt,
        core.N_ACTION: f["dra_limit_action"],
        core.N_LIMIT: per_step(f["dra_ccr_i_limit_per_s"]),
        core.N_LIMIT + core.CCR_U: per_step(f["ccr_u_limit_per_s"]),
        core.N_LIMIT + core.CCR_T: per_step(f["dra_ccr_t_limit_per_s"]),
        core.N_LIMIT + core.GY: per_step(f["gy_limit_per_s"]),
        core.N_LIMIT + core.TOTAL: per_step(f["dra_peer_limit_per_s"]),
        core.N_DEPTH: f["burst"],
        core.N_EGRESS: per_step(f["pcrf_ccr_i_limit_per_s"]),
        core.N_EGRESS + core.CCR_U: per_step(f["pcrf_ccr_u_limit_per_s"]),
        core.N_EGRESS + core.CCR_T: per_step(f["pcrf_ccr_t_limit_per_s"]),
        core.N_EGRESS + core.GY: per_step(f["dra_ocs_limit_per_s"]),
        core.N_EGRESS + core.TOTAL: per_step(f["dra_pcrf_limit_per_s"]),
        core.N_RATED: per_step(f["rate_per_s"]),
        core.N_PCRF_PENDING: f["pcrf_pending"],
        core.N_OCS_PENDING: f["dra_ocs_pending"],
        core.N_POOL: f["pool"],
        core.N_UPDATES: f["update_per_s"] * dt,
        core.N_WRITE_U: f["writes_per_update"],
        core.N_WRITE_T: f["writes_per_end"],
        core.N_DYNAMIC: f["dynamic"],
        core.N_SAMPLE: steps(f.get("sample_s", one)),
        core.N_CPU_BASE: f["cpu_base_share"],
        core.N_GX_ACTION: f["gx_failure_action"],
        core.N_GY_ACTION: f["gy_failure_action"],
        core.N_THRESHOLD: np.where(f["broadcast_off_percent"] > 100.0, -1.0, f["broadcast_off_percent"] / 100.0),
        core.N_MANAGERS: f["session_managers"],
        core.N_BROADCAST_COST: f["broadcast_cost"],
        core.N_STAGES: np.maximum(f["release_stages"], 1.0),
        core.N_RECOVERY: f["recovery_share"],
        core.N_DOMAINS: np.maximum(f["failure_domains"], 1.0),
        core.N_MME_SMOOTH: one * min(dt / _MME_SMOOTH_S, 1.0),
    }
    if "sample_s" in f:
        rows |= {core.N_BAND_FROM + i: f[f"from_{i}"] / 100.0 for i in range(core.BANDS)}
        rows |= {core.N_BAND_POINTS + i: f[name] for i, name in enumerate(THROTTLES)}
        rows |= {core.N_HOLD: steps(f["dynamic_hold_s"]), core.N_STEP: f["dynamic_step_percent"]}
    shares = np.array([f[f"arp_{i + 1}"] for i in range(15)])
    above = np.arange(1, 16)[:, None] > f["ddn_arp_watermark"][None, :]
    rows |= {
        core.N_DDN: f["ddn_rate_per_s"] * dt,
        core.N_DDN_LOW_SHARE: np.minimum((shares * above).sum(axis=0), 1.0),
        core.N_DDN_LIMIT: f["ddn_limit_per_s"] * dt,
        core.N_DDN_WINDOW: steps(f["ddn_window_s"]),
        core.N_DDN_FIRST_FACTOR: f["ddn_factor_percent"],
        core.N_DDN_INCREMENT: f["ddn_increment_percent"],
        core.N_DDN_POLL: steps(f["ddn_poll_s"]),
        core.N_DDN_TIME: steps(f["ddn_throttle_time_s"]),
        core.N_DDN_STABLE: steps(f["ddn_stabilisation_s"]),
        core.N_DDN_RELEASE_10: f["ddn_by_mme"],
        core.N_DDN_DELAY: steps(f["ddn_delay_s"]),
        core.N_DDN_OVERLOAD: f["ddn_overload_share"],
        core.N_DDN_COST: f["ddn_messages"],
        core.N_DDN_MANAGERS: f["ddn_session_managers"],
    }
    return rows


def start_rows(fields: Mapping[str, Floats], dt: float) -> dict[int, Floats]:
    """Return the rows that hold only at the start: full buckets, clocks, rates that events change."""
    one = np.ones_like(fields["dynamic"])
    rows = {core.N_EGRESS_TOKENS + i: one * layout.NEVER for i in range(core.BUCKETS)}
    return rows | {
        core.N_RATED_TOKENS: one * layout.NEVER,
        core.N_CALM: -one,
        core.N_DDN_SINCE: -one,
        core.N_UNKNOWN: fields["unknown_per_s"] * dt,
        core.N_UNKNOWN_BASE: fields["unknown_per_s"] * dt,
        core.N_BOOTED: -np.rint(fields["uptime_s"] / dt),
    }


def peer_columns(peer: Peer, dt: float) -> dict[int, float]:
    """Return the rows of a peer's block of one storm, buckets full."""
    rows = {core.B_TOKENS + i: layout.NEVER for i in range(core.BUCKETS)}
    rows |= {core.B_MEAN + i: getattr(peer, f"{name}_per_s") * dt for i, name in enumerate(MESSAGE_NAMES)}
    return rows | {core.B_DYNAMIC: float(peer.dynamic)}


def event_rows(scenario: Scenario, event: Any, servers: tuple[str, ...]) -> dict[int, float]:
    """Return the rows of a core event of one storm."""
    dt = scenario.dt
    at = float(round(event.time_s / dt))

    def steps(seconds: float) -> float:
        return float(round(seconds / dt))

    rows = {layout.E_STEP: at, layout.E_UNTIL: at, layout.E_START: 0.0, layout.E_EXTRA: 0.0}
    rows |= {layout.E_VALUE: 0.0, layout.E_TARGET: -1.0}
    if isinstance(event, CrowdEvent):
        names = [group.name for group in scenario.subscribers]
        kind = core.EVENT_SWITCH_ON if isinstance(event, RedirectEvent) else core.EVENT_RECONNECT
        if isinstance(event, GatewayFlushEvent):
            kind = core.EVENT_FLUSH
            rows[layout.E_UNTIL] = at + max(steps(event.flush_s), 1.0) - 1.0
        target = names.index(event.target) if event.target in names else -1
        extra = steps(event.spread_s)
        return rows | {
            layout.E_KIND: kind, layout.E_VALUE: event.share, layout.E_EXTRA: extra, layout.E_TARGET: target,
        }  # fmt: skip
    if isinstance(event, PeerBurstEvent):
        peers = [peer.name for peer in scenario.topology.dra.peers] if scenario.topology.dra else []
        target = peers.index(event.target) * core.MESSAGES + MESSAGE_NAMES.index(event.message)
        rows |= {layout.E_KIND: core.EVENT_PEER_BURST, layout.E_TARGET: target}
        spread = max(steps(event.spread_s), 1.0)
        return rows | {layout.E_VALUE: event.count, layout.E_EXTRA: spread, layout.E_UNTIL: at + spread - 1.0}
    if isinstance(event, DdnSurgeEvent):
        spread = max(steps(event.spread_s), 1.0)
        rows |= {layout.E_KIND: core.EVENT_DDN, layout.E_VALUE: event.count}
        return rows | {layout.E_EXTRA: spread, layout.E_UNTIL: at + spread - 1.0}
    if isinstance(event, StallEvent):
        end_s = event.end_s(scenario.timeline)
        until = layout.NEVER if math.isinf(end_s) else steps(end_s)
        rows |= {layout.E_KIND: core.EVENT_STALL, layout.E_TARGET: servers.index(event.target)}
        return rows | {layout.E_UNTIL: until}
    if isinstance(event, ReleaseEvent):  # its stall knows it beforehand
        return rows | {layout.E_KIND: core.EVENT_STALL, layout.E_STEP: layout.NEVER}
    if isinstance(event, NodeEvent):
        spread = max(steps(event.spread_s), 1.0)
        rows |= {layout.E_TARGET: servers.index(event.target), layout.E_VALUE: float(event.nodes)}
        rows[layout.E_EXTRA] = -spread if event.load_removed else spread
        rows[layout.E_KIND] = core.EVENT_NODE_LOSS if event.kind == "node_loss" else core.EVENT_NODE_RESTART
        return rows
    if isinstance(event, HoldEvent):
        return rows | {layout.E_KIND: core.EVENT_HOLD, layout.E_VALUE: event.share}
    if isinstance(event, StagedReleaseEvent):
        rows |= {layout.E_KIND: core.EVENT_RELEASE, layout.E_VALUE: steps(event.stage_s)}
        return rows | {layout.E_EXTRA: steps(event.spread_s)}
    if isinstance(event, UnknownEvent):
        until = layout.NEVER if event.until_s is None else steps(event.until_s)
        rows |= {layout.E_KIND: core.EVENT_UNKNOWN, layout.E_VALUE: event.value_per_s * dt}
        return rows | {layout.E_UNTIL: until}
    if isinstance(event, RebootEvent):
        return rows | {layout.E_KIND: core.EVENT_REBOOT}
    raise TypeError(f"no kernel event for {event!r}")
