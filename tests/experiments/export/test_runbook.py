"""The runbook: one page, with what to do, when, by which counter, and the way back."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from signalstorm.agents import rule_file
from signalstorm.agents.laws.table import Condition, Row, Table
from signalstorm.envs.model.errors import InputError
from signalstorm.envs.model.scenario_file import load
from signalstorm.experiments.export import releases, runbook, source, write
from signalstorm.experiments.followed import find
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


ALARM = Condition("failed_share", above=True, value=0.1)
TABLE = Table(rows=(Row((ALARM,), 0.9), Row((), 1.3)), dead_band_share=0.25, step_share=4.0, cool_down=3.0)


def test_a_rule_comes_before_the_setting(tmp_path: Path) -> None:
    rule_file.save(tmp_path / "mine.yaml", rule_file.rule_file(TABLE))
    made = source.read(recommendation())
    text = runbook.files(made, releases.UNKNOWN, {}, find(str(tmp_path / "mine.yaml"), tmp_path))[runbook.FILE]
    heads = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert heads[:3] == ["When", "Move the gate once a minute", "What to do"]
    assert "| 1 | share of failed attempts above 10 % | 0.9 x completed |" in text
    assert "| 2 | otherwise | 1.3 x completed |" in text
    assert "change by\n  25% or less" in text
    assert "do not raise the rate for 3 intervals" in text
    # The gate of 60 per s: 36 are accepted and 24 fail; 0.9 x 36 is below the floor of 50, and 50 within the dead band.
    assert "36 are accepted and\n24 fail" in text
    wide = replace(TABLE, dead_band_share=0.05)
    rule_file.save(tmp_path / "mine.yaml", rule_file.rule_file(wide))
    text = runbook.files(made, releases.UNKNOWN, {}, find(str(tmp_path / "mine.yaml"), tmp_path))[runbook.FILE]
    blocks = re.findall(r"```\n(.*?)```", text, re.DOTALL)
    assert read(blocks[0]).values["nop_rate"] == 50
    assert read(blocks[1]).values["nop_rate"] == 60


def test_the_rule_of_the_run_is_found(tmp_path: Path) -> None:
    (tmp_path / "recommendation.json").write_text(json.dumps(recommendation()))
    evidence = {
        "storms": [15_000, 15_064],
        **{
            name: {"rmst_s": rmst, "lost_h": 0.1, "converged_share": 1.0, "changes_per_hour": changes}
            for name, rmst, changes in (("best_static", 6000.0, 0.0), ("policy", 4200.0, 40.0), ("rule", 4260.0, 10.0))
        },
    }
    known = rule_file.rule_file(TABLE, distilled_from={"scenario": "<b>x"}, evidence=evidence)
    rule_file.save(tmp_path / "rule.yaml", known)
    write(tmp_path, tmp_path, ["runbook"], rule=find(None, tmp_path, transfer=True))
    text = (tmp_path / "runbook.md").read_text()
    assert "On 64 storms there: 71 min instead of 100 min" in text
    assert "10.0 changes per hour" in text
    assert "<b>" not in text
    assert "## Move the gate" in text  # it was measured on another scenario
    own = rule_file.rule_file(
        TABLE, distilled_from={"scenario": recommendation()["scenario"]["name"]}, evidence=evidence
    )
    rule_file.save(tmp_path / "rule.yaml", own)
    write(tmp_path, tmp_path, ["runbook"], rule=find(None, tmp_path))
    assert "## Best: move the gate" in (tmp_path / "runbook.md").read_text()


def test_a_rule_that_is_no_better_than_a_fixed_setting_is_not_offered(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "recommendation.json").write_text(json.dumps(recommendation()))
    evidence = {"storms": [15_000, 15_064], "best_static": {"rmst_s": 690.0}}
    evidence["rule"] = {"rmst_s": 996.0, "changes_per_hour": 7.9}
    made_of = {"scenario": recommendation()["scenario"]["name"], "interval_s": 10.0}
    path = tmp_path / "rule.yaml"
    rule_file.save(path, rule_file.rule_file(TABLE, distilled_from=made_of, evidence=evidence))
    offered = find(None, tmp_path)
    assert offered is not None
    assert offered.name == "constant-gain"
    assert "no better than the best setting that nobody changes: 16.6 min against 11.5 min" in caplog.text
    with pytest.raises(InputError, match=r"16\.6 min against 11\.5 min\. Name another rule, none, or let it through"):
        find(str(path), tmp_path)
    write(tmp_path, tmp_path, ["runbook"], rule=find(str(path), tmp_path, force=True))
    text = (tmp_path / "runbook.md").read_text()
    assert "## Move the gate every 10 s" in text
    assert "**It is no better than a setting that nobody changes: 16.6 min against 11.5 min.**" in text


@pytest.mark.parametrize("interval", ["often", None, -1, [10], True])
def test_an_interval_that_is_none_is_a_minute(interval: object, tmp_path: Path) -> None:
    rule_file.save(tmp_path / "mine.yaml", rule_file.rule_file(TABLE, evidence={"rule": "x", "best_static": 3}))
    followed = find(str(tmp_path / "mine.yaml"), tmp_path)
    assert followed is not None
    strange = replace(followed, distilled_from={"interval_s": interval})
    text = runbook.files(source.read(recommendation()), releases.UNKNOWN, {}, strange)[runbook.FILE]
    assert "## Move the gate once a minute" in text


def test_where_the_present_setting_stays_no_rule_is_offered_unasked(tmp_path: Path) -> None:
    file = tmp_path / "recommendation.json"
    kept = recommendation(changed=False, recommended=recommendation()["present"], override={}, diff=[])
    file.write_text(json.dumps(kept))
    assert find(None, file) is None
    assert find("constant-gain", file) is not None


def test_without_a_name_the_simplest_rule_for_a_gate_comes_first(tmp_path: Path) -> None:
    file = tmp_path / "recommendation.json"
    file.write_text(json.dumps(recommendation()))
    write(file, tmp_path, ["runbook"], rule=find(None, file))
    text = (tmp_path / "runbook.md").read_text()
    heads = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert heads[:3] == ["When", "Move the gate once a minute", "What to do"]
    assert "| 2 | otherwise | gate's rate = 1.1 x attach accepts per second of the last interval |" in text
    assert "gain 1.1, floor_per_s 50" in text
    assert "Not measured on this scenario" in text
    assert "--rule constant-gain" in text
    assert find("none", file) is None


def test_where_nothing_sets_a_rate_no_rule_is_offered(tmp_path: Path) -> None:
    file = tmp_path / "recommendation.json"
    made = recommendation()
    made["recommended"] |= {"nop_rate": "off"}
    made["recommended"].pop("nop_queue", None)
    file.write_text(json.dumps(made))
    assert find(None, file) is None


def test_a_rule_of_another_knob_in_the_run_is_not_of_the_gate(tmp_path: Path) -> None:
    (tmp_path / "recommendation.json").write_text(json.dumps(recommendation()))
    rule_file.save(tmp_path / "rule.yaml", rule_file.rule_file(TABLE, knob="dra_ccr_i_limit_per_s"))
    offered = find(None, tmp_path)
    assert offered is not None
    assert offered.name == "constant-gain"


def test_a_limit_for_any_hour_is_said(tmp_path: Path) -> None:
    rule_file.save(tmp_path / "mine.yaml", rule_file.rule_file(replace(TABLE, most_per_hour=12)))
    made = source.read(recommendation())
    text = runbook.files(made, releases.UNKNOWN, {}, find(str(tmp_path / "mine.yaml"), tmp_path))[runbook.FILE]
    assert "- Change it at most 12 times in any 60 minutes: note the time of each change." in text


def test_a_rule_by_its_name(tmp_path: Path) -> None:
    made = source.read(recommendation())
    text = runbook.files(made, releases.UNKNOWN, {}, find("constant-gain", tmp_path))[runbook.FILE]
    assert "`constant-gain`: healthy_share 0.02, gain 1.1, floor_per_s 50." in text
    with pytest.raises(InputError, match="Did you mean constant-gain"):
        find("constant-gian", tmp_path)
    rule_file.save(tmp_path / "other.yaml", rule_file.rule_file(TABLE, knob="dra_ccr_i_limit_per_s"))
    with pytest.raises(InputError, match="must be of nop_rate"):
        find(str(tmp_path / "other.yaml"), tmp_path)
    gateless = {name: value for name, value in recommendation()["recommended"].items() if not name.startswith("nop")}
    found = source.read(recommendation(recommended=gateless))
    if "nop_rate" not in found.recommended:
        with pytest.raises(InputError, match="needs a gate"):
            runbook.files(found, releases.UNKNOWN, {}, find("constant-gain", tmp_path))


def links(**changes: object) -> str:
    target = {**PRESENT, "rto_min_ms": 500, "rto_initial_ms": 500, "rto_max_ms": 500}
    made = recommendation(present=dict(PRESENT), recommended=target, override={"rto_max_ms": 500}, **changes)
    return runbook.files(source.read(made), releases.UNKNOWN, {})[runbook.FILE]


def test_every_mark_is_named_and_every_doubt_has_its_line() -> None:
    text = links()
    marks = set(re.findall(r"< ([^>]+) >", text.split("The way back")[0]))
    told = re.search(r"Fill in at `< >`: (.*)\.", text)
    assert told is not None
    assert all(mark in told[1] for mark in marks)
    assert "number of the ASP instance" in told[1]
    assert "for `sctp-rto-initial`: the range, which is not published for a PSP." in text
    assert "for `network-overload-protection sgsn-new-connections-per-second`: the hyphens" in text
    assert "`network-overload-protection sgsn-new-connections-per-second`: this is in force already" in text
    assert text.count("Block by block, not as a whole: the block of `psp instance` once for each PSP") == 2
    assert "Block by block" not in page()


def test_a_horizon_is_no_time_that_a_storm_took() -> None:
    held_out = recommendation()["held_out"]
    figures = {**held_out["recommended"], "converged_share": 0.85, "worst_s": held_out["horizon_s"]}
    text = page(held_out={**held_out, "recommended": figures})
    assert f"15% were not over within {held_out['horizon_s']:,.0f} s" in text
    assert "Worst of" not in text
    median = figures["convergence_time_s"]["median"]
    assert f"If nothing has changed after {median:,.0f} s, in which half of those storms were over" in text


def test_the_command_of_a_rule_can_be_copied(tmp_path: Path) -> None:
    """`lab-pcrf` of another hash is not the packaged one: the file of the run is."""
    made = source.read(recommendation())
    text = runbook.files(made, releases.UNKNOWN, {}, find("constant-gain", tmp_path))[runbook.FILE]
    command = "signalstorm advise scenario.yaml --counters latest.csv --rule constant-gain --set nop_rate=60"
    assert f"`{command}`, scenario.yaml from the folder of the run" in text
    assert "gate's rate = 1.1 x attach accepts per second" in text
    assert "| 2 | otherwise | " in "\n".join(find("rate-matching", tmp_path).table)  # type: ignore[union-attr]
    assert "Not measured on this scenario" in text
    content = recommendation()
    content["scenario"] |= {"name": "lab-pcrf", "hash": load("lab-pcrf").hash()}
    packaged = runbook.files(source.read(content), releases.UNKNOWN, {})[runbook.FILE]
    assert "`signalstorm advise lab-pcrf --counters latest.csv --set nop_rate=60`, with the latest" in packaged
