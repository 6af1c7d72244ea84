"""What a calibration compares: observed series, alarms and figures on one side, the model's on the other.

Everything observed becomes one vector. Counts are compared by their square roots, whose chance errors are alike for
small and large ones; times by their difference.
"""

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from signalstorm.envs.model.batch import Batch
from signalstorm.envs.model.errors import ABSENT, Fault, InputError, wrong_input
from signalstorm.envs.model.kernels import layout
from signalstorm.envs.model.metrics import outcomes, watched_s
from signalstorm.envs.model.parameters import setting_matrix
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.model.wording import nearest
from signalstorm.experiments.imports import counters, figures, tables, text, traps
from signalstorm.experiments.imports.counters import Counter, Meaning
from signalstorm.experiments.imports.quantities import CLASSES
from signalstorm.experiments.imports.tables import DAY_S

Floats = npt.NDArray[np.float64]

RATE_ERROR = 0.05
"""Share by which a published rate may be off, and by which the model is allowed to be."""
TIME_ERROR_S = 120.0
"""Time by which a published time of an alarm may be off [s]."""
_CHANCE = 0.5
"""The standard deviation of the square root of a Poisson count."""
MOST_ERRORS = 20.0
"""A residual counts as at most so many errors: an alarm that never comes must not outweigh all else."""
_COUNTERS: dict[str, tuple[int, ...]] = {
    "attach requests": (layout.K_ATTEMPTS,),
    "admitted": (layout.K_ADMITTED,),
    "attach accepts": (layout.K_SUCCESSES,),
    "attach rejects": (layout.K_REFUSED_CONGESTION, layout.K_REFUSED_GATE_FAILURE, layout.K_REFUSED_NETWORK),
    "refused for congestion": (layout.K_REFUSED_CONGESTION,),
    "attach failures": (layout.K_REFUSED_NETWORK, layout.K_LATE),
    "create-session requests": (layout.K_SESSIONS,),
    "network detaches": (layout.K_DETACH_NETWORK,),
    "subscriber detaches": (layout.K_DETACH_SUBSCRIBER,),
    "location refreshes": (layout.K_REFRESHES,),
}
"""The model's counters of each quantity that is not of a link."""
_LINK_ROWS = {
    "link tx": layout.L_SUM_TX,
    "stp tx": layout.L_SUM_TX,
    "link rx": layout.L_SUM_RX,
    "stp rx": layout.L_SUM_RX,
}


@dataclass(frozen=True)
class Series:
    """Rates, interval by interval, in the scenario's own time."""

    quantity: str
    """What is counted."""
    of: str
    """The link, STP or class of subscribers; empty for all."""
    share: float
    """The class's share of all subscribers; 1 for all."""
    start_s: Floats
    """Beginning of each interval [s]."""
    end_s: Floats
    """End of each interval [s]."""
    rates_per_s: Floats
    """Mean rate of each interval [1/s]."""

    @property
    def name(self) -> str:
        """A name for people."""
        return f"{self.quantity} of {self.of}" if self.of else self.quantity


@dataclass(frozen=True)
class FirstAlarm:
    """When an element's first alarm was set."""

    element: str
    """An STP, a link, or ``imsimgr``."""
    time_s: float
    """From the scenario's start [s]."""

    @property
    def name(self) -> str:
        """A name for people."""
        return f"first alarm of {self.element}"


@dataclass(frozen=True)
class Single:
    """A single figure of a run."""

    name: str
    """A name of `figures.FIGURES`."""
    value: float
    """Its value, in the unit given there."""


