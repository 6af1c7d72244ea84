"""Storm curves: the time series of a run, summarised over its seeds."""

import csv
import io
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from signalstorm.envs.model.errors import ABSENT, Fault, InputError, wrong_input
from signalstorm.envs.model.files import read_text
from signalstorm.experiments.report.alarm_times import EDGES, AlarmRow, alarm_rows

Floats = npt.NDArray[np.float64]

COLUMNS = ("setting", "seed", "time_s", "element", "quantity", "unit", "value")
"""The columns of ``series.csv``."""
SETTINGS = ("present", "recommended")
"""The settings that are compared, in the order of drawing."""

_POINTS = 300
"""Points of a curve at most; more would be means over neighbours."""
_NOT_SERVERS = ("gate", "handsets", "network")
_CPU = {"imsimgr": "IMSI manager", "database": "session database", "mme": "MME"}
_MORE = (
    ("dra", "throttle", "Throttle by the session database's CPU", "percentage points", 1.0),
    ("dra", "beyond a limit rate", "Beyond a limit of the Diameter agent", "messages per s", 1.0),
    ("dra", "pending Gx", "Gx pending at the Diameter agent", "transactions", 1.0),
    ("dra", "pending Gy", "Gy pending at the Diameter agent", "transactions", 1.0),
    ("gateway", "degraded rate", "Sessions begun without policy", "sessions per s", 1.0),
    ("imsimgr", "broadcast rate", "Broadcasts of the IMSI manager", "requests per s", 1.0),
    ("ddn", "factor", "Throttle of notifications", "% dropped", 1.0),
    ("ddn", "dropped rate", "Notifications dropped by the SGW", "notifications per s", 1.0),
    ("handsets", "held back", "Kept from attaching: barred, or their node out", "subscribers", 1.0),
)
"""Further curves: element, quantity, title, unit in words, and what values are multiplied by."""


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

    name: str
    """A short name, fit for a file."""
    title: str
    """What is shown."""
    unit: str
    """The unit of the values, in words."""
    bands: tuple[Band, ...]
    """In the order of drawing."""


@dataclass(frozen=True)
class LinkMap:
    """When links are congested under one setting."""

    setting: str
    """`present` or `recommended`."""
    links: tuple[str, ...]
    """Their names."""
    time_s: Floats
    """End of each interval, from the scenario's start, shape (times,) [s]."""
    share: Floats
    """Share of the storms in which a link is congested, shape (links, times)."""


@dataclass(frozen=True)
class Curves:
    """Everything that is drawn over time."""

    charts: tuple[Chart, ...] = ()
    """The storm as a whole."""
    links: tuple[Chart, ...] = ()
    """What each link sends, gets back, and has waiting."""
    congestion: tuple[LinkMap, ...] = ()
    """One for each setting."""
    alarms: tuple[AlarmRow, ...] = ()
    """The alarms that were set."""


Points = dict[int, dict[float, float]]
"""Values by seed and time [s]."""
Found = Mapping[tuple[str, str, str], Points]
"""Points by setting, element and quantity."""


@dataclass(frozen=True)
class _Source:
    """A quantity and how it is shown."""

    element: str
    quantity: str
    part: str = ""
    scale: float = field(default=1.0)


def read_curves(path: Path) -> Curves:
    """Read ``series.csv``; nothing if there is no such file.

    Raises:
        InputError: If a line is not as `COLUMNS` say.
    """
    if not path.exists():
        return Curves()
    found = _read(path)
    links = tuple(dict.fromkeys(element for _, element, _ in found if "/" in element))
    return Curves(
        tuple(_stirred(_storm_charts(found))),
        tuple(_stirred(_link_charts(found, links))),
        tuple(_congestion(found, links)),
        tuple(alarm_rows(found, {s: len(found.get((s, "handsets", "request rate"), ())) for s in SETTINGS}, SETTINGS)),
    )


def _stirred(charts: Iterable[Chart]) -> Iterator[Chart]:
    """Leave out what is 0 throughout."""
    yield from (chart for chart in charts if any(b.high.size and np.nanmax(b.high) > 0 for b in chart.bands))


def _storm_charts(found: Found) -> Iterator[Chart]:
    def chart(name: str, title: str, unit: str, *sources: _Source) -> Chart:
        return _chart(found, name, title, unit, sources)

    yield chart("requests", "Request rate, before the gate", "requests per s", _Source("handsets", "request rate"))
    yield chart("admitted", "Admitted rate, behind the gate", "requests per s", _Source("gate", "admitted rate"))
    registered = _Source("handsets", "registered share", scale=100.0)
    yield chart("registered", "Registered subscribers", "% of all", registered)
    yield chart("queue-gate", "Queue of the gate", "requests", _Source("gate", "waiting"))
    waiting = dict.fromkeys(element for _, element, quantity in found if quantity == "waiting")
    for server in (name for name in waiting if name not in _NOT_SERVERS and "/" not in name):
        parts = _Source(server, "waiting"), _Source(server, "waiting stale", "stale part")
        yield chart(f"queue-{server}", f"Queue of {server}, and its stale part", "messages", *parts)
    for element, name in _CPU.items():
        cpu = _Source(element, "CPU", scale=100.0)
        yield chart(f"cpu-{element}", f"CPU of the {name}", "% of capacity", cpu)
    detaches = _Source("network", "detach rate", "by the network"), _Source("handsets", "detach rate", "by handsets")
    yield chart("detaches", "Detaches", "detaches per s", *detaches)
    yield _alarms(found)
    for element, quantity, title, unit, scale in _MORE:
        yield chart(f"{element}-{quantity.replace(' ', '-')}", title, unit, _Source(element, quantity, scale=scale))


