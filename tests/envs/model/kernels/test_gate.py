"""The gate (network overload protection): exact rate, no credit, purging, its three actions, its default queue."""

import numpy as np
import numpy.typing as npt
import pytest

from signalstorm.envs.model.kernels import layout
from signalstorm.envs.model.parameters import setting_matrix
from tests.envs.model.kernels.worlds import (
    GATED,
    LABORATORY,
    STEP_S,
    Course,
    at_once,
    fixed,
    gate,
    handsets,
    open_gate,
    world,
)

Floats = npt.NDArray[np.float64]

NEVER_AGAIN = fixed(1000.0, 1000.0)
"""Handsets that try once in the horizon."""


def burst(settings: Floats) -> Course:
    """1,000 requests in the first step."""
    scenario = world(subscribers=handsets(1000, NEVER_AGAIN), demand=at_once(1000), topology=GATED)
    return Course(scenario, settings).run()


def test_a_backlog_leaves_at_the_rate_and_never_faster() -> None:
    course = burst(gate(50.0, wait_s=60.0))
    assert course.admitted.max() <= 50.0 * STEP_S + 1e-9
    expected = np.zeros(len(course.admitted))
    expected[1 : 1 + round(1000 / 50.0 / STEP_S)] = 50.0 * STEP_S
    np.testing.assert_allclose(course.admitted[:, 0], expected, atol=1e-9)


def test_the_rate_holds_through_retries_and_random_arrivals() -> None:
    scenario = world(
        subscribers=handsets(2000, LABORATORY),
        demand={"rate_per_s": 150.0, "pattern": "poisson"},
        topology={"gate": {}, "hss": {"rate_per_s": 90.0, "buffer": 50, "overflow": "refuse"}},
        present={"nop_rate": 50, "nop_wait_s": 5, "nop_action": "reject-network-failure"},
    )
    course = Course(scenario, storms=range(16)).run()
    assert course.admitted.max() <= 50.0 * course.batch.dt * (1 + 1e-12)
    assert course.admitted.sum() > 16 * 1500


def test_idle_time_gives_no_credit() -> None:
    """After 10 idle seconds a burst of 1,000 leaves as slowly as at the start."""
    scenario = world(subscribers=handsets(1000, NEVER_AGAIN), demand={**at_once(1000), "start_s": 10.0}, topology=GATED)
    course = Course(scenario, gate(50.0, wait_s=60.0)).run()
    start = round(10.0 / STEP_S)
    assert course.admitted[: start + 1].sum() == 0.0
    np.testing.assert_allclose(course.admitted[start + 1 : start + 101, 0], 50.0 * STEP_S)


@pytest.mark.parametrize("rate_per_s", [25.0, 75.0])
def test_a_burst_on_top_of_a_stream_is_no_reason_to_hurry(rate_per_s: float) -> None:
    """500 at once while the gate is idle half of the time, or has a backlog already."""
    scenario = world(
        subscribers=[
            {"name": "phone", "size": 1000, "ladder": NEVER_AGAIN},
            {"name": "meter", "size": 500, "registered_share": 1.0, "ladder": NEVER_AGAIN},
        ],
        demand={"rate_per_s": rate_per_s},
        timeline=[{"kind": "mass_detach", "target": "meter", "time_s": 10.0}],
        topology=GATED,
    )
    course = Course(scenario, gate(50.0, wait_s=60.0)).run()
    assert course.attempts.max() > 500.0
    assert course.admitted.max() == pytest.approx(50.0 * STEP_S)


@pytest.mark.parametrize("wait_s", [1.0, 5.0, 15.0])
def test_an_entry_older_than_the_wait_is_purged_silently(wait_s: float) -> None:
    """One that is just as old as the wait is still released."""
    course = burst(gate(50.0, wait_s=wait_s))
    assert course.admitted.sum() == pytest.approx(50.0 * wait_s)
    assert course.times(course.admitted)[-1] == wait_s
    assert course.times(course.stale("gate")) == [wait_s + STEP_S]
    assert course.counter(layout.K_EXPIRED)[-1, 0] == pytest.approx(1000 - 50.0 * wait_s)
    assert course.waiting("gate")[round(wait_s / STEP_S) + 1, 0] == 0.0


def test_the_queue_holds_what_it_may_and_no_more() -> None:
    course = burst(gate(50.0, wait_s=60.0, queue=300.0))
    assert course.waiting("gate").max() == pytest.approx(300.0)
    assert course.counter(layout.K_DROPPED)[0, 0] == pytest.approx(700.0)


