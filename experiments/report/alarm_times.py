"""Alarms of a run: which were set, in how many storms, from when to when, and how often."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

EDGES = " alarm"
"""Quantities that end so are edges of an alarm, 1 when it is set and 0 when it is cleared."""

Edges = Mapping[int, Mapping[float, float]]
"""By storm: whether the alarm is set (1) or cleared (0), by time from the scenario's start [s]."""


@dataclass(frozen=True)
class AlarmTimes:
    """An alarm under one setting; times are medians over the storms that set it."""

    storms: int
    """Storms in which it was set."""
    of: int
    """Storms in all."""
    first_s: float
    """When it was first set, from the scenario's start [s]."""
    last_s: float | None
    """When it was last cleared; None where it stays up in half of them or more [s]."""
    sets: float
    """How often it was set."""


@dataclass(frozen=True)
class AlarmRow:
    """An alarm of an element."""

    element: str
    """The element, such as stp2/slc1."""
    kind: str
    """What it is about, such as congestion."""
    times: Mapping[str, AlarmTimes]
    """By setting; one under which it was never set is left out."""


def alarm_rows(
    found: Mapping[tuple[str, str, str], Edges], storms: Mapping[str, int], settings: Sequence[str]
) -> Iterator[AlarmRow]:
    """Yield the alarms of a run, the first to be set first.

    Args:
        found: What `series.csv` holds, by setting, element and quantity.
        storms: Storms in all, by setting.
        settings: The settings, in their order.
    """
    alarms = dict.fromkeys((element, quantity) for _, element, quantity in found if quantity.endswith(EDGES))
    rows = []
    for element, quantity in alarms:
        times = {}
        for setting in settings:
            edges = found.get((setting, element, quantity), {})
            if one := _times(edges, max(storms.get(setting, 0), len(edges))):
                times[setting] = one
        if times:
            rows.append(AlarmRow(element, quantity.removesuffix(EDGES), times))
    yield from sorted(rows, key=lambda row: min(one.first_s for one in row.times.values()))


def _times(edges: Edges, of: int) -> AlarmTimes | None:
    first, last, sets = [], [], []
    for storm in edges.values():
        ups = [time_s for time_s, state in storm.items() if state]
        if ups:
            end_s = max(storm)
            first.append(min(ups))
            last.append(float("inf") if storm[end_s] else end_s)
            sets.append(len(ups))
    if not first:
        return None
    cleared_s = median(last)
    return AlarmTimes(len(first), of, median(first), cleared_s if cleared_s < float("inf") else None, median(sets))
