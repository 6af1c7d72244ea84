"""What advise reads: a table of the latest counters, each turned into the whole network's mean rate.

A count is worth nothing without the length of its interval, so that is known or asked for; a column of one class of
subscribers is added to those of the others; and what cannot be is refused before it moves a gate the wrong way.
"""

import math
import os
from collections import Counter as Tally
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from signalstorm.agents.base import ACCEPTS, ADMITTED, CONGESTED, FAILURES, REQUESTS, SEEN, Counters
from signalstorm.envs.model.errors import ABSENT, Fault, InputError, Shown, wrong_input
from signalstorm.envs.model.scenario import Scenario
from signalstorm.experiments.calibrate_data import clock_start_s
from signalstorm.experiments.imports import tables, text
from signalstorm.experiments.imports.counters import to_rate
from signalstorm.experiments.imports.quantities import QUANTITIES, Unit, class_of, quantity_of, unit_of
from signalstorm.experiments.imports.tables import Table

_FLOWS = ((ADMITTED, ACCEPTS), (REQUESTS, ADMITTED), (REQUESTS, ACCEPTS))
"""What goes in and what comes of it: over a while there cannot be more of the second than of the first. Failures are
not among them, for some count what the gate refuses too."""
_UNDER_WAY_S = 30.0
"""What went in may come out so much later: a wait in the gate's queue and a guard timer of 15 s each."""
_DOUBTFUL, _WRONG = 1.02, 2.0
"""More comes out than went in by so much: said, and refused."""


def read_history(
    path: str | os.PathLike[str],
    scenario: Scenario,
    more: Mapping[str, bool] | None = None,
    *,
    interval_s: float | None = None,
) -> list[Counters]:
    """Read counters from a table: a column ``until`` or ``time_s``, and one per counter with its unit.

    Raises:
        InputError: With everything that is wrong or ambiguous.
    """
    return history_of(text.read(path), scenario, more, interval_s=interval_s)


def history_of(
    source: text.Text,
    scenario: Scenario,
    more: Mapping[str, bool] | None = None,
    *,
    interval_s: float | None = None,
) -> list[Counters]:
    """Read counters from lines, the time of a row being the end of its interval.

    Args:
        source: The lines.
        scenario: The network.
        more: Names of further counters that a policy sees, and whether each is a rate.
        interval_s: The length of an interval; by default the distance of the times.

    Raises:
        InputError: With everything that is wrong or ambiguous.
    """
    if interval_s is not None and not 0.0 < interval_s < math.inf:
        raise wrong_input("must be above 0 s and finite", interval_s, "give the interval's length", file="--interval")
    table = tables.split(source)
    time = next((n for n in table.header if tables.is_time(table.column(n)) or n.lower() in ("time_s", "until")), None)
    if time is None:
        raise wrong_input("has no column until or time_s", ABSENT, "add the end of each interval", file=table.file)
    ends, clock = tables.times(table.column(time), table.file, time)
    if not all(0.0 < after - before < 0.5 * tables.DAY_S for before, after in pairwise(ends)):
        # Times of day that fall from row to row read as one day each: a rate over a day would be next to nothing.
        way_out = "sort the rows: the oldest interval first, the latest last, each once"
        raise wrong_input("must rise from row to row, by less than 12 h", ABSENT, way_out, file=table.file, key=time)
    shift = clock_start_s(scenario, table.file) if clock else 0.0
    columns, faults = _columns(table, time, more or {})
    counted = next((column for column in columns if column.unit == "count"), None)
    lengths, unsure = _lengths(table, time, ends, interval_s, counted, scenario.control_interval_s)
    faults += unsure
    if not columns and not faults:
        raise wrong_input("has none of the counters", ABSENT, f"give some of {', '.join(SEEN)}", file=table.file)
    if faults:
        raise InputError(faults)
    series, faults = _added(table, columns, lengths, scenario)
    history = [
        Counters(
            end - shift, length, {name: value for name, values in series.items() if (value := values[i]) is not None}
        )
        for i, (end, length) in enumerate(zip(ends, lengths, strict=True))
    ]
    faults += _impossible(table, series, history, scenario)
    if faults:
        raise InputError(faults)
    return history


def doubts(history: Sequence[Counters]) -> tuple[str, ...]:
    """Say where more came out in the latest interval than can have gone in; rounding and delays are allowed for."""
    return tuple(
        f"{out} ({history[-1].values[out]:.4g}/s) are more than the {into} ({history[-1].values[into]:.4g}/s) explain: "
        "see whether both columns count the same network and interval"
        for into, out, ratio in _excesses(history, len(history) - 1)
        if ratio > _DOUBTFUL
    )


