"""Drawings: tables and curves turned into figures for plotly, as plain JSON.

Colours are those of Okabe and Ito, which colour-blind people tell apart; dashes and markers tell the same in grey.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from signalstorm.envs.model.knob_table import KNOBS
from signalstorm.envs.model.wording import amount
from signalstorm.experiments.recommendation import Interaction, ParetoPoint, StormRow
from signalstorm.experiments.report.curves import Band, Chart

Figure = dict[str, Any]
"""``data`` and ``layout``, as plotly.js takes them."""

LIGHT = {
    "present": "#d55e00",
    "recommended": "#0072b2",
    "present_band": "rgba(213,94,0,0.16)",
    "recommended_band": "rgba(0,114,178,0.18)",
    "ink": "#1b1f24",
    "muted": "#5b6570",
    "grid": "#d9dee3",
    "paper": "#ffffff",
}
"""The colours of a light page."""
DARK = {
    "present": "#f0a04b",
    "recommended": "#66bdf0",
    "present_band": "rgba(240,160,75,0.20)",
    "recommended_band": "rgba(102,189,240,0.20)",
    "ink": "#e8ebee",
    "muted": "#a4adb6",
    "grid": "#3a424b",
    "paper": "#15181c",
}
"""The colours that take their place on a dark page."""

_DASH = {
    ("present", False): "dash",
    ("recommended", False): "solid",
    ("present", True): "dashdot",
    ("recommended", True): "dot",
}
_HOUR_S = 3600.0


def storm_chart(chart: Chart) -> Figure:
    """Draw medians as lines over the bands between the 10th and the 90th percentile."""
    last_s = max(float(band.time_s[-1]) for band in chart.bands)
    unit, scale = ("s", 1.0) if last_s <= 1800 else ("min", 60.0) if last_s <= 3 * _HOUR_S else ("h", _HOUR_S)
    data = [trace for band in chart.bands if not band.part for trace in _area(band, scale)]
    data += [_line(band, scale) for band in chart.bands]
    x_axis = _axis(f"time from the scenario's start [{unit}]", rangemode="tozero")
    return {"data": data, "layout": _layout(x_axis, _axis(chart.unit, rangemode="tozero"), hovermode="x unified")}


def storm_grid(storms: Sequence[StormRow], horizon_s: float) -> Figure:
    """Draw T of each held-out storm under both settings, with the diagonal and each storm's lower bound."""
    reached = [
        t for storm in storms for t in (storm.present_s, storm.recommended_s, storm.lower_bound_s) if t and t > 0
    ]
    low, high = min(reached, default=1.0) / 1.15, max([*reached, horizon_s]) * 1.15
    groups = {
        ("recommended", "circle", "as good or better"): [s for s in storms if not s.worse and _converged(s)],
        ("present", "x", "worse than the present setting"): [s for s in storms if s.worse],
        ("muted", "square-open", "not converged, so drawn at the horizon"): [
            s for s in storms if not s.worse and not _converged(s)
        ],
    }
    data: list[Figure] = [
        {
            "type": "scatter", "mode": "lines", "name": "no difference", "hoverinfo": "skip",
            "x": [low, high], "y": [low, high], "line": {"color": LIGHT["muted"], "width": 1, "dash": "dash"},
        }
    ]  # fmt: skip
    for (colour, symbol, name), rows in groups.items():
        if rows:
            x, y = (
                [horizon_s if t is None else t for t in times]
                for times in zip(*((s.present_s, s.recommended_s) for s in rows), strict=True)
            )
            data.append(_points(name, x, y, colour, symbol, [f"storm {s.number}" for s in rows]))
    bounded = [s for s in storms if s.lower_bound_s]
    if bounded:
        x = [horizon_s if s.present_s is None else s.present_s for s in bounded]
        y = [s.lower_bound_s or 0.0 for s in bounded]
        data.append(
            _points(
                "lower bound of the same storm", x, y, "muted", "line-ew-open", [f"storm {s.number}" for s in bounded]
            )
        )
    span = [math.log10(low), math.log10(high)]
    axes = [
        _axis(f"T, {name} setting [s]", type="log", range=span, minor={"showgrid": False}, **_ticks(low, high))
        for name in ("present", "recommended")
    ]
    return {"data": data, "layout": _layout(*axes, hovermode="closest", height=440)}


def interaction_map(found: Interaction) -> Figure:
    """Draw the cost of storms over two knobs as a map; no value where the two are not legal together."""
    first, second = ([KNOBS[name].text(value) for value in values]
                     for name, values in zip(found.knobs, (found.first, found.second), strict=True))  # fmt: skip
    costs = [cost for row in found.value_s for cost in row if cost is not None]
    text = [["" if cost is None else amount(cost) for cost in row] for row in found.value_s]
    data: list[Figure] = [
        {
            "type": "heatmap", "x": second, "y": first, "z": [list(row) for row in found.value_s],
            "text": text, "texttemplate": "%{text}", "colorscale": "Viridis", "hoverongaps": False,
            "zmin": min(costs, default=0.0), "zmax": max(costs, default=1.0),
            "colorbar": {"title": {"text": "s"}},
            "hovertemplate": f"{found.knobs[0]} %{{y}}, {found.knobs[1]} %{{x}}: %{{z:.4~g}} s<extra></extra>",
        }
    ]  # fmt: skip
    axes = [_axis(name, type="category") for name in reversed(found.knobs)]
    return {"data": data, "layout": _layout(*axes, hovermode="closest", height=380)}


