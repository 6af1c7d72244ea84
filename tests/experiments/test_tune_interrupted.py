"""A killed search is taken up again: nothing lost, nothing twice, no ghosts, the same answer."""

import csv
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import optuna
import pytest
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import TrialState

from signalstorm.experiments.recommendation import Recommendation, load
from signalstorm.experiments.tune import tune
from tests.experiments import sharing
from tests.experiments.tuning import KNOBS, SMALL, busy_scenario

pytestmark = pytest.mark.processes

_SCRIPT = """
import sys
from signalstorm.experiments.tune import tune
from tests.experiments import sharing
from tests.experiments.tuning import KNOBS, SMALL, busy_scenario
tune(busy_scenario(), knobs=KNOBS, out=sys.argv[1], budget=SMALL)
"""
_ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Recommendation, Path]:
    folder = tmp_path_factory.mktemp("whole") / "run"
    return tune(busy_scenario(), knobs=KNOBS, out=folder, budget=SMALL), folder


def _start(folder: Path) -> subprocess.Popen[bytes]:
    environment = sharing.environment()
    return subprocess.Popen([sys.executable, "-c", _SCRIPT, str(folder)], env=environment, stderr=subprocess.PIPE)


def _stop_after(folder: Path, trials: int, kind: signal.Signals) -> int:
    """Start a run, send it a signal once its journal holds so many trials, and return its exit code."""
    process = _start(folder)
    journal, deadline = folder / "journal.log", time.monotonic() + 120
    while time.monotonic() < deadline and process.poll() is None:
        if journal.exists() and journal.read_bytes().count(b'"op_code":4') >= trials:
            break
        time.sleep(0.002)
    process.send_signal(kind)
    _, err = process.communicate(timeout=60)
    assert process.returncode != 0, err.decode()
    return process.returncode


def _wait_for_growth(journal: Path, by: int, process: subprocess.Popen[bytes]) -> None:
    """Wait until a journal has grown by so many bytes, or its process has ended."""
    before = journal.stat().st_size if journal.exists() else 0
    while process.poll() is None and (not journal.exists() or journal.stat().st_size < before + by):
        time.sleep(0.01)


def _rows(folder: Path) -> list[dict[str, str]]:
    with (folder / "trials.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("trials", [1, 5, 17, 23])
def test_a_killed_search_goes_on_to_the_same_answer(
    trials: int, tmp_path: Path, whole: tuple[Recommendation, Path]
) -> None:
    record, folder = whole
    _stop_after(tmp_path / "run", trials, signal.SIGKILL)
    resumed = tune(busy_scenario(), knobs=KNOBS, out=tmp_path / "run", budget=SMALL)
    assert _rows(tmp_path / "run") == _rows(folder)
    assert resumed.override == record.override
    assert resumed.checks == record.checks
    storage = JournalStorage(JournalFileBackend(str(tmp_path / "run" / "journal.log")))
    study = optuna.load_study(study_name="small-lab", storage=storage)
    assert [trial.state for trial in study.trials] == [TrialState.COMPLETE] * SMALL.trials


@pytest.mark.long
def test_a_process_tree_killed_at_twenty_random_moments_ends_where_an_uninterrupted_one_does(tmp_path: Path) -> None:
    trials, moments = 1000, np.random.default_rng(20141121)
    tune(busy_scenario(), knobs=KNOBS, out=tmp_path / "whole", budget=SMALL, trials=trials, name=sharing.NAME)
    folder, kills = tmp_path / "killed", 0
    while kills < 20:
        process = sharing.start(folder, "", trials, jobs=2)
        # Some while it starts, most once it has written something more, however busy the machine is.
        if kills % 4 == 0:
            time.sleep(float(moments.uniform(0.5, 7.0)))
        else:
            _wait_for_growth(folder / "journal.log", int(moments.integers(1, 60_000)), process)
            time.sleep(float(moments.uniform(0.0, 0.3)))
        assert process.poll() is None, (tmp_path / "killed.err").read_text()[-3000:]
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        kills += 1
    sharing.finish([sharing.start(folder, "", trials)], [folder], timeout_s=3600)
    assert kills == 20
    assert _rows(folder) == _rows(tmp_path / "whole")
    assert load(folder).checks == load(tmp_path / "whole").checks
    storage = JournalStorage(JournalFileBackend(str(folder / "journal.log")))
    states = [trial.state for trial in optuna.load_study(study_name=sharing.NAME, storage=storage).trials]
    assert states == [TrialState.COMPLETE] * trials


def test_a_request_to_terminate_ends_the_run_in_order(tmp_path: Path) -> None:
    assert _stop_after(tmp_path / "run", 2, signal.SIGTERM) != -signal.SIGTERM
    assert not list((tmp_path / "run").glob("*.lock*.rename"))


def test_half_a_line_and_a_lock_left_behind_are_mended(
    tmp_path: Path, whole: tuple[Recommendation, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "run"
    tune(busy_scenario(), knobs=KNOBS, out=folder, budget=SMALL, trials=8)
    with (folder / "journal.log").open("ab") as journal:
        journal.write(b'{"op_code":4,"worker_id":"x","study')
    (folder / "journal.log.lock").touch()
    sleep, slept = time.sleep, []

    def counted(seconds: float) -> None:
        slept.append(seconds)
        sleep(seconds)

    monkeypatch.setattr(time, "sleep", counted)
    tune(busy_scenario(), knobs=KNOBS, out=folder, budget=SMALL)
    assert sum(slept) < 25  # Optuna alone would sleep 30 s for the lock
    assert _rows(folder) == _rows(whole[1])


def test_ghosts_of_another_program_are_marked_as_failed(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    tune(busy_scenario(), knobs=KNOBS, out=folder, budget=SMALL, trials=4)
    storage = JournalStorage(JournalFileBackend(str(folder / "journal.log")))
    study = optuna.load_study(study_name="small-lab", storage=storage)
    study.ask()
    tune(busy_scenario(), knobs=KNOBS, out=folder, budget=SMALL, trials=6)
    states = [trial.state for trial in optuna.load_study(study_name="small-lab", storage=storage).trials]
    assert states.count(TrialState.COMPLETE) == 6
    assert states.count(TrialState.FAIL) == 1
    assert TrialState.RUNNING not in states


def test_two_processes_cannot_share_a_folder(tmp_path: Path) -> None:
    from signalstorm.envs.model.errors import InputError
    from signalstorm.experiments.run_folder import RunFolder

    with RunFolder(tmp_path), pytest.raises(InputError, match="another process"), RunFolder(tmp_path):
        pass


def test_whether_a_folder_is_held_can_be_seen_without_holding_it(tmp_path: Path) -> None:
    from signalstorm.experiments.run_folder import RunFolder, is_held

    assert is_held(tmp_path) is False
    assert list(tmp_path.iterdir()) == []
    with RunFolder(tmp_path):
        assert is_held(tmp_path) is True
    assert is_held(tmp_path) is False


def test_who_looks_for_a_moment_does_not_keep_a_run_from_its_folder(tmp_path: Path) -> None:
    fcntl = pytest.importorskip("fcntl")
    from signalstorm.experiments.run_folder import RunFolder

    with RunFolder(tmp_path):
        pass
    looking = (tmp_path / "run.lock").open("rb")
    fcntl.flock(looking, fcntl.LOCK_SH)
    soon = threading.Timer(0.03, looking.close)
    soon.start()
    with RunFolder(tmp_path):
        soon.join()
