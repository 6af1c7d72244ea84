"""What a handset does next, exact to the step: TS 24.301 ladders, laboratory ladder, T3346, demand and churn."""

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
    gate,
    handsets,
    open_gate,
    world,
)


def tries(action: str, horizon_s: float = 1700.0) -> Course:
    scenario = world(subscribers=handsets(10), demand=at_once(10), topology=GATED, horizon_s=horizon_s)
    return Course(scenario, closed_gate(action)).run()


# -- EPS ladder ----------------------------------------------------------------------------------------------------


def test_eps_silent_drop() -> None:
    """T3410 + T3411 between tries; after the fifth T3410 + T3402, and from the first again."""
    course = tries("drop")
    assert course.times(course.attempts) == [0, 25, 50, 75, 100, 835, 860, 885, 910, 935, 1670, 1695]
    assert course.attempts.sum() == pytest.approx(120)
    assert course.counter(layout.K_DROPPED)[-1, 0] == pytest.approx(120)


@pytest.mark.parametrize("action", ["reject-congestion", "reject-network-failure"])
def test_eps_refusal(action: str) -> None:
    """T3411 between tries; after the fifth T3402."""
    course = tries(action, 830.0)
    assert course.times(course.attempts) == [0, 10, 20, 30, 40, 760, 770, 780, 790, 800]
    row = layout.K_REFUSED_CONGESTION if action == "reject-congestion" else layout.K_REFUSED_GATE_FAILURE
    assert course.counter(row)[-1, 0] == pytest.approx(100)


def test_eps_purged_by_the_gate() -> None:
    """The next try counts from sending, not from the instant at which the gate gave the request up."""
    scenario = world(subscribers=handsets(10), demand=at_once(10), topology=GATED, horizon_s=900.0)
    course = Course(scenario, gate(0.0, wait_s=5.0)).run()
    assert course.times(course.stale("gate")) == [5, 30, 55, 80, 105, 840, 865, 890]
    assert course.times(course.attempts) == [0, 25, 50, 75, 100, 835, 860, 885]


def test_eps_mixed_outcomes_share_one_attempt_counter() -> None:
    """Two refusals, then silence: five tries in all before T3402."""
    scenario = world(subscribers=handsets(10), demand=at_once(10), topology=GATED, horizon_s=900.0)
    course = Course(scenario, closed_gate("reject-network-failure")).run(15.0)
    course.batch.set_settings(closed_gate("drop"))
    course.run()
    assert course.times(course.attempts) == [0, 10, 20, 45, 70, 805, 830, 855, 880]


def test_eps_own_timers_and_limit() -> None:
    ladder = {"kind": "eps", "t3410_s": 4.0, "t3411_s": 3.0, "t3402_s": 30.0, "attempt_limit": 2}
    scenario = world(subscribers=handsets(10, ladder), demand=at_once(10), topology=GATED)
    silent = Course(scenario, closed_gate("drop")).run()
    assert silent.times(silent.attempts) == [0, 7, 41, 48, 82, 89]
    refused = Course(scenario, closed_gate("reject-network-failure")).run()
    assert refused.times(refused.attempts) == [0, 3, 33, 36, 66, 69, 99]


def late(latency_s: float, horizon_s: float = 120.0) -> Course:
    """Two transactions at the HSS, each answered after a delay; each takes one more step in the queue."""
    scenario = world(
        subscribers=handsets(10),
        demand=at_once(10),
        topology={"hss": {"latency_s": latency_s, "timer_s": 30.0}},
        horizon_s=horizon_s,
    )
    return Course(scenario).run()


def test_an_accept_after_t3410_is_silence() -> None:
    course = late(8.0)
    assert course.times(course.attempts) == [0, 25, 50, 75, 100]
    assert course.counter(layout.K_LATE)[-1, 0] == pytest.approx(50)
    assert course.counter(layout.K_SUCCESSES)[-1, 0] == 0.0


def test_an_accept_just_before_t3410_registers() -> None:
    in_time = late((15.0 - 4 * STEP_S) / 2)
    assert in_time.counter(layout.K_SUCCESSES)[-1, 0] == pytest.approx(10)
    assert in_time.times(in_time.successes) == [14.95]
    just_late = late((15.0 - 2 * STEP_S) / 2)
    assert just_late.counter(layout.K_SUCCESSES)[-1, 0] == 0.0


# -- laboratory ladder ---------------------------------------------------------------------------------------------


def test_laboratory_handsets_try_for_ever() -> None:
    scenario = world(subscribers=handsets(10, fixed(4.0, 15.0)), demand=at_once(10), topology=GATED)
    silent = Course(scenario, closed_gate("drop")).run()
    assert silent.times(silent.attempts) == [0, 15, 30, 45, 60, 75, 90]
    refused = Course(scenario, closed_gate("reject-network-failure")).run()
    assert refused.times(refused.attempts) == list(range(0, 100, 4))


