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
_COMMON = {
    "nop_action": "drop",
    "t3346_s": 0,
    "gtpc_timeout_ms": 5000,
    "gtpc_retries": 4,
    "diameter_tx_s": 2,
    "pcrf_rate_per_s": 50,
}


MORE: dict[str, Any] = {
    "profiles": {
        "nop_rate": {"unit": "per s", "values": [50, 60, 66, 5000], "value_s": [24.0, 26.0, 28.0, 590.0]},
        "nop_wait_s": {"unit": "s", "values": [1, 5, 10, 15], "value_s": [80.0, 40.0, 26.0, 26.0]},
        "nop_action": {"unit": "", "values": ["drop", "reject-congestion"], "value_s": [26.0, 26.1]},
    },
    "importance": {"nop_rate": 0.91, "nop_wait_s": 0.09, "nop_action": 0.0},
    "ped_anova": {"nop_rate": 0.4, "nop_wait_s": 0.1, "nop_queue_wait_s": 0.3, "nop_action": 0.2},
    "interaction": {
        "knobs": ["nop_rate", "nop_wait_s"], "units": ["per s", "s"], "first": [50, 60, 180], "second": [5, 10, 15],
        "storms": 4, "value_s": [[None, 24.5, 24.0], [40.0, 26.0, 26.0], [400.0, 500.0, 590.0]],
        "present": ["off", 5], "recommended": [60, 10],
    },
    "pareto": [
        {"trial": 0, "override": {}, "values": {"time": 225.0, "refused_share": 0.1, "change_cost": 0.0}},
        {"trial": 7, "override": {"nop_rate": 70}, "values": {"time": 31.0, "refused_share": 0.3, "change_cost": 1.0}},
        {
            "trial": 9, "override": {"nop_rate": 60, "nop_wait_s": 10, "nop_queue_wait_s": 8.0},
            "values": {"time": 26.5, "refused_share": 0.4, "change_cost": 2.0},
        },
    ],
    "passed_over": {
        "trial": 12, "override": {"nop_rate": 64}, "seeds": [20000, 20001], "rmst_s": 24.5, "recommended_rmst_s": 26.0,
        "reason": "it is worse than the present setting on 2 of 48 fresh storms, by up to 12%",
    },
}  # fmt: skip
"""Parts that a search of many trials adds."""


def recommendation(**changes: Any) -> dict[str, Any]:
    """Return a recommendation for `lab-pcrf`, with top-level parts replaced."""
    content: dict[str, Any] = {
        "verdict": "The recommended setting ends the storm in 26.0 s instead of 128.0 s.",
        "format": "signalstorm-recommendation/1",
        "version": "0.1.0",
        "scenario": {"name": "lab-pcrf", "hash": "0f1e2d3c"},
        "never_worse": True,
        "changed": True,
        "present": {"nop_rate": "off", "nop_wait_s": 5, **_COMMON},
        "recommended": {"nop_rate": 60, "nop_wait_s": 10, "nop_queue": 480, **_COMMON},
        "override": {"nop_rate": 60, "nop_wait_s": 10, "nop_queue_wait_s": 8.0},
        "diff": [_diff("nop_rate", "per s", "off", 60), _diff("nop_wait_s", "s", 5, 10)],
        "safe_interval": {
            "nop_rate": {"unit": "per s", "low": 50, "high": 66},
            "nop_queue_wait_s": {"unit": "s", "low": 4.5, "high": 10.0},
        },
        "safe_words": {"nop_action": ["drop", "reject-congestion"]},
        "nominal": {
            "seeds": [20000, 20001, 20002, 20003],
            "lower_bound_s": 20.0,
            "horizon_s": 600.0,
            "present": _figures(128.0, 90.0, None, rmst_s=150.5, converged=0.85, ratio=6.4),
            "recommended": _figures(26.0, 25.0, 27.0, rmst_s=26.1, converged=1.0, ratio=1.3),
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
            "worse": [],
            "worst_ratio": 0.92,
            "horizon_s": 600.0,
            "present": _figures(180.0, 25.0, None, rmst_s=225.0, converged=0.75, ratio=8.5),
            "recommended": _figures(26.0, 23.0, 31.0, rmst_s=26.5, converged=1.0, ratio=1.25),
        },
        "importance": {"nop_rate": 0.8, "nop_wait_s": 0.2},
        "pareto": None,
        "search": {
            "trials": 400,
            "feasible": 211,
            "seeds": [0, 1, 2, 3],
            "guards": [17, 40],
            "choice": [10000, 10001],
            "choice_guards": [10017],
            "sampler": "TPE, seed 0",
            "seconds": 61.5,
        },
        "diagnosis": [
            "present setting: overload: up to 167 requests/s meet a policy server of 50/s",
            "nothing better was found",
        ],
        "checks": None,
        "versions": {"signalstorm": "0.1.0", "torch": None},
    }
    return copy.deepcopy(content | changes)


def _diff(knob: str, unit: str, present: int | str, recommended: int | str) -> dict[str, Any]:
    row = {"knob": knob, "unit": unit, "present": present, "recommended": recommended}
    return {**row, "change": "live", "exportable": True}


def _figures(
    median: float, p10: float, p90: float | None, *, rmst_s: float, converged: float, ratio: float
) -> dict[str, Any]:
    return {
        "convergence_time_s": {"median": median, "p10": p10, "p90": p90},
        "rmst_s": rmst_s,
        "converged_share": converged,
        "ratio_to_lower_bound": ratio,
        "cvar_s": 1.5 * rmst_s,
        "worst_s": 2.0 * rmst_s,
        "peak_request_rate_per_s": 100.0,
    }
