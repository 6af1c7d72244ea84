"""The hand that follows a law: its memory, and the pause before it raises a rate again."""

import numpy as np
import pytest

from signalstorm.agents.laws.rates import Aimd
from signalstorm.agents.steering import Lawful, LawHand, Static
from signalstorm.envs.model.scenario_file import load
from signalstorm.envs.observation import ACCEPTS, ADMITTED, FAILURES, REQUESTS, Reading

LAB = load("lab-pcrf")


def reading(rate: np.ndarray, failing: np.ndarray) -> Reading:
    """Gates that limit; where ``failing`` half of what they let through fails."""
    share = np.where(failing, 0.5, 0.0)
    values = {REQUESTS: 10.0 * rate, ADMITTED: rate, ACCEPTS: rate * (1.0 - share), FAILURES: rate * share}
    return Reading(60.0, 60.0, values)


def test_after_a_change_the_rate_is_not_raised_for_a_while_but_may_fall() -> None:
    hand = LawHand(Aimd(increase_per_s=20.0, decrease=0.5, cool_down=2.0), LAB, 2)
    rate = np.array([100.0, 100.0])
    seen = []
    for interval in range(7):
        failing = np.array([False, interval == 2])
        rate = np.asarray(hand.act(reading(rate, failing), {"nop_rate": rate})["nop_rate"])
        seen.append(rate)
    np.testing.assert_allclose(np.array(seen)[:, 0], [120, 120, 120, 140, 140, 140, 160])
    np.testing.assert_allclose(np.array(seen)[:, 1], [120, 120, 60, 60, 60, 80, 80])


def test_without_a_pause_it_follows_the_law_each_time() -> None:
    hand = LawHand(Aimd(increase_per_s=20.0), LAB, 1)
    rate = np.array([100.0])
    for expected in (120.0, 140.0, 160.0):
        rate = np.asarray(hand.act(reading(rate, np.array([False])), {"nop_rate": rate})["nop_rate"])
        assert rate[0] == pytest.approx(expected)


def test_in_no_hour_are_there_more_changes_than_the_law_has() -> None:
    """A gate that fails at random asks for a change in nearly every minute; each storm has three of them an hour."""
    hand = LawHand(Aimd(increase_per_s=20.0, decrease=0.5, most_per_hour=3), LAB, 5)
    chance = np.random.default_rng(0)
    rates = [np.full(5, 400.0)]
    for _ in range(200):
        seen = reading(rates[-1], chance.random(5) < 0.3)
        rates.append(np.asarray(hand.act(seen, {"nop_rate": rates[-1]})["nop_rate"]))
    changed = np.diff(np.array(rates), axis=0) != 0.0
    in_an_hour = np.array([changed[first : first + 60].sum(axis=0) for first in range(len(changed))])
    assert in_an_hour.max() == 3
    assert changed.sum(axis=0).min() >= 9  # an hour after each of them there is room for another
    np.testing.assert_array_equal(np.flatnonzero(changed[:, 0])[:4], [0, 1, 2, 60])


def test_names_and_starts() -> None:
    assert Lawful(Aimd()).name == "aimd"
    assert Lawful(Aimd()).start(LAB) == {}
    assert Static("mine", {"nop_rate": 70}).start(LAB) == {"nop_rate": 70}
