"""Advise: the next setting for a storm that is going on, from the latest counters. It never touches equipment."""

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from signalstorm.agents import rule_file
from signalstorm.agents.base import CONGESTED, SEEN, Controller, Counters, Decision
from signalstorm.agents.rules import GATE, RULES, TableCard
from signalstorm.envs.model.errors import ABSENT, Fault, InputError, wrong_input
from signalstorm.envs.model.knob_table import KNOBS, KnobValue
from signalstorm.envs.model.knobs import resolve, validate
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.model.wording import nearest
from signalstorm.experiments.closed_loop import latest
from signalstorm.experiments.export.commands import commands
from signalstorm.experiments.export.releases import find
from signalstorm.experiments.export.staros import lines
from signalstorm.experiments.imports import tables, text
from signalstorm.experiments.imports.counters import to_rate
from signalstorm.experiments.imports.quantities import Unit, quantity_of, unit_of

DEFAULT_RULE = "rate-matching"
_OLD = 1.5
"""Counters older than so many intervals are late."""


@dataclass(frozen=True)
class Advice:
    """What to do next."""

    decision: Decision
    """The decision, with its reason."""
    setting: Mapping[str, KnobValue]
    """The complete setting that results."""
    commands: tuple[str, ...]
    """The lines to enter; none if nothing changes."""
    seen: Counters | None
    """The counters it rests on."""

    def to_json(self) -> dict[str, Any]:
        """Return the advice in JSON's own types."""
        return {
            "knobs": dict(self.decision.knobs),
            "reason": self.decision.reason,
            "said": list(self.decision.said),
            "commands": list(self.commands),
            "setting": dict(self.setting),
            "counters": None if self.seen is None else {"end_s": self.seen.end_s, **self.seen.values},
        }


def advise(
    scenario: Scenario,
    history: Sequence[Counters],
    rule: str | Controller = DEFAULT_RULE,
    setting: Mapping[str, KnobValue] | None = None,
    *,
    now_s: float | None = None,
    release: str | int | None = None,
) -> Advice:
    """Return the next setting.

    Args:
        scenario: The network, with its present setting.
        history: Counters so far, the latest last.
        rule: A name from `RULES`, a file with a table, or a controller.
        setting: What is in force by now, where it is no longer the scenario's present setting.
        now_s: The time, from the scenario's start; late counters are then said to be late.
        release: The StarOS release of the box, for the command.

    Raises:
        InputError: If there is no such rule, its file is wrong, or the setting is not legal.
    """
    controller = rule_of(rule) if isinstance(rule, str) else rule
    override = dict(validate(setting or {}))
    in_force = resolve(override, scenario)
    seen, said = latest(history)
    if seen is None:
        return Advice(Decision({}, "no counters have arrived yet"), in_force, (), None)
    if now_s is not None and now_s - seen.end_s > _OLD * seen.interval_s:
        said = (*said, f"the latest counters are {now_s - seen.end_s:g} s old")
    made = controller.decide(seen, in_force)
    decision = Decision(made.knobs, made.reason, (*said, *made.said))
    if not made.knobs:
        return Advice(decision, in_force, (), seen)
    if "nop_rate" in made.knobs:
        override.pop("nop_queue", None)
        override.pop("nop_queue_wait_s", None)
    after = resolve({**override, **made.knobs}, scenario)
    told = [line.strip() for line in lines(_changed(commands(after, in_force, find(release)), made.knobs), {})]
    return Advice(decision, after, tuple(line for line in told if line not in ("config", "end")), seen)


def rule_of(named: str) -> Controller:
    """Return the rule of a name, or of a file with a table.

    Raises:
        InputError: If there is no such rule, the file is wrong, or the table is of another knob than the gate's rate.
    """
    if named in RULES:
        return RULES[named]
    if Path(named).exists() or named.endswith((".yaml", ".yml")) or os.sep in named:
        found = rule_file.load(named)
        if found.knob != GATE:
            rule = f"must be of {GATE}; advise moves nothing else"
            raise wrong_input(rule, found.knob, "run it with evaluate or compare", file=named, key="knob")
        return TableCard(found.law)
    raise wrong_input("must be the name of a rule, or a file with one", named, nearest(named, RULES), file="--rule")


