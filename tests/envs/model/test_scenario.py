"""The typed scenario: step rule, hash, variation, dotted paths, and that nothing half-valid gets in."""

import math
import pickle
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from signalstorm.envs.model.errors import InputError
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.model.scenario_file import list_names, load
from signalstorm.envs.model.scenario_parts import EpsLadder, LaboratoryLadder
from tests.envs.model.scenario_data import full, full_data


def patient(**topology: dict[str, float]) -> Scenario:
    """A scenario whose only queues are those of the given servers."""
    return full(topology=topology, timeline=[], present={}, tunable=[], fitted={})


def test_a_scenario_cannot_be_changed() -> None:
    scenario = full()
    with pytest.raises(ValidationError):
        scenario.horizon_s = 1.0
    with pytest.raises(ValidationError):
        scenario.subscribers[0].size = 1


def test_ladders_are_told_apart_by_kind_and_times_are_pairs() -> None:
    phone, meter = (group.ladder for group in full().subscribers)
    assert isinstance(phone, EpsLadder)
    assert (phone.t3410_s, phone.t3411_s, phone.t3402_s, phone.attempt_limit) == (
        (15.0, 15.0),
        (10.0, 10.0),
        (720.0, 720.0),
        5,
    )
    assert isinstance(meter, LaboratoryLadder)
    assert (meter.retry_refused_s, meter.retry_silent_s) == ((3.5, 6.5), (15.0, 15.0))


def test_whole_numbers_may_be_written_as_floats() -> None:
    size = full().with_fields({"subscribers.phone.size": 1.25e8}).subscribers[0].size
    assert (size, type(size)) == (125_000_000, int)


def test_a_scenario_survives_pickling_and_serves_as_a_key() -> None:
    scenario = full()
    copy = pickle.loads(pickle.dumps(scenario))
    assert copy == scenario
    assert {scenario: "found"}[copy] == "found"


@pytest.mark.parametrize(
    ("topology", "step_s"),
    [
        ({"gateway": {"tx_s": 2.0}, "pcrf": {"rate_per_s": 50.0}}, 1 / 50),
        ({"gateway": {"tx_s": 2.0}, "pcrf": {}}, 1 / 20),  # no rate, no queue: the gate's wait decides
        ({"gateway": {"tx_s": 10.0}, "pcrf": {"rate_per_s": 50.0}}, 1 / 20),
        ({"gateway": {"tx_s": 4.0}, "pcrf": {"rate_per_s": 50.0, "latency_s": 3.5}}, 1 / 200),
        ({"gateway": {"tx_s": 3.0}, "pcrf": {"rate_per_s": 50.0, "latency_s": 3.5}}, 1 / 34),
        ({"gateway": {"rate_per_s": 9.0, "t3_response_s": 1.0, "n3_requests": 1}}, 1 / 50),
        ({"hss": {"rate_per_s": 9.0, "timer_s": 1.5}}, 1 / 67),
        ({"database": {"rate_per_s": 9.0, "timer_s": 0.3}}, 1 / 334),
    ],
)
def test_default_step_is_a_hundredth_of_the_shortest_patience(topology: dict[str, Any], step_s: float) -> None:
    scenario = patient(**topology)
    assert scenario.dt == scenario.step_s_default() == step_s


def test_a_server_that_gets_its_rate_from_an_event_has_a_queue_too() -> None:
    topology = {"gateway": {"tx_s": 1.0}, "pcrf": {}}
    event = {"kind": "capacity", "target": "pcrf", "time_s": 1, "value": 5}
    assert full(topology=topology, timeline=[event], present={}, tunable=[], fitted={}).dt == 1 / 100


@given(timer_s=st.floats(0.01, 100.0))
def test_the_default_step_divides_a_second_and_is_fine_enough(timer_s: float) -> None:
    step_s = patient(hss={"rate_per_s": 9.0, "timer_s": timer_s}).dt
    assert step_s == 1 / round(1 / step_s)
    assert step_s <= min(timer_s / 100, 1 / 20) * (1 + 1e-9)
    coarser = 1 / (round(1 / step_s) - 1)
    assert coarser > min(timer_s / 100, 1 / 20) * (1 - 1e-6)


