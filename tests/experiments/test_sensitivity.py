"""Importance of knobs: what turning one of them changes, and nothing else; the map shows where both settings lie."""

import pytest

from signalstorm.envs.model.knobs import Setting
from signalstorm.envs.model.scenario_file import load
from signalstorm.experiments.recommendation import Profile
from signalstorm.experiments.search_space import search_space
from signalstorm.experiments.sensitivity import axis, importance


def profile(*value_s: float) -> Profile:
    return Profile(unit="s", values=tuple(range(len(value_s))), value_s=value_s)


def test_shares_follow_the_change_of_cost() -> None:
    found = importance({"a": profile(40, 10, 20), "b": profile(10, 20), "c": profile(10, 10)})
    assert found == {"a": 0.75, "b": 0.25, "c": 0.0}


def test_a_change_below_one_per_cent_is_chance() -> None:
    assert importance({"a": profile(100, 200), "b": profile(100, 100.9)}) == {"a": 1.0, "b": 0.0}
    assert importance({"a": profile(100, 100.5), "b": profile(100, 100.9)}) == {"a": 0.0, "b": 0.0}


def test_one_knob_has_no_rank() -> None:
    assert importance({"a": profile(1, 2)}) is None


@pytest.mark.parametrize(
    ("rate", "values"),
    [
        (405, [135, 234, 405, 500, 1215]),  # the present 500 lies on the map and takes the place of a value between
        (100, [50, 71, 100, 224, 500]),  # it lies beyond, and the map reaches to it
        (500, [167, 289, 500, 866, 1500]),
    ],
)
def test_the_map_has_the_present_value_among_its_own(rate: int, values: list[int]) -> None:
    space = search_space(load("incident-2014"))
    assert axis(space, Setting({"nop_rate": rate}), "nop_rate") == values