@pytest.mark.parametrize(
    ("action", "row", "again_s"),
    [
        ("drop", layout.K_DROPPED, 25.0),
        ("reject-congestion", layout.K_REFUSED_CONGESTION, 10.0),
        ("reject-network-failure", layout.K_REFUSED_GATE_FAILURE, 10.0),
    ],
)
def test_overflow_takes_the_action(action: str, row: int, again_s: float) -> None:
    """700 of 1,000 find the queue full: silence or a refusal, told apart by when they try again."""
    scenario = world(subscribers=handsets(1000), demand=at_once(1000), topology=GATED, horizon_s=24.0 + 1.5)
    course = Course(scenario, gate(50.0, wait_s=60.0, queue=300.0, action=action)).run()
    counters = (layout.K_DROPPED, layout.K_REFUSED_CONGESTION, layout.K_REFUSED_GATE_FAILURE)
    assert [course.counter(k)[0, 0] > 0.0 for k in counters] == [k == row for k in counters]
    assert course.counter(row)[0, 0] == pytest.approx(700.0)
    assert course.times(course.attempts)[1] == again_s
    assert course.attempts[round(again_s / STEP_S), 0] == pytest.approx(700.0)


def test_off_paces_nothing() -> None:
    course = burst(open_gate())
    assert course.admitted[1, 0] == pytest.approx(1000.0)
    assert course.successes[1, 0] == pytest.approx(1000.0)
    scenario = world(subscribers=handsets(1000, NEVER_AGAIN), demand=at_once(1000), topology=GATED)
    np.testing.assert_array_equal(setting_matrix([{"nop_rate": "off"}], scenario)[0, [0, 2]], layout.NEVER)


def test_without_a_gate_requests_pass_in_the_same_step() -> None:
    scenario = world(subscribers=handsets(1000, NEVER_AGAIN), demand=at_once(1000))
    course = Course(scenario).run()
    assert course.successes[0, 0] == pytest.approx(1000.0)


@pytest.mark.parametrize(
    ("knobs", "queue"),
    [
        ({"nop_rate": 50, "nop_wait_s": 5}, 250.0),
        ({"nop_rate": 50, "nop_wait_s": 3}, 150.0),  # no legal keyword, but the gate still holds r w
        ({"nop_rate": 400, "nop_wait_s": 5}, 2000.0),
        ({"nop_rate": 5000, "nop_wait_s": 15}, 25_000.0),
        ({"nop_rate": 400, "nop_wait_s": 5, "nop_queue": 500}, 500.0),
        ({"nop_rate": 400, "nop_wait_s": 5, "nop_queue_wait_s": 2.0}, 800.0),
    ],
)
def test_the_default_queue_is_rate_times_wait(knobs: dict[str, float], queue: float) -> None:
    scenario = world(subscribers=handsets(50_000, NEVER_AGAIN), demand=at_once(50_000), topology=GATED, horizon_s=1.0)
    course = Course(scenario, setting_matrix([knobs], scenario)).run()
    assert course.waiting("gate")[0, 0] == pytest.approx(queue)


def test_a_queue_of_rate_times_wait_purges_nothing() -> None:
    """The last of r w entries is released when it is just as old as the wait."""
    course = burst(gate(50.0, wait_s=5.0, queue=250.0))
    assert course.admitted.sum() == pytest.approx(250.0)
    assert course.counter(layout.K_EXPIRED)[-1, 0] == pytest.approx(0.0, abs=1e-9)


def waits(pattern: str) -> tuple[Course, Floats]:
    """2,000 requests at 60/s before a gate of 50/s, and the area between the curves of requests and admissions."""
    scenario = world(
        subscribers=handsets(2000, NEVER_AGAIN), demand={"rate_per_s": 60.0, "pattern": pattern}, topology=GATED
    )
    course = Course(scenario, gate(50.0, wait_s=60.0), storms=range(8)).run()
    assert course.admitted.sum(axis=0) == pytest.approx(np.full(8, 2000.0))
    area = (np.cumsum(course.attempts, axis=0) - np.cumsum(course.admitted, axis=0)).sum(axis=0)
    return course, area * STEP_S


def test_littles_law_on_the_gate() -> None:
    """Time spent waiting, summed over entries, is the number waiting, summed over time."""
    course, area = waits("poisson")
    np.testing.assert_allclose(course.waiting("gate").sum(axis=0) * STEP_S, area, rtol=1e-9)


def test_the_mean_wait_in_the_gate() -> None:
    """They come within 2000/60 s and leave within 2000/50 s, so each waits half of the difference in the mean."""
    _, area = waits("paced")
    np.testing.assert_allclose(area / 2000.0, (2000 / 50.0 - 2000 / 60.0) / 2, atol=2 * STEP_S)


def test_settings_may_change_in_mid_run() -> None:
    scenario = world(subscribers=handsets(1000, NEVER_AGAIN), demand=at_once(1000), topology=GATED)
    course = Course(scenario, gate(50.0, wait_s=60.0), longest={"nop_wait_s": 60.0}).run(2.0)
    course.batch.set_settings(gate(200.0, wait_s=60.0))
    course.run(1.0)
    course.batch.set_settings(gate(200.0, wait_s=2.0))
    course.run()
    np.testing.assert_allclose(course.admitted[1:40, 0], 2.5)
    np.testing.assert_allclose(course.admitted[40:60, 0], 10.0)
    assert course.times(course.stale("gate")) == [3.0]
    assert course.counter(layout.K_EXPIRED)[-1, 0] == pytest.approx(1000 - 39 * 2.5 - 200.0)
    assert course.waiting("gate")[-1, 0] == 0.0
