"""Counters of a network, interval by interval: read from tables, with a unit per column that is never guessed."""

import csv
import io
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from signalstorm.envs.model import scenario_file, yaml_lines
from signalstorm.envs.model.errors import ABSENT, Fault, InputError, Shown, wrong_input
from signalstorm.envs.model.wording import nearest
from signalstorm.experiments.imports import tables, text
from signalstorm.experiments.imports.quantities import (
    CLASSES,
    PER_S,
    QUANTITIES,
    Quantity,
    Unit,
    class_of,
    element_of,
    quantity_of,
    unit_of,
)
from signalstorm.experiments.imports.tables import Table

SKIP = "skip"
"""Stands in a column map for a column that is not wanted."""
LONG = ("start_s", "end_s", "clock", "element", "of", "quantity", "unit", "value", "rate_per_s")
"""The columns of what is written."""
_WHOLE_FROM_S = 60.0
"""A mean rate over so long an interval is hardly ever a whole number."""
_MARKS = {"end": ("end", "until", "to "), "start": ("start", "begin", "from")}
_FORM = "COLUMN=QUANTITY[:UNIT[:OF]]"
_EXAMPLE = "c2: link tx:count:stp2/slc4"


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a column holds, as the user says it."""

    quantity: str
    """A name of `QUANTITIES`, or `SKIP`."""
    unit: Unit | None = None
    """The unit."""
    of: str = ""
    """The link or STP it belongs to, or the class of subscribers whose requests it counts."""


@dataclass(frozen=True)
class Counter:
    """One quantity, interval by interval."""

    header: str
    """The column it came from."""
    quantity: Quantity
    """What is counted."""
    unit: Unit
    """In which unit the file has it."""
    of: str
    """The link or STP, or the class of subscribers; empty for all."""
    start_s: tuple[float, ...]
    """Beginning of each interval; since midnight where `clock` is true."""
    end_s: tuple[float, ...]
    """End of each interval."""
    clock: bool
    """Whether the times are times of day."""
    values: tuple[float | None, ...]
    """What the file says, in its unit; None where a cell is empty."""

    @property
    def rates_per_s(self) -> tuple[float | None, ...]:
        """Mean rate of each interval [1/s]."""
        return tuple(
            None if value is None else to_rate(value, self.unit, end - start)
            for value, start, end in zip(self.values, self.start_s, self.end_s, strict=True)
        )


def to_rate(value: float, unit: Unit, interval_s: float) -> float:
    """Turn a value into a mean rate [1/s]."""
    return value / interval_s if unit == "count" else value * PER_S[unit]


def to_count(rate_per_s: float, interval_s: float) -> float:
    """Turn a mean rate back into the count of an interval; a whole number comes back whole."""
    count = rate_per_s * interval_s
    return float(round(count)) if math.isclose(count, round(count), rel_tol=1e-12, abs_tol=1e-9) else count


def parse_columns(items: Iterable[str]) -> dict[str, Meaning]:
    """Read a column map of the form ``COLUMN=QUANTITY[:UNIT[:OF]]``.

    Raises:
        InputError: With every item that is not of this form.
    """
    found: dict[str, Meaning] = {}
    faults = []
    for item in items:
        name, equals, rest = item.rpartition("=")
        quantity, _, more = rest.partition(":")
        unit, _, of = more.partition(":")
        if not equals or not name.strip():
            faults.append(
                Fault("--column", None, "", f"must be {_FORM}", item, "for example c2=link tx:count:stp2/slc4")
            )
        elif quantity != SKIP and quantity not in QUANTITIES:
            rule = "names no known quantity"
            faults.append(Fault("--column", None, name, rule, quantity, nearest(quantity, [*QUANTITIES, SKIP])))
        elif unit and unit not in ("count", *PER_S):
            faults.append(Fault("--column", None, name, "names no known unit", unit, nearest(unit, ["count", *PER_S])))
        else:
            found[name.strip()] = Meaning(quantity, unit or None, of.strip())  # type: ignore[arg-type]
    if faults:
        raise InputError(faults)
    return found


def read_columns(path: str | os.PathLike[str] | None) -> dict[str, Meaning]:
    """Read a column map from a YAML file of lines ``COLUMN: QUANTITY[:UNIT[:OF]]``; None: an empty one.

    Raises:
        InputError: If the file cannot be read, or with everything that is wrong with it.
    """
    if path is None:
        return {}
    content, file = scenario_file.read(Path(path))
    try:
        data, _, _ = yaml_lines.read(content.decode("utf-8-sig"))
    except (yaml_lines.YamlError, UnicodeDecodeError) as error:
        raise wrong_input(f"is no YAML ({error})", way_out="write COLUMN: QUANTITY:UNIT lines", file=file) from None
    if not isinstance(data, Mapping):
        raise wrong_input("must hold COLUMN: QUANTITY:UNIT lines", way_out=f"for example {_EXAMPLE}", file=file)
    return parse_columns(f"{name}={value}" for name, value in data.items())


def read(
    path: str | os.PathLike[str],
    columns: Mapping[str, Meaning] | None = None,
    *,
    interval_s: float | None = None,
    marks: str | None = None,
    subscribers: float | None = None,
    classes: Sequence[str] = (),
) -> tuple[list[Counter], tuple[str, ...]]:
    """Read a table of counters, or what an earlier import has written.

    Args:
        path: The file.
        columns: What its columns hold, where their names do not say.
        interval_s: The length of an interval; by default the distance of the times.
        marks: Whether a time marks the ``start`` or the ``end`` of its interval.
        subscribers: How many subscribers there are; more events than they can cause are refused.
        classes: Their classes; where there are several, a header that names one is asked for which.

    Returns:
        The counters, and what was taken for granted, in words.

    Raises:
        InputError: With everything that is wrong or ambiguous.
    """
    table = tables.split(text.read(path))
    if set(LONG[:2]) <= set(table.header) and "quantity" in table.header:
        found, notes = _long(table), table.notes
    else:
        found, notes = _wide(table, columns or {}, interval_s, marks, classes)
    impossible = [fault for counter in found for fault in _impossible(counter, subscribers, table.file)]
    if impossible:
        raise InputError(impossible)
    return found, notes


def dump(counters: Sequence[Counter]) -> str:
    """Return counters as CSV in long form, which `read` reads back equal."""
    content = io.StringIO()
    writer = csv.writer(content, lineterminator="\n")
    writer.writerow(LONG)
    for counter in counters:
        for start, end, value, rate in zip(
            counter.start_s, counter.end_s, counter.values, counter.rates_per_s, strict=True
        ):
            kind = "link" if counter.quantity.element else "class"
            element = counter.of if kind == "link" else ""
            of = counter.of if kind == "class" else ""
            cells = ("" if value is None else f"{value:.17g}", "" if rate is None else f"{rate:.17g}")
            clock = "yes" if counter.clock else "no"
            writer.writerow(
                [f"{start:.12g}", f"{end:.12g}", clock, element, of, counter.quantity.name, counter.unit, *cells]
            )
    return content.getvalue()


def _wide(
    table: Table,
    columns: Mapping[str, Meaning],
    interval_s: float | None,
    marks: str | None,
    classes: Sequence[str],
) -> tuple[list[Counter], tuple[str, ...]]:
    faults: list[Fault] = []
    notes = list(table.notes)
    for name in columns:
        if name not in table.header:
            faults.append(
                Fault("--column", None, name, "is no column of the file", ABSENT, nearest(name, table.header))
            )
    times = next((name for name in table.header if name not in columns and _is_time(table, name)), None)
    if times is None:
        rule = "has no column of times of day, nor one named time or time_s"
        raise InputError([*faults, Fault(table.file, None, "", rule, ABSENT, "add one, or name it so")])
    at_s, clock = tables.times(table.column(times), table.file, times)
    found_interval_s = _interval_s(at_s, interval_s)
    end_marks = marks or _marks(times)
    if found_interval_s is None:
        rule = "the times do not lie at one distance above 0 s, so the length of an interval is not known"
        faults.append(Fault(table.file, None, times, rule, ABSENT, "give --interval in seconds"))
    if end_marks is None:
        rule = "is ambiguous: a time may mark the start or the end of its interval"
        faults.append(Fault(table.file, None, times, rule, ABSENT, "give --marks start or --marks end"))
    parts: list[tuple[str, Meaning, list[float | None]]] = []
    for name in table.header:
        if name == times or columns.get(name, Meaning("")).quantity == SKIP:
            continue
        try:
            values, note = tables.numbers(table.column(name), table.file, name)
        except InputError as error:
            faults += error.faults
            continue
        if note:
            notes.append(f"{name}: {note}")
        meaning = columns.get(name) or _said(name)
        if name not in columns and meaning.of in CLASSES and len(classes) > 1:
            rule = f"counts one class of subscribers, {meaning.of}, of {' and '.join(classes)}"
            unit = meaning.unit or "UNIT"
            way_out = f"give --column '{name}={meaning.quantity}:{unit}:{classes[0]}', or another class"
            faults.append(Fault(table.file, table.rows[0][0], name, rule, ABSENT, way_out))
            continue
        questions = list(_questions(table, name, meaning, values, found_interval_s, asked=name not in columns))
        faults += questions
        if not questions:
            parts.append((name, meaning, values))
    if faults or found_interval_s is None:
        raise InputError(faults)
    shift = (-found_interval_s, 0.0) if end_marks == "end" else (0.0, found_interval_s)
    start, end = (tuple(t + by for t in at_s) for by in shift)
    return [
        Counter(name, QUANTITIES[m.quantity], m.unit or "count", m.of, start, end, clock, tuple(values))
        for name, m, values in parts
    ], tuple(notes)


def _said(header: str) -> Meaning:
    """Return what a header says of itself."""
    quantity = quantity_of(header) or ""
    of = element_of(header) if quantity and QUANTITIES[quantity].element else class_of(header)
    return Meaning(quantity, unit_of(header), of)


def _questions(
    table: Table, name: str, meaning: Meaning, values: Sequence[float | None], interval_s: float | None, *, asked: bool
) -> Iterator[Fault]:
    """Yield what must be known of a column and is not, or is not believed."""
    give = f"give --column '{name}={meaning.quantity or 'QUANTITY'}:UNIT', UNIT one of count, {', '.join(PER_S)}"
    line = table.rows[0][0]
    if not meaning.quantity:
        way_out = f"give --column '{name}=QUANTITY:UNIT' ({', '.join(QUANTITIES)}), or '{name}={SKIP}'"
        yield Fault(table.file, line, name, "names no known quantity", ABSENT, way_out)
        return
    if QUANTITIES[meaning.quantity].element and not meaning.of:
        way_out = f"give --column '{name}={meaning.quantity}:count:stp2/slc4', with the scenario's name of it"
        yield Fault(table.file, line, name, "does not say of which link or STP it is", ABSENT, way_out)
    if meaning.unit is None:
        yield Fault(table.file, line, name, "is ambiguous: it may be a count per interval or a rate", ABSENT, give)
        return
    known = [value for value in values if value is not None]
    for (row, _), value in zip(table.rows, values, strict=True):
        if value is not None and not 0.0 <= value < math.inf:
            rule = "must be at least 0 and finite: counters that were reset must be cut there"
            yield Fault(table.file, row, name, rule, value, "correct the cell, or leave it empty")
    whole = all(value.is_integer() for value in known)
    if asked and meaning.unit == "1/s" and whole and known and interval_s is not None and interval_s >= _WHOLE_FROM_S:
        largest = max(known)
        most = f"{largest:,.0f}; as a rate that is {largest * interval_s:,.0f} in {interval_s:g} s"
        shown = Shown(f"whole numbers only, up to {most}")
        rule = "says per second, but holds what looks like counts per interval"
        yield Fault(table.file, line, name, rule, shown, give)


def _impossible(counter: Counter, subscribers: float | None, file: str) -> Iterator[Fault]:
    """Yield a fault if there are more events than the subscribers can cause."""
    if subscribers is None:
        return
    for start, end, rate in zip(counter.start_s, counter.end_s, counter.rates_per_s, strict=True):
        length = end - start
        if rate is not None and rate * length > counter.quantity.most(subscribers, length):
            shown = Shown(f"{rate:,.4g} per s, {rate * length:,.0f} in {length:g} s")
            rule = f"cannot be, with {subscribers:,.0f} subscribers, in the unit {counter.unit}"
            as_count = f"give --column '{counter.header}={counter.quantity.name}:count'"
            way_out = (
                "correct the cell, or leave it empty; or see whether the interval and the scenario are right"
                if counter.unit == "count"
                else f"if these are counts per interval, {as_count}"
            )
            yield Fault(file, None, counter.header, rule, shown, way_out)
            return


def _is_time(table: Table, name: str) -> bool:
    return tables.is_time(table.column(name)) or name.strip().lower() in ("time", "time_s", "t", "seconds")


def _interval_s(at_s: Sequence[float], given: float | None) -> float | None:
    if given is not None:
        return given if given > 0 else None
    steps = {round(after - before, 6) for before, after in pairwise(at_s)}
    return steps.pop() if len(steps) == 1 and min(steps) > 0 else None


def _marks(header: str) -> str | None:
    lowered = f"{header.lower()} "
    return next((mark for mark, words in _MARKS.items() if any(word in lowered for word in words)), None)


def _long(table: Table) -> list[Counter]:
    """Read what `dump` has written.

    Raises:
        InputError: With every cell that `dump` cannot have written.
    """
    lacking = [name for name in LONG if name not in table.header and name != "rate_per_s"]
    if lacking:
        rule = f"has {', '.join(LONG[:2])} and quantity, but not {', '.join(lacking)}"
        raise InputError([Fault(table.file, 1, "", rule, ABSENT, _LONG_WAY_OUT)])
    groups: dict[tuple[str, str, str, str], list[tuple[float, float, float | None]]] = {}
    faults: list[Fault] = []
    for line, cells in table.rows:
        row = dict(zip(table.header, cells, strict=True))
        wrong = list(_wrong_cells(table.file, line, row))
        faults += wrong
        if not wrong:
            key = (row["quantity"], row["unit"], row["element"] or row["of"], row["clock"])
            value = float(row["value"]) if row["value"] else None
            groups.setdefault(key, []).append((float(row["start_s"]), float(row["end_s"]), value))
    if faults:
        raise InputError(faults)
    return [
        Counter(
            header=quantity,
            quantity=QUANTITIES[quantity],
            unit=unit,  # type: ignore[arg-type]
            of=of,
            start_s=tuple(start for start, _, _ in rows),
            end_s=tuple(end for _, end, _ in rows),
            clock=clock == "yes",
            values=tuple(value for _, _, value in rows),
        )
        for (quantity, unit, of, clock), rows in groups.items()
    ]


_LONG_WAY_OUT = "correct it, or write the file once more with `import counters --out`"


def _wrong_cells(file: str, line: int, row: Mapping[str, str]) -> Iterator[Fault]:
    """Yield what is wrong with a row that `dump` should have written."""
    numbers: dict[str, float] = {}
    for key in ("start_s", "end_s", "value"):
        try:
            numbers[key] = float(row[key] or ("0" if key == "value" else ""))
        except ValueError:
            yield Fault(file, line, key, "must be a number", row[key], _LONG_WAY_OUT)
            continue
        if not math.isfinite(numbers[key]) or (key == "value" and numbers[key] < 0.0):
            yield Fault(file, line, key, "must be at least 0 and finite", row[key], _LONG_WAY_OUT)
    if "start_s" in numbers and "end_s" in numbers and not numbers["start_s"] < numbers["end_s"]:
        yield Fault(file, line, "end_s", f"must lie after start_s, {row['start_s']}", row["end_s"], _LONG_WAY_OUT)
    if row["quantity"] not in QUANTITIES:
        rule = "names no known quantity"
        yield Fault(file, line, "quantity", rule, row["quantity"], nearest(row["quantity"], QUANTITIES))
    if row["unit"] not in ("count", *PER_S):
        yield Fault(file, line, "unit", "names no known unit", row["unit"], f"one of: count, {', '.join(PER_S)}")
    if row["clock"] not in ("yes", "no"):
        yield Fault(file, line, "clock", "must be yes or no", row["clock"], _LONG_WAY_OUT)
