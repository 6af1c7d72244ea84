"""Traps as text: which alarm was set and cleared, when, of which element."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from itertools import pairwise
from typing import Any, Literal

from signalstorm.envs.model.errors import ABSENT, Fault, InputError, wrong_input
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.model.wording import nearest
from signalstorm.experiments.imports import text
from signalstorm.experiments.imports.quantities import element_of
from signalstorm.experiments.imports.tables import DAY_S
from signalstorm.experiments.imports.text import Text

_TIME = re.compile(r"(?<![\d:])(?P<h>\d{1,2}):(?P<m>\d{2})(?::(?P<s>\d{2})(?:[.,:]\d+)?)?(?![\d:])")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = rf"(?P<month>{'|'.join(_MONTHS)})[a-z]*\.?"
_DATES = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        r"(?<!\d)(?P<y>\d{4})[-/](?P<m>\d{1,2})[-/](?P<d>\d{1,2})(?!\d)",
        r"(?<!\d)(?P<d>\d{1,2})\.(?P<m>\d{1,2})\.(?P<y>\d{4})(?!\d)",
        rf"(?<!\d)(?P<d>\d{{1,2}})[ -]{_MONTH}[ -](?P<y>\d{{4}})(?!\d)",
        rf"\b{_MONTH} +(?P<d>\d{{1,2}}),? +(?:[\d:.]+ +)?(?P<y>\d{{4}})(?!\d)",
        r"(?<!\d)(?P<one>\d{1,2})/(?P<two>\d{1,2})/(?P<y>\d{4})(?!\d)",
    )
)
_CLEARED = re.compile(r"clear|congestion[- ]?(?:end|abat)|\bnormal\b|recover|un-?congest|\bceas", re.IGNORECASE)
_STATE = re.compile(
    r"(?:\b(?:set|raised|normal|end(?:ed|s)?)|clear(?:ed|s)?|recover(?:ed|s)?|un-?congested|ceas(?:ed|es)|abat(?:ed|es))\W*$",
    re.IGNORECASE,
)
"""The end of a line that says whether the alarm was set or cleared; nothing that matters follows."""
_KINDS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("cpu warn", re.compile(r"imsi ?mgr|imsi manager|cpu ?warn|(?:processor|cpu).*(?:warn|over|high)", re.IGNORECASE)),
    ("congestion", re.compile(r"congest|flow[- ]?control|scon\b", re.IGNORECASE)),
    ("link down", re.compile(r"(?:link|psp|slc|association|asp).*(?:down|fail|lost)", re.IGNORECASE)),
    ("link up", re.compile(r"(?:link|psp|slc|association|asp).*(?:up\b|establish|active)", re.IGNORECASE)),
)


@dataclass(frozen=True, slots=True)
class Trap:
    """One line of an alarm log."""

    line: int
    """Where it stands."""
    time_s: float
    """The time, since the first midnight [s]."""
    element: str
    """The element, as scenarios name it: ``stp2/slc4``, ``stp2`` or ``imsimgr``; empty if the line names none."""
    kind: str
    """What it is about: congestion, cpu warn, link down or link up."""
    edge: Literal["set", "cleared"]
    """Whether the alarm was set or cleared."""
    text: str
    """The line."""


@dataclass(frozen=True)
class Traps:
    """An alarm log."""

    file: str
    """What messages call the file."""
    traps: tuple[Trap, ...]
    """The traps, in the file's order."""
    unknown: tuple[tuple[int, str], ...]
    """Lines that are no trap that is known, with their numbers."""
    first_day: date | None = None
    """The day from whose midnight times count; None where the log has no dates."""

    def alarms(self) -> list[dict[str, Any]]:
        """Return alarms with the times at which they were set and cleared; None where they never were."""
        rows: list[dict[str, Any]] = []
        up: dict[tuple[str, str], dict[str, Any]] = {}
        for trap in self.traps:
            key = (trap.element, trap.kind)
            if trap.edge == "set" and key not in up:
                up[key] = {"element": trap.element, "kind": trap.kind, "set_s": trap.time_s, "cleared_s": None}
                rows.append(up[key])
            elif trap.edge == "cleared" and key in up:
                up.pop(key)["cleared_s"] = trap.time_s
        return rows


def read(path: str | os.PathLike[str]) -> Traps:
    """Read an alarm log.

    Raises:
        InputError: If it cannot be read, or holds no trap that is known.
    """
    return parse(text.read(path))


def parse(source: Text) -> Traps:
    """Understand the lines of an alarm log.

    Raises:
        InputError: If none of them is a trap that is known, or with every time or date that cannot be, and a last line
            that may be cut.
    """
    traps: list[Trap] = []
    unknown: list[tuple[int, str]] = []
    faults: list[Fault] = []
    day: date | None = None
    days: list[date | None] = []
    for line in source.lines:
        at = _TIME.findall(line.text)
        kind = next((name for name, pattern in _KINDS if pattern.search(line.text)), None)
        if not at or kind is None:
            unknown.append((line.number, line.text))
            continue
        try:
            seconds, day = _seconds(at), _day(line.text) or day
        except ValueError as error:
            faults.append(
                Fault(source.file, line.number, "", str(error), line.text, "correct it, or take the line out")
            )
            continue
        while day is None and traps and seconds < traps[-1].time_s - DAY_S / 2:
            seconds += DAY_S  # past midnight
        element = "imsimgr" if kind == "cpu warn" else element_of(line.text)
        edge: Literal["set", "cleared"] = "cleared" if _CLEARED.search(line.text) else "set"
        traps.append(Trap(line.number, seconds, element, kind, edge, line.text))
        days.append(day)
    if source.cut and traps:
        faults += _cut(source)
    if faults:
        raise InputError(faults)
    if not traps:
        rule = "holds no line with a time and a known alarm (congestion, IMSI manager, link down or up)"
        raise wrong_input(rule, way_out="give the alarm log as text", file=source.file)
    first = min((one for one in days if one is not None), default=None)
    if first is not None:
        traps = [
            replace(trap, time_s=trap.time_s + DAY_S * ((one or first) - first).days)
            for trap, one in zip(traps, days, strict=True)
        ]
        falls = all(later.time_s <= sooner.time_s for sooner, later in pairwise(traps))
        if falls and traps[-1].time_s < traps[0].time_s:
            traps.reverse()  # a log with the newest line on top
            faults += _orphans(source.file, traps)
    faults += _backwards(source.file, traps)
    if faults:
        raise InputError(faults)
    return Traps(source.file, tuple(traps), tuple(unknown), first)


