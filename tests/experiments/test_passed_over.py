"""What is quicker on the storm as it is and was passed over: named with the reason that holds, or nothing."""

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from signalstorm.envs.model.knobs import Setting
from signalstorm.envs.model.scenario_file import load
from signalstorm.experiments import passed_over as module
from signalstorm.experiments.choice import Choice
from signalstorm.experiments.evaluate import StormSet
from signalstorm.experiments.search_space import search_space
from signalstorm.experiments.storm_sets import Budget, Paired
from signalstorm.experiments.trials import Scores, Trial

SPACE = search_space(load("lab-pcrf"))
OURS = Setting({"nop_rate": 60})


def paired(first: int) -> Paired:
    storms = StormSet(SPACE.scenario, (first, first + 1), vary=True)
    return Paired(storms, 2, np.array([100.0, 20.0]), np.array([1.0, 1.0]))


def trial(number: int, rate: int, times_s: tuple[float, float], *, worse: int = 0, excess: float = 0.0) -> Trial:
    scores = Scores(sum(times_s) / 2, worse, times_s, (1.0, 1.0), excess={"at_most_refused_share": excess})
    return Trial(number, 1, {}, Setting({"nop_rate": rate}), scores)


def found(monkeypatch: pytest.MonkeyPatch, nominal_s: dict[int, float], fresh_s: Any, *trials: Trial) -> Any:
    """Ask in a world where the storm as it is and the fresh storms last as long as said, by the gate's rate."""

    def meet(settings: list[Setting], storms: StormSet, _: Any) -> Any:
        rates = [int(setting["nop_rate"]) for setting in settings]
        if not storms.vary:
            return SimpleNamespace(restricted_mean_s=np.array([nominal_s[rate] for rate in rates]))
        times = np.array([fresh_s[rate] for rate in rates])
        outcomes = SimpleNamespace(convergence_time_s=times, subscriber_hours_lost=np.ones_like(times))
        return SimpleNamespace(outcomes=outcomes, restricted_s=times)

    monkeypatch.setattr(module, "meet", meet)
    chosen = Choice(OURS, paired(10_000))
    return module.passed_over(SPACE, trials, paired(0), chosen, Budget(), cast(Any, None))


def test_the_quickest_other_setting_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    trials = trial(1, 60, (26.0, 20.0)), trial(2, 70, (30.0, 25.0), worse=1), trial(3, 80, (28.0, 19.0))
    record = found(monkeypatch, {60: 26.0, 70: 22.0, 80: 25.0}, {}, *trials)
    assert (record.trial, dict(record.override), record.seeds) == (
        2,
        {"nop_rate": 70},
        (20_000, 20_001, 20_002, 20_003),
    )
    assert (record.rmst_s, record.recommended_rmst_s) == (22.0, 26.0)
    assert "worse than the present setting on 1 of 2 storms of the search, by up to 25%" in record.reason
    assert record.words.startswith("nop_rate=70 (trial 2) ends the storm as it is in 22.0 s on average")


def test_nothing_is_named_where_nothing_is_quicker(monkeypatch: pytest.MonkeyPatch) -> None:
    trials = trial(1, 60, (26.0, 20.0)), trial(2, 70, (30.0, 25.0), worse=1)
    assert found(monkeypatch, {60: 26.0, 70: 25.6}, {}, *trials) is None
    assert found(monkeypatch, {60: 26.0}, {}, trials[0]) is None


@pytest.mark.parametrize(
    ("fresh_s", "excess", "reason"),
    [
        (
            {70: (30.0, 24.0), 60: (30.0, 20.0)},
            0.0,
            "worse than the present setting on 1 of 2 fresh storms, by up to 20%",
        ),
        (
            {70: (50.0, 20.0), 60: (30.0, 20.0)},
            0.0,
            "storms that vary cost 35.0 s with it, 25.0 s with the recommended one",
        ),
        ({70: (28.0, 20.0), 60: (30.0, 20.0)}, 0.0, "did not pass by the margin"),
        ({}, 0.2, "exceeds what the study allows of refused_share"),
    ],
)
def test_the_reason_is_the_one_that_holds(
    monkeypatch: pytest.MonkeyPatch, fresh_s: dict[int, Any], excess: float, reason: str
) -> None:
    record = found(monkeypatch, {60: 26.0, 70: 22.0}, fresh_s, trial(2, 70, (30.0, 19.0), excess=excess))
    assert reason in record.reason
