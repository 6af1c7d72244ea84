"""Whether moving a knob can help is tried on the storms: with fixed values, and with loops."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from signalstorm.agents.steering import start_of
from signalstorm.envs.model.knob_table import KnobValue
from signalstorm.envs.model.knobs import resolve
from signalstorm.envs.model.metrics import Outcomes
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.model.scenario_events import CapacityEvent
from signalstorm.envs.model.storms import storm
from signalstorm.experiments import can_help
from signalstorm.experiments.can_help import Without, moving_cannot_help, try_hands
from signalstorm.experiments.compare import compare
from signalstorm.experiments.diagnosis import diagnose
from signalstorm.experiments.drawn_scenario import scenario_of
from signalstorm.experiments.evaluate import StormSet, evaluate

BROKEN = scenario_of("IncidentSgsnBrokenKnob")
RANDOMISED = scenario_of("IncidentSgsnRandomised")


def played(scenario: Scenario, numbers: range, setting: Mapping[str, KnobValue]) -> tuple[StormSet, Outcomes]:
    storms = StormSet(scenario, tuple(numbers), vary=True)
    return storms, evaluate([setting], storms).outcomes.pick(0)


def test_the_broken_knob_is_named_with_what_would_help() -> None:
    setting = resolve(start_of(BROKEN), BROKEN)
    storms, outcomes = played(BROKEN, range(2), setting)
    (said,) = (line for line in diagnose(storms, setting, outcomes) if line.startswith("cannot help"))
    assert "whoever moves nop_rate alone, on 2 storms none of 13 hands" in said
    assert "fixed at 50, 100, 168, 1005, 5000, off; rate matching; constant gain 1.1; clairvoyant" in said
    assert "with rto_max_ms = 500: T x 0." in said


def test_a_loop_that_ends_storms_which_no_fixed_gate_does_is_help() -> None:
    setting = resolve({"nop_rate": 500, "rto_max_ms": 60_000}, RANDOMISED)
    storms, outcomes = played(RANDOMISED, range(4), setting)
    assert np.isnan(outcomes.convergence_time_s).mean() > can_help.OPEN
    trial = try_hands(Without(storms, outcomes), setting)
    assert [one.name for one in trial.effects] == ["rate matching"]
    assert trial.effects[0].time < 0.7
    assert moving_cannot_help(storms, setting, outcomes) == []


def test_nothing_is_tried_where_storms_end_or_nothing_says_what_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> Any:
        raise AssertionError("tried")

    monkeypatch.setattr(can_help, "try_hands", fail)
    setting = resolve({}, BROKEN)
    storms, outcomes = played(BROKEN, range(2), setting)
    with pytest.raises(AssertionError, match="tried"):
        moving_cannot_help(storms, setting, outcomes)
    alone = StormSet(BROKEN.model_copy(update={"loop": None}), storms.numbers, vary=True)
    assert moving_cannot_help(alone, setting, outcomes) == []
    outcomes.convergence_time_s[0] = 100.0
    assert moving_cannot_help(storms, setting, outcomes) == []


def test_the_refreshes_alone_keep_the_links_of_the_broken_knob_pinned() -> None:
    """In closed form: with nobody attaching, what becomes active brings more than links carry that reopen each minute.

    That holds for every storm as long as it is watched, and in the slow-down windows close by refreshes alone.
    """
    for number in range(100):
        drawn = storm(BROKEN, number, vary=True)
        links, activity = drawn.topology.links, drawn.activity
        assert links is not None
        assert activity is not None
        assert not links.window_updates
        at, rate = np.array(activity.points).T
        active = activity.scale * np.interp(np.arange(0.0, drawn.horizon_s, 10.0), at, rate)
        size = sum(group.size for group in drawn.subscribers)
        churn = sum(group.size * group.churn_per_s for group in drawn.subscribers) / size
        flagged = size * np.exp(-10.0 * np.cumsum(active + churn))
        brought = 2.0 * active * flagged / (links.stps * links.links_per_stp)
        pinned = (links.window + links.rate_per_s * drawn.dt) / 60.0 + links.trickle_per_s
        capacities = [event for event in drawn.timeline if isinstance(event, CapacityEvent)]
        slowed = max(event.value for event in capacities if event.time_s < 1000.0)
        assert brought.min() > 1.2 * max(pinned, slowed)


@pytest.mark.long
@pytest.mark.parametrize(
    ("scenario", "override", "right"),
    [
        (BROKEN, start_of(BROKEN), True),
        (RANDOMISED, {}, False),
        (RANDOMISED, {**start_of(RANDOMISED), "rto_max_ms": 60_000}, False),
    ],
    ids=["broken knob", "randomised, present", "randomised, RTO-max 60 s"],
)
def test_the_answer_is_right_on_disjoint_sets_of_storms(
    scenario: Scenario, override: Mapping[str, KnobValue], right: bool
) -> None:
    setting = resolve(override, scenario)
    said = []
    for first in range(0, 320, 16):
        storms, outcomes = played(scenario, range(first, first + 16), setting)
        said.append(bool(moving_cannot_help(storms, setting, outcomes)))
    assert said.count(right) >= 19


@pytest.mark.long
def test_no_contestant_helps_against_the_broken_knob() -> None:
    found = compare(BROKEN, storms=48, beyond=0)
    assert found.answer is not None
    assert found.answer.cannot_help
    present = found.of("present")
    for run in found.runs:
        assert run.restricted_s.mean() == pytest.approx(present.restricted_s.mean(), rel=0.02), run.name
        assert run.lost_h.mean() == pytest.approx(present.lost_h.mean(), rel=0.03), run.name
