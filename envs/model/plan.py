"""The plan of a batch: which queues a scenario needs, and where everything of a tile lies."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from signalstorm.envs.model.core_plan import lay_out
from signalstorm.envs.model.kernels import core_layout, draws, layout
from signalstorm.envs.model.kernels.memory import LARGEST_BANK, bank_size
from signalstorm.envs.model.parameters import KernelClass
from signalstorm.envs.model.procedures import PROCEDURES, REFRESH_GPRS
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.model.scenario_core_events import NodeEvent, StallEvent
from signalstorm.envs.model.scenario_events import (
    CapacityEvent,
    LatencyEvent,
    MessageBurstEvent,
    OtherLoadEvent,
)
from signalstorm.envs.model.scenario_parts import EpsLadder, GprsLadder, LaboratoryLadder, Ladder

ELEMENT_NUMBERS = {"hss": 0, "gateway": 1, "pcrf": 2, "database": 3, "mme": 4, "ocs": 5, "pcrf_mate": 6}
"""A server's number in draws: it must not depend on which others a scenario has."""

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Reach:
    """Longest delays of a batch in steps; they size the rings."""

    gate: int
    """Wait in the gate."""
    short: int
    """Timer of the short wheel."""
    long: int
    """Timer of the long wheel."""
    server: Mapping[str, int]
    """Requester's timer or latency, per server."""
    link: int = 0
    """MAP timer."""
    put_off: int = 0
    """Delay of a location refresh; 0: none is ever put off."""


@dataclass(frozen=True)
class Plan:
    """Offsets and counts for the kernel, and what Python needs to fill and read a tile."""

    table: Ints
    """What the kernel reads, see ``kernels.layout``."""
    tile: int
    """Storms per tile."""
    servers: tuple[str, ...]
    """Servers that have a queue, in the order of the procedure."""
    cohorts: tuple[tuple[int, int], ...]
    """Class and attempt (from 1) of each cohort, for each send within an attempt."""

    @property
    def has_gate(self) -> bool:
        """Whether the scenario has a gate."""
        return bool(self.table[layout.P_GATE] >= 0)

    @property
    def queues(self) -> tuple[str, ...]:
        """Names of the queues in the order of a record; the gate's place is there even without one."""
        return ("gate", *self.servers)

    def server_entry(self, server: int, entry: int) -> int:
        """Return an entry of a server's part of the table."""
        return int(self.table[self.table[layout.P_SERVER_TABLE] + server * layout.PS_COUNT + entry])

    def link_offset(self, link: int, row: int) -> int:
        """Return the offset of a row of a link in a tile."""
        size = bank_size(self.tile)
        number, place = divmod(link, size)
        return int(self.table[layout.P_LINK]) + ((number * layout.L_COUNT + row) * size + place) * self.tile

    def peer_offset(self, p: int) -> int:
        """Return the offset of the block of a peer of the Diameter agent."""
        at = int(self.table[layout.P_CORE])
        return int(self.table[at + core_layout.X_PEER]) + p * core_layout.B_COUNT * self.tile

    def queue_offset(self, queue: str) -> int:
        """Return the offset of a queue's block in a tile, -1 if there is none."""
        if queue == "gate":
            return int(self.table[layout.P_GATE])
        return self.server_entry(self.servers.index(queue), layout.PS_BLOCK)


def queued_servers(scenario: Scenario) -> tuple[str, ...]:
    """Return the servers that need a queue: a rate, a latency, or an event that can give them one.

    A server without any of these answers at once and takes no part in the run.
    """
    eventful = {
        event.target
        for event in scenario.timeline
        if isinstance(event, CapacityEvent | LatencyEvent | OtherLoadEvent | MessageBurstEvent | NodeEvent | StallEvent)
    }
    present = scenario.topology.servers()
    if scenario.topology.dra is not None:
        eventful |= {"pcrf", "ocs", "database"}  # the agent hands questions to their queues
    if scenario.topology.pcrf_mate is not None:
        eventful |= {"pcrf_mate"}
    chain = set(t.element for t in PROCEDURES[scenario.access]) | {"pcrf_mate"}
    return tuple(
        name
        for name in present
        if name in chain
        and (present[name].rate_per_s is not None or name in eventful or getattr(present[name], "latency_s", 0.0) > 0.0)
    )


