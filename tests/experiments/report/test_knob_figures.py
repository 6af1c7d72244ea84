"""Figures of knobs: legal for plotly, with units, and with both settings where they belong."""

import json
from typing import Any

import plotly.graph_objects as go
import pytest

from signalstorm.experiments.recommendation import Interaction, ParetoPoint, Profile, Recommendation, SafeInterval
from signalstorm.experiments.report.knob_figures import (
    importance_bars,
    interaction_map,
    is_among,
    knob_ranges,
    objective,
    pareto_front,
    profile_chart,
)
from signalstorm.experiments.report.tables import Worth
from tests.experiments.recommendation_data import MORE, recommendation

RECORD = Recommendation.model_validate(recommendation(**MORE))


def check(figure: dict[str, Any]) -> dict[str, dict[str, Any]]:
    go.Figure(figure)  # raises where plotly does not know a property or value
    json.dumps(figure, allow_nan=False)
    for axis in ("xaxis", "yaxis"):
        assert figure["layout"][axis]["title"]["text"]
    return {trace.get("name", ""): trace for trace in figure["data"]}


def test_ranges_place_values_on_the_knobs_own_scale() -> None:
    safe = {
        "nop_rate": SafeInterval(unit="per s", low=50, high=500),
        "nop_wait_s": SafeInterval(unit="s", low=8, high=15),
    }
    figure = knob_ranges({"nop_rate": "off", "nop_wait_s": 1}, {"nop_rate": 500, "nop_wait_s": 15}, safe)
    assert figure is not None
    traces = check(figure)
    assert traces["recommended"]["x"] == [50, 100]  # 50 to 5,000 is logarithmic
    assert (traces["present"]["y"], traces["present"]["x"]) == (["nop_wait_s"], [0])
    assert traces["safe interval"]["base"] == [0, 50]
    assert traces["safe interval"]["x"] == [50, 50]
    assert traces["present"]["marker"]["symbol"] != traces["recommended"]["marker"]["symbol"]
    assert knob_ranges({}, {}, safe) is None


def test_bars_show_shares_most_first() -> None:
    (bars,) = check(importance_bars([Worth("nop_rate", 0.9, None), Worth("nop_wait_s", 0.1, None)])).values()
    assert (bars["y"], bars["x"]) == (["nop_rate", "nop_wait_s"], [90, 10])


def test_bars_show_both_measures_beside_each_other() -> None:
    figure = importance_bars(
        [Worth("nop_rate", 0.9, 0.3), Worth("nop_wait_s", 0.1, 0.5), Worth("nop_queue", None, 0.2)]
    )
    worth, differ = check(figure).values()
    assert dict(zip(worth["y"], worth["x"], strict=True)) == {"nop_rate": 90, "nop_wait_s": 10}
    assert dict(zip(differ["y"], differ["x"], strict=True)) == {"nop_rate": 30, "nop_wait_s": 50, "nop_queue": 20}
    assert "PED-ANOVA" in differ["name"]
    assert figure["layout"]["showlegend"]
    assert figure["layout"]["yaxis"]["categoryarray"] == ["nop_rate", "nop_wait_s", "nop_queue"]


@pytest.mark.parametrize(
    ("name", "present", "recommended", "kind", "marked"),
    [
        ("nop_rate", "off", 60, "log", {"recommended": (60, 26)}),
        ("nop_wait_s", 5, 10, "-", {"present": (5, 40), "recommended": (10, 26)}),
        ("nop_action", "drop", "drop", "category", {"present": ("drop", 26), "recommended": ("drop", 26)}),
    ],
)
def test_a_profile_marks_both_settings_and_what_is_safe(
    name: str, present: int | str, recommended: int | str, kind: str, marked: dict[str, tuple[Any, float]]
) -> None:
    figure = profile_chart(name, RECORD.profiles[name], present, recommended, 24.0, 590.0)
    traces = check(figure)
    assert figure["layout"]["xaxis"].get("type", "-") == kind
    found = {key: (trace["x"][0], trace["y"][0]) for key, trace in traces.items() if key != "mean cost"}
    assert found == marked
    assert figure["layout"]["shapes"][0]["y0"] == pytest.approx(28.6)


