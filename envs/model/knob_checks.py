"""What is legal for one knob, and for the knobs that are tied together."""

import math
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from signalstorm.envs.model.core_knobs import THROTTLES
from signalstorm.envs.model.errors import ABSENT, Finding, Shown
from signalstorm.envs.model.knob_table import (
    ACKNOWLEDGEMENT_DELAY_MS,
    KNOBS,
    OFF,
    QUEUE_RULE,
    RTO_NAMES,
    RTO_RULE,
    Knob,
    KnobValue,
)
from signalstorm.envs.model.wording import nearest

SGSN_ACTIONS = ("drop", "reject-congestion")
"""What the gate of an SGSN can be told to do with whom it does not let through, drop first."""
_QUEUE = KNOBS["nop_queue"]
_TOLERANCE = 1e-9
_RTO_WORDS = dict(zip(RTO_NAMES, ("RTO-min", "RTO-initial", "RTO-max"), strict=True))


def check(values: Mapping[str, Any]) -> tuple[dict[str, KnobValue], list[Finding]]:
    """Return the legal values in their canonical types, and a finding for each broken rule.

    Truth value false passes for ``off``: that is how YAML 1.1 reads the bare word.
    """
    legal: dict[str, KnobValue] = {}
    findings: list[Finding] = []
    for name, value in values.items():
        knob = KNOBS.get(name)
        if knob is None:
            findings.append(Finding((name,), "there is no such knob", ABSENT, nearest(name, KNOBS)))
            continue
        result = _check_value(knob, value, values)
        if isinstance(result, Finding):
            findings.append(result)
        else:
            legal[name] = result
    findings.extend(_check_queue(legal))
    findings.extend(check_rto(legal))
    findings.extend(check_core(legal))
    return legal, findings


