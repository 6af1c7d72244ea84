"""The elements of a scenario's network."""

from typing import Annotated, Literal

from pydantic import Field

from signalstorm.envs.model.scenario_core import Ddn, Dra, Resilience
from signalstorm.envs.model.scenario_parts import (
    WHOLE,
    Count,
    Delay,
    Load,
    NotNegative,
    Part,
    Positive,
    Rate,
    Share,
    Wait,
    whole_schema,
)

Overflow = Literal["drop", "refuse"]


class Gate(Part):
    """Network overload protection in front of the MME; the knobs ``nop_*`` set it."""

    instances: Count = 1
    """IMSI managers among which rate and queue are split equally [instances]."""


class Server(Part):
    """What all servers have."""

    rate_per_s: Rate | None = None
    """Messages served; null: unlimited, it never queues [per s]."""
    buffer: Positive | None = None
    """Messages that wait at most; null: no limit [messages]."""
    overflow: Overflow = "drop"
    """What a message gets that finds the buffer full: silence, or an immediate refusal."""
    other_load_per_s: Load = 0.0
    """Foreign messages that queue and use capacity, as a Poisson process [per s]."""


class Gateway(Server):
    """Serving and packet gateway: takes create-session requests and asks the policy server."""

    t3_response_s: Wait = 5.0
    """T3-RESPONSE: time after which the MME repeats an unanswered request [s]."""
    n3_requests: Annotated[int, WHOLE, Field(strict=True, ge=0, le=15), whole_schema(0, 15)] = 4
    """N3-REQUESTS: repeats before the MME gives up [repeats]."""
    tx_s: Wait = 10.0
    """Tx: time for which the gateway waits for the policy server [s]."""
    gx_failure: Literal["terminate", "continue", "retry"] = "terminate"
    """When Gx fails: refuse, go on without policy (PCRF bypass), or ask the mate, then refuse."""


class Pcrf(Server):
    """Policy server; the gateway asks it."""

    latency_s: Delay = 0.0
    """Delay of every answer beside the waiting [s]."""


class Ocs(Server):
    """Online charging system; the gateway asks it on Gy after the policy server has answered."""

    tx_s: Wait = 10.0
    """Time for which the gateway waits for it [s]."""
    latency_s: Delay = 0.0
    """Delay of every answer beside the waiting [s]."""
    gy_failure: Literal["terminate", "continue"] = "terminate"
    """When Gy fails: refuse, or go on without charging."""


class Database(Server):
    """Subscriber or session database; the MME asks it and waits for a time of its own."""

    timer_s: Wait = 10.0
    """Time for which the requester waits [s]."""
    latency_s: Delay = 0.0
    """Delay of every answer beside the waiting [s]."""


class SessionDatabase(Database):
    """Session database of the policy servers; its processor follows what is written."""

    cpu_base_share: Share = 0.0
    """Utilisation without work, 0 to 1; at its full rate it is 1 [share]."""


class ImsiManager(Part):
    """IMSI manager of an SGSN or MME: the processor in front of the gate."""

    capacity_per_s: Positive
    """Units of work per second, all instances together; a request costs 1 [per s]."""
    base_share: Share = 0.05
    """Utilisation without requests, 0 to 1 [share]."""
    refusal_cost: NotNegative = 1.0
    """Work of a refusal, which is handed to a session manager [units]."""
    drop_cost: NotNegative = 0.2
    """Work of a drop [units]."""
    smooth_s: Positive = 5.0
    """Time constant of the utilisation that is shown [s]."""
    warn_share: Share = 0.6
    """Utilisation above which the state is warn, 0 to 1 [share]."""
    over_share: Share = 0.9
    """Utilisation above which the state is over, 0 to 1 [share]."""
    unknown_per_s: Load = 0.0
    """Requests of the HLR about subscribers that the node does not know [per s]."""
    session_managers: Count = 100
    """Session managers that a broadcast reaches [session managers]."""
    broadcast_cost: NotNegative = 1.0
    """Work per session manager asked [units]."""
    broadcast_off_percent: Annotated[float, Field(strict=True, ge=0, le=100)] | None = 50.0
    """Utilisation at which broadcasts stop and one session manager is asked; null: never broadcast [percent]."""
    uptime_s: NotNegative = 1e6
    """Time since the node started; in its first hour it broadcasts nothing [s]."""


