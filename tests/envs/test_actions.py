from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signalstorm.envs.actions import NO_LIMITS, STEPS, ActionMode, Actuator, Limits, action_space
from signalstorm.envs.model import scenario_file
from signalstorm.envs.model.batch import Batch
from signalstorm.envs.model.errors import InputError
from signalstorm.envs.model.knob_table import KNOBS
from signalstorm.envs.model.knobs import round_to_legal, validate
from signalstorm.envs.model.parameters import SETTING_FIELDS, setting_vector
from signalstorm.envs.model.scenario import Scenario

LAB, INCIDENT, DRA, DDN = (scenario_file.load(n) for n in ("lab-pcrf", "incident-2014", "dra-db-cpu", "ddn-surge"))
SGSN = ("nop_rate", "nop_wait_s", "nop_queue_wait_s", "nop_action", "rto_min_ms", "rto_initial_ms", "rto_max_ms")
IDLE = np.full((1, 7), 1e9)


def actuator(
    knobs: Sequence[str] = ("nop_rate",),
    mode: ActionMode = "absolute",
    scenario: Scenario = INCIDENT,
    limits: Limits = NO_LIMITS,
) -> Actuator:
    return Actuator(scenario, knobs, mode, {}, 60.0, limits)


def moved(a: Actuator, action: float, value: float, completed: float = float("nan"), idle: float = 1e9) -> float:
    found = a.target(np.array([[action]]), np.array([[value]]), np.array([completed]), np.array([[idle]]))
    return float(found[0, 0])


def test_absolute_actions_span_the_legal_range_on_its_scale() -> None:
    a = actuator()
    assert [moved(a, x, 500.0) for x in (-1.0, 0.0, 1.0)] == [50, 500, 5000]
    assert moved(actuator(("nop_wait_s",)), 0.0, 5.0) == 8


def test_delta_actions_move_the_present_value() -> None:
    assert moved(actuator(mode="delta"), 1.0, 500.0) == round(500 * np.exp(0.7))
    assert moved(actuator(("nop_wait_s",), "delta"), -1.0, 9.0) == round(9 - 1.4)


def test_ratio_actions_follow_what_was_completed() -> None:
    a = actuator(mode="ratio")
    assert moved(a, 0.5, 500.0, completed=120.0) == 240
    assert moved(a, 0.0, 500.0, completed=120.0) == 120
    assert moved(a, 0.0, 500.0, completed=3.0) == 50  # never below the legal rate
    assert moved(a, 0.5, 500.0) == 1000  # nothing is known yet: the present rate


def test_discrete_actions_are_factors() -> None:
    a = actuator(mode="discrete")
    assert [moved(a, i, 400.0) for i in range(len(STEPS))] == [200, 320, 400, 500, 800]


def test_off_counts_as_the_highest_rate_when_it_is_moved() -> None:
    a = actuator(mode="delta", scenario=LAB)
    assert a.scaled(a.start[np.newaxis])[0, 0] == 1.0
    assert a.named(a.start) == {"nop_rate": "off"}
    assert moved(a, -1.0, a.start[0]) == round(5000 * np.exp(-0.7))


def test_a_nonsensical_action_is_taken_as_the_nearest() -> None:
    a = actuator()
    assert moved(a, 7.0, 500.0) == 5000
    assert moved(a, float("nan"), 500.0) == 500


def test_changes_are_limited_and_cool_down() -> None:
    limits = Limits({"nop_rate": 1.5}, {"live": 150.0})
    a = actuator(limits=limits)
    assert moved(a, 1.0, 400.0) == 600
    assert moved(a, -1.0, 400.0) == 267
    assert moved(a, 1.0, 400.0, idle=2.0) == 400  # 150 s are three intervals
    assert moved(a, 1.0, 400.0, idle=3.0) == 600


def legal(scenario: Scenario, knobs: Sequence[str], mode: ActionMode, actions: Sequence[float]) -> None:
    """Whatever the action, the setting is what the slow, checked way makes of the same values."""
    a = actuator(knobs, mode, scenario=scenario)
    values = a.target(np.array([actions]), a.start[np.newaxis], np.array([200.0]), np.full((1, len(knobs)), 1e9))
    named = a.named(values[0])
    if named.get("nop_rate") == "off":
        return
    complete = {name: value for name, value in named.items() if name != "nop_queue_wait_s"}
    fixed = (
        {name: getattr(scenario.topology.links, name) for name in ("rto_min_ms", "rto_initial_ms", "rto_max_ms")}
        if scenario.topology.links
        else {}
    )
    slow = dict(round_to_legal({**fixed, **complete}))
    if "nop_queue_wait_s" in named:
        slow["nop_queue_wait_s"] = named["nop_queue_wait_s"]
    expected = setting_vector(slow, scenario)
    got = a.settings(values)[0]
    for name, x, y in zip(SETTING_FIELDS, got, expected, strict=True):
        if not np.isnan(y):
            assert x == y, (name, named)
    validate({name: value for name, value in slow.items()})


@given(st.lists(st.floats(-1, 1), min_size=7, max_size=7), st.sampled_from(["absolute", "delta", "ratio"]))
@settings(deadline=None, max_examples=150)
def test_every_action_gives_a_legal_setting_of_the_sgsn(actions: list[float], mode: ActionMode) -> None:
    legal(INCIDENT, SGSN, mode, actions)


@given(st.lists(st.integers(0, 4), min_size=7, max_size=7))
@settings(deadline=None, max_examples=50)
def test_every_choice_does_too(actions: list[int]) -> None:
    legal(INCIDENT, SGSN, "discrete", actions)


