"""Storm curves: the time series of a run, summarised over its seeds."""

import csv
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from signalstorm.envs.model.errors import Fault, InputError, wrong_input

Floats = npt.NDArray[np.float64]

COLUMNS = ("setting", "seed", "time_s", "element", "quantity", "unit", "value")
"""The columns of ``series.csv``."""
SETTINGS = ("present", "recommended")
"""The settings that are compared, in the order of drawing."""

_POINTS = 600
"""Points of a curve at most; more would be means over neighbours."""
_NOT_SERVERS = ("gate", "handsets", "network")


@dataclass(frozen=True)
class Band:
    """One quantity under one setting, over the seeds; arrays of shape (times,)."""

    setting: str
    """`present` or `recommended`."""
    part: str
    """What part of the quantity; empty for all of it."""
    time_s: Floats
    """End of each interval, from the scenario's start [s]."""
    low: Floats
    """10th percentile."""
    median: Floats
    """Median."""
    high: Floats
    """90th percentile."""
    seeds: int
    """Storms behind it."""
    mean_over_s: float
    """Length of the interval that one point stands for [s]."""


@dataclass(frozen=True)
class Chart:
    """Bands that share axes."""

    title: str
    """What is shown."""
    unit: str
    """The unit of the values, in words."""
    bands: tuple[Band, ...]
    """In the order of drawing."""


def read_charts(path: Path) -> list[Chart]:
    """Read ``series.csv`` and return its charts; none if there is no such file.

    Raises:
        InputError: If a line is not as `COLUMNS` say.
    """
    if not path.exists():
        return []
    found = _read(path)
    charts = [
        _chart("Request rate, before the gate", "requests per s", found, [("handsets", "request rate", "")]),
        _chart("Admitted rate, behind the gate", "requests per s", found, [("gate", "admitted rate", "")]),
        _chart("Without service", "subscribers", found, [("handsets", "without service", "")]),
        _chart("Queue of the gate", "requests", found, [("gate", "waiting", "")]),
    ]
    servers = dict.fromkeys(element for _, element, quantity in found if quantity == "waiting")
    for server in (name for name in servers if name not in _NOT_SERVERS):
        parts = [(server, "waiting", ""), (server, "waiting stale", "stale part")]
        charts.append(_chart(f"Queue of {server}, and its stale part", "messages", found, parts))
    return [chart for chart in charts if any(band.high.size and np.nanmax(band.high) > 0 for band in chart.bands)]


Points = dict[int, dict[float, float]]
"""Values by seed and time [s]."""


def _read(path: Path) -> dict[tuple[str, str, str], Points]:
    """Return the points by setting, element and quantity."""
    found: dict[tuple[str, str, str], Points] = defaultdict(lambda: defaultdict(dict))
    with path.open(newline="", encoding="utf-8") as file:
        rows = csv.DictReader(file)
        missing = [name for name in COLUMNS if name not in (rows.fieldnames or ())]
        if missing:
            raise wrong_input(f"must have the columns {', '.join(COLUMNS)}", rows.fieldnames, file=str(path))
        for row in rows:
            try:
                seed, time_s, value = int(row["seed"]), float(row["time_s"]), float(row["value"])
            except (TypeError, ValueError):
                rule = "must hold a whole number as seed, and numbers as time_s and value"
                raise InputError([Fault(str(path), rows.line_num, "", rule, row, "")]) from None
            if row["setting"] in SETTINGS:
                found[row["setting"], row["element"], row["quantity"]][seed][time_s] = value
    return found


def _chart(
    title: str, unit: str, found: Mapping[tuple[str, str, str], Points], parts: Iterable[tuple[str, str, str]]
) -> Chart:
    bands = [
        _band(setting, part, found[setting, element, quantity])
        for element, quantity, part in parts
        for setting in SETTINGS
        if (setting, element, quantity) in found
    ]
    return Chart(title, unit, tuple(bands))


def _band(setting: str, part: str, points: Points) -> Band:
    time_s = np.array(sorted({time for values in points.values() for time in values}))
    at = {time: i for i, time in enumerate(time_s.tolist())}
    values = np.full((len(points), time_s.size), np.nan)
    for row, series in zip(values, points.values(), strict=True):
        row[[at[time] for time in series]] = list(series.values())
    merge = -(-time_s.size // _POINTS)
    values, time_s = _merged(values, merge), time_s[merge - 1 :: merge]
    step_s = float(time_s[1] - time_s[0]) if time_s.size > 1 else 0.0
    low, median, high = np.nanpercentile(values, [10, 50, 90], axis=0)
    return Band(setting, part, time_s, low, median, high, len(points), step_s)


def _merged(values: Floats, merge: int) -> Floats:
    """Replace each `merge` neighbours in time by their mean; a rest at the end is left out."""
    if merge <= 1:
        return values
    whole = values.shape[1] // merge * merge
    return np.asarray(np.nanmean(values[:, :whole].reshape(len(values), -1, merge), axis=2))
