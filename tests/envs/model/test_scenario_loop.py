"""What a closed loop moves, draws that follow others, and that neither changes hashes of scenarios without them."""

import hashlib
import json
from typing import Any

import pytest
from pydantic import ValidationError

from signalstorm.envs.model.errors import InputError
from signalstorm.envs.model.scenario_events import CapacityEvent
from signalstorm.envs.model.scenario_file import list_names, load
from signalstorm.envs.model.storms import drawn_fields, storm
from tests.envs.model.scenario_data import full

VARIATION = {"topology.pcrf.rate_per_s": [40, 60], "timeline.0.value": [0.2, 0.6]}
FOLLOWS = {"timeline.0.value": "topology.pcrf.rate_per_s"}
RANDOMISED = [name for name in list_names() if name.endswith("-randomised")]


def test_a_draw_that_follows_another_is_a_factor_on_it() -> None:
    scenario = full(variation=VARIATION, follows=FOLLOWS)
    shares = []
    for number in range(50):
        fields = drawn_fields(scenario, number)
        shares.append(fields["timeline.0.value"] / fields["topology.pcrf.rate_per_s"])
        drawn = storm(scenario, number, vary=True)
        event = drawn.timeline[0]
        assert isinstance(event, CapacityEvent)
        assert event.value == fields["timeline.0.value"]
        assert drawn.topology.pcrf is not None
        assert drawn.topology.pcrf.rate_per_s == fields["topology.pcrf.rate_per_s"]
    assert 0.2 <= min(shares) < 0.25
    assert 0.55 < max(shares) <= 0.6


def test_it_follows_the_nominal_value_where_that_is_not_drawn() -> None:
    scenario = full(variation={"timeline.0.value": [0.5, 0.5]}, follows=FOLLOWS)
    assert drawn_fields(scenario, 7) == {"timeline.0.value": 25.0}


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"follows": FOLLOWS}, "must be a field of the variation"),
        ({"variation": VARIATION, "follows": {"timeline.0.value": "topology.pcrf.speed"}}, "no scenario field"),
        ({"variation": VARIATION, "follows": {"timeline.0.value": "topology.pcrf.overflow"}}, "must follow a number"),
        (
            {
                "variation": {**VARIATION, "timeline.2.value_per_s": [1, 1]},
                "follows": {**FOLLOWS, "timeline.2.value_per_s": "timeline.0.value"},
            },
            "follows no other",
        ),
        ({"loop": {"fast": []}}, "at least 1"),
        ({"loop": {"fast": ["nop_rat"]}}, "there is no such knob"),
        ({"loop": {"fast": ["rto_max_ms"]}}, "while the element is in service"),
        ({"loop": {"fast": ["nop_action"]}}, "while the element is in service"),
        ({"loop": {"fast": ["ddn_factor_percent"]}}, "topology does not have"),
        ({"loop": {"fast": ["nop_rate"], "start": {"rto_max_ms": 500}}}, "topology does not have"),
        ({"loop": {"fast": ["nop_rate"], "start": {"nop_rate": 20}}}, "50 to 5000"),
    ],
)
def test_what_is_refused(changes: dict[str, Any], rule: str) -> None:
    with pytest.raises((InputError, ValidationError), match=rule):
        full(**changes)


def test_hashes_without_them_are_as_before() -> None:
    scenario = full()
    plain = scenario.model_dump(mode="json", exclude={"description", "source", "fitted", "follows", "loop"})
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"))
    assert scenario.hash() == hashlib.sha256(text.encode()).hexdigest()
    assert full(loop={"fast": ["nop_rate"]}).hash() != full().hash()
    assert full(variation=VARIATION, follows=FOLLOWS).hash() != full(variation=VARIATION).hash()


@pytest.mark.parametrize("name", RANDOMISED)
def test_storms_of_the_randomised_scenarios(name: str) -> None:
    """Of one structure, legal, slow-downs shares of what they follow, and each ends after it began."""
    scenario = load(name)
    assert scenario.loop is not None
    assert scenario.loop.start
    for number in range(30):
        drawn = storm(scenario, number, vary=True)
        assert [event.kind for event in drawn.timeline] == [event.kind for event in scenario.timeline]
        assert [event.target for event in drawn.timeline] == [event.target for event in scenario.timeline]
        for kinds in (("capacity",), ("link_down", "link_up")):
            for target in {event.target for event in drawn.timeline if event.kind in kinds}:
                times = [e.time_s for e in drawn.timeline if e.target == target and e.kind in kinds]
                assert times[1] - times[0] >= 599.0
                assert len(times) == 2


def test_there_is_one_for_each_family() -> None:
    assert RANDOMISED == [
        "attach-lte-randomised",
        "core-storm-randomised",
        "ddn-surge-randomised",
        "dra-throttle-randomised",
        "imsimgr-randomised",
        "incident-2014-randomised",
    ]