def test_a_profile_of_a_knob_that_starts_at_nothing_has_a_plain_axis() -> None:
    profile = Profile(unit="s", values=(0, 1800), value_s=(26.0, 27.0))
    assert "type" not in profile_chart("t3346_s", profile, 0, 0, 26.0, 27.0)["layout"]["xaxis"]


def frames(figure: dict[str, Any]) -> list[tuple[float, float, str]]:
    """Return middle and dash of the upper rectangle of each frame."""
    return [
        ((s["x0"] + s["x1"]) / 2, (s["y0"] + s["y1"]) / 2, s["line"]["dash"]) for s in figure["layout"]["shapes"][1::2]
    ]


def test_the_map_frames_both_settings() -> None:
    assert RECORD.interaction is not None
    figure = interaction_map(RECORD.interaction)
    check(figure)
    assert {shape["line"]["color"] for shape in figure["layout"]["shapes"]} == {"black", "white"}  # also on a dark page
    assert frames(figure) == [(1, 1, "solid")]  # the present gate is off, which the map does not have
    inside = Interaction.model_validate(MORE["interaction"] | {"present": [180, 5]})
    assert frames(interaction_map(inside)) == [(0, 2, "dash"), (1, 1, "solid")]
    old = Interaction.model_validate(
        {k: v for k, v in MORE["interaction"].items() if k not in ("present", "recommended")}
    )
    assert frames(interaction_map(old)) == []


def test_the_map_leaves_out_values_that_are_legal_with_nothing() -> None:
    empty = {"second": [1, 5, 10], "value_s": [[None, 31.0, 27.0], [None, 30.0, 26.0], [None, None, 29.0]]}
    figure = interaction_map(Interaction.model_validate(MORE["interaction"] | empty | {"present": [180, 5]}))
    (trace,) = figure["data"]
    assert trace["x"] == ["5", "10"]
    assert trace["y"] == ["50", "60", "180"]
    assert trace["z"] == [[31.0, 27.0], [30.0, 26.0], [None, 29.0]]
    assert frames(figure) == [(0, 2, "dash"), (1, 1, "solid")]


def test_the_front_has_units_and_marks_both_settings() -> None:
    assert RECORD.pareto is not None
    figure = pareto_front(RECORD.pareto, {**RECORD.recommended, **RECORD.override})
    traces = check(figure)
    assert figure["layout"]["xaxis"]["title"]["text"] == "mean cost of a storm [s]"
    assert figure["layout"]["yaxis"]["title"]["text"] == "attempts turned away [% of all]"
    assert {name: (trace["x"], trace["y"]) for name, trace in traces.items()} == {
        "setting tried": ([31], [30]),
        "present": ([225], [10]),
        "recommended": ([26.5], [40]),
    }
    assert "attempts turned away 30 % of all" in traces["setting tried"]["text"][0]


def test_a_setting_is_one_of_the_front_if_it_does_all_that_one_says() -> None:
    assert RECORD.pareto is not None
    complete = {**RECORD.recommended, **RECORD.override}
    assert is_among(complete, RECORD.pareto)
    assert not is_among({**complete, "nop_wait_s": 11}, RECORD.pareto)
    assert not is_among(RECORD.present, RECORD.pareto[:1])


def test_a_front_with_one_objective_and_no_time_still_draws() -> None:
    points = [ParetoPoint(trial=i, override={"nop_rate": 50 + i}, values={"time": float(i)}) for i in range(3)]
    check(pareto_front(points))


def test_every_objective_has_words_and_a_unit() -> None:
    assert objective("change_cost") == "cost of the change [points]"
    assert objective("something_new") == "something new"
