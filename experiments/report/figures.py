"""Drawings of storms: curves over time, links, what is left of the storms, and one storm after another."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from signalstorm.envs.model.wording import amount
from signalstorm.experiments.clock import start_of_day_s
from signalstorm.experiments.recommendation import Recommendation, ScenarioName, StormRow
from signalstorm.experiments.report.curves import Band, Chart, LinkMap
from signalstorm.experiments.report.drawing import (
    HOUR_S,
    LIGHT,
    SYMBOLS,
    Figure,
    axis,
    layout,
    line_at,
    log_axis,
    numbers,
)
from signalstorm.experiments.report.survival import Survival

_DASH = {
    ("present", 0): "dash",
    ("recommended", 0): "solid",
    ("present", 1): "dashdot",
    ("recommended", 1): "dot",
}
"""By setting and place of the part."""
_DAY = datetime(2000, 1, 1)
"""Any day: axes show times of day only."""


_EDGE = 1.3
"""How far the least T that can be drawn on a logarithmic axis lies above the axis's beginning, as a factor."""


class TimeAxis:
    """The axis of a scenario's time: the time of day where the scenario has one, else seconds, minutes or hours."""

    def __init__(self, scenario: ScenarioName | None, last_s: float) -> None:
        self._start_s = None if scenario is None else start_of_day_s(scenario.clock_start)
        self._count_from_s = 0.0 if scenario is None else scenario.count_from_s
        unit, self._scale = ("s", 1.0) if last_s <= 1800 else ("min", 60.0) if last_s <= 3 * HOUR_S else ("h", HOUR_S)
        self._title = f"time from the scenario's start [{unit}]"

    def place(self, time_s: float) -> Any:
        """Return a time as the axis has it."""
        if self._start_s is None:
            return numbers([time_s / self._scale])[0]
        return (_DAY + timedelta(seconds=self._start_s + time_s)).isoformat()

    def steps(self, time_s: Sequence[float] | Any) -> Figure:
        """Return evenly spaced times as a trace has them."""
        step_s = float(time_s[1] - time_s[0]) if len(time_s) > 1 else 1.0
        step = step_s / self._scale if self._start_s is None else 1000.0 * step_s  # dates count in milliseconds
        return {"x0": self.place(float(time_s[0])), "dx": numbers([step], 8)[0]}

    @property
    def axis(self) -> Figure:
        """The axis."""
        if self._start_s is None:
            return axis(self._title, rangemode="tozero")
        return axis("time of day [hh:mm]", type="date", tickformat="%H:%M", hoverformat="%H:%M", nticks=7)

    @property
    def mark(self) -> Figure:
        """A line where T starts to count, as a part of a layout; nothing where that is the start."""
        return line_at(self.place(self._count_from_s)) if self._count_from_s > 0 else {}


def storm_chart(chart: Chart, scenario: ScenarioName | None = None) -> Figure:
    """Draw medians as lines over the bands between the 10th and the 90th percentile.

    Args:
        chart: What to draw.
        scenario: Whose time of day the axis shows; None: it counts from the start.
    """
    time = TimeAxis(scenario, max(float(band.time_s[-1]) for band in chart.bands))
    parts = list(dict.fromkeys(band.part for band in chart.bands))
    data = [trace for band in chart.bands if band.part == parts[0] for trace in _area(band, time)]
    data += [_line(band, time, parts.index(band.part)) for band in chart.bands]
    y_axis = axis(chart.unit, rangemode="tozero")
    return {"data": data, "layout": layout(time.axis, y_axis, hovermode="x unified", **time.mark)}


def link_map(found: LinkMap, scenario: ScenarioName) -> Figure:
    """Draw when which link is congested, as a share of the storms."""
    time = TimeAxis(scenario, float(found.time_s[-1]))
    data: list[Figure] = [
        {
            "type": "heatmap", **time.steps(found.time_s), "y": list(found.links), "zmin": 0, "zmax": 100,
            "z": [numbers(100.0 * row, 3) for row in found.share],
            "colorscale": [[0, LIGHT["grid"]], [1, LIGHT["ink"]]],
            "colorbar": {"title": {"text": "% of storms", "side": "right"}, "thickness": 12, "outlinewidth": 0},
            "hovertemplate": "%{y} at %{x}: congested in %{z} % of the storms<extra></extra>",
        }
    ]  # fmt: skip
    y_axis = axis("link", type="category", autorange="reversed")
    height = 130 + 22 * len(found.links)
    return {"data": data, "layout": layout(time.axis, y_axis, height=height, **time.mark)}


