"""Elements beyond the attach chain: Diameter agent, OCS, MME, downlink data notifications, resilience."""

from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_core import PydanticCustomError

from signalstorm.envs.model.scenario_parts import (
    WHOLE,
    Count,
    Flag,
    Load,
    Name,
    NotNegative,
    Part,
    PerSubscriber,
    Positive,
    Rate,
    Share,
    whole_schema,
)


def _code(value: Any) -> Any:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


LimitAction = Annotated[Literal["drop", "3002", "3004", "5012"], BeforeValidator(_code)]
"""What a message beyond a limit gets: silence, or an answer with this result code (RFC 6733 7.1)."""
MESSAGE_NAMES = ("ccr_i", "ccr_u", "ccr_t", "gy")
"""Kinds of message at the agent, in the kernel's order."""
BAND_COUNT = 5
"""Bands of the dynamic limit."""


def _five(value: tuple[float, ...]) -> tuple[float, ...]:
    if len(value) != BAND_COUNT or any(a > b for a, b in pairwise(value)):
        raise PydanticCustomError("bands", "must be five numbers that do not fall, one per band")
    return value


Points = Annotated[tuple[Annotated[float, Field(strict=True, ge=0, le=100)], ...], AfterValidator(_five)]
"""Five percentages that do not fall."""


class DynamicLimit(Part):
    """The agent's limit that follows the processor of the session database, for Gx CCR-I and CCR-T."""

    from_percent: Points = (50.0, 55.0, 60.0, 65.0, 70.0)
    """Lower edge of each band, inclusive; below the first the throttle is taken back [percent of the CPU]."""
    throttle_percent: Points = (20.0, 30.0, 40.0, 50.0, 60.0)
    """Throttle of each band, at once in both directions; the first and the last are assumed [percent]."""
    hold_s: Positive = 30.0
    """Time below all bands after which a step is taken back, and again after each such time [s]."""
    step_percent: Annotated[float, Field(strict=True, gt=0, le=100)] = 20.0
    """That step, in percentage points [percent]."""
    sample_s: Positive = 1.0
    """Time between two looks at the processor; assumed [s]."""


class Peer(Part):
    """What a peer of the agent sends beside the subscribers counted here."""

    name: Name = "gateway"
    """Its name; the first peer is the gateway of the subscribers counted here."""
    dynamic: Flag = True
    """Whether the dynamic limit applies to it."""
    ccr_i_per_s: Load = 0.0
    """Gx CCR-I [per s]."""
    ccr_u_per_s: Load = 0.0
    """Gx CCR-U [per s]."""
    ccr_t_per_s: Load = 0.0
    """Gx CCR-T [per s]."""
    gy_per_s: Load = 0.0
    """Gy messages [per s]."""


class Dra(Part):
    """Diameter agent between the gateways and the policy servers and charging systems."""

    rate_per_s: Rate | None = None
    """Rated capacity; beyond it the agent answers 3004, too busy; null: unlimited [per s]."""
    peers: Annotated[tuple[Peer, ...], Field(min_length=1, max_length=8)] = (Peer(),)
    """Gateways; the first is that of the subscribers counted here."""
    peer_limit_per_s: Rate | None = None
    """Ingress limit of each peer, all messages; null: none [per s]."""
    ccr_i_limit_per_s: Rate | None = None
    """Ingress limit of each peer for Gx CCR-I [per s]."""
    ccr_u_limit_per_s: Rate | None = None
    """Ingress limit of each peer for Gx CCR-U [per s]."""
    ccr_t_limit_per_s: Rate | None = None
    """Ingress limit of each peer for Gx CCR-T [per s]."""
    gy_limit_per_s: Rate | None = None
    """Ingress limit of each peer for Gy [per s]."""
    pcrf_limit_per_s: Rate | None = None
    """Egress limit towards the policy servers, all messages [per s]."""
    pcrf_ccr_i_limit_per_s: Rate | None = None
    """Egress limit towards the policy servers for CCR-I [per s]."""
    pcrf_ccr_u_limit_per_s: Rate | None = None
    """Egress limit towards the policy servers for CCR-U [per s]."""
    pcrf_ccr_t_limit_per_s: Rate | None = None
    """Egress limit towards the policy servers for CCR-T [per s]."""
    ocs_limit_per_s: Rate | None = None
    """Egress limit towards the charging system [per s]."""
    burst: Positive | None = None
    """Depth of every bucket; null: one second of its limit [messages]."""
    limit_action: LimitAction = "3002"
    """What a message beyond a limit gets; after 5012 the gateway asks no other agent."""
    pool: Positive | None = None
    """Transaction slots; each pending request holds one; without a free one the answer is 3004; null: any [slots]."""
    pcrf_pending: Positive | None = None
    """Slots that transactions with the policy servers may hold [slots]."""
    ocs_pending: Positive | None = None
    """Slots that transactions with the charging system may hold [slots]."""
    update_per_s: PerSubscriber = 0.0
    """Gx CCR-U of each registered subscriber [per s]."""
    writes_per_update: NotNegative = 1.0
    """Writes to the session database that a CCR-U costs [writes]."""
    writes_per_end: NotNegative = 1.0
    """Writes to the session database that a CCR-T costs [writes]."""
    dynamic: DynamicLimit | None = None
    """Limit by the processor of the session database; null: none."""


