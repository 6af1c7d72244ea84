"""One setting for several scenarios."""

import json
from pathlib import Path

import pytest

from signalstorm.cli import main
from signalstorm.envs.model import scenario_file
from signalstorm.envs.model.errors import InputError
from signalstorm.envs.model.scenario import Scenario
from signalstorm.experiments.recommendation import Recommendation, load
from signalstorm.experiments.together import tune_together
from signalstorm.experiments.tune import tune
from tests.experiments.tuning import KNOBS, busy_scenario, write_study

OUTPUTS = ("recommendation.json", "report.html", "trials.csv", "study.yaml", "scenario.yaml")


def faster() -> Scenario:
    """Return the small laboratory with a policy server that serves an eighth more."""
    return busy_scenario().with_fields({"name": "fast-lab", "topology.pcrf.rate_per_s": 56.0})


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[tuple[Recommendation, ...], Path]:
    folder = tmp_path_factory.mktemp("together") / "run"
    study = write_study(folder.parent)
    return tune_together([busy_scenario(), faster()], knobs=KNOBS, study=study, out=folder), folder


def test_all_scenarios_get_one_setting_that_is_worse_in_none(both: tuple[tuple[Recommendation, ...], Path]) -> None:
    records, folder = both
    first, second = records
    assert first.changed
    assert first.override == second.override
    assert first.never_worse
    assert second.never_worse
    for record in records:
        assert record.held_out.recommended.rmst_s < record.held_out.present.rmst_s
        for name in OUTPUTS:
            assert (folder / record.scenario.name / name).exists()
        assert load(folder / record.scenario.name).override == record.override
        assert "## Move the gate once a minute" in (folder / record.scenario.name / "runbook.md").read_text()


def test_the_same_call_returns_what_is_there(both: tuple[tuple[Recommendation, ...], Path], tmp_path: Path) -> None:
    records, folder = both
    study = write_study(tmp_path)
    again = tune_together([busy_scenario(), faster()], knobs=KNOBS, study=study, out=folder)
    assert [record.checks for record in again] == [record.checks for record in records]
    with pytest.raises(InputError, match="another study"):
        tune(busy_scenario(), knobs=KNOBS, study=study, out=folder / "small-lab")


def test_a_run_is_taken_up_between_the_scenarios(both: tuple[tuple[Recommendation, ...], Path], tmp_path: Path) -> None:
    def stop(stage: str, done: int, total: int) -> None:
        stages.append(stage)
        if stage == "choice" and stages.count("present setting") == 2:
            raise KeyboardInterrupt

    stages: list[str] = []
    study = write_study(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        tune_together([busy_scenario(), faster()], knobs=KNOBS, study=study, out=tmp_path / "run", progress=stop)
    resumed = tune_together([busy_scenario(), faster()], knobs=KNOBS, study=study, out=tmp_path / "run")
    assert [record.checks for record in resumed] == [record.checks for record in both[0]]


def test_where_no_setting_suits_all_the_present_one_stays(tmp_path: Path) -> None:
    # T3346 is sent only by a gate that refuses for congestion, which this one does not.
    records = tune_together(
        [busy_scenario(), faster()], knobs=["t3346_s"], study=write_study(tmp_path), trials=4, out=tmp_path / "run"
    )
    assert not any(record.changed for record in records)
    assert "none of the" in records[0].verdict


def test_wrong_scenarios_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="different scenarios"):
        tune_together(["lab-pcrf", "lab-pcrf"], out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_the_command_line_takes_several(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = []
    for scenario in (busy_scenario(), faster()):
        files.append(str(tmp_path / f"{scenario.name}.yaml"))
        Path(files[-1]).write_text(scenario_file.dump(scenario))
    words = ["tune", *files, "--knobs", "t3346_s", "--trials", "3", "--study", str(write_study(tmp_path))]
    with pytest.raises(SystemExit) as end:
        main([*words, "--out", str(tmp_path / "run"), "--json", "-q"])
    assert end.value.code == 1
    names = [record["scenario"]["name"] for record in json.loads(capsys.readouterr().out)]
    assert names == ["small-lab", "fast-lab"]
    with pytest.raises(SystemExit) as end:
        main(["tune", "AttachLteEasy", "CoreStormEasy", "--target", "training"])
    assert end.value.code == 2
    assert "one environment" in capsys.readouterr().err
