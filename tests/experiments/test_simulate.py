"""``simulate`` from Python: one setting, many settings, the same storms."""

import numpy as np
import pytest

import signalstorm as ss
from signalstorm.envs.model.errors import InputError


def test_many_settings_equal_each_alone() -> None:
    rates = [{"nop_rate": rate, "nop_wait_s": 15} for rate in (50, 60)]
    together = ss.simulate("lab-pcrf", rates, seeds=6)
    for setting, result in zip(rates, together, strict=True):
        alone = ss.simulate("lab-pcrf", setting, seeds=6)
        np.testing.assert_array_equal(alone.convergence_time_s, result.convergence_time_s)
        assert alone.to_json() == result.to_json()


def test_seeds_may_be_storm_numbers() -> None:
    few = ss.simulate("lab-pcrf", seeds=[3, 1])
    many = ss.simulate("lab-pcrf", seeds=4)
    np.testing.assert_array_equal(few.convergence_time_s, many.convergence_time_s[[3, 1]])


def test_variation_draws_capacities_and_demand() -> None:
    drawn = ss.simulate("lab-pcrf-a", seeds=8, vary=True)
    assert np.ptp(drawn.storms.lower_bounds_s) > 1
    assert np.ptp(ss.simulate("lab-pcrf-a", seeds=8).storms.lower_bounds_s) == 0


@pytest.mark.parametrize("seeds", [0, [], [-1]])
def test_no_storms_are_refused(seeds: int | list[int]) -> None:
    with pytest.raises(InputError, match="at least 1 storm"):
        ss.simulate("lab-pcrf", seeds=seeds)


def test_series_need_a_recorded_run() -> None:
    result = ss.simulate("lab-pcrf-a", seeds=2)
    with pytest.raises(ValueError, match="record=True"):
        next(result.series_rows())


def test_the_series_add_up_to_the_counters() -> None:
    result = ss.simulate("lab-pcrf", seeds=2, record=True)
    totals = dict.fromkeys((0, 1), 0.0)
    for seed, _, element, quantity, unit, value in result.series_rows():
        if (element, quantity) == ("handsets", "request rate"):
            assert unit == "1/s"
            totals[seed] += value * result.scenario.control_interval_s
    np.testing.assert_allclose(list(totals.values()), result.outcomes.attempts, rtol=1e-9)
