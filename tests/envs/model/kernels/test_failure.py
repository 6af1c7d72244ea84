"""Failure handling at the gateway: refuse, go on without policy or charging, or ask the mate."""

from typing import Any

import numpy as np
import pytest

from signalstorm.envs.model.kernels import layout
from tests.envs.model.kernels.cores import after, core, course, network
from tests.envs.model.kernels.worlds import fixed, handsets

ONCE = fixed(10_000.0, 10_000.0)
"""Handsets that try only once within a run."""
CROWD = {"subscribers": handsets(1000, ONCE), "demand": {"rate_per_s": 100.0}, "horizon_s": 60.0}


def slow(action: str, **topology: Any) -> Any:
    """A gateway whose policy server answers in 3.5 s, later than Tx = 3 s."""
    gateway = {"tx_s": 3.0, "gx_failure": action}
    return network({"gateway": gateway, "pcrf": {"latency_s": 3.5}, **topology}, **CROWD)


def ends(run: Any) -> Any:
    """Successes and refusals by the network."""
    k = run.batch.counters()
    return round(float(k[layout.K_SUCCESSES, 0]), 6), round(float(k[layout.K_REFUSED_NETWORK, 0]), 6)


def test_a_gateway_that_terminates_refuses_and_one_that_continues_attaches_degraded_sessions() -> None:
    refused, bypassed = course(slow("terminate")), course(slow("continue"))
    assert ends(refused) == (0.0, 1000.0)
    assert ends(bypassed) == (1000.0, 0.0)
    assert after(bypassed, core.N_DEGRADED, 60.0) == pytest.approx(1000.0)
    # 10 s of demand, then Tx, then the database's turn: nobody is registered before Tx has run out.
    assert np.flatnonzero(bypassed.successes[:, 0])[0] * 0.05 == pytest.approx(3.0, abs=0.15)


def test_a_question_that_failed_is_asked_again_at_the_mate() -> None:
    run = course(slow("retry", pcrf_mate={"rate_per_s": 400.0}))
    assert ends(run) == (1000.0, 0.0)
    assert after(run, core.N_RETRIED, 60.0) == pytest.approx(1000.0)
    assert after(run, core.N_DEGRADED, 60.0) == 0.0
    assert ends(course(slow("retry", pcrf_mate={"latency_s": 9.0}))) == (0.0, 1000.0)


def test_charging_that_fails_refuses_or_is_left_out() -> None:
    ocs = {"latency_s": 5.0, "tx_s": 2.0}
    charged = network({"gateway": {}, "pcrf": {}, "ocs": ocs}, **CROWD)
    free = network({"gateway": {}, "pcrf": {}, "ocs": {**ocs, "gy_failure": "continue"}}, **CROWD)
    assert ends(course(charged)) == (0.0, 1000.0)
    run = course(free)
    assert ends(run) == (1000.0, 0.0)
    assert after(run, core.N_DEGRADED, 60.0) == pytest.approx(1000.0)


def limited(action: str, gx: str, **topology: Any) -> Any:
    """An agent that lets 20 of 100 questions/s through."""
    dra = {"ccr_i_limit_per_s": 20.0, "burst": 1e-9, "limit_action": action}
    gateway = {"tx_s": 4.0, "gx_failure": gx}
    return network({"gateway": gateway, "pcrf": {"rate_per_s": 500.0}, "dra": dra, **topology}, **CROWD)


@pytest.mark.parametrize("action", ["3002", "3004", "5012"])
def test_what_is_beyond_a_limit_is_refused_at_once(action: str) -> None:
    run = course(limited(action, "terminate"))
    assert ends(run) == (pytest.approx(200.0, abs=1.0), pytest.approx(800.0, abs=1.0))
    assert np.flatnonzero(run.counter(layout.K_REFUSED_NETWORK)[:, 0])[0] * 0.05 < 0.3


def test_what_is_dropped_is_refused_after_tx() -> None:
    run = course(limited("drop", "terminate"))
    assert ends(run) == (pytest.approx(200.0, abs=1.0), pytest.approx(800.0, abs=1.0))
    assert np.flatnonzero(run.counter(layout.K_REFUSED_NETWORK)[:, 0])[0] * 0.05 == pytest.approx(4.0, abs=0.3)


def test_after_5012_the_gateway_asks_no_other_agent() -> None:
    mate = {"pcrf_mate": {"rate_per_s": 500.0}}
    assert ends(course(limited("3004", "retry", **mate))) == (1000.0, 0.0)
    assert ends(course(limited("drop", "retry", **mate))) == (1000.0, 0.0)
    assert ends(course(limited("5012", "retry", **mate))) == (
        pytest.approx(200.0, abs=1.0),
        pytest.approx(800.0, abs=1.0),
    )


def test_the_mme_repeats_what_the_agent_dropped() -> None:
    """Tx of 4 s, T3-RESPONSE of 1 s: repeats after 1, 2 and 3 s."""
    scenario = limited("drop", "terminate").with_fields({"topology.gateway.t3_response_s": 1.0})
    repeats = course(scenario).batch.queue("pcrf")[layout.Q_SUM_REPEATED, 0]
    assert repeats == pytest.approx(3 * 800.0, abs=5.0)


def test_every_session_that_ends_sends_a_ccr_t() -> None:
    crowd = {"subscribers": handsets(1000, ONCE, registered_share=1.0)}
    flush = {"kind": "gateway_flush", "time_s": 5.0, "share": 0.4, "flush_s": 2.0, "spread_s": 1.0}
    detach = {"kind": "mass_detach", "time_s": 20.0, "share": 0.5}
    topology = {"gateway": {}, "pcrf": {}, "dra": {"ccr_t_limit_per_s": 50.0, "burst": 1e-9}}
    run = course(network(topology, timeline=[flush, detach], horizon_s=30.0, **crowd))
    offered = run.batch.peer_block(0)[core.B_SUM_OFFERED + core.CCR_T, 0]
    assert offered == pytest.approx(400.0 + 500.0)
    # 200/s for 2 s against 50/s; then 500 at once against what a step lets through.
    assert after(run, core.N_ENDINGS_LOST, 30.0) == pytest.approx(300.0 + 500.0 - 2.5)


def test_updates_and_endings_load_policy_server_and_database() -> None:
    crowd = {"subscribers": handsets(1000, ONCE, registered_share=1.0)}
    dra = {"update_per_s": 0.1, "writes_per_update": 2.0}
    topology = {"gateway": {}, "pcrf": {}, "dra": dra, "database": {"rate_per_s": 1000.0, "cpu_base_share": 0.1}}
    run = course(network(topology, horizon_s=20.0, **crowd))
    assert run.batch.queue("pcrf")[layout.Q_SUM_OFFERED, 0] == pytest.approx(2000.0)
    assert after(run, core.N_CPU, 20.0) == pytest.approx(0.1 + 0.9 * 0.2)
