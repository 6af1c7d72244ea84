"""Figures: legal for plotly, with units on every axis, and told apart without colour."""

import json
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import pytest

from signalstorm.experiments.recommendation import Recommendation, ScenarioName, StormRow
from signalstorm.experiments.report.curves import read_curves
from signalstorm.experiments.report.drawing import DARK, LIGHT
from signalstorm.experiments.report.figures import headline, link_map, storm_chart, storm_grid, survival_chart
from signalstorm.experiments.report.survival import survivals
from tests.experiments.recommendation_data import recommendation
from tests.experiments.report.run_folder import LINKS, write_links, write_series

LAB = ScenarioName(name="lab", hash="0f")
INCIDENT = ScenarioName(name="incident", hash="0f", clock_start="06:25", count_from_s=5700.0)


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
    for chart in read_curves(tmp_path / "series.csv").charts:
        figure = storm_chart(chart, LAB)
        check(figure)
        assert figure["layout"]["xaxis"]["title"]["text"].endswith(unit)
        lines = [trace for trace in figure["data"] if trace.get("showlegend", True)]
        assert len({trace["line"]["dash"] for trace in lines}) == len(lines) == len(chart.bands)
        assert sum("fill" in trace for trace in figure["data"]) == 2


def test_a_scenario_with_a_clock_has_times_of_day_and_a_line_where_t_counts(tmp_path: Path) -> None:
    write_series(tmp_path / "series.csv", interval_s=60.0)
    figure = storm_chart(read_curves(tmp_path / "series.csv").charts[0], INCIDENT)
    check(figure)
    assert figure["layout"]["xaxis"]["title"]["text"] == "time of day [hh:mm]"
    assert (figure["data"][0]["x0"], figure["data"][0]["dx"]) == ("2000-01-01T06:26:00", 60_000)
    assert figure["layout"]["shapes"][0]["x0"] == "2000-01-01T08:00:00"


def test_bands_differ_in_grey(tmp_path: Path) -> None:
    write_series(tmp_path / "series.csv")
    figure = storm_chart(read_curves(tmp_path / "series.csv").charts[0], LAB)
    filled = [trace for trace in figure["data"] if "fill" in trace]
    assert [("fillpattern" in trace) for trace in filled] == [True, False]


def test_links_are_a_map_of_shares(tmp_path: Path) -> None:
    write_series(tmp_path / "series.csv")
    write_links(tmp_path / "series.csv")
    present, recommended = read_curves(tmp_path / "series.csv").congestion
    figure = link_map(present, LAB)
    check(figure)
    assert figure["data"][0]["y"] == list(LINKS)
    assert figure["data"][0]["z"][2][-1] == 100
    assert max(max(row) for row in link_map(recommended, LAB)["data"][0]["z"]) == 0


def test_survival_curves_are_steps_with_bands() -> None:
    figure = survival_chart(survivals(STORMS, 600.0), 600.0)
    check(figure)
    lines = {trace["name"]: trace for trace in figure["data"] if trace.get("showlegend", True)}
    assert lines["recommended"]["x"] == [0, 25, 33, 40, 600]
    assert lines["present"]["y"][-1] == pytest.approx(33.33)
    assert all(trace["line"]["shape"] == "hv" for trace in figure["data"])
    assert lines["present"]["line"]["dash"] != lines["recommended"]["line"]["dash"]


def test_the_headline_shows_a_storm_that_does_not_end_at_the_horizon() -> None:
    content = recommendation()
    content["nominal"]["present"]["convergence_time_s"] = {"median": None, "p10": None, "p90": None}
    figure = headline(Recommendation.model_validate(content))
    check(figure)
    present, recommended = figure["data"]
    assert (present["x"], present["text"]) == ([600], ["beyond 600 s"])
    assert present["marker"]["symbol"] != recommended["marker"]["symbol"]
    assert (recommended["x"], recommended["error_x"]["array"]) == ([26], [1])
    assert [note["text"] for note in figure["layout"]["annotations"]] == ["lower bound", "horizon"]


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


def test_grid_shows_storms_without_loss_at_the_beginning_of_its_axes() -> None:
    figure = storm_grid([*STORMS, storm(20003, None, 0.0, 0.0), storm(20004, None, 26.0, 0.0)], 600.0)
    check(figure)
    (edge,) = (trace for trace in figure["data"] if "edge" in trace["name"])
    low = 10.0 ** figure["layout"]["xaxis"]["range"][0]
    assert edge["x"] == pytest.approx([20.0 / 1.3, 26.0], rel=1e-3)
    assert edge["y"] == pytest.approx([20.0 / 1.3] * 2, rel=1e-3)
    assert low < min(edge["x"])


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
