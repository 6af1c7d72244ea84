"""The command that serves the page."""

import json
import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests.cli.commands import Run


def test_an_address_that_others_reach_needs_the_flag(run: Run) -> None:
    code, out, err = run("serve", "--host", "0.0.0.0", "--port", "0")
    assert (code, out) == (2, "")
    assert "--allow-remote" in err


def test_a_wrong_scenario_is_wrong_input(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("dash", reason="pip install 'signalstorm[web]'")
    (tmp_path / "mine.yaml").write_text("name: Mine\n", "utf-8")
    code, _, err = run("serve", tmp_path / "mine.yaml", "--port", "0")
    assert code == 2
    assert "mine.yaml:1: name" in err


def test_a_folder_of_runs_that_is_missing_is_wrong_input(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("dash", reason="pip install 'signalstorm[web]'")
    code, out, err = run("serve", "--runs", tmp_path / "nope", "--port", "0")
    assert (code, out) == (2, "")
    assert "--runs: must be a folder with runs of `signalstorm tune` (No such file or directory)" in err


@pytest.mark.processes
def test_it_serves_until_it_is_interrupted(tmp_path: Path) -> None:
    pytest.importorskip("dash", reason="pip install 'signalstorm[web]'")
    command = [sys.executable, "-m", "signalstorm", "serve", "--port", "0", "--json", "--runs", str(tmp_path)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"}
    ) as server:
        assert server.stdout is not None
        found = ""
        while not found.rstrip().endswith("}"):
            found += server.stdout.readline()
        url = json.loads(found)["url"]
        with urllib.request.urlopen(url, timeout=120) as answer:
            assert answer.status == 200
        server.send_signal(signal.SIGINT)
        assert server.wait(120) == 0
