"""What all drawings share: colours, axes, and the layout of a figure for plotly, as plain JSON.

Colours are those of Okabe and Ito, which colour-blind people tell apart; dashes, hatches and markers tell the same in
grey.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Figure = dict[str, Any]
"""``data`` and ``layout``, as plotly.js takes them."""

LIGHT = {
    "present": "#d55e00",
    "recommended": "#0072b2",
    "present_band": "rgba(213,94,0,0.16)",
    "recommended_band": "rgba(0,114,178,0.18)",
    "present_hatch": "rgba(213,94,0,0.45)",
    "ink": "#1b1f24",
    "muted": "#5b6570",
    "grid": "#d9dee3",
    "safe": "#9aa5b1",
    "paper": "#ffffff",
}
"""The colours of a light page."""
DARK = {
    "present": "#f0a04b",
    "recommended": "#66bdf0",
    "present_band": "rgba(240,160,75,0.20)",
    "recommended_band": "rgba(102,189,240,0.20)",
    "present_hatch": "rgba(240,160,75,0.50)",
    "ink": "#e8ebee",
    "muted": "#a4adb6",
    "grid": "#3a424b",
    "safe": "#6c7783",
    "paper": "#15181c",
}
"""The colours that take their place on a dark page."""
SYMBOLS = {"present": "x", "recommended": "circle"}
"""Markers of the two settings."""
HOUR_S = 3600.0


def layout(x_axis: Figure, y_axis: Figure, *, hovermode: str = "closest", height: int = 300, **more: Any) -> Figure:
    """Return the layout of a figure with one pair of axes.

    Args:
        x_axis: From `axis`.
        y_axis: From `axis`.
        hovermode: What is told when the mouse is over the figure.
        height: [px].
        more: Further properties of plotly's layout.
    """
    return {
        "xaxis": x_axis, "yaxis": y_axis, "hovermode": hovermode, "height": height, "autosize": True,
        "margin": {"l": 60, "r": 14, "t": 10, "b": 48},
        "paper_bgcolor": "rgba(0,0,0,0)", "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": "system-ui, sans-serif", "size": 12, "color": LIGHT["ink"]},
        "hoverlabel": {"bgcolor": LIGHT["paper"], "bordercolor": LIGHT["grid"], "font": {"color": LIGHT["ink"]}},
        "legend": {"orientation": "h", "x": 0, "y": 1.04, "xanchor": "left", "yanchor": "bottom",
                   "traceorder": "normal"},
        **more,
    }  # fmt: skip


def axis(title: str, **more: Any) -> Figure:
    """Return an axis; the title says the unit."""
    line = {"gridcolor": LIGHT["grid"], "zerolinecolor": LIGHT["grid"], "linecolor": LIGHT["muted"]}
    return {"title": {"text": title, "standoff": 8}, "automargin": True, "ticks": "outside", **line, **more}


def ticks(low: float, high: float) -> Figure:
    """Return ticks at 1, 2 and 5 times powers of ten, which stay readable on a narrow screen; more on a short axis."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    marks: list[float] = []
    for steps in ((1, 2, 5), range(1, 10)):
        if len(marks) < 3:
            marks = [m * 10.0**p for p in powers for m in steps if low <= m * 10.0**p <= high]
    # As plotly does on its other axes: thousands are shortened together, or not at all.
    short = high >= 10_000
    return {"tickvals": marks, "ticktext": [f"{m / 1000:g}k" if short and m >= 1000 else f"{m:g}" for m in marks]}


def log_axis(title: str, values: Sequence[float]) -> Figure:
    """Return a logarithmic axis over positive values, with some room at both ends."""
    low, high = min(values) / 1.15, max(values) * 1.15
    span = [math.log10(low), math.log10(high)]
    marks = ticks(low, high / 1.02)  # a mark at the very end would have no room for its number
    return axis(title, type="log", range=span, minor={"showgrid": False}, **marks)


def numbers(values: Sequence[float] | npt.NDArray[np.float64], digits: int = 5) -> list[float | None]:
    """Round to so many digits, which no screen shows, and turn NaN into a gap."""
    plain = (
        float(f"{value:.{digits}g}") if math.isfinite(value) else None for value in np.asarray(values, dtype=float)
    )
    return [int(value) if value is not None and value.is_integer() else value for value in plain]


def line_at(x: Any, words: str = "", *, side: str = "left") -> Figure:
    """Return a vertical line, with words beside it where there are any, as a part of a layout.

    Args:
        x: Where, as the axis has it.
        words: What it stands for.
        side: The side of the words that lies at the line.
    """
    line = {"color": LIGHT["muted"], "width": 1, "dash": "dot"}
    shape = {"type": "line", "x0": x, "x1": x, "yref": "paper", "y0": 0, "y1": 1, "line": line}
    if not words:
        return {"shapes": [shape]}
    place = {"x": x, "xanchor": side, "yref": "paper", "y": 1, "yanchor": "top"}
    note = {**place, "text": words, "showarrow": False, "font": {"size": 11, "color": LIGHT["muted"]}}
    return {"shapes": [shape], "annotations": [note]}
