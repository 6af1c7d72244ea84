"""Base of all parts of a scenario, its number types, and the parts that describe subscribers and demand."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer
from pydantic_core import PydanticCustomError


class Part(BaseModel):
    """A frozen part of a scenario that knows every key it may hold."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, allow_inf_nan=False)


def _whole(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _span(value: Any) -> Any:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return (value, value)
    if isinstance(value, str) or not isinstance(value, Sequence) or len(value) != 2:
        raise PydanticCustomError("span", "must be a number or a pair [lo, hi] of numbers")
    return tuple(value)


def _rising(value: tuple[float, float]) -> tuple[float, float]:
    if not value[0] <= value[1]:
        raise PydanticCustomError("span_order", "must have lo <= hi")
    return value


def _span_as_written(value: tuple[float, float]) -> float | list[float]:
    return value[0] if value[0] == value[1] else list(value)


Number = Annotated[float, Field(strict=True)]
"""A finite number; neither text nor a truth value passes for one."""
NotNegative = Annotated[float, Field(strict=True, ge=0)]
Positive = Annotated[float, Field(strict=True, gt=0)]
Share = Annotated[float, Field(strict=True, ge=0, le=1)]
Whole = Annotated[int, BeforeValidator(_whole), Field(strict=True, ge=0)]
Count = Annotated[int, BeforeValidator(_whole), Field(strict=True, ge=1)]
Flag = Annotated[bool, Field(strict=True)]
"""A whole number; 1000.0 passes for 1000."""
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$", max_length=80)]
"""Lower-case words joined by hyphens."""
Span = Annotated[
    tuple[Positive, Positive],
    BeforeValidator(_span),
    Field(strict=False),
    PlainSerializer(_span_as_written),
]
"""A time, written as a number, or a uniform draw, written as ``[lo, hi]``; always held as ``(lo, hi)``."""


class EpsLadder(Part):
    """What an LTE handset does after each answer: TS 24.301, attach attempt counter and timers of 10.2."""

    kind: Literal["eps"]
    """The law by which handsets try again."""
    t3410_s: Span = (15.0, 15.0)
    """T3410: time for which the handset waits for an answer [s]."""
    t3411_s: Span = (10.0, 10.0)
    """T3411: pause before the next try while tries are left [s]."""
    t3402_s: Span = (720.0, 720.0)
    """T3402: pause after the last try [s]."""
    attempt_limit: Count = 5
    """Tries before the long pause [tries]."""


class LaboratoryLadder(Part):
    """What simulated handsets of a laboratory do: they try again for ever."""

    kind: Literal["laboratory"]
    """The law by which handsets try again."""
    retry_refused_s: Span
    """Pause after a refusal [s]."""
    retry_silent_s: Span
    """Time after sending at which a handset without an answer tries again [s]."""


Ladder = Annotated[EpsLadder | LaboratoryLadder, Field(discriminator="kind")]


class SubscriberClass(Part):
    """Subscribers that behave alike."""

    name: Name
    """The name by which events and dotted paths call the class."""
    size: Count
    """Subscribers [subscribers]."""
    registered_share: Share = 0.0
    """Share that is registered at the start, 0 to 1 [share]."""
    ladder: Ladder
    """What the handsets do after each answer."""
    honours_t3346_share: Share = 0.0
    """Share of the handsets that obey a back-off sent with a refusal, 0 to 1 [share]."""
    churn_per_s: NotNegative = 0.0
    """Rate at which each registered subscriber power-cycles [per s]."""


class Demand(Part):
    """How idle subscribers are switched on."""

    rate_per_s: Positive
    """Subscribers switched on, over all classes [per s]."""
    start_s: NotNegative = 0.0
    """When that begins, from the scenario's start [s]."""
    pattern: Literal["paced", "poisson"] = "paced"
    """Evenly, or as a Poisson process."""


class Trigger(Part):
    """What starts the storm; the steady level is measured before it."""

    kind: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
    """A word for what starts the storm; only a label."""
    time_s: NotNegative
    """When, from the scenario's start [s]."""


class Convergence(Part):
    """When the storm counts as over."""

    count_from_s: NotNegative = 0.0
    """The instant from which times are counted, from the scenario's start [s]."""
    band_share: Annotated[float, Field(strict=True, gt=0, le=1)] = 0.01
    """Healthy: the number without service is at most this share of all above its steady level [share]."""