def survival_chart(curves: Sequence[Survival], horizon_s: float) -> Figure:
    """Draw the share of storms that are not over yet, with its 95 % interval."""
    data: list[Figure] = []
    for found in curves:
        x = numbers(found.time_s)
        shared = {"type": "scatter", "mode": "lines", "x": x, "hoverinfo": "skip", "showlegend": False}
        flat = {"width": 0, "shape": "hv", "color": LIGHT[f"{found.setting}_band"]}
        data += [
            {**shared, "y": numbers(100 * found.low, 4), "line": flat, "name": f"{found.setting}, lower end"},
            {
                **shared,
                "y": numbers(100 * found.high, 4),
                "line": flat,
                "name": f"{found.setting}, upper end",
                "fill": "tonexty",
                **_fill(found.setting),
            },
        ]
    for found in curves:
        data.append(
            {
                "type": "scatter", "mode": "lines", "name": found.setting, "x": numbers(found.time_s),
                "y": numbers(100 * found.share, 4), "hovertemplate": "%{y:.3~g} % are not over at T = %{x:.4~g} s",
                "line": {"color": LIGHT[found.setting], "width": 2.4, "dash": _DASH[found.setting, 0], "shape": "hv"},
            }
        )  # fmt: skip
    axes = axis("T [s]", range=[0, horizon_s]), axis("storms not over yet [% of storms]", range=[0, 102])
    return {"data": data, "layout": layout(*axes, height=440)}


def storm_grid(storms: Sequence[StormRow], horizon_s: float) -> Figure:
    """Draw T of each held-out storm under both settings, with the diagonal and each storm's lower bound.

    The axes are logarithmic: where T is 0 a storm stands at their beginning, and its name says so.
    """
    reached = [
        t for storm in storms for t in (storm.present_s, storm.recommended_s, storm.lower_bound_s) if t and t > 0
    ]
    low, high = min(reached, default=1.0) / _EDGE, max([*reached, horizon_s])
    converged = [storm for storm in storms if not storm.worse and _converged(storm)]
    groups = {
        ("recommended", "circle", "as good or better"): [s for s in converged if not _at_once(s)],
        ("present", "x", "worse than the present setting"): [s for s in storms if s.worse],
        ("muted", "square-open", "not converged, so drawn at the horizon"): [
            s for s in storms if not s.worse and not _converged(s)
        ],
        ("recommended", "circle-open", "as good or better, T of 0 drawn at the edge"): [
            s for s in converged if _at_once(s)
        ],
    }
    data: list[Figure] = [
        {
            "type": "scatter", "mode": "lines", "name": "no difference", "hoverinfo": "skip",
            "x": numbers([low, high]), "y": numbers([low, high]),
            "line": {"color": LIGHT["muted"], "width": 1, "dash": "dash"},
        }
    ]  # fmt: skip
    for (colour, symbol, name), rows in groups.items():
        if rows:
            x, y = (
                [horizon_s if t is None else max(t, low) for t in times]
                for times in zip(*((s.present_s, s.recommended_s) for s in rows), strict=True)
            )
            data.append(_points(name, x, y, colour, symbol, [f"storm {s.number}" for s in rows]))
    bounded = [s for s in storms if s.lower_bound_s]
    if bounded:
        x = [horizon_s if s.present_s is None else max(s.present_s, low) for s in bounded]
        y = [s.lower_bound_s or 0.0 for s in bounded]
        names = [f"storm {s.number}" for s in bounded]
        data.append(_points("lower bound of the same storm", x, y, "muted", "line-ew-open", names))
    axes = [log_axis(f"T, {name} setting [s]", [low, high]) for name in SYMBOLS]
    return {"data": data, "layout": layout(*axes, height=440)}