@dataclass(frozen=True)
class Observed:
    """A scenario and what was observed of it."""

    scenario: Scenario
    """The scenario."""
    series: tuple[Series, ...] = ()
    """Series of rates."""
    alarms: tuple[FirstAlarm, ...] = ()
    """First alarms."""
    singles: tuple[Single, ...] = ()
    """Single figures."""
    notes: tuple[str, ...] = field(default=(), compare=False)
    """What was left out, in words."""

    def __len__(self) -> int:
        return sum(len(s.rates_per_s) for s in self.series) + len(self.alarms) + len(self.singles)

    @cached_property
    def names(self) -> list[str]:
        """What each entry of the vector is."""
        binned = [
            f"{s.name} {start:g} to {end:g} s"
            for s in self.series
            for start, end in zip(s.start_s, s.end_s, strict=True)
        ]
        return [*binned, *(a.name for a in self.alarms), *(one.name for one in self.singles)]

    @cached_property
    def lengths_s(self) -> Floats:
        """The length of each interval; 1 for what is no rate, whose unit is then the count itself [s]."""
        series = [s.end_s - s.start_s for s in self.series]
        return np.concatenate([*series, np.ones(len(self.alarms) + len(self.singles))])

    @cached_property
    def is_time(self) -> npt.NDArray[np.bool_]:
        """Which entries are times of alarms."""
        series = sum(len(s.rates_per_s) for s in self.series)
        return np.array([False] * series + [True] * len(self.alarms) + [False] * len(self.singles))

    @cached_property
    def plain(self) -> Floats:
        """The observed vector in its own units."""
        parts = [s.rates_per_s for s in self.series]
        return np.concatenate(
            [*parts, np.array([a.time_s for a in self.alarms]), np.array([one.value for one in self.singles])]
        )

    @cached_property
    def errors(self) -> Floats:
        """By how much each entry of the compared vector may be off."""
        return np.where(self.is_time, TIME_ERROR_S, np.hypot(RATE_ERROR / 2.0 * self.compared(self.plain), _CHANCE))

    def compared(self, plain: Floats) -> Floats:
        """Turn vectors in their own units into those that are compared; the last axis is the entries."""
        return np.where(self.is_time, plain, np.sqrt(np.maximum(plain, 0.0) * self.lengths_s))

    @cached_property
    def target(self) -> Floats:
        """The observed vector as it is compared."""
        return self.compared(self.plain)


def model_vectors(
    observed: Observed, scenarios: Sequence[Scenario], storms: Sequence[int], threads: int | None
) -> Floats:
    """Run scenarios and return what they come to, in the units of what was observed.

    Args:
        observed: What was observed.
        scenarios: One per row, all of one structure.
        storms: The storm number of each row.
        threads: Threads at most.

    Returns:
        One vector per row, shape (rows, entries).
    """
    batch = Batch(scenarios, storms, setting_matrix([{}], observed.scenario), threads=threads)
    edges = {round(t / batch.dt) for s in observed.series for ends in (s.start_s, s.end_s) for t in ends}
    marks = sorted(edges | {batch.end} if observed.alarms or observed.singles else edges)
    linked = any(s.quantity in _LINK_ROWS for s in observed.series)
    counts: dict[int, Floats] = {}
    links: dict[int, Floats] = {}
    for mark in marks:
        batch.run(max(mark - batch.step, 0))
        counts[mark] = batch.counters()
        if linked:
            links[mark] = batch.links()
    columns = [column for s in observed.series for column in _series(s, observed.scenario, batch, counts, links)]
    columns += _alarms(observed, batch)
    columns += _singles(observed, batch)
    return np.array(columns).T.reshape(len(scenarios), len(observed))


def _series(
    series: Series, scenario: Scenario, batch: Batch, counts: Mapping[int, Floats], links: Mapping[int, Floats]
) -> Iterator[Floats]:
    for start_s, end_s in zip(series.start_s, series.end_s, strict=True):
        first, last = round(start_s / batch.dt), round(end_s / batch.dt)
        if series.quantity in _LINK_ROWS:
            row = _LINK_ROWS[series.quantity]
            hit = [i for i, name in enumerate(_link_names(scenario)) if series.of in (name, name.partition("/")[0])]
            gained = (links[last][hit, row] - links[first][hit, row]).sum(axis=0)
        else:
            rows = list(_COUNTERS[series.quantity])
            gained = (counts[last][rows] - counts[first][rows]).sum(axis=0) * series.share
        yield np.asarray(gained / (end_s - start_s))


