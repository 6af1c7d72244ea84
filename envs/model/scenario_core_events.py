"""Timeline events of the elements beyond the attach chain."""

import math
from collections.abc import Iterable
from typing import Any, Literal

from signalstorm.envs.model.scenario_parts import Count, Flag, Load, NotNegative, Part, Positive, Share

EVERYONE = "*"


class PeerBurstEvent(Part):
    """A peer of the Diameter agent sends a burst of one kind of message."""

    kind: Literal["peer_burst"]
    """What happens."""
    target: str
    """The peer."""
    time_s: NotNegative
    """When, from the scenario's start [s]."""
    message: Literal["ccr_i", "ccr_u", "ccr_t", "gy"]
    """Which kind."""
    count: NotNegative
    """Messages [messages]."""
    spread_s: NotNegative = 0.0
    """They are sent evenly within this time [s]."""


class GatewayFlushEvent(Part):
    """The gateway ends sessions: their subscribers lose service, each session sends a CCR-T."""

    kind: Literal["gateway_flush"]
    """What happens."""
    target: str = EVERYONE
    """The class, or ``*`` for all."""
    time_s: NotNegative
    """When, from the scenario's start [s]."""
    share: Share = 1.0
    """Share of the registered whose session ends, 0 to 1 [share]."""
    flush_s: NotNegative = 0.0
    """The CCR-T are sent evenly within this time [s]."""
    spread_s: NotNegative = 0.0
    """The subscribers attach again uniformly within this time [s]."""


class ReconnectEvent(Part):
    """The user plane fails for a share of the subscribers, whose handsets reconnect."""

    kind: Literal["user_plane_loss"]
    """What happens."""
    target: str = EVERYONE
    """The class, or ``*`` for all."""
    time_s: NotNegative
    """When, from the scenario's start [s]."""
    share: Share = 1.0
    """Share of the registered whose handsets reconnect, 0 to 1 [share]."""
    spread_s: NotNegative = 0.0
    """They do so uniformly within this time [s]."""


class RedirectEvent(Part):
    """Subscribers of a mated site are redirected here: idle ones of a class attach."""

    kind: Literal["redirect"]
    """What happens."""
    target: str = EVERYONE
    """The class, or ``*`` for all."""
    time_s: NotNegative
    """When, from the scenario's start [s]."""
    share: Share = 1.0
    """Share of the idle that are redirected, 0 to 1 [share]."""
    spread_s: NotNegative = 0.0
    """They attach uniformly within this time [s]."""


class StallEvent(Part):
    """A server serves nothing for a time; what has queued behind the stall is released at its end."""

    kind: Literal["stall"]
    """What happens."""
    target: str
    """The server."""
    time_s: NotNegative
    """When, from the scenario's start [s]."""
    until_s: Positive | None = None
    """The end, from the scenario's start; null: at the next ``release`` of the server, or never [s]."""

    def end_s(self, timeline: Iterable[Any]) -> float:
        """Return when the server serves again, infinite if never [s]."""
        own = math.inf if self.until_s is None else self.until_s
        releases = (event for event in timeline if isinstance(event, ReleaseEvent) and event.target == self.target)
        return min([own, *(event.time_s for event in releases if event.time_s > self.time_s)])


class ReleaseEvent(Part):
    """A stalled server serves again: the traffic queued behind the stall is released."""

    kind: Literal["release"]
    """What happens."""
    target: str
    """The server."""
    time_s: NotNegative
    """When, from the scenario's start [s]."""


class NodeEvent(Part):
    """Nodes of an MME, a gateway or another server are lost, with capacity and sessions, or start again."""

    kind: Literal["node_loss", "node_restart"]
    """What happens."""
    target: str
    """The server; ``resilience.failure_domains`` says into how many nodes it is split."""
    time_s: NotNegative
    """When, from the scenario's start [s]."""
    nodes: Count = 1
    """How many; one node is always left [nodes]."""
    spread_s: Positive = 10.0
    """The subscribers of a lost node attach again uniformly within this time; those held out, after a restart [s]."""
    load_removed: Flag = False
    """Whether the subscribers of a lost node are kept out until the restart, so its load goes with its capacity."""


class HoldEvent(Part):
    """Access barring: requests are held back at the radio, except those of priority classes."""

    kind: Literal["hold"]
    """What happens."""
    target: str = EVERYONE
    """Always ``*``."""
    time_s: NotNegative
    """When, from the scenario's start [s]."""
    share: Share = 1.0
    """Share of the requests that is held back, 0 to 1 [share]."""


class StagedReleaseEvent(Part):
    """The barring ends in ``resilience.release_stages`` equal stages, and those held back attach stage by stage."""

    kind: Literal["staged_release"]
    """What happens."""
    target: str = EVERYONE
    """Always ``*``."""
    time_s: NotNegative
    """The first stage, from the scenario's start [s]."""
    stage_s: Positive = 60.0
    """Time between two stages [s]."""
    spread_s: NotNegative = 60.0
    """Within a stage they attach uniformly within this time [s]."""


class UnknownEvent(Part):
    """The HLR asks more or less often about subscribers that the node does not know."""

    kind: Literal["unknown_burst"]
    """What happens."""
    target: str = "imsimgr"
    """Always the IMSI manager."""
    time_s: NotNegative
    """When, from the scenario's start [s]."""
    value_per_s: Load
    """The new rate of requests: cancel location, insert or delete data, provide location [per s]."""
    until_s: Positive | None = None
    """When the old rate returns, from the scenario's start; null: never [s]."""


class DdnSurgeEvent(Part):
    """A surge of downlink data notifications."""

    kind: Literal["ddn_surge"]
    """What happens."""
    target: str = "ddn"
    """Always the notifications."""
    time_s: NotNegative
    """When, from the scenario's start [s]."""
    count: NotNegative
    """Notifications [notifications]."""
    spread_s: NotNegative = 0.0
    """They are sent evenly within this time [s]."""


class RebootEvent(Part):
    """The IMSI manager's node has started again: for an hour it broadcasts nothing."""

    kind: Literal["imsimgr_reboot"]
    """What happens."""
    target: str = "imsimgr"
    """Always the IMSI manager."""
    time_s: NotNegative
    """When, from the scenario's start [s]."""


CrowdEvent = GatewayFlushEvent | ReconnectEvent | RedirectEvent
CoreEvent = (
    PeerBurstEvent
    | CrowdEvent
    | StallEvent
    | ReleaseEvent
    | NodeEvent
    | HoldEvent
    | StagedReleaseEvent
    | UnknownEvent
    | DdnSurgeEvent
    | RebootEvent
)
"""Every event of this file."""
