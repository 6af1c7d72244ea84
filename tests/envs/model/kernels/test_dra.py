"""The Diameter agent: published sequences of its limits, and the pool of transaction slots."""

from typing import Any

import numpy as np
import pytest

from tests.envs.model.kernels.cores import STEP_S, after, agent, core, course, gain, level, network

WRITES_PER_S = 1000.0


def peer(**rates: Any) -> list[dict[str, Any]]:
    """One peer with messages of its own."""
    return [{"name": "gateway", **rates}]


def cpu(*parts: tuple[float, float]) -> list[dict[str, Any]]:
    """Foreign writes that make the processor show shares of its capacity from given times on: served a step later."""
    return [
        {"kind": "other_load", "target": "database", "time_s": time_s - STEP_S, "value_per_s": share * WRITES_PER_S}
        for time_s, share in parts
    ]


def dynamic(timeline: list[dict[str, Any]], **dra: Any) -> Any:
    """An agent that is limited by the processor of a database."""
    limits = {"peer_limit_per_s": 1000.0, "burst": 1e-9, "dynamic": {}}
    topology = agent(**limits | dra) | {"database": {"rate_per_s": WRITES_PER_S, "timer_s": 5.0}}
    return network(topology, timeline=timeline, horizon_s=400.0)


def test_the_throttle_follows_the_published_sequence() -> None:
    """Limits of 600, 600, 800, 700, 500, 700, 900 and 1,000 of 1,000/s, to the sample."""
    steps = ((10, 0.62), (20, 0.60), (30, 0.64), (40, 0.49), (80, 0.57), (90, 0.67), (100, 0.55), (110, 0.49))
    run = course(dynamic(cpu(*((float(t), s) for t, s in steps)), peers=peer()))
    throttle = level(run, core.N_THROTTLE)
    changes = np.flatnonzero(np.diff(throttle) != 0.0) + 1
    # Each change of the load is seen by the first sample after it; the first calm sample only starts the hold.
    expected = [(11, 40), (71, 20), (81, 30), (91, 50), (101, 30), (141, 10), (171, 0)]
    assert [(round((i + 1) * STEP_S), int(throttle[i])) for i in changes] == expected
    np.testing.assert_allclose((changes + 1) * STEP_S, [time_s for time_s, _ in expected])


def test_a_blip_into_a_band_restarts_the_hold() -> None:
    calm = course(dynamic(cpu((10.0, 0.62), (40.0, 0.49)), peers=peer()))
    blip = course(dynamic(cpu((10.0, 0.62), (40.0, 0.49), (60.0, 0.52), (62.0, 0.49)), peers=peer()))
    assert after(calm, core.N_THROTTLE, 75.0) == 20.0
    assert after(blip, core.N_THROTTLE, 61.0) == 20.0  # the band's own throttle, at once
    assert after(blip, core.N_THROTTLE, 92.0) == 20.0
    assert after(blip, core.N_THROTTLE, 93.0) == 0.0


@pytest.mark.parametrize(("share", "passed"), [(0.3, 1000.0), (0.5, 800.0), (0.62, 600.0), (0.65, 500.0), (0.8, 400.0)])
def test_the_throttle_lowers_what_a_peer_gets_through(share: float, passed: float) -> None:
    # CCR-T that cost no writes, so that the processor shows the foreign writes alone.
    scenario = dynamic(cpu((1.0, share)), dynamic={"sample_s": 1.0}, peers=peer(ccr_t_per_s=2000.0), writes_per_end=0.0)
    run = course(scenario, 30.0)
    per_s = gain(run, core.N_OFFERED, 20.0) - gain(run, core.N_LIMITED, 20.0)
    assert per_s == pytest.approx(passed, abs=0.01)


