"""What the MME, the gateway and the handsets make of answers that come late, never, or as a refusal."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pytest

from signalstorm.envs.model.kernels import layout
from signalstorm.envs.model.metrics import outcomes
from tests.envs.model.kernels.worlds import LABORATORY, STEP_S, Course, at_once, fixed, gate, handsets, world

Floats = npt.NDArray[np.float64]

ONCE = fixed(5000.0, 5000.0)
"""Handsets that try once in the horizon."""


def first_retry_s(server: dict[str, object], **gateway: object) -> float:
    """When handsets of which none is served send again."""
    scenario = world(
        subscribers=handsets(100), demand=at_once(100), topology={"gateway": gateway, "pcrf": server}, stochastic=False
    )
    course = Course(scenario).run()
    return float(np.flatnonzero(course.attempts[1:, 0] > 1.0)[0] + 1) * course.dt


NEARLY_STILL = {"rate_per_s": 1e-6}


def test_a_full_buffer_that_refuses_is_heard_at_once() -> None:
    again_s = first_retry_s({**NEARLY_STILL, "buffer": 1, "overflow": "refuse"}, tx_s=4.0)
    assert again_s == pytest.approx(10.0, abs=1e-6)


def test_a_full_buffer_that_says_nothing_is_found_out_after_tx() -> None:
    again_s = first_retry_s({**NEARLY_STILL, "buffer": 1, "overflow": "drop"}, tx_s=4.0)
    assert again_s == pytest.approx(14.0, abs=1e-6)


def test_a_request_that_waits_in_vain_fails_after_tx() -> None:
    assert first_retry_s({**NEARLY_STILL}, tx_s=4.0) == pytest.approx(14.0, abs=1e-6)
    assert first_retry_s({**NEARLY_STILL, "latency_s": 1.5}, tx_s=4.0) == pytest.approx(14.0, abs=1e-6)


def test_the_mme_gives_up_before_tx_where_its_repeats_end_sooner() -> None:
    again_s = first_retry_s({**NEARLY_STILL}, tx_s=20.0, t3_response_s=2.0, n3_requests=2)
    assert again_s == pytest.approx(16.0, abs=1e-6)


def test_latency_delays_an_answer_and_uses_no_capacity() -> None:
    scenario = world(subscribers=handsets(1000, ONCE), demand=at_once(1000), topology={"database": {"latency_s": 2.0}})
    course = Course(scenario).run()
    assert course.times(course.successes) == [2.05]


def sessions(topology: Mapping[str, object], size: int = 100, horizon_s: float = 4.9) -> Floats:
    scenario = world(
        subscribers=handsets(size, ONCE),
        demand=at_once(size),
        topology=topology,
        stochastic=False,
        horizon_s=horizon_s,
    )
    course = Course(scenario).run()
    return course.counter(layout.K_SESSIONS)[:, 0]


def test_the_mme_repeats_what_is_unanswered_and_no_repeat_is_repeated() -> None:
    """100 at once at a gateway of 1/s: at 1, 2, 3, 4 s the unanswered ones are repeated."""
    total = sessions({"gateway": {"rate_per_s": 1.0, "t3_response_s": 1.0, "n3_requests": 4}})
    assert total[0] == pytest.approx(100.0)
    assert total[-1] == pytest.approx(100 + 99 + 98 + 97 + 96, abs=0.5)


def test_repeats_of_a_silent_loss_go_on_until_tx() -> None:
    """Dropped at a full PCRF: repeats at 1, 2 and 3 s, and at 3.5 s the gateway refuses."""
    topology = {
        "gateway": {"t3_response_s": 1.0, "n3_requests": 10, "tx_s": 3.5},
        "pcrf": {**NEARLY_STILL, "buffer": 1e-3, "overflow": "drop"},
    }
    assert sessions(topology, horizon_s=20.0)[-1] == pytest.approx(400.0, rel=1e-3)


def test_a_refusal_ends_the_repeats() -> None:
    topology = {
        "gateway": {"t3_response_s": 1.0, "n3_requests": 10, "tx_s": 3.5},
        "pcrf": {**NEARLY_STILL, "buffer": 1e-3, "overflow": "refuse"},
    }
    assert sessions(topology, horizon_s=20.0)[-1] == pytest.approx(100.0, rel=1e-3)


def test_an_answer_on_its_way_does_not_stop_the_repeats() -> None:
    """Latency 2.5 s, T3 1 s: two repeats each, to the step."""
    topology = {"gateway": {"t3_response_s": 1.0, "n3_requests": 4}, "pcrf": {"latency_s": 2.5}}
    gained = np.diff(sessions(topology, horizon_s=20.0), prepend=0.0)
    sent = np.flatnonzero(gained)
    np.testing.assert_array_equal(sent, [0, round(1.0 / STEP_S), round(2.0 / STEP_S)])
    np.testing.assert_allclose(gained[sent], 100.0)


@pytest.mark.parametrize(("latency_s", "repeats"), [(0.9, 0.0), (1.1, 1.0), (5.5, 4.0)])
def test_there_are_repeats_only_while_the_answer_is_out(latency_s: float, repeats: float) -> None:
    """At most N3, and none once the answer has come; a waiting time of one step is part of the answer's."""
    topology = {"gateway": {"t3_response_s": 1.0, "n3_requests": 4, "tx_s": 20.0}, "pcrf": {"latency_s": latency_s}}
    assert sessions(topology, horizon_s=20.0)[-1] == pytest.approx(100.0 * (1.0 + repeats))


