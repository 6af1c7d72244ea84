"""The generator ``random-core``: legal LTE networks of all kinds, for tests of robustness and for training.

``random-core-17`` is the 17th of them. Everything in it is drawn from the number alone: a crowd, a chain of servers
with a margin over the crowd's steady need, some of the elements around it, a setting, and one to three triggers.
"""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from signalstorm.envs.model import scenario_parts
from signalstorm.envs.model.core_knobs import FIELDS
from signalstorm.envs.model.knob_checks import on_grid
from signalstorm.envs.model.knob_table import KNOBS
from signalstorm.envs.model.scenario import Scenario

if TYPE_CHECKING:
    from numpy.random import Generator

NAME = "random-core"
"""Prefix of the scenarios' names."""
HORIZON_S = 600.0
"""Length of a run [s]."""
TRIGGER_S = 120.0
"""When the storm starts [s]."""


class Range(NamedTuple):
    """Bounds between which a quantity is drawn."""

    low: float
    high: float
    unit: str
    log: bool = False
    """Whether on a logarithmic scale."""

    def draw(self, rng: "Generator") -> float:
        """Draw a value."""
        if self.log:
            return float(math.exp(rng.uniform(math.log(self.low), math.log(self.high))))
        return float(rng.uniform(self.low, self.high))


RANGES: Mapping[str, Range] = {
    "subscribers of a class": Range(2_000, 200_000, "subscribers", log=True),
    "steady need of all classes": Range(1e-4, 5e-3, "attaches/s per subscriber", log=True),
    "share registered at the start": Range(0.5, 1.0, "share"),
    "T3410": Range(5.0, 20.0, "s"),
    "T3411": Range(3.0, 15.0, "s"),
    "T3402": Range(30.0, 900.0, "s", log=True),
    "retry of laboratory handsets after a refusal": Range(1.0, 8.0, "s"),
    "retry of laboratory handsets after silence": Range(5.0, 20.0, "s"),
    "margin of a server over the steady need": Range(1.1, 4.0, "times", log=True),
    "buffer of a server": Range(0.2, 20.0, "s of its rate", log=True),
    "requester's timer": Range(2.0, 10.0, "s"),
    "latency of a server": Range(0.01, 1.0, "s", log=True),
    "rate of the gate over the steady need": Range(0.8, 4.0, "times", log=True),
    "limits of the Diameter agent over the steady need": Range(1.0, 8.0, "times", log=True),
    "transaction slots": Range(0.5, 20.0, "s of the steady need", log=True),
    "notifications over the steady need": Range(0.2, 2.0, "times", log=True),
    "share of subscribers an event concerns": Range(0.05, 0.8, "share"),
    "spread of an event": Range(1.0, 120.0, "s", log=True),
    "capacity left by an event": Range(0.2, 0.9, "times"),
}
"""What is drawn, and between which bounds; each element and kind of event is present or not by a coin."""


def random_core(number: int) -> Scenario:
    """Return the scenario of a number.

    Args:
        number: At least 0.
    """
    return Scenario.model_validate(random_data(number))


def random_data(number: int) -> dict[str, Any]:
    """Return the same as plain data."""
    from numpy.random import default_rng  # only here: reading a scenario file takes no NumPy

    return _Draw(default_rng([number, 0x5EED])).scenario(number)


def settable(topology: dict[str, Any]) -> dict[str, Any]:
    """Return a drawn topology whose fields have values that the knobs reading them can have: it can be tuned."""
    gateway = topology.get("gateway")
    if gateway is not None:
        gateway["t3_response_s"] = on_grid(KNOBS["gtpc_timeout_ms"], 1000.0 * gateway["t3_response_s"]) / 1000.0
        gateway["tx_s"] = float(on_grid(KNOBS["diameter_tx_s"], gateway["tx_s"]))
    for name, field in FIELDS.items():
        *parents, last = field.split(".")
        here: Any = topology
        for word in parents:
            here = here.get(word, {}) if isinstance(here, dict) else {}
        if isinstance(here, dict) and scenario_parts.is_number(here.get(last)) and not KNOBS[name].free:
            here[last] = on_grid(KNOBS[name], here[last])
    return topology


