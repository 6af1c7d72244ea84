"""Importance of knobs, by what turning one of them changes and by PED-ANOVA; the map shows where both settings lie."""

import numpy as np
import optuna
import pytest
from optuna.distributions import BaseDistribution, FloatDistribution
from optuna.trial import FrozenTrial

from signalstorm.envs.model.knobs import Setting
from signalstorm.envs.model.scenario_file import load
from signalstorm.experiments.recommendation import Profile
from signalstorm.experiments.search_space import search_space
from signalstorm.experiments.sensitivity import axis, importance, ped_anova


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


def trials(count: int, seed: int = 0) -> list[FrozenTrial]:
    """Return trials at random points, of which the first knob alone decides what they cost."""
    random, range_ = np.random.default_rng(seed), FloatDistribution(0.0, 1.0)
    points = [{"a": float(a), "b": float(b)} for a, b in random.random((count, 2))]
    both: dict[str, BaseDistribution] = {"a": range_, "b": range_}
    return [optuna.create_trial(params=point, distributions=both, values=[point["a"], 0.0]) for point in points]


@pytest.mark.parametrize("seed", range(5))
def test_good_trials_differ_in_the_knob_that_decides(seed: int) -> None:
    found = ped_anova(trials(300, seed), ["a", "b"])
    assert found is not None
    assert sum(found.values()) == pytest.approx(1.0, abs=1e-3)
    assert found["a"] > 0.8


def test_a_pinned_knob_has_nothing_in_which_to_differ() -> None:
    pinned = [
        optuna.create_trial(
            params={**trial.params, "b": 0.5},
            distributions={**trial.distributions, "b": FloatDistribution(0.5, 0.5)},
            values=trial.values,
        )
        for trial in trials(60)
    ]
    assert ped_anova(pinned, ["a", "b"]) == {"a": 1.0, "b": 0.0}


def test_trials_that_all_cost_the_same_have_no_best() -> None:
    same = [optuna.create_trial(params=t.params, distributions=t.distributions, values=[9.0]) for t in trials(60)]
    assert ped_anova(same, ["a", "b"]) == {"a": 0.0, "b": 0.0}


def test_few_trials_or_a_single_knob_say_nothing() -> None:
    assert ped_anova(trials(41), ["a", "b"]) is not None
    outside = optuna.create_trial(params={}, distributions={}, values=[1.0, 0.0])
    assert ped_anova([*trials(40), outside], ["a", "b"]) is None
    assert ped_anova(trials(60), ["a"]) is None


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
