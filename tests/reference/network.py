"""Builds the simulated network of a scenario and a setting of its knobs."""

import math
from collections.abc import Sequence

import numpy as np
import simpy

from tests.reference.attach import Procedure, Step, eps_attach
from tests.reference.fields import Fields, section, value
from tests.reference.gate import Entrance, OpenGate, PacingGate
from tests.reference.gateway import Gateway
from tests.reference.knobs import Knobs
from tests.reference.observer import Observer
from tests.reference.population import populate, registered_number
from tests.reference.rate import Rate
from tests.reference.server import Server
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
        self.gate = self._gate()
        self.population = populate(self.env, self._rng, self.observer, self.gate.arrive, subscribers)
        self._switch_on()
        self._churn()
        Timeline(self.env, self.servers, self.population).schedule(self._events())

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

    def _gate(self) -> Entrance:
        procedure = Procedure(self.observer, self._steps())
        pace = self._knobs.pace
        if pace is None:
            return OpenGate(self.observer, procedure.begin)
        return PacingGate(self.env, self._rng, self.observer, procedure.begin, pace)

    def _steps(self) -> list[Step]:
        gateway = None
        sessions = self.servers.get("gateway")
        if sessions is not None:
            knobs = self._knobs
            gateway = Gateway(self.env, self.observer, sessions, knobs.t3_response_s, knobs.n3_requests)
        hss, pcrf, database = (self.servers.get(name) for name in ("hss", "pcrf", "database"))
        return eps_attach(hss, gateway, pcrf, database)