class Links(Part):
    """M3UA/SCTP links of the SGSN to its signalling transfer points; named stp1/slc1 and so on."""

    stps: Annotated[int, WHOLE, Field(strict=True, ge=1, le=16), whole_schema(1, 16)] = 2
    """Signalling transfer points [STPs]."""
    links_per_stp: Annotated[int, WHOLE, Field(strict=True, ge=1, le=256), whole_schema(1, 256)] = 4
    """Links to each [links]."""
    rate_per_s: Rate
    """Messages that an STP takes per link, towards the HLR [per s]."""
    stp_rate_shares: tuple[Positive, ...] = ()
    """Factor on that rate per STP; empty: all 1 [share]."""
    window: Positive
    """Receive buffer of the peer [messages]."""
    window_updates: tuple[str, ...] = ()
    """Links whose peer tells when its window opens; on the others only an expiry finds out."""
    trickle_per_s: NotNegative = 0.0
    """What a closed window still lets through: the peer keeps announcing small windows [per s]."""
    start: Positive = 8000.0
    """START: queue above which a link is congested [messages]."""
    stop: Positive = 5000.0
    """STOP: queue at or below which it is not [messages]."""
    queue: Positive = 8000.0
    """QUEUE: beyond it messages are discarded [messages]."""
    rto_min_ms: Positive = 1000.0
    """RTO-min [ms]."""
    rto_initial_ms: Positive = 3000.0
    """RTO-initial [ms]."""
    rto_max_ms: Positive = 60000.0
    """RTO-max [ms]."""
    max_assoc_retx: Annotated[int, WHOLE, Field(strict=True, ge=0, le=255), whole_schema(0, 255)] = 10
    """Retransmissions in a row beyond which an association fails [retransmissions]."""
    sack_period_ms: NotNegative = 200.0
    """How long acknowledgements are held back for a second packet, at both ends [ms]."""
    map_timer_s: Wait = 30.0
    """MAP operation timer of the SGSN [s]."""
    answer_loss_share: Share = 0.0
    """Share of the answers coming over a congested link that are lost, 0 to 1 [share]."""
    refresh_delay_max_s: NotNegative = 0.0
    """What if the SGSN put each location refresh after a reset off, by up to this; 0: it does not [s]."""

    def names(self) -> tuple[str, ...]:
        """Return the links' names, STP by STP."""
        stps, links = range(self.stps), range(self.links_per_stp)
        return tuple(f"stp{stp + 1}/slc{link + 1}" for stp in stps for link in links)


class Topology(Part):
    """The elements that a request passes; one that is null is skipped."""

    gate: Gate | None = None
    """Network overload protection in front of the MME."""
    imsimgr: ImsiManager | None = None
    """IMSI manager, the processor in front of the gate."""
    links: Links | None = None
    """Signalling links towards HLR and EIR."""
    hss: Database | None = None
    """Home subscriber server: authentication and update location."""
    gateway: Gateway | None = None
    """Serving and packet gateway: create session."""
    pcrf: Pcrf | None = None
    """Policy server: initial credit-control request on Gx."""
    database: SessionDatabase | None = None
    """Session database: one write per attach."""
    mme: Database | None = None
    """MME's own signalling capacity: one message per attach, behind the gate."""
    dra: Dra | None = None
    """Diameter agent between gateway, policy server and charging system."""
    ocs: Ocs | None = None
    """Online charging system: Gy after Gx."""
    pcrf_mate: Pcrf | None = None
    """Policy server of the mated site, which the gateway asks after a failure, if set to retry."""
    ddn: Ddn | None = None
    """Downlink data notifications, and the SGW's throttle."""
    resilience: Resilience | None = None
    """Failure domains, session recovery, staged release."""

    def servers(self) -> dict[str, Gateway | Pcrf | Ocs | Database]:
        """Return the servers that exist, by name, in the order in which a request meets them."""
        found = {
            "mme": self.mme,
            "hss": self.hss,
            "gateway": self.gateway,
            "pcrf": self.pcrf,
            "pcrf_mate": self.pcrf_mate,
            "ocs": self.ocs,
            "database": self.database,
        }
        return {name: server for name, server in found.items() if server is not None}
