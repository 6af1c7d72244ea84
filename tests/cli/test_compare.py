"""``evaluate`` and ``compare`` from the command line."""

import json
from pathlib import Path

import pytest

from signalstorm.cli import main
from signalstorm.envs.model import scenario_file
from signalstorm.experiments.compare import Comparison, compare
from tests.experiments.test_compare import SCENARIO


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as end:
        main(words)
    out, err = capsys.readouterr()
    return int(end.value.code or 0), out, err


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "lab.yaml"
    path.write_text(scenario_file.dump(SCENARIO))
    return str(path)


def test_evaluate(capsys: pytest.CaptureFixture[str], file: str, tmp_path: Path) -> None:
    setting = tmp_path / "mine.yaml"
    setting.write_text("nop_rate: 70\n")
    words = ("evaluate", "aimd", str(setting), "--scenario", file, "--seeds", "4", "--curves", str(tmp_path / "c.html"))
    code, out, _ = run(capsys, *words, "--json", "-q")
    assert code == 0
    curves = (tmp_path / "c.html").read_text("utf-8")
    for said in ("aimd over time in", "nop_rate in force", "Attach requests", "The same 4 held-out storms"):
        assert said in curves
    rows = json.loads(out)["contestants"]
    assert [row["name"] for row in rows] == ["present", "best-static", "aimd", "mine"]
    assert json.loads(out)["storms"] == {"first": 20000, "count": 4}


def test_compare(capsys: pytest.CaptureFixture[str], file: str, tmp_path: Path) -> None:
    out_folder = tmp_path / "out"
    words = ("compare", "--scenario", file, "--seeds", "3", "--beyond", "0", "--out", str(out_folder))
    code, out, err = run(capsys, *words)
    assert code == 0
    assert "clairvoyant" in out
    assert "adaptive-lifo does not apply" in out
    assert "of" in err
    assert {path.name for path in out_folder.iterdir()} == {"compare.json", "compare.csv", "comparison.md", "parts"}


def test_wrong_words(capsys: pytest.CaptureFixture[str], file: str) -> None:
    code, _, err = run(capsys, "evaluate", "aimt", "--scenario", file)
    assert code == 2
    assert "Did you mean aimd" in err
    code, _, err = run(capsys, "compare", "--scenario", "lab-pcfr")
    assert code == 2
    assert "Did you mean lab-pcrf" in err


def test_either_one_scenario_or_all(capsys: pytest.CaptureFixture[str], file: str) -> None:
    for words in ((), ("--all", "--scenario", file), ("--all", "--with", file)):
        code, _, err = run(capsys, "compare", *words)
        assert code == 2
        assert "--scenario" in err


def test_all_are_compared_by_one_command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: dict[str, object] = {}

    def fake(seeds: int, **options: object) -> list[Comparison]:
        asked.update(options, seeds=seeds)
        return [compare(SCENARIO, storms=2, beyond=0, only=[], threads=1)]

    monkeypatch.setattr("signalstorm.experiments.compare_all.compare_all", fake)
    code, out, _ = run(capsys, "compare", "--all", "--seeds", "2", "--runs", str(tmp_path), "-q")
    assert code == 0
    assert (asked["seeds"], asked["runs"], asked["out"]) == (2, tmp_path, tmp_path / "compare")
    assert "best-static" in out
    assert str(tmp_path / "compare" / "results.md") in out
