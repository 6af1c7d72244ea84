"""``signalstorm scenarios``: what it prints, what it refuses, and its exit codes."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from signalstorm.cli import EXIT_OK, EXIT_WRONG_INPUT, main
from signalstorm.envs.model import scenario_file

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run ``signalstorm scenarios`` in this process; returns the exit code, stdout and stderr."""

    def _run(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as leave:
            main(["scenarios", *arguments])
        captured = capsys.readouterr()
        return int(leave.value.code or 0), captured.out, captured.err

    return _run


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """A file with a misspelt key and a queue that the command would refuse."""
    text = scenario_file.read("lab-pcrf-nop50")[0].decode()
    path = tmp_path / "broken.yaml"
    path.write_text(text.replace("horizon_s:", "horison_s:").replace("nop_wait_s: 5", "nop_wait_s: 5, nop_queue: 2500"))
    return path


def test_lists_every_scenario(run: Run) -> None:
    code, out, err = run()
    assert (code, err) == (EXIT_OK, "")
    assert [line.split()[0] for line in out.splitlines()[1:-1]] == scenario_file.list_names()
    assert out.splitlines()[-1].startswith("random-core-N, such as random-core-17, ")
    code, out, _ = run("--json")
    rows = json.loads(out)
    assert [row["name"] for row in rows] == scenario_file.list_names()
    lab = next(row for row in rows if row["name"] == "lab-pcrf")
    assert (lab["subscribers"], lab["horizon_s"]) == (1000, 600.0)


def test_shows_every_field_with_value_unit_meaning_and_what_was_fitted(run: Run) -> None:
    code, out, _ = run("show", "lab-pcrf-nop50")
    assert code == EXIT_OK
    scenario = scenario_file.load("lab-pcrf-nop50")
    shown = {line.split(": ")[0] for line in out.splitlines()}
    assert {
        path for path in scenario.paths() if not path.startswith(("fitted.", "variation.", "description", "source"))
    } <= shown
    assert "topology.pcrf.rate_per_s: 50.0 per s" in out
    refused = next(line for line in out.splitlines() if line.startswith("subscribers.0.ladder.retry_refused_s:"))
    assert "Pause after a refusal. Fitted to: peak and attempts of run C." in refused
    assert "nop_queue: 250 requests" in out
    assert "Source: CLI-R17 p5406" in out
    assert "demand.rate_per_s: [80.0, 120.0]" in out
    assert scenario.hash() in out


def test_a_long_list_does_not_push_every_meaning_aside(run: Run) -> None:
    _, out, _ = run("show", "incident-2014")
    meanings = [line.index("  # ") for line in out.splitlines() if "  # " in line]
    assert len(meanings) > 50
    assert sorted(meanings)[len(meanings) * 9 // 10] <= 60


def test_shows_json(run: Run) -> None:
    code, out, _ = run("show", "lab-pcrf", "--json")
    record = json.loads(out)
    assert code == EXIT_OK
    assert (record["name"], record["step_s"], record["warnings"]) == ("lab-pcrf", 0.02, [])
    fields = {row["path"]: row for row in record["fields"]}
    assert fields["demand.rate_per_s"]["value"] == 100.0
    assert fields["demand.rate_per_s"]["unit"] == "per s"
    assert fields["subscribers.0.ladder.retry_refused_s"]["fitted_to"] == "peak and attempts of run C"
    assert {row["knob"]: row["value"] for row in record["present"]}["nop_rate"] == "off"
    assert record["variation"]["demand.rate_per_s"] == [80.0, 120.0]


def test_a_valid_file_passes(run: Run, tmp_path: Path) -> None:
    assert run("check", "lab-pcrf") == (EXIT_OK, "lab-pcrf: scenario lab-pcrf is valid\n", "")
    path = tmp_path / "coarse.yaml"
    path.write_text(scenario_file.read("lab-pcrf")[0].decode() + "step_s: 0.1\n")
    code, out, _ = run("check", str(path))
    assert code == EXIT_OK
    line = path.read_text().count("\n")
    assert out.splitlines()[0].startswith(f"warning: {path}:{line}: step_s: the step should be at most 0.02 s")
    code, out, _ = run("check", str(path), "--json")
    record = json.loads(out)
    assert (code, record["valid"], record["faults"]) == (EXIT_OK, True, [])
    assert [(warning["key"], warning["line"]) for warning in record["warnings"]] == [("step_s", line)]


def test_a_broken_file_gives_every_fault_and_exit_code_2(run: Run, broken: Path) -> None:
    code, out, err = run("check", str(broken))
    assert (code, out) == (EXIT_WRONG_INPUT, "")
    queue, horizon = err.splitlines()
    assert f"{broken}:" in queue
    assert "present.nop_queue: `nop_rate <= nop_queue <= nop_rate * nop_wait_s` must hold" in queue
    assert "(nop_rate=50 per s, nop_wait_s=5 s, nop_queue=2500 requests)" in queue
    assert "horison_s: there is no such key here. Did you mean horizon_s?" in horizon


def test_a_broken_file_as_json(run: Run, broken: Path) -> None:
    code, out, err = run("check", str(broken), "--json")
    assert (code, err) == (EXIT_WRONG_INPUT, "")
    record = json.loads(out)
    assert not record["valid"]
    assert [fault["key"] for fault in record["faults"]] == ["present.nop_queue", "horison_s"]
    assert all(fault["line"] and fault["rule"] and fault["way_out"] and fault["text"] for fault in record["faults"])


def test_the_exit_code_reaches_the_shell(broken: Path) -> None:
    command = [sys.executable, "-m", "signalstorm", "scenarios", "check", str(broken)]
    found = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (found.returncode, found.stdout) == (EXIT_WRONG_INPUT, "")
    assert "Traceback" not in found.stderr
    assert "Did you mean horizon_s?" in found.stderr


def test_an_unknown_scenario_suggests_the_nearest(run: Run) -> None:
    for words in (("show", "lab-pcfr"), ("check", "lab-pcfr"), ("new", "x", "--from", "lab-pcfr")):
        code, out, err = run(*words)
        assert (code, out) == (EXIT_WRONG_INPUT, "")
        assert "Did you mean lab-pcrf? The packaged scenarios are " in err


def test_a_new_scenario_is_a_renamed_copy(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    code, out, _ = run("new", "my-core", "--from", "lab-pcrf", "--out", str(folder))
    assert (code, out) == (EXIT_OK, f"wrote {folder / 'my-core.yaml'}\n")
    assert scenario_file.load(folder / "my-core.yaml") == scenario_file.load("lab-pcrf").with_fields(
        {"name": "my-core"}
    )
    assert run("check", str(folder / "my-core.yaml"))[0] == EXIT_OK
    code, out, _ = run("new", "third", "--from", str(folder / "my-core.yaml"), "--out", str(folder), "--json")
    assert json.loads(out) == {"name": "third", "file": str(folder / "third.yaml")}


def test_a_new_scenario_replaces_nothing_unless_forced(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "my-core.yaml"
    path.write_text("precious")
    words = ("new", "my-core", "--from", "lab-pcrf", "--out", str(tmp_path))
    code, out, err = run(*words)
    assert (code, out, path.read_text()) == (EXIT_WRONG_INPUT, "", "precious")
    assert "there is such a file already. Take another name, or --force to replace it." in err
    assert run(*words, "--force")[0] == EXIT_OK
    assert scenario_file.load(path).name == "my-core"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["My Core", "../escape", "x/y", ""])
def test_a_new_scenario_needs_a_proper_name(name: str, run: Run, tmp_path: Path) -> None:
    code, _, err = run("new", name, "--from", "lab-pcrf", "--out", str(tmp_path))
    assert code == EXIT_WRONG_INPUT
    assert "the name must be lower-case words joined by hyphens" in err
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_one_message(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    code, _, err = run("new", "x", "--from", "lab-pcrf", "--out", str(tmp_path / "file"))
    assert code == EXIT_WRONG_INPUT
    assert "cannot be written: " in err


def test_every_word_has_the_common_options(run: Run) -> None:
    for words in ((), ("show",), ("check",), ("new",)):
        code, out, _ = run(*words, "--help")
        assert code == EXIT_OK
        for option in ("--json", "--quiet", "--verbose"):
            assert option in out


def test_options_belong_behind_the_word(run: Run) -> None:
    code, _, err = run("--json", "show", "lab-pcrf")
    assert code == EXIT_WRONG_INPUT
    assert "behind the word show" in err
