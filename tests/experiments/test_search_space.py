"""The search space comes from the knob table, and every point of it is a legal setting."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

import signalstorm as ss
from signalstorm.envs.model import scenario_file
from signalstorm.envs.model.errors import InputError
from signalstorm.envs.model.knob_table import KNOBS
from signalstorm.envs.model.knobs import movable, resolve, validate
from signalstorm.experiments.search_space import search_space
from signalstorm.experiments.study_file import KnobRange

LAB = scenario_file.load("lab-pcrf")
INCIDENT = scenario_file.load("incident-2014")
GATE = ("nop_rate", "nop_wait_s", "nop_queue_wait_s", "nop_action")


def test_distributions_are_those_of_the_table() -> None:
    found = search_space(LAB, [*GATE, "gtpc_timeout_ms"]).distributions
    assert found == {
        "nop_rate": IntDistribution(50, 5000, log=True),
        "nop_wait_s": IntDistribution(1, 15),
        "nop_queue_wait_s": FloatDistribution(1.0, 15.0, step=0.5),
        "nop_action": CategoricalDistribution(KNOBS["nop_action"].choices),
        "gtpc_timeout_ms": IntDistribution(1000, 20000, step=100),
    }


def test_every_searchable_knob_has_a_distribution() -> None:
    """Each in a packaged scenario that has the knob's element, and the limit that it sets."""
    left = {name for name, knob in KNOBS.items() if knob.searchable}
    for scenario in map(scenario_file.load, scenario_file.list_names()):
        present = [name for name in sorted(left) if name in movable(scenario)]
        if present:
            assert set(search_space(scenario, present).distributions) == set(present)
            left -= set(present)
    assert not left


@given(low=st.floats(100, 5000), initial=st.floats(100, 120000), high=st.floats(500, 120000), rate=st.floats(50, 5000))
@settings(max_examples=100, deadline=None)
def test_every_point_of_an_sgsn_is_legal(low: float, initial: float, high: float, rate: float) -> None:
    space = search_space(INCIDENT)
    point = {"nop_rate": rate, "nop_wait_s": 5, "nop_queue_wait_s": 3.0}
    limits = {"rto_min_ms": low, "rto_initial_ms": initial, "rto_max_ms": high}
    setting = space.setting({**point, **limits})
    assert resolve(setting, INCIDENT)["rto_max_ms"] == setting["rto_max_ms"]


@pytest.mark.parametrize(
    ("limits", "count"),
    [
        ({"rto_min_ms": 500, "rto_initial_ms": 500, "rto_max_ms": 500}, 119),
        ({"rto_initial_ms": 1000, "rto_max_ms": 1000}, 59),
        ({"rto_max_ms": 5000}, 13),  # 1 + 2 + 4 s, then 5 s eleven times: 62 s
        ({"rto_max_ms": 30_000}, None),  # 331 s with the present ten
        ({"nop_rate": 400}, None),
        ({"rto_initial_ms": 1000, "rto_max_ms": 1000, "max_assoc_retx": 12}, 12),
    ],
)
def test_lower_time_outs_go_with_more_retransmissions(limits: dict[str, float], count: int | None) -> None:
    space = search_space(INCIDENT, list(limits))
    setting = space.setting(limits)
    assert setting.get("max_assoc_retx") == count
    assert space.setting(setting) == setting
    more = set() if count is None else {"max_assoc_retx"}
    assert set(setting) == set(limits) | more


def test_by_default_the_tunable_knobs_are_searched() -> None:
    assert search_space(LAB).knobs == tuple(name for name in KNOBS if name in LAB.tunable)


def test_the_queue_is_searched_in_seconds_of_the_rate() -> None:
    assert search_space(LAB, ["nop_rate", "nop_queue"]).knobs == ("nop_rate", "nop_queue_wait_s")


@given(
    rate=st.floats(50, 5000),
    wait=st.floats(1, 15),
    queue=st.floats(1, 15),
    action=st.sampled_from(KNOBS["nop_action"].choices),
)
@settings(max_examples=200, deadline=None)
def test_every_point_is_legal(rate: float, wait: float, queue: float, action: str) -> None:
    space = search_space(LAB, GATE)
    point = {"nop_rate": rate, "nop_wait_s": wait, "nop_queue_wait_s": queue, "nop_action": action}
    setting = space.setting(point)
    assert dict(validate(setting)) == dict(setting)
    assert "nop_queue_wait_s" not in setting
    assert space.identity(setting) == space.identity(space.setting({**setting}))