def _alarms(observed: Observed, batch: Batch) -> list[Floats]:
    """Return the time of the first alarm of each element, the horizon where there is none."""
    if not observed.alarms:
        return []
    names = _link_names(observed.scenario)
    logs = batch.alarms()
    columns = []
    for alarm in observed.alarms:
        numbers = {i for i, name in enumerate(names) if alarm.element in (name, name.partition("/")[0])}
        wanted = {layout.ALARM_IMSIMGR} if alarm.element == "imsimgr" else numbers
        times = [
            next((t for t, element, up in log if up and element in wanted), observed.scenario.horizon_s) for log in logs
        ]
        columns.append(np.array(times))
    return columns


def _singles(observed: Observed, batch: Batch) -> list[Floats]:
    if not observed.singles:
        return []
    o = outcomes(batch)
    horizon = watched_s(observed.scenario)
    found = {
        "convergence time": np.where(np.isnan(o.convergence_time_s), horizon, o.convergence_time_s),
        "attempts": o.admitted,
        "requests": o.attempts,
        "successes": o.successes,
        "failures": o.failures,
        "peak request rate": o.peak_request_rate_per_s,
        "peak admitted rate": o.peak_admitted_rate_per_s,
        "peak create-session rate": o.peak_session_rate_per_s,
    }
    return [found[one.name] for one in observed.singles]


COMPARABLE = (
    "convergence time", "attempts", "requests", "successes", "failures", "peak request rate", "peak admitted rate",
    "peak create-session rate",
)  # fmt: skip
"""Figures that can be compared with the model."""


def read_observed(
    scenario: Scenario,
    files: Sequence[str | os.PathLike[str]],
    columns: Mapping[str, Meaning] | None = None,
    interval_s: float | None = None,
    marks: str | None = None,
) -> Observed:
    """Read what was observed of a scenario: series, alarms and figures, a file each.

    Args:
        scenario: The scenario, whose `clock_start` places times of day.
        files: Tables of counters, alarm logs as text or as `import traps` writes them, or tables of figures.
        columns: What columns hold, where their names do not say.
        interval_s: The length of an interval of counters [s]; by default the distance of the times.
        marks: Whether a time of counters marks the ``start`` or the ``end`` of its interval.

    Raises:
        InputError: With everything that is wrong or ambiguous, or if nothing can be compared.
    """
    series: list[Series] = []
    alarms: list[FirstAlarm] = []
    singles: list[Single] = []
    notes: list[str] = []
    subscribers = float(sum(group.size for group in scenario.subscribers))
    classes = [group.name for group in scenario.subscribers]
    for file in files:
        source = text.read(file)
        log = _alarm_log(source)
        if log is not None:
            traps.check_elements(log, scenario)
            listed = text.clean(traps.dump(log.alarms(), log.first_day).encode(), os.fspath(file))
            alarms += _first_alarms(tables.split(listed), scenario)
            notes += [f"{file}: {len(log.unknown)} lines are no trap that is known, left out"] if log.unknown else []
            continue
        table = tables.split(source)
        if figures.is_figures(table.header):
            rate = scenario.present.get("nop_rate")
            for figure in figures.read(file, None if rate is None or isinstance(rate, str) else float(rate)):
                if figure.name in COMPARABLE:
                    singles.append(Single(figure.name, figure.value))
                else:
                    notes.append(f"{file}: {figure.name} is no outcome of a run, left out")
        elif {"element", "kind", "set"} <= set(table.header):
            alarms += _first_alarms(table, scenario)
        else:
            own = {name: meaning for name, meaning in (columns or {}).items() if name in table.header}
            for counter in counters.read(
                file, own, interval_s=interval_s, marks=marks, subscribers=subscribers, classes=classes
            )[0]:
                found, note = _placed(counter, scenario, os.fspath(file))
                series += [] if found is None else [found]
                notes += [note] if note else []
    if not (series or alarms or singles):
        raise wrong_input(
            "hold nothing that can be compared", way_out="; ".join(notes), file=", ".join(map(str, files))
        )
    return Observed(scenario, tuple(series), tuple(alarms), tuple(singles), tuple(notes))


