"""Single figures of a run or a text, a row each: quantity, value, unit; what can be read two ways is asked."""

import math
import os
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from signalstorm.envs.model.errors import ABSENT, Fault, InputError, Shown
from signalstorm.envs.model.wording import nearest
from signalstorm.experiments.imports import tables, text

FIGURES: dict[str, tuple[str, str]] = {
    "convergence time": ("s", "end of the storm, from where times are counted"),
    "attempts": ("", "attach attempts behind the gate, which is what the counters of an MME count"),
    "requests": ("", "attach requests before the gate"),
    "successes": ("", "attaches completed"),
    "failures": ("", "attaches behind the gate that failed"),
    "peak request rate": ("1/s", "largest one-second rate of attach requests before the gate"),
    "peak admitted rate": ("1/s", "largest one-second rate of attach requests behind the gate"),
    "peak create-session rate": ("1/s", "largest one-second rate of create-session requests"),
    "rto-max": ("ms", "limit of the retransmission time-out"),
    "rto-min": ("ms", "limit of the retransmission time-out"),
    "rto-initial": ("ms", "limit of the retransmission time-out"),
    "queue start": ("messages", "queue above which a link is congested"),
    "queue stop": ("messages", "queue at or below which a link is not congested"),
    "queue discard": ("messages", "queue beyond which messages are discarded"),
    "offered rate": ("1/s", "attach requests before the gate"),
    "gate rate": ("1/s", "attach requests that the gate lets through"),
    "rejected rate": ("1/s", "attach requests that the gate turns away"),
    "messages per attach one way": ("messages", "towards the STP"),
    "messages per attach both ways": ("messages", "towards the STP and back"),
}
"""Name: unit and meaning."""

_TIMES_MS = {"ms": 1.0, "s": 1000.0, "sec": 1000.0, "seconds": 1000.0, "100ms": 100.0, "100 ms": 100.0, "min": 60_000.0}
_PER_TABLE = ("quantity", "value", "unit")
_RTO = re.compile(r"(?:sctp[- ]?)?rto[- _]?(?P<which>max|min|initial)", re.IGNORECASE)
_QUEUE = re.compile(r"queue.*(?:limit|size|mark|threshold)|(?:limit|size).*queue|^queue$", re.IGNORECASE)
_MESSAGES = re.compile(r"messages? per attach$", re.IGNORECASE)
_ALSO = {"nop rate": "gate rate"}
"""Other names of figures."""
_AGREE = 0.05


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure."""

    line: int
    """Where it stands."""
    name: str
    """A name of `FIGURES`."""
    value: float
    """The value, in the unit of `FIGURES`."""


def is_figures(header: tuple[str, ...]) -> bool:
    """Tell whether a table's header is that of figures."""
    return tuple(name.lower() for name in header[:3]) == _PER_TABLE


def read(path: str | os.PathLike[str], nop_rate_per_s: float | None = None) -> list[Figure]:
    """Read figures from a table with the columns quantity, value and unit.

    Args:
        path: The file.
        nop_rate_per_s: The gate's rate in force, against which a rate of refusals is checked.

    Raises:
        InputError: With everything that is wrong or can be read two ways.
    """
    table = tables.split(text.read(path))
    if not is_figures(table.header):
        rule = "must have the columns quantity, value and unit"
        raise InputError([Fault(table.file, None, "", rule, Shown(", ".join(table.header)), "rename its columns")])
    values, _ = tables.numbers(table.column(table.header[1]), table.file, table.header[1])
    faults: list[Fault] = []
    figures: list[Figure] = []
    for (line, cells), value in zip(table.rows, values, strict=True):
        found = _figure(table.file, line, cells[0], value, cells[2].strip().lower())
        if isinstance(found, Fault):
            faults.append(found)
        else:
            figures.append(found)
    faults += [*_twice(table.file, figures), *_refusals(table.file, figures, nop_rate_per_s)]
    if faults:
        raise InputError(sorted(faults, key=lambda fault: fault.line or 0))
    return figures


