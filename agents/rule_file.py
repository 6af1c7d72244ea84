"""Rules on disk: an ordered table of thresholds as YAML that people read and edit; loading one never runs code."""

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from signalstorm.agents.laws.table import COLUMNS, MOST_ROWS, Condition, Row, Table
from signalstorm.agents.origin import BASIS, WAY_THROUGH, Origin, differences
from signalstorm.envs.model import yaml_lines
from signalstorm.envs.model.errors import ABSENT, Finding, wrong_input
from signalstorm.envs.model.faults import several
from signalstorm.envs.model.files import write_atomic
from signalstorm.envs.model.scenario_parts import Number, Part
from signalstorm.envs.model.typed_files import Kind

FORMAT = 1
"""Rises with any change of the file."""
RULE = "rule.yaml"
"""The file's name."""
_HEAD = (
    "# A rule for a person: from top to bottom, the first row whose conditions all hold says the rate,\n"
    "# factor x what was completed in the last interval. See docs/controllers.md.\n"
)


class ConditionEntry(Part):
    """A column above a threshold, or at most at it."""

    column: Literal["failed_share", "alarms", "admitted_share", "completed_share", "offered_ratio"]
    """What is looked at."""
    above: Number | None = None
    """It must be above this."""
    at_most: Number | None = None
    """It must be at most this."""

    @model_validator(mode="after")
    def _one_threshold(self) -> "ConditionEntry":
        if (self.above is None) == (self.at_most is None):
            raise several([Finding((), "must have one of above and at_most", ABSENT, "leave the other out")])
        return self


class RowEntry(Part):
    """A row."""

    when: tuple[ConditionEntry, ...] = ()
    """Conditions that must all hold; none in the last row."""
    factor: Annotated[Number, Field(gt=0, le=100)]
    """Rate over what was completed in the interval."""


class RuleFile(Part):
    """A rule, and what is known of it."""

    format: Literal[1] = 1
    """Format of the file."""
    name: Annotated[str, Field(min_length=1, max_length=80)] = "rule"
    """What tables call it."""
    description: str = ""
    """What it is for."""
    knob: str = "nop_rate"
    """The knob that it moves."""
    rows: Annotated[tuple[RowEntry, ...], Field(min_length=1, max_length=MOST_ROWS)]
    """From top to bottom; the first that holds counts, and the last always does."""
    floor_per_s: Annotated[Number, Field(gt=0)] = 50.0
    """Least rate, also where nothing is completed [1/s]."""
    dead_band_share: Annotated[Number, Field(ge=0, le=10)] = 0.05
    """Smaller changes are not entered [share]."""
    step_share: Annotated[Number, Field(gt=0, le=100)] = 0.3
    """Largest change at once, up or down, as a share of the smaller rate [share]."""
    cool_down: Annotated[Number, Field(ge=0, le=100)] = 0.0
    """Intervals after a change in which the rate is not raised; it may fall at any time [intervals]."""
    most_per_hour: Annotated[int, Field(ge=0, le=60)] = 0
    """Changes at most in any 60 minutes, up or down; 0: no limit."""
    distilled_from: Mapping[str, Any] | None = None
    """The policy and the storms that it was taken from, with their hashes."""
    evidence: Mapping[str, Any] | None = None
    """How it did beside the policy and the best static setting, and on which storms."""

    @model_validator(mode="after")
    def _ends_without_condition(self) -> "RuleFile":
        last = len(self.rows) - 1
        found = [
            Finding(("rows", i, "when"), "must not be empty but in the last row", ABSENT, "no row below it is reached")
            for i, row in enumerate(self.rows[:-1])
            if not row.when
        ]
        if self.rows[-1].when:
            way_out = "add a row without `when`, for whatever else is seen"
            found.append(Finding(("rows", last, "when"), "must be empty in the last row", ABSENT, way_out))
        found += [
            Finding(("rows", i, "when"), why, ABSENT, "leave the row out, or change its numbers")
            for i, why in _never_reached(self.rows)
        ]
        if found:
            raise several(found)
        return self

    @property
    def law(self) -> Table:
        """The law that it stands for."""
        rows = tuple(Row(tuple(_condition(one) for one in row.when), row.factor) for row in self.rows)
        return Table(
            dead_band_share=self.dead_band_share,
            step_share=self.step_share,
            cool_down=self.cool_down,
            most_per_hour=self.most_per_hour,
            rows=rows,
            floor_per_s=self.floor_per_s,
        )


def _never_reached(rows: Sequence[RowEntry]) -> Iterator[tuple[int, str]]:
    """Yield the rows with conditions that nothing meets, or that an earlier row always meets first, and the reason."""
    for i, row in enumerate(rows):
        for one in row.when:
            limits = [other.at_most for other in row.when if other.column == one.column and other.at_most is not None]
            if one.above is not None and limits and min(limits) <= one.above:
                yield i, f"can never hold: {one.column} above {one.above:g} and at most {min(limits):g}"
        first = next((j for j in range(i) if row.when and _holds_wherever(rows[j], row)), None)
        if first is not None:
            yield i, f"is never reached: wherever its conditions hold, those of rows.{first} hold as well"


