"""A comparison: the same storms for all, figures that follow from them, files, and going on after an interruption."""

import csv
import json
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from signalstorm.agents.steering import Steering
from signalstorm.envs.model.errors import InputError
from signalstorm.envs.model.storms import HELD_OUT
from signalstorm.experiments import compare_tables
from signalstorm.experiments.compare import HINDSIGHT, Comparison, Run, compare
from signalstorm.experiments.evaluate import StormSet, evaluate
from signalstorm.experiments.loops import LoopResult
from tests.experiments.test_loops import LAB

SCENARIO = LAB.with_fields(
    {
        "variation": {"topology.pcrf.rate_per_s": [60.0, 80.0], "demand.rate_per_s": [160.0, 240.0]},
        "loop": {"fast": ["nop_rate"], "start": {"nop_rate": 66}},
    }
)

compare_module: Any = import_module("signalstorm.experiments.compare")


@pytest.fixture(scope="module")
def found() -> Comparison:
    return compare(SCENARIO, storms=8, beyond=4, threads=1)


def test_everybody_meets_the_same_held_out_storms(found: Comparison) -> None:
    assert found.storms == tuple(range(HELD_OUT, HELD_OUT + 8))
    static = evaluate([{}, {"nop_rate": 66}], StormSet(SCENARIO, found.storms, vary=True), threads=1)
    np.testing.assert_allclose(found.of("present").restricted_s, static.restricted_s[0])
    np.testing.assert_allclose(found.of("best-static").restricted_s, static.restricted_s[1])
    names = [run.name for run in found.runs]
    assert names[0] == "present"
    assert names[-2:] == ["clairvoyant", HINDSIGHT]
    assert {"aimd", "codel", "dagor", "pid", "rate-matching"} < set(names)
    assert set(found.beyond) == {"capacity x 0.7", "capacity x 1.6"} | set(list(found.beyond)[2:])
    assert all(run.restricted_s.shape == (4,) for runs in found.beyond.values() for run in runs)


def test_hindsight_is_no_worse_than_any_of_its_values(found: Comparison) -> None:
    assert (found.of(HINDSIGHT).restricted_s <= found.of("best-static").restricted_s).all()


def test_figures_of_a_row() -> None:
    runs = (
        Run("present", np.array([100.0, 100.0]), np.zeros(2), np.array([1.0, 3.0]), np.zeros(2)),
        Run("best-static", np.array([50.0, 70.0]), np.ones(2), np.array([0.5, 0.5]), np.zeros(2)),
        Run(
            "law",
            np.array([30.0, 102.5]),
            np.ones(2),
            np.array([0.25, 0.25]),
            np.array([6.0, 12.0]),
            most_in_an_hour=np.array([9.0, 14.0]),
        ),
    )
    row = Comparison(SCENARIO, (20_000, 20_001), runs).rows()[2]
    assert row["restricted_mean_s"][0] == pytest.approx(66.25)
    assert row["time_ratio"][0] == pytest.approx(66.25 / 60.0, rel=1e-6)
    assert row["time_difference_s"][0] == pytest.approx(6.25)
    assert row["lost_ratio"][0] == 0.5
    assert row["improvement"][0] == 0.5
    assert row["worse_than_present"] == 1
    assert row["changes_per_hour"] == 9.0
    assert row["most_changes_in_an_hour"] == 14
    assert row["converged_share"] == 1.0


def test_whether_anything_helps(found: Comparison) -> None:
    assert found.to_json()["answer"]["cannot_help"] is False
    assert "cannot help" not in compare_tables.text(found)
    zeros, ones = np.zeros(2), np.ones(2)
    moving = [Run(name, 98.0 * ones, zeros, ones, 3.0 * ones) for name in ("a", "b", "c")]
    runs = (Run("present", 100.0 * ones, zeros, ones, zeros), Run("best-static", 102.0 * ones, zeros, ones, zeros))
    stuck = Comparison(SCENARIO, (20_000, 20_001), (*runs, *moving))
    assert stuck.answer is not None
    assert (stuck.answer.tried, stuck.answer.loops, stuck.answer.cannot_help) == (4, 3, True)
    for page in (compare_tables.text(stuck), compare_tables.markdown(stuck)):
        assert "cannot help: none of the 4 contestants beside the present setting" in page
    assert stuck.to_json()["answer"]["nearest"] == {"name": "a", "time_ratio": 0.98, "lost_ratio": 1.0}
    assert Comparison(SCENARIO, (20_000, 20_001), runs[:1]).answer is None


def test_files(found: Comparison, tmp_path: Path) -> None:
    compare_tables.write(found, tmp_path)
    record = json.loads((tmp_path / "compare.json").read_text())
    assert record == found.to_json()
    assert record["scenario_hash"] == SCENARIO.hash()
    rows = list(csv.DictReader((tmp_path / "compare.csv").read_text().splitlines()))
    assert len(rows) == len(found.runs) * 8 + sum(len(runs) * 4 for runs in found.beyond.values())
    mine = [float(row["restricted_s"]) for row in rows if row["contestant"] == "aimd" and row["variant"] == ""]
    np.testing.assert_allclose(mine, found.of("aimd").restricted_s, rtol=1e-7)
    page = (tmp_path / "comparison.md").read_text()
    assert "| best-static |" in page
    assert "## Beyond the variation" in page
    assert "adaptive-lifo: the queues" in page
    assert all(len(line.split("|")) == len(page.split("\n| contestant")[1].split("\n")[0].split("|")) + 1
               for line in page.split("\n## ")[0].splitlines() if line.startswith("| a"))  # fmt: skip
    text = compare_tables.text(found)
    assert "beyond the variation: capacity x 0.7" in text


def test_an_interrupted_comparison_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[int] = []

    def stop(stage: str, done: int, total: int) -> None:
        told.append(done)
        if done > 150:
            raise KeyboardInterrupt

    names = ["aimd", "constant-gain"]
    with pytest.raises(KeyboardInterrupt):
        compare(SCENARIO, storms=4, beyond=0, only=names, out=tmp_path, threads=1, progress=stop)
    kept = sorted(path.name for path in (tmp_path / "parts").iterdir())
    assert [name.split("-")[0] for name in kept] == ["present"]
    ran: list[str] = []
    real = compare_module.run_loop

    def noted(steering: Steering, *arguments: Any, **options: Any) -> LoopResult:
        ran.append(steering.name)
        found: LoopResult = real(steering, *arguments, **options)
        return found

    monkeypatch.setattr(compare_module, "run_loop", noted)
    whole = compare(SCENARIO, storms=4, beyond=0, only=names, out=tmp_path, threads=1)
    assert ran == ["best-static", "aimd", "constant-gain"]
    again = compare(SCENARIO, storms=4, beyond=0, only=names, threads=1)
    assert whole.to_json() == again.to_json()
    changed = SCENARIO.with_fields({"topology.pcrf.buffer": 100.0})
    ran.clear()
    compare(changed, storms=4, beyond=0, only=names, out=tmp_path, threads=1)
    assert len(ran) == 4


def test_what_a_user_adds_takes_part(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("nop_rate: 70\n")
    met = compare(SCENARIO, [file], storms=4, beyond=2, only=[], threads=1)
    assert [run.name for run in met.runs] == ["present", "best-static", "mine"]
    assert all(runs[-1].name == "mine" for runs in met.beyond.values())
    with pytest.raises(InputError, match="Did you mean aimd"):
        compare(SCENARIO, only=["aimt"])
    with pytest.raises(InputError, match="at least 1"):
        compare(SCENARIO, storms=0)