def make_plan(
    scenario: Scenario,
    parts: Sequence[KernelClass],
    reach: Reach,
    tile: int,
    *,
    record_every: int,
    check: bool,
    core: bool = False,
) -> Plan:
    """Lay out a tile for storms that share the structure of ``scenario``.

    Args:
        scenario: Any storm of the batch; all have the same classes, elements and events.
        parts: The kernel's classes.
        reach: The longest delays of the batch.
        tile: Storms per tile.
        record_every: Steps between records, 0 for none.
        check: Whether to check conservation in every step.
        core: Whether any element beyond the attach chain takes part.
    """
    builder = _Builder(scenario, parts, tile, core)
    builder.scalars(record_every, check)
    builder.classes()
    builder.subscribers(reach)
    builder.gate(reach)
    builder.servers(reach)
    builder.links(reach)
    return builder.finish()


def ring_mask(reach: int) -> int:
    """Return the mask of the shortest ring that looks ``reach`` steps back or ahead."""
    return (1 << (reach + 2).bit_length()) - 1


class _Builder:
    """Fills the table from top to bottom, and hands out space in the tile."""

    def __init__(self, scenario: Scenario, parts: Sequence[KernelClass], tile: int, core: bool) -> None:
        self.parts = tuple(parts)
        self.core = core
        self.scenario = scenario
        self.tile = tile
        self.names = queued_servers(scenario)
        ladders = [scenario.subscribers[part.group].ladder for part in self.parts]
        self.cohort_list = [
            (c, attempt + 1)
            for _ in range(max(_sends(ladder) for ladder in ladders))
            for c, ladder in enumerate(ladders)
            for attempt in range(_attempts(ladder))
        ]
        self.cohorts = len(self.cohort_list)
        self.payload = self.cohorts + 1
        classes = len(self.parts)
        self.class_table = layout.P_COUNT
        self.server_table = self.class_table + classes * layout.PC_COUNT
        self.core_table = self.server_table + len(self.names) * layout.PS_COUNT
        self.table = np.zeros(self.core_table + (core_layout.X_COUNT if core else 0), np.int64)
        self.used = 0

    def steps(self, seconds: float) -> int:
        return round(seconds / self.scenario.dt)

    def space(self, numbers_per_storm: int) -> int:
        """Reserve space; returns its offset."""
        offset = self.used
        self.used += numbers_per_storm * self.tile
        return offset

    def scalars(self, record_every: int, check: bool) -> None:
        scenario, table = self.scenario, self.table
        trigger = self.steps(scenario.trigger.time_s)
        servers = scenario.topology.servers()
        foreign = any(server.other_load_per_s > 0 for server in servers.values())
        # Owners are those in queues alone: no repeats, no question on its way to the next server, no delays.
        plain = (
            self.scenario.topology.links is None
            and not self.core
            and set(self.names) <= {"pcrf"}
            and not foreign
            and not scenario.timeline
            and not any(self.delayed(name) for name in self.names)
        )
        values = {
            layout.P_COHORTS: self.cohorts,
            layout.P_ATTEMPTS: sum(_attempts(scenario.subscribers[part.group].ladder) for part in self.parts),
            layout.P_CLASSES: len(self.parts),
            layout.P_SERVERS: len(self.names),
            layout.P_END: self.steps(scenario.horizon_s),
            layout.P_STOCHASTIC: scenario.stochastic,
            layout.P_CHECK: (2 if plain else 1) if check else 0,
            layout.P_CLOSED: scenario.closed,
            layout.P_PACED: scenario.demand is None or scenario.demand.pattern == "paced",
            layout.P_CHURN: any(group.churn_per_s > 0 for group in scenario.subscribers),
            layout.P_SCATTER: scenario.stochastic and any(_has_spread(g.ladder) for g in scenario.subscribers),
            layout.P_SESSIONS: self.session_server(),
            layout.P_BIN: max(self.steps(bin_s(scenario)), 1),
            layout.P_RECORD: record_every,
            layout.P_HEALTH: self.steps(60.0),
            layout.P_COUNT_FROM: self.steps(scenario.convergence.count_from_s),
            layout.P_TRIGGER: trigger,
            layout.P_STEADY_FROM: max(trigger - self.steps(600.0), 0),
            layout.P_EVENTS: len(scenario.timeline),
            layout.P_CLASS_TABLE: self.class_table,
            layout.P_SERVER_TABLE: self.server_table,
            layout.P_CORE: self.core_table,
            layout.P_SCRATCH: self.space(draws.SCRATCH_COUNT),
            layout.P_KPI: self.space(layout.K_COUNT),
            layout.P_STORM: self.space(layout.S_COUNT),
            layout.P_EVENT: self.space(layout.E_COUNT * len(scenario.timeline)),
            layout.P_RECORD_WIDTH: layout.RECORD_COUNTERS
            + 1
            + layout.RECORD_PER_QUEUE * (1 + len(self.names))
            + (core_layout.N_RECORDED if self.core else 0),
            layout.P_FINAL: self.space(layout.K_COUNT + layout.Q_COUNT * (1 + len(self.names))),
        }
        for index, value in values.items():
            table[index] = value

    def session_server(self) -> int:
        """Which server's inflow counts as create-session requests; see P_SESSIONS."""
        if self.scenario.topology.gateway is None:
            return -2
        chain = [t.element for t in PROCEDURES[self.scenario.access]]
        later = [name for name in chain[chain.index("gateway") :] if name in self.names]
        return self.names.index(later[0]) if later else -1

    def classes(self) -> None:
        self.table[layout.P_CLASS] = self.space(layout.C_COUNT * len(self.parts))
        first = 0
        for c, part in enumerate(self.parts):
            group = self.scenario.subscribers[part.group]
            limited = not isinstance(group.ladder, LaboratoryLadder)
            at = self.class_table + c * layout.PC_COUNT
            self.table[at + layout.PC_FIRST] = first
            self.table[at + layout.PC_ATTEMPTS] = _attempts(group.ladder)
            self.table[at + layout.PC_LIMITED] = limited
            self.table[at + layout.PC_GROUP] = part.group
            self.table[at + layout.PC_SENDS] = _sends(group.ladder)
            first += _attempts(group.ladder)

    def subscribers(self, reach: Reach) -> None:
        table, classes = self.table, len(self.parts)
        for index, lanes in (
            (layout.P_ARRIVE, self.payload),
            (layout.P_ACCEPT, self.payload),
            (layout.P_REFUSE, self.payload),
            (layout.P_PROC, self.cohorts),
            (layout.P_FIRED_SHORT, self.cohorts),
            (layout.P_FIRED_LONG, classes),
            (layout.P_SHORT_LEVEL, self.cohorts),
            (layout.P_SHORT_STOCK, self.cohorts),
            (layout.P_SHORT_DEBT, self.cohorts),
            (layout.P_LONG_LEVEL, classes),
            (layout.P_LONG_STOCK, classes),
            (layout.P_REGISTERED, classes),
            (layout.P_IDLE, classes),
        ):
            table[index] = self.space(lanes)
        for ring, mask_index, longest, lanes in (
            (layout.P_SHORT, layout.P_SHORT_MASK, reach.short, self.cohorts),
            (layout.P_LONG, layout.P_LONG_MASK, reach.long, classes),
        ):
            mask = ring_mask(longest)
            table[mask_index] = mask
            table[ring] = self.space((mask + 1) * lanes)

    def gate(self, reach: Reach) -> None:
        table = self.table
        if self.scenario.topology.gate is None:
            table[layout.P_GATE] = -1
            return
        mask = ring_mask(reach.gate)
        table[layout.P_GATE] = self.space(layout.Q_COUNT)
        table[layout.P_GATE_MASK] = mask
        table[layout.P_GATE_RING] = self.space(mask + 1)
        table[layout.P_GATE_LINES] = self.space((mask + 1) * self.payload)
        table[layout.P_GATE_OUT] = self.space(2 * self.payload)

    def delayed(self, name: str) -> bool:
        """Whether a server's answers, or the news of a loss, can come later than in the step that decides them."""
        server = self.scenario.topology.servers()[name]
        late = getattr(server, "latency_s", 0.0) > 0 or any(
            isinstance(event, LatencyEvent) and event.target == name for event in self.scenario.timeline
        )
        lossy = self.scenario.topology.dra is not None and name in ("pcrf", "ocs")
        return late or lossy or (server.overflow == "drop" and server.buffer is not None)

    def servers(self, reach: Reach) -> None:
        stages = {name: [t for t in self.transactions() if t == name] or [name] for name in self.names}
        if self.core:
            slots = max((ring_mask(reach.server[name]) for name in ("pcrf", "ocs") if name in self.names), default=0)
            lay_out(self, reach, self.core_table, slots)
        for s, name in enumerate(self.names):
            at = self.server_table + s * layout.PS_COUNT
            entry = self.table[at : at + layout.PS_COUNT]
            width = len(stages[name]) * self.payload
            mask = ring_mask(reach.server[name])
            entry[layout.PS_BLOCK] = self.space(layout.Q_COUNT)
            entry[layout.PS_STAGES] = len(stages[name])
            entry[layout.PS_WIDTH] = width
            entry[layout.PS_INFLOW] = self.space(width)
            entry[layout.PS_OUT] = self.space(2 * width)
            entry[layout.PS_MASK] = mask
            entry[layout.PS_RING] = self.space(mask + 1)
            entry[layout.PS_LINES] = self.space((mask + 1) * width)
            entry[layout.PS_DELAY_MASK] = mask
            entry[layout.PS_DELAY] = self.space((mask + 1) * 2 * width) if self.delayed(name) else -1
            entry[layout.PS_REPEATS] = name in ("gateway", "pcrf", "pcrf_mate", "ocs")
            entry[layout.PS_FAIL] = self.failures(name)
            if entry[layout.PS_REPEATS]:
                entry[layout.PS_LOST_RING] = self.space(mask + 1)
                entry[layout.PS_OWN_RING] = self.space(mask + 1)
                entry[layout.PS_SERVED_RING] = self.space(mask + 1)
            entry[layout.PS_REPEAT_TO] = self.names.index("gateway") if "gateway" in self.names else -1
            entry[layout.PS_ELEMENT] = ELEMENT_NUMBERS[name]
        self.connect()

    def failures(self, name: str) -> int:
        """Return where a server leads those whose question failed."""
        row = {"pcrf": core_layout.X_GX_FAILED, "ocs": core_layout.X_GY_FAILED}.get(name)
        return int(self.table[layout.P_REFUSE] if row is None or not self.core else self.table[self.core_table + row])

    def transactions(self) -> list[str]:
        """Elements of the transactions that take part, in order."""
        return [t.element for t in PROCEDURES[self.scenario.access] if t.element in self.names]

    def connect(self) -> None:
        """Lead each transaction's successes to the next one, the last one's to the accepted."""
        chain = self.transactions()
        table = self.table
        destinations = []
        seen: dict[str, int] = {}
        for name in chain:
            at = self.server_table + self.names.index(name) * layout.PS_COUNT
            stage = seen.get(name, 0)
            seen[name] = stage + 1
            destinations.append(
                self.entrance(name, int(table[at + layout.PS_INFLOW]) + stage * self.payload * self.tile)
            )
        destinations.append(int(table[layout.P_ACCEPT]))
        table[layout.P_RELEASE] = destinations[0]
        stage_of: dict[str, int] = {}
        for name, offset in zip(chain, destinations[1:], strict=True):
            at = self.server_table + self.names.index(name) * layout.PS_COUNT
            stage = stage_of.get(name, 0)
            stage_of[name] = stage + 1
            table[at + layout.PS_TO0 + stage] = offset
        if self.core:
            self.detours(chain, destinations)

    def entrance(self, name: str, inflow: int) -> int:
        """Return where a server's questions go first: to the Diameter agent, if there is one and it is on the way."""
        row = {"pcrf": core_layout.X_GX, "ocs": core_layout.X_GY}.get(name)
        if row is None or self.scenario.topology.dra is None:
            return inflow
        return int(self.table[self.core_table + row])

    def detours(self, chain: list[str], destinations: list[int]) -> None:
        """Set where requests go on after a failure, from the mate, and where broken handsets are found out."""
        table, at = self.table, self.core_table
        accept = int(table[layout.P_ACCEPT])
        for row, name in ((core_layout.X_GX_NEXT, "pcrf"), (core_layout.X_GY_NEXT, "ocs")):
            table[at + row] = destinations[chain.index(name) + 1] if name in chain else accept
        if "pcrf_mate" in self.names:
            mate = self.server_table + self.names.index("pcrf_mate") * layout.PS_COUNT
            table[mate + layout.PS_TO0] = table[at + core_layout.X_GX_NEXT]
        found_out = chain.index("hss") + 1 if "hss" in chain else 0
        table[at + core_layout.X_BROKEN_AT] = destinations[found_out]

    def links(self, reach: Reach) -> None:
        """Lay out the IMSI manager, the alarm log, the links and the pools at their messages."""
        table, topology = self.table, self.scenario.topology
        table[layout.P_IMSIMGR] = self.space(layout.I_COUNT) if topology.imsimgr else -1
        if topology.imsimgr and topology.gate is None:
            table[layout.P_GATE_OUT] = self.space(2 * self.payload)
        logged = topology.links is not None or topology.imsimgr is not None
        table[layout.P_ALARMS] = self.space(layout.A_COUNT * layout.ALARM_LOG) if logged else 0
        if topology.links is None:
            return
        attach, refresh = len(PROCEDURES[self.scenario.access]), len(REFRESH_GPRS)
        kinds, classes = attach + refresh, len(self.parts)
        rows = kinds + 2 * attach
        points = len(self.scenario.activity.points) if self.scenario.activity else 2
        mask = ring_mask(reach.link)
        links = topology.links.stps * topology.links.links_per_stp
        banks = -(-links // LARGEST_BANK) * LARGEST_BANK  # so that a tile has as many rows whatever its width
        table[layout.P_LINKS] = links
        table[layout.P_LINKS_PER_STP] = topology.links.links_per_stp
        table[layout.P_MESSAGES] = kinds
        table[layout.P_LINE_ROWS] = rows
        table[layout.P_ATTACH_MESSAGES] = attach
        table[layout.P_LINK_MASK] = mask
        table[layout.P_PROFILE_POINTS] = points
        for index, numbers in (
            (layout.P_PROFILE, 2 * points),
            (layout.P_FLAGGED, classes),
            (layout.P_DETACHED, classes),
            (layout.P_PUT_OFF_LEVEL, classes),
            (layout.P_PUT_OFF_STOCK, classes),
            (layout.P_PUT_OFF_FIRED, classes),
            (layout.P_LINK, banks * layout.L_COUNT),
            (layout.P_LINK_RING, banks * (mask + 1)),
            (layout.P_LINK_SCRATCH, banks * draws.SCRATCH_COUNT),
            (layout.P_LINK_LINES, (mask + 1) * rows),
            (layout.P_LOST_RING, (mask + 1) * kinds),
            (layout.P_SEND, rows),
            (layout.P_ANSWERED, rows),
            (layout.P_FAILED, kinds),
            (layout.P_POOL, (kinds + 1) * self.payload),
            (layout.P_PARTS, 5 * kinds),
        ):
            table[index] = self.space(numbers)
        table[layout.P_RELEASE] = table[layout.P_POOL]
        if reach.put_off > 0:
            table[layout.P_PUT_OFF_MASK] = ring_mask(reach.put_off)
            table[layout.P_PUT_OFF] = self.space((ring_mask(reach.put_off) + 1) * classes)

    def finish(self) -> Plan:
        self.table[layout.P_SIZE] = self.used
        return Plan(self.table, self.tile, self.names, tuple(self.cohort_list))


def _attempts(ladder: Ladder) -> int:
    """Attempts before the long timer; one that repeats for ever in the laboratory."""
    return 1 if isinstance(ladder, LaboratoryLadder) else ladder.attempt_limit


def _sends(ladder: Ladder) -> int:
    """Requests within an attempt while no answer comes."""
    return ladder.sends if isinstance(ladder, GprsLadder) else 1


def _has_spread(ladder: Ladder) -> bool:
    """Whether every short timer of a ladder is drawn by each handset, rather than fixed."""
    if isinstance(ladder, EpsLadder):
        spans = [ladder.t3411_s]
    elif isinstance(ladder, GprsLadder):
        spans = [ladder.t3311_s]
    else:
        spans = [ladder.retry_refused_s, ladder.retry_silent_s]
    return all(low < high for low, high in spans)


def bin_s(scenario: Scenario) -> float:
    """Return the width of the bins in which peaks are counted: 1 s, 60 s above an hour of horizon."""
    return 60.0 if scenario.horizon_s > 3600.0 else 1.0
