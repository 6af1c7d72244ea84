"""Draws that are spread evenly: the same ends and mean as others, and next to no chance."""

import numpy as np

from tests.reference.even import EvenDraws
from tests.reference.handset import LaboratoryLadder


def test_they_fill_a_span_evenly_and_each_storm_begins_elsewhere() -> None:
    draws = EvenDraws(np.random.default_rng(1))
    found = np.array([draws.uniform(3.0, 7.0) for _ in range(400)])
    assert found.min() >= 3.0
    assert found.max() < 7.0
    counts = np.histogram(found, 40, (3.0, 7.0))[0]
    assert counts.min() >= 9
    assert counts.max() <= 11
    other = EvenDraws(np.random.default_rng(2))
    assert other.uniform(3.0, 7.0) != found[0]


def test_each_timer_has_a_sequence_of_its_own() -> None:
    ladder = LaboratoryLadder((3.5, 6.5), (10.5, 19.5))
    alone, mixed = (EvenDraws(np.random.default_rng(3)) for _ in range(2))
    expected = [ladder.after_refusal(1, alone).delay_s for _ in range(50)]
    found = []
    for _ in range(50):
        found.append(ladder.after_refusal(1, mixed).delay_s)
        ladder.response_s(mixed)
    np.testing.assert_array_equal(found, expected)
