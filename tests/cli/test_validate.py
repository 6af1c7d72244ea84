"""``signalstorm validate`` and ``signalstorm schema``."""

import json
from pathlib import Path

from signalstorm.cli import EXIT_OK, EXIT_REJECTED, EXIT_WRONG_INPUT
from signalstorm.experiments.tune import tune
from tests.cli.commands import Run
from tests.experiments.tuning import KNOBS, SMALL, busy_scenario


def test_validate(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    tune(busy_scenario(), knobs=KNOBS, out=folder, budget=SMALL, command=["test"])
    code, out, _ = run("validate", folder, "--json")
    assert code == EXIT_OK
    assert json.loads(out)["passed"] is True
    file = folder / "recommendation.json"
    record = json.loads(file.read_text())
    record["search"]["trials"] += 1
    file.write_text(json.dumps(record))
    code, out, _ = run("validate", file)
    assert code == EXIT_REJECTED
    assert "NOT VALID" in out
    assert "FAIL  record" in out
    assert run("validate", tmp_path / "none")[0] == EXIT_WRONG_INPUT


def test_schema(run: Run) -> None:
    code, out, _ = run("schema", "scenario")
    assert code == EXIT_OK
    assert json.loads(out)["title"] == "Scenario"
    assert run("schema", "nothing")[0] == EXIT_WRONG_INPUT
