"""What an operator sees of storms that are going on: counters as rates, utilisation, alarms, queue lengths.

One reading is one reporting interval. Controllers, commands and environments all look at storms through this file, so
none of them can see more than the equipment shows: no capacities, no waiting handsets, nobody still to be confirmed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from signalstorm.envs.model.batch import Batch
from signalstorm.envs.model.core_metrics import has
from signalstorm.envs.model.kernels import core_layout as core
from signalstorm.envs.model.kernels import layout
from signalstorm.envs.model.scenario_core import MESSAGE_NAMES

Floats = npt.NDArray[np.float64]

REQUESTS, ADMITTED, ACCEPTS, FAILURES = "attach requests", "admitted", "attach accepts", "attach failures"
"""Before the gate, behind it, completed, and failed behind it [1/s]."""
CONGESTED, DOWN = "links congested", "links down"
"""Signalling links with a congestion alarm up, and links out of service [links]."""
REGISTERED = "registered"
"""Subscribers registered [subscribers]."""
GATE_QUEUE = "waiting at the gate"
"""Requests in the gate's queue [requests]."""
IMSIMGR_CPU, MME_CPU, DATABASE_CPU = "CPU of the IMSI manager", "CPU of the MME", "CPU of the session database"
"""Utilisation, smoothed as the equipment does it [share]."""
IMSIMGR_STATE = "state of the IMSI manager"
"""0 normal, 1 warn, 2 over."""
LOST_BY_IMSIMGR = "lost by the IMSI manager"
"""Requests that it had no time for [1/s]."""
LIMITED = "messages beyond a limit of the agent"
"""Of all peers and kinds [1/s]."""
THROTTLE = "throttle by the database's CPU"
"""The dynamic limit's reduction [percentage points]."""
DDN_FACTOR = "factor of the notifications' throttle"
"""Share of the low-priority notifications that are dropped now [%]."""
DDN_SENT, DDN_DROPPED = "notifications sent", "notifications dropped"
"""Downlink data notifications of the SGW [1/s]."""

_ATTACH_COUNTERS = {
    REQUESTS: (layout.K_ATTEMPTS,),
    ADMITTED: (layout.K_ADMITTED,),
    ACCEPTS: (layout.K_SUCCESSES,),
    FAILURES: (layout.K_REFUSED_NETWORK, layout.K_LATE),
    "refused for congestion": (layout.K_REFUSED_CONGESTION,),
    "refused for network failure": (layout.K_REFUSED_GATE_FAILURE,),
    "dropped by the gate": (layout.K_DROPPED,),
    "stale at the gate": (layout.K_EXPIRED,),
    "create-session requests": (layout.K_SESSIONS,),
    "detaches by the network": (layout.K_DETACH_NETWORK,),
    "detaches by subscribers": (layout.K_DETACH_SUBSCRIBER,),
}
_REFRESH_COUNTERS = {
    "location refreshes": (layout.K_REFRESHES,),
    "location refreshes failed": (layout.K_REFRESHES_FAILED,),
}
_CORE_COUNTERS = (
    (DDN_SENT, "ddn", core.N_DDN_SENT),
    (DDN_DROPPED, "ddn", core.N_DDN_DROPPED),
    (LIMITED, "dra", core.N_LIMITED),
    ("Gx turned away, agent busy", "dra", core.N_BUSY_GX),
    ("Gy turned away, agent busy", "dra", core.N_BUSY_GY),
    ("unknown-subscriber requests broadcast", "imsimgr", core.N_BROADCASTS),
    ("unknown-subscriber requests sent to one", "imsimgr", core.N_SINGLE),
    ("unknown-subscriber requests dropped", "imsimgr", core.N_UNKNOWN_DROPPED),
)
_CORE_LEVELS = (
    (DATABASE_CPU, "database", core.N_CPU, "share"),
    (MME_CPU, "mme", core.N_MME_CPU, "share"),
    (THROTTLE, "dynamic", core.N_THROTTLE, "%"),
    ("Gx pending at the agent", "dra", core.N_PENDING_GX, "transactions"),
    ("Gy pending at the agent", "dra", core.N_PENDING_GY, "transactions"),
    ("broadcasting", "imsimgr", core.N_BROADCAST_ON, "on"),
    (DDN_FACTOR, "ddn", core.N_DDN_FACTOR, "%"),
)


_WAITING = (layout.Q_ADMITTED_SUM, layout.Q_SERVED_SUM, layout.Q_DEADLINE)

RATE = "1/s"
"""The unit of a counter."""
Level = Callable[[Floats], Floats]
"""Works out a level from the rows of blocks that are read, shape (rows of blocks, rows of the batch)."""


class Quantity(NamedTuple):
    """Something an operator sees."""

    name: str
    """Its name."""
    unit: str
    """``1/s`` for a counter, which is read as the mean rate of the interval; else the unit of its level at the end."""

    @property
    def is_rate(self) -> bool:
        """Whether it is a counter."""
        return self.unit == RATE


