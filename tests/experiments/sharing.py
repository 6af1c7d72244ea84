"""Processes that search together, and what they leave behind."""

import csv
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import optuna
from optuna.trial import TrialState

from signalstorm.experiments.engines import Threads
from signalstorm.experiments.evaluate import StormSet
from signalstorm.experiments.storage import open_storage
from tests.experiments.tuning import busy_scenario

ROOT = Path(__file__).resolve().parents[2]
NAME = "together"
_SCRIPT = """
import sys
from dataclasses import replace
from signalstorm.experiments.tune import tune
from tests.experiments.tuning import KNOBS, SMALL, busy_scenario
if __name__ == "__main__":
    out, storage, trials, jobs = sys.argv[1:5]
    tune(busy_scenario(), knobs=KNOBS, out=out, budget=replace(SMALL, trials=int(trials)), storage=storage or None,
         jobs=int(jobs) or None, name="together")
"""


def environment() -> dict[str, str]:
    """Return the environment of a process that may be killed, without coverage: a torn data file would spoil it."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    return {**kept, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}


def compile_first() -> None:
    """Compile the model for one storm and for many: processes that all do it at once take minutes."""
    for count in (1, 40):
        Threads().evaluate([{}], StormSet(busy_scenario(), tuple(range(count)), vary=True))


def start(folder: Path, storage: str, trials: int, jobs: int = 0) -> subprocess.Popen[bytes]:
    """Start a process that searches, in a folder of its own and a process group of its own."""
    with (folder.parent / f"{folder.name}.err").open("ab") as err:
        return subprocess.Popen(
            [sys.executable, "-c", _SCRIPT, str(folder), storage, str(trials), str(jobs)],
            env=environment(), stderr=err, start_new_session=True,
        )  # fmt: skip


def finish(processes: list[subprocess.Popen[bytes]], folders: list[Path], timeout_s: float = 280) -> None:
    """Wait for processes, all of which have to end well; a test that takes longer by design says how long."""
    for process, folder in zip(processes, folders, strict=True):
        code = process.wait(timeout=timeout_s)
        assert code == 0, (folder.parent / f"{folder.name}.err").read_text()[-3000:]


def rows(folder: Path) -> list[dict[str, str]]:
    """Return the trials that a folder lists."""
    with (folder / "trials.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def check_together(folders: list[Path], storage: str, trials: int) -> None:
    """Check that all list the same trials: as many as asked, none twice, none left open."""
    listed = [rows(folder) for folder in folders]
    assert all(table == listed[0] for table in listed)
    assert len(listed[0]) == trials
    settings = {
        tuple(value for key, value in row.items() if key.startswith(("nop_", "diameter_"))) for row in listed[0]
    }
    assert len(settings) == trials
    study = optuna.load_study(study_name=NAME, storage=open_storage(storage, folders[0]))
    states = Counter(trial.state for trial in study.get_trials(deepcopy=False))
    assert states[TrialState.COMPLETE] == trials
    assert set(states) <= {TrialState.COMPLETE, TrialState.FAIL}
    assert study.get_trials(deepcopy=False)[0].user_attrs["present"]
