from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from signalstorm.envs.model.scenario import Scenario
from tests.reference.handset import State
from tests.reference.network import Network
from tests.reference.run import run

LABORATORY = Path(__file__).parents[2] / "configs/scenarios/lab-pcrf.yaml"
GATE = {"nop_rate": 50, "nop_wait_s": 5.0, "nop_action": "drop"}

# Everything at once, small: two classes, all servers, churn, foreign load and every kind of event.
BUSY: Mapping[str, Any] = {
    "name": "busy",
    "description": "Everything at once.",
    "source": "none",
    "access": "eps",
    "subscribers": [
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
    ],
    "demand": {"rate_per_s": 12.0, "start_s": 10.0, "pattern": "poisson"},
    "trigger": {"kind": "mass_detach", "time_s": 60.0},
    "timeline": [
        {"kind": "capacity", "target": "pcrf", "time_s": 20.0, "value": 12.0, "until_s": 60.0},
        {"kind": "mass_detach", "target": "*", "time_s": 60.0, "share": 0.6, "spread_s": 5.0},
        {"kind": "other_load", "target": "hss", "time_s": 70.0, "value_per_s": 75.0},
        {"kind": "message_burst", "target": "database", "time_s": 80.0, "count": 500},
        {"kind": "latency", "target": "database", "time_s": 100.0, "value_s": 0.2},
        {"kind": "mass_detach", "target": "meter", "time_s": 120.0, "share": 0.5},
    ],
    "topology": {
        "gate": {"instances": 1},
        "hss": {"rate_per_s": 150.0, "buffer": 250, "timer_s": 3.0},
        "gateway": {"rate_per_s": 75.0, "buffer": 500, "t3_response_s": 2.0, "n3_requests": 2, "tx_s": 3.0},
        "pcrf": {"rate_per_s": 100.0, "buffer": 150},
        "database": {"rate_per_s": 125.0, "buffer": 250, "timer_s": 2.0, "other_load_per_s": 25.0},
    },
    "present": {"nop_rate": 50, "nop_wait_s": 3, "nop_action": "reject-congestion", "t3346_s": 30},
    "horizon_s": 200.0,
}


@pytest.fixture
def laboratory() -> dict[str, Any]:
    return yaml.safe_load(LABORATORY.read_text())  # type: ignore[no-any-return]


@pytest.mark.parametrize("action", ["drop", "reject-congestion", "reject-network-failure"])
def test_subscribers_and_requests_are_conserved(action: str) -> None:
    network = Network(BUSY, {"nop_action": action}, 6)
    observer = network.observer
    for until_s in np.arange(7.0, 200.0, 7.0):
        network.env.run(until=until_s)
        states = {state: network.population.count(state) for state in State}
        assert sum(states.values()) == 1500
        assert observer.without_service == 1500 - states[State.REGISTERED]
        turned_away = observer.refused + observer.dropped + observer.expired
        in_gate = observer.requests.total() - observer.admissions.total() - turned_away
        in_network = observer.admissions.total() - observer.successes - observer.failures
        assert in_gate == len(network.gate)  # type: ignore[arg-type]
        assert in_gate + in_network == states[State.IN_PROCEDURE]
    assert observer.successes > 200
    assert observer.failures > 20
    assert turned_away > 200


def test_one_seed_is_one_storm(laboratory: dict[str, Any]) -> None:
    assert run(BUSY, {}, 0) == run(BUSY, {}, 0)
    assert run(laboratory, {}, 0) != run(laboratory, {}, 1)


def test_the_scenario_stays_as_it_was(laboratory: dict[str, Any]) -> None:
    before = deepcopy(laboratory)
    run(laboratory, GATE, 0)
    assert laboratory == before


def test_the_gate_holds_the_published_rate(laboratory: dict[str, Any]) -> None:
    result = run(laboratory, GATE, 7)
    assert result.admitted == 1000
    assert result.failures == 0
    assert result.peak_admitted_rate_per_s <= 50.0
    assert result.attempts == result.admitted + result.dropped + result.expired
    assert result.convergence_time_s == pytest.approx(30.0, rel=0.2)


def test_a_storm_that_cannot_end_is_not_reached(laboratory: dict[str, Any]) -> None:
    laboratory["topology"]["pcrf"].update(buffer=400, overflow="drop")
    result = run(laboratory, {}, 8)
    assert result.convergence_time_s is None
    assert result.t95_s is None
    assert result.successes < 500


def test_network_without_servers_attaches_at_the_pace_of_the_demand(laboratory: dict[str, Any]) -> None:
    laboratory["topology"] = {}
    result = run(laboratory, {}, 9)
    assert result.attempts == result.successes == 1000
    assert result.convergence_time_s == pytest.approx(10.0, abs=0.02)
    assert result.peak_request_rate_per_s == 100.0


def test_typed_scenarios_are_read_like_plain_ones(laboratory: dict[str, Any]) -> None:
    for plain in (laboratory, BUSY):
        typed = Scenario.model_validate(plain)
        assert run(typed, {}, 3) == run(plain, {}, 3)
