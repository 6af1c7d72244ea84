"""What a controller sees and sets over time, beside the present setting: the curves of closed loops."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from signalstorm.agents.learnt import Learnt
from signalstorm.agents.steering import Lawful
from signalstorm.envs.model.files import write_atomic
from signalstorm.envs.model.knob_table import KNOBS
from signalstorm.experiments import contestants
from signalstorm.experiments.clock import counted_of
from signalstorm.experiments.drawn_scenario import scenario_of
from signalstorm.experiments.evaluate import StormSet
from signalstorm.experiments.loops import Floats, LoopResult, numbers_from, run_loop
from signalstorm.experiments.recommendation import ScenarioName
from signalstorm.experiments.report.curves import SETTINGS, Band, Chart
from signalstorm.experiments.report.loop_page import loop_page

STORMS = 20
"""Held-out storms behind the curves, at most: a band of ten per cent needs no more."""
_FIRST = 20_000
_SEEN = (
    ("requests", "attach requests", "Attach requests", "requests per s"),
    ("admitted", "admitted", "Let through by the gate", "requests per s"),
    ("accepts", "attach accepts", "Attaches accepted", "attaches per s"),
    ("registered", "registered", "Registered subscribers", "subscribers"),
    ("gate", "waiting at the gate", "Queue of the gate", "requests"),
    ("links-queue", "links queue", "Waiting on the links", "messages"),
    ("links-congested", "links congested", "Congested links", "links"),
    ("imsimgr", "CPU of the IMSI manager", "CPU of the IMSI manager", "% of capacity"),
)
"""What an operator sees that is drawn, where there is such a thing: name, quantity, title, unit in words."""


def write_curves(
    thing: str, scenario: str, path: str | os.PathLike[str], storms: int = STORMS, *, transfer: bool = False
) -> Path:
    """Write a page of curves: what a controller sees and sets over time, beside the present setting.

    Args:
        thing: A contestant's name, a file, a recommendation or a policy, see `contestants.find`.
        scenario: A scenario's name or path, or the id of an environment on drawn storms.
        path: The HTML file.
        storms: Held-out storms.
        transfer: Whether a policy or rule of another scenario or model will do; the page says so.

    Raises:
        InputError: If there is no such contestant or scenario.
        OSError: If the file cannot be written.
    """
    model = scenario_of(scenario)
    met = StormSet(model, tuple(numbers_from(_FIRST, storms)), vary=True)
    steerings = [contestants.find(each, model, transfer=transfer) for each in (contestants.PRESENT, thing)]
    results = [run_loop(steering, met, series=True) for steering in steerings]
    name = ScenarioName(
        name=model.name, hash=model.hash(), clock_start=model.clock_start, count_from_s=model.convergence.count_from_s
    )
    origin = steerings[1].origin if isinstance(steerings[1], Learnt | Lawful) else None
    made_on = f" The {origin.kind} {origin.name} {origin.words}." if origin and origin.differs else ""
    page = loop_page(name, steerings[1].name, charts_of(*results), counted_of(model) + made_on)
    write_atomic(Path(path), page)
    return Path(path)


def charts_of(present: LoopResult, other: LoopResult) -> list[Chart]:
    """Return what was set, then what was seen of the storms; a storm that is over shows nothing any more."""
    results = dict(zip(SETTINGS, (present, other), strict=True))
    return [*_set(results), *_seen(results)]


def _set(results: Mapping[str, LoopResult]) -> Iterator[Chart]:
    names = dict.fromkeys(name for result in results.values() for name in result.values)
    for name in names:
        knob = KNOBS[name]
        bands = [_band(setting, result, np.where(np.isfinite(result.values[name]), result.values[name], np.nan))
                 for setting, result in results.items() if name in result.values]  # fmt: skip
        yield Chart(f"knob-{name.replace('_', '-')}", f"{name} in force", knob.unit or name, _kept(bands))


def _seen(results: Mapping[str, LoopResult]) -> Iterator[Chart]:
    for name, quantity, title, unit in _SEEN:
        bands = []
        for setting, result in results.items():
            if result.readings and quantity in result.readings[0].values:
                values = np.array([reading.values[quantity] for reading in result.readings], np.float64)
                bands.append(_band(setting, result, values * (100.0 if unit.startswith("%") else 1.0)))
        if kept := _kept(bands):
            yield Chart(name, title, unit, kept)


def _band(setting: str, result: LoopResult, values: Floats) -> Band | None:
    """Summarise the storms that go on; None where no storm has a value.

    Args:
        setting: Which of the two.
        result: The storms.
        values: Shape (intervals, storms); NaN where there is no number, such as a gate that is off.
    """
    time_s = np.array([reading.end_s for reading in result.readings])
    over_s = result.storms.scenario.convergence.count_from_s + result.restricted_s
    lasting = np.where(time_s[:, np.newaxis] <= over_s + result.interval_s, values, np.nan)
    known = np.isfinite(lasting).any(axis=1)
    if not known.any():
        return None
    lasting, time_s = lasting[known], time_s[known]
    low, median, high = np.nanpercentile(lasting, [10, 50, 90], axis=1)
    return Band(setting, "", time_s, low, median, high, lasting.shape[1], result.interval_s)


def _kept(bands: Sequence[Band | None]) -> tuple[Band, ...]:
    return tuple(band for band in bands if band is not None)
