"""What a handset does after an answer, a refusal or silence: both ladders, exact to the step."""

import numpy as np
import pytest

from signalstorm.envs.model.kernels import layout
from tests.envs.model.kernels.worlds import (
    GATED,
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
    course = Course(scenario, gate(0.0, wait_s=5.0 - STEP_S)).run()
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


DRAWN = {"kind": "laboratory", "retry_refused_s": [4.0, 8.0], "retry_silent_s": [16.0, 24.0]}


def test_drawn_timers_scatter_and_everybody_fires_once() -> None:
    """2,000 refused at once, timers uniform in [4, 8] s of 80 steps: what fired is due, give or take a known variance.

    Due per step: 25. The debt d evens out at 3/80 per step (a third of the spread): d' = 77/80 d + 25 - Poisson, so its
    variance after n steps is 25 (1 - q^n) / (1 - q) with q = (77/80)^2; in the last third of the span it evens out
    sooner, and is nothing shortly after it.
    """
    scenario = world(subscribers=handsets(2000, DRAWN), demand=at_once(2000), topology=GATED)
    storms = 128
    course = Course(scenario, closed_gate("reject-network-failure"), storms=range(storms)).run(1.0)
    course.batch.set_settings(np.repeat(open_gate(), storms, axis=0))
    course.run(9.0)
    fired = np.cumsum(course.attempts[1:], axis=0)
    start, end = round(4.0 / STEP_S), round(8.0 / STEP_S)
    assert fired[: start - 1].sum() == 0.0
    due = 25.0 * np.arange(1, end - start + 1)[:, None]
    debt = due - fired[start - 1 : end - 1]
    kept = (77.0 / 80.0) ** 2
    for step in (15, 30, 50):
        variance = 25.0 * (1.0 - kept ** (step + 1)) / (1.0 - kept)
        assert abs(debt[step].mean()) < 3.5 * np.sqrt(variance / storms)
        assert debt[step].var(ddof=1) == pytest.approx(variance, rel=3.5 * np.sqrt(2.0 / (storms - 1)))
    np.testing.assert_allclose(fired[end - 2], 2000.0, atol=25.0)
    np.testing.assert_allclose(fired[round(8.5 / STEP_S)], 2000.0, rtol=1e-9)


@pytest.mark.parametrize("window_s", [0.25, 0.5, 1.0, 2.0, 4.0])
def test_drawn_timers_have_the_chance_of_handsets_that_draw(refused_for_ever: Course, window_s: float) -> None:
    """2,400 handsets, refused whenever they try, wait 6 s on average and at least 4 s.

    In a window of up to 4 s each tries once or not at all, so attempts are binomial: n p (1 - p), p = window / 6 s.
    """
    attempts = refused_for_ever.attempts[round(40.0 / STEP_S) :]
    steps = round(window_s / STEP_S)
    counts = attempts[: len(attempts) // steps * steps].reshape(-1, steps, attempts.shape[1]).sum(axis=1)
    share = window_s / 6.0
    assert counts.mean() == pytest.approx(2400 * share, rel=0.02)
    assert counts.var(axis=1, ddof=1).mean() == pytest.approx(2400 * share * (1.0 - share), rel=0.15)


@pytest.fixture(scope="module")
def refused_for_ever() -> Course:
    """Handsets that a closed gate refuses, in all phases of their waits."""
    scenario = world(subscribers=handsets(2400, DRAWN), demand={"rate_per_s": 400.0}, topology=GATED)
    return Course(scenario, closed_gate("reject-network-failure"), storms=range(128)).run()


def test_a_timer_that_ran_out_in_the_network_fires_in_the_next_step() -> None:
    """The gate holds a request for 5 s, but the handset wanted to send again after 3 s."""
    scenario = world(subscribers=handsets(10, fixed(1.0, 3.0)), demand=at_once(10), topology=GATED, horizon_s=12.0)
    course = Course(scenario, gate(0.0, wait_s=5.0 - STEP_S)).run()
    assert course.times(course.stale("gate")) == [5, 10.05]
    assert course.times(course.attempts) == [0, 5.05, 10.1]


def test_half_of_the_timers_may_have_run_out_in_the_gate() -> None:
    """Timers uniform in [3, 7] s, released silently after 5 s: half send in the next step, the rest until 7 s."""
    ladder = {"kind": "laboratory", "retry_refused_s": 1.0, "retry_silent_s": [3.0, 7.0]}
    scenario = world(
        subscribers=handsets(1000, ladder), demand=at_once(1000), topology=GATED, stochastic=False, horizon_s=8.0
    )
    course = Course(scenario, gate(0.0, wait_s=5.0 - STEP_S)).run()
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