@dataclass(frozen=True)
class _Column:
    """A column of the table that is a counter."""

    header: str
    name: str
    """The counter."""
    unit: Unit | None
    """None for a level."""
    of: str
    """The class of subscribers that it counts; empty for all."""
    values: list[float | None] = field(compare=False)


def _columns(table: Table, time: str, more: Mapping[str, bool]) -> tuple[list[_Column], list[Fault]]:
    """Return the columns that are counters, and what is wrong with their cells and names."""
    found: list[_Column] = []
    faults: list[Fault] = []
    for header in table.header:
        if header == time:
            continue
        own = _named(header, more)
        name = own or (CONGESTED if CONGESTED in header.lower() else quantity_of(header))
        if name is None or (name not in SEEN and own is None):
            continue
        is_level = name == CONGESTED or (own is not None and not more[own])
        unit = None if is_level else unit_of(header)
        if not is_level and unit is None:
            way_out = f"name it '{header} count' or '{header} per second'"
            rule = "is ambiguous: it may be a count per interval or a rate"
            faults.append(Fault(table.file, 1, header, rule, ABSENT, way_out))
        cells = table.column(header)
        try:
            values = tables.numbers(cells, table.file, header)[0]
        except InputError as error:
            faults += error.faults
            continue
        for (line, _), value in zip(cells, values, strict=True):
            if name in SEEN and value is not None and not 0.0 <= value < math.inf:
                rule = "must be at least 0 and finite: a counter that was reset says nothing of that interval"
                faults.append(Fault(table.file, line, header, rule, value, "correct the cell, or leave it empty"))
        found.append(_Column(header, name, unit, "" if is_level else class_of(header), values))
    return found, faults


def _lengths(
    table: Table,
    time: str,
    ends: Sequence[float],
    given_s: float | None,
    counted: _Column | None,
    default_s: float,
) -> tuple[list[float], list[Fault]]:
    """Return the length of each row's interval, and why it is not known where a column counts per interval."""
    steps = [round(after - before, 6) for before, after in pairwise(ends)]
    if not steps and given_s is None:
        way_out = "give --interval in seconds, or rates per second"
        rule = "is a count, but one row does not say how long its interval is"
        fault = [] if counted is None else [Fault(table.file, table.rows[0][0], counted.header, rule, ABSENT, way_out)]
        return [default_s], fault
    (usual_s, often), *others = Tally(steps).most_common() or [(given_s or default_s, 0)]
    faults = []
    if given_s is not None:
        if steps and usual_s < given_s * (1.0 - 1e-6):
            rule = f"is longer than the {usual_s:g} s from row to row"
            faults.append(Fault("--interval", None, "", rule, given_s, "give the interval of one row"))
        usual_s = given_s
    elif counted is not None:
        odd = [
            row[0]
            for step, row in zip(steps, table.rows[1:], strict=True)
            if step > usual_s or any(count == often for _, count in others)
        ]
        if odd:
            rule = "the rows do not lie at one distance, so the length of an interval is not known"
            way_out = "give --interval in seconds, or rates per second"
            faults.append(Fault(table.file, odd[0], time, rule, Shown(_distances(steps)), way_out))
    # A row that follows sooner than usual, such as a last one at the end of a run, cannot be longer than that.
    return [usual_s, *(min(step, usual_s) for step in steps)], faults


def _distances(steps: Iterable[float]) -> str:
    return f"distances of {', '.join(f'{step:g}' for step in sorted(set(steps)))} s"