@dataclass(frozen=True)
class Reading:
    """One reporting interval of all rows of a batch."""

    end_s: float
    """Its end, from the scenario's start [s]."""
    interval_s: float
    """Its length [s]."""
    values: dict[str, Floats]
    """By name, in the order of `Observer.quantities`, each of shape (rows,)."""


def answers(server: str) -> str:
    """Return the name of a server's answers that came in time [1/s]."""
    return f"answers from {server}"


def failed(server: str) -> str:
    """Return the name of a server's answers that never came, came too late, or said that it is full [1/s]."""
    return f"failures at {server}"


def pending(server: str) -> str:
    """Return the name of the requests that wait for a server and have not timed out [messages]."""
    return f"pending at {server}"


def sent(link: str = "links") -> str:
    """Return the name of what a link, or all of them, sent [1/s]."""
    return f"{link} tx"


def received(link: str = "links") -> str:
    """Return the name of the answers that came on a link, or on all of them [1/s]."""
    return f"{link} rx"


def queued(link: str = "links") -> str:
    """Return the name of what waits on a link's association, or on all of them: outstanding and queued [messages]."""
    return f"{link} queue"


def offered(message: str) -> str:
    """Return the name of the own gateway's messages of a kind at the agent, see ``MESSAGE_NAMES`` [1/s]."""
    return f"{message} offered"


def passed(message: str) -> str:
    """Return the name of those of them that the agent passed [1/s]."""
    return f"{message} passed"


