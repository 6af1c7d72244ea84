"""Storm numbers: their keys, their ranges, and the fields that each draws."""

from itertools import pairwise

import numpy as np
import pytest

from signalstorm.envs.model.scenario_file import load
from signalstorm.envs.model.storms import CHOICE, HELD_OUT, SEARCH, drawn_fields, storm, storm_key
from tests.envs.model.kernels.worlds import handsets, world


def test_keys_are_two_32_bit_seeds_and_all_differ() -> None:
    numbers = [*range(SEARCH, HELD_OUT + 10_000), 2**31, 2**40, 2**63 - 1]
    keys = [storm_key(number) for number in numbers]
    assert all(0 <= half < 2**32 for key in keys for half in key)
    assert len(set(keys)) == len(numbers)


def test_keys_of_neighbours_have_nothing_in_common() -> None:
    """Half of the 64 bits change from one number to the next: 32 with a standard deviation of 4."""
    keys = [(high << 32) | low for low, high in (storm_key(number) for number in range(2000))]
    flipped = np.array([(one ^ other).bit_count() for one, other in pairwise(keys)])
    assert abs(flipped.mean() - 32.0) < 4.0 * 4.0 / np.sqrt(len(flipped))
    assert flipped.min() >= 32 - 6 * 4


def test_the_ranges_do_not_meet() -> None:
    assert SEARCH == 0
    assert CHOICE - SEARCH >= 10_000
    assert HELD_OUT - CHOICE >= 10_000


def test_fields_stay_within_the_variation_and_fill_it() -> None:
    scenario = load("lab-pcrf")
    drawn = [drawn_fields(scenario, number) for number in range(400)]
    for path, (low, high) in scenario.variation_or_default().items():
        values = np.array([fields[path] for fields in drawn])
        assert low <= values.min() < low + 0.05 * (high - low)
        assert high - 0.05 * (high - low) < values.max() <= high
        middle, error = (low + high) / 2, (high - low) / np.sqrt(12 * len(values))
        assert abs(values.mean() - middle) < 4.0 * error


def test_fields_differ_between_storms_and_are_independent_of_each_other() -> None:
    scenario = load("lab-pcrf")
    rows = np.array([list(drawn_fields(scenario, number).values()) for number in range(400)])
    assert len(set(rows[:, 0])) == 400
    assert abs(np.corrcoef(rows.T)[0, 1]) < 4.0 / np.sqrt(400)
    assert abs(np.corrcoef(rows[:-1, 0], rows[1:, 0])[0, 1]) < 4.0 / np.sqrt(400)


def test_another_field_leaves_the_others_as_they_were() -> None:
    scenario = load("lab-pcrf")
    wider = scenario.with_fields(
        {"variation": {"topology.gateway.tx_s": [1.5, 2.5], **scenario.variation_or_default()}}
    )
    few, many = drawn_fields(scenario, 7), drawn_fields(wider, 7)
    assert {path: many[path] for path in few} == few
    assert 1.5 <= many["topology.gateway.tx_s"] <= 2.5


def test_a_storm_has_its_fields() -> None:
    scenario = load("lab-pcrf")
    drawn = storm(scenario, 3, vary=True)
    fields = drawn_fields(scenario, 3)
    assert drawn.topology.pcrf is not None
    assert drawn.topology.pcrf.rate_per_s == fields["topology.pcrf.rate_per_s"]
    assert drawn.demand is not None
    assert drawn.demand.rate_per_s == fields["demand.rate_per_s"]
    assert storm(scenario, 3, vary=True) == drawn
    assert storm(scenario, 0, vary=True) != storm(scenario, 1, vary=True)


def test_a_nominal_storm_is_the_scenario() -> None:
    scenario = load("lab-pcrf")
    assert storm(scenario, 3, vary=False) == scenario
    assert storm(scenario.with_fields({"variation": {}}), 3, vary=True) == scenario.with_fields({"variation": {}})


def test_whole_numbers_are_drawn_as_whole_numbers() -> None:
    scenario = world(
        subscribers=handsets(1000), demand={"rate_per_s": 10.0}, variation={"subscribers.0.size": [800, 1200]}
    )
    sizes = [storm(scenario, number, vary=True).subscribers[0].size for number in range(50)]
    assert all(800 <= size <= 1200 and size == round(size) for size in sizes)
    assert len(set(sizes)) > 30


def test_without_a_variation_capacities_and_demand_vary_by_a_fifth() -> None:
    scenario = world(demand={"rate_per_s": 10.0}, topology={"hss": {"rate_per_s": 50.0}, "database": {}})
    bounds = scenario.variation_or_default()
    assert bounds == {
        "topology.hss.rate_per_s": pytest.approx((40.0, 60.0)),
        "demand.rate_per_s": pytest.approx((8.0, 12.0)),
    }
