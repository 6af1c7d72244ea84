"""Servers against queueing theory, and what the MME and the gateway make of late answers.

Seeds are fixed. A statistical limit is three standard errors unless it says otherwise, with the standard error
either known or taken from independent storms.
"""

import numpy as np
import numpy.typing as npt
import pytest

from signalstorm.envs.model.metrics import outcomes
from signalstorm.envs.model.scenario import Scenario
from tests.envs.model.kernels.oracles import mm1k_loss, stepped_loss
from tests.envs.model.kernels.worlds import LABORATORY, Course, at_once, fixed, handsets, world

Floats = npt.NDArray[np.float64]

ONCE = fixed(5000.0, 5000.0)
"""Handsets that try once in the horizon."""


def draining(load: float, *, stochastic: bool, backlog: int = 1000, rate: float = 50.0) -> Scenario:
    return world(
        topology={"hss": {"rate_per_s": rate, "other_load_per_s": load, "timer_s": 10.0}},
        timeline=[{"kind": "message_burst", "target": "hss", "time_s": 0.0, "count": backlog}],
        horizon_s=150.0,
        stochastic=stochastic,
    )


@pytest.mark.parametrize("load", [0.0, 20.0, 40.0])
def test_a_backlog_drains_in_its_size_over_the_spare_capacity(load: float) -> None:
    course = Course(draining(load, stochastic=False)).run()
    empty_s = np.flatnonzero(course.waiting("hss")[:, 0] <= load * course.dt + 1e-6)[0] * course.dt
    assert empty_s == pytest.approx(1000 / (50.0 - load), abs=2 * course.dt)


def test_a_noisy_backlog_drains_as_a_random_walk_does() -> None:
    """First passage of a walk of drift c - l and variance c + l: mean N / (c - l), variance N (c + l) / (c - l)^3."""
    load, rate, backlog, storms = 20.0, 50.0, 1000, 128
    course = Course(draining(load, stochastic=True), storms=range(storms)).run()
    empty = np.argmax(course.waiting("hss") < 1.0, axis=0) * course.dt
    mean = backlog / (rate - load)
    variance = backlog * (rate + load) / (rate - load) ** 3
    assert abs(empty.mean() - mean) < 3.0 * np.sqrt(variance / storms) + 2 * course.dt
    assert empty.var(ddof=1) == pytest.approx(variance, rel=3.0 * np.sqrt(2.0 / (storms - 1)))


def test_an_attach_asks_the_hss_twice() -> None:
    """So an HSS of 50/s lets 25 attaches pass per second."""
    scenario = world(
        subscribers=handsets(500, ONCE),
        demand=at_once(500),
        topology={"hss": {"rate_per_s": 50.0, "timer_s": 40.0}},
        stochastic=False,
    )
    course = Course(scenario).run()
    assert course.successes.sum() == pytest.approx(500)
    assert course.times(course.successes)[-1] == pytest.approx(20.0, abs=3 * course.dt)


def test_the_second_question_takes_the_place_that_the_first_answer_left() -> None:
    """Ten times overloaded, a full buffer that refuses: 25 attaches per second all the same."""
    scenario = world(
        subscribers=handsets(1000, {"kind": "laboratory", "retry_refused_s": [1.0, 3.0], "retry_silent_s": 600.0}),
        demand={"rate_per_s": 500.0},
        topology={"hss": {"rate_per_s": 50.0, "buffer": 20, "overflow": "refuse", "timer_s": 10.0}},
        stochastic=False,
    )
    course = Course(scenario, every_s=1.0).run(20.0)
    assert course.attempts[5:].min() > 200.0
    assert course.successes[5:].mean() == pytest.approx(25.0, rel=0.05)


def test_littles_law_on_a_server() -> None:
    """Everybody's time between asking and being registered is the number at the server, summed over time."""
    scenario = world(
        subscribers=handsets(1000, ONCE),
        demand={"rate_per_s": 45.0, "pattern": "poisson"},
        topology={"database": {"rate_per_s": 50.0}},
    )
    course = Course(scenario, storms=range(8)).run()
    assert course.successes.sum(axis=0) == pytest.approx(np.full(8, 1000.0))
    area = (np.cumsum(course.attempts, axis=0) - np.cumsum(course.successes, axis=0)).sum(axis=0)
    np.testing.assert_allclose(course.waiting("database").sum(axis=0), area, rtol=1e-9)


RATE = 50.0
SIZES = (5, 20, 50)
LOADS = (0.8, 1.0, 1.3)


def losing(rho: float, buffer: int, *, step_s: float, seconds: float) -> Scenario:
    server = {"rate_per_s": RATE, "buffer": buffer, "overflow": "refuse", "other_load_per_s": rho * RATE}
    return world(topology={"hss": server}, step_s=step_s, horizon_s=seconds)