def _figure(file: str, line: int, name: str, value: float | None, unit: str) -> Figure | Fault:
    if value is None:
        return Fault(file, line, name, "must have a value", ABSENT, "give one, or take the row out")
    if not 0.0 <= value < math.inf:
        return Fault(file, line, name, "must be at least 0 and finite", value, "correct it, or take the row out")
    rto = _RTO.search(name)
    if rto is not None:
        return _limit(file, line, f"rto-{rto['which'].lower()}", value, unit)
    if _QUEUE.search(name) and name.lower() not in FIGURES:
        rule = f"is ambiguous: {value:,.0f} may be either mark of the links' queue"
        way_out = (
            "name it queue start (above it a link is congested), queue stop (at or below it no more) or queue discard "
            "(beyond it messages are lost); 8,000 and 5,000 are two marks of one queue, discard and stop"
        )
        return Fault(file, line, name, rule, ABSENT, way_out)
    if _MESSAGES.search(name.strip()):
        rule = f"is ambiguous: {value:g} messages per attach may be counted one way or both ways"
        way_out = "name it messages per attach one way (4 by the GPRS procedure) or both ways (8)"
        return Fault(file, line, name, rule, ABSENT, way_out)
    known = name.strip().lower().replace("_", " ")
    known = _ALSO.get(known, known)
    if known not in FIGURES:
        return Fault(file, line, name, "is no known figure", ABSENT, nearest(known, FIGURES))
    wanted = FIGURES[known][0]
    if wanted == "s":
        if unit not in _TIMES_MS:
            return Fault(file, line, name, "must have a unit of time", unit or ABSENT, "give s, ms or min")
        return Figure(line, known, value * _TIMES_MS[unit] / 1000.0)
    if wanted == "1/s" and unit not in ("1/s", "per s", "/s", "per second"):
        return Fault(file, line, name, "must be a rate", unit or ABSENT, "give the unit 1/s")
    return Figure(line, known, value)


def _limit(file: str, line: int, name: str, value: float, unit: str) -> Figure | Fault:
    """Read a limit of the retransmission time-out, which commands count in 100 ms and people in seconds."""
    if unit in _TIMES_MS:
        return Figure(line, name, value * _TIMES_MS[unit])
    rule = f"is ambiguous: {value:g} is {value / 10:g} s if it counts in 100 ms, as the command does, or {value:g} s"
    return Fault(file, line, name, rule, unit or ABSENT, "give the unit 100ms, ms or s")


def _twice(file: str, figures: list[Figure]) -> Iterator[Fault]:
    by_name: dict[str, list[Figure]] = defaultdict(list)
    for figure in figures:
        by_name[figure.name].append(figure)
    for name, found in by_name.items():
        if len({figure.value for figure in found}) > 1:
            unit = FIGURES[name][0]
            shown = Shown("; ".join(f"line {figure.line}: {figure.value:g} {unit}".rstrip() for figure in found))
            yield Fault(
                file, found[1].line, name, "is given twice, with different values", shown, "say which one holds"
            )


def _refusals(file: str, figures: list[Figure], nop_rate_per_s: float | None) -> Iterator[Fault]:
    """Offered less admitted must be what is turned away."""
    values = {figure.name: figure for figure in figures}
    offered, rejected = values.get("offered rate"), values.get("rejected rate")
    gate = values["gate rate"].value if "gate rate" in values else nop_rate_per_s
    if offered is None or rejected is None or gate is None:
        return
    expected = max(offered.value - gate, 0.0)
    if abs(rejected.value - expected) > _AGREE * max(expected, 1.0):
        rule = (
            f"fits no setting: of {offered.value:,.0f} per s a gate of {gate:,.0f} per s turns away {expected:,.0f}, "
            f"and {rejected.value:,.0f} would need one of {offered.value - rejected.value:,.0f}"
        )
        yield Fault(file, rejected.line, "rejected rate", rule, ABSENT, "take the row out, or say what it counts")
