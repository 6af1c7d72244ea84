"""Barring and staged release, priority, broken handsets, lost nodes, the day's profile, the SGSN's back-off."""

from typing import Any

import numpy as np
import pytest

from signalstorm.envs.model.kernels import layout
from signalstorm.envs.model.parameters import back_off_s, setting_matrix
from tests.envs.model.kernels.cores import STEP_S, after, core, course, level, network
from tests.envs.model.kernels.worlds import EPS, GATED, Course, closed_gate, fixed, handsets

ONCE = fixed(10_000.0, 10_000.0)


def registered(size: int, **fields: Any) -> list[Any]:
    return handsets(size, ONCE, registered_share=1.0, **fields)


def detach(time_s: float, share: float = 1.0, spread_s: float = 0.0, target: str = "*") -> dict[str, Any]:
    return {"kind": "mass_detach", "time_s": time_s, "share": share, "spread_s": spread_s, "target": target}


def hold(time_s: float, share: float = 1.0) -> dict[str, Any]:
    return {"kind": "hold", "time_s": time_s, "share": share}


def release(time_s: float, stage_s: float, spread_s: float) -> dict[str, Any]:
    return {"kind": "staged_release", "time_s": time_s, "stage_s": stage_s, "spread_s": spread_s}


def test_barred_handsets_wait_and_are_released_stage_by_stage() -> None:
    timeline = [hold(5.0), detach(10.0), release(50.0, 20.0, 10.0)]
    stages = {"resilience": {"release_stages": 4}}
    run = course(network(stages, subscribers=registered(1000), timeline=timeline, horizon_s=150.0))
    held = level(run, core.N_HELD)
    assert after(run, core.N_HELD, 49.0) == pytest.approx(1000.0)
    # A stage lets its part go; while barring lasts, part of those who then try is held again.
    barred = [after(run, core.N_BARRED, t) for t in (49.0, 51.0, 71.0, 91.0, 111.0)]
    assert barred == pytest.approx([1.0, 0.75, 0.5, 0.25, 0.0])
    np.testing.assert_allclose(held[-1], 0.0)
    assert run.without[-1, 0] == pytest.approx(0.0)
    assert run.attempts[round(51.0 / STEP_S) : round(59.0 / STEP_S)].sum() == pytest.approx(
        250.0 * 0.25 * 0.8, rel=0.02
    )


def test_a_share_can_be_barred_and_priority_never_is() -> None:
    groups = [*registered(1000), {**registered(100)[0], "name": "priority", "priority": True}]
    run = course(network({}, subscribers=groups, timeline=[hold(5.0, 0.75), detach(10.0)], horizon_s=30.0))
    assert after(run, core.N_HELD, 30.0) == pytest.approx(750.0)
    assert run.without[-1, 0] == pytest.approx(750.0)


def test_priority_passes_beside_the_gate() -> None:
    groups = [*registered(1000), {**registered(100)[0], "name": "priority", "priority": True}]
    scenario = network(GATED, subscribers=groups, timeline=[detach(10.0)], horizon_s=30.0)
    run = Course(scenario, closed_gate()).run()
    assert run.without[-1, 0] == pytest.approx(1000.0)
    assert run.admitted.sum() == pytest.approx(100.0)
    assert run.batch.counters()[layout.K_ERROR, 0] < 1e-9


@pytest.mark.parametrize("topology", [{}, {"hss": {"rate_per_s": 1e6}}])
def test_broken_handsets_only_load_the_network(topology: dict[str, Any]) -> None:
    groups = [*registered(1000), {"name": "broken", "size": 50, "ladder": fixed(2.0, 5.0), "broken": True}]
    demand = {"rate_per_s": 1000.0}
    run = course(network(topology, subscribers=groups, demand=demand, timeline=[detach(10.0)], horizon_s=30.0))
    k = run.batch.counters()[:, 0]
    assert run.without[-1, 0] == pytest.approx(50.0)
    assert k[layout.K_SUCCESSES] == pytest.approx(1000.0)
    broken = after(run, core.N_BROKEN_REFUSED, 30.0)
    assert broken == pytest.approx(k[layout.K_REFUSED_NETWORK])
    assert broken == pytest.approx(50 * 30.0 / 2.0, rel=0.12)
    if topology:
        # They ask the HSS once per try, the others twice.
        offered = run.batch.queue("hss")[layout.Q_SUM_OFFERED, 0]
        assert offered == pytest.approx(2 * 1000.0 + broken, abs=51.0)


