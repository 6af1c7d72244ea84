"""Validate passes on what a search has just written, and on nothing else."""

import csv
import io
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from signalstorm.envs.model.errors import InputError
from signalstorm.envs.model.scenario_file import load as load_scenario
from signalstorm.experiments.recommendation import Recommendation, load, save
from signalstorm.experiments.search_space import search_space
from signalstorm.experiments.tune import tune
from signalstorm.experiments.validate import Validation, _setting, validate
from tests.experiments.tuning import KNOBS, SMALL, busy_scenario


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fresh") / "run"
    tune(busy_scenario(), knobs=KNOBS, out=folder, budget=SMALL, command=["test"])
    return folder


@pytest.fixture
def run(fresh: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(fresh, tmp_path / "run"))


def failed(found: Validation) -> set[str]:
    return {check.name for check in found.checks if not check.passed}


def edit(folder: Path, change: Callable[[dict[str, Any]], None], *, sealed: bool = False) -> None:
    """Change the recommendation in its file; ``sealed``: with fresh hashes, as a careful forger would."""
    file = folder / "recommendation.json"
    content = json.loads(file.read_text())
    change(content)
    file.write_text(json.dumps(content))
    if sealed:
        record = load(file)
        assert record.checks is not None
        save(record.sealed(record.checks.files), folder)


def test_a_fresh_recommendation_is_valid(fresh: Path) -> None:
    found = validate(fresh, trials=None)
    assert failed(found) == set()
    assert {"nominal storm", "held-out storms", "trials", "setting"} <= {check.name for check in found.checks}
    assert failed(validate(fresh / "recommendation.json", busy_scenario())) == set()
    (said,) = (check.said for check in found.checks if check.name == "never worse")
    assert said.endswith(" held-out storms, as the record says")


def leaves(content: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(content, dict | list):
        items = content.items() if isinstance(content, dict) else enumerate(content)
        for key, value in items:
            yield from leaves(value, (*path, key))
    elif isinstance(content, int | float):
        yield path


def test_every_single_figure_counts(fresh: Path) -> None:
    """No number and no truth value of the file can be changed without a word."""
    content = json.loads((fresh / "recommendation.json").read_text())
    paths = list(leaves(content))
    assert len(paths) > 100
    for path in paths:
        changed = json.loads(json.dumps(content))
        here = changed
        for key in path[:-1]:
            here = here[key]
        old = here[path[-1]]
        here[path[-1]] = not old if isinstance(old, bool) else old + 1
        try:
            record = Recommendation.model_validate(changed)
        except ValueError:
            continue  # no legal setting any more: refused when it is read
        assert record.altered(), path


def test_one_knob_changed(run: Path) -> None:
    def change(content: dict[str, Any]) -> None:
        content["recommended"]["nop_rate"] += 10
        content["override"]["nop_rate"] += 10

    edit(run, change)
    assert "record" in failed(validate(run))


def test_one_knob_changed_and_sealed_again(run: Path) -> None:
    def change(content: dict[str, Any]) -> None:
        for setting in (content["recommended"], content["override"]):
            setting["nop_rate"] = 4 * setting["nop_rate"]
            setting.pop("nop_queue", None)
            setting.pop("nop_queue_wait_s", None)
        wait = content["recommended"]["nop_wait_s"]
        content["recommended"]["nop_queue"] = content["recommended"]["nop_rate"] * wait

    edit(run, change, sealed=True)
    found = failed(validate(run))
    assert "record" not in found
    assert {"nominal storm", "held-out storms"} & found


def test_one_figure_changed_and_sealed_again(run: Path) -> None:
    def change(content: dict[str, Any]) -> None:
        content["nominal"]["recommended"]["rmst_s"] += 0.1

    edit(run, change, sealed=True)
    found = validate(run)
    assert failed(found) == {"nominal storm"}
    drifted = next(check for check in found.checks if not check.passed)
    assert "recommended.rmst_s is " in drifted.said


def test_one_held_out_seed_changed_and_sealed_again(run: Path) -> None:
    def change(content: dict[str, Any]) -> None:
        content["held_out"]["storms"][0]["number"] = 123456

    edit(run, change, sealed=True)
    assert {"storms", "held-out storms"} <= failed(validate(run))


def test_one_seed_of_the_list_changed(run: Path) -> None:
    seeds = json.loads((run / "seeds.json").read_text())
    seeds["search"][0] = 77777
    (run / "seeds.json").write_text(json.dumps(seeds, indent=2) + "\n")
    assert failed(validate(run)) == {"seeds.json", "storms"}


@pytest.mark.parametrize("column", ["value_s", "times_s", "seeds", "nop_rate"])
def test_one_figure_of_a_trial_changed(run: Path, column: str) -> None:
    rows = list(csv.reader(io.StringIO((run / "trials.csv").read_text())))
    at = rows[0].index(column)
    row = next(row for row in rows[2:] if row[rows[0].index("nop_rate")] != "off")
    row[at] = " ".join(["1", *row[at].split()[1:]]) if " " in row[at] else str(float(row[at]) + 1)
    table = io.StringIO()
    csv.writer(table, lineterminator="\n").writerows(rows)
    (run / "trials.csv").write_text(table.getvalue())
    assert "trials.csv" in failed(validate(run))


def test_times_of_a_trial_are_simulated_again(run: Path) -> None:
    """Also where the hash is made to fit: the storms say otherwise."""
    rows = list(csv.reader(io.StringIO((run / "trials.csv").read_text())))
    at = rows[0].index("times_s")
    first, _, rest = rows[1][at].partition(" ")
    rows[1][at] = f"{59.0 if first == '-' else float(first) + 1.0} {rest}"
    table = io.StringIO()
    csv.writer(table, lineterminator="\n").writerows(rows)
    (run / "trials.csv").write_text(table.getvalue())
    found = validate(run)
    assert failed(found) == {"trials.csv", "trials"}


def test_missing_files_and_another_scenario(run: Path) -> None:
    (run / "trials.csv").unlink()
    assert failed(validate(run)) == {"trials.csv"}
    assert "scenario" in failed(validate(run, "lab-pcrf"))
    (run / "scenario.yaml").unlink()
    with pytest.raises(InputError, match="Give the scenario with --scenario"):
        validate(run)


@pytest.mark.parametrize("point", [{"rto_max_ms": 500}, {"rto_max_ms": 2800}, {"rto_max_ms": 60_000}])
def test_what_followed_in_a_trial_is_simulated_again(tmp_path: Path, point: dict[str, int]) -> None:
    """RTO-min, RTO-initial and the retransmissions go with RTO-max, so a trial's row means all of them."""
    space = search_space(load_scenario("incident-2014"), ["rto_max_ms"])
    (tmp_path / "study.yaml").write_text("knobs: [rto_max_ms]\n")
    setting = space.setting(point)
    row = {name: str(value) for name, value in space.identity(setting).items()} | {"present": "False"}
    assert dict(_setting(row, space.scenario, tmp_path)) == dict(setting)
