"""Storms in networks with more than the attach chain, small enough for the event-by-event reference."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from signalstorm.envs.model.batch import Batch
from signalstorm.envs.model.core_metrics import core_outcomes
from signalstorm.envs.model.kernels import layout
from signalstorm.envs.model.metrics import outcomes
from signalstorm.envs.model.parameters import setting_matrix
from signalstorm.envs.model.scenario import Scenario
from tests.envs.model.kernels.worlds import Fields, handsets, world

MINUTE_S = 60.0
LADDER: Fields = {"kind": "eps", "t3410_s": [14.0, 16.0], "t3411_s": [8.0, 12.0], "t3402_s": [100.0, 140.0]}
GATEWAY: Fields = {"t3_response_s": 5.0, "n3_requests": 2, "tx_s": 5.0}


def storm(topology: Fields, *timeline: Fields, size: int = 5000, churn_per_s: float = 2e-3, **fields: Any) -> Scenario:
    """Registered LTE handsets that power-cycle now and then; something happens at 60 s."""
    data: Fields = {
        "subscribers": handsets(size, LADDER, registered_share=1.0, churn_per_s=churn_per_s),
        "trigger": {"kind": "event", "time_s": 60.0},
        "convergence": {"count_from_s": 60.0, "band_share": 0.03},
        "timeline": list(timeline),
        "topology": topology,
        "horizon_s": 600.0,
    }
    return world(**{**data, **fields})


def at(kind: str, time_s: float = 60.0, **fields: Any) -> Fields:
    return {"kind": kind, "time_s": time_s, **fields}


def mme_overload(rate_per_s: float = 40.0) -> Scenario:
    """A site fails: its subscribers come at once, and more go on coming."""
    mme = {"rate_per_s": rate_per_s, "buffer": 1000, "timer_s": 5.0}
    return storm(
        {"mme": mme},
        at("user_plane_loss", share=0.3, spread_s=20.0),
        churn_profile={"points": [[0.0, 1.0], [60.0, 1.0], [61.0, 1.85]]},
    )


def agent_limits(action: str) -> Scenario:
    """Static limits per peer and kind, and towards the policy servers; another peer sends, too, and bursts."""
    dra = {
        "peers": [{"name": "gateway"}, {"name": "other", "ccr_i_per_s": 10.0, "ccr_u_per_s": 10.0}],
        "peer_limit_per_s": 70.0,
        "ccr_i_limit_per_s": 35.0,
        "pcrf_limit_per_s": 90.0,
        "limit_action": action,
        "update_per_s": 2e-3,
    }
    return storm(
        {"gateway": GATEWAY, "pcrf": {"rate_per_s": 120.0, "buffer": 300}, "dra": dra},
        at("mass_detach", share=0.4, spread_s=20.0),
        at("peer_burst", 100.0, target="other", message="ccr_t", count=2000, spread_s=20.0),
    )


def dynamic_limit() -> Scenario:
    """A gateway ends half of its sessions; the session database cannot write as fast as they end and come back."""
    dra = {
        "peers": [{"name": "gateway"}, {"name": "other", "dynamic": False, "ccr_i_per_s": 5.0, "ccr_t_per_s": 5.0}],
        "peer_limit_per_s": 100.0,
        "limit_action": "3004",
        "dynamic": {"hold_s": 30.0, "step_percent": 20.0},
    }
    topology = {
        "gateway": GATEWAY,
        "pcrf": {"rate_per_s": 300.0, "buffer": 600},
        "database": {"rate_per_s": 110.0, "buffer": 800, "timer_s": 4.0, "cpu_base_share": 0.05},
        "dra": dra,
    }
    return storm(topology, at("gateway_flush", share=0.5, flush_s=30.0, spread_s=30.0))


def slow_charging(pool: float = 250.0, **limits: float) -> Scenario:
    """The charging system answers in 4 s; what it keeps pending fills the agent's pool, and Gx is refused as well."""
    dra = {
        "peers": [{"name": "gateway", "gy_per_s": 40.0}, {"name": "other", "gy_per_s": 30.0, "ccr_u_per_s": 20.0}],
        "pool": pool,
        **limits,
    }
    topology = {
        "gateway": GATEWAY,
        "pcrf": {"rate_per_s": 150.0, "buffer": 300},
        "ocs": {"rate_per_s": 200.0, "buffer": 800, "latency_s": 0.05, "tx_s": 5.0},
        "dra": dra,
    }
    return storm(
        topology,
        at("latency", target="ocs", value_s=4.0),
        at("latency", 240.0, target="ocs", value_s=0.05),
    )


def flush(rate_per_s: float = 70.0) -> Scenario:
    """A burst of CCR-T stands in the policy server's queue before the CCR-I of those who attach again."""
    return storm(
        {"gateway": GATEWAY, "pcrf": {"rate_per_s": rate_per_s, "buffer": 1500}, "dra": {}},
        at("gateway_flush", share=0.5, flush_s=5.0, spread_s=60.0),
    )


def failing(action: str) -> Scenario:
    """The policy server nearly stops for two minutes; the gateway refuses, goes on without it, or asks the mate."""
    topology = {
        "gateway": {"t3_response_s": 4.0, "n3_requests": 2, "tx_s": 2.0, "gx_failure": action},
        "pcrf": {"rate_per_s": 60.0, "buffer": 200},
        "pcrf_mate": {"rate_per_s": 60.0, "buffer": 100, "other_load_per_s": 30.0, "overflow": "refuse"},
    }
    return storm(
        topology,
        at("capacity", target="pcrf", value=3.0),
        at("capacity", 180.0, target="pcrf", value=60.0),
        churn_per_s=6e-3,
    )


