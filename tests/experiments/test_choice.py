from dataclasses import replace
from typing import Any

import numpy as np

from signalstorm.envs.model.knobs import Setting
from signalstorm.envs.model.scenario_file import load
from signalstorm.experiments import choice
from signalstorm.experiments.engines import Settings, Threads, Told
from signalstorm.experiments.evaluate import Evaluation, StormSet
from signalstorm.experiments.racing import Heat, run_batch
from signalstorm.experiments.search import rejected
from signalstorm.experiments.search_space import search_space
from signalstorm.experiments.storm_sets import paired
from signalstorm.experiments.study_file import StudyFile
from signalstorm.experiments.trials import Proposal, Trial
from tests.experiments.tuning import KNOBS, SMALL, busy_scenario, small_scenario


class Counting(Threads):
    """Counts how many storms each setting meets."""

    def __init__(self) -> None:
        super().__init__()
        self.met: dict[str, int] = {}

    def evaluate(self, settings: Settings, storms: StormSet, progress: Told | None = None) -> Evaluation:
        for setting in settings:
            self.met[str(dict(setting))] = self.met.get(str(dict(setting)), 0) + len(storms.numbers)
        return super().evaluate(settings, storms, progress)


def test_what_changes_in_vain_is_left_out_and_what_matters_is_soon_known() -> None:
    space, engine = search_space(small_scenario(), KNOBS), Counting()
    setting = Setting({"nop_rate": 60, "nop_action": "reject-network-failure", "diameter_tx_s": 10})
    storms = paired(space.scenario, range(10_000, 10_024), [], engine)
    heat = Heat(space, [setting], storms)
    heat.meet(np.arange(1), slice(0, 24), engine)
    check: Any = choice._Check(storms, StudyFile(), 10.0)
    engine.met.clear()
    found = choice.simplest(setting, heat, check, engine)
    assert dict(found) == {"nop_rate": 60, "diameter_tx_s": 10}
    # Without its gate or its timer the storm lasts so much longer that a part of the storms says it.
    assert engine.met[str(dict(found))] == 24
    assert min(engine.met.values()) < 24


def test_retransmissions_stay_as_long_as_the_time_outs_that_they_go_with() -> None:
    limits = ("rto_min_ms", "rto_initial_ms", "rto_max_ms")
    space = search_space(load("incident-2014"))
    setting = space.setting({"nop_rate": 400, **dict.fromkeys(limits, 500)})
    assert setting["max_assoc_retx"] == 119
    assert dict(choice._without(space, setting, limits) or {}) == {"nop_rate": 400}
    assert dict(choice._without(space, setting, ("nop_rate",)) or {}) == {
        **dict.fromkeys(limits, 500), "max_assoc_retx": 119,
    }  # fmt: skip
    assert choice._without(space, setting, ("rto_min_ms",)) is None  # RTO-min would lie above RTO-max


def test_a_difference_has_to_be_sure_before_a_setting_is_dropped() -> None:
    behind = np.array([[5.0, 5.1, 4.9, 5.0], [30.0, -20.0, 25.0, -15.0], [0.1, 0.1, 0.1, 0.1]])
    assert choice._surely_above(behind, 1.0).tolist() == [True, False, False]
    assert choice._surely_above(behind[:, :1], 1.0).tolist() == [False, False, False]


def test_what_the_search_saw_to_be_worse_is_no_answer() -> None:
    """Neither as it is nor as the rest of a setting that changes more, and only it is named as passed by."""
    space, engine, spec = search_space(busy_scenario(), KNOBS), Threads(), StudyFile()
    budget = replace(SMALL, choice_guards=0)
    storms = paired(space.scenario, budget.storms, [], engine)
    settings = [Setting({}), Setting({"nop_rate": 50, "nop_action": "reject-network-failure", "diameter_tx_s": 10})]
    scores = run_batch(space, spec, [Proposal({}, setting) for setting in settings], storms, None, engine)
    present, full = (Trial(j, j, {}, settings[j], replace(scores[j], worse=0)) for j in (0, 1))
    simple = choice.choose(space, [present, full], storms, budget, engine, spec).setting
    assert 0 < len(simple) < len(full.setting)

    worse = Trial(2, 1, {}, simple, replace(scores[1], worse=1, value_s=1.0))
    chosen = choice.choose(space, [present, full, worse], storms, budget, engine, spec).setting
    assert chosen
    assert space.identity(chosen) != space.identity(simple)
    named = ", ".join(f"{name}={value}" for name, value in simple.items())
    assert f"{named} comes to 1.0 s" in str(rejected([present, full, worse], storms))

    alone = choice.choose(space, [present, worse], storms, budget, engine, spec)
    assert not alone.setting
    assert alone.reason
