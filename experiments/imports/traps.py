"""Traps as text: which alarm was set and cleared, when, of which element."""

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from signalstorm.envs.model.errors import Fault, InputError, wrong_input
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.model.wording import nearest
from signalstorm.experiments.imports import text
from signalstorm.experiments.imports.quantities import element_of
from signalstorm.experiments.imports.tables import DAY_S
from signalstorm.experiments.imports.text import Text

_TIME = re.compile(r"(?<!\d)(?P<h>[01]?\d|2[0-4]):(?P<m>[0-5]\d)(?::(?P<s>[0-5]\d)(?:\.\d+)?)?(?!\d)")
_CLEARED = re.compile(r"clear|congestion[- ]?(?:end|abat)|\bnormal\b|recover|un-?congest|\bceas", re.IGNORECASE)
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
    """The time of day, since the first midnight [s]."""
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
        InputError: If none of them is a trap that is known.
    """
    traps: list[Trap] = []
    unknown: list[tuple[int, str]] = []
    for line in source.lines:
        at = _TIME.search(line.text)
        kind = next((name for name, pattern in _KINDS if pattern.search(line.text)), None)
        if at is None or kind is None:
            unknown.append((line.number, line.text))
            continue
        seconds = 3600.0 * int(at["h"]) + 60.0 * int(at["m"]) + float(at["s"] or 0)
        while traps and seconds < traps[-1].time_s - DAY_S / 2:
            seconds += DAY_S  # past midnight
        element = "imsimgr" if kind == "cpu warn" else element_of(line.text)
        edge: Literal["set", "cleared"] = "cleared" if _CLEARED.search(line.text) else "set"
        traps.append(Trap(line.number, seconds, element, kind, edge, line.text))
    if not traps:
        rule = "holds no line with a time and a known alarm (congestion, IMSI manager, link down or up)"
        raise wrong_input(rule, way_out="give the alarm log as text", file=source.file)
    return Traps(source.file, tuple(traps), tuple(unknown))


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


def dump(alarms: Iterable[dict[str, Any]]) -> str:
    """Return alarms as CSV, times of day as HH:MM:SS."""
    rows = ["element,kind,set,cleared"]
    for alarm in alarms:
        times = ("" if alarm[key] is None else clock(alarm[key]) for key in ("set_s", "cleared_s"))
        rows.append(",".join([alarm["element"], alarm["kind"], *times]))
    return "\n".join(rows) + "\n"


def clock(seconds: float) -> str:
    """Return a time of day as HH:MM:SS."""
    whole = round(seconds)
    return f"{whole // 3600 % 24:02d}:{whole // 60 % 60:02d}:{whole % 60:02d}"
