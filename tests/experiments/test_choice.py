from typing import Any

import numpy as np

from signalstorm.envs.model.knobs import Setting
from signalstorm.experiments import choice
from signalstorm.experiments.engines import Settings, Threads, Told
from signalstorm.experiments.evaluate import Evaluation, StormSet
from signalstorm.experiments.racing import Heat
from signalstorm.experiments.search_space import search_space
from signalstorm.experiments.storm_sets import paired
from signalstorm.experiments.study_file import StudyFile
from tests.experiments.tuning import KNOBS, small_scenario


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
    check: Any = choice._Check(storms, StudyFile(), 10.0, 0)
    engine.met.clear()
    found = choice.simplest(setting, heat, check, engine)
    assert dict(found) == {"nop_rate": 60, "diameter_tx_s": 10}
    # Without its gate or its timer the storm lasts so much longer that a part of the storms says it.
    assert engine.met[str(dict(found))] == 24
    assert min(engine.met.values()) < 24


def test_a_difference_has_to_be_sure_before_a_setting_is_dropped() -> None:
    behind = np.array([[5.0, 5.1, 4.9, 5.0], [30.0, -20.0, 25.0, -15.0], [0.1, 0.1, 0.1, 0.1]])
    assert choice._surely_above(behind, 1.0).tolist() == [True, False, False]
    assert choice._surely_above(behind[:, :1], 1.0).tolist() == [False, False, False]