def test_a_coarse_step_warns_and_a_very_coarse_one_is_refused() -> None:
    scenario = patient(hss={"rate_per_s": 9.0, "timer_s": 2.0})
    assert scenario.warnings() == []
    assert scenario.with_fields({"step_s": 0.02}).warnings() == []
    coarse = scenario.with_fields({"step_s": 0.5})
    assert coarse.dt == 0.5
    assert [warning.key for warning in coarse.warnings()] == ["step_s"]
    assert "0.02 s" in str(coarse.warnings()[0])
    with pytest.raises(InputError, match=r"a quarter of the shortest patience, 2 s by topology\.hss\.timer_s"):
        scenario.with_fields({"step_s": 0.51, "control_interval_s": 5.1})


def test_warns_of_idle_subscribers_without_demand_and_of_a_latency_beyond_the_timer() -> None:
    scenario = full(demand=None).with_fields({"topology.pcrf.latency_s": 12.0})
    assert [warning.key for warning in scenario.warnings()] == ["demand", "topology.pcrf.latency_s"]


def test_the_hash_covers_what_changes_results_and_nothing_else() -> None:
    scenario = full()
    reordered = Scenario.model_validate(dict(reversed(full_data().items())))
    explicit = full(convergence={"count_from_s": 0, "band_share": 0.01}, stochastic=True)
    prose = full(description="other words", source="elsewhere", fitted={})
    assert scenario.hash() == reordered.hash() == explicit.hash() == prose.hash()
    assert len(scenario.hash()) == 64
    others = [scenario.with_fields({path: value}) for path, value in _CHANGES.items()]
    assert len({scenario.hash(), *(other.hash() for other in others)}) == len(_CHANGES) + 1


_CHANGES = {
    "name": "other",
    "stochastic": False,
    "topology.pcrf.rate_per_s": 50.000001,
    "present.nop_rate": 501,
    "variation": {},
    "tunable": ["nop_rate"],
    "step_s": 0.01,
}


def test_the_hash_is_the_same_in_another_process() -> None:
    code = "from signalstorm.envs.model.scenario_file import load; print(load('lab-pcrf').hash())"
    for seed in ("0", "1"):
        found = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
        )
        assert found.stdout.strip() == load("lab-pcrf").hash()


def test_capacities_and_demand_vary_by_a_fifth_unless_the_scenario_says_otherwise() -> None:
    assert full().variation_or_default() == {
        "topology.hss.rate_per_s": pytest.approx((320.0, 480.0)),
        "topology.gateway.rate_per_s": pytest.approx((400.0, 600.0)),
        "topology.pcrf.rate_per_s": pytest.approx((40.0, 60.0)),
        "topology.database.rate_per_s": pytest.approx((240.0, 360.0)),
        "demand.rate_per_s": pytest.approx((80.0, 120.0)),
    }
    assert full(variation={}).variation_or_default() == {}
    own = {"subscribers.phone.size": [8000, 10000]}
    assert full(variation=own).variation_or_default() == {"subscribers.phone.size": (8000.0, 10000.0)}
    bare = full(demand=None, topology={"gateway": {}}, timeline=[], present={}, tunable=[], fitted={})
    assert bare.variation_or_default() == {}


def test_fields_are_set_by_number_by_name_and_where_an_element_was_null() -> None:
    scenario = patient(gateway={})
    changed = scenario.with_fields(
        {
            "subscribers.1.size": 5,
            "subscribers.phone.size": 7,
            "subscribers.phone.ladder.t3410_s": [14, 16],
            "topology.database.rate_per_s": 12,
            "subscribers.meter.ladder.retry_refused_s": 4,
        }
    )
    assert [group.size for group in changed.subscribers] == [7, 5]
    assert changed.subscribers[0].ladder.t3410_s == (14.0, 16.0)  # type: ignore[union-attr]
    assert changed.subscribers[1].ladder.retry_refused_s == (4.0, 4.0)  # type: ignore[union-attr]
    assert changed.topology.database is not None
    assert (changed.topology.database.rate_per_s, changed.topology.database.timer_s) == (12.0, 10.0)
    assert scenario.topology.database is None
    assert scenario.subscribers[0].size == 9000


