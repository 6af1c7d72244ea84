"""Percentiles under censoring, restricted times and the mean of the worst, against figures worked out by hand."""

import numpy as np
import pytest

from signalstorm.envs.model.metrics import CVAR_SHARE, cvar, outcomes, percentile, restricted, watched_s
from tests.envs.model.kernels.worlds import Course, fixed, handsets, world

QUICK = fixed(1.0, 1.0)
NAN = float("nan")


@pytest.mark.parametrize(
    ("times", "share", "expected"),
    [
        ([3.0, 1.0, 2.0, 4.0], 0.5, 2.0),
        ([3.0, 1.0, 2.0, 4.0], 0.75, 3.0),
        ([3.0, 1.0, 2.0, 4.0], 0.76, 4.0),
        ([3.0, 1.0, 2.0, 4.0], 0.0, 1.0),
        ([3.0, 1.0, 2.0, 4.0], 1.0, 4.0),
        ([1.0, NAN, 2.0, NAN], 0.5, 2.0),  # Kaplan-Meier: two of four have converged by 2 s
        ([1.0, NAN, 2.0, NAN], 0.51, None),
        ([NAN, NAN], 0.1, None),
        ([], 0.5, None),
        ([0.1 * i for i in range(1, 11)], 0.3, 0.3),  # 0.3 x 10 is 3, whatever the binary fraction says
        ([5.0] * 20, 0.95, 5.0),
    ],
)
def test_percentiles_of_censored_times(times: list[float], share: float, expected: float | None) -> None:
    assert percentile(np.array(times), share) == (None if expected is None else pytest.approx(expected))


def test_the_percentile_is_the_kaplan_meier_estimate() -> None:
    """Step by step: the survival falls by the share of those at risk that converge."""
    rng = np.random.default_rng(2)
    times = np.round(rng.exponential(50.0, 41), 0)
    times[times > 60.0] = NAN
    for share in (0.1, 0.25, 0.5, 0.66, 0.7, 0.9):
        survival, reached = 1.0, None
        for instant in np.unique(times[~np.isnan(times)]):
            at_risk = int((np.isnan(times) | (times >= instant)).sum())
            survival *= 1.0 - int((times == instant).sum()) / at_risk
            if 1.0 - survival >= share - 1e-12:
                reached = float(instant)
                break
        assert percentile(times, share) == reached


def test_restricted_times() -> None:
    np.testing.assert_array_equal(restricted(np.array([10.0, NAN, 300.0, 0.0]), 200.0), [10.0, 200.0, 200.0, 0.0])


def test_cvar_is_the_mean_of_the_worst_tenth() -> None:
    assert CVAR_SHARE == 0.1
    values = np.arange(1.0, 41.0)
    assert cvar(np.random.default_rng(0).permutation(values)) == pytest.approx(38.5)
    assert cvar(np.array([3.0, 9.0, 1.0])) == 9.0
    assert cvar(np.full(100, 7.0)) == 7.0


def test_the_watched_time_ends_at_the_horizon() -> None:
    scenario = world(horizon_s=300.0, convergence={"count_from_s": 120.0})
    assert watched_s(scenario) == 180.0


def test_picking_rows_keeps_every_field() -> None:
    scenario = world(
        subscribers=handsets(100, QUICK),
        demand={"rate_per_s": 10.0, "pattern": "poisson"},
        closed=True,
        topology={"database": {"rate_per_s": 20.0}},
    )
    whole = outcomes(Course(scenario, storms=range(6), every_s=1.0).run().batch)
    picked = whole.pick([[4, 1], [2, 2]])
    assert picked.attempts.shape == (2, 2)
    assert picked.convergence_time_s[0, 1] == whole.convergence_time_s[1]
    assert picked.served["database"][1, 0] == whole.served["database"][2]
