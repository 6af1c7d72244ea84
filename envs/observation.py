"""What an operator sees of storms that are going on: counters as rates, utilisation, alarms, queue lengths.

One reading is one reporting interval. Controllers, commands and environments all look at storms through this file, so
none of them can see more than the equipment shows: no capacities, no waiting handsets, nobody still to be confirmed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from signalstorm.envs.model import glance
from signalstorm.envs.model.batch import Batch
from signalstorm.envs.model.core_metrics import has
from signalstorm.envs.model.kernels import core_layout as core
from signalstorm.envs.model.kernels import layout
from signalstorm.envs.model.kernels.memory import bank_size
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
_OF_LINKS = (
    layout.L_SUM_TX,
    layout.L_SUM_RX,
    layout.L_ADMITTED,
    layout.L_SERVED,
    layout.L_PEER,
    layout.L_CONGESTED,
    layout.L_DOWN,
)

RATE = "1/s"
"""The unit of a counter."""


_ORDER = {glance.RATE: 0, glance.SUM: 2}
"""Counters come first, sums last, levels between."""


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
        self._places: list[tuple[int, int]] = []
        self._found: dict[str, tuple[str, int, int, int]] = {}
        self._parts: list[tuple[int, Sequence[str]]] = []
        self._over = int(batch.plan.table[layout.P_KPI]) + layout.K_OVER * batch.plan.tile
        self._add_attaches()
        self._add_queues()
        self._add_links()
        self._add_core()
        self._step = batch.step
        order = sorted(self._found, key=lambda name: _ORDER.get(self._found[name][1], 1))
        self.quantities = tuple(Quantity(name, self._found[name][0]) for name in order)
        """What a reading holds, in its order."""
        self.numbers = {name: number for number, name in enumerate(order)}
        """The place of each quantity in this order."""
        self._add_sums()
        self._program = np.array([self._found[name][1:] for name in order], np.int64)
        self._where = np.array(self._places, np.int64)
        self._before = np.zeros((len(order), batch.size))
        self.forget(range(batch.size))

    def read(self) -> Reading:
        """Return what the interval since the reading before showed."""
        interval_s = max(self._batch.step - self._step, 1) * self._batch.dt
        values = self.table()
        return Reading(self._step * self._batch.dt, interval_s, dict(zip(self.numbers, values, strict=True)))

    def table(self) -> Floats:
        """Return the same as numbers alone, in the order of `quantities`; shape (quantities, rows)."""
        batch = self._batch
        interval_s = max(batch.step - self._step, 1) * batch.dt
        self._step = batch.step
        out = np.empty_like(self._before)
        tiles, width = batch.tiles
        glance.look(tiles, width, self._over, self._program, self._where, self._before, interval_s, out)
        return out

    def forget(self, rows: npt.ArrayLike) -> None:
        """Start the interval of some rows anew, for example because another storm has taken their place."""
        index = np.asarray(rows, np.int64)
        tiles, width = self._batch.tiles
        glance.begin(tiles, width, self._over, self._program, self._where, self._before, index)

    def _row(self, block: int, row: int, final: int = -1) -> None:
        """Note a row to be read; ``final``: where its block is kept once a storm is over."""
        width = self._batch.plan.tile
        self._places.append((block + row * width, -1 if final < 0 else final + row * width))

    def _add(self, name: str, unit: str, kind: int, block: int, rows: Sequence[int], final: int = -1) -> None:
        """Add a quantity that comes from rows of one block."""
        self._found[name] = (unit, kind, len(self._places), len(rows))
        for row in rows:
            self._row(block, row, final)

    def _counter(self, name: str, block: int, rows: Sequence[int], final: int = -1) -> None:
        self._add(name, RATE, glance.RATE, block, rows, final)

    def _level(self, name: str, unit: str, block: int, row: int) -> None:
        """Add a level that is a row of a block as it stands."""
        self._add(name, unit, glance.LEVEL, block, (row,))

    def _sum(self, name: str, unit: str, parts: Sequence[str]) -> None:
        """Add a sum of other quantities, whose numbers are put in once they are known."""
        self._found[name] = (unit, glance.SUM, len(self._places), len(parts))
        self._parts.append((len(self._places), parts))
        self._places += [(-1, -1)] * len(parts)

    def _add_sums(self) -> None:
        for first, parts in self._parts:
            self._places[first : first + len(parts)] = [(self.numbers[name], -1) for name in parts]

    def _add_attaches(self) -> None:
        table, topology = self._batch.plan.table, self._batch.scenario.topology
        live, final = int(table[layout.P_KPI]), int(table[layout.P_FINAL])
        counters = dict(_ATTACH_COUNTERS)
        if topology.links is not None:
            counters |= _REFRESH_COUNTERS
        if topology.imsimgr is not None:
            counters[LOST_BY_IMSIMGR] = (layout.K_OVERLOAD,)
        for name, rows in counters.items():
            self._counter(name, live, rows, final)
        storm = int(table[layout.P_STORM])
        self._found[REGISTERED] = ("subscribers", glance.REST, len(self._places), 2)
        self._row(storm, layout.S_POPULATION, storm)  # nothing changes it
        self._row(live, layout.K_WITHOUT, final)

    def _add_queues(self) -> None:
        plan = self._batch.plan
        for number, name in enumerate(plan.queues):
            live = plan.queue_offset(name)
            if live < 0:
                continue
            final = int(plan.table[layout.P_FINAL]) + (layout.K_COUNT + number * layout.Q_COUNT) * plan.tile
            if name == "gate":
                self._add(GATE_QUEUE, "requests", glance.WAITING, live, _WAITING, final)
                continue
            self._add(pending(name), "messages", glance.WAITING, live, _WAITING, final)
            self._counter(answers(name), live, (layout.Q_SUM_FRESH,), final)
            self._counter(failed(name), live, (layout.Q_SUM_OVER, layout.Q_SUM_STALE), final)

    def _add_links(self) -> None:
        plan, links = self._batch.plan, self._batch.scenario.topology.links
        manager = int(plan.table[layout.P_IMSIMGR])
        if manager >= 0:
            self._level(IMSIMGR_CPU, "share", manager, layout.I_UTILISATION)
            self._level(IMSIMGR_STATE, "0 to 2", manager, layout.I_STATE)
        if links is None:
            return
        names = links.names()
        size = bank_size(plan.tile)
        for number, name in enumerate(names):
            block = plan.link_offset(number, 0)
            tx, rx, admitted, served, peer, congested, down = (row * size for row in _OF_LINKS)
            self._counter(sent(name), block, (tx,))
            self._counter(received(name), block, (rx,))
            self._add(queued(name), "messages", glance.OUTSTANDING, block, (admitted, served, peer))
            self._level(f"{name} congested", "alarm", block, congested)
            self._add(f"{name} down", "alarm", glance.IS_DOWN, block, (down,))
        for total, unit in ((sent(), RATE), (received(), RATE), (queued(), "messages")):
            self._sum(total, unit, [total.replace("links", name, 1) for name in names])
        for total in (CONGESTED, DOWN):
            self._sum(total, "links", [total.replace("links", name, 1) for name in names])

    def _add_core(self) -> None:
        batch = self._batch
        if not batch.core:
            return
        scenario = batch.scenario
        block = int(batch.plan.table[int(batch.plan.table[layout.P_CORE]) + core.X_BLOCK])
        for name, element, row in _CORE_COUNTERS:
            if has(scenario, element):
                self._counter(name, block, (row,))
        for name, element, row, unit in _CORE_LEVELS:
            if has(scenario, element):
                self._level(name, unit, block, row)
        if scenario.topology.dra is not None:
            own = batch.plan.peer_offset(0)
            for m, message in enumerate(MESSAGE_NAMES):
                self._counter(offered(message), own, (core.B_SUM_OFFERED + m,))
                self._counter(passed(message), own, (core.B_SUM_PASSED + m,))