def pareto_front(points: Sequence[ParetoPoint]) -> Figure:
    """Draw settings by two objectives, time first; the others are told when pointed at."""
    names = list(dict.fromkeys(name for point in points for name in point.values))
    second = next((name for name in ("refused_share", *names[1:]) if name in names), names[0])
    text = [
        "<br>".join([f"{name} {amount(value)}" for name, value in point.values.items()]
                    + [f"{knob}={value}" for knob, value in point.override.items()])
        for point in points
    ]  # fmt: skip
    data: list[Figure] = [
        {
            "type": "scatter", "mode": "markers", "text": text, "hovertemplate": "%{text}<extra></extra>",
            "x": _numbers([point.values[names[0]] for point in points]),
            "y": _numbers([point.values[second] for point in points]),
            "marker": {"color": LIGHT["recommended"], "size": 9, "opacity": 0.85},
        }
    ]  # fmt: skip
    axes = [_axis(name.replace("_", " ")) for name in (names[0], second)]
    return {"data": data, "layout": _layout(*axes, hovermode="closest", height=380)}


def _converged(storm: StormRow) -> bool:
    return storm.present_s is not None and storm.recommended_s is not None


def _area(band: Band, scale: float) -> Iterable[Figure]:
    shared = {
        "type": "scatter", "mode": "lines", "hoverinfo": "skip", "showlegend": False,
        "x": _numbers(band.time_s / scale), "line": {"width": 0, "color": LIGHT[f"{band.setting}_band"]},
    }  # fmt: skip
    yield {**shared, "y": _numbers(band.low)}
    yield {**shared, "y": _numbers(band.high), "fill": "tonexty", "fillcolor": LIGHT[f"{band.setting}_band"]}


def _line(band: Band, scale: float) -> Figure:
    dash = _DASH[band.setting, bool(band.part)]
    return {
        "type": "scatter", "mode": "lines", "name": ", ".join(filter(None, (band.setting, band.part))),
        "x": _numbers(band.time_s / scale), "y": _numbers(band.median), "hovertemplate": "%{y:.4~g}",
        "line": {"color": LIGHT[band.setting], "width": 1.5 if band.part else 2.2, "dash": dash},
    }  # fmt: skip


def _points(name: str, x: Sequence[float], y: Sequence[float], colour: str, symbol: str, text: Sequence[str]) -> Figure:
    line = {"width": 1.5, "color": LIGHT[colour]}
    return {
        "type": "scatter", "mode": "markers", "name": name, "x": _numbers(x), "y": _numbers(y), "text": list(text),
        "hovertemplate": "%{text}: present %{x:.4~g} s, here %{y:.4~g} s",
        "marker": {"color": LIGHT[colour], "symbol": symbol, "size": 8, "opacity": 0.85, "line": line},
    }  # fmt: skip


def _layout(x_axis: Figure, y_axis: Figure, *, hovermode: str, height: int = 300) -> Figure:
    return {
        "xaxis": x_axis, "yaxis": y_axis, "hovermode": hovermode, "height": height, "autosize": True,
        "margin": {"l": 60, "r": 14, "t": 10, "b": 48},
        "paper_bgcolor": "rgba(0,0,0,0)", "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": "system-ui, sans-serif", "size": 12, "color": LIGHT["ink"]},
        "hoverlabel": {"bgcolor": LIGHT["paper"], "bordercolor": LIGHT["grid"], "font": {"color": LIGHT["ink"]}},
        "legend": {"orientation": "h", "x": 0, "y": 1.04, "xanchor": "left", "yanchor": "bottom",
                   "traceorder": "normal"},
    }  # fmt: skip


def _axis(title: str, **more: Any) -> Figure:
    line = {"gridcolor": LIGHT["grid"], "zerolinecolor": LIGHT["grid"], "linecolor": LIGHT["muted"]}
    return {"title": {"text": title, "standoff": 8}, "automargin": True, "ticks": "outside", **line, **more}


def _ticks(low: float, high: float) -> Figure:
    """Ticks at 1, 2 and 5 times powers of ten, which stay readable on a narrow screen."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    marks = [m * 10.0**p for p in powers for m in (1, 2, 5) if low <= m * 10.0**p <= high]
    return {"tickvals": marks, "ticktext": [f"{mark:g}" for mark in marks]}


def _numbers(values: Sequence[float] | npt.NDArray[np.float64]) -> list[float | None]:
    """Round to five digits, which no screen shows, and turn NaN into a gap."""
    return [
        float(f"{value:.5g}") if math.isfinite(value) else None for value in np.asarray(values, dtype=float).tolist()
    ]
