"""What a law sees around each knob, and what its rate means there."""

import numpy as np
import pytest

from signalstorm.agents.plant import (
    LONGEST_S,
    AgentLimit,
    BroadcastThreshold,
    Gate,
    NotificationFactor,
    as_number,
    plant_of,
)
from signalstorm.envs.model.scenario_file import load
from signalstorm.envs.observation import (
    ACCEPTS,
    ADMITTED,
    CONGESTED,
    DATABASE_CPU,
    DDN_DROPPED,
    DDN_SENT,
    FAILURES,
    IMSIMGR_CPU,
    REQUESTS,
    THROTTLE,
    answers,
    failed,
    offered,
    passed,
    pending,
    queued,
    sent,
)


def arrays(values: dict[str, float]) -> dict[str, np.ndarray]:
    return {name: np.array([value]) for name, value in values.items()}


GATE = {REQUESTS: 900.0, ADMITTED: 400.0, ACCEPTS: 300.0, FAILURES: 100.0}


def test_the_gate_of_an_sgsn() -> None:
    plant = plant_of(load("incident-2014-randomised"))
    assert plant == Gate(links=8, link_rate_per_s=275.0)
    values = {**GATE, CONGESTED: 2.0, queued(): 3000.0, sent(): 1100.0, IMSIMGR_CPU: 0.3}
    seen = plant.view(arrays(values), np.array([400.0]), 60.0)
    assert seen.failed_share[0] == pytest.approx(0.25)
    assert seen.alarms[0] == 2.0
    assert seen.delay_s[0] == pytest.approx(3000.0 / 1100.0)
    assert seen.utilisation[0] == pytest.approx(0.5)
    assert plant.value(np.array([123.0]), seen)[0] == 123.0


def test_the_gate_of_an_mme() -> None:
    plant = plant_of(load("attach-lte-randomised"))
    assert plant == Gate(servers=("pcrf",))
    values = {**GATE, pending("pcrf"): 500.0, answers("pcrf"): 250.0}
    seen = plant.view(arrays(values), np.array([400.0]), 60.0)
    assert seen.delay_s[0] == pytest.approx(2.0)
    assert np.isnan(seen.utilisation[0])
    stuck = plant.view(arrays({**values, answers("pcrf"): 0.0}), np.array([400.0]), 60.0)
    assert stuck.delay_s[0] == LONGEST_S


def test_counters_that_nobody_has() -> None:
    seen = Gate().view(arrays({ACCEPTS: 300.0}), np.array([400.0]), 60.0)
    assert np.isnan(seen.offered[0])
    assert seen.failed_share[0] == 0.0
    assert np.isnan(seen.delay_s[0])


def test_the_limit_of_the_diameter_agent() -> None:
    """The agent's own throttle of 40 % lowers a limit of 500 to 300; a law's rate is what is left."""
    plant = plant_of(load("dra-throttle-randomised"))
    assert plant == AgentLimit(("pcrf", "database"))
    values = {
        ACCEPTS: 270.0, offered("ccr_i"): 900.0, passed("ccr_i"): 300.0, failed("database"): 30.0,
        failed("pcrf"): 0.0, DATABASE_CPU: 0.62, THROTTLE: 40.0,
    }  # fmt: skip
    seen = plant.view(arrays(values), np.array([500.0]), 60.0)
    assert seen.rate[0] == pytest.approx(300.0)
    assert seen.failed_share[0] == pytest.approx(0.1)
    assert seen.utilisation[0] == 0.62
    assert plant.value(np.array([240.0]), seen)[0] == pytest.approx(400.0)


def test_the_throttle_of_notifications() -> None:
    plant = plant_of(load("ddn-surge-randomised"))
    assert isinstance(plant, NotificationFactor)
    values = {DDN_SENT: 900.0, DDN_DROPPED: 600.0, ACCEPTS: 90.0, FAILURES: 10.0}
    seen = plant.view(arrays(values), np.array([50.0]), 60.0)
    assert seen.offered[0] == 1500.0
    assert seen.rate[0] == pytest.approx(750.0)
    assert seen.completed[0] == pytest.approx(810.0)
    assert plant.value(np.array([300.0]), seen)[0] == pytest.approx(80.0)


def test_knobs_as_numbers() -> None:
    assert as_number("nop_rate", "off") == np.inf
    assert as_number("nop_rate", None) == np.inf
    assert as_number("nop_rate", 320) == 320.0
    assert as_number("ddn_factor_percent", None) == 10.0
    assert isinstance(plant_of(load("imsimgr-randomised")), BroadcastThreshold)
    assert isinstance(plant_of(load("lab-pcrf")), Gate)
