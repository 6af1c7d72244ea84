"""Controls: the knobs that a scenario has, with legal positions, and its events in words."""

import pytest

pytest.importorskip("dash", reason="pip install 'signalstorm[web]'")

from signalstorm.envs.model import scenario_file
from signalstorm.envs.model.knob_checks import check
from signalstorm.envs.model.knob_table import KNOBS
from signalstorm.envs.model.knobs import Setting
from signalstorm.experiments.serve.controls import controls, event_kinds, positions, targets, timeline
from signalstorm.experiments.serve.sources import Opened


@pytest.mark.parametrize("name", KNOBS)
def test_every_position_of_a_slider_is_legal_by_itself(name: str) -> None:
    knob = KNOBS[name]
    found = positions(knob)
    assert (found == ()) == (knob.kind == "choice")
    if found:
        numbers = [value for value in found if not isinstance(value, str)]
        assert (numbers[0], numbers[-1]) == (knob.low, knob.high)
        assert numbers == sorted(set(numbers))
        assert found == (*numbers, *knob.words)  # no limit is laxer than the largest
    for value in found[:: max(len(found) // 5, 1)]:
        legal, findings = check({name: value})
        assert not [finding for finding in findings if "must be a" in finding.rule or " to " in finding.rule[:20]], (
            legal
        )


def test_a_logarithmic_knob_moves_by_shares() -> None:
    found = positions(KNOBS["nop_rate"])
    assert len(found) == 202
    assert found[100] == pytest.approx((50 * 5000) ** 0.5, rel=0.05)


@pytest.mark.parametrize("name", scenario_file.list_names())
def test_every_scenario_has_controls_that_start_at_its_present_setting(name: str) -> None:
    scenario = scenario_file.load(name)
    found = controls(Opened(scenario, Setting({})))
    assert found
    assert all(control.start == control.present for control in found)
    assert [control.tunable for control in found] == sorted((control.tunable for control in found), reverse=True)
    assert {control.knob.name for control in found} >= set(scenario.tunable) - {"nop_queue_wait_s"}
    assert len(timeline(scenario)) == len(scenario.timeline)
    assert "*" in targets(scenario)


def test_a_recommended_queue_in_seconds_is_shown_in_requests() -> None:
    override = Setting({"nop_rate": 60, "nop_wait_s": 10, "nop_queue_wait_s": 8.0})
    found = {c.knob.name: c for c in controls(Opened(scenario_file.load("lab-pcrf"), override))}
    assert (found["nop_queue"].present, found["nop_queue"].start) == ("", "480")
    assert (found["nop_rate"].present, found["nop_rate"].start) == ("off", "60")
    assert found["diameter_tx_s"].start == found["diameter_tx_s"].present


def test_events_are_told_in_words() -> None:
    assert timeline(scenario_file.load("incident-2014-as-run"))[:2] == [
        "hlr reset of hlr at 0 s", "link reset of stp2 at 13320 s",
    ]  # fmt: skip
    assert timeline(scenario_file.load("pcrf-bypass"))[0] == "capacity of pcrf at 600 s: value 150"
    assert event_kinds()["capacity"] == "new rate [per s]"
    assert event_kinds()["link_down"] == ""
