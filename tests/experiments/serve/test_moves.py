"""Moves: what a viewer has changed becomes a storm, or a message beside the knob."""

from typing import Any

import pytest

pytest.importorskip("dash", reason="pip install 'signalstorm[web]'")
from werkzeug.exceptions import BadRequest

from signalstorm.envs.model.scenario_file import load
from signalstorm.experiments.serve.moves import (
    EVENTS,
    Move,
    RefusedMoveError,
    changed,
    knob_text,
    read_move,
)


def _messages(name: str = "lab-pcrf", **move: Any) -> dict[str, str]:
    with pytest.raises(RefusedMoveError) as refused:
        changed(load(name), Move(source="x", **move))
    return refused.value.messages


def test_a_move_changes_knobs_and_what_follows_from_them() -> None:
    now = changed(load("lab-pcrf"), Move(source="x", knobs={"nop_rate": "60", "nop_wait_s": "15"}))
    assert dict(now.override) == {"nop_rate": 60, "nop_wait_s": 15}
    assert now.setting["nop_queue"] == 900
    assert now.scenario == load("lab-pcrf")


def test_a_word_is_a_legal_value_where_the_table_says_so() -> None:
    assert changed(load("lab-pcrf-nop50"), Move(source="x", knobs={"nop_rate": "off"})).setting["nop_rate"] == "off"


def test_wrong_values_show_the_message_of_the_knob_table() -> None:
    messages = _messages(knobs={"nop_rate": "7", "nop_wait_s": "abc", "diameter_tx_s": "3"})
    assert set(messages) == {"nop_rate", "nop_wait_s"}
    assert messages["nop_rate"].startswith("must be a whole number, 50 to 5000 per s, or off")
    assert messages["nop_rate"].endswith("The nearest legal value is 50 per s.")
    assert "--set" not in messages["nop_rate"]


def test_rules_between_knobs_are_messages_too() -> None:
    messages = _messages("incident-2014", knobs={"rto_max_ms": "500"})
    assert "`rto_min_ms <= rto_initial_ms <= rto_max_ms` must hold" in " ".join(messages.values())


def test_a_knob_that_the_scenario_does_not_have_is_refused() -> None:
    assert "has no links" in " ".join(_messages(knobs={"rto_max_ms": "500"}).values())


def test_events_are_added_and_left_out() -> None:
    scenario = load("incident-2014-as-run")
    now = changed(scenario, Move(source="x", removed=[1], added=["link_down:stp2/slc1@99"]))
    assert [event.kind for event in now.scenario.timeline] == [
        "hlr_reset",
        *(event.kind for event in scenario.timeline[2:]),
        "link_down",
    ]
    assert now.scenario.timeline[:2] == (scenario.timeline[0], scenario.timeline[2])


def test_an_event_that_cannot_happen_is_a_message() -> None:
    assert "must have the form" in _messages(added=["later"])[EVENTS]
    assert _messages(added=["capacity:hss@30=20"])[EVENTS].startswith("capacity:hss@30=20: must be a server")
    found = _messages("pcrf-bypass", removed=[0], added=["latency:pcrf@5=99999", "capacity:pcrf@5=1"])
    assert found[EVENTS].startswith("latency:pcrf@5=99999: must be at most horizon_s")
    assert set(_messages(added=["x", "y"], knobs={"nop_rate": "1"})) == {EVENTS, "nop_rate"}


@pytest.mark.parametrize(
    "data",
    [
        None, 1, [], "", "[", "null", {"source": 1}, {}, {"source": "x", "more": 1}, {"source": "x", "knobs": [1]},
        {"source": "x", "knobs": {"nop_rate": 60}}, {"source": "x", "knobs": {"horizon_s": "1e9"}},
        {"source": "x", "knobs": {"nop_rate": "1" * 300}}, {"source": "x", "removed": [-1]},
        {"source": "x", "removed": ["0"]}, {"source": "x", "added": ["x"] * 51}, '{"source": NaN}',
    ],
)  # fmt: skip
def test_what_no_page_sends_is_a_bad_request(data: Any) -> None:
    with pytest.raises(BadRequest):
        read_move(data)


def test_values_are_written_as_people_write_them() -> None:
    assert [knob_text(value) for value in (60, 0.5, "off", 120000)] == ["60", "0.5", "off", "120000"]
