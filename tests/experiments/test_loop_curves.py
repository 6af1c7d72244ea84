"""Curves of closed loops, from what a loop has kept."""

from typing import Any

import numpy as np
import pytest

from signalstorm.envs.model.scenario_file import load
from signalstorm.envs.observation import Reading
from signalstorm.experiments.evaluate import StormSet
from signalstorm.experiments.loop_curves import charts_of
from signalstorm.experiments.loops import LoopResult
from signalstorm.experiments.recommendation import ScenarioName
from signalstorm.experiments.report.curves import Chart
from signalstorm.experiments.report.loop_page import loop_page


class Kept:
    """Outcomes, of which only the times count here."""

    def __init__(self, times_s: list[float]) -> None:
        self.convergence_time_s = np.array(times_s)


def result(times_s: list[float], rates: list[float], requests: list[list[float]]) -> LoopResult:
    """Return a loop over three intervals of 10 s and two storms."""
    seen = [{"attach requests": np.array(row), "waiting at the gate": np.zeros(2)} for row in requests]
    readings = tuple(Reading(10.0 * (i + 1), 10.0, values) for i, values in enumerate(seen))
    outcomes: Any = Kept(times_s)
    values = {"nop_rate": np.tile(np.array(rates)[:, np.newaxis], 2)}
    return LoopResult(
        StormSet(load("lab-pcrf"), (0, 1), vary=False), outcomes, np.zeros((3, 2), bool), 10.0, readings, values
    )


@pytest.fixture
def charts() -> list[Chart]:
    present = result([np.nan, np.nan], [np.inf] * 3, [[1.0, 3.0], [2.0, 4.0], [3.0, 5.0]])
    return charts_of(present, result([9.0, np.nan], [50.0, 60.0, 70.0], [[1.0, 3.0], [0.0, 4.0], [0.0, 6.0]]))


def test_what_is_set_comes_first_and_a_gate_that_is_off_has_no_curve(charts: list[Chart]) -> None:
    assert [chart.name for chart in charts] == ["knob-nop-rate", "requests", "gate"]
    (band,) = charts[0].bands
    assert (band.setting, band.median.tolist(), charts[0].unit) == ("recommended", [50.0, 60.0, 70.0], "per s")


def test_a_storm_that_is_over_counts_no_more(charts: list[Chart]) -> None:
    present, other = charts[1].bands
    assert present.median.tolist() == [2.0, 3.0, 4.0]
    assert other.median.tolist() == [2.0, 4.0, 6.0]  # after the first interval only the second storm goes on
    assert other.time_s.tolist() == [10.0, 20.0, 30.0]


def test_the_page_names_both_as_text(charts: list[Chart]) -> None:
    scenario = ScenarioName(name="<b>", hash="0f", count_from_s=5.0)
    page = loop_page(scenario, "<script>alert(1)</script>", charts, "T counts from noon.")
    assert "<script>alert(1)" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt; over time in &lt;b&gt;" in page
    assert "The same 2 held-out storms" in page
    assert "T counts from noon. The dotted line is where T starts to count." in page
