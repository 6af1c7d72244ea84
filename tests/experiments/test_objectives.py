"""The cost of a storm: time where it ends, and a direction where it does not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from signalstorm.experiments.objectives import RISKS, aggregate, storm_costs_s

HORIZON_S = 600.0
hours = st.floats(0.0, 1e6)


def _cost(time_s: float, lost_h: float, present_lost_h: float) -> float:
    costs = storm_costs_s(np.array([time_s]), np.array([lost_h]), np.array([present_lost_h]), HORIZON_S)
    return float(costs[0])


def test_a_storm_that_ends_costs_its_time() -> None:
    assert _cost(31.25, 12.0, 700.0) == 31.25


def test_the_present_setting_that_never_ends_costs_one_and_a_half_horizons() -> None:
    assert _cost(np.nan, 700.0, 700.0) == 900.0


@given(lost=hours, other=hours, present=hours)
def test_of_two_storms_that_never_end_the_one_with_more_service_costs_less(
    lost: float, other: float, present: float
) -> None:
    few, many = sorted((lost, other))
    assert _cost(np.nan, few, present) <= _cost(np.nan, many, present)
    if present > 1.0 and many > few * 1.001 + 1e-3:
        assert _cost(np.nan, few, present) < _cost(np.nan, many, present)


@given(time_s=st.floats(0.0, HORIZON_S), lost=hours, other=hours, present=hours)
def test_a_storm_that_ends_never_costs_more_than_one_that_does_not(
    time_s: float, lost: float, other: float, present: float
) -> None:
    assert _cost(time_s, lost, present) <= HORIZON_S <= _cost(np.nan, other, present) <= 2 * HORIZON_S


def test_a_storm_that_costs_nobody_service_is_no_division_by_zero() -> None:
    assert _cost(np.nan, 0.0, 0.0) == HORIZON_S


def test_risk_weighs_the_worst_storms() -> None:
    costs = np.array([np.arange(20.0), np.full(20, 9.5)])
    assert aggregate(costs, "mean").tolist() == [9.5, 9.5]
    assert aggregate(costs, "cvar").tolist() == [18.5, 9.5]
    assert aggregate(costs, "worst").tolist() == [19.0, 9.5]


@pytest.mark.parametrize("risk", RISKS)
def test_every_risk_keeps_the_order_of_settings_of_which_one_is_better_everywhere(risk: str) -> None:
    better = np.array([3.0, 1.0, 8.0])
    values = aggregate(np.array([better, better + 0.5]), risk)  # type: ignore[arg-type]
    assert values[0] < values[1]
