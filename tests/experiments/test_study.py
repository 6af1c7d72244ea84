"""Claims: which stand, who finishes them, and what becomes of those of the dead."""

from pathlib import Path

import optuna
import pytest
from optuna.storages import BaseStorage, RetryHeartbeatStaleTrialCallback
from optuna.trial import TrialState

from signalstorm.envs.model.errors import InputError
from signalstorm.experiments.search_space import SearchSpace, search_space
from signalstorm.experiments.storage import open_storage
from signalstorm.experiments.study import Study
from signalstorm.experiments.study_file import StudyFile
from signalstorm.experiments.trials import Proposal, Scores
from tests.experiments.tuning import KNOBS, small_scenario

SCORES = Scores(31.5, 1, (31.5, None), (2.0, 7.5), {"refused_share": 0.25}, {"at_most_refused_share": -0.5})


@pytest.fixture
def space() -> SearchSpace:
    return search_space(small_scenario(), KNOBS)


@pytest.fixture
def storage(tmp_path: Path) -> BaseStorage:
    return open_storage(str(tmp_path / "trials.log"), tmp_path / "unused")


def _study(space: SearchSpace, storage: BaseStorage, worker: str = "") -> Study:
    return Study(space, storage, "a", StudyFile(), "identity", worker)


def _proposals(space: SearchSpace, *rates: int) -> list[Proposal]:
    points = [{**space.start_points[0], "nop_rate": rate} for rate in rates]
    return [Proposal(point, space.setting(point)) for point in points]


def test_scores_survive_the_storage(space: SearchSpace, storage: BaseStorage) -> None:
    study = _study(space, storage)
    study.start(SCORES)
    (claim,) = study.claim(1, _proposals(space, 60), 10)
    study.finish(claim, SCORES)
    present, trial = _study(space, storage).trials()
    assert present.present
    assert present.setting == {}
    assert trial.scores == SCORES
    assert not trial.feasible
    assert trial.setting["nop_rate"] == 60


def test_the_present_setting_is_trial_0_whoever_comes_first(space: SearchSpace, storage: BaseStorage) -> None:
    studies = [_study(space, storage, worker) for worker in ("aa", "bb")]
    for study in studies:
        study.start(SCORES)
    assert [trial.number for trial in studies[0].trials()] == [0]


def test_of_two_claims_for_one_setting_the_first_stands(space: SearchSpace, storage: BaseStorage) -> None:
    first, second = (_study(space, storage, worker) for worker in ("aa", "bb"))
    first.start(SCORES)
    assert len(first.claim(1, _proposals(space, 60, 70), 10)) == 2
    (claim,) = second.claim(1, _proposals(space, 70, 80), 10)
    assert claim.proposal.setting["nop_rate"] == 80
    assert first.trial_count() == second.trial_count() == 4


def test_no_more_claims_stand_than_trials_are_asked_for(space: SearchSpace, storage: BaseStorage) -> None:
    first, second = (_study(space, storage, worker) for worker in ("aa", "bb"))
    first.start(SCORES)
    first.claim(1, _proposals(space, 60, 70), 4)
    assert len(second.claim(1, _proposals(space, 80, 90, 100), 4)) == 1
    assert second.trial_count() == 4


def test_a_trial_finished_twice_keeps_its_first_scores(space: SearchSpace, storage: BaseStorage) -> None:
    study = _study(space, storage)
    study.start(SCORES)
    (claim,) = study.claim(1, _proposals(space, 60), 10)
    study.finish(claim, SCORES)
    study.finish(claim, Scores(1.0, 0, (1.0, 1.0), (0.0, 0.0)))
    assert _study(space, storage).trials()[1].scores == SCORES


def test_claims_of_an_earlier_life_are_taken_up(space: SearchSpace, storage: BaseStorage) -> None:
    dead = _study(space, storage, "aa")
    dead.start(SCORES)
    claimed = dead.claim(1, _proposals(space, 60, 70), 10)
    assert _study(space, storage, "bb").left_open() == []
    again = _study(space, storage, "aa")
    assert [claim.number for claim in again.left_open()] == [claim.number for claim in claimed]
    assert all(again.take(claim) for claim in again.left_open())
    assert [claim.proposal.setting for claim in again.left_open()] == [claim.proposal.setting for claim in claimed]


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
def test_a_claim_given_back_by_the_storage_is_taken_once(space: SearchSpace, storage: BaseStorage) -> None:
    """Optuna fails trials without a heartbeat and puts a copy into the queue."""
    dead, *others = (_study(space, storage, worker) for worker in ("aa", "bb", "cc"))
    dead.start(SCORES)
    (claim,) = dead.claim(1, _proposals(space, 60), 10)
    storage.set_trial_state_values(claim.trial_id, TrialState.FAIL)
    RetryHeartbeatStaleTrialCallback()(dead.optuna_study, storage.get_trial(claim.trial_id))
    waiting = [other.open_waiting()[0] for other in others]
    assert [other.take(w) for other, w in zip(others, waiting, strict=True)] == [True, False]
    others[0].finish(waiting[0], SCORES)
    assert [trial.setting.get("nop_rate") for trial in others[1].trials()] == [None, 60]


def test_the_first_process_searches_as_if_it_were_alone(space: SearchSpace, tmp_path: Path) -> None:
    alone = _study(space, optuna.storages.InMemoryStorage())
    shared = open_storage(str(tmp_path / "journal.log"), tmp_path)
    first, second = (_study(space, shared, worker) for worker in ("aa", "bb"))
    alone.start(SCORES)
    first.start(SCORES)
    ours, theirs, others = (study.propose(1, 16) for study in (alone, first, second))
    assert [p.setting for p in ours] == [p.setting for p in theirs]
    assert not {p.setting for p in ours} & {p.setting for p in others}


def test_another_identity_is_refused(space: SearchSpace, storage: BaseStorage) -> None:
    _study(space, storage).start(SCORES)
    with pytest.raises(InputError, match="another study of the name a"):
        Study(space, storage, "a", StudyFile(), "other", "")
