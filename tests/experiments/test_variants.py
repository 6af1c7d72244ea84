"""Storms beyond the variation: one thing moves, the rest and the structure stay."""

import pytest

from signalstorm.envs.model.scenario_file import load
from signalstorm.envs.model.storms import drawn_fields, storm
from signalstorm.experiments.variants import variants

INCIDENT = load("incident-2014-randomised")


def test_the_grid_of_the_incident() -> None:
    grid = variants(INCIDENT)
    assert list(grid) == [
        "capacity x 0.7",
        "capacity x 1.6",
        "slow-downs deeper and longer",
        "churn x 1.5",
        "90% ignore the long timer",
    ]
    own = drawn_fields(INCIDENT, 20_003)
    changed = {name: drawn_fields(scenario, 20_003) for name, scenario in grid.items()}
    rate = "topology.links.rate_per_s"
    assert changed["capacity x 0.7"][rate] == pytest.approx(0.7 * own[rate])
    assert changed["capacity x 1.6"][rate] == pytest.approx(1.6 * own[rate])
    assert changed["capacity x 1.6"]["timeline.2.value"] == pytest.approx(1.6 * own["timeline.2.value"])
    slower = changed["slow-downs deeper and longer"]
    assert slower["timeline.1.value"] == pytest.approx(0.5 * own["timeline.1.value"])
    assert slower["timeline.2.value"] == pytest.approx(own["timeline.2.value"])
    assert slower["timeline.2.time_s"] > own["timeline.2.time_s"]
    assert slower["timeline.6.time_s"] == own["timeline.6.time_s"]
    assert changed["90% ignore the long timer"]["subscribers.gsm.power_cycle_share"] == 0.9
    churn = storm(grid["churn x 1.5"], 20_003, vary=True).subscribers[0].churn_per_s
    assert churn == pytest.approx(1.5 * INCIDENT.subscribers[0].churn_per_s)
    for name, fields in changed.items():
        moved = {path for path in own if fields[path] != pytest.approx(own[path])}
        assert moved or name.startswith("churn")


@pytest.mark.parametrize(
    "name", ["attach-lte-randomised", "core-storm-randomised", "dra-throttle-randomised", "ddn-surge-randomised"]
)
def test_every_variant_gives_legal_storms(name: str) -> None:
    scenario = load(name)
    grid = variants(scenario)
    assert len(grid) == 5
    for variant in grid.values():
        for number in range(20_000, 20_020):
            drawn = storm(variant, number, vary=True)
            assert [event.kind for event in drawn.timeline] == [event.kind for event in scenario.timeline]


def test_where_there_is_nothing_to_move() -> None:
    assert "slow-downs deeper and longer" not in variants(load("imsimgr-randomised"))