def read_history(
    path: str | os.PathLike[str], scenario: Scenario, more: Mapping[str, bool] | None = None
) -> list[Counters]:
    """Read counters from a table: a column ``until`` or ``time_s``, and one per counter with its unit.

    Raises:
        InputError: With everything that is wrong or ambiguous.
    """
    return history_of(text.read(path), scenario, more)


def history_of(source: text.Text, scenario: Scenario, more: Mapping[str, bool] | None = None) -> list[Counters]:
    """Read counters from lines, the time of a row being the end of its interval.

    Args:
        source: The lines.
        scenario: The network.
        more: Names of further counters that a policy sees, and whether each is a rate.

    Raises:
        InputError: With everything that is wrong or ambiguous.
    """
    table = tables.split(source)
    time = next((n for n in table.header if tables.is_time(table.column(n)) or n.lower() in ("time_s", "until")), None)
    if time is None:
        raise wrong_input("has no column until or time_s", ABSENT, "add the end of each interval", file=table.file)
    ends, clock = tables.times(table.column(time), table.file, time)
    if not all(0.0 < after - before < 0.5 * tables.DAY_S for before, after in pairwise(ends)):
        # Times of day that fall from row to row read as one day each: a rate over a day would be next to nothing.
        way_out = "sort the rows: the oldest interval first, the latest last, each once"
        raise wrong_input("must rise from row to row, by less than 12 h", ABSENT, way_out, file=table.file, key=time)
    shift = _clock_start_s(scenario, table.file) if clock else 0.0
    interval_s = ends[-1] - ends[-2] if len(ends) > 1 else scenario.control_interval_s
    faults: list[Fault] = []
    columns: dict[str, tuple[Unit | None, list[float | None]]] = {}
    for header in table.header:
        if header == time:
            continue
        own = _named(header, more or {})
        name = own or (CONGESTED if CONGESTED in header.lower() else quantity_of(header))
        is_level = name == CONGESTED or (own is not None and not (more or {})[own])
        unit = None if is_level else unit_of(header)
        if name is None or (name not in SEEN and own is None):
            continue
        if not is_level and unit is None:
            way_out = f"name it '{header} count' or '{header} per second'"
            faults.append(
                Fault(table.file, 1, header, "is ambiguous: a count per interval, or a rate?", ABSENT, way_out)
            )
        cells = table.column(header)
        columns[name] = (unit, tables.numbers(cells, table.file, header)[0])
        for (line, _), value in zip(cells, columns[name][1], strict=True):
            if name in SEEN and value is not None and not 0.0 <= value < math.inf:
                rule = "must be at least 0 and finite: a counter that was reset says nothing of that interval"
                faults.append(Fault(table.file, line, header, rule, value, "correct the cell, or leave it empty"))
    if faults:
        raise InputError(faults)
    if not columns:
        raise wrong_input("has none of the counters", ABSENT, f"give some of {', '.join(SEEN)}", file=table.file)
    return [
        Counters(
            end - shift,
            interval_s,
            {
                name: value if unit is None else to_rate(value, unit, interval_s)
                for name, (unit, cells) in columns.items()
                if (value := cells[i]) is not None
            },
        )
        for i, end in enumerate(ends)
    ]


def _named(header: str, names: Iterable[str]) -> str | None:
    """Return the longest name with which a header begins; None if there is none."""
    plain = f"{header.strip().lower()} "
    return max((name for name in names if plain.startswith(f"{name.lower()} ")), key=len, default=None)


def _changed(todo: Sequence[Any], knobs: Mapping[str, KnobValue]) -> list[Any]:
    """Return the commands that set what changes."""
    return [command for command in todo if set(command.knobs) & set(knobs)]


def _clock_start_s(scenario: Scenario, file: str) -> float:
    from signalstorm.experiments.calibrate_data import clock_start_s

    return clock_start_s(scenario, file)


def in_words(advice: Advice) -> str:
    """Return the advice for the person at the console."""
    rows = []
    if advice.commands:
        rows += ["enter, after review:", *(f"  {line}" for line in advice.commands)]
        rows += [f"  {name}: {KNOBS[name].text(value)}" for name, value in advice.decision.knobs.items()]
    else:
        rows.append("change nothing")
    rows.append(f"because {advice.decision.reason}")
    return "\n".join([*rows, *(f"note: {sentence}" for sentence in advice.decision.said)])
