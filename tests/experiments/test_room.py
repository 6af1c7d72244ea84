"""How far a gate lies above the calm load, and how far that may grow."""

import numpy as np
import pytest

import signalstorm as ss
from signalstorm.envs.model.knobs import Setting, resolve
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.model.scenario_file import load
from signalstorm.experiments import room as rooms
from signalstorm.experiments.room import calm_attaches_per_s, gate_room, in_words
from tests.experiments.tuning import cycling


def test_the_calm_load_of_the_incident_is_the_published_one() -> None:
    assert calm_attaches_per_s(load("incident-2014")) == pytest.approx(205.08 / 0.5634, rel=0.005)
    grown = load("incident-2014").with_fields({"churn_scale": 1.2})
    assert calm_attaches_per_s(grown) == pytest.approx(1.2 * calm_attaches_per_s(load("incident-2014")))


def test_what_passes_beside_the_gate_is_no_part_of_it_and_the_hour_counts() -> None:
    data = cycling().model_dump(mode="json")
    data["subscribers"] = [{**data["subscribers"][0], "name": "police", "priority": True}]
    data["subscribers"].append({**cycling().model_dump(mode="json")["subscribers"][0], "name": "phone"})
    profile = {"points": [[0.0, 1.0], [200.0, 3.0]]}
    assert calm_attaches_per_s(Scenario.model_validate({**data, "churn_profile": profile})) == pytest.approx(100.0)


def test_the_limit_is_where_the_calm_load_meets_the_gate() -> None:
    """70/s over a calm 50/s: without the gate nothing is lost, with it a calm load above 70/s is."""
    scenario, setting = cycling(), Setting({"nop_rate": 70, "nop_wait_s": 5})
    room = gate_room(scenario, setting, resolve(setting, scenario))
    assert room is not None
    assert (room.gate_per_s, room.calm_per_s, room.room_share) == (70.0, 50.0, 0.4)
    assert room.fails_from_share is not None
    assert room.holds_to_share < room.fails_from_share <= 0.45
    assert "lies 40% above the calm 50/s" in in_words(room)
    assert "tune again" in in_words(room)


def test_growths_run_together_fare_as_each_by_itself() -> None:
    scenario, setting = cycling(), Setting({"nop_rate": 70, "nop_wait_s": 5})
    together = rooms._times_s(scenario, setting, [0.0, 0.4, 0.5])
    assert not np.array_equal(together[0.0], together[0.5], equal_nan=True)
    for growth, times_s in together.items():
        alone = rooms._times_s(scenario, setting, [growth])[growth]
        np.testing.assert_array_equal(times_s, alone)


def test_a_gate_far_above_holds_as_far_as_was_tried() -> None:
    scenario = cycling(timeline=[])
    room = gate_room(scenario, Setting({"nop_rate": 500}), {"nop_rate": 500})
    assert room is not None
    assert (room.holds_to_share, room.fails_from_share) == (1.0, None)
    assert "holds up to a calm load 100% higher at least" in in_words(room)


def test_without_gate_or_calm_load_there_is_no_room_to_speak_of() -> None:
    assert gate_room(cycling(), Setting({}), {"nop_rate": "off"}) is None
    assert gate_room(load("lab-pcrf"), Setting({"nop_rate": 60}), {"nop_rate": 60}) is None


def test_a_simulation_says_when_the_gate_is_close_to_the_calm_load() -> None:
    def said(rate: int) -> str:
        return " ".join(ss.simulate(cycling(timeline=[]), {"nop_rate": rate}, seeds=1).to_json()["diagnosis"])

    assert "the gate of 55/s lies 10% above the 50 attaches/s of calm times" in said(55)
    assert "the gate of 50/s" in said(50)
    assert "calm times" not in said(63)