def _alarm_log(source: text.Text) -> traps.Traps | None:
    """Return a file's traps if it is an alarm log as text, in which most lines are traps; None if it is a table.

    Raises:
        InputError: If it is a log with times or dates that cannot be.
    """
    heading = source.lines[0].text if source.lines else ""
    if {"element", "kind", "set"} <= set(heading.split(",")):
        return None
    try:
        log = traps.parse(source)
    except InputError as error:
        if error.faults[0].line is not None:
            raise  # it is a log, with a line that cannot be
        return None
    return log if len(log.traps) > len(log.unknown) else None


def _placed(counter: Counter, scenario: Scenario, file: str) -> tuple[Series | None, str]:
    """Move a counter into the scenario's time; intervals that do not lie wholly in it are left out."""
    links = _link_names(scenario)
    known = [*links, *dict.fromkeys(name.partition("/")[0] for name in links)]
    classes = {group.name: float(group.size) for group in scenario.subscribers}
    if counter.quantity.element and counter.of not in known:
        rule = f"names a link or STP that {scenario.name} does not have"
        raise InputError([Fault(file, None, counter.header, rule, counter.of, nearest(counter.of, known))])
    if len(classes) == 1 and counter.of in CLASSES:
        counter = replace(counter, of="")  # the only class is all of them
    if not counter.quantity.element and counter.of and counter.of not in classes:
        rule = f"names a class of subscribers that {scenario.name} does not have"
        raise InputError([Fault(file, None, counter.header, rule, counter.of, nearest(counter.of, classes))])
    shift = clock_start_s(scenario, file) if counter.clock else 0.0
    rows = []
    outside = 0
    for start, end, rate in zip(counter.start_s, counter.end_s, counter.rates_per_s, strict=True):
        own = (start - shift, end - shift)
        if rate is None or own[0] < -1e-6 or own[1] > scenario.horizon_s + 1e-6:
            outside += rate is not None
            continue
        rows.append((*own, rate))
    note = f"{counter.header}: {outside} intervals are not wholly within the scenario, left out" if outside else ""
    if not rows:
        return None, note
    start_s, end_s, rates = (np.array(column) for column in zip(*rows, strict=True))
    share = classes[counter.of] / sum(classes.values()) if counter.of in classes else 1.0
    return Series(counter.quantity.name, counter.of, share, start_s, end_s, rates), note


def _first_alarms(table: tables.Table, scenario: Scenario) -> Iterator[FirstAlarm]:
    """Yield the first alarm of each STP and of the IMSI manager."""
    times, clock = tables.times(table.column("set"), table.file, "set")
    shift = clock_start_s(scenario, table.file) if clock else 0.0
    first: dict[str, float] = {}
    for (_, element), (_, kind), time_s in zip(table.column("element"), table.column("kind"), times, strict=True):
        if kind not in ("congestion", "cpu warn"):
            continue
        name = element.partition("/")[0]
        first[name] = min(first.get(name, math.inf), time_s - shift)
    links = {name.partition("/")[0] for name in _link_names(scenario)}
    for name, time_s in first.items():
        if name not in links and not (name == "imsimgr" and scenario.topology.imsimgr is not None):
            rule = f"names an element that {scenario.name} does not have"
            raise InputError([Fault(table.file, None, "element", rule, name, nearest(name, [*links, "imsimgr"]))])
        yield FirstAlarm(name, time_s)


def clock_start_s(scenario: Scenario, file: str) -> float:
    """Return the time of day at which a scenario starts [s].

    Raises:
        InputError: If it has none, so that times of day cannot be placed.
    """
    if scenario.clock_start is None:
        rule = f"has times of day, but {scenario.name} does not say when it starts"
        raise wrong_input(rule, ABSENT, "give the scenario a clock_start", file=file)
    hours, minutes = scenario.clock_start.split(":")
    return (3600.0 * int(hours) + 60.0 * int(minutes)) % DAY_S


def _link_names(scenario: Scenario) -> tuple[str, ...]:
    return scenario.topology.links.names() if scenario.topology.links else ()
