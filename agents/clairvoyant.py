"""The yardstick that knows what no operator does: what the network can carry now, and what else asks for it.

Not a bound in the strict sense, but nothing that only sees counters should do better for long.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from signalstorm.agents.plant import BroadcastThreshold, NotificationFactor, Plant, messages_per_attach, plant_of
from signalstorm.agents.steering import Hand, start_of
from signalstorm.envs.model.batch import Batch
from signalstorm.envs.model.capacity import loads, server_rates, shared_link_rates
from signalstorm.envs.model.kernels import layout
from signalstorm.envs.model.knob_table import KnobValue
from signalstorm.envs.model.plan import queued_servers
from signalstorm.envs.model.procedures import REFRESH_GPRS
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.observation import DDN_SENT, REQUESTS, Reading, passed

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Clairvoyant:
    """Let through what the bottleneck can still take: on links 1.03 (capacity - refresh load) / messages per attach.

    Links may be loaded a little above what they carry, for what does not fit waits at the gate. A server that keeps a
    full queue answers everything too late, so there the rate stays below, and what waits is worked off first.
    """

    margin: float = 1.03
    """Rate over what links can still take; a trial with a model of the SGSN storm found 1.03 good."""
    server_margin: float = 0.97
    """The same of servers."""
    name: str = "clairvoyant"

    def start(self, scenario: Scenario) -> Mapping[str, KnobValue]:
        """Return the loop's start."""
        return start_of(scenario)

    def hand(self, scenario: Scenario, batch: Batch, storms: Sequence[Scenario]) -> Hand | None:
        """Return a hand that looks into the batch; None where no rate goes through the knob."""
        plant = plant_of(scenario)
        return None if isinstance(plant, BroadcastThreshold) else _Knowing(self, plant, batch, storms)


class _Knowing:
    """The clairvoyant hand: capacities at the middle of the coming interval, flagged subscribers as they are."""

    def __init__(self, own: Clairvoyant, plant: Plant, batch: Batch, storms: Sequence[Scenario]) -> None:
        self._own, self._plant, self._batch = own, plant, batch
        end_s = float(batch.end) * batch.dt
        self._interval_s = batch.scenario.control_interval_s
        self._time = np.arange(0.0, end_s + self._interval_s, self._interval_s) + 0.5 * self._interval_s
        scenario = batch.scenario
        links = scenario.topology.links
        limited = () if links else queued_servers(scenario)
        self._servers = ("mme",) if isinstance(plant, NotificationFactor) else _asked(scenario, limited)
        if links is not None:
            carried = [shared_link_rates(s, s.topology.links, self._time) for s in storms if s.topology.links]
            self._free = np.array([carried])
        else:
            self._free = np.array([[_server_rate(s, name, self._time) for s in storms] for name in self._servers])
        self._activity = np.array([_activity(storm, self._time) for storm in storms])

    def act(self, seen: Reading, now: Mapping[str, Floats]) -> Mapping[str, Floats]:
        """See ``steering.Hand``; of what is seen only the interval counts."""
        at = min(int(self._batch.step * self._batch.dt / self._interval_s), len(self._time) - 1)
        rate = np.maximum(self._rate(seen, at), 1.0)
        view = self._plant.view(seen.values, now[self._plant.knob], seen.interval_s)
        return {self._plant.knob: self._plant.value(rate, view)}

    def _rate(self, seen: Reading, at: int) -> Floats:
        """Return what may be let through in the coming interval, shape (rows,) [1/s]."""
        scenario = self._batch.scenario
        if scenario.topology.links is not None:
            refreshing = len(REFRESH_GPRS) * self._activity[:, at] * self._flagged()
            free = (self._free[0, :, at] - refreshing) / messages_per_attach(scenario, "links")
            return np.asarray(self._own.margin * free)
        capacity = self._own.server_margin * self._free[:, :, at]
        for number, name in enumerate(self._servers):
            other = self._waiting(name) / self._interval_s
            if name == "database":
                other = other + seen.values.get(passed("ccr_t"), 0.0)
            if isinstance(self._plant, NotificationFactor):
                other = other + seen.values[REQUESTS]
            elif name == "mme":
                other = other + seen.values.get(DDN_SENT, 0.0)
            capacity[number] = (capacity[number] - other) / messages_per_attach(scenario, name)
        return np.asarray(capacity.min(axis=0))

    def _waiting(self, server: str) -> Floats:
        """Return what waits for a server, whether anybody still waits for the answer or not, shape (rows,)."""
        first = self._batch.plan.queue_offset(server)
        width = self._batch.plan.tile
        in_all, served = self._batch.read([first + row * width for row in (layout.Q_ADMITTED_SUM, layout.Q_SERVED_SUM)])
        return np.asarray(in_all - served)

    def _flagged(self) -> Floats:
        """Return the subscribers still to be confirmed, shape (rows,)."""
        plan = self._batch.plan
        first = int(plan.table[layout.P_FLAGGED])
        classes = int(plan.table[layout.P_CLASSES])
        return np.asarray(self._batch.read([first + c * plan.tile for c in range(classes)]).sum(axis=0))


def _asked(scenario: Scenario, servers: Sequence[str]) -> tuple[str, ...]:
    """Return the servers that an attach asks."""
    return tuple(name for name in servers if messages_per_attach(scenario, name))


def _activity(storm: Scenario, time: Floats) -> Floats:
    """Return the rate at which a flagged subscriber becomes active, shape (times,) [1/s]."""
    if storm.activity is None:
        return np.zeros_like(time)
    at, rate = np.array(storm.activity.points).T
    return np.asarray(storm.activity.scale * np.interp(time, at, rate))


def _server_rate(storm: Scenario, name: str, time: Floats) -> Floats:
    """Return what a server can take beside its foreign load, and the database beside what other gateways write."""
    rates = server_rates(storm, name, time)
    free = np.full_like(time, np.inf) if rates is None else rates - loads(storm, name, time)
    dra = storm.topology.dra
    if name == "database" and dra is not None:
        others = sum(p.ccr_i_per_s + dra.writes_per_update * p.ccr_u_per_s + p.ccr_t_per_s for p in dra.peers[1:])
        population = sum(group.size for group in storm.subscribers)
        free = free - others - dra.writes_per_update * dra.update_per_s * population
    return free
