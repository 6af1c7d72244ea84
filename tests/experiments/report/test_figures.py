"""Figures: legal for plotly, with units on every axis, and told apart without colour."""

import json
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import pytest

from signalstorm.experiments.recommendation import StormRow
from signalstorm.experiments.report.curves import read_charts
from signalstorm.experiments.report.figures import DARK, LIGHT, storm_chart, storm_grid
from tests.experiments.report.run_folder import write_series


def storm(
    number: int, bound: float | None, present: float | None, recommended: float | None, *, worse: bool = False
) -> StormRow:
    times = {"lower_bound_s": bound, "present_s": present, "recommended_s": recommended}
    return StormRow(number=number, fields={}, ratio=None, worse=worse, **times)


STORMS = [
    storm(20000, 20.0, 100.0, 25.0),
    storm(20001, 21.0, 30.0, 33.0, worse=True),
    storm(20002, 22.0, None, 40.0),
]


def check(figure: dict[str, Any]) -> None:
    go.Figure(figure)  # raises where plotly does not know a property or value
    json.dumps(figure, allow_nan=False)
    for axis in ("xaxis", "yaxis"):
        assert figure["layout"][axis]["title"]["text"]


@pytest.mark.parametrize(("interval_s", "unit"), [(1.0, "[s]"), (100.0, "[min]"), (1000.0, "[h]")])
def test_charts_have_units_and_dashes(tmp_path: Path, interval_s: float, unit: str) -> None:
    write_series(tmp_path / "series.csv", interval_s=interval_s)
    for chart in read_charts(tmp_path / "series.csv"):
        figure = storm_chart(chart)
        check(figure)
        assert figure["layout"]["xaxis"]["title"]["text"].endswith(unit)
        lines = [trace for trace in figure["data"] if trace.get("name")]
        assert len({trace["line"]["dash"] for trace in lines}) == len(lines) == len(chart.bands)
        assert sum("fill" in trace for trace in figure["data"]) == 2


def test_grid_shows_every_storm_once_and_its_bound() -> None:
    figure = storm_grid(STORMS, 600.0)
    check(figure)
    marks = {trace["name"]: (trace["x"], trace["y"]) for trace in figure["data"][1:]}
    assert marks == {
        "as good or better": ([100.0], [25.0]),
        "worse than the present setting": ([30.0], [33.0]),
        "not converged, so drawn at the horizon": ([600.0], [40.0]),
        "lower bound of the same storm": ([100.0, 30.0, 600.0], [20.0, 21.0, 22.0]),
    }
    assert len({trace["marker"]["symbol"] for trace in figure["data"][1:]}) == 4
    assert figure["layout"]["xaxis"]["type"] == figure["layout"]["yaxis"]["type"] == "log"


def test_grid_copes_with_storms_that_never_converge() -> None:
    check(storm_grid([storm(20000, None, None, None)], 600.0))


def test_every_colour_has_its_own_counterpart_on_a_dark_page() -> None:
    assert LIGHT.keys() == DARK.keys()
    assert len(set(LIGHT.values())) == len(LIGHT)
    assert not set(LIGHT.values()) & set(DARK.values())


@pytest.mark.parametrize("colours", [LIGHT, DARK])
def test_lines_stand_out_from_the_paper_and_text_more_so(colours: dict[str, str]) -> None:
    paper = luminance(colours["paper"])
    for role, least in (("present", 3.0), ("recommended", 3.0), ("muted", 4.5), ("ink", 7.0)):
        low, high = sorted((paper, luminance(colours[role])))
        assert (high + 0.05) / (low + 0.05) >= least


def luminance(colour: str) -> float:
    """Relative luminance by WCAG 2.2."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
