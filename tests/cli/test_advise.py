"""``signalstorm advise``."""

import io
import json
import sys
from pathlib import Path

import pytest

from signalstorm.cli import EXIT_OK, EXIT_WRONG_INPUT
from tests.cli.commands import Run

TABLE = (
    "time_s;attach requests per second;admitted per second;attach accepts per second;attach failures per second\n"
    "60;900;400;300.5;99.5\n"
)


def test_advise(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "now.csv").write_text(TABLE)
    words = ("advise", "lab-pcrf", "--set", "nop_rate=400", "--counters")
    code, out, _ = run(*words, tmp_path / "now.csv")
    assert code == EXIT_OK
    assert "network-overload-protection mme-new-connections-per-second 331 action attach drop" in out
    assert "because 300.5 attaches/s are completed and 25% fail" in out
    assert "note: links congested is not known" in out
    stdin = io.TextIOWrapper(io.BytesIO(TABLE.encode()))
    monkeypatch.setattr(sys, "stdin", stdin)
    code, out, _ = run(*words, "-", "--json")
    assert code == EXIT_OK
    assert json.loads(out)["knobs"] == {"nop_rate": 331}
    assert run(*words, tmp_path / "none.csv")[0] == EXIT_WRONG_INPUT
    assert run(*words, tmp_path / "now.csv", "--rule", "magic")[0] == EXIT_WRONG_INPUT
    assert run(*words, tmp_path / "now.csv", "--set", "topology.pcrf.rate_per_s=40")[0] == EXIT_WRONG_INPUT
    assert run(*words, tmp_path / "now.csv", "--rule", "aimd", "--policy", tmp_path)[0] == EXIT_WRONG_INPUT
    assert run(*words, "/dev/zero")[0] == EXIT_WRONG_INPUT
    (tmp_path / "now.csv").write_text(TABLE.replace("per second", "count"))
    code, _, said = run(*words, tmp_path / "now.csv")
    assert code == EXIT_WRONG_INPUT
    assert "Give --interval in seconds" in said
    code, out, _ = run(*words, tmp_path / "now.csv", "--interval", "1")
    assert code == EXIT_OK
    assert "because 300.5 attaches/s are completed and 25% fail" in out