def _cut(source: Text) -> Iterator[Fault]:
    """Yield a fault for a last line without line end about an alarm, unless it says whether that was set or cleared.

    Without these words a line means that the alarm was set, which is wrong where ``cleared`` is what was cut off; and
    the number of its link may be cut.
    """
    last = source.lines[-1]
    about = element_of(last.text) or any(pattern.search(last.text) for _, pattern in _KINDS)
    if about and _TIME.search(last.text) and not _STATE.search(last.text):
        rule = f"may be cut: the file ends without a line end after {last.text[-60:]!r}"
        way_out = "copy the log once more, or end the line if it is whole"
        yield Fault(source.file, last.number, "", rule, ABSENT, way_out)


def _seconds(times: Sequence[tuple[str, ...]]) -> float:
    """Return the first time of day that a line has.

    Raises:
        ValueError: If it has none that exists; the message is the rule.
    """
    for h, m, s in times:
        if (int(h) < 24 or (int(h), int(m), int(s or 0)) == (24, 0, 0)) and int(m) < 60 and int(s or 0) < 60:
            return 3600.0 * int(h) + 60.0 * int(m) + float(s or 0)
    raise ValueError(f"has no time of day: {':'.join(filter(None, times[0]))}")


def _day(words: str) -> date | None:
    """Return the date of a line, None if it has none.

    Raises:
        ValueError: If it does not exist, or may be read two ways; the message is the rule.
    """
    form = next((found for pattern in _DATES if (found := pattern.search(words))), None)
    if form is None:
        return None
    parts = form.groupdict()
    year = int(parts["y"])
    if "one" in parts:
        pairs = {(int(parts["two"]), int(parts["one"])), (int(parts["one"]), int(parts["two"]))}
        legal = [(month, day) for month, day in pairs if month <= 12]
        if len(legal) > 1:
            raise ValueError(f"has a date that can be read two ways, {form[0]}: write YYYY-MM-DD")
        month, day = legal[0] if legal else (0, 0)
    else:
        month = int(parts["m"]) if "m" in parts else 1 + _MONTHS.index(parts["month"][:3].lower())
        day = int(parts["d"])
    try:
        return date(year, month, day)
    except ValueError:
        raise ValueError(f"has a date that does not exist: {form[0]}") from None


def _orphans(file: str, traps: Sequence[Trap]) -> Iterator[Fault]:
    """Yield a fault for each first trap of an alarm that clears what is set later: the order may be another one."""
    first: dict[tuple[str, str], Trap] = {}
    for trap in traps:
        began = first.setdefault((trap.element, trap.kind), trap)
        if began.edge == "cleared" and trap.edge == "set":
            rule = f"is cleared before it was set, on line {trap.line}"
            yield Fault(file, began.line, trap.element, rule, began.text, "sort the log by time, or correct the line")
            first[trap.element, trap.kind] = trap


def _backwards(file: str, traps: Sequence[Trap]) -> Iterator[Fault]:
    """Yield a fault for each alarm that is cleared before it was set."""
    up: dict[tuple[str, str], Trap] = {}
    for trap in traps:
        key = (trap.element, trap.kind)
        if trap.edge == "set":
            up.setdefault(key, trap)
        elif (began := up.pop(key, None)) is not None and trap.time_s < began.time_s:
            rule = f"is cleared before it was set, on line {began.line}"
            yield Fault(file, trap.line, trap.element, rule, trap.text, "sort the log by time, or correct the line")


def check_elements(traps: Traps, scenario: Scenario) -> None:
    """Check that a scenario has the elements that traps name.

    Raises:
        InputError: With every trap of an element that it does not have, or of none.
    """
    links = scenario.topology.links.names() if scenario.topology.links else ()
    known = [*links, *dict.fromkeys(name.partition("/")[0] for name in links), "imsimgr"]
    faults = []
    for trap in traps.traps:
        if trap.element not in known:
            rule = f"names an element that {scenario.name} does not have" if trap.element else "names no element"
            faults.append(Fault(traps.file, trap.line, "", rule, trap.text, nearest(trap.element, known)))
    if faults:
        raise InputError(faults)


def dump(alarms: Iterable[dict[str, Any]], first_day: date | None = None) -> str:
    """Return alarms as CSV, with their dates where the log has some."""
    rows = ["element,kind,set,cleared"]
    for alarm in alarms:
        times = ("" if alarm[key] is None else clock(alarm[key], first_day) for key in ("set_s", "cleared_s"))
        rows.append(",".join([alarm["element"], alarm["kind"], *times]))
    return "\n".join(rows) + "\n"


def clock(seconds: float, first_day: date | None = None) -> str:
    """Return a time as HH:MM:SS, with its date where the first day is known."""
    whole = round(seconds)
    at = f"{whole // 3600 % 24:02d}:{whole // 60 % 60:02d}:{whole % 60:02d}"
    return at if first_day is None else f"{first_day + timedelta(whole // round(DAY_S))} {at}"
