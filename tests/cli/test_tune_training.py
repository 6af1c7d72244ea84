"""``tune --target training`` from the command line."""

import json
import shlex
import sys
from pathlib import Path

import pytest

from signalstorm.cli import main
from signalstorm.experiments import train
from signalstorm.experiments import tune_training as module
from signalstorm.experiments.tune_training import Compared, TunedTraining


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as end:
        main(("tune", *words))
    out, err = capsys.readouterr()
    return int(end.value.code or 0), out, err


def found(folder: Path, after: float) -> TunedTraining:
    held = Compared((6,), (20_000, 20_200), (100.0,), (after,), (after / 100, 0.8, 1.2))
    better = after < 100.0
    names = {"before": {"gamma": 0.99}, "after": {"gamma": 0.97 if better else 0.99}}
    return TunedTraining(
        "attach-lte-easy", folder, "time", 24, 9, **names, changes={"gamma": 0.97} if better else {},
        held_out=held, better=better, verdict="the verdict", seconds=12.3,
    )  # fmt: skip


@pytest.mark.parametrize(("after", "code"), [(90.0, 0), (110.0, 1)])
def test_result_and_exit_code(
    after: float, code: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(module, "tune_training", lambda *words, **options: found(tmp_path, after))
    ended, out, _ = run(capsys, "AttachLteEasy", "--target", "training")
    assert ended == code
    assert f"seed 6: 100 s before, {after:.4g} s after" in out
    assert ("gamma: 0.99 -> 0.97" in out) == (code == 0)
    ended, out, _ = run(capsys, "AttachLteEasy", "--target", "training", "--json")
    assert ended == code
    assert json.loads(out)["worse_seeds"] == ([] if code == 0 else [6])


def test_without_the_extra_there_is_one_message(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(f"No module named {name}", name="torch")

    monkeypatch.setattr(train, "import_module", missing)
    out_folder = tmp_path / "run"
    code, _, err = run(capsys, "AttachLteEasy", "--target", "training", "--out", str(out_folder))
    assert code == 2
    assert err == (
        "signalstorm: training needs torch, which this installation lacks. "
        f"Install it with {shlex.quote(sys.executable)} -m pip install 'signalstorm[rl]'.\n"
    )
    assert not out_folder.exists()


def test_options_that_do_not_go_together(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "AttachLteEasy", "--target", "trainings")
    assert code == 2
    assert "Did you mean training" in err
    code, _, err = run(capsys, "AttachLteEasy", "--target", "training", "--jobs", "2", "--engine", "ray")
    assert code == 2
    assert "--jobs" in err
    assert "--engine" in err
    assert "one --storage" in err
    code, _, err = run(capsys, "AttachLteEasie", "--target", "training")
    assert code == 2
    code, _, err = run(capsys, "AttachLteEasy", "--target", "training", "--study", "thorogh")
    assert code == 2
    assert "Did you mean thorough" in err
