"""Builds the simulated network of a scenario and a setting of its knobs."""

import math
from collections.abc import Sequence

import numpy as np
import simpy

from tests.reference.activity import Activity
from tests.reference.attach import GPRS_ATTACH, GPRS_REFRESH, Procedure, Step, eps_attach, over
from tests.reference.fields import Fields, section, value
from tests.reference.gate import Entrance, OpenGate, PacingGate
from tests.reference.gateway import Gateway
from tests.reference.handset import Handset, State
from tests.reference.imsimgr import ImsiManager
from tests.reference.knobs import Knobs
from tests.reference.links import Signalling
from tests.reference.observer import Observer
from tests.reference.population import populate, registered_number
from tests.reference.rate import Rate
from tests.reference.server import Server
from tests.reference.signalling import signalling
from tests.reference.timeline import Timeline

SERVERS = ("hss", "gateway", "pcrf", "database")
TIMER_S = 10.0  # how long the MME waits for a database where the scenario does not say


class Network:
    """One storm, ready to run."""

    def __init__(self, scenario: Fields, settings: Fields, seed: int) -> None:
        self.env = simpy.Environment()
        self._rng = np.random.default_rng(seed)
        self._scenario = scenario
        self._topology = section(scenario, "topology")
        self._knobs = Knobs(scenario, settings)
        subscribers = scenario["subscribers"]
        start = sum(fields["size"] - registered_number(fields) for fields in subscribers)
        self.observer = Observer(self.env, start)
        self.servers = {name: self._server(name) for name in SERVERS if self._topology.get(name) is not None}
        self.signalling = self._signalling()
        attach = Procedure(self._steps(), self._attached, self._attach_failed)
        self.imsimgr = self._imsimgr()
        self.gate = self._gate(attach)
        entrance: Entrance = self.gate
        if self.imsimgr is not None:
            self.imsimgr.behind = entrance
            entrance = self.imsimgr
        self.population = populate(self.env, self._rng, self.observer, entrance.arrive, subscribers, self._activity())
        refresh = Procedure(over(self.signalling, GPRS_REFRESH), self._refreshed, self._refresh_failed)
        self._switch_on()
        self._churn()
        Timeline(self.env, self.servers, self.population, refresh.begin, self.signalling).schedule(self._events())

    def _switch_on(self) -> None:
        demand = section(self._scenario, "demand")
        if demand:
            start_s, pattern = value(demand, "start_s", 0.0), value(demand, "pattern", "paced")
            self.env.process(self.population.switch_on(demand["rate_per_s"], start_s, pattern))

    def _churn(self) -> None:
        for fields in self._scenario["subscribers"]:
            per_s = value(fields, "churn_per_s", 0.0)
            if per_s > 0.0:
                self.env.process(self.population.churn(fields["name"], per_s))

    def _events(self) -> Sequence[Fields]:
        return value(self._scenario, "timeline", ())

    def _server(self, name: str) -> Server:
        fields = self._topology[name]
        base = self._knobs.pcrf_rate_per_s if name == "pcrf" else fields.get("rate_per_s")
        return Server(
            self.env,
            self._rng,
            rate=None if base is None else self._varying(base, "capacity", "value", name),
            buffer=value(fields, "buffer", math.inf),
            overflow=value(fields, "overflow", "drop"),
            timer_s=self._timer_s(name),
            latency_s=value(fields, "latency_s", 0.0),
            other_load=self._varying(value(fields, "other_load_per_s", 0.0), "other_load", "value_per_s", name),
        )

    def _varying(self, base: float, kind: str, field: str, name: str) -> Rate:
        """A rate that starts at its base, with a ceiling over all that the timeline will make of it."""
        events = (event for event in self._events() if event["kind"] == kind and event["target"] == name)
        return Rate(base, max([base, *(event[field] for event in events)]))

    def _timer_s(self, name: str) -> float:
        """The patience of whoever asks: Tx for the PCRF, T3-RESPONSE and repeats for the gateway."""
        if name == "pcrf":
            return self._knobs.tx_s
        if name == "gateway":
            return self._knobs.t3_response_s * (self._knobs.n3_requests + 1)
        return value(self._topology[name], "timer_s", TIMER_S)

    def _gate(self, attach: Procedure) -> Entrance:
        pace = self._knobs.pace
        if pace is None:
            return OpenGate(self.observer, attach.begin)
        turned_away = self.imsimgr.turned_away if self.imsimgr is not None else lambda refused: None
        return PacingGate(self.env, self._rng, self.observer, attach.begin, pace, turned_away)

    def _imsimgr(self) -> ImsiManager | None:
        fields = section(self._topology, "imsimgr")
        if not fields:
            return None
        costs = {name: fields[name] for name in ("base_share", "refusal_cost", "drop_cost") if name in fields}
        return ImsiManager(self.env, self.observer, fields["capacity_per_s"], **costs)

    def _signalling(self) -> Signalling | None:
        fields = section(self._topology, "links")
        if not fields:
            return None
        return signalling(self.env, self._rng, fields, self._knobs, self.observer.alarmed, self._link_rate)

    def _link_rate(self, base: float, name: str) -> Rate:
        """A link's rate, with a ceiling over all that the timeline will make of it."""
        targets = ("*", name, name.partition("/")[0])
        events = (event for event in self._events() if event["kind"] == "capacity" and event["target"] in targets)
        return Rate(base, max([base, *(event["value"] for event in events)]))

    def _activity(self) -> Activity | None:
        fields = section(self._scenario, "activity")
        return Activity(fields["points"], value(fields, "scale", 1.0)) if fields else None

    def _attached(self, handset: Handset) -> None:
        self.observer.outcome(handset.accepted())

    def _attach_failed(self, handset: Handset) -> None:
        self.observer.outcome(False)
        handset.refused()

    def _refreshed(self, handset: Handset) -> None:
        handset.flagged = False
        handset.state = State.REGISTERED

    def _refresh_failed(self, handset: Handset) -> None:
        """The published SGSN detaches whoever it cannot refresh."""
        self.observer.network_detaches += 1
        handset.detached()

    def _steps(self) -> list[Step]:
        if value(self._scenario, "access", "eps") == "gprs":
            return over(self.signalling, GPRS_ATTACH)
        gateway = None
        sessions = self.servers.get("gateway")
        if sessions is not None:
            knobs = self._knobs
            gateway = Gateway(self.env, self.observer, sessions, knobs.t3_response_s, knobs.n3_requests)
        hss, pcrf, database = (self.servers.get(name) for name in ("hss", "pcrf", "database"))
        return eps_attach(hss, gateway, pcrf, database)
