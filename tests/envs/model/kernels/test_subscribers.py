"""T3346 and other back-offs, demand and churn."""

import numpy as np
import pytest

from signalstorm.envs.model.kernels import layout
from tests.envs.model.kernels.worlds import (
    GATED,
    LABORATORY,
    STEP_S,
    Course,
    at_once,
    closed_gate,
    fixed,
    handsets,
    open_gate,
    world,
)


def tries(action: str, horizon_s: float = 1700.0) -> Course:
    scenario = world(subscribers=handsets(10), demand=at_once(10), topology=GATED, horizon_s=horizon_s)
    return Course(scenario, closed_gate(action)).run()


def refused_with_t3346(honours: float, t3346_s: float = 100.0) -> Course:
    scenario = world(
        subscribers=handsets(1000, honours_t3346_share=honours),
        demand=at_once(1000),
        topology=GATED,
        horizon_s=179.0,
    )
    return Course(scenario, closed_gate("reject-congestion", t3346_s)).run()


def test_t3346_is_uniform_within_a_tenth() -> None:
    course = refused_with_t3346(1.0)
    expected = np.zeros(len(course.attempts))
    expected[0] = 1000.0
    expected[round(90.0 / STEP_S) : round(110.0 / STEP_S)] = 1000.0 / round(20.0 / STEP_S)
    np.testing.assert_allclose(course.attempts[:, 0], expected, atol=1e-9)


def test_only_the_honouring_share_backs_off() -> None:
    """Who does not honour T3346 never does: the same 700 make all five tries."""
    course = refused_with_t3346(0.3)
    seconds = course.attempts[:, 0].reshape(-1, round(1.0 / STEP_S)).sum(axis=1)
    expected = np.zeros(179)
    expected[0] = 1000.0
    expected[[10, 20, 30, 40]] = 700.0
    expected[90:110] = 300.0 / 20.0
    np.testing.assert_allclose(seconds, expected, atol=1e-9)


@pytest.mark.parametrize(("action", "t3346_s"), [("reject-network-failure", 100.0), ("reject-congestion", 0.0)])
def test_only_a_refusal_for_congestion_carries_t3346(action: str, t3346_s: float) -> None:
    scenario = world(
        subscribers=handsets(10, honours_t3346_share=1.0), demand=at_once(10), topology=GATED, horizon_s=100.0
    )
    course = Course(scenario, closed_gate(action, t3346_s)).run()
    assert course.times(course.attempts) == [0, 10, 20, 30, 40]


def test_t3346_resets_the_attempt_counter() -> None:
    """Three refusals, one with T3346 at the fourth try: then there are five tries again, not one."""
    scenario = world(
        subscribers=handsets(10, honours_t3346_share=1.0), demand=at_once(10), topology=GATED, horizon_s=400.0
    )
    course = Course(scenario, closed_gate("reject-network-failure"), longest={"t3346_s": 100.0}).run(25.0)
    course.batch.set_settings(closed_gate("reject-congestion", 100.0))
    course.run(10.0)
    course.batch.set_settings(closed_gate("reject-network-failure"))
    course.run()
    tenths = course.attempts[:, 0].reshape(-1, round(10.0 / STEP_S)).sum(axis=1)  # decades of seconds
    np.testing.assert_allclose(tenths[:4], 10.0)
    assert tenths[4:12].sum() == 0.0
    # Back between 120 and 140 s as first tries: each of the five following rounds of 10 s sees all of them.
    np.testing.assert_allclose(tenths[12:19], [5, 10, 10, 10, 10, 5, 0], atol=1e-9)
    assert tenths[18:].sum() == 0.0


def minutes_of_requests(ladder: dict[str, object], size: int = 10_000) -> list[float]:
    """Requests per minute when everybody is refused in the first 61 s and accepted afterwards."""
    scenario = world(
        subscribers=handsets(size, ladder),
        demand={"rate_per_s": size / 60.0},
        topology=GATED,
        horizon_s=2400.0,
    )
    course = Course(scenario, closed_gate("reject-network-failure"), every_s=60.0).run(61.0)
    course.batch.set_settings(open_gate())
    course.run()
    assert course.without[-1, 0] == pytest.approx(0.0, abs=1e-6)
    return [float(n) for n in course.attempts[:, 0]]


def test_a_fixed_back_off_creates_the_burst_again() -> None:
    first, *later = minutes_of_requests({**fixed(1200.0, 1200.0)})
    assert first == pytest.approx(10_000)
    assert max(later) >= 0.8 * first


def test_a_back_off_of_15_to_30_minutes_does_not() -> None:
    spread = [900.0, 1800.0]
    first, *later = minutes_of_requests({"kind": "laboratory", "retry_refused_s": spread, "retry_silent_s": spread})
    assert first == pytest.approx(10_000)
    assert max(later) <= 0.2 * first
    assert sum(later) == pytest.approx(10_000)


def two_classes(**demand: object) -> Course:
    scenario = world(
        subscribers=[
            {"name": "phone", "size": 300, "registered_share": 0.5, "ladder": {"kind": "eps"}},
            {"name": "meter", "size": 450, "ladder": LABORATORY},
        ],
        demand=demand,
    )
    return Course(scenario, storms=range(64)).run()


def test_paced_demand_is_exact_and_in_proportion_to_the_idle() -> None:
    course = two_classes(rate_per_s=50.0, start_s=3.0)
    start = round(3.0 / STEP_S)
    expected = np.zeros(len(course.attempts))
    expected[start : start + round(600 / 50.0 / STEP_S)] = 50.0 * STEP_S
    np.testing.assert_allclose(course.attempts, expected[:, None] * np.ones(64), atol=1e-9)
    half = Course(course.batch.scenario).run(3.0 + 6.0).batch
    registered = half._take(half._rows(int(half.plan.table[layout.P_REGISTERED]), 2))[:, 0]
    np.testing.assert_allclose(registered, [150 + 75, 225])


def test_poisson_demand_has_poissons_mean_and_variance() -> None:
    """Counts of 10 s, away from the end: mean 200 and variance 200 within 4 standard errors of 64 storms."""
    course = two_classes(rate_per_s=20.0, pattern="poisson")
    counts = course.attempts[: round(10.0 / STEP_S)].sum(axis=0)
    assert abs(counts.mean() - 200.0) < 4.0 * np.sqrt(200.0 / 64)
    assert abs(counts.var(ddof=1) - 200.0) < 4.0 * 200.0 * np.sqrt(2.0 / 63)
    assert course.attempts.sum(axis=0) == pytest.approx(np.full(64, 600.0))


def test_registered_subscribers_power_cycle_at_their_rate() -> None:
    scenario = world(subscribers=handsets(1000, registered_share=1.0, churn_per_s=0.01))
    course = Course(scenario).run(50.0)
    np.testing.assert_allclose(course.attempts, 1000 * 0.01 * STEP_S)
    np.testing.assert_allclose(course.successes, course.attempts)


def test_power_cycles_start_at_the_first_attempt_and_cost_service() -> None:
    """Nobody gets in: the number without service follows 1 - exp(-rate t), stepped."""
    scenario = world(subscribers=handsets(1000, registered_share=1.0, churn_per_s=0.05), topology=GATED)
    course = Course(scenario, closed_gate("drop")).run(20.0)
    steps = np.arange(1, len(course.without) + 1)
    np.testing.assert_allclose(course.without[:, 0], 1000 * (1.0 - (1.0 - 0.05 * STEP_S) ** steps), rtol=1e-9)
