"""Sources: what the page offers, and that it opens nothing else and runs nothing."""

import json
from pathlib import Path

import pytest

from signalstorm.envs.model import scenario_file
from signalstorm.envs.model.errors import InputError
from signalstorm.experiments.serve.sources import Sources
from tests.experiments.recommendation_data import recommendation
from tests.experiments.serve.runs import SCRIPT, write_run


def test_packaged_scenarios_are_offered() -> None:
    sources = Sources()
    assert {f"scenario:{name}" for name in scenario_file.list_names()} == set(sources.offered())
    assert sources.open(sources.first).scenario.name == "lab-pcrf"


def test_given_files_come_first(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(scenario_file.renamed("lab-pcrf", "mine"), "utf-8")
    sources = Sources([path])
    assert sources.first == "file:0"
    assert sources.offered()["file:0"].startswith("mine (")
    assert sources.open("file:0").scenario.name == "mine"


def test_a_file_with_faults_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("name: !!python/object/apply:os.system ['touch x']\n", "utf-8")
    with pytest.raises(InputError, match="tags are not allowed"):
        Sources([tmp_path / "bad.yaml"])


def test_a_run_opens_with_its_scenario_and_the_recommended_setting(tmp_path: Path) -> None:
    write_run(tmp_path / "night")
    opened = Sources(runs=tmp_path).open("run:night")
    assert opened.scenario.name == "lab-pcrf"
    assert opened.override["nop_rate"] == 60
    assert opened.run == tmp_path / "night"
    assert not opened.note


def test_a_run_of_another_model_says_so(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "night")
    (folder / "recommendation.json").write_text(json.dumps(recommendation()), "utf-8")
    assert "another version" in Sources(runs=tmp_path).open("run:night").note


def test_the_name_of_a_run_is_any_text(tmp_path: Path) -> None:
    write_run(tmp_path / SCRIPT)
    sources = Sources(runs=tmp_path)
    assert sources.offered()[f"run:{SCRIPT}"] == f"run {SCRIPT}"
    assert sources.open(f"run:{SCRIPT}").scenario.name == "lab-pcrf"


@pytest.mark.parametrize(
    "source", ["", "run:", "run:..", "run:../night", "file:0", "file:-1", "scenario:/etc/passwd", "night", "run:night/"]
)
def test_nothing_else_is_opened(tmp_path: Path, source: str) -> None:
    write_run(tmp_path / "runs" / "day")
    write_run(tmp_path / "night")
    with pytest.raises(KeyError):
        Sources(runs=tmp_path / "runs").open(source)


def test_folders_that_hold_no_run_are_not_offered(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("", "utf-8")
    assert not [source for source in Sources(runs=tmp_path).offered() if source.startswith("run:")]
    assert not [source for source in Sources(runs=tmp_path / "missing").offered() if source.startswith("run:")]


def test_a_damaged_run_is_a_message(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "night")
    (folder / "recommendation.json").write_text("{", "utf-8")
    with pytest.raises(InputError, match="is not JSON"):
        Sources(runs=tmp_path).open("run:night")


def test_the_folder_of_one_run_is_offered_as_that_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_run(tmp_path / "night")
    write_run(tmp_path / "night" / "inner")
    monkeypatch.chdir(tmp_path / "night")
    for folder in (tmp_path / "night", Path()):
        sources = Sources(runs=folder)
        assert [source for source in sources.offered() if source.startswith("run:")] == ["run:night"]
        assert sources.open("run:night").override["nop_rate"] == 60


def test_a_named_folder_of_runs_must_be_there(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(InputError, match=r"--runs: must be a folder with runs of .* \(No such file or directory\)"):
        Sources(runs=tmp_path / "missing").check_runs()
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="Not a directory"):
        Sources(runs=tmp_path / "file").check_runs()
    caplog.set_level("INFO")
    Sources(runs=tmp_path).check_runs()
    assert "holds no run of `signalstorm tune` yet" in caplog.text
    caplog.clear()
    write_run(tmp_path / "night")
    Sources(runs=tmp_path).check_runs()
    assert caplog.text == ""
