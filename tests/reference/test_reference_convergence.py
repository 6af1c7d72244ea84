import pytest

from tests.reference.convergence import first_health, last_success, steady_level, time_back

STORM = [(0.0, 10), (100.0, 500), (200.0, 15), (230.0, 400), (300.0, 15), (700.0, 400)]


def test_health_must_last_a_minute() -> None:
    assert first_health(STORM, 20.0, 50.0, 1000.0) == 250.0


def test_a_later_relapse_does_not_count() -> None:
    assert first_health(STORM, 20.0, 0.0, 1000.0) == first_health(STORM[:-1], 20.0, 0.0, 1000.0)


def test_no_storm_takes_no_time() -> None:
    assert first_health(STORM, 500.0, 0.0, 1000.0) == 0.0


def test_health_that_the_horizon_cuts_short_is_not_reached() -> None:
    assert first_health(STORM[:-1], 20.0, 0.0, 359.0) is None
    assert first_health(STORM[:-1], 20.0, 0.0, 360.0) == 300.0


def test_steady_level_is_the_mean_before_the_trigger() -> None:
    assert steady_level(STORM, 200.0) == pytest.approx((10 * 100 + 500 * 100) / 200)
    assert steady_level(STORM, 0.0) == 10.0
    assert steady_level(STORM, 1300.0) == 400.0


def test_closed_run_ends_with_the_last_success() -> None:
    assert last_success([(0.0, 2), (3.0, 1), (8.0, 0)], 1.0) == 7.0
    assert last_success([(0.0, 2), (3.0, 1)], 0.0) is None


def test_share_of_the_peak_that_is_back() -> None:
    assert time_back(STORM, 0.5, 100.0) == 100.0
    assert time_back(STORM, 0.99, 100.0) is None