class _Draw:
    """Draws the parts of one scenario, each from the same stream."""

    def __init__(self, rng: "Generator") -> None:
        self.rng = rng
        self.classes = self._classes()
        population = sum(group["size"] for group in self.classes)
        per_subscriber = self.draw("steady need of all classes")
        for group in self.classes:
            group["churn_per_s"] = 0.0 if group.get("broken") else per_subscriber
        self.need_per_s = max(per_subscriber * float(population), 5.0)

    def draw(self, name: str) -> float:
        return RANGES[name].draw(self.rng)

    def coin(self, share: float = 0.5) -> bool:
        return bool(self.rng.random() < share)

    def pick(self, *words: str) -> str:
        return str(self.rng.choice(words))

    def span(self, name: str) -> list[float]:
        first = self.draw(name)
        return [first, max(first, self.draw(name)) if self.coin() else first]

    def _classes(self) -> list[dict[str, Any]]:
        found = []
        for number in range(self.rng.integers(1, 4)):
            eps = {
                "kind": "eps",
                "t3410_s": self.span("T3410"),
                "t3411_s": self.span("T3411"),
                "t3402_s": self.span("T3402"),
                "attempt_limit": int(self.rng.integers(2, 7)),
            }
            laboratory = {
                "kind": "laboratory",
                "retry_refused_s": self.span("retry of laboratory handsets after a refusal"),
                "retry_silent_s": self.span("retry of laboratory handsets after silence"),
            }
            group = {
                "name": f"class-{number}",
                "size": round(self.draw("subscribers of a class")),
                "ladder": eps if self.coin(0.8) else laboratory,
                "registered_share": self.draw("share registered at the start"),
                "honours_t3346_share": float(self.rng.choice([0.0, 0.5, 1.0])),
                "priority": self.coin(0.15),
            }
            if number > 0 and self.coin(0.2):
                group |= {"broken": True, "registered_share": 0.0, "size": round(0.02 * float(str(group["size"]))) + 1}
            found.append(group)
        return found

    def server(self, messages: float = 1.0) -> dict[str, Any]:
        rate = messages * self.need_per_s * self.draw("margin of a server over the steady need")
        found: dict[str, Any] = {"rate_per_s": rate, "overflow": self.pick("drop", "refuse")}
        if self.coin(0.8):
            found["buffer"] = max(rate * self.draw("buffer of a server"), 1.0)
        return found

    def limit(self) -> float:
        return max(float(self.need_per_s) * self.draw("limits of the Diameter agent over the steady need"), 1.0)

    def topology(self) -> dict[str, Any]:
        found: dict[str, Any] = {"gate": {}}
        timer = {"timer_s": self.draw("requester's timer")}
        if self.coin():
            found["mme"] = {**self.server(), **timer}
        if self.coin():
            found["hss"] = {**self.server(2.0), **timer}
        if self.coin(0.8):
            self._policy(found)
        if self.coin(0.4) or (found.get("dra") or {}).get("dynamic"):
            found["database"] = {**self.server(2.0), "timer_s": self.draw("requester's timer")}
        if self.coin(0.3):
            capacity = self.need_per_s * self.draw("margin of a server over the steady need") * 2.0
            unknown = 0.02 * self.need_per_s if self.coin() else 0.0
            found["imsimgr"] = {"capacity_per_s": capacity, "unknown_per_s": unknown, "session_managers": 20}
        if self.coin(0.3):
            rate = self.need_per_s * self.draw("notifications over the steady need")
            by_mme = "mme" in found and self.coin()
            found["ddn"] = {"rate_per_s": rate, "limit_per_s": rate * 1.5, "stabilisation_s": 60.0, "by_mme": by_mme}
        if self.coin(0.4):
            found["resilience"] = {
                "failure_domains": int(self.rng.integers(2, 9)),
                "recovery_share": float(self.rng.random()),
                "release_stages": int(self.rng.integers(1, 6)),
            }
        return found

    def _policy(self, found: dict[str, Any]) -> None:
        """Add gateway and policy server, and what stands around them."""
        found["gateway"] = {
            "t3_response_s": self.draw("requester's timer"),
            "n3_requests": int(self.rng.integers(0, 5)),
            "tx_s": self.draw("requester's timer"),
            "gx_failure": self.pick("terminate", "continue", "retry"),
        }
        found["pcrf"] = {**self.server(), "latency_s": self.draw("latency of a server")}
        if self.coin(0.3):
            found["pcrf_mate"] = self.server()
        if self.coin(0.4):
            latency = self.draw("latency of a server")
            found["ocs"] = {**self.server(), "latency_s": latency, "tx_s": self.draw("requester's timer")}
        if self.coin(0.6):
            found["dra"] = self._agent()

    def _agent(self) -> dict[str, Any]:
        other = {"name": "other", "ccr_i_per_s": 0.1 * self.need_per_s, "dynamic": self.coin()}
        agent: dict[str, Any] = {
            "peers": [{"name": "gateway"}, *([other] if self.coin() else [])],
            "update_per_s": 1e-4 * float(self.rng.random()),
            "limit_action": self.pick("drop", "3002", "3004", "5012"),
        }
        for name in (
            "peer_limit_per_s",
            "ccr_i_limit_per_s",
            "ccr_t_limit_per_s",
            "pcrf_limit_per_s",
            "ocs_limit_per_s",
        ):
            if self.coin(0.4):
                agent[name] = self.limit()
        if self.coin(0.4):
            agent["pool"] = max(self.need_per_s * self.draw("transaction slots"), 1.0)
        if self.coin(0.3):
            agent["ocs_pending"] = max(self.need_per_s * self.draw("transaction slots"), 1.0)
        if self.coin(0.4):
            agent["dynamic"] = {
                "hold_s": float(self.rng.integers(2, 60)),
                "step_percent": float(self.rng.integers(5, 60)),
            }
        return agent

    def events(self, topology: Mapping[str, Any]) -> list[dict[str, Any]]:
        servers = [name for name in ("mme", "hss", "pcrf", "ocs", "database") if name in topology]
        found = [event for _ in range(self.rng.integers(1, 4)) for event in self._one(topology, servers)]
        return found or [self._detach()]

    def _detach(self) -> dict[str, Any]:
        share = {
            "share": self.draw("share of subscribers an event concerns"),
            "spread_s": self.draw("spread of an event"),
        }
        return {"kind": self.pick("mass_detach", "user_plane_loss", "gateway_flush"), "time_s": TRIGGER_S, **share}

    def _one(self, topology: Mapping[str, Any], servers: list[str]) -> list[dict[str, Any]]:
        """Return one trigger: an event, or one that starts and one that ends it."""
        at, until = {"time_s": TRIGGER_S}, TRIGGER_S + self.draw("spread of an event") + 1.0
        spread = {"spread_s": self.draw("spread of an event")}
        share = self.draw("share of subscribers an event concerns")
        options: list[list[dict[str, Any]]] = [[self._detach()]]
        options.append([{"kind": "redirect", **at, "share": share, **spread}])
        hold = {"kind": "hold", **at, "share": share}
        options.append([hold, {"kind": "staged_release", "time_s": until, "stage_s": 20.0, "spread_s": 20.0}])
        if servers:
            target = self.pick(*servers)
            rate = float(topology[target]["rate_per_s"])
            fall = {"kind": "capacity", **at, "target": target, "value": rate * self.draw("capacity left by an event")}
            options.append([fall, {"kind": "capacity", "time_s": until, "target": target, "value": rate}])
            options.append([{"kind": "stall", **at, "target": target, "until_s": until}])
            options.append([{"kind": "message_burst", **at, "target": target, "count": rate * 10.0 * share}])
        if servers and "resilience" in topology:
            loss = {"kind": "node_loss", **at, "target": self.pick(*servers), **spread, "load_removed": self.coin(0.3)}
            options.append([loss, {**loss, "kind": "node_restart", "time_s": until + 60.0, "load_removed": False}])
        if "ddn" in topology:
            options.append([{"kind": "ddn_surge", **at, "count": self.need_per_s * 60.0, **spread}])
        if "dra" in topology:
            message = self.pick("ccr_i", "ccr_u", "ccr_t", "gy")
            burst = {"kind": "peer_burst", **at, "target": "gateway", "message": message}
            options.append([{**burst, "count": self.need_per_s * 30.0, **spread}])
        return options[int(self.rng.integers(len(options)))]

    def setting(self) -> dict[str, Any]:
        rate = round(self.need_per_s * self.draw("rate of the gate over the steady need"))
        if not 50 <= rate <= 5000 or self.coin(0.4):
            return {"nop_rate": "off"}
        action = self.pick("drop", "reject-congestion", "reject-network-failure")
        return {"nop_rate": rate, "nop_wait_s": int(self.rng.integers(1, 16)), "nop_action": action}

    def scenario(self, number: int) -> dict[str, Any]:
        topology = self.topology()
        timeline = self.events(topology)
        # What was drawn and could do nothing: asking a mate that is not there, notifications without an MME.
        if "gateway" in topology and "pcrf_mate" not in topology and topology["gateway"]["gx_failure"] == "retry":
            topology["gateway"]["gx_failure"] = "terminate"
        if "mme" not in topology:
            topology.pop("ddn", None)
            timeline = [event for event in timeline if event["kind"] != "ddn_surge"]
        return {
            "name": f"{NAME}-{number}",
            "description": "A network, a crowd and a trigger drawn at random.",
            "source": "The generator random-core; its ranges are documented with it.",
            "access": "eps",
            "subscribers": self.classes,
            "demand": {"rate_per_s": self.need_per_s * 2.0} if self.coin() else None,
            "trigger": {"kind": "drawn", "time_s": TRIGGER_S},
            "timeline": timeline,
            "topology": settable(topology),
            "present": self.setting(),
            "tunable": ["nop_rate", "nop_wait_s", "nop_action"],
            "horizon_s": HORIZON_S,
            "step_s": 0.05,
            "convergence": {"count_from_s": TRIGGER_S},
        }