def _link_charts(found: Found, links: Iterable[str]) -> Iterator[Chart]:
    for link in links:
        name = link.replace("/", "-")
        sources = _Source(link, "tx rate", "sent"), _Source(link, "rx rate", "received")
        yield _chart(found, f"{name}-rate", f"{link}: sent and received", "messages per s", sources)
        yield _chart(found, f"{name}-queue", f"{link}: queue", "messages", [_Source(link, "waiting")])


def _rows(path: Path, way_out: str) -> Iterator[tuple[list[str], int]]:
    """Yield the rows of a table, and the line at which each ends."""
    rows = csv.reader(io.StringIO(read_text(path, way_out), newline=""))
    try:
        yield from ((row, rows.line_num) for row in rows)
    except csv.Error as error:
        raise InputError([Fault(str(path), rows.line_num, "", f"is no CSV ({error})", ABSENT, way_out)]) from None


def _read(path: Path) -> Found:
    found: dict[tuple[str, str, str], Points] = defaultdict(lambda: defaultdict(dict))
    way_out = "`signalstorm tune` with this folder as --out writes it anew once it is out of the way"
    rows = _rows(path, way_out)
    heads, _ = next(rows, ([], 0))
    if any(name not in heads for name in COLUMNS):
        raise wrong_input(f"must have the columns {', '.join(COLUMNS)}", heads, way_out, file=str(path))
    setting, seed, time_s, element, quantity, value = (heads.index(name) for name in COLUMNS if name != "unit")
    for row, line in rows:
        try:
            at_s, level, storm = float(row[time_s]), float(row[value]), int(row[seed])
            if len(row) != len(heads) or not (0.0 <= at_s < math.inf and math.isfinite(level)):
                raise ValueError
        except (IndexError, ValueError):
            rule = "must hold a whole number as seed, a time_s of at least 0, and a number as value"
            raise InputError([Fault(str(path), line, "", rule, row, way_out)]) from None
        if row[setting] in SETTINGS:
            found[row[setting], row[element], row[quantity]][storm][at_s] = level
    return found


def _chart(found: Found, name: str, title: str, unit: str, sources: Iterable[_Source]) -> Chart:
    bands = [
        _band(setting, source.part, found[setting, source.element, source.quantity], source.scale)
        for source in sources
        for setting in SETTINGS
        if (setting, source.element, source.quantity) in found
    ]
    return Chart(name, title, unit, tuple(bands))


def _grid(points: Points) -> tuple[Floats, Floats]:
    """Return times and values of shape (seeds, times); NaN where a storm was over."""
    time_s = np.array(sorted({time for values in points.values() for time in values}))
    at = {time: i for i, time in enumerate(time_s.tolist())}
    values = np.full((len(points), time_s.size), np.nan)
    for row, series in zip(values, points.values(), strict=True):
        row[[at[time] for time in series]] = list(series.values())
    return time_s, values


def _band(setting: str, part: str, points: Points, scale: float) -> Band:
    time_s, values = _grid(points)
    return _summary(setting, part, time_s, values * scale)


def _summary(setting: str, part: str, time_s: Floats, values: Floats) -> Band:
    """Return percentiles over the seeds.

    Args:
        setting: The setting.
        part: What part of the quantity.
        time_s: Shape (times,) [s].
        values: Shape (seeds, times).
    """
    merge = -(-time_s.size // _POINTS)
    values, time_s = _merged(values, merge), time_s[merge - 1 :: merge]
    step_s = float(time_s[1] - time_s[0]) if time_s.size > 1 else 0.0
    low, median, high = np.nanpercentile(values, [10, 50, 90], axis=0)
    return Band(setting, part, time_s, low, median, high, len(values), step_s)


def _alarms(found: Found) -> Chart:
    """Count the alarms that are up, at the times at which the request rate is known."""
    bands = []
    for setting in SETTINGS:
        edges = [points for (s, _, quantity), points in found.items() if s == setting and quantity.endswith(EDGES)]
        if edges:
            time_s, of_seeds = _grid(found[setting, "handsets", "request rate"])
            seeds = list(found[setting, "handsets", "request rate"])
            up = np.zeros_like(of_seeds)
            for points in edges:
                for seed, series in points.items():
                    times = np.array(sorted(series))
                    states = np.array([0.0, *(series[time] for time in times.tolist())])
                    up[seeds.index(seed)] += states[np.searchsorted(times, time_s, side="right")]
            bands.append(_summary(setting, "", time_s, up))
    return Chart("alarms", "Alarms that are up", "alarms", tuple(bands))


def _congestion(found: Found, links: tuple[str, ...]) -> Iterator[LinkMap]:
    """Yield the maps of both settings; a link without a time series of its own is never congested."""
    for setting in SETTINGS:
        grids = {link: _grid(found[setting, link, "congested"]) for link in links
                 if (setting, link, "congested") in found}  # fmt: skip
        if grids:
            time_s, _ = next(iter(grids.values()))
            calm = np.zeros(time_s.size)
            share = [np.nanmean(grids[link][1], axis=0) if link in grids else calm for link in links]
            yield LinkMap(setting, links, time_s, np.array(share))


def _merged(values: Floats, merge: int) -> Floats:
    """Replace each `merge` neighbours in time by their mean; a rest at the end is left out."""
    if merge <= 1:
        return values
    whole = values.shape[1] // merge * merge
    return np.asarray(np.nanmean(values[:, :whole].reshape(len(values), -1, merge), axis=2))