def node(kind: str, time_s: float, **fields: Any) -> dict[str, Any]:
    return {"kind": kind, "target": "mme", "time_s": time_s, "spread_s": 10.0, **fields}


def pool(timeline: list[Any], **resilience: Any) -> Any:
    topology = {"mme": {"rate_per_s": 400.0}, "resilience": {"failure_domains": 4, **resilience}}
    return network(topology, subscribers=registered(4000), timeline=timeline, horizon_s=120.0)


def mme_rate(run: Any) -> float:
    return float(run.batch.queue("mme")[layout.Q_MEAN, 0] / STEP_S)


@pytest.mark.parametrize(("recovery", "lost"), [(0.0, 1000.0), (0.75, 250.0), (1.0, 0.0)])
def test_a_lost_node_takes_its_capacity_and_its_sessions_but_those_recovered(recovery: float, lost: float) -> None:
    run = course(pool([node("node_loss", 10.0)], recovery_share=recovery))
    assert run.without[round(10.0 / STEP_S), 0] == pytest.approx(lost)
    assert run.attempts.sum() == pytest.approx(lost)
    assert mme_rate(run) == pytest.approx(300.0)
    assert run.without[-1, 0] == pytest.approx(0.0, abs=1e-6)


def test_a_node_started_again_brings_its_capacity_back() -> None:
    run = course(pool([node("node_loss", 10.0, nodes=2), node("node_restart", 60.0, nodes=2)]))
    assert run.attempts.sum() == pytest.approx(2000.0)
    assert mme_rate(run) == pytest.approx(400.0)


def test_a_node_taken_out_with_its_load_leaves_no_storm_until_it_returns() -> None:
    out = [node("node_loss", 10.0, load_removed=True), node("node_restart", 60.0)]
    run = course(pool(out))
    assert run.attempts[: round(60.0 / STEP_S)].sum() == 0.0
    assert after(run, core.N_HELD, 59.0) == pytest.approx(1000.0)
    assert run.attempts.sum() == pytest.approx(1000.0)
    assert run.without[-1, 0] == pytest.approx(0.0, abs=1e-6)


def test_power_cycles_follow_the_profile() -> None:
    points = [[0.0, 1.0], [20.0, 1.0], [30.0, 3.0]]
    groups = registered(100_000, churn_per_s=1e-3)
    run = course(network({}, subscribers=groups, churn_profile={"points": points}, horizon_s=60.0))
    per_s = run.attempts[:, 0].reshape(-1, 20).sum(axis=1)
    np.testing.assert_allclose(per_s[[5, 25, 45]], [100.0, 210.0, 300.0], rtol=0.02)


def test_a_stall_holds_messages_back_and_releases_them_at_its_end() -> None:
    stall = {"kind": "stall", "target": "mme", "time_s": 10.0, "until_s": 15.0}
    topology = {"mme": {"rate_per_s": 400.0, "other_load_per_s": 100.0, "timer_s": 30.0}}
    run = course(network(topology, timeline=[stall], horizon_s=30.0))
    waiting = run.waiting("mme")[:, 0]
    assert waiting[round(15.0 / STEP_S) - 1] == pytest.approx(500.0, abs=10.0)
    assert waiting[round(17.0 / STEP_S)] == pytest.approx(5.0, abs=5.0)


def test_a_release_ends_a_stall_that_was_left_open() -> None:
    until = {"kind": "stall", "target": "mme", "time_s": 10.0, "until_s": 15.0}
    open_ = [{"kind": "stall", "target": "mme", "time_s": 10.0}, {"kind": "release", "target": "mme", "time_s": 15.0}]
    topology = {"mme": {"rate_per_s": 400.0, "other_load_per_s": 100.0, "timer_s": 30.0}}
    closed, released, for_good = (
        course(network(topology, timeline=timeline, horizon_s=30.0)).waiting("mme")[:, 0]
        for timeline in ([until], open_, open_[:1])
    )
    np.testing.assert_array_equal(closed, released)
    assert for_good[-1] == pytest.approx(2000.0, abs=20.0)


