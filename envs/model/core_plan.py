"""The plan's part for the elements beyond the attach chain: what of them a scenario has, and where it lies."""

from typing import TYPE_CHECKING

from signalstorm.envs.model.kernels import core_layout as core
from signalstorm.envs.model.kernels import layout
from signalstorm.envs.model.scenario_core_events import UnknownEvent

if TYPE_CHECKING:
    from signalstorm.envs.model.plan import Reach, _Builder

SERVERS = {
    core.X_PCRF: "pcrf",
    core.X_OCS: "ocs",
    core.X_MATE: "pcrf_mate",
    core.X_DATABASE: "database",
    core.X_MME: "mme",
    core.X_GATEWAY: "gateway",
}


def lay_out(builder: "_Builder", reach: "Reach", at: int, ring_mask: int) -> None:
    """Reserve space for the core table's parts, before the servers are connected.

    Args:
        builder: The plan so far.
        reach: The longest delays.
        at: Index of the core table.
        ring_mask: Mask of the rings of losses.
    """
    scenario, table = builder.scenario, builder.table
    topology, classes = scenario.topology, len(builder.parts)
    groups = [scenario.subscribers[part.group] for part in builder.parts]
    peers = len(topology.dra.peers) if topology.dra else 0
    points = len(scenario.churn_profile.points) if scenario.churn_profile else 0
    unknown = topology.imsimgr is not None and (
        topology.imsimgr.unknown_per_s > 0 or any(isinstance(event, UnknownEvent) for event in scenario.timeline)
    )
    flags = {
        core.X_DRA: topology.dra is not None,
        core.X_PEERS: peers,
        core.X_OVER_MASK: ring_mask,
        core.X_POINTS: points,
        core.X_PRIORITY: any(group.priority for group in groups),
        core.X_BROKEN: any(group.broken for group in groups),
        core.X_UNKNOWN: unknown,
        core.X_DDN: topology.ddn is not None,
    }
    for index, value in flags.items():
        table[at + index] = value
    for index, name in SERVERS.items():
        table[at + index] = builder.names.index(name) if name in builder.names else -1
    for index, numbers in (
        (core.X_BLOCK, core.N_COUNT),
        (core.X_PEER, max(peers, 1) * core.B_COUNT),
        (core.X_GX, builder.payload),
        (core.X_GY, builder.payload),
        (core.X_GX_FAILED, builder.payload),
        (core.X_GY_FAILED, builder.payload),
        (core.X_OVER_RING, 2 * (ring_mask + 1) if peers else 1),
        (core.X_HELD, classes),
        (core.X_CHURN, classes),
        (core.X_PROFILE, max(2 * points, 1)),
        (core.X_ASIDE, builder.payload),
    ):
        table[at + index] = builder.space(numbers)
    for c, group in enumerate(groups):
        entry = builder.class_table + c * layout.PC_COUNT
        table[entry + layout.PC_PRIORITY] = group.priority
        table[entry + layout.PC_BROKEN] = group.broken