def notifications(**throttle: Any) -> Scenario:
    """Twice as many pages as the MME can take; the SGW drops those of low priority, more and more."""
    ddn = {
        "rate_per_s": 20.0,
        "limit_per_s": 40.0,
        "window_s": 10.0,
        "poll_s": 2.0,
        "arp_watermark": 5,
        "stabilisation_s": 60.0,
        **throttle,
    }
    return storm(
        {"mme": {"rate_per_s": 50.0, "buffer": 300, "timer_s": 5.0}, "ddn": ddn},
        at("ddn_surge", count=20000, spread_s=200.0),
    )


def unknown(off_percent: float | None) -> Scenario:
    """The HLR asks about subscribers that are not known; each broadcast costs what ten requests cost."""
    imsimgr = {
        "capacity_per_s": 200.0,
        "base_share": 0.1,
        "session_managers": 50,
        "broadcast_cost": 0.2,
        "broadcast_off_percent": off_percent,
    }
    return storm(
        {"imsimgr": imsimgr, "mme": {"rate_per_s": 100.0, "buffer": 400, "timer_s": 5.0}},
        at("unknown_burst", value_per_s=12.0, until_s=300.0),
        at("mass_detach", 90.0, share=0.4, spread_s=30.0),
    )


def barred(stages: int) -> Scenario:
    """Registration is held back while the MME is slow, and let go in stages."""
    return storm(
        {"mme": {"rate_per_s": 60.0, "buffer": 400, "timer_s": 5.0}, "resilience": {"release_stages": stages}},
        at("mass_detach", share=0.6, spread_s=30.0),
        at("hold", 65.0, share=0.9),
        at("staged_release", 120.0, stage_s=40.0, spread_s=30.0),
    )


def lost_node(buffer: float, recovery: float = 0.0, removed: bool = False) -> Scenario:
    """One of four nodes goes, with a quarter of the subscribers; it comes back after five minutes.

    What is left serves 45/s, so that of 225 who wait the last is answered just in time.
    """
    return storm(
        {
            "mme": {"rate_per_s": 60.0, "buffer": buffer, "timer_s": 5.0},
            "resilience": {"failure_domains": 4, "recovery_share": recovery},
        },
        at("node_loss", target="mme", spread_s=15.0, load_removed=removed),
        at("node_restart", 360.0, target="mme", spread_s=60.0),
        churn_per_s=5e-3,
    )


def stalled() -> Scenario:
    """The HSS stops for forty seconds; what waits is then released, too late for those who wait for it."""
    hss = {"rate_per_s": 100.0, "buffer": 1000, "timer_s": 8.0}
    return storm({"hss": hss}, at("stall", target="hss", until_s=100.0), churn_per_s=6e-3)


def changed_while_stalled(*changes: Mapping[str, Any]) -> Scenario:
    """The MME stops for a minute, and what happens to it meanwhile holds when it goes on."""
    return storm(
        {"mme": {"rate_per_s": 60.0, "buffer": 400, "timer_s": 5.0}, "resilience": {"failure_domains": 4}},
        at("stall", target="mme", until_s=120.0),
        *changes,
        at("mass_detach", share=0.3, spread_s=20.0),
    )


def another_node_restarts() -> Scenario:
    """A node of the MME is lost; that one of the HSS starts, where none was lost, changes nothing."""
    server = {"rate_per_s": 60.0, "buffer": 400, "timer_s": 5.0}
    return storm(
        {"mme": server, "hss": {**server, "buffer": 600}, "resilience": {"failure_domains": 4}},
        at("node_loss", target="mme", spread_s=30.0),
        at("node_restart", 90.0, target="hss", spread_s=30.0),
        at("mass_detach", 95.0, share=0.5, spread_s=20.0),
    )


def overlapping_bursts() -> Scenario:
    """Two floods of requests about unknown subscribers, the second begun before the first is over."""
    imsimgr = {"capacity_per_s": 200.0, "base_share": 0.1, "session_managers": 50, "broadcast_cost": 0.2}
    return storm(
        {"imsimgr": imsimgr, "mme": {"rate_per_s": 100.0, "buffer": 400, "timer_s": 5.0}},
        at("unknown_burst", value_per_s=12.0, until_s=150.0),
        at("unknown_burst", 100.0, value_per_s=20.0, until_s=200.0),
        at("mass_detach", 250.0, share=0.4, spread_s=30.0),
    )


def overlapping_surges() -> Scenario:
    """Two surges of notifications, each sent evenly within its own time."""
    return storm(
        {
            "mme": {"rate_per_s": 60.0, "buffer": 400, "timer_s": 5.0},
            "ddn": {"rate_per_s": 5.0, "limit_per_s": 1e5, "arp_watermark": 15},
        },
        at("ddn_surge", count=2000, spread_s=10.0),
        at("ddn_surge", count=8000, spread_s=400.0),
    )


def kernel(scenario: Scenario, knobs: Mapping[str, Any], seeds: Sequence[int]) -> list[dict[str, float]]:
    """What the compiled model measures, one record per seed."""
    batch = Batch([scenario] * len(seeds), seeds, setting_matrix([knobs], scenario))
    attempts = [np.zeros(len(seeds))]
    while batch.step < batch.end:
        batch.run(round(MINUTE_S / scenario.dt))
        attempts.append(batch.counters()[layout.K_ATTEMPTS].copy())
    peak = np.diff(attempts, axis=0).max(axis=0) / MINUTE_S
    found = outcomes(batch)
    beside = core_outcomes(batch)
    return [
        {
            "convergence_time_s": float(found.convergence_time_s[i]),
            "attempts": float(found.attempts[i]),
            "peak_minute_rate_per_s": float(peak[i]),
            **{name: float(values[i]) for name, values in beside.items()},
        }
        for i in range(len(seeds))
    ]
