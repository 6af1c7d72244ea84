"""Builds the simulated network of a scenario and a setting of its knobs."""

import math
from collections.abc import Callable, Sequence

import numpy as np
import simpy

from tests.reference.activity import Activity, Change
from tests.reference.attach import GPRS_ATTACH, GPRS_REFRESH, Procedure, Step, eps_attach, over
from tests.reference.barring import Barring
from tests.reference.clock import after
from tests.reference.core import agent, notifications, questions
from tests.reference.fields import Fields, section, value
from tests.reference.gate import Entrance, OpenGate, PacingGate
from tests.reference.gateway import Gateway
from tests.reference.handset import Handset, State
from tests.reference.imsimgr import Broadcast, ImsiManager
from tests.reference.knobs import Knobs
from tests.reference.links import Signalling
from tests.reference.nodes import Nodes
from tests.reference.observer import Observer
from tests.reference.population import populate, registered_number
from tests.reference.rate import Profile, Rate
from tests.reference.server import Server
from tests.reference.signalling import signalling
from tests.reference.timeline import Timeline

SERVERS = ("mme", "hss", "gateway", "pcrf", "pcrf_mate", "ocs", "database")
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
        self.agent = agent(self.env, self._rng, self.observer, self._topology, self._knobs, self.servers)
        steps, broken = self._steps()
        attach = Procedure(steps, self._attached, self._attach_failed, broken)
        self.imsimgr = self._imsimgr()
        self.unknown = Rate(0.0, 0.0)
        self.gate = self._gate(attach)
        self.barring = Barring(self.env, self._rng, self.observer, self._entrance())
        self.population = populate(
            self.env, self._rng, self.observer, self.barring.arrive, subscribers, self._activity()
        )
        refresh = Procedure(over(self.signalling, GPRS_REFRESH), self._refreshed, self._refresh_failed)
        self._switch_on()
        self._churn()
        self._tell_the_agent()
        mme = self.servers.get("mme")
        self.notifications = notifications(self.env, self._rng, self.observer, self._topology, mme)
        Timeline(self, self._put_off(refresh)).schedule(self._events())

    def nodes(self) -> Nodes:
        """The nodes into which servers are split."""
        fields = section(self._topology, "resilience")
        domains, recovery = value(fields, "failure_domains", 1), value(fields, "recovery_share", 0.0)
        return Nodes(self._rng, self.servers, self.population, self.barring, domains, recovery)

    @property
    def release_stages(self) -> int:
        return value(section(self._topology, "resilience"), "release_stages", 1)

    def _entrance(self) -> Entrance:
        if self.imsimgr is None:
            return self.gate
        self.imsimgr.behind = self.gate
        fields = self._topology["imsimgr"]
        rate = self._varying(value(fields, "unknown_per_s", 0.0), "unknown_burst", "value_per_s", "imsimgr")
        self.unknown = rate
        if rate.ceiling > 0.0:
            self.env.process(self.imsimgr.unknown(self._rng, rate))
        return self.imsimgr

    def _tell_the_agent(self) -> None:
        """Sessions that end or are updated make CCR-T and CCR-U of the own gateway."""
        found = self.agent
        if found is None:
            return
        self.population.ended = lambda: found.message("ccr_t", found.own)
        per_s = value(self._topology["dra"], "update_per_s", 0.0)
        if per_s > 0.0:
            self.env.process(self.population.updates(per_s, lambda: found.message("ccr_u", found.own)))

    def _switch_on(self) -> None:
        demand = section(self._scenario, "demand")
        if demand:
            start_s, pattern = value(demand, "start_s", 0.0), value(demand, "pattern", "paced")
            self.env.process(self.population.switch_on(demand["rate_per_s"], start_s, pattern))

    def _churn(self) -> None:
        described = section(self._scenario, "churn_profile")
        profile = Profile(described["points"]) if described else None
        for fields in self._scenario["subscribers"]:
            per_s = value(fields, "churn_per_s", 0.0) * value(self._scenario, "churn_scale", 1.0)
            if per_s > 0.0:
                self.env.process(self.population.churn(fields["name"], per_s, profile))

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
        events = (each for each in self._events() if each["kind"] == kind and value(each, "target", name) == name)
        return Rate(base, max([base, *(event[field] for event in events)]))

    def _timer_s(self, name: str) -> float:
        """The patience of whoever asks: Tx for the PCRF, T3-RESPONSE and repeats for the gateway."""
        if name in ("pcrf", "pcrf_mate"):
            return self._knobs.tx_s
        if name == "ocs":
            return value(self._topology[name], "tx_s", TIMER_S)
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
        names = ("base_share", "refusal_cost", "drop_cost", "smooth_s")
        costs = {name: fields[name] for name in names if name in fields}
        off = self._knobs.either("broadcast_off_percent", fields.get("broadcast_off_percent", Broadcast.off_percent))
        broadcast = Broadcast(
            value(fields, "session_managers", Broadcast.session_managers),
            value(fields, "broadcast_cost", Broadcast.cost),
            None if off in (None, "off") else float(off),
            value(fields, "uptime_s", Broadcast.uptime_s),
        )
        return ImsiManager(self.env, self.observer, fields["capacity_per_s"], broadcast=broadcast, **costs)

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
        if not fields:
            return None
        events = (event for event in self._events() if event["kind"] == "activity")
        changes = [Change(event["time_s"], event["value"], event.get("until_s")) for event in events]
        return Activity(fields["points"], value(fields, "scale", 1.0), changes)

    def _put_off(self, refresh: Procedure) -> Callable[[Handset], None]:
        """What takes those who are to refresh, each after a time of its own if the SGSN delays refreshes."""
        longest_s = self._knobs.links("refresh_delay_max_s", 0.0)
        if longest_s == 0.0:
            return refresh.begin
        return lambda handset: after(self.env, self._rng.uniform(0.0, longest_s), lambda: refresh.begin(handset))

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

    def _steps(self) -> tuple[list[Step], int]:
        """The attach, and how far a broken handset gets with it."""
        if value(self._scenario, "access", "eps") == "gprs":
            return over(self.signalling, GPRS_ATTACH), 0
        gateway = None
        sessions = self.servers.get("gateway")
        if sessions is not None:
            knobs = self._knobs
            gateway = Gateway(self.env, self.observer, sessions, knobs.t3_response_s, knobs.n3_requests)
        asked = questions(self.env, self.observer, self._topology, self._knobs, self.servers, self.agent)
        return eps_attach(self.servers, gateway, asked)
