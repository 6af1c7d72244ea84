"""All drawings of a run, in the order of the page; the page shows them, and each can be had as a file."""

from collections.abc import Iterator
from dataclasses import dataclass

from signalstorm.experiments.report import figures, knob_figures
from signalstorm.experiments.report.drawing import Figure
from signalstorm.experiments.report.survival import survivals
from signalstorm.experiments.report.tables import Report

MOST_PROFILES = 8
"""Knobs whose profiles are drawn, those that matter most."""


@dataclass(frozen=True)
class Drawing:
    """A figure with its name and title."""

    group: str
    """The part of the page that it belongs to."""
    name: str
    """Its name, fit for a file and for an HTML id."""
    title: str
    """What it shows."""
    figure: Figure
    """The figure, as plotly takes it."""


def drawings(report: Report) -> list[Drawing]:
    """Return the drawings of a run."""
    return [*_storms(report), *_knobs(report)]


def _storms(report: Report) -> Iterator[Drawing]:
    record, held_out = report.record, report.record.held_out
    yield Drawing("headline", "headline", "T of the storm as it is", figures.headline(record))
    for chart in report.curves.charts:
        yield Drawing("charts", chart.name, chart.title, figures.storm_chart(chart, record.scenario))
    for found in report.curves.congestion:
        title = f"Congested links, {found.setting} setting"
        yield Drawing("congestion", f"congestion-{found.setting}", title, figures.link_map(found, record.scenario))
    for chart in report.curves.links:
        yield Drawing("links", chart.name, chart.title, figures.storm_chart(chart, record.scenario))
    if held_out.storms:
        curves = figures.survival_chart(survivals(held_out.storms, held_out.horizon_s), held_out.horizon_s)
        yield Drawing("held-out", "survival", "Storms that are not over yet (Kaplan-Meier)", curves)
        grid = figures.storm_grid(held_out.storms, held_out.horizon_s)
        yield Drawing("held-out", "storms", "T under both settings, storm by storm", grid)


def _knobs(report: Report) -> Iterator[Drawing]:
    record = report.record
    ranges = knob_figures.knob_ranges(report.present, report.recommended, record.safe_interval)
    if ranges is not None:
        yield Drawing("ranges", "ranges", "Where both settings lie within the legal ranges", ranges)
    if report.importance:
        bars = knob_figures.importance_bars(report.importance)
        yield Drawing("importance", "importance", "How much each knob matters", bars)
    order = [row.name for row in report.importance]
    names = sorted(record.profiles, key=lambda name: order.index(name) if name in order else len(order))
    costs = [cost for profile in record.profiles.values() for cost in profile.value_s]
    for name in names[:MOST_PROFILES]:
        at = report.present.get(name), report.recommended.get(name)
        drawn = knob_figures.profile_chart(name, record.profiles[name], *at, min(costs), max(costs))
        yield Drawing("profiles", f"profile-{name.replace('_', '-')}", f"Turning {name} alone", drawn)
    if record.interaction is not None:
        drawn = knob_figures.interaction_map(record.interaction)
        yield Drawing("map", "map", f"Mean cost of a storm [s] by {' and '.join(record.interaction.knobs)}", drawn)
    if len(report.pareto) > 1:
        drawn = knob_figures.pareto_front(report.pareto, {**report.recommended, **record.override})
        yield Drawing("pareto", "pareto", "Time and refusals", drawn)
