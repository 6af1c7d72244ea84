"""Tables as text: CSV with any delimiter, columns parted by blanks, numbers with separators, times of day."""

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from signalstorm.envs.model.errors import Fault, InputError, Shown, wrong_input
from signalstorm.experiments.imports.text import Text

_DELIMITERS = (";", "\t", ",", "|")
_GAP = re.compile(r"\s{2,}|\t")
_CLOCK = re.compile(r"(?:(?P<date>\d{4}-\d{2}-\d{2})[T ])?(?P<h>\d{1,2}):(?P<m>\d{2})(?::(?P<s>\d{2}(?:\.\d+)?))?Z?")
_PLAIN = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_GROUPED = re.compile(r"[-+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_COMMA = re.compile(r"[-+]?\d+,\d+")
_BLANK_GROUPS = re.compile(r"[-+]?\d{1,3}(?:[' ]\d{3})+")
_LONGEST = 40
"""Characters of a number at most; a longer one is none that anybody counted."""
NOTHING = ("", "-", "n/a", "na", "nan", "null", "none", "?")
"""Cells that hold no value."""
DAY_S = 86_400.0


@dataclass(frozen=True)
class Table:
    """A table's cells, as text."""

    file: str
    """What messages call the file."""
    header: tuple[str, ...]
    """The columns' names."""
    rows: tuple[tuple[int, tuple[str, ...]], ...]
    """Line and cells of each row."""
    notes: tuple[str, ...]
    """What was mended, in words."""

    def column(self, name: str) -> list[tuple[int, str]]:
        """Return line and cell of each row of a column."""
        at = self.header.index(name)
        return [(line, cells[at]) for line, cells in self.rows]


def split(source: Text) -> Table:
    """Split lines into cells.

    Raises:
        InputError: If the lines are no table: every row must have as many cells as the header.
    """
    lines = [(line.number, line.raw) for line in source.lines if not line.text.startswith(("#", "!"))]
    if len(lines) < 2:
        raise wrong_input("must hold a header and at least one row", way_out="give a table", file=source.file)
    cells = _cells([raw for _, raw in lines])
    widths = [len(row) for row in cells]
    if min(widths) < 2 or len(set(widths)) > 1:
        usual = max(set(widths), key=widths.count)
        odd = [number for (number, _), width in zip(lines, widths, strict=True) if width != usual or width < 2]
        rule = f"must have as many cells in each row as in the header, {usual}"
        shown = Shown(f"other numbers on lines {', '.join(map(str, odd[:5]))}")
        way_out = "part the columns by a tab, a semicolon or two blanks, or quote what holds a comma"
        raise InputError([Fault(source.file, odd[0] if odd else None, "", rule, shown, way_out)])
    header = tuple(cell.strip() or f"column {i + 1}" for i, cell in enumerate(cells[0]))
    if any(_is_value(cell) for cell in header) or len(set(header)) < len(header):
        rule = "must begin with a row of column names, each another one"
        raise wrong_input(rule, " ".join(header), "add a header", file=source.file)
    rows = tuple((number, tuple(c.strip() for c in row)) for (number, _), row in zip(lines[1:], cells[1:], strict=True))
    return Table(source.file, header, rows, source.notes)


def numbers(cells: Sequence[tuple[int, str]], file: str, name: str) -> tuple[list[float | None], str]:
    """Read the numbers of a column, all by one habit of writing them.

    Returns:
        The numbers, None where a cell is empty; and what was taken for granted, in words.

    Raises:
        InputError: With every cell that is no number, or if two habits are mixed.
    """
    given = [(line, cell) for line, cell in cells if cell.lower() not in NOTHING]
    wrong = [
        Fault(file, line, name, "must be a number", cell, "correct the cell, or leave it empty")
        for line, cell in given
        if not (
            _PLAIN.fullmatch(cell)
            or _COMMA.fullmatch(cell)
            or _GROUPED.fullmatch(cell)
            or _BLANK_GROUPS.fullmatch(cell)
        )
        or len(cell) > _LONGEST
    ]
    if wrong:
        raise InputError(wrong)
    with_comma = [(line, cell) for line, cell in given if "," in cell]
    grouped = [cell for _, cell in with_comma if _GROUPED.fullmatch(cell)]
    decimal = [(line, cell) for line, cell in with_comma if not _GROUPED.fullmatch(cell)]
    if decimal and any(cell.count(",") > 1 or "." in cell for _, cell in with_comma):
        rule = "is written with commas for thousands and for decimals"
        raise InputError([Fault(file, decimal[0][0], name, rule, decimal[0][1], "write all numbers in one way")])
    note = ""
    if decimal:
        note = "the comma is the decimal point"
    elif grouped:
        note = "commas part thousands"

    def value(cell: str) -> float | None:
        if cell.lower() in NOTHING:
            return None
        bare = cell.replace("'", "").replace(" ", "")
        return float(bare.replace(",", "." if decimal else ""))

    return [value(cell) for _, cell in cells], note


def times(cells: Sequence[tuple[int, str]], file: str, name: str) -> tuple[list[float], bool]:
    """Read a column of times: of day, with or without a date, or seconds.

    Returns:
        The times in seconds, from the first midnight on if they are of day; and whether they are.

    Raises:
        InputError: With every cell that is no time.
    """
    forms = [_CLOCK.fullmatch(cell) for _, cell in cells]
    if not any(forms):
        values, _ = numbers(cells, file, name)
        if None in values:
            raise wrong_input("must have a time in each row", file=file, key=name)
        return [value for value in values if value is not None], False
    found: list[float] = []
    faults = []
    first: date | None = None
    for (line, cell), form in zip(cells, forms, strict=True):
        seconds = None if form is None else _of_day(form)
        if form is None or seconds is None:
            faults.append(Fault(file, line, name, "must be a time of day, such as 08:30", cell, "correct the cell"))
            continue
        try:
            day = date.fromisoformat(form["date"]) if form["date"] else None
        except ValueError:
            faults.append(Fault(file, line, name, "must have a date that exists", cell, "correct the cell"))
            continue
        first = first or day
        if day is not None and first is not None:
            seconds += DAY_S * (day - first).days
        while day is None and found and seconds < found[-1]:
            seconds += DAY_S  # past midnight
        found.append(seconds)
    if faults:
        raise InputError(faults)
    return found, True


def _of_day(form: re.Match[str]) -> float | None:
    """Return the seconds since midnight of a time, None if there is no such time; 24:00 is the end of a day."""
    hours, minutes, seconds = int(form["h"]), int(form["m"]), float(form["s"] or 0)
    found = 3600.0 * hours + 60.0 * minutes + seconds
    return found if minutes < 60 and seconds < 60.0 and found <= DAY_S else None


def is_time(cells: Sequence[tuple[int, str]]) -> bool:
    """Tell whether every cell of a column is a time of day."""
    return all(_CLOCK.fullmatch(cell) for _, cell in cells)


def _cells(raw: Sequence[str]) -> list[list[str]]:
    """Split rows by the delimiter that gives all of them one number of cells, or by blanks."""
    for delimiter in _DELIMITERS:
        if delimiter in raw[0]:
            rows = list(csv.reader(raw, delimiter=delimiter, skipinitialspace=True))
            widths = [len(row) for row in rows]
            if 2 * widths.count(widths[0]) > len(widths):
                return rows
    by_gap = [_GAP.split(line.strip()) for line in raw]
    if len({len(row) for row in by_gap}) == 1 and len(by_gap[0]) > 1:
        return by_gap
    by_blank = [line.split() for line in raw]
    if len(by_gap[0]) == len(by_blank[-1]) > 1:
        return [by_gap[0], *by_blank[1:]]  # names of several words above numbers that one blank parts
    return by_blank


def _is_value(cell: str) -> bool:
    return bool(_PLAIN.fullmatch(cell) or _GROUPED.fullmatch(cell) or _CLOCK.fullmatch(cell))
