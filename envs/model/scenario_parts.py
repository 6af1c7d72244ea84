"""Base of all parts of a scenario, its number types, and the parts that describe subscribers and demand."""

import re
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    PlainSerializer,
    ValidationInfo,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError, core_schema

DRAWN = "drawn"
"""Validation context of a scenario whose fields were drawn from its variation: whole numbers are rounded."""


class Part(BaseModel):
    """A frozen part of a scenario that knows every key it may hold."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, allow_inf_nan=False)


def is_number(value: Any) -> bool:
    """Tell whether a value is a number; a truth value is none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _whole(value: Any, info: ValidationInfo) -> Any:
    if not isinstance(value, float) or value in (float("inf"), float("-inf")) or value != value:
        return value
    return round(value) if value.is_integer() or info.context == DRAWN else value


def _pair(value: Any) -> Any:
    if isinstance(value, str) or not isinstance(value, Sequence) or len(value) != 2:
        raise PydanticCustomError("pair", "must be a pair [lo, hi] of numbers")
    return tuple(value)


def _number_or_pair(value: Any) -> Any:
    if is_number(value):
        return (value, value)
    if isinstance(value, str) or not isinstance(value, Sequence) or len(value) != 2:
        raise PydanticCustomError("pair", "must be a number or a pair [lo, hi] of numbers")
    return tuple(value)


def _rising(value: tuple[float, float]) -> tuple[float, float]:
    if value[0] > value[1]:
        raise PydanticCustomError("pair_order", "must be [lo, hi] with lo <= hi")
    return value


def _as_written(value: tuple[float, float]) -> float | list[float]:
    return value[0] if value[0] == value[1] else list(value)


def _matching(pattern: str, rule: str) -> Callable[[str], str]:
    """Return a check of text whose message says in words what the pattern means."""

    def check(text: str) -> str:
        if not re.fullmatch(pattern, text):
            raise PydanticCustomError("pattern", "{rule}", {"rule": rule})
        return text

    return check


Number = Annotated[float, Field(strict=True)]
"""A finite number; neither text nor a truth value passes for one."""
NotNegative = Annotated[float, Field(strict=True, ge=0, le=1e9)]
"""A number of at least 0 that arithmetic can bear: a time of up to 30 years, an amount of work, messages."""
Positive = Annotated[float, Field(strict=True, gt=0, le=1e9)]
"""The same, above 0."""
Wait = Annotated[float, Field(strict=True, gt=0, le=1e5)]
"""A time for which somebody waits for an answer [s]; the ring of those who wait must fit the memory."""
Delay = Annotated[float, Field(strict=True, ge=0, le=1e5)]
"""A delay of answers, or none [s]; the ring of what is under way must fit the memory."""
PerSubscriber = Annotated[float, Field(strict=True, ge=0, le=1000)]
"""How often each subscriber does something [per s]."""
Rate = Annotated[float, Field(strict=True, gt=0, le=1e9)]
"""A rate that arithmetic can bear [per s]."""
Load = Annotated[float, Field(strict=True, ge=0, le=1e9)]
"""The same, or nothing [per s]."""
Share = Annotated[float, Field(strict=True, ge=0, le=1)]
"""A number from 0 to 1."""
_MOST = 10**10


def whole_schema(least: int, most: int = _MOST) -> WithJsonSchema:
    """Return the JSON schema of a whole number, whose bounds pydantic would not put into words that others know."""
    return WithJsonSchema({"type": "integer", "minimum": least, "maximum": most})


