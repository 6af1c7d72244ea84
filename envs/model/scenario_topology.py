"""The elements of a scenario's network."""

from typing import Literal

from signalstorm.envs.model.scenario_parts import Count, NotNegative, Part, Positive, Whole

Overflow = Literal["drop", "refuse"]


class Gate(Part):
    """Network overload protection in front of the MME; the knobs ``nop_*`` set it."""

    instances: Count = 1
    """IMSI managers among which rate and queue are split equally [instances]."""


class Server(Part):
    """What all servers have."""

    rate_per_s: Positive | None = None
    """Messages served; null: unlimited, it never queues [per s]."""
    buffer: Positive | None = None
    """Messages that wait at most; null: no limit [messages]."""
    overflow: Overflow = "drop"
    """What a message gets that finds the buffer full: silence, or an immediate refusal."""
    other_load_per_s: NotNegative = 0.0
    """Foreign messages that queue and use capacity, as a Poisson process [per s]."""


class Gateway(Server):
    """Serving and packet gateway: takes create-session requests and asks the policy server."""

    t3_response_s: Positive = 5.0
    """T3-RESPONSE: time after which the MME repeats an unanswered request [s]."""
    n3_requests: Whole = 4
    """N3-REQUESTS: repeats before the MME gives up [repeats]."""
    tx_s: Positive = 10.0
    """Tx: time for which the gateway waits for the policy server [s]."""


class Pcrf(Server):
    """Policy server; the gateway asks it."""

    latency_s: NotNegative = 0.0
    """Delay of every answer beside the waiting [s]."""


class Database(Server):
    """Subscriber or session database; the MME asks it and waits for a time of its own."""

    timer_s: Positive = 10.0
    """Time for which the requester waits [s]."""
    latency_s: NotNegative = 0.0
    """Delay of every answer beside the waiting [s]."""


class Topology(Part):
    """The elements that a request passes; one that is null is skipped."""

    gate: Gate | None = None
    """Network overload protection in front of the MME."""
    hss: Database | None = None
    """Home subscriber server: authentication and update location."""
    gateway: Gateway | None = None
    """Serving and packet gateway: create session."""
    pcrf: Pcrf | None = None
    """Policy server: initial credit-control request on Gx."""
    database: Database | None = None
    """Session database: one write per attach."""

    def servers(self) -> dict[str, Gateway | Pcrf | Database]:
        """Return the servers that exist, by name, in the order in which a request meets them."""
        found = {"hss": self.hss, "gateway": self.gateway, "pcrf": self.pcrf, "database": self.database}
        return {name: server for name, server in found.items() if server is not None}
