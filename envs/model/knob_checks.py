"""What is legal for one knob, and for the knobs that are tied together."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from signalstorm.envs.model.errors import ABSENT, Finding, Shown
from signalstorm.envs.model.knob_table import KNOBS, OFF, QUEUE_RULE, Knob, KnobValue
from signalstorm.envs.model.wording import nearest

_QUEUE = KNOBS["nop_queue"]
_TOLERANCE = 1e-9


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
    return legal, findings


def on_grid(knob: Knob, value: float) -> int | float:
    """Return the legal value that is nearest to a number."""
    inside = min(max(value, knob.low), knob.high)
    if knob.kind == "int":
        return round(round(inside / knob.step) * knob.step)
    return round(round(inside / knob.step) * knob.step, 9)


def _check_value(knob: Knob, value: Any, values: Mapping[str, Any]) -> KnobValue | Finding:
    if hasattr(value, "item"):
        value = value.item()  # a number of NumPy
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
    legal = on_grid(knob, value)
    if abs(float(legal) - value) <= _TOLERANCE * max(1.0, abs(value)):
        return legal
    if knob is _QUEUE and value < knob.low and _is_default_queue(value, values):
        return round(value)
    return Finding((knob.name,), rule, value, f"the nearest legal value is {legal:g} {knob.unit}".rstrip())


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
