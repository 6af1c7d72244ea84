"""``signalstorm export`` and ``signalstorm report``."""

import json
from pathlib import Path

import pytest

from signalstorm.cli import EXIT_OK, EXIT_REJECTED, EXIT_WRONG_INPUT
from tests.cli.commands import Run
from tests.experiments.imports.running import MME, RUNNING
from tests.experiments.recommendation_data import recommendation


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "recommendation.json").write_text(json.dumps(recommendation()))
    return tmp_path


def test_export_prints_the_commands_and_the_files(run: Run, folder: Path) -> None:
    code, out, _ = run("export", folder)
    assert code == EXIT_OK
    assert (
        "mme-new-connections-per-second 60 action attach drop tau drop fwd-reloc drop queue-size 480 wait-time 10"
        in out
    )
    assert f"wrote {folder / 'staros-rollback.cfg'}" in out
    assert (folder / "recommended.json").exists()


def test_export_prints_no_command_of_a_file_that_it_did_not_write(run: Run, folder: Path) -> None:
    code, out, _ = run("export", folder, "--target", "runbook", "--out", folder / "out")
    assert code == EXIT_OK
    assert out.splitlines() == [f"wrote {folder / 'out' / 'runbook.md'}"]
    assert "## Move the gate once a minute" in (folder / "out" / "runbook.md").read_text()


def test_export_for_machines_goes_where_it_is_told(run: Run, folder: Path) -> None:
    arguments = ("--target", "staros", "--release", "17", "--out", folder / "out", "--json")
    code, out, _ = run("export", folder / "recommendation.json", *arguments)
    assert code == EXIT_OK
    record = json.loads(out)
    assert record["files"] == [str(folder / "out" / name) for name in ("staros.cfg", "staros-rollback.cfg")]
    assert record["release"] == 17
    assert record["lines"]["staros.cfg"][0] == "config"
    assert not (folder / "out" / "recommended.json").exists()


def test_export_refuses_a_worse_setting_with_1(run: Run, folder: Path) -> None:
    (folder / "recommendation.json").write_text(json.dumps(recommendation(never_worse=False)))
    code, out, err = run("export", folder)
    assert (code, out) == (EXIT_REJECTED, "")
    assert "must not be worse than the present setting" in err
    assert run("export", folder, "--force")[0] == EXIT_OK


@pytest.mark.parametrize(
    "arguments", [("--target", "huawei"), ("--release", "9"), ("--name", "mme-service"), ("--name", "mme=a")]
)
def test_export_refuses_wrong_input_with_2(run: Run, folder: Path, arguments: tuple[str, ...]) -> None:
    assert run("export", folder, *arguments)[0] == EXIT_WRONG_INPUT
    assert [path.name for path in folder.iterdir()] == ["recommendation.json"]


def test_export_names_a_folder_that_cannot_be_written(run: Run, folder: Path) -> None:
    code, _, err = run("export", folder, "--out", folder / "recommendation.json")
    assert code == EXIT_WRONG_INPUT
    assert "cannot be written" in err


def test_report_writes_one_file(run: Run, folder: Path) -> None:
    code, out, _ = run("report", folder, "--json")
    assert code == EXIT_OK
    assert json.loads(out)["file"] == str(folder / "report.html")
    assert (folder / "report.html").stat().st_size == json.loads(out)["bytes"]


def test_report_refuses_what_is_no_run(run: Run, tmp_path: Path) -> None:
    assert run("report", tmp_path / "none")[0] == EXIT_WRONG_INPUT
    code, _, err = run("report", tmp_path)
    assert code == EXIT_WRONG_INPUT
    assert "has no recommendation.json, so it is not the folder of a run" in err


def test_export_for_one_box_prints_its_own_names(run: Run, folder: Path) -> None:
    (folder / "box.cfg").write_text(RUNNING)
    made = recommendation(present=dict(MME), recommended={**MME, "gtpc_retries": 1}, override={})
    (folder / "recommendation.json").write_text(json.dumps(made))
    code, out, _ = run("export", folder, "--against", folder / "box.cfg")
    assert code == EXIT_OK
    assert "    egtp-service s11\n      gtpc max-retransmissions 1" in out
    assert f"wrote {folder / 'staros.diff'}" in out


def test_report_writes_figures_with_their_numbers(run: Run, folder: Path, tmp_path: Path) -> None:
    code, out, _ = run("report", folder, "--figures", tmp_path / "figures", "--format", "csv", "--json")
    assert code == EXIT_OK
    written = json.loads(out)
    assert Path(written["file"]).exists()
    assert {Path(name).name for name in written["figures"]} >= {"headline.csv", "survival.csv", "storms.csv"}
    assert all(Path(name).exists() for name in written["figures"])


def test_a_format_needs_a_folder_for_the_figures(run: Run, folder: Path) -> None:
    code, _, err = run("report", folder, "--format", "svg")
    assert code == EXIT_WRONG_INPUT
    assert "--format: belongs to --figures" in err
    assert not (folder / "report.html").exists()
