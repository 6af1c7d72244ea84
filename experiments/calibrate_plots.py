"""Plots of a calibration: observed and fitted, and what is left between them, as one page that needs no network."""

import html
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

if TYPE_CHECKING:
    from signalstorm.experiments.calibrate import Calibration

_OBSERVED, _MODEL, _BAND = "#1b1f24", "#0072b2", "rgba(0,114,178,0.18)"
_GOOD = 2.0
"""Residuals within so many errors are what chance allows."""


def page(result: "Calibration") -> str:
    """Return the page as HTML."""
    figures = list(_figures(result))
    rows = "".join(
        f"<tr><td>{html.escape(p.path)}</td><td>{p.start:g}</td><td><b>{result.values[p.path]:g}</b></td><td>"
        f"{result.intervals[p.path][0]:g} to {result.intervals[p.path][1]:g}</td><td>{html.escape(p.unit)}</td></tr>"
        for p in result.space.parameters
    )
    said = "".join(f"<li>{html.escape(sentence)}</li>" for sentence in result.sentences())
    drawn = "".join(
        figure.to_html(full_html=False, include_plotlyjs=i == 0, config={"displaylogo": False})
        for i, figure in enumerate(figures)
    )
    names = html.escape(", ".join(case.scenario.name for case in result.cases))
    return (
        f"<!doctype html><html lang=en><head><meta charset=utf-8><title>Calibration of {names}</title><style>"
        "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
        "td,th{padding:.2rem .8rem;text-align:left;border-bottom:1px solid #d9dee3}</style></head><body>"
        f"<h1>Calibration of {names}</h1><p>Mean squared residual {result.found.cost:.2f} errors "
        f"(before: {result.found.start_cost:.3g}), {result.found.runs:,} storms run.</p>"
        f"<table><tr><th>parameter<th>before<th>fitted<th>90 % interval<th>unit</tr>{rows}</table><ul>{said}</ul>"
        f"{drawn}</body></html>\n"
    )


def _figures(result: "Calibration") -> Iterator[Any]:
    entries = result.entries()
    at = 0
    for case in result.cases:
        for series in case.series:
            count = len(series.rates_per_s)
            middle = ((series.start_s + series.end_s) / 2.0).tolist()
            yield _series(f"{case.scenario.name}: {series.name}", middle, entries[at : at + count])
            at += count
        rest = len(case.alarms) + len(case.singles)
        if rest:
            yield _bars(f"{case.scenario.name}: alarms and figures", entries[at : at + rest])
            at += rest


def _series(title: str, middle: Sequence[float], rows: Sequence[dict[str, Any]]) -> Any:
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, row_heights=[0.7, 0.3], vertical_spacing=0.06)
    both = [*middle, *reversed(middle)]
    band = [*(row["model_p95"] for row in rows), *(row["model_p5"] for row in reversed(rows))]
    figure.add_trace(
        go.Scatter(x=both, y=band, fill="toself", fillcolor=_BAND, line={"width": 0}, name="90 % of storms"),
        row=1, col=1,
    )  # fmt: skip
    model = go.Scatter(x=middle, y=[row["model"] for row in rows], name="model", line={"color": _MODEL})
    dots = go.Scatter(
        x=middle, y=[row["observed"] for row in rows], name="observed", mode="markers",
        marker={"color": _OBSERVED, "symbol": "cross"},
    )  # fmt: skip
    figure.add_trace(model, row=1, col=1)
    figure.add_trace(dots, row=1, col=1)
    left = go.Bar(x=middle, y=[row["residual_in_errors"] for row in rows], name="residual", marker={"color": _MODEL})
    figure.add_trace(left, row=2, col=1)
    for limit in (-_GOOD, _GOOD):
        figure.add_hline(y=limit, line={"dash": "dot", "color": _OBSERVED}, row=2, col=1)
    figure.update_yaxes(title_text="per s", row=1, col=1)
    figure.update_yaxes(title_text="errors", row=2, col=1)
    figure.update_xaxes(title_text="time from the scenario's start [s]", row=2, col=1)
    figure.update_layout(title=title, height=480, template="plotly_white")
    return figure


def _bars(title: str, rows: Sequence[dict[str, Any]]) -> Any:
    labels = [f"{row['entry']}: {row['observed']:.6g} observed, {row['model']:.6g} model" for row in rows]
    figure = go.Figure(go.Bar(y=labels, x=[row["residual_in_errors"] for row in rows], orientation="h"))
    for limit in (-_GOOD, _GOOD):
        figure.add_vline(x=limit, line={"dash": "dot", "color": _OBSERVED})
    figure.update_layout(title=title, xaxis_title="errors", height=160 + 40 * len(rows), template="plotly_white")
    figure.update_yaxes(automargin=True)
    return figure