def headline(record: Recommendation) -> Figure:
    """Draw T of the storm as it is under both settings, its lower bound, and the horizon."""
    nominal = record.nominal
    data: list[Figure] = []
    for setting, found in (("present", nominal.present), ("recommended", nominal.recommended)):
        spread, last_s = found.convergence_time_s, nominal.horizon_s
        low, middle, high = (last_s if t is None else t for t in (spread.p10, spread.median, spread.p90))
        beyond = spread.median is None
        data.append(
            {
                "type": "scatter", "mode": "markers+text", "name": setting, "x": numbers([middle]), "y": [setting],
                "error_x": {"type": "data", "symmetric": False, "array": numbers([high - middle]),
                            "arrayminus": numbers([middle - low]), "thickness": 3, "width": 7, "color": LIGHT[setting]},
                "text": [f"beyond {amount(last_s)} s" if beyond else f"{amount(middle)} s"],
                "textposition": f"top {_side(middle / last_s)}",
                "marker": {"symbol": "triangle-right" if beyond else SYMBOLS[setting], "size": 14,
                           "color": LIGHT[setting]},
                "hovertemplate": "%{y}: %{text}<extra></extra>", "cliponaxis": False, "showlegend": False,
            }
        )  # fmt: skip
    more: Figure = {"shapes": [], "annotations": []}
    marks = [(nominal.lower_bound_s, "lower bound", "left"), (nominal.horizon_s, "horizon", "right")]
    for at_s, words, side in marks:
        if at_s is not None:
            drawn = line_at(numbers([at_s])[0], words, side=side)
            more = {key: [*more[key], *drawn[key]] for key in more}
    x_axis = axis("T, the time to converge [s]", range=[0, 1.04 * nominal.horizon_s])
    y_axis = axis("setting", type="category", range=[1.6, -0.9])
    return {"data": data, "layout": layout(x_axis, y_axis, height=220, **more)}


def _side(place: float) -> str:
    """Return the side of a mark on which its words stay clear of both ends of the axis."""
    return "left" if place > 0.8 else "right" if place < 0.2 else "center"


def _name(band: Band) -> str:
    return ", ".join(filter(None, (band.setting, band.part)))


def _converged(storm: StormRow) -> bool:
    return storm.present_s is not None and storm.recommended_s is not None


def _at_once(storm: StormRow) -> bool:
    """Tell whether T is 0 under one of the settings: nobody lost service beyond the band."""
    return 0.0 in (storm.present_s, storm.recommended_s)


def _fill(setting: str) -> Figure:
    """Return the fill of a band: hatched for the present setting, which grey shows too."""
    if setting == "recommended":
        return {"fillcolor": LIGHT["recommended_band"]}
    pattern = {"shape": "/", "size": 6, "solidity": 0.15, "fgcolor": LIGHT["present_hatch"],
               "bgcolor": LIGHT["present_band"], "fillmode": "overlay"}  # fmt: skip
    return {"fillcolor": LIGHT["present_band"], "fillpattern": pattern}


def _area(band: Band, time: TimeAxis) -> Iterable[Figure]:
    shared = {
        "type": "scatter", "mode": "lines", "hoverinfo": "skip", "showlegend": False, **time.steps(band.time_s),
        "line": {"width": 0, "color": LIGHT[f"{band.setting}_band"]},
    }  # fmt: skip
    name = _name(band)
    yield {**shared, "y": numbers(band.low, 4), "name": f"{name}, 10th percentile"}
    high = {**shared, "y": numbers(band.high, 4), "name": f"{name}, 90th percentile"}
    yield {**high, "fill": "tonexty", **_fill(band.setting)}


def _line(band: Band, time: TimeAxis, part: int) -> Figure:
    dash = _DASH[band.setting, min(part, 1)]
    return {
        "type": "scatter", "mode": "lines", "name": _name(band),
        **time.steps(band.time_s), "y": numbers(band.median, 4), "hovertemplate": "%{y:.4~g}",
        "line": {"color": LIGHT[band.setting], "width": 1.5 if part else 2.2, "dash": dash},
    }  # fmt: skip


def _points(name: str, x: Sequence[float], y: Sequence[float], colour: str, symbol: str, text: Sequence[str]) -> Figure:
    line = {"width": 1.5, "color": LIGHT[colour]}
    return {
        "type": "scatter", "mode": "markers", "name": name, "x": numbers(np.asarray(x)), "y": numbers(np.asarray(y)),
        "text": list(text), "hovertemplate": "%{text}: present %{x:.4~g} s, here %{y:.4~g} s",
        "marker": {"color": LIGHT[colour], "symbol": symbol, "size": 8, "opacity": 0.85, "line": line},
    }  # fmt: skip