def check_rto(values: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield a finding if the limits of the retransmission time-out that are given are out of order.

    The way out names every limit below: one that is not given may be in force with a value that breaks the rule next.
    """
    given = [(name, values[name]) for name in RTO_NAMES if name in values]
    if all(smaller <= larger for (_, smaller), (_, larger) in pairwise(given)):
        return
    shown = ", ".join(f"{_RTO_WORDS[name]} {value:g} ms" for name, value in given)
    at = max(i for i, (_, limit) in enumerate(given) if any(limit < below for _, below in given[:i]))
    top, below = given[at], given[:at]
    lower = RTO_NAMES[: RTO_NAMES.index(top[0])]
    way_out = f"with {top[0]}={top[1]:g} also give {' and '.join(f'{name} <= {top[1]:g}' for name in lower)}"
    if at < len(given) - 1:
        way_out += f", or {top[0]} >= {max(limit for _, limit in below):g}"
    way_out += "; a change takes each association down, so change one at a time"
    way_out += "".join(f"; {hint}" for name, value in given if (hint := in_command_units(KNOBS[name], value)))
    yield Finding((top[0],), f"`{RTO_RULE}` must hold", Shown(f"({shown})"), way_out)


def check_core(values: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield a finding for each rule between knobs of the agent, the notifications and the back-off that is broken."""
    throttles = [(name, values[name]) for name in THROTTLES if name in values]
    for (_, below), (name, above) in pairwise(throttles):
        if above < below:
            shown = Shown(", ".join(f"{other}={value:g} %" for other, value in throttles))
            yield Finding((name,), "the throttles of the bands must not fall", shown, f"give at least {below:g}")
    ordered = (
        ("ddn_poll_s", "ddn_window_s", "ddn_poll_s < ddn_window_s", "s", True),
        ("t3346_low_min", "t3346_high_min", "t3346_low_min <= t3346_high_min", "min", False),
    )
    for low, high, rule, unit, strictly in ordered:
        if low not in values or high not in values:
            continue
        if values[low] > values[high] or (strictly and values[low] == values[high]):
            shown = Shown(f"({low}={values[low]:g} {unit}, {high}={values[high]:g} {unit})")
            yield Finding((low,), f"`{rule}` must hold", shown, f"lower {low} or raise {high}")


def warn_rto(values: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield a finding for each limit of the retransmission time-out that the peer's acknowledgements may outlast."""
    delay_ms = values.get("sack_period_ms", ACKNOWLEDGEMENT_DELAY_MS)
    for name in RTO_NAMES:
        if name in values and values[name] <= delay_ms:
            rule = (
                f"should be above {delay_ms:g} ms, for which a peer may hold an acknowledgement back: "
                "what was received is sent again (RFC 9260 6.2, 6.3.1)"
            )
            way_out = f"give at least {100 * math.floor(delay_ms / 100 + 1):g} ms"
            yield Finding((name,), rule, Shown(f"{values[name]:g} ms"), way_out)


def is_sgsn(values: Mapping[str, Any]) -> bool:
    """Tell whether a complete setting is an SGSN's: only that has signalling links."""
    return "rto_max_ms" in values


def without_command(values: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield a finding for each value of an SGSN's setting that it has no command for."""
    if not is_sgsn(values):
        return
    if values.get("t3346_s", 0):
        rule = "must be 0 for an SGSN, whose back-off is a range of minutes"
        yield Finding(("t3346_s",), rule, values["t3346_s"], "use t3346_low_min and t3346_high_min")
    action = values.get("nop_action", SGSN_ACTIONS[0])
    if values.get("nop_rate", OFF) != OFF and action not in SGSN_ACTIONS:
        rule = f"must be {' or '.join(SGSN_ACTIONS)} for an SGSN: how its command spells network failure is not settled"
        yield Finding(("nop_action",), rule, action, "choose reject-congestion")


def on_grid(knob: Knob, value: float) -> int | float:
    """Return the legal value that is nearest to a number."""
    inside = min(max(value, knob.low), knob.high)
    if knob.kind == "int":
        return round(round(inside / knob.step) * knob.step)
    return round(round(inside / knob.step) * knob.step, 9)


def _check_value(knob: Knob, value: Any, values: Mapping[str, Any]) -> KnobValue | Finding:
    if hasattr(value, "item"):
        value = value.item()  # a number of NumPy
    if knob.kind == "choice" and isinstance(value, int) and str(value) in knob.choices:
        return str(value)  # a result code, as YAML reads it
    source = f" ({knob.source})" if knob.source else ""
    if value is False and OFF in knob.words:
        return OFF
    if isinstance(value, str):
        if value in knob.choices or value in knob.words:
            return value
        if knob.kind == "choice":
            return Finding(
                (knob.name,), f"must be one of {knob.range_text}{source}", value, nearest(value, knob.choices)
            )
    rule = f"must be {'a whole number, ' if knob.kind == 'int' else ''}{knob.range_text}{source}"
    if knob.kind == "choice" or isinstance(value, bool) or not isinstance(value, int | float):
        return Finding((knob.name,), rule, value, "give a legal value")
    if not math.isfinite(value):
        return Finding((knob.name,), rule, value, "give a finite number")
    if knob.free and knob.low <= value <= knob.high:
        return value
    legal = on_grid(knob, value)
    if abs(float(legal) - value) <= _TOLERANCE * max(1.0, abs(value)):
        return legal
    if knob is _QUEUE and value < knob.low and _is_default_queue(value, values):
        return round(value)
    way_out = f"the nearest legal value is {legal:g} {knob.unit}".rstrip()
    hint = in_command_units(knob, value)
    way_out += f"; {hint}" if hint else ""
    return Finding((knob.name,), rule, value, way_out)


def in_command_units(knob: Knob, value: float) -> str:
    """Return a hint if a value below the range is a legal one in the units of the command; empty otherwise."""
    meant = value * knob.command_unit
    if knob.command_unit == 1.0 or not value < knob.low <= meant <= knob.high:
        return ""
    return f"the command counts in {knob.command_unit:g} {knob.unit}, so its {value:g} is {meant:g} here"


def _is_default_queue(queue: float, values: Mapping[str, Any]) -> bool:
    """Tell whether a queue below the legal range is what a resolved setting shows for an omitted keyword."""
    rate, wait = values.get("nop_rate"), values.get("nop_wait_s", KNOBS["nop_wait_s"].default)
    return all(isinstance(x, int | float) for x in (rate, wait)) and queue == rate * wait


def _check_queue(values: Mapping[str, KnobValue]) -> Iterator[Finding]:
    rate, queue = values.get("nop_rate"), values.get("nop_queue")
    if queue is not None and "nop_queue_wait_s" in values:
        shown = Shown(f"(nop_queue={queue}, nop_queue_wait_s={values['nop_queue_wait_s']:g} s)")
        yield Finding(
            ("nop_queue_wait_s",),
            "at most one form of the queue can be given",
            shown,
            "leave one of them out",
        )
    if rate == OFF and queue is not None:
        way_out = "leave nop_queue out, or give a nop_rate as a number"
        yield Finding(("nop_queue",), "a gate that is off holds no queue", queue, way_out)
    if isinstance(rate, str) or isinstance(queue, str) or rate is None or queue is None:
        return
    wait = values.get("nop_wait_s")
    highest = math.inf if wait is None else rate * float(wait)
    if rate <= queue <= highest:
        return
    wait_shown = "" if wait is None else f", nop_wait_s={wait} s"
    shown = Shown(f"(nop_rate={rate} per s{wait_shown}, nop_queue={queue} requests)")
    if highest < _QUEUE.low:
        way_out = f"leave nop_queue out: the gate then holds {highest:g} requests"
    else:
        upper = "" if wait is None else f" to {min(highest, _QUEUE.high):g}"
        way_out = f"give a nop_queue of {max(rate, _QUEUE.low):g}{upper}, or leave it out for the default"
    yield Finding(("nop_queue",), f"`{QUEUE_RULE}` must hold", shown, way_out)
