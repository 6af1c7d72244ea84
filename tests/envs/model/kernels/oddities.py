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


def _pcrf(**server: object) -> dict[str, object]:
    return {"gate": {}, "gateway": {"tx_s": 2.0, "t3_response_s": 0.6}, "pcrf": {"rate_per_s": 50.0, **server}}


ODDITIES: dict[str, Scenario] = {
    "everything": everything(),
    "everything-without-chance": everything(stochastic=False),
    "everything-dropped": everything(present={"nop_rate": 50, "nop_wait_s": 1, "nop_action": "drop"}),
    "everything-refused": everything(present={"nop_rate": 60, "nop_action": "reject-network-failure"}),
    "everything-ungated": everything(present={"nop_rate": "off"}),
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