def _holds_wherever(row: RowEntry, other: RowEntry) -> bool:
    """Tell whether each condition of a row follows from one of another's."""
    return all(
        any(
            known.column == one.column
            and (
                (one.above is not None and known.above is not None and known.above >= one.above)
                or (one.at_most is not None and known.at_most is not None and known.at_most <= one.at_most)
            )
            for known in other.when
        )
        for one in row.when
    )


def rule_file(law: Table, **known: Any) -> RuleFile:
    """Return the file of a law.

    Args:
        law: The law.
        **known: Other fields of `RuleFile`.
    """
    entries = [RowEntry(when=tuple(_entry(one) for one in row.conditions), factor=row.factor) for row in law.rows]
    # A search of better numbers may have moved them past one another; without such rows the table says the same.
    idle = {i for i, _ in _never_reached(entries)}
    rows = tuple(row for i, row in enumerate(entries) if i not in idle)
    fixed = ("floor_per_s", "dead_band_share", "step_share", "cool_down", "most_per_hour")
    moves = {name: getattr(law, name) for name in fixed}
    return RuleFile(rows=rows, **moves, **known)


def dump(rule: RuleFile) -> str:
    """Return the text of a rule's file."""
    return _HEAD + yaml_lines.write(rule.model_dump(mode="json", exclude_none=True))


def save(path: Path, rule: RuleFile) -> None:
    """Write a rule, atomically."""
    write_atomic(path, dump(rule))


def load(path: str | os.PathLike[str]) -> RuleFile:
    """Read a rule; a folder stands for the `RULE` in it.

    Raises:
        InputError: With every fault found.
    """
    return _KIND.read(file_of(path))


def file_of(path: str | os.PathLike[str]) -> Path:
    """Return a rule's file; a folder stands for the `RULE` in it."""
    file = Path(path)
    return file / RULE if file.is_dir() else file


def origin_of(rule: RuleFile, file: Path, here: Mapping[str, Any], *, transfer: bool = False) -> Origin | None:
    """Return what a rule was distilled from, None where it does not say: somebody wrote it.

    A table is for persons, so of another model it is only said (`Origin.warn`); of another scenario it is refused.

    Args:
        rule: The rule.
        file: Its file.
        here: Scenario, its hash and the model where it is to be used, by `origin.BASIS`.
        transfer: Whether another scenario will do.

    Raises:
        InputError: If it was distilled on another scenario.
    """
    sources = rule.distilled_from or {}
    known = {name: sources[name] for name in BASIS if sources.get(name) is not None}
    if not known:
        return None
    differs = differences(known, {name: here[name] for name in known})
    sha256 = hashlib.sha256(file.read_bytes()).hexdigest()
    origin = Origin("rule", rule.name, str(file), sha256, known, differs)
    if not transfer and {"scenario", "scenario_hash"} & set(differs):
        way_out = f"distil a policy of this scenario, {WAY_THROUGH}"
        raise wrong_input(f"the rule {origin.words}", ABSENT, way_out, file=str(file))
    return origin


def is_rule(path: Path) -> bool:
    """Tell whether a YAML file holds rows, and so means a rule and not a setting."""
    if path.suffix not in (".yaml", ".yml") or not path.is_file():
        return False
    try:
        data, _, _ = yaml_lines.read(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, yaml_lines.YamlError):
        return False
    return isinstance(data, dict) and "rows" in data


def parse(text: str, file: str) -> RuleFile:
    """Read a rule from the content of a file.

    Raises:
        InputError: With every fault found.
    """
    return _KIND.parse(text, file)


_KIND = Kind(RuleFile, "rule", "docs/controllers.md")


def table_lines(law: Table) -> list[str]:
    """Return the rows as a table of Markdown."""
    rows = [f"| {i} | {row.when} | {row.factor:g} x completed |" for i, row in enumerate(law.rows, 1)]
    return ["| row | if | then the rate is |", "|---|---|---|", *rows]


def column_lines(law: Table) -> list[str]:
    """Return how the columns that a table looks at are worked out, as a list of Markdown."""
    used = {condition.column for row in law.rows for condition in row.conditions}
    return [f"- {column.meaning}: {column.formula}" for name, column in COLUMNS.items() if name in used]


def _condition(entry: ConditionEntry) -> Condition:
    if entry.above is not None:
        return Condition(entry.column, above=True, value=entry.above)
    return Condition(entry.column, above=False, value=float(entry.at_most or 0.0))


def _entry(condition: Condition) -> ConditionEntry:
    threshold = {"above" if condition.above else "at_most": condition.value}
    return ConditionEntry.model_validate({"column": condition.column, **threshold})
