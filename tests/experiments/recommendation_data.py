"""A recommendation, as the search writes it, in JSON's own types."""

import copy
from typing import Any

_STORMS = [
    # number, PCRF [1/s], lower bound [s], present T [s], recommended T [s]
    (20000, 41.0, 24.4, None, 31.0),
    (20001, 47.0, 21.3, 180.0, 27.5),
    (20002, 52.0, 19.2, 95.0, 24.5),
    (20003, 59.0, 16.9, 25.0, 23.0),
]


def recommendation(**changes: Any) -> dict[str, Any]:
    """Return a recommendation for `lab-pcrf`, with top-level parts replaced."""
    content: dict[str, Any] = {
        "verdict": "T falls from 128 s to 26 s.",
        "never_worse": True,
        "scenario": {"name": "lab-pcrf", "hash": "0f1e2d3c"},
        "present": {
            "nop_rate": "off",
            "nop_wait_s": 5,
            "nop_action": "drop",
            "t3346_s": 0,
            "gtpc_timeout_ms": 5000,
            "gtpc_retries": 4,
            "diameter_tx_s": 2,
            "pcrf_rate_per_s": 50,
        },
        "recommended": {
            "nop_rate": 60,
            "nop_wait_s": 10,
            "nop_queue": 480,
            "nop_action": "drop",
            "t3346_s": 0,
            "gtpc_timeout_ms": 5000,
            "gtpc_retries": 4,
            "diameter_tx_s": 2,
            "pcrf_rate_per_s": 50,
        },
        "nominal": {
            "present": {
                "convergence_time_s": {"median": 128.0, "p10": 90.0, "p90": None},
                "rmst_s": 150.5,
                "converged_share": 0.85,
                "ratio_to_lower_bound": 6.4,
                "peak_request_rate_per_s": 167.0,
                "horizon_s": 600.0,
            },
            "recommended": {
                "convergence_time_s": {"median": 26.0, "p10": 25.0, "p90": 27.0},
                "rmst_s": 26.1,
                "converged_share": 1.0,
                "ratio_to_lower_bound": 1.3,
                "peak_request_rate_per_s": 100.0,
                "horizon_s": 600.0,
            },
            "lower_bound_s": 20.0,
        },
        "held_out": {
            "storms": [
                {
                    "number": number,
                    "fields": {"topology.pcrf.rate_per_s": rate},
                    "lower_bound_s": bound,
                    "present_s": present,
                    "recommended_s": recommended,
                    "ratio": recommended / (present or 600.0),
                    "worse": False,
                }
                for number, rate, bound, present, recommended in _STORMS
            ],
            "worst_ratio": 0.92,
        },
        "safe_interval": {"nop_rate": {"low": 50, "high": 66}},
        "importance": {"nop_rate": 0.8, "nop_wait_s": 0.2},
        "diagnosis": ["overload: up to 167 requests/s meet a policy server of 50/s"],
        "checks": {},
        "versions": {"signalstorm": "0.1.0"},
    }
    return copy.deepcopy(content | changes)