@given(st.lists(st.floats(-1, 1), min_size=9, max_size=9))
@settings(deadline=None, max_examples=50)
def test_the_agents_throttles_never_fall_from_band_to_band(actions: list[float]) -> None:
    knobs = tuple(f"dynamic_throttle_{edge}" for edge in (50, 55, 60, 65, 70))
    legal(DRA, (*knobs, "dra_ccr_i_limit_per_s", "dra_limit_action", "dynamic_hold_s", "nop_rate"), "absolute", actions)


@given(st.lists(st.floats(-1, 1), min_size=3, max_size=3))
@settings(deadline=None, max_examples=50)
def test_the_poll_of_notifications_stays_below_its_window(actions: list[float]) -> None:
    legal(DDN, ("ddn_window_s", "ddn_poll_s", "ddn_limit_per_s"), "absolute", actions)


def test_a_lower_rto_max_takes_the_others_with_it() -> None:
    a = actuator(("rto_max_ms",))
    row = a.settings(np.array([[500.0]]))[0]
    assert [row[SETTING_FIELDS.index(n)] for n in ("rto_min_ms", "rto_initial_ms", "rto_max_ms")] == [500.0] * 3


def test_the_queue_of_the_present_setting_keeps_its_waiting_time() -> None:
    row = actuator().settings(np.array([[200.0]]))[0]
    assert row[SETTING_FIELDS.index("nop_queue")] == 600.0  # 1,500 at 500 per s are three seconds


def test_all_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(InputError) as failure:
        actuator(("nop_rat", "diameter_tx_s"), limits=Limits({"nop_wait_s": 1.0}, {"alive": 3.0}))
    for word in ("nop_rat", "diameter_tx_s", "nop_wait_s", "alive"):
        assert word in str(failure.value)
    with pytest.raises(InputError, match="at least one knob"):
        actuator(())


def test_spaces_are_those_that_learners_expect() -> None:
    assert action_space(("a", "b"), "absolute").shape == (2,)
    assert action_space(("a",), "discrete").n == len(STEPS)  # type: ignore[attr-defined]
    assert action_space(("a", "b"), "discrete").nvec.tolist() == [5, 5]  # type: ignore[attr-defined]
    assert KNOBS["nop_rate"].scale == "log"


def test_an_agent_that_moves_the_gate_alone_touches_nothing_else() -> None:
    start = dict.fromkeys(("rto_min_ms", "rto_initial_ms", "rto_max_ms"), 500)
    a = Actuator(INCIDENT, ("nop_rate",), "ratio", start, 60.0)
    assert a.touched == {"nop_rate", "nop_queue"}
    assert actuator(("rto_max_ms",)).touched == {"rto_min_ms", "rto_initial_ms", "rto_max_ms"}


@pytest.mark.parametrize("knobs", [("nop_rate",), ("nop_rate", "nop_queue_wait_s", "nop_wait_s"), ("nop_action",)])
def test_a_batch_is_set_as_by_whole_settings(knobs: Sequence[str]) -> None:
    a = actuator(knobs, scenario=LAB)
    values = np.repeat(a.start[np.newaxis], 5, axis=0)
    batches = [Batch([LAB] * 5, range(5), a.settings(values), threads=1, tile=32) for _ in range(2)]
    for action in (-1.0, -0.4, 0.7):
        actions = np.full((5, len(knobs)), action) * np.linspace(0.5, 1.0, 5)[:, np.newaxis]
        values = a.target(actions, values, np.full(5, 80.0), np.full_like(values, 1e9))
        a.put(values, batches[0])
        batches[1].set_settings(a.settings(values))
        np.testing.assert_array_equal(batches[0].settings, batches[1].settings)
        np.testing.assert_array_equal(batches[0].tiles[0], batches[1].tiles[0])


@pytest.mark.parametrize("mode", ["absolute", "delta", "ratio"])
@settings(deadline=None)
@given(wanted=st.floats(60.0, 4000.0), value=st.integers(60, 4000), completed=st.floats(20.0, 4000.0))
def test_an_action_is_found_for_what_is_wanted(mode: ActionMode, wanted: float, value: int, completed: float) -> None:
    a = actuator(("nop_rate", "nop_wait_s"), mode)
    aim, now = np.array([[wanted, 7.0]]), np.array([[float(value), 6.0]])
    action = a.aimed(aim, now, np.array([completed]))
    reached = a.target(action, now, np.array([completed]), np.full((1, 2), 1e9))
    assert (np.abs(action) <= 1.0).all()
    if (np.abs(action) < 1.0).all():
        np.testing.assert_allclose(reached, np.rint(aim), atol=0.5 + 1e-6)
    else:
        # As near as one action comes: beyond that lies the next one.
        assert abs(reached[0, 0] - wanted) <= abs(value - wanted) + 0.5 or mode == "ratio"


def test_actions_towards_what_is_out_of_reach_go_all_the_way() -> None:
    off, now = np.array([[np.inf]]), np.array([[500.0]])
    assert actuator().aimed(off, now, np.array([100.0])) == 1.0
    assert actuator(mode="delta").aimed(np.array([[100.0]]), now, np.array([100.0])) == -1.0
    # Nothing is known of completions yet: the present value is what ratios are taken of.
    assert actuator(mode="ratio").aimed(now, now, np.array([np.nan])) == 0.0
    with pytest.raises(ValueError, match="discrete"):
        actuator(mode="discrete").aimed(now, now, np.array([100.0]))
