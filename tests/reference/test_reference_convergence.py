import math

import pytest

from tests.reference.convergence import first_health, last_success, steady_level, time_back, with_alarms

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


def test_an_alarm_is_no_health_until_its_link_has_been_free_for_ten_seconds() -> None:
    alarms = [(0.0, 0), (310.0, 1), (320.0, 2), (325.0, 0), (330.0, 1), (332.0, 0), (500.0, 1), (501.0, 0)]
    merged = with_alarms(STORM[:-1], alarms)
    assert [point for point in merged if 300.0 < point[0] < 600.0] == [
        (310.0, math.inf),
        (342.0, 15),
        (500.0, math.inf),
        (511.0, 15),
    ]
    assert first_health(merged, 20.0, 50.0, 1000.0) == 342.0 - 50.0
    assert first_health(with_alarms(STORM, [(0.0, 0), (10.0, 1)]), 1e9, 0.0, 1000.0) is None


def test_what_changes_at_one_instant_stays_in_order() -> None:
    assert with_alarms([(0.0, 0), (5.0, 3), (5.0, 1)], [(0.0, 0)]) == [(0.0, 0), (5.0, 3), (5.0, 1)]