def test_a_laboratory_draw_is_uniform() -> None:
    """Deterministic mode: 1,000 refused at once come back evenly between 4 and 8 s."""
    scenario = world(
        subscribers=handsets(1000, {**fixed(4.0, 20.0), "retry_refused_s": [4.0, 8.0]}),
        demand=at_once(1000),
        topology=GATED,
        stochastic=False,
    )
    course = Course(scenario, closed_gate("reject-network-failure")).run(8.0)
    expected = np.zeros(160)
    expected[0] = 1000.0
    expected[80:] = 1000.0 / 80
    np.testing.assert_allclose(course.attempts[:, 0], expected, atol=1e-9)


def test_drawn_timers_scatter_and_everybody_fires_once() -> None:
    """2,000 refused at once, timers uniform in [4, 8] s of 80 steps: what fired is due, give or take a known variance.

    Due per step: 25. The debt d evens out at 1/8 per step (a tenth of the spread): d' = 7/8 d + 25 - Poisson, so its
    variance settles at 25 / (1 - 49/64). After 8 s, ten such times take the last of it to below one handset.
    """
    scenario = world(
        subscribers=handsets(
            2000, {"kind": "laboratory", "retry_refused_s": [4.0, 8.0], "retry_silent_s": [16.0, 24.0]}
        ),
        demand=at_once(2000),
        topology=GATED,
    )
    storms = 128
    course = Course(scenario, closed_gate("reject-network-failure"), storms=range(storms)).run(1.0)
    course.batch.set_settings(np.repeat(open_gate(), storms, axis=0))
    course.run(29.0)
    fired = np.cumsum(course.attempts[1:], axis=0)
    start, end = round(4.0 / STEP_S), round(8.0 / STEP_S)
    assert fired[: start - 1].sum() == 0.0
    due = 25.0 * np.arange(1, end - start + 1)[:, None]
    debt = due - fired[start - 1 : end - 1]
    variance = 25.0 / (1.0 - 49.0 / 64.0)
    for step in (30, 50, 70):
        assert abs(debt[step].mean()) < 3.5 * np.sqrt(variance / storms)
        assert debt[step].var(ddof=1) == pytest.approx(variance, rel=3.5 * np.sqrt(2.0 / (storms - 1)))
    np.testing.assert_allclose(fired[round(13.0 / STEP_S)], 2000.0, atol=1.0)
    np.testing.assert_allclose(fired[-1], 2000.0, rtol=1e-9)


def test_a_timer_that_ran_out_in_the_network_fires_in_the_next_step() -> None:
    """The gate holds a request for 5 s, but the handset wanted to send again after 3 s."""
    scenario = world(subscribers=handsets(10, fixed(1.0, 3.0)), demand=at_once(10), topology=GATED, horizon_s=12.0)
    course = Course(scenario, gate(0.0, wait_s=5.0)).run()
    assert course.times(course.attempts) == [0, 5.05, 10.1]


def test_half_of_the_timers_may_have_run_out_in_the_gate() -> None:
    """Timers uniform in [3, 7] s, released silently after 5 s: half send in the next step, the rest until 7 s."""
    ladder = {"kind": "laboratory", "retry_refused_s": 1.0, "retry_silent_s": [3.0, 7.0]}
    scenario = world(
        subscribers=handsets(1000, ladder), demand=at_once(1000), topology=GATED, stochastic=False, horizon_s=8.0
    )
    course = Course(scenario, gate(0.0, wait_s=5.0)).run()
    again = course.attempts[1:, 0]
    first = round(5.0 / STEP_S)
    assert again[:first].sum() == 0.0
    assert again[first] == pytest.approx(500.0, rel=0.06)
    assert again[: round(7.0 / STEP_S)].sum() == pytest.approx(1000.0)
    rest = again[first + 1 : round(7.0 / STEP_S) - 2]
    np.testing.assert_allclose(rest, rest[0], atol=1e-6)


def test_laboratory_handsets_that_gave_up_before_the_accept_send_at_once() -> None:
    """Timers uniform in [10, 20] s, accept at the age of 15 s: half have given up, and their time is past."""
    ladder = {"kind": "laboratory", "retry_refused_s": 1.0, "retry_silent_s": [10.0, 20.0]}
    scenario = world(
        subscribers=handsets(1000, ladder),
        demand=at_once(1000),
        topology={"hss": {"latency_s": 7.5 - STEP_S, "timer_s": 30.0}},
        stochastic=False,
        horizon_s=25.0,
    )
    course = Course(scenario).run()
    accepted = int(np.flatnonzero(course.successes[:, 0])[0])
    given_up = course.counter(layout.K_LATE)[accepted, 0]
    assert given_up == pytest.approx(1000.0 * (accepted * STEP_S - 10.0) / 10.0)
    assert given_up == pytest.approx(500.0, rel=0.02)
    assert course.attempts[accepted + 1, 0] == pytest.approx(given_up)
    assert course.attempts[accepted + 2 :, 0].sum() < 1e-6


# -- T3346 ---------------------------------------------------------------------------------------------------------


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


@pytest.mark.xfail(strict=True, reason="the share is drawn anew at every refusal")
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


# -- 10,000 handsets refused within 60 s ---------------------------------------------------------------------------


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


# -- demand and churn ----------------------------------------------------------------------------------------------


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