def rates(run: Any) -> list[float]:
    """What MME and HSS can serve after the last step [1/s]."""
    return [float(run.batch.queue(name)[layout.Q_MEAN, 0] / STEP_S) for name in ("mme", "hss")]


STALLS = (
    {"kind": "stall", "target": "mme", "time_s": 10.0, "until_s": 20.0},
    {"kind": "stall", "target": "mme", "time_s": 20.0, "until_s": 25.0},
    {"kind": "stall", "target": "mme", "time_s": 22.0, "until_s": 30.0},
)
CHANGES = (
    {"kind": "capacity", "target": "mme", "time_s": 15.0, "value": 300.0},
    node("node_loss", 18.0),
    {**node("node_loss", 30.0), "target": "hss"},
)


@pytest.mark.parametrize("timeline", [[*STALLS, *CHANGES], [*CHANGES, *STALLS], [*reversed(STALLS), *CHANGES]])
def test_what_changes_in_a_stall_holds_after_it_in_whatever_order(timeline: list[Any]) -> None:
    topology = {"mme": {"rate_per_s": 400.0}, "hss": {"rate_per_s": 800.0}, "resilience": {"failure_domains": 4}}
    data = {"subscribers": registered(4000, churn_per_s=1e-3), "timeline": timeline, "horizon_s": 60.0}
    assert [rates(course(network(topology, **data), seconds)) for seconds in (12.0, 21.0, 28.0, 31.0)] == [
        [0.0, 800.0],
        [0.0, 800.0],
        [0.0, 800.0],
        [pytest.approx(225.0), pytest.approx(600.0)],
    ]


def test_each_server_has_nodes_of_its_own() -> None:
    topology = {"mme": {"rate_per_s": 400.0}, "hss": {"rate_per_s": 800.0}, "resilience": {"failure_domains": 4}}
    hss = {"target": "hss"}
    timeline = [node("node_loss", 10.0), {**node("node_restart", 20.0), **hss}, {**node("node_loss", 30.0), **hss}]
    data = {"subscribers": registered(4000), "timeline": timeline, "horizon_s": 60.0}
    runs = [course(network(topology, **data), seconds) for seconds in (25.0, 35.0)]
    assert [rates(run) for run in runs] == [[300.0, 800.0], [300.0, 600.0]]
    assert level(runs[1], core.N_LOST_NODES)[-1] == 2.0
    assert runs[1].batch.counters()[layout.K_DETACH_NETWORK, 0] == pytest.approx(1000.0 + 4000.0 / 4.0, rel=1e-3)


def test_a_node_that_comes_back_releases_whoever_is_held_at_once() -> None:
    run = course(pool([node("node_loss", 10.0, load_removed=True), node("node_restart", 40.0)], release_stages=5), 60.0)
    assert after(run, core.N_HELD, 39.0) == pytest.approx(1000.0)
    assert after(run, core.N_HELD, 40.1) == 0.0


def test_a_redirect_switches_idle_subscribers_on_and_a_user_plane_loss_reconnects_registered_ones() -> None:
    guests = {"name": "guest", "size": 500, "ladder": EPS}
    redirect = {"kind": "redirect", "target": "guest", "time_s": 10.0, "share": 0.8, "spread_s": 5.0}
    loss = {"kind": "user_plane_loss", "target": "handset", "time_s": 20.0, "share": 0.1, "spread_s": 5.0}
    timeline = [redirect, loss]
    run = course(network({}, subscribers=[*registered(1000), guests], timeline=timeline, horizon_s=40.0))
    assert run.attempts[: round(19.0 / STEP_S)].sum() == pytest.approx(400.0)
    assert run.attempts.sum() == pytest.approx(500.0)
    assert run.without[-1, 0] == pytest.approx(100.0)


def test_the_sgsn_sends_a_back_off_between_its_two_values() -> None:
    scenario = network(GATED)
    settings = [{"t3346_low_min": 10, "t3346_high_min": 20}, {"t3346_low_min": 15}, {"t3346_s": 100}, {}]
    low, high = back_off_s(setting_matrix([{"nop_rate": 100, **setting} for setting in settings], scenario))
    np.testing.assert_allclose(low, [600.0, 900.0, 90.0, 0.0])
    np.testing.assert_allclose(high, [1200.0, 1800.0, 110.0, 0.0])
