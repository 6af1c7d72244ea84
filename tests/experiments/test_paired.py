"""Paired statistics against what can be worked out by hand, and intervals that hold what they promise."""

import numpy as np
import pytest

from signalstorm.experiments import paired


def test_the_mean_of_the_middle_half() -> None:
    assert paired.iqm(np.array([0.0, 1.0, 2.0, 100.0])) == pytest.approx(1.5)
    assert paired.iqm(np.arange(8.0)) == pytest.approx(3.5)
    # Of five, the outer quarters are one and a quarter each: (0.75 * 1 + 2 + 0.75 * 3) / 2.5.
    assert paired.iqm(np.array([9.0, 1.0, 2.0, 3.0, -5.0])) == pytest.approx(2.0)
    assert paired.iqm(np.array([1.0, 1.0, 2.0, 6.0, 9.0])) == pytest.approx((0.75 * 1.0 + 2.0 + 0.75 * 6.0) / 2.5)
    both = paired.iqm(np.array([[0.0, 1.0, 2.0, 100.0], [4.0, 4.0, 4.0, 4.0]]))
    np.testing.assert_allclose(both, [1.5, 4.0])


def test_ratio_and_difference_are_paired() -> None:
    """Storms differ widely, contestants hardly: the paired interval is narrow."""
    rng = np.random.default_rng(0)
    others = rng.lognormal(3.0, 1.0, 100)
    values = 0.9 * others
    ratio = paired.ratio(values, others)
    assert ratio.value == pytest.approx(0.9)
    assert ratio.high - ratio.low < 1e-9
    alone = paired.estimate(values)
    assert alone.high - alone.low > 0.2 * alone.value
    difference = paired.difference(values, others)
    assert difference.value == pytest.approx(-0.1 * others.mean())
    assert difference.high < 0.0


def test_improvement_counts_ties_half() -> None:
    found = paired.improvement(np.array([1.0, 2.0, 3.0, 4.0]), np.array([2.0, 2.0, 2.0, 9.0]))
    assert found.value == pytest.approx((1 + 0.5 + 0 + 1) / 4)


def test_nothing_lost_by_either() -> None:
    nothing = np.zeros(5)
    assert paired.ratio(nothing, nothing).value == 1.0
    assert paired.ratio(np.ones(5), nothing).value > 1e6


def test_the_same_numbers_every_time() -> None:
    values = np.random.default_rng(1).random(40)
    assert paired.estimate(values) == paired.estimate(values)


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    """Of 200 samples of 50, a mean of 1 lies inside the 95 % interval in 88 to 99 %: skewed samples are hard."""
    rng = np.random.default_rng(2)
    inside = 0
    for _ in range(200):
        found = paired.estimate(rng.exponential(1.0, 50))
        inside += found.low <= 1.0 <= found.high
    assert 176 <= inside <= 198
