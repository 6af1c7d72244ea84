"""Rows that begin storms in different steps of one batch: each must run as if it were alone from the first step on."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from signalstorm.envs.model import scenario_file
from signalstorm.envs.model.batch import Batch
from signalstorm.envs.model.kernels import layout
from signalstorm.envs.model.parameters import SETTING_FIELDS, setting_vector
from signalstorm.envs.model.random_core import random_core
from signalstorm.envs.model.renewal import Storms
from signalstorm.envs.model.scenario import Scenario

WIDTH = 32


def alone(scenario: Scenario, number: int, intervals: int, per: int) -> list[Any]:
    storms = Storms(scenario, 1, setting_vector({}, scenario), vary=True, threads=1)
    storms.start([0], [number])
    seen = []
    for _ in range(intervals):
        storms.batch.run(per)
        seen.append(storms.batch.counters()[:, 0])
    return seen


def check(scenario: Scenario, intervals: int, looked_at: int) -> None:
    """Begin storms at random in rows of a batch, and compare some of those that began late with storms alone."""
    rng = np.random.default_rng(1)
    storms = Storms(scenario, WIDTH, setting_vector({}, scenario), vary=True, threads=1)
    storms.start(range(WIDTH), range(WIDTH))
    per = max(round(scenario.control_interval_s / scenario.dt), 1)
    seen: dict[int, list[Any]] = {}
    fresh = 100
    for _ in range(intervals):
        storms.batch.run(per)
        counters = storms.batch.counters()
        for row, number in enumerate(storms.numbers.tolist()):
            seen.setdefault(number, []).append(counters[:, row])
        rows = np.flatnonzero(rng.random(WIDTH) < 0.05).tolist()
        storms.start(rows, range(fresh, fresh + len(rows)))
        fresh += len(rows)
    late = sorted((number for number in seen if number >= 100), key=lambda number: -len(seen[number]))
    for number in late[:looked_at]:
        for interval, expected in enumerate(alone(scenario, number, len(seen[number]), per)):
            np.testing.assert_array_equal(seen[number][interval], expected, err_msg=f"{number}, {interval}")


@pytest.mark.parametrize("name", ["lab-pcrf", "incident-2014", "dra-db-cpu", "ddn-surge"])
def test_a_row_that_begins_late_runs_as_if_alone(name: str) -> None:
    check(scenario_file.load(name), 30, 2)


@pytest.mark.long
@pytest.mark.parametrize("number", range(20))
def test_any_random_network_does(number: int) -> None:
    check(random_core(number), 120, 6)


@pytest.mark.parametrize("name", ["lab-pcrf", "attach-lte-easy", "incident-sgsn-easy", "core-storm-easy"])
def test_a_row_keeps_nothing_of_its_storm_before(name: str) -> None:
    scenario = scenario_file.load(name)
    steps = round(0.2 * scenario.horizon_s / scenario.dt)
    storms = Storms(scenario, 1, setting_vector({"nop_rate": 60}, scenario), vary=True, threads=1)
    storms.start([0], [5])
    storms.batch.run(steps)
    first = storms.batch.counters()
    changed = storms.batch.settings.copy()
    changed[:, SETTING_FIELDS.index("nop_rate")] = 300.0
    storms.batch.set_settings(changed)
    storms.start([0], [5])
    assert storms.batch.settings[0, SETTING_FIELDS.index("nop_rate")] == 60.0
    assert storms.steps.tolist() == [0]
    storms.batch.run(steps)
    np.testing.assert_array_equal(storms.batch.counters(), first)


@pytest.mark.parametrize(
    ("name", "moved"),
    [
        ("incident-sgsn-easy", {"rto_min_ms": 600, "rto_initial_ms": 600, "rto_max_ms": 600}),
        ("imsimgr-randomised", {"broadcast_off_percent": 60}),
    ],
)
def test_a_drawn_storm_keeps_its_own_network_when_knobs_move(name: str, moved: dict[str, float]) -> None:
    scenario = scenario_file.load(name)
    storms = Storms(scenario, 1, setting_vector({}, scenario), vary=True, threads=1)
    storms.start([0], [5])
    alone = Batch([storms.scenario_of(5)], [5], setting_vector({}, scenario), threads=1)
    for batch in (storms.batch, alone):
        batch.run(round(60.0 / scenario.dt))
        batch.set_settings(setting_vector(moved, scenario)[np.newaxis])
        batch.run(round(600.0 / scenario.dt))
    np.testing.assert_array_equal(storms.batch.counters(), alone.counters())
    np.testing.assert_array_equal(storms.batch.links(), alone.links())
    np.testing.assert_array_equal(_manager(storms.batch), _manager(alone))


def _manager(batch: Batch) -> npt.NDArray[np.float64]:
    at = int(batch.plan.table[layout.P_IMSIMGR])
    return batch.tiles[0][0, at : at + layout.I_COUNT]
