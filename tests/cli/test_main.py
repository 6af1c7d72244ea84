"""The command line: exit codes, where output goes, and how quickly help appears."""

import errno
import json
import logging
import os
import subprocess
import sys
from collections.abc import Callable

import pytest
import typer

import signalstorm
from signalstorm.cli import EXIT_WRONG_INPUT, main
from signalstorm.cli import app as app_module
from signalstorm.cli.common import start

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep colours and the width of a terminal, which some machines force, out of the help texts."""
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr("typer.rich_utils.FORCE_TERMINAL", None)
    monkeypatch.setattr("typer.rich_utils.MAX_WIDTH", None)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command in this process; returns the exit code, stdout and stderr."""

    def _run(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as leave:
            main(arguments)
        captured = capsys.readouterr()
        return int(leave.value.code or 0), captured.out, captured.err

    return _run


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[[Exception], None]:
    """Make the command raise an error."""

    def _failing(error: Exception) -> None:
        app = typer.Typer(pretty_exceptions_enable=False)

        @app.command()
        def fail() -> None:
            raise error

        monkeypatch.setattr(app_module, "app", app)

    return _failing


def test_version(run: Run) -> None:
    assert run("--version") == (0, f"signalstorm {signalstorm.__version__}\n", "")


def test_help_lists_the_commands(run: Run) -> None:
    code, out, _ = run("--help")
    assert code == 0
    assert "versions" in out
    assert "--install-completion" in out


def test_unknown_option_is_wrong_input(run: Run) -> None:
    code, out, err = run("versions", "--jsn")
    assert (code, out) == (EXIT_WRONG_INPUT, "")
    assert "--json" in err


def test_every_command_has_the_common_options(run: Run) -> None:
    for info in app_module.app.registered_commands:
        assert info.callback is not None
        _, out, _ = run(info.name or info.callback.__name__, "--help")
        for option in ("--json", "--quiet", "--verbose"):
            assert option in out


def test_result_is_json_for_machines_and_text_for_people(run: Run) -> None:
    code, out, err = run("versions", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["signalstorm"] == signalstorm.__version__
    _, text, _ = run("versions")
    assert text.splitlines()[0].split() == ["signalstorm", signalstorm.__version__]


def test_progress_goes_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    progress = logging.getLogger("signalstorm.experiments")
    for quiet, verbose, expected in (
        (False, False, ["step", "trouble"]),
        (True, False, ["trouble"]),
        (False, True, ["detail", "step", "trouble"]),
    ):
        start(as_json=False, quiet=quiet, verbose=verbose)
        progress.debug("detail")
        progress.info("step")
        progress.warning("trouble")
        captured = capsys.readouterr()
        assert captured.out == ""
        assert [line.split(": ")[-1] for line in captured.err.splitlines()] == expected


def test_quiet_and_verbose_exclude_each_other(run: Run) -> None:
    code, _, err = run("versions", "-q", "-v")
    assert code == EXIT_WRONG_INPUT
    assert "at most one of" in err


def test_error_of_the_project_is_one_message_and_exit_2(run: Run, failing: Callable[[Exception], None]) -> None:
    errors = pytest.importorskip("signalstorm.envs.model.errors")
    failing(errors.SignalstormError("nop_rate must be at most 5000 per s, but got 9000"))
    assert run() == (EXIT_WRONG_INPUT, "", "signalstorm: nop_rate must be at most 5000 per s, but got 9000\n")


def test_error_of_the_program_keeps_its_traceback(failing: Callable[[Exception], None]) -> None:
    failing(ZeroDivisionError("a mistake of ours"))
    with pytest.raises(ZeroDivisionError):
        main([])


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\nfrom signalstorm.cli import main\n"
        "try:\n    main(['--help'])\nfinally:\n"
        "    print(' '.join(sys.modules), file=sys.stderr)"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60).stderr
    heavy = {"numba", "numpy", "pydantic", "optuna", "gymnasium", "plotly", "torch", "stable_baselines3"}
    assert "typer" in loaded.split()
    assert not heavy & set(loaded.split())


@pytest.mark.parametrize(
    "command", [("simulate", "lab-pcrf", "--out"), ("tune", "lab-pcrf", "--trials", "2", "--out"), ("report",)]
)
def test_a_path_too_long_for_the_file_system_is_refused_in_one_message(run: Run, command: tuple[str, ...]) -> None:
    code, out, err = run(*command, "a" * 300)
    assert (code, out) == (EXIT_WRONG_INPUT, "")
    assert err.count("\n") == 1
    assert "too long for the file system" in err
    assert "a" * 81 not in err


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EFBIG])
def test_a_disk_without_room_is_told_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], code: int
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code), "runs/storm/checkpoint.json")

    monkeypatch.setattr(app_module, "app", full)
    with pytest.raises(SystemExit) as left:
        main(["train", "AttachLteEasy"])
    assert left.value.code == 2
    err = capsys.readouterr().err
    assert err == f"signalstorm: cannot be written, {os.strerror(code)}: runs/storm/checkpoint.json. " + (
        "Make room and give the same command\n"
    )