def test_setting_fields_reports_every_fault() -> None:
    with pytest.raises(InputError) as unknown:
        full().with_fields({"topology.pcfr.rate_per_s": 1, "demand.rte_per_s": 2, "subscribers.phon.size": 3})
    assert [fault.way_out for fault in unknown.value.faults] == [
        "did you mean pcrf?",
        "did you mean rate_per_s?",
        "did you mean phone?",
    ]
    with pytest.raises(InputError) as wrong:
        full().with_fields({"demand.rate_per_s": -1, "horizon_s": "long", "closed": 1}, "--set")
    assert [(fault.file, fault.key) for fault in wrong.value.faults] == [
        ("--set", "closed"),
        ("--set", "demand.rate_per_s"),
        ("--set", "horizon_s"),
    ]


def test_fields_that_refer_to_others_are_checked_when_they_are_set() -> None:
    with pytest.raises(InputError, match=r"variation.topology.pcrf.rat: there is no scenario field 'rat'"):
        full().with_fields({"variation": {"topology.pcrf.rat": [1, 2]}})


def test_drawn_whole_numbers_are_rounded_and_given_ones_are_not() -> None:
    path = "subscribers.phone.size"
    assert full().with_fields({path: 8123.4}, drawn=True).subscribers[0].size == 8123
    with pytest.raises(InputError, match=r"must be a whole number, but got 8123\.4"):
        full().with_fields({path: 8123.4})


@pytest.mark.parametrize("scenario", [full(), *map(load, list_names())], ids=lambda s: s.name)
def test_every_path_can_be_set_to_its_own_value(scenario: Scenario) -> None:
    paths = scenario.paths()
    for path, field in paths.items():
        assert scenario.with_fields({path: field.value}) == scenario, path
    assert scenario.with_fields({path: field.value for path, field in paths.items()}) == scenario


def test_paths_carry_unit_and_meaning() -> None:
    paths = full().paths()
    assert paths["topology.pcrf.rate_per_s"][:2] == (50.0, "per s")
    assert paths["subscribers.1.ladder.retry_refused_s"][:2] == ([3.5, 6.5], "s")
    assert paths["subscribers.1.ladder.retry_silent_s"][:2] == (15.0, "s")
    assert paths["present.nop_queue"][:2] == (1500, "requests")
    assert all(field.description.endswith(".") for field in paths.values())
    units = {"_s": "s", "_per_s": "per s", "_share": "share"}
    for path, field in paths.items():
        suffix = next((ending for ending in ("_per_s", "_share", "_s") if path.endswith(ending)), None)
        if suffix and not path.startswith(("fitted", "present")):
            assert field.unit == units[suffix], path


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_no_field_takes_nan_or_an_infinity(value: float) -> None:
    scenario = full()
    numeric = [path for path, field in scenario.paths().items() if isinstance(field.value, int | float | list)]
    assert len(numeric) > 30
    for path in numeric:
        with pytest.raises(InputError):
            scenario.with_fields({path: value})
    with pytest.raises(InputError):
        scenario.with_fields({"subscribers.meter.ladder.retry_refused_s": [1.0, value]})
    with pytest.raises(InputError):
        scenario.with_fields({"variation": {"demand.rate_per_s": [1.0, value]}})


@pytest.mark.parametrize("value", [True, "5", None, [], {}, "off"])
def test_a_number_is_a_number(value: Any) -> None:
    with pytest.raises(InputError, match=r"demand\.rate_per_s: must be a number, unit per s"):
        full().with_fields({"demand.rate_per_s": value})


def test_importing_the_scenario_loads_nothing_heavy() -> None:
    code = "import sys, signalstorm.envs.model.scenario_file; print(' '.join(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(found.stdout.split())
    assert "pydantic" in loaded
    assert not loaded & {"numba", "numpy", "optuna", "gymnasium", "torch", "plotly", "typer"}