@pytest.mark.parametrize(
    ("fields", "share"),
    [({}, 0.45), ({"writes_per_end": 0.0}, 0.25), ({"writes_per_end": 2.0}, 0.65), ({"writes_per_update": 0.0}, 0.35)],
)
def test_the_processor_of_the_database_follows_the_writes_of_each_kind(fields: dict[str, float], share: float) -> None:
    """150 CCR-I, 100 CCR-U and 200 CCR-T a second in 1,000 writes/s; Gy writes nothing."""
    rates = peer(ccr_i_per_s=150.0, ccr_u_per_s=100.0, ccr_t_per_s=200.0, gy_per_s=300.0)
    run = course(dynamic([], peers=rates, dynamic={"throttle_percent": [0.0] * 5}, **fields), 20.0)
    assert after(run, core.N_CPU, 20.0) == pytest.approx(share, abs=1e-9)


def test_a_peer_without_the_profile_is_never_throttled() -> None:
    peers = [{"name": "gateway"}, {"name": "other", "dynamic": False, "ccr_t_per_s": 900.0}]
    run = course(dynamic(cpu((1.0, 0.8)), peers=peers, writes_per_end=0.0), 30.0)
    assert after(run, core.N_THROTTLE, 20.0) == 60.0
    assert after(run, core.N_LIMITED, 30.0) == 0.0


def test_static_limits_per_kind_leave_the_others_alone_within_the_total() -> None:
    """1,000/s in all, 200 CCR-I/s, 200 CCR-T/s; CCR-U and Gy pass while the total allows."""
    rates = {"ccr_i_per_s": 300.0, "ccr_t_per_s": 250.0, "ccr_u_per_s": 300.0, "gy_per_s": 300.0}
    limits = {"peer_limit_per_s": 1000.0, "ccr_i_limit_per_s": 200.0, "ccr_t_limit_per_s": 200.0, "burst": 1e-9}
    run = course(network(agent(**limits, peers=peer(**rates)) | {"ocs": {}}), 20.0)
    block = np.diff([run.run(1.0).batch.peer_block(0)[core.B_SUM_PASSED :, 0][:4].copy() for _ in range(2)], axis=0)[0]
    np.testing.assert_allclose(block, [200.0, 300.0, 200.0, 300.0], rtol=1e-9)
    limits["peer_limit_per_s"] = 500.0
    run = course(network(agent(**limits, peers=peer(**rates)) | {"ocs": {}}), 20.0)
    block = np.diff([run.run(1.0).batch.peer_block(0)[core.B_SUM_PASSED :, 0][:4].copy() for _ in range(2)], axis=0)[0]
    np.testing.assert_allclose(block, [100.0, 150.0, 100.0, 150.0], rtol=1e-9)


@pytest.mark.parametrize("kind", ["ccr_i", "ccr_u", "ccr_t"])
@pytest.mark.parametrize("side", ["", "pcrf_"])
def test_a_limit_of_one_kind_on_either_side_leaves_the_other_kinds_alone(kind: str, side: str) -> None:
    """Ingress counts for each of two peers, egress for both together."""
    rates = {"ccr_i_per_s": 100.0, "ccr_u_per_s": 100.0, "ccr_t_per_s": 100.0, "gy_per_s": 100.0}
    peers = [{"name": "gateway", **rates}, {"name": "other", **rates}]
    run = course(network(agent(**{f"{side}{kind}_limit_per_s": 80.0}, burst=1e-9, peers=peers) | {"ocs": {}}), 20.0)
    before = passed(run)
    expected = dict.fromkeys(("ccr_i", "ccr_u", "ccr_t", "gy"), 200.0) | {kind: 80.0 if side else 160.0}
    np.testing.assert_allclose(passed(run.run(1.0)) - before, list(expected.values()), rtol=1e-9)


def passed(run: Any) -> Any:
    """Messages of each kind that two peers got through."""
    return sum(run.batch.peer_block(p)[core.B_SUM_PASSED :, 0][:4] for p in range(2))


