"""What the elements beyond the attach chain come to, per storm."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from signalstorm.envs.model.batch import Batch
from signalstorm.envs.model.kernels import core_layout as core
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.model.scenario_core import MESSAGE_NAMES

Floats = npt.NDArray[np.float64]


class Quantity(NamedTuple):
    """A number of the core block that is reported."""

    name: str
    """Its name in results."""
    element: str
    """The part of the topology, or ``handsets``, that it belongs to."""
    row: int
    """Its row."""
    unit: str
    """The unit of its level, or of its count."""
    words: str
    """What it is, as time series call it."""
    counts: bool = False
    """Whether it is a cumulative count, shown as a rate in time series."""


CORE_QUANTITIES = (
    Quantity("database_cpu_peak", "database", core.N_CPU_PEAK, "share", "largest CPU"),
    Quantity("throttle_peak_percent", "dynamic", core.N_THROTTLE_PEAK, "%", "largest throttle"),
    Quantity("throttle_rises", "dynamic", core.N_THROTTLE_RISES, "times", "times tightened"),
    Quantity("pending_peak", "dra", core.N_PENDING_PEAK, "transactions", "most pending"),
    Quantity("dra_offered", "dra", core.N_OFFERED, "messages", "offered", True),
    Quantity("dra_limited", "dra", core.N_LIMITED, "messages", "beyond a limit", True),
    Quantity("dra_busy_gx", "dra", core.N_BUSY_GX, "messages", "Gx turned away, busy", True),
    Quantity("dra_busy_gy", "dra", core.N_BUSY_GY, "messages", "Gy turned away, busy", True),
    Quantity("endings_lost", "dra", core.N_ENDINGS_LOST, "messages", "CCR-T lost", True),
    Quantity("degraded", "gateway", core.N_DEGRADED, "sessions", "degraded", True),
    Quantity("retried", "gateway", core.N_RETRIED, "questions", "asked at the mate", True),
    Quantity("broadcasts", "imsimgr", core.N_BROADCASTS, "requests", "broadcast", True),
    Quantity("sent_to_one", "imsimgr", core.N_SINGLE, "requests", "sent to one session manager", True),
    Quantity("unknown_dropped", "imsimgr", core.N_UNKNOWN_DROPPED, "requests", "unknown dropped", True),
    Quantity("ddn_sent", "ddn", core.N_DDN_SENT, "notifications", "sent", True),
    Quantity("ddn_dropped", "ddn", core.N_DDN_DROPPED, "notifications", "dropped", True),
    Quantity("ddn_factor_peak_percent", "ddn", core.N_DDN_FACTOR_PEAK, "%", "largest factor"),
    Quantity("ddn_throttles", "ddn", core.N_DDN_STARTS, "times", "times throttled"),
    Quantity("ddn_poll_messages", "ddn", core.N_DDN_POLLS, "messages", "messages of polling"),
    Quantity("held_peak", "handsets", core.N_HELD_PEAK, "subscribers", "most held back"),
    Quantity("broken_refused", "broken", core.N_BROKEN_REFUSED, "requests", "refusals of broken handsets", True),
    Quantity("mme_cpu_peak", "mme", core.N_MME_PEAK, "share", "largest CPU"),
)
"""Everything reported at the end of a run; what belongs to an absent element is left out."""

_LEVELS = (
    Quantity("", "database", core.N_CPU, "share", "CPU"),
    Quantity("", "dynamic", core.N_THROTTLE, "%", "throttle"),
    Quantity("", "dra", core.N_PENDING_GX, "transactions", "pending Gx"),
    Quantity("", "dra", core.N_PENDING_GY, "transactions", "pending Gy"),
    Quantity("", "imsimgr", core.N_BROADCAST_ON, "on", "broadcast on"),
    Quantity("", "ddn", core.N_DDN_FACTOR, "%", "factor"),
    Quantity("", "handsets", core.N_HELD, "subscribers", "held back"),
    Quantity("", "mme", core.N_MME_CPU, "share", "CPU"),
)


def has(scenario: Scenario, element: str) -> bool:
    """Tell whether a scenario has what a quantity belongs to."""
    topology = scenario.topology
    if element == "handsets":
        return any(event.kind in ("hold", "node_loss") for event in scenario.timeline)
    if element == "broken":
        return any(group.broken for group in scenario.subscribers)
    if element == "dynamic":
        return topology.dra is not None and topology.dra.dynamic is not None
    return getattr(topology, element) is not None


def series_quantities(scenario: Scenario) -> list[Quantity]:
    """Return what a record of a scenario holds that is worth a time series."""
    counts = [quantity for quantity in CORE_QUANTITIES if quantity.counts]
    found = [q for q in (*_LEVELS, *counts) if has(scenario, q.element) and q.row < core.N_RECORDED]
    return [q._replace(element="dra") if q.element == "dynamic" else q for q in found]


def core_outcomes(batch: Batch) -> dict[str, Floats]:
    """Return the reported quantities of a batch that has run, by name, shape (rows,)."""
    if not batch.core:
        return {}
    block = batch.core_block()
    return {q.name: block[q.row] for q in CORE_QUANTITIES if has(batch.scenario, q.element)}


def peer_outcomes(batch: Batch) -> dict[str, Floats]:
    """Return what each peer offered to the Diameter agent and what passed, by kind of message, shape (rows,)."""
    dra = batch.scenario.topology.dra
    if dra is None:
        return {}
    found = {}
    for number, peer in enumerate(dra.peers):
        block = batch.peer_block(number)
        for m, name in enumerate(MESSAGE_NAMES):
            found[f"{peer.name}/offered_{name}"] = block[core.B_SUM_OFFERED + m]
            found[f"{peer.name}/passed_{name}"] = block[core.B_SUM_PASSED + m]
    return found
