"""Random networks, crowds, events and settings: nothing is lost, and a row is the storm alone."""

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from signalstorm.envs.model.batch import Batch
from signalstorm.envs.model.kernels import layout
from signalstorm.envs.model.parameters import setting_matrix
from signalstorm.envs.model.scenario import Scenario
from tests.envs.model.kernels.worlds import world
from tests.envs.model.test_batch import assert_same, bits
from tests.envs.model.test_batch_conservation import LIMIT, assert_conserved

HORIZON_S = 30.0


def span(rng: np.random.Generator, low: float, high: float) -> list[float]:
    """A time or a span of times, [lo, hi]."""
    first = rng.uniform(low, high)
    return [first, first if rng.random() < 0.3 else rng.uniform(first, high)]


def group(rng: np.random.Generator, number: int) -> dict[str, Any]:
    eps = {
        "kind": "eps",
        "t3410_s": span(rng, 0.5, 6.0),
        "t3411_s": span(rng, 0.1, 4.0),
        "t3402_s": span(rng, 1.0, 20.0),
    }
    other = {"kind": "laboratory", "retry_refused_s": span(rng, 0.1, 5.0), "retry_silent_s": span(rng, 0.5, 9.0)}
    return {
        "name": f"class-{number}",
        "size": int(rng.choice([1, 3, 1000, 10_000_000])),
        "registered_share": float(rng.choice([0.0, 0.3, 1.0])),
        "ladder": {**eps, "attempt_limit": int(rng.integers(1, 6))} if rng.random() < 0.5 else other,
        "honours_t3346_share": float(rng.choice([0.0, 0.4, 1.0])),
        "churn_per_s": float(rng.choice([0.0, 0.01, 0.5])),
    }


def server(rng: np.random.Generator, **fields: Any) -> dict[str, Any]:
    return {
        "rate_per_s": None if rng.random() < 0.2 else float(rng.choice([1e-3, 5.0, 60.0, 2000.0])),
        "buffer": None if rng.random() < 0.3 else float(rng.choice([0.5, 7.0, 100.0, 5000.0])),
        "overflow": str(rng.choice(["drop", "refuse"])),
        "other_load_per_s": float(rng.choice([0.0, 0.0, 3.0, 900.0])),
        **fields,
    }


def events(rng: np.random.Generator, servers: list[str], groups: list[str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for _ in range(rng.integers(0, 5)):
        at = {"time_s": float(np.round(rng.uniform(0.0, HORIZON_S - 5.0), 2))}
        found.append({**at, "kind": "mass_detach", "target": str(rng.choice(["*", *groups])), "share": rng.random()})
        found[-1]["spread_s"] = float(rng.choice([0.0, 0.01, 7.0]))
        if servers:
            target = {**at, "target": str(rng.choice(servers))}
            ramp = {"until_s": at["time_s"] + 3.0} if rng.random() < 0.5 else {}
            found.append({**target, "kind": "capacity", "value": float(rng.choice([0.0, 30.0, 500.0])), **ramp})
            found.append({**target, "kind": "other_load", "value_per_s": float(rng.choice([0.0, 40.0]))})
            found.append({**target, "kind": "message_burst", "count": float(rng.choice([1.0, 4000.0]))})
            if target["target"] != "gateway":
                found.append({**target, "kind": "latency", "value_s": float(rng.choice([0.0, 0.3, 4.0]))})
    return found


def scenario_of(rng: np.random.Generator) -> Scenario:
    topology: dict[str, Any] = {"gate": {}}
    for name in ("hss", "database"):
        if rng.random() < 0.5:
            timers = {"timer_s": rng.uniform(0.5, 5.0), "latency_s": float(rng.choice([0.0, 0.2, 3.0]))}
            topology[name] = server(rng, **timers)
    if rng.random() < 0.7:
        timers = {
            "t3_response_s": rng.uniform(0.3, 3.0),
            "n3_requests": int(rng.integers(0, 5)),
            "tx_s": rng.uniform(0.5, 5.0),
        }
        topology["gateway"] = server(rng, **timers)
        if rng.random() < 0.8:
            topology["pcrf"] = server(rng, latency_s=float(rng.choice([0.0, 0.25, 6.0])))
    groups = [group(rng, number) for number in range(rng.integers(1, 4))]
    servers = [name for name in topology if name != "gate"]
    return world(
        subscribers=groups,
        demand={"rate_per_s": float(rng.choice([0.3, 50.0, 1e5])), "pattern": str(rng.choice(["paced", "poisson"]))},
        topology=topology,
        timeline=events(rng, servers, [each["name"] for each in groups]),
        trigger={"kind": "start", "time_s": float(rng.choice([0.0, 10.0]))},
        horizon_s=HORIZON_S,
        step_s=0.05,
        stochastic=bool(rng.random() < 0.8),
    )


def knobs_of(rng: np.random.Generator) -> dict[str, Any]:
    if rng.random() < 0.3:
        return {"nop_rate": "off"}
    return {
        "nop_rate": int(rng.choice([50, 400, 5000])),
        "nop_wait_s": int(rng.integers(1, 16)),
        "nop_action": str(rng.choice(["drop", "reject-congestion", "reject-network-failure"])),
        "t3346_s": int(rng.choice([0, 1, 8])),
    }


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_any_storm_is_conserved_and_the_same_alone_and_in_a_batch(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scenario = scenario_of(rng)
    matrix = setting_matrix([knobs_of(rng) for _ in range(3)], scenario)
    together = Batch([scenario] * 9, range(9), matrix, rows=(np.arange(9), np.arange(9) % 3), record_s=1.0, check=True)
    alone = Batch([scenario], [7], matrix[[1]], record_s=1.0, check=True)
    while together.step < together.end:
        together.run(int(rng.integers(1, 300)))
        assert_conserved(together)
    alone.run()
    assert_same([array[..., 7:8] for array in bits(together)], bits(alone))
    assert np.isfinite(together.counters()).all()
    assert (together.counters()[layout.K_ERROR] < LIMIT).all()