def lost_share(cases: list[tuple[float, int]], *, step_s: float, seconds: float, storms: int) -> tuple[Floats, Floats]:
    """Share of messages that find the buffer full: mean over storms and its standard error, per case.

    Losses come in clumps of 1 / |1 - rho| or fewer, at most the buffer; where hardly any are expected their number has
    at least the variance that Poisson clumps of that size have.
    """
    scenarios = [losing(rho, buffer, step_s=step_s, seconds=seconds) for rho, buffer in cases for _ in range(storms)]
    course = Course(scenarios, storms=range(len(scenarios)), every_s=seconds).run()
    found = outcomes(course.batch)
    share = (found.overflow["hss"] / found.offered["hss"]).reshape(len(cases), storms)
    offered = found.offered["hss"].reshape(len(cases), storms).sum(axis=1)
    clumps = np.array([min(1.0 / max(abs(1.0 - rho), 1e-9), buffer) for rho, buffer in cases])
    least = np.array([mm1k_loss(rho, buffer) for rho, buffer in cases]) / offered
    return share.mean(axis=1), np.sqrt(np.maximum(share.var(axis=1, ddof=1) / storms, clumps * least))


def test_loss_of_a_finite_buffer() -> None:
    """M/M/1/K within 3 standard errors and the known bias of the step, and that bias exactly as the chain gives it."""
    cases = [(rho, buffer) for rho in LOADS for buffer in SIZES]
    step_s = 0.02
    mean, error = lost_share(cases, step_s=step_s, seconds=1200.0, storms=16)
    for (rho, buffer), seen, sigma in zip(cases, mean, error, strict=True):
        stepped = stepped_loss(rho * RATE * step_s, RATE * step_s, buffer)
        theory = mm1k_loss(rho, buffer)
        assert sigma < 0.1 * theory or theory < 1e-5, (rho, buffer)  # a wide error would prove nothing
        assert abs(seen - stepped) < 3.0 * sigma, (rho, buffer)
        assert abs(seen - theory) < 3.0 * sigma + abs(stepped - theory), (rho, buffer)


def test_the_bias_of_the_step_shrinks_with_the_step() -> None:
    """Halved steps leave a quarter of it: what is served before it is admitted and after cancel to first order."""
    for rho in LOADS:
        for buffer in SIZES[:2]:
            bias = [
                stepped_loss(rho * RATE * step_s, RATE * step_s, buffer) - mm1k_loss(rho, buffer)
                for step_s in (0.01, 0.005, 0.0025)
            ]
            assert bias[1] / bias[0] == pytest.approx(0.25, abs=0.02)
            assert bias[2] / bias[1] == pytest.approx(0.25, abs=0.02)


def test_the_kernel_has_the_bias_of_the_chain_at_a_coarse_step() -> None:
    """Two messages per step and a buffer of five: 13 % above M/M/1/K, and gone at a quarter of the step."""
    case, theory = [(1.0, 5)], mm1k_loss(1.0, 5)
    coarse, coarse_error = lost_share(case, step_s=0.04, seconds=1200.0, storms=32)
    fine, fine_error = lost_share(case, step_s=0.01, seconds=1200.0, storms=32)
    assert coarse[0] - theory > 10.0 * coarse_error[0]
    assert abs(coarse[0] - stepped_loss(2.0, 2.0, 5)) < 3.0 * coarse_error[0]
    assert abs(fine[0] - theory) < 0.15 * (coarse[0] - theory) + 3.0 * fine_error[0]


def test_the_queue_of_an_open_server_has_the_length_of_the_chain() -> None:
    """M/M/1 at 0.8 has 4 in the system; the step's own chain is the limit of a large buffer."""
    scenarios = [losing(0.8, 500, step_s=0.005, seconds=600.0)] * 32
    course = Course(scenarios, storms=range(32), every_s=0.1).run()
    length = course.waiting("hss")[600:].mean(axis=0)
    assert abs(length.mean() - 4.0) < 3.0 * length.std(ddof=1) / np.sqrt(32) + 0.8 * RATE * 0.005


def crowd(buffer: float) -> Course:
    """1,000 handsets that try again every 5 s before a server of 50/s whose requester waits 2 s."""
    scenario = world(
        subscribers=handsets(1000, LABORATORY),
        demand={"rate_per_s": 100.0},
        closed=True,
        stochastic=False,
        topology={
            "gateway": {"tx_s": 2.0},
            "pcrf": {"rate_per_s": 50.0, "buffer": buffer, "overflow": "refuse"},
        },
        horizon_s=600.0,
    )
    return Course(scenario, every_s=1.0).run()


def test_the_fifo_cliff_lies_at_capacity_times_patience() -> None:
    """Below 50/s x 2 s nobody waits in vain and the crowd is served in 1000 / 50 s; above everybody does."""
    below, above = crowd(97.0), crowd(103.0)
    assert below.stale("pcrf").sum() == pytest.approx(0.0, abs=1.0)
    assert outcomes(below.batch).convergence_time_s[0] == pytest.approx(20.0, rel=0.15)
    assert np.isnan(outcomes(above.batch).convergence_time_s[0])
    goodput = above.fresh("pcrf")[60:].sum() / (50.0 * 540.0)
    assert goodput < 0.02
    assert above.stale("pcrf")[60:].sum() > 0.95 * 50.0 * 540.0
