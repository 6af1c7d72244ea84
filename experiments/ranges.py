"""Ranges of knobs: parts of them, Optuna's distributions over them, and values in them."""

from dataclasses import replace

from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from signalstorm.envs.model.errors import ABSENT, Finding, Shown
from signalstorm.envs.model.knob_table import Knob, KnobValue
from signalstorm.envs.model.knobs import round_to_legal
from signalstorm.envs.model.wording import nearest
from signalstorm.experiments.study_file import KnobRange

_WIDE = 100
"""A range that ends at so many times its start is searched on a logarithmic scale, or its small values would drown."""


def narrow(knob: Knob, part: KnobRange) -> tuple[list[Finding], Knob]:
    """Return a row of the table with a part of its range, and what is wrong with the part."""
    if knob.kind == "choice":
        words = knob.choices if part.choices is None else part.choices
        odd = [word for word in words if word not in knob.choices]
        rule = f"must be some of {', '.join(knob.choices)}"
        faults = [Finding((knob.name, "choices"), rule, word, nearest(word, knob.choices)) for word in odd]
        if not words or part.low is not None or part.high is not None:
            faults.append(Finding((knob.name,), "is a knob of words", ABSENT, f"give `choices`, which {rule}"))
        return faults, replace(knob, choices=tuple(words))
    low = knob.low if part.low is None else float(part.low)
    high = knob.high if part.high is None else float(part.high)
    if part.choices is not None or not knob.low <= low <= high <= knob.high:
        rule = f"its range must have low <= high, within {knob.range_text}"
        return [
            Finding((knob.name,), rule, Shown(f"low {low:g}, high {high:g}"), "leave out what is not to change")
        ], knob
    return [], replace(knob, low=low, high=high)


def distribution(knob: Knob) -> BaseDistribution:
    """Return the range of a knob; Optuna takes no step on a logarithmic scale, so points are rounded afterwards."""
    if knob.kind == "choice":
        return CategoricalDistribution(knob.choices)
    log = knob.scale == "log" or (knob.low > 0 and knob.high / knob.low >= _WIDE and knob.step == 1)
    if knob.kind == "int":
        step = 1 if log else round(knob.step)
        low = -(-round(knob.low) // step) * step
        return IntDistribution(low, low + (round(knob.high) - low) // step * step, log=log, step=step)
    return FloatDistribution(knob.low, knob.high, log=log, step=None if log else knob.step)


def clipped(knob: Knob, value: KnobValue) -> KnobValue:
    """Return the nearest value of a row's range."""
    if knob.kind == "choice" or isinstance(value, str):
        return value if value in knob.choices else knob.choices[0]
    nearest_value = min(max(float(value), knob.low), knob.high)
    return value if nearest_value == value else round_to_legal({knob.name: nearest_value})[knob.name]


def contains(knob: Knob, value: KnobValue) -> bool:
    """Tell whether a value lies in a row's range."""
    if knob.kind == "choice" or isinstance(value, str):
        return value in knob.choices
    return knob.low <= value <= knob.high


def default(knob: Knob) -> KnobValue:
    """Return the table's default, or a point of the range where the default is none or a word."""
    if knob.kind == "choice":
        return knob.choices[0] if knob.default is None else knob.default
    if isinstance(knob.default, int | float):
        return knob.default
    middle = (knob.low * knob.high) ** 0.5 if knob.scale == "log" else 5.0
    return round_to_legal({knob.name: middle})[knob.name]
