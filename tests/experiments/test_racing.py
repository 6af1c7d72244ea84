"""Racing: what is ended early, what it would have come to, and what it never costs."""

from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest

from signalstorm.envs.model.knobs import Setting
from signalstorm.experiments.engines import Threads
from signalstorm.experiments.pareto import pareto_set
from signalstorm.experiments.racing import Rival, excess, run_batch
from signalstorm.experiments.search import standstill
from signalstorm.experiments.search_space import SearchSpace, search_space
from signalstorm.experiments.storm_sets import Paired, paired
from signalstorm.experiments.study_file import StudyFile, parse_study
from signalstorm.experiments.trials import Proposal, Scores, Trial
from tests.experiments.tuning import KNOBS, small_scenario

SETTINGS = [{"nop_rate": 50 + 3 * i, "diameter_tx_s": 1 + i % 4} for i in range(8)]


@pytest.fixture(scope="module")
def space() -> SearchSpace:
    return search_space(small_scenario(), KNOBS)


@pytest.fixture(scope="module")
def storms() -> Paired:
    return paired(small_scenario(), range(16), [20, 21], Threads())


def _run(space: SearchSpace, storms: Paired, pruner: str, best: Rival | None) -> list[Scores]:
    spec = parse_study(f"pruner: {{kind: {pruner}, first: 4}}", "x.yaml")
    proposals = [Proposal({}, Setting(setting)) for setting in SETTINGS]
    return run_batch(space, spec, proposals, storms, best, Threads())


@pytest.mark.parametrize("pruner", ["wilcoxon", "halving"])
def test_early_ends_spare_storms_and_keep_the_best(pruner: str, space: SearchSpace, storms: Paired) -> None:
    if pruner == "wilcoxon" and find_spec("scipy") is None:
        pytest.skip("scipy is not installed: pip install 'signalstorm[sweeps]'")
    whole = _run(space, storms, "none", None)
    first = min(whole, key=lambda scores: scores.value_s)
    costs_s = storms.costs_s(np.array([np.nan if t is None else t for t in first.times_s]), np.array(first.lost_h))
    raced = _run(space, storms, pruner, Rival(costs_s[: storms.counted], first.value_s))
    assert sum(len(scores.times_s) for scores in raced) < 0.8 * sum(len(scores.times_s) for scores in whole)
    for early, full in zip(raced, whole, strict=True):
        assert early.times_s == full.times_s[: len(early.times_s)]
        assert early.pruned == (len(early.times_s) < 18)
        if not early.pruned:
            assert early == full
        else:
            assert early.value_s > first.value_s
    assert not raced[whole.index(first)].pruned


def test_without_a_rival_nothing_is_ended_early(space: SearchSpace, storms: Paired) -> None:
    assert _run(space, storms, "halving", None) == _run(space, storms, "none", None)


def test_limits_are_missed_by_a_share() -> None:
    spec = parse_study("constraints: {refused_share: 0.2, change_cost: 0, time: 60}", "x.yaml")
    found = excess(spec, {"time": 30.0, "refused_share": 0.3, "change_cost": 2.0})
    assert found == pytest.approx({"at_most_refused_share": 0.5, "at_most_change_cost": 2.0, "at_most_time": -0.5})


def _trial(number: int, value_s: float, refused: float = 0.0, worse: int = 0) -> Trial:
    scores = Scores(value_s, worse, (value_s,), (0.0,), {"refused_share": refused})
    return Trial(number, min(number, 1), {}, Setting({}), scores)


def test_the_pareto_set_holds_what_nothing_beats_in_everything() -> None:
    trials = [
        _trial(0, 90.0, 0.0),
        _trial(1, 30.0, 0.4),
        _trial(2, 40.0, 0.5),
        _trial(3, 60.0, 0.1),
        _trial(4, 1.0, 0.0, 1),
    ]
    found = pareto_set(trials, ("time", "refused_share", "imsimgr_cpu_peak"))
    assert [point.trial for point in found] == [1, 3, 0]
    assert dict(found[0].values) == {"time": 30.0, "refused_share": 0.4}
    assert pareto_set([replace(trials[0], scores=replace(trials[0].scores, worse=1))], ("time",)) == ()


@pytest.mark.parametrize(
    ("values", "since"), [([90.0], 0), ([90.0, 95.0, 91.0], 2), ([90.0, 95.0, 60.0], 0), ([90.0, 89.99], 1)]
)
def test_a_standstill_is_counted_from_the_last_better_trial(values: Sequence[float], since: int) -> None:
    assert standstill([_trial(i, value) for i, value in enumerate(values)]) == since


def test_the_default_study_ends_nothing_early() -> None:
    assert StudyFile().pruner.kind == "none"
