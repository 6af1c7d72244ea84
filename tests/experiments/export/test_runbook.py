"""The runbook: one page, with what to do, when, by which counter, and the way back."""

import re
from pathlib import Path

from signalstorm.experiments.export import releases, runbook, source, write
from tests.experiments.export.grammar import read
from tests.experiments.export.test_sgsn import NAMES, PRESENT
from tests.experiments.recommendation_data import recommendation


def page(**changes: object) -> str:
    return runbook.files(source.read(recommendation(**changes)), releases.UNKNOWN, {})[runbook.FILE]


def test_its_parts() -> None:
    text = page()
    heads = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert heads == ["When", "What to do", "How to tell that it works", "The way back", "Where no setting helps"]
    assert "26 s until it is over, instead of 128 s" in text
    assert "| off | **60 per s** |" in text
    assert "If nothing has changed after 53 s" in text


def test_the_commands_are_those_of_the_export() -> None:
    there, back = re.findall(r"```\n(.*?)```", page(), re.DOTALL)
    assert read(there).values["nop_rate"] == 60
    assert read(back).values["nop_rate"] == "off"


def test_associations_are_taken_down_in_a_window() -> None:
    target = {**PRESENT, "rto_min_ms": 500, "rto_initial_ms": 500, "rto_max_ms": 500}
    row = {"knob": "rto_max_ms", "unit": "ms", "present": 60000, "recommended": 500}
    diff = [{**row, "change": "association restart", "exportable": True}]
    made = recommendation(present=dict(PRESENT), recommended=target, override={"rto_max_ms": 500}, diff=diff)
    text = runbook.files(source.read(made), releases.UNKNOWN, NAMES)[runbook.FILE]
    assert "in a maintenance window" in text
    assert "one at a time" in text
    assert "above the gate's 500 per s" in text
    assert "congestion alarm" in text


def test_what_is_worse_comes_first_and_nothing_becomes_markup(tmp_path: Path) -> None:
    made = recommendation(never_worse=False, verdict="<script>alert(1)</script> *bold* | cell")
    write(made, tmp_path, ["runbook"], force=True)
    lines = (tmp_path / "runbook.md").read_text().splitlines()
    assert lines[2] == "**WORSE THAN THE PRESENT SETTING ON AT LEAST ONE HELD-OUT STORM.**"
    assert "<script>" not in "\n".join(lines)


def test_nothing_better_was_found() -> None:
    text = page(changed=False, recommended=recommendation()["present"], override={}, diff=[])
    assert "leave it" in text
    assert "Nothing was changed." in text or "default network-overload-protection" in text