class Between:
    """A whole number within bounds that messages and JSON schemas give alike: ``Annotated[int, Between(1, 100)]``.

    Bounds that are added to those of `Whole` come second: what is below both breaks the wrong one first.
    """

    def __init__(self, least: int, most: int = _MOST) -> None:
        """Take the smallest and the largest legal number."""
        self.least, self.most = least, most

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        """Let 4.0 pass for 4, and check the bounds."""
        number = core_schema.int_schema(strict=True, ge=self.least, le=self.most)
        return core_schema.with_info_before_validator_function(_whole, number)

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Name the bounds."""
        return {"type": "integer", "minimum": self.least, "maximum": self.most}


WHOLE = BeforeValidator(_whole)
"""Lets 4.0 pass for 4."""
Whole = Annotated[int, WHOLE, Field(strict=True, ge=0, le=_MOST), whole_schema(0)]
"""A whole number of at least 0; 4.0 passes for 4."""
Count = Annotated[int, WHOLE, Field(strict=True, ge=1, le=_MOST), whole_schema(1)]
"""A whole number of at least 1; 1000.0 passes for 1000."""
Tries = Annotated[int, WHOLE, Field(strict=True, ge=1, le=100), whole_schema(1, 100)]
"""A number of tries in a row, each of which the model counts by itself."""
Flag = Annotated[bool, Field(strict=True)]
"""True or false; neither text nor a number passes for one."""
Pair = Annotated[tuple[Number, Number], BeforeValidator(_pair), AfterValidator(_rising)]
"""Two bounds, written as ``[lo, hi]``."""
_TIME = {"type": "number", "exclusiveMinimum": 0, "maximum": 1e8}
_Time = Annotated[float, Field(strict=True, gt=0, le=1e8)]
Span = Annotated[
    tuple[_Time, _Time],
    BeforeValidator(_number_or_pair),
    AfterValidator(_rising),
    PlainSerializer(_as_written),
    WithJsonSchema({"anyOf": [_TIME, {"type": "array", "items": _TIME, "minItems": 2, "maxItems": 2}]}),
]
"""A time, written as a number, or a uniform draw, written as ``[lo, hi]``; always held as ``(lo, hi)``."""
Name = Annotated[
    str,
    AfterValidator(
        _matching(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", "must be lower-case words joined by hyphens, such as lab-pcrf")
    ),
]
"""Lower-case words joined by hyphens."""
Word = Annotated[str, AfterValidator(_matching(r"[a-z][a-z0-9_]*", "must be a lower-case word, such as first_attach"))]
"""A lower-case word; underscores join its parts."""
ClockTime = Annotated[
    str,
    AfterValidator(_matching(r"([01]\d|2[0-3]):[0-5]\d", "must be a time of day HH:MM, such as 06:25")),
]
"""A time of day."""


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
    attempt_limit: Tries = 5
    """Tries before the long pause [tries]."""


class GprsLadder(Part):
    """What a 2G or 3G handset does after each answer: TS 24.008 table 11.3a, attach attempt counter 4.7.3.1."""

    kind: Literal["gprs"]
    """The law by which handsets try again."""
    t3310_s: Wait = 15.0
    """T3310: time after which an unanswered request is sent again [s]."""
    sends: Tries = 5
    """Requests within an attempt while no answer comes [requests]."""
    t3311_s: Span = (15.0, 15.0)
    """T3311: pause before the next attempt while attempts are left [s]."""
    t3302_s: Span = (720.0, 720.0)
    """T3302: pause after the last attempt [s]."""
    attempt_limit: Tries = 5
    """Attempts before the long pause [attempts]."""


class LaboratoryLadder(Part):
    """What simulated handsets of a laboratory do: they try again for ever."""

    kind: Literal["laboratory"]
    """The law by which handsets try again."""
    retry_refused_s: Span
    """Pause after a refusal [s]."""
    retry_silent_s: Span
    """Time after sending at which a handset without an answer tries again [s]."""


Ladder = Annotated[EpsLadder | GprsLadder | LaboratoryLadder, Field(discriminator="kind")]


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
    churn_per_s: PerSubscriber = 0.0
    """Rate at which each registered subscriber power-cycles [per s]."""
    reattach_s: NotNegative = 10.0
    """A subscriber detached by the network attaches again uniformly within this time [s]."""
    power_cycle_share: Share = 0.0
    """Share of users who, left to the long timer, power-cycle and begin again at attempt 1, 0 to 1 [share]."""
    power_cycle_s: Span = (60.0, 300.0)
    """When they do, after the last attempt [s]."""
    priority: Flag = False
    """Whether its requests pass beside the gate and are never barred, as emergency calls and priority access are."""
    broken: Flag = False
    """Whether the network refuses its attaches whatever it does: handsets that only load the network."""


class Activity(Part):
    """How soon a flagged subscriber becomes active, and so refreshes its location."""

    points: Annotated[tuple[tuple[NotNegative, PerSubscriber], ...], Field(min_length=2)]
    """Pairs of a time from the start [s] and the rate per flagged subscriber there [per s]; linear between."""
    scale: Positive = 1.0
    """Factor on all rates; what a variation may move."""


class Demand(Part):
    """How idle subscribers are switched on."""

    rate_per_s: Rate
    """Subscribers switched on, over all classes [per s]."""
    start_s: NotNegative = 0.0
    """When that begins, from the scenario's start [s]."""
    pattern: Literal["paced", "poisson"] = "paced"
    """Evenly, or as a Poisson process."""


class Trigger(Part):
    """What starts the storm; the steady level is measured before it."""

    kind: Word
    """A word for what starts the storm; only a label."""
    time_s: NotNegative
    """When, from the scenario's start [s]."""


class Convergence(Part):
    """When the storm counts as over."""

    count_from_s: NotNegative = 0.0
    """The instant from which times are counted, from the scenario's start [s]."""
    band_share: Annotated[float, Field(strict=True, gt=0, le=1)] = 0.01
    """Healthy: the number without service is at most this share of all above its steady level [share]."""