def test_where_no_queue_is_legal_the_keyword_is_left_out() -> None:
    space = search_space(LAB, GATE)
    setting = space.setting({"nop_rate": 60, "nop_wait_s": 2, "nop_queue_wait_s": 1.0, "nop_action": "drop"})
    assert "nop_queue" not in setting
    assert space.identity(setting)["nop_queue"] == 120


def test_a_present_setting_outside_the_space_is_no_point() -> None:
    assert search_space(LAB).present_point is None


def test_a_present_setting_inside_the_space_is_a_point() -> None:
    scenario = LAB.with_fields({"present": {"nop_rate": 400, "nop_wait_s": 5, "nop_queue": 1000}})
    space = search_space(scenario, GATE)
    point = space.present_point
    assert point is not None
    assert point["nop_queue_wait_s"] == 2.5
    assert space.identity(space.setting(point)) == space.identity({})


def test_start_points_are_legal_and_different() -> None:
    space = search_space(LAB, [*GATE, "diameter_tx_s"])
    settings_ = [space.setting(point) for point in space.start_points]
    assert len(set(settings_)) == len(settings_)
    assert settings_[0]["nop_rate"] == 500  # the vendor's default
    assert {setting["nop_rate"] for setting in settings_[1:]} == {50, 55, 60}
    assert all(set(point) == set(space.knobs) for point in space.start_points)


def test_behind_links_the_advised_time_outs_are_tried_first_all_three_together() -> None:
    space = search_space(INCIDENT)
    settings_ = [space.setting(point) for point in space.start_points]
    limits = [(s["rto_min_ms"], s["rto_initial_ms"], s["rto_max_ms"]) for s in settings_]
    assert {(500, 500, 500), (1000, 3000, 5000), (1000, 1000, 1000), (1000, 3000, 60000)} == set(limits)
    assert {setting["nop_rate"] for setting in settings_} == {500, 529, 794}
    assert space.present_point is not None
    assert len({space.identity(setting) for setting in settings_}) == len(settings_) < 16


def test_a_search_needs_a_knob() -> None:
    with pytest.raises(InputError, match="at least one knob"):
        search_space(LAB, [])


def test_a_knob_of_a_missing_element_is_refused() -> None:
    scenario = LAB.with_fields({"topology.gate": None, "present": {}, "tunable": []})
    with pytest.raises(InputError, match="has no gate"):
        search_space(scenario, ["nop_rate"])


def test_a_search_keeps_to_what_an_sgsn_has_commands_for() -> None:
    assert search_space(INCIDENT, ["nop_action"]).knob("nop_action").choices == ("drop", "reject-congestion")
    with pytest.raises(InputError, match=r"t3346_s: an SGSN has no such command.*t3346_low_min"):
        search_space(INCIDENT, ["nop_rate", "t3346_s"])
    with pytest.raises(InputError, match="the gate of an SGSN knows drop and reject-congestion"):
        search_space(INCIDENT, ranges={"nop_action": KnobRange(choices=("reject-network-failure",))})


def test_what_has_no_command_is_simulated_but_said() -> None:
    said = " ".join(ss.simulate(INCIDENT, {"t3346_s": 60}, seeds=1).to_json()["diagnosis"])
    assert "simulated all the same, but no command does it: t3346_s: must be 0 for an SGSN" in said


def test_a_knob_named_twice_is_refused() -> None:
    with pytest.raises(InputError, match="nop_rate: is named twice"):
        search_space(LAB, ["nop_rate", "nop_wait_s", "nop_rate"])


def test_an_unknown_knob_named_twice_is_said_once_to_be_unknown() -> None:
    with pytest.raises(InputError) as caught:
        search_space(LAB, ["nop_rte", "nop_rte"])
    assert [fault.rule for fault in caught.value.faults] == ["there is no such knob", "is named twice"]
