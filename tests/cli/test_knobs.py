"""``signalstorm knobs``: the whole table, for people and for machines."""

import json

import pytest

from signalstorm.cli import main
from signalstorm.envs.model.knob_table import KNOBS


def output(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as leave:
        main(["knobs", *arguments])
    assert not leave.value.code
    return capsys.readouterr().out


def test_prints_unit_range_default_rule_change_and_command(capsys: pytest.CaptureFixture[str]) -> None:
    out = output(capsys)
    for knob in KNOBS.values():
        assert f"{knob.name}: {knob.meaning}\n    legal    {knob.range_text}\n" in out
        for text in (knob.rule, knob.command, knob.source):
            assert text in out
    assert "default  off\n    changed  live" in out
    assert "default  5000 ms" in out
    assert "changed  what-if only" in out
    assert "Sources: CLI-Rnn" in out


def test_prints_json(capsys: pytest.CaptureFixture[str]) -> None:
    rows = {row["name"]: row for row in json.loads(output(capsys, "--json"))}
    assert list(rows) == list(KNOBS)
    wait = rows["nop_wait_s"]
    assert (wait["unit"], wait["low"], wait["high"], wait["step"], wait["default"]) == ("s", 1, 15, 1, 5)
    assert wait["change"] == "live"
    assert rows["pcrf_rate_per_s"]["exportable"] is False
