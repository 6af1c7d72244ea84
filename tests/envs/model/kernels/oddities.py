"""Scenarios that between them use everything the model has, small enough to run in a moment."""

from signalstorm.envs.model.scenario import Scenario
from tests.envs.model.kernels.worlds import LABORATORY, handsets, world

CROWD = {"subscribers": handsets(1000, LABORATORY), "demand": {"rate_per_s": 100.0}, "closed": True}
TWO_CLASSES = [
    {
        "name": "phone",
        "size": 1000,
        "registered_share": 0.5,
        "churn_per_s": 0.002,
        "ladder": {"kind": "eps", "t3411_s": [8.0, 12.0]},
    },
    {
        "name": "meter",
        "size": 500,
        "registered_share": 1.0,
        "honours_t3346_share": 0.5,
        "ladder": {"kind": "laboratory", "retry_refused_s": [4.0, 6.0], "retry_silent_s": [10.0, 20.0]},
    },
]
EVENTS = [
    {"kind": "capacity", "target": "pcrf", "time_s": 20.0, "value": 12.0, "until_s": 60.0},
    {"kind": "mass_detach", "target": "*", "time_s": 60.0, "share": 0.6, "spread_s": 5.0},
    {"kind": "other_load", "target": "hss", "time_s": 70.0, "value_per_s": 75.0},
    {"kind": "message_burst", "target": "database", "time_s": 80.0, "count": 500},
    {"kind": "latency", "target": "database", "time_s": 100.0, "value_s": 0.2},
    {"kind": "latency", "target": "pcrf", "time_s": 110.0, "value_s": 1.0},
    {"kind": "mass_detach", "target": "meter", "time_s": 120.0, "share": 0.5},
    {"kind": "capacity", "target": "pcrf", "time_s": 130.0, "value": 100.0},
]
EVERY_SERVER = {
    "gate": {},
    "hss": {"rate_per_s": 150.0, "buffer": 250, "timer_s": 3.0},
    "gateway": {"rate_per_s": 75.0, "buffer": 500, "t3_response_s": 1.0, "n3_requests": 2, "tx_s": 3.0},
    "pcrf": {"rate_per_s": 100.0, "buffer": 150},
    "database": {"rate_per_s": 125.0, "buffer": 250, "overflow": "refuse", "timer_s": 2.0, "other_load_per_s": 25.0},
}


def everything(**fields: object) -> Scenario:
    """Two classes with two ladders, every element, every kind of event, churn, foreign load, T3346."""
    data = {
        "subscribers": TWO_CLASSES,
        "demand": {"rate_per_s": 12.0, "start_s": 10.0, "pattern": "poisson"},
        "trigger": {"kind": "mass_detach", "time_s": 60.0},
        "timeline": EVENTS,
        "topology": EVERY_SERVER,
        "present": {"nop_rate": 50, "nop_wait_s": 3, "nop_action": "reject-congestion", "t3346_s": 30},
        "horizon_s": 200.0,
    }
    return world(**{**data, **fields})


PEERS = [
    {"name": "gateway", "ccr_u_per_s": 3.0},
    {"name": "other", "dynamic": False, "ccr_i_per_s": 9.0, "ccr_t_per_s": 9.0, "gy_per_s": 5.0},
]
CORE_SERVERS = {
    **EVERY_SERVER,
    "database": {"rate_per_s": 90.0, "timer_s": 2.0, "cpu_base_share": 0.1},
    "gateway": {"t3_response_s": 1.0, "n3_requests": 2, "tx_s": 3.0, "gx_failure": "retry"},
    "mme": {"rate_per_s": 120.0, "timer_s": 4.0},
    "pcrf_mate": {"rate_per_s": 20.0, "buffer": 30},
    "ocs": {"rate_per_s": 60.0, "latency_s": 0.5, "tx_s": 2.0, "gy_failure": "continue"},
    "dra": {
        "rate_per_s": 300.0,
        "peers": PEERS,
        "peer_limit_per_s": 150.0,
        "ccr_i_limit_per_s": 60.0,
        "ccr_t_limit_per_s": 20.0,
        "pcrf_limit_per_s": 120.0,
        "burst": 10.0,
        "pool": 150.0,
        "ocs_pending": 60.0,
        "update_per_s": 0.01,
        "dynamic": {"hold_s": 5.0},
    },
    "imsimgr": {"capacity_per_s": 200.0, "unknown_per_s": 3.0, "session_managers": 20, "smooth_s": 1.0},
    "ddn": {"rate_per_s": 30.0, "limit_per_s": 40.0, "window_s": 5.0, "poll_s": 1.0, "stabilisation_s": 20.0},
    "resilience": {"failure_domains": 3, "recovery_share": 0.4, "release_stages": 3},
}
CORE_EVENTS = [
    {"kind": "gateway_flush", "time_s": 15.0, "share": 0.3, "flush_s": 5.0, "spread_s": 3.0},
    {"kind": "peer_burst", "target": "other", "time_s": 25.0, "message": "gy", "count": 400, "spread_s": 5.0},
    {"kind": "ddn_surge", "time_s": 30.0, "count": 900, "spread_s": 10.0},
    {"kind": "user_plane_loss", "time_s": 40.0, "share": 0.2, "spread_s": 2.0},
    {"kind": "node_loss", "target": "mme", "time_s": 60.0},
    {"kind": "hold", "time_s": 70.0, "share": 0.6},
    {"kind": "stall", "target": "pcrf", "time_s": 75.0, "until_s": 78.0},
    {"kind": "unknown_burst", "time_s": 80.0, "value_per_s": 30.0, "until_s": 90.0},
    {"kind": "node_loss", "target": "mme", "time_s": 95.0, "load_removed": True},
    {"kind": "staged_release", "time_s": 100.0, "stage_s": 10.0, "spread_s": 8.0},
    {"kind": "redirect", "time_s": 110.0, "target": "phone", "share": 0.5, "spread_s": 5.0},
    {"kind": "node_restart", "target": "mme", "time_s": 140.0, "nodes": 2},
    {"kind": "imsimgr_reboot", "time_s": 150.0},
]
CORE_CLASSES = [
    *TWO_CLASSES,
    {"name": "rescue", "size": 40, "registered_share": 1.0, "priority": True, "ladder": {"kind": "eps"}},
    {"name": "broken", "size": 30, "broken": True, "ladder": LABORATORY},
]


