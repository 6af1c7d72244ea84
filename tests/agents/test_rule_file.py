"""Rules on disk."""

from pathlib import Path

import pytest

from signalstorm.agents.laws.table import COLUMNS, Condition, Row, Table
from signalstorm.agents.rule_file import (
    ConditionEntry,
    column_lines,
    dump,
    is_rule,
    load,
    parse,
    rule_file,
    save,
    table_lines,
)
from signalstorm.envs.model.errors import InputError

LAW = Table(
    rows=(Row((Condition("alarms", above=True, value=0.0),), 0.9), Row((), 1.2)),
    dead_band_share=0.2,
    step_share=4.0,
    cool_down=3.0,
    most_per_hour=12,
)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    rule = rule_file(LAW, name="mine", evidence={"storms": [10_000, 10_064]})
    save(tmp_path / "rule.yaml", rule)
    assert load(tmp_path) == rule
    assert load(tmp_path).law == LAW
    assert is_rule(tmp_path / "rule.yaml")
    (tmp_path / "setting.yaml").write_text("nop_rate: 300\n")
    assert not is_rule(tmp_path / "setting.yaml")
    assert not is_rule(tmp_path)


def test_columns_of_files_are_those_of_tables() -> None:
    assert ConditionEntry.model_json_schema()["properties"]["column"]["enum"] == list(COLUMNS)


def test_all_faults_at_once() -> None:
    text = """
rows:
  - {when: [{column: alarm, above: 0}], factor: 0.9}
  - {when: [{column: alarms, above: 0, at_most: 3}], factor: -1}
  - {factor: 1.0}
  - {when: [{column: alarms, above: 0}], factor: 1.1}
dead_bnd_share: 0.2
"""
    with pytest.raises(InputError) as error:
        parse(text, "rule.yaml")
    said = str(error.value)
    assert "rule.yaml:3: rows.0.when.0.column: must be one of" in said
    assert "rule.yaml:4: rows.1.when.0: must have one of above and at_most" in said
    assert "rule.yaml:4: rows.1.factor: must be greater than 0" in said
    assert "dead_band_share?" in said


def test_only_the_last_row_has_no_condition() -> None:
    with pytest.raises(InputError) as error:
        parse("rows:\n  - {factor: 1.0}\n  - {when: [{column: alarms, above: 0}], factor: 1.1}\n", "rule.yaml")
    assert {fault.line for fault in error.value.faults} == {2, 3}
    many = "rows:\n" + "  - {when: [{column: alarms, above: 0}], factor: 1.1}\n" * 12 + "  - {factor: 1}\n"
    with pytest.raises(InputError, match="at most 12 entries"):
        parse(many, "rule.yaml")


@pytest.mark.parametrize("text", ["rows: !!python/object/apply:os.system ['true']\n", "- 1\n", "rows: [\n"])
def test_nothing_but_plain_data(text: str, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        parse(text, "rule.yaml")
    with pytest.raises(InputError, match="cannot be read"):
        load(tmp_path / "none.yaml")


def test_people_read_it_too() -> None:
    assert table_lines(LAW)[2:] == [
        "| 1 | congestion alarms up above 0 | 0.9 x completed |",
        "| 2 | otherwise | 1.2 x completed |",
    ]
    assert column_lines(LAW) == ["- congestion alarms up: links congested"]
    assert "cool_down: 3" in dump(rule_file(LAW))


def test_rows_that_are_never_reached_are_refused() -> None:
    text = """
rows:
- when: [{column: failed_share, above: 0.5}, {column: failed_share, at_most: 0.3}]
  factor: 0.5
- when: [{column: alarms, above: 1}]
  factor: 0.8
- when: [{column: alarms, above: 2}, {column: failed_share, at_most: 0.5}]
  factor: 0.9
- when: [{column: alarms, above: 0}]
  factor: 0.9
- factor: 1.1
"""
    with pytest.raises(InputError) as caught:
        parse(text, "rule.yaml")
    assert len(caught.value.faults) == 2
    assert "rule.yaml:3: rows.0.when: can never hold: failed_share above 0.5 and at most 0.3" in str(caught.value)
    assert "rule.yaml:7: rows.2.when: is never reached: wherever its conditions hold, those of rows.1" in str(
        caught.value
    )


def test_rows_that_are_never_reached_are_not_written() -> None:
    between = (Condition("failed_share", above=True, value=0.5), Condition("failed_share", above=False, value=0.3))
    law = Table(rows=(Row(between, 0.5), Row((Condition("alarms", above=True, value=1.0),), 0.8), Row((), 1.1)))
    assert [row.factor for row in rule_file(law).rows] == [0.8, 1.1]