def _added(
    table: Table, columns: Sequence[_Column], lengths: Sequence[float], scenario: Scenario
) -> tuple[dict[str, list[float | None]], list[Fault]]:
    """Return each counter of the whole network, the classes' columns added up, in its rate per second."""
    by_name: dict[str, list[_Column]] = defaultdict(list)
    for column in columns:
        by_name[column.name].append(column)
    series: dict[str, list[float | None]] = {}
    faults: list[Fault] = []
    for name, found in by_name.items():
        by_class: dict[str, list[_Column]] = defaultdict(list)
        for column in found:
            by_class[column.of].append(column)
        twice = next((same for same in by_class.values() if len(same) > 1), None)
        if twice is not None:
            heads = " and ".join(repr(column.header) for column in twice)
            way_out = "leave one of them in the file, or name the others for what they count"
            faults.append(Fault(table.file, 1, twice[1].header, f"is {name} once more: {heads}", ABSENT, way_out))
            continue
        rates = {of: _rates(same[0], lengths) for of, same in by_class.items()}
        parts = [values for of, values in rates.items() if of]
        summed = [
            None if None in row else math.fsum(x for x in row if x is not None) for row in zip(*parts, strict=True)
        ]
        if "" in rates:
            series[name] = rates[""]
            faults += _contradicted(table, name, rates[""], summed)
            continue
        lacking = [of for of in _classes(scenario) if of not in rates]
        if lacking:
            rule = f"counts {' and '.join(rates)} only, but {scenario.name} has {' and '.join(lacking)} too"
            way_out = f"add the column of {' and '.join(lacking)}, or one of all"
            faults.append(Fault(table.file, 1, found[0].header, rule, ABSENT, way_out))
            continue
        series[name] = summed
    return series, faults


def _rates(column: _Column, lengths: Sequence[float]) -> list[float | None]:
    unit = column.unit
    return [
        value if value is None or unit is None else to_rate(value, unit, length)
        for value, length in zip(column.values, lengths, strict=True)
    ]


def _contradicted(
    table: Table, name: str, whole: Sequence[float | None], summed: Sequence[float | None]
) -> Iterator[Fault]:
    """Yield a fault where the classes add up to more than the column of all."""
    for (line, _), all_of_it, parts in zip(table.rows, whole, summed, strict=False):
        if all_of_it is not None and parts is not None and parts > _DOUBTFUL * all_of_it + 1e-9:
            rule = f"is {all_of_it:.4g}/s in the column of all, but the classes add up to {parts:.4g}/s"
            yield Fault(table.file, line, name, rule, ABSENT, "leave the column that is meant in the file")


def _classes(scenario: Scenario) -> list[str]:
    """Return the classes by which an operator of this network counts."""
    own = [class_of(group.name) for group in scenario.subscribers]
    by_access = ["4G"] if scenario.access == "eps" else ["2G", "3G"]
    return list(dict.fromkeys(own)) if all(own) else by_access


def _impossible(
    table: Table, series: Mapping[str, Sequence[float | None]], history: Sequence[Counters], scenario: Scenario
) -> Iterator[Fault]:
    """Yield what the subscribers cannot cause, and where far more came out than went in."""
    size = float(sum(group.size for group in scenario.subscribers))
    for i, seen in enumerate(history):
        line = table.rows[i][0]
        way_out = "see whether the unit and the interval are right; correct the cell, or leave it empty"
        for name in (REQUESTS, ADMITTED, ACCEPTS, FAILURES):
            rate = series[name][i] if name in series else None
            most = QUANTITIES[name].most(size, seen.interval_s)
            if rate is not None and rate * seen.interval_s > most:
                shown = Shown(f"{rate:,.4g} per s, {rate * seen.interval_s:,.0f} in {seen.interval_s:g} s")
                yield Fault(table.file, line, name, f"cannot be, with {size:,.0f} subscribers", shown, way_out)
        for into, out, ratio in _excesses(history, i):
            if ratio > _WRONG:
                rule = f"cannot be {seen.values[out]:,.4g}/s where {into} are {seen.values[into]:,.4g}/s"
                yield Fault(table.file, line, out, rule, ABSENT, way_out)


def _excesses(history: Sequence[Counters], at: int) -> Iterator[tuple[str, str, float]]:
    """Yield what comes out of what in an interval, and its share of all that went in by then and was under way."""
    if at < 0:
        return
    seen = history[at]
    for into, out in _FLOWS:
        told_better = (into, out) == (REQUESTS, ACCEPTS) and ADMITTED in seen.values
        if into not in seen.values or out not in seen.values or told_better:
            continue
        events = seen.values[out] * seen.interval_s
        entered = seen.values[into] * seen.interval_s
        left_s = _UNDER_WAY_S
        for before in reversed(history[:at]):
            if left_s <= 0.0:
                break
            entered += before.values.get(into, math.inf) * min(before.interval_s, left_s)
            left_s -= before.interval_s
        if events > entered + 1.0:
            yield into, out, events / entered if entered > 0.0 else math.inf


def _named(header: str, names: Iterable[str]) -> str | None:
    """Return the longest name with which a header begins; None if there is none."""
    plain = f"{header.strip().lower()} "
    return max((name for name in names if plain.startswith(f"{name.lower()} ")), key=len, default=None)
