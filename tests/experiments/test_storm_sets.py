"""Comparison with the present setting, storm by storm."""

import numpy as np
import pytest

from signalstorm.envs.model.bound import lower_bound_s
from signalstorm.envs.model.storms import CHOICE, HELD_OUT
from signalstorm.experiments.engines import Threads
from signalstorm.experiments.evaluate import StormSet, evaluate
from signalstorm.experiments.storm_sets import Budget, find_guards, float_times, is_worse, longer, paired, plain_times
from tests.experiments.tuning import cycling, small_scenario


def test_worse_means_more_than_2_per_cent_longer() -> None:
    present = np.array([100.0, 100.0, 100.0, 600.0, 0.0])
    other = np.array([101.9, 102.0, 102.1, 600.0, 1.0])
    assert is_worse(other, present).tolist() == [False, False, True, False, True]


def test_guards_are_the_storms_nearest_to_their_bound() -> None:
    scenario = small_scenario()
    scan = range(40, 64)
    guards = find_guards(scenario, scan, 3, Threads())
    storms = StormSet(scenario, tuple(scan), vary=True)
    times = evaluate([{}], storms).outcomes.convergence_time_s[0]
    tightness = {n: t / lower_bound_s(s) for n, t, s in zip(scan, times, storms.scenarios, strict=True) if t == t}
    assert set(guards) == set(sorted(tightness, key=lambda n: tightness[n])[:3])


def test_half_of_the_guards_are_busy_storms_that_the_present_setting_makes_nothing_of() -> None:
    """Some of the servers take a pulse of detaches in their stride."""
    scenario = cycling(variation={"timeline.0.share": [0.001, 0.1], "churn_scale": [0.5, 1.5]})
    storms = StormSet(scenario, tuple(range(16)), vary=True)
    outcomes = evaluate([{}], storms).outcomes
    times, peaks = outcomes.convergence_time_s[0], outcomes.peak_request_rate_per_s[0]
    calm = np.flatnonzero(times == 0)
    assert 3 < calm.size < 13
    guards = find_guards(scenario, range(16), 6, Threads())
    assert len(set(guards)) == 6
    assert set(calm[np.argsort(-peaks[calm], kind="stable")][:3]) == set(guards) & set(calm)


def test_how_much_longer() -> None:
    now, then = np.array([0.0, 0.0, 100.0, 50.0]), np.array([0.0, 7.0, 127.0, 50.0])
    assert longer(then, now) == (
        "takes up to 27% longer than the present setting and has a storm on 1 on which the present setting has none"
    )
    assert longer(np.array([5.0]), np.array([0.0])) == "has a storm on 1 on which the present setting has none"
    assert longer(now, now) == "takes up to 0% longer than the present setting"


def test_no_guards_wanted_no_guards_found() -> None:
    assert find_guards(small_scenario(), range(10), 0, Threads()) == []


def test_guards_do_not_count_in_means() -> None:
    found = paired(small_scenario(), range(3), [7, 9], Threads())
    restricted_s = np.array([[1.0, 2.0, 3.0, 50.0, 60.0]])
    assert found.mean_s(restricted_s).tolist() == [2.0]
    assert found.present_s.shape == (5,)


def test_the_default_budget_keeps_every_purpose_to_its_range() -> None:
    budget = Budget()
    assert max(budget.search_scan) < CHOICE
    assert CHOICE + budget.choice <= min(budget.choice_scan)
    assert max(budget.choice_scan) < HELD_OUT
    assert budget.choice >= 200
    assert list(budget.held_out_range) == list(range(20000, 20100))
    assert set(budget.nominal_range) <= set(budget.held_out_range)


def test_times_survive_json() -> None:
    times = np.array([1.25, np.nan, 30.0])
    assert plain_times(times) == [1.25, None, 30.0]
    assert float_times(plain_times(times)) == pytest.approx(times, nan_ok=True)
