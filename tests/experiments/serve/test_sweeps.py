"""Sweeps are read while they go on, and nothing is written into their folder."""

from pathlib import Path

import pytest

from signalstorm.envs.model.errors import InputError
from signalstorm.experiments.run_folder import RunFolder
from signalstorm.experiments.serve.sweeps import read_sweep
from tests.experiments.serve.runs import write_run, write_sweep


def test_a_running_sweep_is_followed(tmp_path: Path) -> None:
    folder = write_sweep(tmp_path / "night", [120.0, 90.0])
    before = sorted(path.name for path in folder.iterdir())
    sweep = read_sweep(folder)
    assert (len(sweep.trials), sweep.planned, sweep.finished) == (2, 40, False)
    assert sweep.standing.best is not None
    assert sweep.standing.best.value_s == 90.0
    assert sweep.quiet_s < 60.0
    assert sweep.held is False
    with RunFolder(tmp_path / "locked"):
        write_sweep(tmp_path / "locked", [])
        assert read_sweep(tmp_path / "locked").held is True
    write_sweep(folder, [40.0])
    assert read_sweep(folder).standing.words.startswith("best 40.0 s against 120.0 s at present")
    assert sorted(path.name for path in folder.iterdir()) == before


def test_a_run_without_a_journal_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no journal to watch"):
        read_sweep(write_run(tmp_path / "night"))


@pytest.mark.parametrize("text", ["{}\n[]\n", '{"op_code":99}\n', "garbage\n\n", '{"op_code":4,"study_id":7}\n'])
def test_a_damaged_journal_is_a_message(tmp_path: Path, text: str) -> None:
    folder = write_sweep(tmp_path / "night", [120.0])
    (folder / "journal.log").write_text(text, "utf-8")
    with pytest.raises(InputError, match="cannot be read"):
        read_sweep(folder)


def test_a_journal_that_holds_no_study_yet_has_no_trials(tmp_path: Path) -> None:
    (tmp_path / "journal.log").write_text("", "utf-8")
    sweep = read_sweep(tmp_path)
    assert (sweep.trials, sweep.planned) == ((), None)
    assert sweep.standing.best is None
