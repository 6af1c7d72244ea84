"""Storms behind signalling links, small enough for the event-by-event reference."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from signalstorm.envs.model.batch import Batch
from signalstorm.envs.model.kernels import layout
from signalstorm.envs.model.metrics import outcomes
from signalstorm.envs.model.parameters import setting_matrix
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.model.scenario_file import load
from tests.envs.model.kernels.worlds import Fields, handsets, world

MEASURES = ("convergence_time_s", "attempts", "peak_minute_rate_per_s")
"""What is compared. Peaks are means of a minute, for those of a second hold the chance of single arrivals."""
MINUTE_S = 60.0

SUBSCRIBERS = 20_000
CAPACITY = 0.1
"""Share of the published network's; the subscribers are twelve times as active, so that their load is a tenth, too."""


def rto(rto_max_ms: float) -> Fields:
    """Limits of the retransmission time-out in their legal order."""
    return {"rto_min_ms": min(1000.0, rto_max_ms), "rto_initial_ms": min(3000.0, rto_max_ms), "rto_max_ms": rto_max_ms}


def few_links(spread_s: float, rto_max_ms: float, **fields: Any) -> Scenario:
    """3,000 subscribers behind four links of 25 messages/s; four of five lose service at 60 s.

    They come back within `spread_s` with four messages each: within 30 s that is 3.3 times what the links carry,
    within 60 s 1.6 times, within 200 s half of it. One link's peer tells of its window. The handsets know no long
    pause and wait longer for an answer than four MAP timers take, so that all depends on the links.
    """
    links = {
        "stps": 1,
        "links_per_stp": 4,
        "rate_per_s": 25.0,
        "window": 75.0,
        "window_updates": ["stp1/slc4"],
        "trickle_per_s": 1.0,
        "start": 400.0,
        "stop": 250.0,
        "queue": 400.0,
        "answer_loss_share": 0.5,
        **rto(rto_max_ms),
    }
    ladder = {"kind": "laboratory", "retry_refused_s": [10.0, 20.0], "retry_silent_s": 150.0}
    data: Fields = {
        "access": "gprs",
        "subscribers": handsets(3000, ladder, registered_share=1.0, churn_per_s=0.001),
        "trigger": {"kind": "detach", "time_s": 60.0},
        "convergence": {"count_from_s": 60.0, "band_share": 0.05},
        "timeline": [{"kind": "mass_detach", "time_s": 60.0, "share": 0.8, "spread_s": spread_s}],
        "topology": {"links": links},
        "horizon_s": 900.0,
    }
    return world(**{**data, **fields})


def small_incident(rto_max_ms: float, **fields: Any) -> Scenario:
    """`incident-2014` with 20,000 subscribers, a tenth of all capacities, and its slow times shortened alike.

    The activity rises within minutes instead of hours and T3302 is 3 min instead of 12; T3310, T3311, the MAP timer
    and the limits of RTO stay. The step is the default one, 0.05 s.
    """
    data = load("incident-2014").model_dump(mode="json")
    share = SUBSCRIBERS / sum(group["size"] for group in data["subscribers"])
    busier = CAPACITY / share
    for group in data["subscribers"]:
        group.update(size=round(group["size"] * share), churn_per_s=group["churn_per_s"] * busier)
        group["ladder"]["t3302_s"] = 180.0
    rates = [per_s * busier for _, per_s in data["activity"]["points"]]
    data["activity"]["points"] = list(zip([0.0, 300.0, 400.0, 550.0, 700.0], rates, strict=True))
    topology = data["topology"]
    topology["imsimgr"]["capacity_per_s"] *= CAPACITY
    for name in ("rate_per_s", "window", "trickle_per_s", "start", "stop", "queue"):
        topology["links"][name] *= CAPACITY
    topology["links"].update(rto(rto_max_ms))
    changed = {
        "name": "small-incident",
        "present": {"nop_rate": 50, "nop_wait_s": 5, "nop_action": "reject-congestion"},
        "convergence": {"count_from_s": 400.0},
        "horizon_s": 1300.0,
        "control_interval_s": 60.0,
        "step_s": None,
        "tunable": [],
        "variation": {},
        "fitted": {},
    }
    return Scenario.model_validate({**data, **changed, **fields})


def kernel(scenario: Scenario, knobs: Mapping[str, Any], seeds: Sequence[int]) -> list[dict[str, float]]:
    """What the compiled model measures, one record per seed."""
    batch = Batch([scenario] * len(seeds), seeds, setting_matrix([knobs], scenario))
    attempts = [np.zeros(len(seeds))]
    while batch.step < batch.end:
        batch.run(round(MINUTE_S / scenario.dt))
        attempts.append(batch.counters()[layout.K_ATTEMPTS].copy())
    peak = np.diff(attempts, axis=0).max(axis=0) / MINUTE_S
    found = outcomes(batch)
    return [
        {
            "convergence_time_s": float(found.convergence_time_s[i]),
            "attempts": float(found.attempts[i]),
            "peak_minute_rate_per_s": float(peak[i]),
        }
        for i in range(len(seeds))
    ]
