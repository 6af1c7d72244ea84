"""What happens at given times of a scenario."""

from typing import Annotated, Literal

from pydantic import Field

from signalstorm.envs.model.scenario_core_events import CoreEvent
from signalstorm.envs.model.scenario_parts import Delay, Flag, Load, NotNegative, Part, Positive, Share

EVERYONE = "*"
"""The target that means all classes."""


class CapacityEvent(Part):
    """A server gets another rate, at once or as a ramp."""

    kind: Literal["capacity"]
    """What happens."""
    target: str
    """The server."""
    time_s: NotNegative
    """When, from the scenario's start [s]."""
    value: Load
    """The new rate, with all nodes [per s]."""
    until_s: Positive | None = None
    """The end of a ramp from the old rate to the new one, from the scenario's start; null: at once [s]."""


class LatencyEvent(Part):
    """A server's answers take another delay."""

    kind: Literal["latency"]
    """What happens."""
    target: str
    """The server."""
    time_s: NotNegative
    """When, from the scenario's start [s]."""
    value_s: Delay
    """The new delay of every answer [s]."""


class OtherLoadEvent(Part):
    """A server's foreign load changes."""

    kind: Literal["other_load"]
    """What happens."""
    target: str
    """The server."""
    time_s: NotNegative
    """When, from the scenario's start [s]."""
    value_per_s: Load
    """The new rate of foreign messages [per s]."""


class MassDetachEvent(Part):
    """Registered subscribers lose service and attach again."""

    kind: Literal["mass_detach"]
    """What happens."""
    target: str = EVERYONE
    """The class, or ``*`` for all."""
    time_s: NotNegative
    """When, from the scenario's start [s]."""
    share: Share = 1.0
    """Share of the registered that lose service, 0 to 1 [share]."""
    spread_s: NotNegative = 0.0
    """They attach again uniformly within this time [s]."""


class MessageBurstEvent(Part):
    """Foreign messages reach a server at one instant."""

    kind: Literal["message_burst"]
    """What happens."""
    target: str
    """The server."""
    time_s: NotNegative
    """When, from the scenario's start [s]."""
    count: NotNegative
    """Messages [messages]."""


class HlrResetEvent(Part):
    """The HLR restarts: registered subscribers are flagged, to be confirmed at their next activity (TS 23.007)."""

    kind: Literal["hlr_reset"]
    """What happens."""
    target: str = "hlr"
    """The HLR."""
    time_s: NotNegative
    """When, from the scenario's start [s]."""
    share: Share = 1.0
    """Share of the registered that this HLR holds, 0 to 1 [share]."""


class ActivityEvent(Part):
    """Handsets become more or less active, at once or as a ramp: a factor on the activity profile from then on."""

    kind: Literal["activity"]
    """What happens."""
    target: str = EVERYONE
    """Always ``*``."""
    time_s: NotNegative
    """When, from the scenario's start [s]."""
    value: NotNegative
    """The new factor; that of an earlier event no longer counts [times]."""
    until_s: Positive | None = None
    """The end of a ramp from the old factor to the new one, from the scenario's start; null: at once [s]."""


class LinkEvent(Part):
    """Links are reset (queue emptied), go down or come up."""

    kind: Literal["link_reset", "link_down", "link_up"]
    """What happens."""
    target: str
    """A link such as ``stp2/slc1``, an STP such as ``stp2``, or ``*`` for all."""
    time_s: NotNegative
    """When, from the scenario's start [s]."""
    noticed: Flag = True
    """Whether the SGSN knows at once that a link is down; false: only after its retransmissions are spent."""


Event = Annotated[
    HlrResetEvent
    | LinkEvent
    | CapacityEvent
    | LatencyEvent
    | OtherLoadEvent
    | MassDetachEvent
    | MessageBurstEvent
    | ActivityEvent
    | CoreEvent,
    Field(discriminator="kind"),
]