def whole_core(**fields: object) -> Scenario:
    """Every element, event and class beyond the attach chain as well."""
    data = {
        "subscribers": CORE_CLASSES,
        "topology": CORE_SERVERS,
        "timeline": CORE_EVENTS,
        "churn_profile": {"points": [[0.0, 1.0], [100.0, 4.0], [200.0, 0.5]]},
    }
    return everything(**{**data, **fields})


def _pcrf(**server: object) -> dict[str, object]:
    return {"gate": {}, "gateway": {"tx_s": 2.0, "t3_response_s": 0.6}, "pcrf": {"rate_per_s": 50.0, **server}}


ODDITIES: dict[str, Scenario] = {
    "everything": everything(),
    "everything-without-chance": everything(stochastic=False),
    "everything-dropped": everything(present={"nop_rate": 50, "nop_wait_s": 1, "nop_action": "drop"}),
    "everything-refused": everything(present={"nop_rate": 60, "nop_action": "reject-network-failure"}),
    "everything-ungated": everything(present={"nop_rate": "off"}),
    "whole-core": whole_core(),
    "whole-core-without-chance": whole_core(stochastic=False),
    "silent-overflow": world(**CROWD, topology=_pcrf(buffer=117, overflow="drop")),
    "refusing-overflow": world(**CROWD, topology=_pcrf(buffer=117, overflow="refuse")),
    "latency-of-tx": world(**CROWD, topology=_pcrf(latency_s=2.0)),
    "latency-beyond-tx": world(**CROWD, topology=_pcrf(latency_s=2.5)),
    "latency-below-tx": world(**CROWD, topology=_pcrf(latency_s=1.5, buffer=30)),
    "foreign-load": world(**CROWD, topology=_pcrf(buffer=117, other_load_per_s=20.0)),
    "no-network": world(**CROWD),
    "gate-alone": world(**CROWD, topology={"gate": {}}, present={"nop_rate": 50, "nop_wait_s": 1}),
    "databases": world(
        **{**CROWD, "demand": {"rate_per_s": 60.0, "pattern": "poisson"}},
        topology={
            "hss": {"rate_per_s": 90.0, "timer_s": 4.0, "latency_s": 0.3},
            "database": {"rate_per_s": 50.0, "buffer": 120, "overflow": "refuse", "timer_s": 3.0},
        },
    ),
    "late-accepts": world(
        subscribers=[
            {"name": "phone", "size": 600, "ladder": {"kind": "eps"}},
            {"name": "meter", "size": 400, "ladder": LABORATORY},
        ],
        demand={"rate_per_s": 100.0},
        topology={"hss": {"rate_per_s": 500.0, "latency_s": 7.0, "timer_s": 20.0}, "database": {"latency_s": 0.9}},
        horizon_s=200.0,
    ),
    "churn-against-a-closed-door": world(
        subscribers=handsets(1000, registered_share=1.0, churn_per_s=0.05),
        topology={"gate": {}, "hss": {"rate_per_s": 5.0, "buffer": 3}},
        present={"nop_rate": 50, "nop_wait_s": 1, "nop_action": "reject-congestion", "t3346_s": 20},
    ),
}
