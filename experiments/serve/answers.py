"""Answers: present and changed storm as curves, figures and sentences, in JSON's own types."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from signalstorm.envs.model.wording import amount
from signalstorm.experiments.recommendation import ScenarioName
from signalstorm.experiments.report.curves import Band, Chart
from signalstorm.experiments.report.drawing import LIGHT, Figure
from signalstorm.experiments.report.figures import TimeAxis, storm_chart
from signalstorm.experiments.series import Series, means
from signalstorm.experiments.serve.storms import Outcome
from signalstorm.experiments.storm_views import View, time_axis, views

Floats = npt.NDArray[np.float64]

_POINTS = 300
"""Points of a curve at most: more would be means over neighbours."""
_SETTINGS = {"present": "present", "recommended": "changed"}
"""How drawings of two settings call them, and how the page does."""

Row = tuple[str, str, str]
"""A row of the table: what is measured, at present, and changed."""


def charts(present: Outcome, changed: Outcome) -> dict[str, Figure]:
    """Return the figures by the key of their view."""
    before, after = _series(present), _series(changed)
    # The axis counts from the start, as events do, whether or not the scenario has a time of day.
    scenario = present.result.scenario
    plain = ScenarioName(name=scenario.name, hash="", clock_start=None, count_from_s=scenario.convergence.count_from_s)
    found = {view.key: _figure(view, plain, before, after) for view in views(before)}
    if "links" in found:
        found |= {
            f"links-{name}": _link_map(plain, series)
            for name, series in zip(_SETTINGS.values(), (before, after), strict=True)
        }
    return found


def titles(present: Outcome) -> dict[str, str]:
    """Return what the charts of a scenario show, by the key of each."""
    found = {view.key: view.title for view in views(_series(present))}
    if "links" in found:
        found |= {f"links-{name}": f"Which links are congested, {name}" for name in _SETTINGS.values()}
    return found


def rows(present: Outcome, changed: Outcome) -> list[Row]:
    """Return the table of figures."""
    before, after = dict(_figures(present.record)), dict(_figures(changed.record))
    return [(name, before[name], after[name]) for name in before]


def headline(found: Sequence[Row]) -> str:
    """Return the first row of the table as a sentence part."""
    _, before, after = found[0]
    return f"T as at present: {before}" if before == after else f"T {after}, at present {before}"


def _series(outcome: Outcome) -> Series:
    if outcome.result.series is None:
        raise ValueError("the storms were not recorded: simulate them with record=True")
    return outcome.result.series


def _figure(view: View, scenario: ScenarioName, before: Series, after: Series) -> Figure:
    bands = tuple(_band(name, view, series) for name, series in zip(_SETTINGS, (before, after), strict=True))
    figure = storm_chart(Chart(view.key, view.title, view.unit, bands), scenario)
    for rank, trace in enumerate(figure["data"]):
        setting, comma, rest = trace["name"].partition(",")
        trace |= {"name": f"{_SETTINGS[setting]}{comma}{rest}", "legendrank": rank}
    # The dashes of the present setting lie over the solid line, so that both are seen where they are one.
    figure["data"].sort(key=lambda trace: trace["name"] == "present")
    if view.most is not None:
        figure["layout"]["yaxis"]["range"] = [0, view.most * 1.02]
    return figure


def _band(setting: str, view: View, series: Series) -> Band:
    values, time_s = view.values(series), series.time_s
    merge = -(-len(time_s) // _POINTS)
    values, time_s = means(values, merge), time_s[merge - 1 :: merge]
    low, median, high = np.percentile(values, [10, 50, 90], axis=1)
    step_s = float(time_s[0]) if len(time_s) == 1 else float(time_s[1] - time_s[0])
    return Band(setting, "", time_s, low, median, high, values.shape[1], step_s)


def _link_map(scenario: ScenarioName, series: Series) -> Figure:
    """Draw when each link is congested: the share of the storms, dark where it is all of them."""
    unit, length_s = time_axis(float(series.time_s[-1]))
    links = {name: numbers for (name, quantity), (_, numbers) in series.values.items() if quantity == "congested"}
    merge = -(-len(series.time_s) // _POINTS)
    time_s = series.time_s[merge - 1 :: merge]
    shares = [means(numbers, merge).mean(axis=1).round(3).tolist() for numbers in links.values()]
    data: list[Figure] = [
        {
            "type": "heatmap", "x": (time_s / length_s).round(4).tolist(), "y": list(links), "z": shares, "zmin": 0,
            "zmax": 1, "colorscale": [[0, LIGHT["grid"]], [1, LIGHT["ink"]]], "ygap": 2,
            "colorbar": {"title": {"text": "share of storms", "side": "right"}, "thickness": 12, "tickformat": ".0%"},
            "hovertemplate": "%{y} at %{x:.4~g} " + unit + ": %{z:.0%} of the storms<extra></extra>",
        }
    ]  # fmt: skip
    axis = {"automargin": True, "gridcolor": LIGHT["grid"], "linecolor": LIGHT["muted"]}
    x_axis = {**axis, "title": {"text": f"time from the scenario's start [{unit}]", "standoff": 8}, "ticks": "outside"}
    return {
        "data": data,
        "layout": {
            "xaxis": x_axis, "yaxis": {**axis, "autorange": "reversed", "type": "category", "title": {"text": "link"}},
            "height": 300, "autosize": True, "margin": {"l": 60, "r": 14, "t": 10, "b": 48},
            "paper_bgcolor": "rgba(0,0,0,0)", "plot_bgcolor": "rgba(0,0,0,0)",
            "font": {"family": "system-ui, sans-serif", "size": 12, "color": LIGHT["ink"]},
            **TimeAxis(scenario, float(series.time_s[-1])).mark,
        },
    }  # fmt: skip


def _figures(record: dict[str, Any]) -> Iterator[tuple[str, str]]:
    last_s, spread = record["horizon_s"] - record["count_from_s"], record["convergence_time_s"]
    if spread is None or spread["median"] is None:
        time = f"not reached in {amount(last_s)} s"
    elif not record["stormed"]:
        time = "no storm"
    else:
        time = f"{amount(spread['median'])} s"
    yield "Time to converge, T (median)", time
    yield "Converged within the horizon", f"{record['converged_share']:.0%} of the storms"
    yield "Restricted mean of T", f"{amount(record['rmst_s'])} s"
    bound = record["lower_bound_s"]
    yield "Lower bound of T", "none" if bound is None else f"{amount(bound)} s"
    yield "Service lost", f"{amount(record['subscriber_hours_lost'])} subscriber-hours"
    yield "Requests", f"{amount(record['attempts'])}, peak {amount(record['peak_request_rate_per_s'])} per s"
    yield "Requests per subscriber", amount(record["attempts_per_subscriber"])
    refused = sum(value or 0.0 for value in record["refused"].values())
    turned = f"refused {amount(refused)}, dropped {amount(record['dropped'])}, expired {amount(record['expired'])}"
    yield "Turned away", turned
    congested = [link["congested_s"] for link in record["links"]]
    if congested:
        yield "Links congested", f"{amount(sum(congested) / len(congested))} s on average"