def test_a_full_bucket_of_20_at_300_per_s_lets_50_through_in_100_ms() -> None:
    burst = [
        {"kind": "peer_burst", "target": "gateway", "time_s": 0.0, "message": "ccr_t", "count": 51, "spread_s": 0.1}
    ]
    run = course(network(agent(ccr_t_limit_per_s=300.0, burst=20.0), timeline=burst), 1.0)
    assert after(run, core.N_OFFERED, 0.1) == 51.0
    assert after(run, core.N_LIMITED, 0.1) == pytest.approx(1.0, abs=1e-9)


def test_a_second_of_the_limit_is_the_depth_by_default() -> None:
    burst = [{"kind": "peer_burst", "target": "gateway", "time_s": 5.0, "message": "gy", "count": 2000}]
    run = course(network(agent(ocs_limit_per_s=300.0) | {"ocs": {}}, timeline=burst), 6.0)
    assert after(run, core.N_LIMITED, 6.0) == pytest.approx(2000.0 - 300.0 - 300.0 * STEP_S)


def slots(**fields: Any) -> Any:
    """200 Gx and 200 Gy messages/s through an agent; the OCS answers after 5 s, or the requester gives up at 10 s."""
    rates = peer(ccr_u_per_s=200.0, gy_per_s=200.0)
    return network(agent(**{"peers": rates, **fields}) | {"ocs": {"latency_s": 5.0, "tx_s": 10.0}}, horizon_s=60.0)


def test_a_slow_peer_holds_rate_times_latency_slots() -> None:
    """200/s into a peer that takes 5 s: 1,000 in flight."""
    run = course(slots(), 40.0)
    assert after(run, core.N_PENDING_GY, 40.0) == pytest.approx(1000.0, rel=0.02)
    assert after(run, core.N_PENDING_GX, 40.0) <= 200.0 * 2 * STEP_S


def test_a_full_pool_refuses_traffic_that_has_nothing_to_do_with_it_and_a_pending_limit_contains_it() -> None:
    free = course(slots(pool=2000.0), 40.0)
    full = course(slots(pool=600.0), 40.0)
    contained = course(slots(pool=600.0, ocs_pending=500.0), 40.0)
    limited = course(slots(pool=600.0, ocs_limit_per_s=100.0, burst=1e-9), 40.0)
    assert after(free, core.N_BUSY_GX, 40.0) == 0.0
    assert gain(full, core.N_BUSY_GX, 40.0) > 20.0  # collateral: Gx refused because Gy holds the slots
    assert after(contained, core.N_BUSY_GX, 40.0) == 0.0
    assert gain(contained, core.N_BUSY_GY, 40.0) > 50.0
    assert after(limited, core.N_BUSY_GX, 40.0) == 0.0


def test_beyond_the_rated_capacity_the_agent_is_busy() -> None:
    run = course(network(agent(rate_per_s=150.0, peers=peer(ccr_u_per_s=200.0))), 30.0)
    assert gain(run, core.N_BUSY_GX, 30.0) == pytest.approx(50.0)
    assert after(run, core.N_LIMITED, 30.0) == 0.0


def test_a_latency_that_rises_makes_nothing_pending_that_has_been_answered() -> None:
    """50 Gy/s at 50 ms hold 2.5 slots; at 4 s they rise by 50 a second to 200, and a limit of 100 is never exceeded."""
    for limit, most in ((None, 200.0), (100.0, 100.0)):
        topology = agent(peers=peer(gy_per_s=50.0), ocs_pending=limit) | {
            "ocs": {"rate_per_s": 1000.0, "latency_s": 0.05, "tx_s": 5.0}
        }
        rise = [{"kind": "latency", "target": "ocs", "time_s": 20.0, "value_s": 4.0}]
        run = course(network(topology, timeline=rise, horizon_s=60.0))
        pending = level(run, core.N_PENDING_GY)
        assert pending.max() == pytest.approx(most, rel=0.03)
        assert after(run, core.N_PENDING_GY, 21.0) == pytest.approx(52.5, abs=8.0)
