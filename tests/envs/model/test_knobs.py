"""Knobs: what is legal, how settings are completed, and which queue the gate then holds."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from signalstorm.envs.model.core_knobs import CORE_ROWS, FIELDS, THROTTLES, field_value
from signalstorm.envs.model.errors import InputError
from signalstorm.envs.model.knobs import (
    KNOBS,
    Setting,
    effective_queue,
    parse_set,
    resolve,
    round_to_legal,
    validate,
)
from signalstorm.envs.model.scenario_file import load
from signalstorm.envs.model.scenario_topology import Topology
from tests.envs.model.scenario_data import full

INCIDENT = load("incident-2014")
NUMERIC = [knob for knob in KNOBS.values() if knob.kind != "choice"]

rates = st.integers(50, 5000)
waits = st.integers(1, 15)


def message(values: dict[str, Any]) -> str:
    with pytest.raises(InputError) as error:
        validate(values, "--set")
    return str(error.value)


def test_the_table_is_consistent() -> None:
    for name, knob in KNOBS.items():
        assert name == knob.name
        assert knob.meaning
        assert knob.source
        assert bool(knob.command) == knob.exportable
        assert knob.element in Topology.model_fields
    for knob in NUMERIC:
        assert knob.low < knob.high
        assert knob.unit
        assert knob.scale == "linear" or knob.low > 0
        for bound in (knob.low, knob.high):
            assert validate({knob.name: bound})[knob.name] == bound
        if knob.name.endswith(("_s", "_ms")) and not knob.name.endswith("_per_s"):
            assert knob.name.endswith(f"_{knob.unit}")
    assert {name: knob.default for name, knob in KNOBS.items() if knob not in CORE_ROWS} == {
        "nop_rate": "off",
        "nop_wait_s": 5,
        "nop_queue": None,
        "nop_queue_wait_s": None,
        "nop_action": "drop",
        "t3346_s": 0,
        "gtpc_timeout_ms": 5000,
        "gtpc_retries": 4,
        "diameter_tx_s": 10,
        "rto_min_ms": 1000,
        "rto_initial_ms": 3000,
        "rto_max_ms": 60000,
        "max_assoc_retx": 10,
        "sack_period_ms": 200,
        "refresh_delay_max_s": 0.0,
        "pcrf_rate_per_s": None,
    }


def test_the_defaults_of_the_core_knobs_are_those_of_the_fields_they_override() -> None:
    core = {
        "dra": {"dynamic": {}},
        "ocs": {},
        "ddn": {},
        "mme": {},
        "resilience": {},
        "imsimgr": {"capacity_per_s": 1000.0},
    }
    topology = {"gate": {}, "gateway": {}, "pcrf": {}, "database": {"rate_per_s": 100.0}, **core}
    scenario = full(topology=topology, present={}, tunable=[], timeline=[], fitted={})
    assert {name: field_value(scenario.topology, name) for name in FIELDS} == {
        name: KNOBS[name].default for name in FIELDS
    }
    assert {knob.name for knob in CORE_ROWS} == {*FIELDS, "t3346_low_min", "t3346_high_min"}


@pytest.mark.parametrize(
    ("name", "low", "high", "step"),
    [
        ("nop_rate", 50, 5000, 1),
        ("nop_wait_s", 1, 15, 1),
        ("nop_queue", 250, 25000, 1),
        ("t3346_s", 0, 11160, 1),
        ("gtpc_timeout_ms", 1000, 20000, 100),
        ("gtpc_retries", 0, 15, 1),
        ("diameter_tx_s", 1, 300, 1),
        ("rto_min_ms", 100, 5000, 100),
        ("rto_initial_ms", 100, 120000, 100),
        ("rto_max_ms", 500, 120000, 100),
        ("max_assoc_retx", 0, 255, 1),
        ("sack_period_ms", 0, 500, 10),
    ],
)
def test_ranges_are_those_of_the_commands(name: str, low: int, high: int, step: int) -> None:
    knob = KNOBS[name]
    assert (knob.low, knob.high, knob.step, knob.exportable) == (low, high, step, True)
    for outside in (low - step, high + step):
        assert f"{low} to {high}" in message({name: outside})
    assert f"the nearest legal value is {low + step}" in message({name: low + step + 0.01}).lower()


@pytest.mark.parametrize("knob", NUMERIC, ids=lambda knob: knob.name)
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, True, "5", "fast", None, [5]])
def test_a_number_must_be_a_finite_number(knob: Any, value: Any) -> None:
    text = message({knob.name: value})
    assert knob.range_text in text
    assert knob.source in text
    assert repr(value) in text


def test_the_queue_rule_names_the_rule_the_values_and_the_way_out() -> None:
    assert message({"nop_rate": 400, "nop_wait_s": 5, "nop_queue": 2500}) == (
        "--set: nop_queue: `nop_rate <= nop_queue <= nop_rate * nop_wait_s` must hold, but got "
        "(nop_rate=400 per s, nop_wait_s=5 s, nop_queue=2500 requests). "
        "Give a nop_queue of 400 to 2000, or leave it out for the default."
    )
    assert "leave nop_queue out: the gate then holds 200" in message(
        {"nop_rate": 50, "nop_wait_s": 4, "nop_queue": 250}
    ).replace("Leave", "leave")
    assert "`nop_rate <= nop_queue" in message({"nop_rate": 600, "nop_queue": 500})
    for queue in (400, 2000):
        assert validate({"nop_rate": 400, "nop_wait_s": 5, "nop_queue": queue})["nop_queue"] == queue


def test_a_gate_that_is_off_is_given_no_queue() -> None:
    assert message({"nop_rate": "off", "nop_queue": 500}) == (
        "--set: nop_queue: a gate that is off holds no queue, but got 500. "
        "Leave nop_queue out, or give a nop_rate as a number."
    )
    assert dict(round_to_legal({"nop_rate": "off", "nop_queue": 500})) == {"nop_rate": "off"}
    lab = load("lab-pcrf")
    assert "nop_queue" not in resolve({"nop_rate": "off"}, lab)


def test_everything_wrong_is_reported_at_once() -> None:
    lines = message(
        {"nop_rat": 400, "nop_wait_s": 99, "t3346_s": math.nan, "nop_action": "reject", "gtpc_retries": 1.5}
    ).splitlines()
    assert [line.split(": ")[1] for line in lines] == [
        "nop_rat",
        "nop_wait_s",
        "t3346_s",
        "nop_action",
        "gtpc_retries",
    ]
    assert lines[0].endswith("there is no such knob. Did you mean nop_rate?")
    assert "1 to 15 s (CLI-R17 p5406, CLI-R16 p5324), but got 99. The nearest legal value is 15 s." in lines[1]
    assert "must be one of drop, reject-congestion, reject-network-failure" in lines[3]


def test_both_forms_of_the_queue_are_refused() -> None:
    text = message({"nop_rate": 400, "nop_wait_s": 5, "nop_queue": 800, "nop_queue_wait_s": 2})
    assert "at most one form of the queue" in text
    assert "(nop_queue=800, nop_queue_wait_s=2 s)" in text


def test_off_is_a_rate_and_nothing_else() -> None:
    assert validate({"nop_rate": "off"})["nop_rate"] == "off"
    assert validate({"nop_rate": False})["nop_rate"] == "off"
    for name in ("nop_wait_s", "nop_queue", "nop_action", "t3346_s"):
        message({name: "off"})
        message({name: False})


def test_numbers_of_numpy_are_numbers() -> None:
    setting = validate({"nop_rate": np.int64(400), "nop_queue_wait_s": np.float32(2.5)})
    assert dict(setting) == {"nop_rate": 400, "nop_queue_wait_s": 2.5}
    assert [type(value) for value in setting.values()] == [int, float]


def test_a_setting_is_frozen_ordered_and_hashable() -> None:
    setting = validate({"nop_wait_s": 5, "nop_rate": 400})
    assert list(setting) == ["nop_rate", "nop_wait_s"]
    assert {setting: 1}[validate({"nop_rate": 400.0, "nop_wait_s": 5})] == 1
    with pytest.raises(TypeError):
        setting["nop_rate"] = 1  # type: ignore[index]
    assert setting.number("nop_rate") == 400.0
    with pytest.raises(KeyError):
        validate({"nop_rate": "off"}).number("nop_rate")


@given(rate=rates, wait_s=waits)
def test_without_a_queue_the_gate_holds_rate_times_wait(rate: int, wait_s: int) -> None:
    held, keyword = effective_queue(rate, wait_s)
    assert held == min(rate * wait_s, 25000)
    assert keyword == (25000 if rate * wait_s > 25000 else None)


@given(rate=rates, wait_s=waits, queue_wait_s=st.integers(2, 30).map(lambda half: half / 2))
def test_the_search_form_gives_a_legal_queue_or_none(rate: int, wait_s: int, queue_wait_s: float) -> None:
    held, keyword = effective_queue(rate, wait_s, queue_wait_s=queue_wait_s)
    if rate * wait_s < 250:
        assert (held, keyword) == (rate * wait_s, None)
        return
    assert held == keyword
    assert max(250, rate) <= held <= min(25000, rate * wait_s)
    assert held == min(max(round(rate * queue_wait_s), 250, rate), 25000, rate * wait_s)
    validate({"nop_rate": rate, "nop_wait_s": wait_s, "nop_queue": held})


def test_the_queue_at_the_edges() -> None:
    assert effective_queue(400, 5, queue=800) == (800, 800)
    assert effective_queue(400, 5, queue_wait_s=2) == (800, 800)
    assert effective_queue(50, 5, queue_wait_s=1) == (250, 250)
    assert effective_queue(50, 4, queue_wait_s=1) == (200, None)
    assert effective_queue(50, 1) == (50, None)
    assert effective_queue(5000, 15, queue_wait_s=15) == (25000, 25000)


def test_resolving_completes_with_the_present_setting_the_fields_and_defaults() -> None:
    assert dict(resolve({}, full())) == {
        "nop_rate": 500,
        "nop_wait_s": 5,
        "nop_queue": 1500,
        "nop_action": "reject-congestion",
        "t3346_s": 0,
        "gtpc_timeout_ms": 5000,
        "gtpc_retries": 4,
        "diameter_tx_s": 10,
        "pcrf_rate_per_s": 50,
    }


@pytest.mark.parametrize(
    ("override", "queue"),
    [
        ({}, 1500),
        ({"nop_action": "drop"}, 1500),
        ({"nop_rate": 400}, 2000),
        ({"nop_wait_s": 3}, 1500),
        ({"nop_rate": 5000, "nop_wait_s": 15}, 25000),
        ({"nop_rate": 50, "nop_wait_s": 2}, 100),
        ({"nop_queue": 2500}, 2500),
        ({"nop_queue_wait_s": 2}, 1000),
        ({"nop_rate": 300, "nop_queue_wait_s": 2.5}, 750),
        ({"nop_rate": 100, "nop_queue": 400}, 400),
        ({"nop_rate": "off"}, None),
    ],
)
def test_a_new_rate_or_wait_brings_its_default_queue(override: dict[str, Any], queue: int | None) -> None:
    complete = resolve(validate(override), full())
    assert complete.get("nop_queue") == queue
    assert "nop_queue_wait_s" not in complete
    for name, value in override.items():
        assert name == "nop_queue_wait_s" or complete[name] == value
    assert validate(complete) == complete


def test_resolving_checks_the_merged_setting() -> None:
    with pytest.raises(InputError, match=r"nop_rate=500 per s, nop_wait_s=5 s, nop_queue=3000"):
        resolve(validate({"nop_queue": 3000}), full())
    bare = full(topology={"gateway": {}}, present={}, tunable=[], timeline=[], fitted={})
    with pytest.raises(InputError, match="nop_rate: the scenario has no gate, but got 400"):
        resolve(validate({"nop_rate": 400}), bare)
    assert set(resolve({}, bare)) == {"gtpc_timeout_ms", "gtpc_retries", "diameter_tx_s"}


def test_knobs_override_the_fields_of_the_scenario() -> None:
    scenario = full(present={"gtpc_retries": 2}).with_fields({"topology.gateway.tx_s": 2.5})
    complete = resolve(validate({"gtpc_timeout_ms": 3000, "pcrf_rate_per_s": 80}), scenario)
    assert complete["gtpc_timeout_ms"] == 3000
    assert complete["gtpc_retries"] == 2
    assert complete["diameter_tx_s"] == 2.5
    assert complete["pcrf_rate_per_s"] == 80


@given(
    values=st.fixed_dictionaries(
        {},
        optional={knob.name: st.floats(-1e6, 1e6) for knob in NUMERIC if knob.name != "nop_queue_wait_s"}
        | {"nop_action": st.sampled_from(KNOBS["nop_action"].choices)},
    )
)
def test_rounding_always_gives_a_legal_setting(values: dict[str, Any]) -> None:
    rounded = round_to_legal(values)
    assert validate(rounded) == rounded
    for name, value in rounded.items():
        knob = KNOBS[name]
        ordered = ("nop_queue", "rto_min_ms", "rto_initial_ms", "t3346_low_min", "ddn_poll_s", *THROTTLES)
        ordered_with_others = name in ordered
        if isinstance(value, int | float) and not ordered_with_others:
            assert abs(value - min(max(values[name], knob.low), knob.high)) <= knob.step / 2 + 1e-9


def test_rounding_leaves_legal_values_alone_and_refuses_what_has_no_nearest() -> None:
    assert dict(round_to_legal({"nop_rate": 399.6, "nop_queue": 5000.0})) == {"nop_rate": 400, "nop_queue": 2000}
    assert dict(round_to_legal({"gtpc_timeout_ms": 1049, "nop_queue_wait_s": 2.74})) == {
        "gtpc_timeout_ms": 1000,
        "nop_queue_wait_s": 2.5,
    }
    assert dict(round_to_legal({"nop_rate": "off"})) == {"nop_rate": "off"}
    assert "nop_queue" not in round_to_legal({"nop_rate": 50, "nop_wait_s": 2, "nop_queue": 300})
    for wrong in ({"nop_rate": math.nan}, {"nop_action": "no"}, {"nop_rat": 5}):
        with pytest.raises(InputError):
            round_to_legal(wrong)


def test_set_takes_knobs_and_dotted_paths() -> None:
    knobs, fields = parse_set(
        [
            "nop_rate=400",
            "nop_action = drop",
            "topology.pcrf.rate_per_s=45",
            "closed=true",
            "horizon_s=1e3",
            "subscribers.meter.ladder.retry_refused_s=[3, 4.5]",
            "step_s=null",
        ]
    )
    assert knobs == Setting({"nop_rate": 400, "nop_action": "drop"})
    assert fields == {
        "topology.pcrf.rate_per_s": 45,
        "closed": True,
        "horizon_s": 1000.0,
        "subscribers.meter.ladder.retry_refused_s": [3, 4.5],
        "step_s": None,
    }
    assert parse_set(["nop_rate=off"]) == (Setting({"nop_rate": "off"}), {})
    assert parse_set([]) == (Setting({}), {})


def test_set_reports_everything_wrong_at_once() -> None:
    with pytest.raises(InputError) as error:
        parse_set(["nop_rte=400", "nop_wait_s", "nop_queue=", "nop_rate=9000", "nop_rate=1", "pcrf.rate_per_s=1"])
    lines = str(error.value).splitlines()
    assert [line.split(": ")[:2] for line in lines] == [
        ["--set", "nop_rte"],
        ["--set", "nop_wait_s"],
        ["--set", "nop_queue"],
        ["--set", "nop_rate"],
        ["--set", "pcrf.rate_per_s"],
        ["--set", "nop_rate"],
    ]
    assert "Did you mean nop_rate?" in lines[0]
    assert "must be NAME=VALUE, but got 'nop_wait_s'" in lines[1]
    assert "must be given once, but got 'nop_rate=1'" in lines[3]
    assert "50 to 5000 per s, or off" in lines[5]


@pytest.mark.parametrize("item", ["nop_rate=[", "nop_rate=!!python/name:os", "=5", "nop_rate=a: b: c"])
def test_set_refuses_what_is_no_value(item: str) -> None:
    with pytest.raises(InputError):
        parse_set([item])


def test_rto_limits_out_of_order_are_refused_in_milliseconds() -> None:
    """`sctp-rto-max 5` with the defaults: RTO-min 1 s, RTO-initial 3 s."""
    with pytest.raises(InputError) as error:
        resolve(validate({"rto_max_ms": 500}), load("incident-2014"))
    assert str(error.value) == (
        "rto_max_ms: `rto_min_ms <= rto_initial_ms <= rto_max_ms` must hold, but got (RTO-min 1000 ms, "
        "RTO-initial 3000 ms, RTO-max 500 ms). "
        "With rto_max_ms=500 also give rto_min_ms <= 500 and rto_initial_ms <= 500; "
        "a change takes each association down, so change one at a time."
    )
    assert "RTO-initial 300 ms, RTO-max" not in message({"rto_min_ms": 500, "rto_initial_ms": 300})
    with pytest.raises(InputError, match=r"rto_initial_ms: .*With .*=3000 .* rto_min_ms <= 3000, or rto_initial"):
        resolve(validate({"rto_min_ms": 5000}), load("incident-2014"))
    assert "(RTO-min 500 ms, RTO-initial 300 ms)" in message({"rto_min_ms": 500, "rto_initial_ms": 300})
    legal = {"rto_min_ms": 500, "rto_initial_ms": 500, "rto_max_ms": 500}
    assert resolve(validate(legal), load("incident-2014")).items() >= legal.items()


def test_the_way_out_of_rto_limits_names_those_in_force_too() -> None:
    """RTO-initial is not given and 3 s in force: whoever lowers RTO-min alone is refused once more."""
    given = {"rto_min_ms": 1000, "rto_max_ms": 500}
    with pytest.raises(InputError) as error:
        parse_set([f"{name}={value}" for name, value in given.items()])
    assert "also give rto_min_ms <= 500 and rto_initial_ms <= 500" in str(error.value)
    with pytest.raises(InputError) as error:
        resolve(given, INCIDENT)
    assert "(RTO-min 1000 ms, RTO-initial 3000 ms, RTO-max 500 ms)" in str(error.value)
    assert len(error.value.faults) == 1
    resolve(validate({"rto_min_ms": 500, "rto_initial_ms": 500, "rto_max_ms": 500}), INCIDENT)


def test_a_number_in_the_commands_unit_gets_a_hint() -> None:
    """5 units of 100 ms are 500 ms; the knob counts in ms."""
    text = message({"rto_max_ms": 5})
    assert "500 to 120000 ms" in text
    assert "the command counts in 100 ms, so its 5 is 500 here" in text
    assert "the command counts" not in message({"rto_max_ms": 130000})


@given(st.tuples(*[st.floats(-1e5, 2e5)] * 3))
def test_rounding_orders_the_rto_limits(values: tuple[float, float, float]) -> None:
    names = ("rto_min_ms", "rto_initial_ms", "rto_max_ms")
    found = round_to_legal(dict(zip(names, values, strict=True)))
    assert found.number(names[0]) <= found.number(names[1]) <= found.number(names[2])
    assert resolve(found, INCIDENT).items() >= found.items()
