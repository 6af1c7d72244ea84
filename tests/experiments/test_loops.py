"""Closed loops over many storms: as a single loop does it, row by row, with delay, interval and changes as asked."""

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from signalstorm.agents.clairvoyant import Clairvoyant
from signalstorm.agents.laws.rates import Aimd, ConstantGain
from signalstorm.agents.rules import RULES
from signalstorm.agents.steering import Hand, Lawful, Static, fast_knobs, start_of
from signalstorm.envs.model.batch import Batch
from signalstorm.envs.model.knob_table import KnobValue
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.model.scenario_file import load
from signalstorm.envs.observation import ACCEPTS, Reading
from signalstorm.experiments.closed_loop import run
from signalstorm.experiments.evaluate import StormSet, evaluate
from signalstorm.experiments.loops import Knobs, LoopResult, run_loop

LAB = load("lab-pcrf").with_fields(
    {
        "subscribers.handset.size": 2000,
        "demand.rate_per_s": 200.0,
        "topology.pcrf.rate_per_s": 70.0,
        "topology.pcrf.buffer": 160.0,
        "horizon_s": 100.0,
        "control_interval_s": 2.0,
    }
)
"""A storm that does not end by itself within the horizon."""
STORMS = StormSet(LAB, (3, 4, 5, 6, 7, 8), vary=False)


class Says:
    """A steering that writes down what it is shown and sets what it is told."""

    name = "says"

    def __init__(self, rates: Sequence[float]) -> None:
        self.rates = rates
        self.shown: list[Reading] = []

    def start(self, scenario: Scenario) -> Mapping[str, KnobValue]:
        return {"nop_rate": 100}

    def hand(self, scenario: Scenario, batch: Batch, storms: Sequence[Scenario]) -> Hand:
        return self

    def act(self, seen: Reading, now: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
        self.shown.append(seen)
        rate = self.rates[min(len(self.shown) - 1, len(self.rates) - 1)]
        return {"nop_rate": np.full(len(now["nop_rate"]), rate)}


def test_a_law_decides_as_its_card_does_for_one_storm() -> None:
    made = run_loop(Lawful(ConstantGain()), STORMS, series=True, threads=1)
    for row in (0, 4):
        *_, (loop, _) = run(LAB, RULES["constant-gain"], STORMS.numbers[row])
        assert loop.convergence_time_s == pytest.approx(made.outcomes.convergence_time_s[row], nan_ok=True)
        alone = [seen.values[ACCEPTS] for seen in loop.history]
        batch = [seen.values[ACCEPTS][row] for seen in made.readings][: len(alone)]
        np.testing.assert_allclose(batch, alone, rtol=1e-12)


def test_rows_do_not_touch_each_other() -> None:
    whole = run_loop(Lawful(Aimd()), STORMS, series=True, threads=1)
    one = run_loop(Lawful(Aimd()), StormSet(LAB, (5,), vary=False), series=True, threads=1)
    np.testing.assert_array_equal(whole.values["nop_rate"][:, 2], one.values["nop_rate"][:, 0])
    np.testing.assert_array_equal(whole.restricted_s[2], one.restricted_s[0])
    np.testing.assert_array_equal(whole.changed[:, 2], one.changed[:, 0])


def test_a_static_setting_does_what_evaluate_says() -> None:
    made = run_loop(Static("gate", {"nop_rate": 60}), STORMS, threads=1)
    expected = evaluate([{"nop_rate": 60}], STORMS, threads=1)
    np.testing.assert_array_equal(made.outcomes.attempts, expected.outcomes.attempts[0])
    np.testing.assert_array_equal(made.restricted_s, expected.restricted_s[0])
    assert not made.changed.any()
    assert made.converged.all()
    np.testing.assert_allclose(made.lost_h * 2000, expected.outcomes.subscriber_hours_lost[0])


def test_delay_and_interval() -> None:
    hand = Says([100, 90, 80])
    made = run_loop(hand, STORMS, delay=2, interval_s=5.0, series=True, threads=1)
    assert len(made.readings) == 20
    assert [seen.end_s for seen in hand.shown[:3]] == pytest.approx([5.0, 10.0, 15.0])
    np.testing.assert_array_equal(made.values["nop_rate"][:6, 0], [100, 100, 100, 100, 90, 80])
    assert list(np.flatnonzero(made.changed[:, 0])) == [3, 4]
    assert made.interval_s == 5.0


def test_changes_count_until_the_storm_is_over() -> None:
    hand = Says([60, 61] * 25)
    made = run_loop(hand, STORMS, threads=1)
    over = made.restricted_s
    assert (over < 100.0).all()
    expected = np.floor(over / 2.0)
    np.testing.assert_allclose(made.changes, expected, atol=1)
    np.testing.assert_allclose(made.changes_per_hour, made.changes / over * 3600.0)


def test_the_busiest_hour_may_begin_at_any_change_and_ends_with_the_storm() -> None:
    changed = np.zeros((150, 3), bool)
    changed[[0, 30, 59, 60, 61, 120], 0] = True
    changed[[10, 80, 149], 1] = True
    changed[[10, 80, 82, 84], 2] = True
    storms = StormSet(LAB.with_fields({"horizon_s": 9000.0}), (0, 1, 2), vary=False)
    outcomes = SimpleNamespace(convergence_time_s=np.array([np.nan, np.nan, 82 * 60.0]))
    made = LoopResult(storms, cast(Any, outcomes), changed, 60.0)
    # The first storm's hours begin in minutes 0 (3 changes: 0, 30, 59), 30 (30, 59, 60, 61); the third ends in between.
    np.testing.assert_array_equal(made.most_in_an_hour, [4, 1, 1])


def test_values_become_legal() -> None:
    knobs = Knobs(LAB, {"nop_rate": 100}, 4)
    changed = knobs.put({"nop_rate": np.array([100.4, 20.0, 1e9, np.nan])})
    np.testing.assert_array_equal(changed, [False, True, True, False])
    np.testing.assert_array_equal(knobs.values["nop_rate"], [100, 50, 5000, 100])
    off = knobs.put({"nop_rate": np.array([np.inf, 50.0, 5000.0, 100.0])})
    np.testing.assert_array_equal(off, [True, False, False, False])
    assert np.isinf(knobs.values["nop_rate"][0])
    np.testing.assert_array_equal(knobs.matrix[0, 1:], Knobs(LAB, {"nop_rate": "off"}, 1).matrix[0, 1:])


def test_the_clairvoyant_hand_comes_near_the_best_static_rate_of_steady_storms() -> None:
    gated = LAB.with_fields({"loop": {"fast": ["nop_rate"], "start": {"nop_rate": 100}}})
    made = run_loop(Clairvoyant(), StormSet(gated, STORMS.numbers, vary=False), threads=1).restricted_s.mean()
    rates = [{"nop_rate": rate} for rate in (50, 60, 66, 70, 75, 80, 100)]
    best = evaluate(rates, STORMS, threads=1).restricted_mean_s.min()
    assert made <= 1.1 * best


def test_where_loops_start() -> None:
    assert start_of(LAB) == {}
    assert fast_knobs(LAB) == ("nop_rate",)
    scenario = load("incident-2014-randomised")
    assert scenario.loop is not None
    assert start_of(scenario) == scenario.loop.start
    assert fast_knobs(load("dra-throttle-randomised")) == ("dra_ccr_i_limit_per_s",)