class Observer:
    """Reads a batch, interval by interval; a rate is the difference of a counter since the reading before.

    A storm that is over shows no traffic any more: its counters stand still, and its links and processors read 0,
    whatever the storms do that share a tile with it.
    """

    def __init__(self, batch: Batch) -> None:
        """Look up where everything lies; the first interval starts at the batch's present step."""
        self._batch = batch
        self._offsets: list[int] = []
        self._final: list[int] = []
        self._counters: dict[str, tuple[int, ...]] = {}
        self._levels: dict[str, tuple[str, Level]] = {}
        self._sums: dict[str, tuple[str, tuple[str, ...]]] = {}
        self._over = self._row(int(batch.plan.table[layout.P_KPI]), layout.K_OVER)
        self._add_attaches()
        self._add_queues()
        self._add_links()
        self._add_core()
        self._parts = [row for rows in self._counters.values() for row in rows]
        self._firsts = np.cumsum([0, *(len(rows) for rows in self._counters.values())])[:-1]
        self._step = batch.step
        self._before = self._cumulative(self._raw())

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """What a reading holds, in its order."""
        return (
            *(Quantity(name, RATE) for name in self._counters),
            *(Quantity(name, unit) for name, (unit, _) in self._levels.items()),
            *(Quantity(name, unit) for name, (unit, _) in self._sums.items()),
        )

    def read(self) -> Reading:
        """Return what the interval since the reading before showed."""
        interval_s = max(self._batch.step - self._step, 1) * self._batch.dt
        self._step = self._batch.step
        raw = self._raw()
        now = self._cumulative(raw)
        values = dict(zip(self._counters, (now - self._before) / interval_s, strict=True))
        self._before = now
        values |= {name: level(raw) for name, (_, level) in self._levels.items()}
        values |= {name: np.sum([values[part] for part in parts], axis=0) for name, (_, parts) in self._sums.items()}
        return Reading(self._step * self._batch.dt, interval_s, values)

    def forget(self, rows: npt.ArrayLike) -> None:
        """Start the interval of some rows anew, for example because another storm has taken their place."""
        index = np.asarray(rows, np.intp)
        self._before[:, index] = self._cumulative(self._raw())[:, index]

    def _raw(self) -> Floats:
        """Return all rows that are looked at, as they stand; shape (rows of blocks, rows of the batch)."""
        live = self._batch.read(self._offsets)
        over = live[self._over] >= 0
        if not over.any():
            return live
        kept = np.array(self._final)
        final = self._batch.read(np.maximum(kept, 0))
        return np.where(over, np.where(kept[:, np.newaxis] >= 0, final, 0.0), live)

    def _cumulative(self, raw: Floats) -> Floats:
        return np.asarray(np.add.reduceat(raw[self._parts], self._firsts, axis=0))

    def _row(self, block: int, row: int, final: int = -1) -> int:
        """Note a row to be read and return its place; ``final``: where its block is kept once a storm is over."""
        width = self._batch.plan.tile
        self._offsets.append(block + row * width)
        self._final.append(-1 if final < 0 else final + row * width)
        return len(self._offsets) - 1

    def _level(self, name: str, unit: str, block: int, row: int) -> None:
        """Add a level that is a row of a block as it stands."""
        self._levels[name] = (unit, _AsItStands(self._row(block, row)))

    def _add_attaches(self) -> None:
        table, topology = self._batch.plan.table, self._batch.scenario.topology
        live, final = int(table[layout.P_KPI]), int(table[layout.P_FINAL])
        counters = dict(_ATTACH_COUNTERS)
        if topology.links is not None:
            counters |= _REFRESH_COUNTERS
        if topology.imsimgr is not None:
            counters[LOST_BY_IMSIMGR] = (layout.K_OVERLOAD,)
        for name, rows in counters.items():
            self._counters[name] = tuple(self._row(live, row, final) for row in rows)
        without = self._row(live, layout.K_WITHOUT, final)
        population = self._column_of_population()
        self._levels[REGISTERED] = ("subscribers", _Registered(population, without))

    def _column_of_population(self) -> Floats:
        """Return the subscribers of each row; nothing changes them."""
        at = int(self._batch.plan.table[layout.P_STORM]) + layout.S_POPULATION * self._batch.plan.tile
        return np.asarray(self._batch.read([at])[0])

    def _add_queues(self) -> None:
        plan = self._batch.plan
        for number, name in enumerate(plan.queues):
            live = plan.queue_offset(name)
            if live < 0:
                continue
            final = int(plan.table[layout.P_FINAL]) + (layout.K_COUNT + number * layout.Q_COUNT) * plan.tile
            places = [self._row(live, row, final) for row in _WAITING]
            level = _Waiting(*places)
            if name == "gate":
                self._levels[GATE_QUEUE] = ("requests", level)
                continue
            self._levels[pending(name)] = ("messages", level)
            self._counters[answers(name)] = (self._row(live, layout.Q_SUM_FRESH, final),)
            rows = (layout.Q_SUM_OVER, layout.Q_SUM_STALE)
            self._counters[failed(name)] = tuple(self._row(live, row, final) for row in rows)

    def _add_links(self) -> None:
        table, links = self._batch.plan.table, self._batch.scenario.topology.links
        manager = int(table[layout.P_IMSIMGR])
        if manager >= 0:
            self._level(IMSIMGR_CPU, "share", manager, layout.I_UTILISATION)
            self._level(IMSIMGR_STATE, "0 to 2", manager, layout.I_STATE)
        if links is None:
            return
        names = links.names()
        for number, name in enumerate(names):
            block = self._batch.plan.link_offset(number)
            self._counters[sent(name)] = (self._row(block, layout.L_SUM_TX),)
            self._counters[received(name)] = (self._row(block, layout.L_SUM_RX),)
            rows = (layout.L_ADMITTED, layout.L_SERVED, layout.L_PEER)
            self._levels[queued(name)] = ("messages", _Unacknowledged(*(self._row(block, row) for row in rows)))
            self._level(f"{name} congested", "alarm", block, layout.L_CONGESTED)
            state = self._row(block, layout.L_DOWN)
            self._levels[f"{name} down"] = ("alarm", _IsDown(state))
        for total, unit in ((sent(), RATE), (received(), RATE), (queued(), "messages")):
            self._sums[total] = (unit, tuple(total.replace("links", name, 1) for name in names))
        for total in (CONGESTED, DOWN):
            self._sums[total] = ("links", tuple(total.replace("links", name, 1) for name in names))

    def _add_core(self) -> None:
        batch = self._batch
        if not batch.core:
            return
        scenario = batch.scenario
        block = int(batch.plan.table[int(batch.plan.table[layout.P_CORE]) + core.X_BLOCK])
        for name, element, row in _CORE_COUNTERS:
            if has(scenario, element):
                self._counters[name] = (self._row(block, row),)
        for name, element, row, unit in _CORE_LEVELS:
            if has(scenario, element):
                self._level(name, unit, block, row)
        if scenario.topology.dra is not None:
            own = batch.plan.peer_offset(0)
            for m, message in enumerate(MESSAGE_NAMES):
                self._counters[offered(message)] = (self._row(own, core.B_SUM_OFFERED + m),)
                self._counters[passed(message)] = (self._row(own, core.B_SUM_PASSED + m),)


# Levels are objects, not functions within functions, so that an environment can be pickled.
@dataclass(frozen=True)
class _AsItStands:
    """A row of a block."""

    row: int

    def __call__(self, raw: Floats) -> Floats:
        return np.asarray(raw[self.row])


@dataclass(frozen=True)
class _Registered:
    """Subscribers less those without registration."""

    population: Floats
    without: int

    def __call__(self, raw: Floats) -> Floats:
        return np.asarray(self.population - raw[self.without])


@dataclass(frozen=True)
class _Waiting:
    """Entries of a queue that are neither served nor timed out."""

    admitted: int
    served: int
    deadline: int

    def __call__(self, raw: Floats) -> Floats:
        return np.asarray(raw[self.admitted] - np.maximum(raw[self.served], raw[self.deadline]))


@dataclass(frozen=True)
class _Unacknowledged:
    """Messages of a link that its peer has not taken."""

    admitted: int
    served: int
    peer: int

    def __call__(self, raw: Floats) -> Floats:
        return np.asarray(raw[self.admitted] - raw[self.served] - raw[self.peer])


@dataclass(frozen=True)
class _IsDown:
    """1 where a link is known to be out of service."""

    state: int

    def __call__(self, raw: Floats) -> Floats:
        return np.asarray(raw[self.state] == 1.0, np.float64)
