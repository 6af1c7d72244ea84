"""A scenario with every element, as plain data, for the tests of scenarios and their files."""

import copy
from typing import Any

from signalstorm.envs.model.scenario import Scenario

_FULL: dict[str, Any] = {
    "name": "full-core",
    "description": "Every element, two classes, every kind of event.",
    "source": "invented",
    "access": "eps",
    "subscribers": [
        {"name": "phone", "size": 9000, "registered_share": 0.5, "ladder": {"kind": "eps"}},
        {
            "name": "meter",
            "size": 1000,
            "ladder": {"kind": "laboratory", "retry_refused_s": [3.5, 6.5], "retry_silent_s": 15},
        },
    ],
    "demand": {"rate_per_s": 100, "pattern": "poisson"},
    "trigger": {"kind": "power_cut", "time_s": 60},
    "timeline": [
        {"kind": "capacity", "target": "pcrf", "time_s": 60, "value": 20, "until_s": 90},
        {"kind": "latency", "target": "hss", "time_s": 61, "value_s": 0.5},
        {"kind": "other_load", "target": "gateway", "time_s": 62, "value_per_s": 5},
        {"kind": "mass_detach", "target": "phone", "time_s": 63, "share": 0.25, "spread_s": 30},
        {"kind": "message_burst", "target": "database", "time_s": 64, "count": 100},
    ],
    "topology": {
        "gate": {},
        "hss": {"rate_per_s": 400},
        "gateway": {"rate_per_s": 500, "buffer": 1000},
        "pcrf": {"rate_per_s": 50, "buffer": 100, "overflow": "refuse"},
        "database": {"rate_per_s": 300},
    },
    "present": {"nop_rate": 500, "nop_wait_s": 5, "nop_queue": 1500, "nop_action": "reject-congestion"},
    "tunable": ["nop_rate", "nop_queue_wait_s"],
    "clock_start": "06:25",
    "horizon_s": 600,
    "fitted": {"topology.pcrf.buffer": "the published peak"},
}


def full_data(**changes: Any) -> dict[str, Any]:
    """The full scenario as plain data, with other top-level fields; None takes a field out."""
    data = copy.deepcopy(_FULL) | changes
    return {key: value for key, value in data.items() if value is not None}


def full(**changes: Any) -> Scenario:
    """The full scenario, with other top-level fields."""
    return Scenario.model_validate(full_data(**changes))
