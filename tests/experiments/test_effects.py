"""What hands do to storms, over what the storms come to without them."""

import numpy as np
import pytest

from signalstorm.experiments.effects import FEWEST_LOOPS, Effect, answer, effect

NOTHING = [Effect("a gate", 1.02, 0.96), Effect("a loop", 0.96, 1.0)]


def test_figures_are_ratios_of_means() -> None:
    ones = np.ones(2)
    found = effect("x", np.array([50.0, 100.0]), np.array([0.0, 3.0]), 100.0 * ones, ones)
    assert (found.time, found.lost) == (0.75, 1.5)
    assert effect("x", ones, 0.0 * ones, ones, 0.0 * ones).lost == 1.0
    assert effect("x", ones, ones, ones, 0.0 * ones).lost == float("inf")


@pytest.mark.parametrize(
    ("time", "lost", "helps"), [(0.94, 1.2, True), (1.0, 0.94, True), (0.96, 0.96, False), (0.95, 1.0, False)]
)
def test_either_figure_helps_from_the_threshold_on(time: float, lost: float, helps: bool) -> None:
    assert Effect("x", time, lost).helps == helps


def test_that_none_can_is_said_only_with_enough_loops() -> None:
    sure, unsure = answer(NOTHING, FEWEST_LOOPS), answer(NOTHING, FEWEST_LOOPS - 1)
    assert sure.cannot_help
    assert sure.sentence.startswith("cannot help: none of the 2 contestants beside the present setting")
    assert "nearest a gate: T x 1.020, hours lost x 0.960" in sure.sentence
    assert not unsure.cannot_help
    assert unsure.sentence.startswith("no help so far: ")
    assert unsure.to_json()["sentence"] == unsure.sentence


def test_nothing_is_said_where_something_helps() -> None:
    found = answer([*NOTHING, Effect("a law", 0.5, 0.4)], 3)
    assert not found.cannot_help
    assert found.sentence == ""
    assert found.to_json()["nearest"] == {"name": "a law", "time_ratio": 0.5, "lost_ratio": 0.4}