class Ddn(Part):
    """Downlink data notifications from the SGW, and its throttle."""

    rate_per_s: Load = 0.0
    """Notifications in normal times [per s]."""
    arp_shares: Annotated[tuple[Share, ...], Field(min_length=15, max_length=15)] = (1.0 / 15.0,) * 15
    """Share of the notifications for bearers of each priority level, ARP 1 to 15."""
    messages: NotNegative = 1.0
    """Work at the MME that a notification causes: paging [messages]."""
    arp_watermark: Annotated[int, WHOLE, Field(strict=True, ge=1, le=15), whole_schema(1, 15)] = 10
    """Low priority, and so dropped, is an ARP above it."""
    limit_per_s: Annotated[Positive, Field(le=999_999_999)] = 1000.0
    """Notifications per second, times the window, beyond which throttling begins [per s]."""
    window_s: Annotated[Positive, Field(le=300)] = 10.0
    """Windows in which they are counted, one after another [s]."""
    factor_percent: Annotated[float, Field(strict=True, ge=1, le=100)] = 10.0
    """Share of the low-priority ones dropped at first [percent]."""
    increment_percent: Annotated[float, Field(strict=True, ge=1, le=100)] = 10.0
    """By how much that rises after a window above the limit, and falls after one below [percent]."""
    poll_s: Positive = 2.0
    """Time between two looks at the count [s]."""
    throttle_time_s: Positive = 864_000.0
    """Time after which throttling ends [s]."""
    stabilisation_s: Positive = 28_800.0
    """Time over which a count below the limit ends it sooner [s]."""
    session_managers: Count = 24
    """Session managers that each look asks [session managers]."""
    by_mme: Flag = False
    """Release 10: the MME names factor and delay when it is overloaded, in place of the SGW's own count."""
    delay_s: Annotated[Positive, Field(ge=2, le=1_116_000)] = 60.0
    """Release 10: time for which a named factor holds [s]."""
    overload_share: Share = 0.8
    """Release 10: utilisation of the MME from which it names them, 0 to 1 [share]."""


class Resilience(Part):
    """What becomes of sessions and of load when nodes are lost: levers of design, not of a command."""

    failure_domains: Annotated[int, WHOLE, Field(strict=True, ge=1, le=1000), whole_schema(1, 1000)] = 1
    """Nodes among which capacity and subscribers are split equally [nodes]."""
    recovery_share: Share = 0.0
    """Share of a lost node's sessions that another one recovers, 0 to 1 [share]."""
    release_stages: Annotated[int, WHOLE, Field(strict=True, ge=1, le=1000), whole_schema(1, 1000)] = 1
    """Stages in which those who were held back are released [stages]."""


class ChurnProfile(Part):
    """How the rate of power-cycles moves over the day."""

    points: Annotated[tuple[tuple[NotNegative, NotNegative], ...], Field(min_length=2)]
    """Pairs of a time from the start [s] and the factor there; linear between."""
