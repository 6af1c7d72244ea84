"""Kaplan-Meier curves and intervals, against what can be worked out by hand or by many repeats."""

import numpy as np
import pytest

from signalstorm.envs.model.metrics import percentile
from signalstorm.experiments.recommendation import StormRow
from signalstorm.experiments.report.survival import restricted_means, survival, survivals


def storm(present: float | None, recommended: float | None) -> StormRow:
    times = {"present_s": present, "recommended_s": recommended}
    return StormRow(number=0, fields={}, lower_bound_s=None, ratio=None, worse=False, **times)


def test_the_curve_steps_down_at_each_time_and_stays_at_the_censored_share() -> None:
    found = survival("present", [30.0, 10.0, None, 10.0], 100.0)
    assert found.time_s.tolist() == [0.0, 10.0, 30.0, 100.0]
    assert found.share.tolist() == [1.0, 0.5, 0.25, 0.25]
    assert np.all((found.low <= found.share) & (found.share <= found.high + 1e-12))


def test_the_median_of_the_curve_is_the_percentile_of_the_results() -> None:
    times = np.array([5.0, 9.0, 2.0, np.nan, 7.0, 4.0, np.nan])
    found = survival("present", [None if np.isnan(t) else t for t in times], 10.0)
    for share in (0.1, 0.5, 0.7):
        assert found.time_s[found.share <= 1.0 - share + 1e-12][0] == percentile(times, share)


def test_wilsons_interval_holds_the_true_share_as_often_as_it_says() -> None:
    rng = np.random.default_rng(1)
    held = 0
    for _ in range(1000):
        times = [None if x < 0.3 else 1.0 for x in rng.random(100)]
        found = survival("present", times, 10.0)
        held += bool(found.low[-1] <= 0.3 <= found.high[-1])
    assert 0.93 <= held / 1000 <= 0.97


def test_restricted_means_count_open_storms_as_the_horizon() -> None:
    found = restricted_means([storm(None, 20.0), storm(40.0, 30.0)], 100.0)
    assert found is not None
    assert (found[0].mean, found[1].mean) == (70.0, 25.0)
    assert (found[0].low, found[0].high) == (40.0, 100.0)


def test_the_intervals_are_those_of_the_mean_and_always_the_same() -> None:
    rng = np.random.default_rng(2)
    storms = [storm(float(a), float(b)) for a, b in rng.normal(50.0, 10.0, (100, 2))]
    found = restricted_means(storms, 600.0)
    assert found is not None
    assert found == restricted_means(storms, 600.0)
    spread = np.std([row.present_s or 0.0 for row in storms]) / 10.0
    assert found[0].high - found[0].low == pytest.approx(2 * 1.96 * spread, rel=0.1)


def test_no_storms_no_curves() -> None:
    assert survivals([], 10.0) == ()
    assert restricted_means([storm(1.0, 1.0)], 10.0) is None