def test_repeats_use_the_gateways_capacity() -> None:
    """Served by the gateway: the 100 of the beginning and whatever was repeated until then."""
    gateway = {"rate_per_s": 200.0, "t3_response_s": 1.0, "n3_requests": 2, "tx_s": 10.0}
    scenario = world(
        subscribers=handsets(100, ONCE),
        demand=at_once(100),
        topology={"gateway": gateway, "pcrf": {"latency_s": 2.5}},
        stochastic=False,
        horizon_s=20.0,
    )
    course = Course(scenario).run()
    assert course.fresh("gateway").sum() == pytest.approx(300.0)


def test_nobody_repeats_foreign_messages() -> None:
    topology = {
        "gateway": {"rate_per_s": 10.0, "buffer": 50, "other_load_per_s": 20.0, "t3_response_s": 1.0},
        "pcrf": {"rate_per_s": 5.0, "buffer": 50, "other_load_per_s": 100.0},
    }
    scenario = world(topology=topology)
    course = Course(scenario, storms=range(4)).run()
    assert (outcomes(course.batch).session_requests == 0.0).all()


def test_create_session_requests_are_those_that_reach_the_gateway() -> None:
    refusing = {"rate_per_s": 1e-6, "buffer": 1e-6, "overflow": "refuse"}
    before = sessions({"hss": refusing, "gateway": {"rate_per_s": 1000.0}}, horizon_s=20.0)
    assert before[-1] == pytest.approx(0.0, abs=1e-3)
    behind = sessions({"gateway": {}, "pcrf": refusing}, horizon_s=20.0)
    assert behind[-1] == pytest.approx(100.0)
    assert sessions({"gateway": {}}, horizon_s=20.0)[-1] == pytest.approx(100.0)
    assert sessions({"database": {"rate_per_s": 1000.0}}, horizon_s=20.0)[-1] == 0.0


@pytest.mark.parametrize("rate_per_s", [None, 100.0])
@pytest.mark.parametrize(("tx_s", "least", "most"), [(3.0, 0.0, 0.05), (4.0, 0.9, 1.0)])
def test_a_pcrf_that_answers_in_3_5_s(rate_per_s: float | None, tx_s: float, least: float, most: float) -> None:
    """Against a timer of 3 s it looks busy and serves nobody; with 4 s nearly everything it does is useful."""
    scenario = world(
        subscribers=handsets(10_000, LABORATORY),
        demand={"rate_per_s": 50.0},
        topology={"gateway": {"tx_s": tx_s}, "pcrf": {"rate_per_s": rate_per_s, "latency_s": 3.5}},
    )
    course = Course(scenario, storms=range(4), every_s=1.0).run()
    found = outcomes(course.batch)
    work = found.served["pcrf"] + found.stale["pcrf"]
    assert (work > 4000.0).all()
    assert (found.successes / work >= least - 1e-9).all()
    assert (found.successes / work <= most + 1e-9).all()


def test_what_a_slow_peer_holds_in_flight() -> None:
    """4 x 50/s into a peer that takes 5 s: 1,000 within 2 %."""
    scenario = world(
        subscribers=[{"name": f"part-{i}", "size": 5000, "ladder": ONCE} for i in range(4)],
        demand={"rate_per_s": 4 * 50.0},
        topology={"gateway": {"tx_s": 10.0}, "pcrf": {"rate_per_s": 1000.0, "latency_s": 5.0}},
    )
    course = Course(scenario, storms=range(4)).run(60.0)
    in_flight = np.cumsum(course.attempts, axis=0) - np.cumsum(course.successes, axis=0)
    assert in_flight[round(20.0 / course.dt) :] == pytest.approx(1000.0, rel=0.02)


def test_a_deep_queue_is_stale_work() -> None:
    """37,500 messages before a server of 200/s are 187 s of waiting; with 100/s behind them they cost twice that.

    The queue shrinks by 100/s; from 2,000 on, 10 s before their service, entries are in time again.
    """
    scenario = world(
        subscribers=handsets(100_000, ONCE),
        demand={"rate_per_s": 100.0, "start_s": 1.0},
        topology={"database": {"rate_per_s": 200.0, "buffer": 37_500, "timer_s": 10.0}},
        timeline=[{"kind": "message_burst", "target": "database", "time_s": 0.0, "count": 37_500}],
        horizon_s=600.0,
        stochastic=False,
    )
    course = Course(scenario, every_s=1.0).run()
    assert course.waiting("database")[0, 0] / 200.0 == pytest.approx(187.5, abs=1.0)
    np.testing.assert_allclose(course.stale("database")[11:350], 200.0)
    first_in_time = int(np.flatnonzero(course.successes[:, 0])[0])
    assert first_in_time == pytest.approx((37_500 - 100 - 2000) / 100.0 + 10.0, abs=1)


def test_ageing_at_2_s_beats_any_depth() -> None:
    """The same overload, 400/s on 200/s, requester's patience 10 s: a gate that purges at 2 s keeps the goodput up."""
    topology = {"gate": {}, "database": {"rate_per_s": 200.0, "timer_s": 10.0}}
    scenario = world(
        subscribers=handsets(20_000, fixed(5.0, 10.0)),
        demand={"rate_per_s": 400.0},
        topology=topology,
        stochastic=False,
        horizon_s=120.0,
    )
    goodput = {}
    for wait_s, depth in ((2.0, 37_500), (2.0, 1500), (60.0, 37_500), (60.0, 15_000), (60.0, 5_000)):
        course = Course(scenario, gate(200.0, wait_s=wait_s, queue=depth), every_s=1.0).run(60.0)
        late_part = course.successes[30:].sum() / (200.0 * 30.0)
        goodput[wait_s, depth] = float(late_part)
    assert min(goodput[2.0, 37_500], goodput[2.0, 1500]) > 0.95
    assert max(goodput[60.0, 37_500], goodput[60.0, 15_000], goodput[60.0, 5_000]) < 0.05
