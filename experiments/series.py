"""Time series of a run: records of the kernel turned into rates, queues and shares, by element."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from signalstorm.envs.model.batch import Batch
from signalstorm.envs.model.core_metrics import series_quantities
from signalstorm.envs.model.kernels import layout

Floats = npt.NDArray[np.float64]

_AFTER_S = 10.0
"""Records go on for so long after the last storm is over, then nothing happens any more."""

_COUNTERS = (
    ("handsets", "request rate", layout.K_ATTEMPTS),
    ("gate", "admitted rate", layout.K_ADMITTED),
    ("handsets", "success rate", layout.K_SUCCESSES),
    ("gate", "refused for congestion rate", layout.K_REFUSED_CONGESTION),
    ("gate", "refused for network failure rate", layout.K_REFUSED_GATE_FAILURE),
    ("network", "refused rate", layout.K_REFUSED_NETWORK),
    ("gate", "dropped rate", layout.K_DROPPED),
    ("gate", "expired rate", layout.K_EXPIRED),
    ("network", "late rate", layout.K_LATE),
    ("gateway", "create-session request rate", layout.K_SESSIONS),
)
_SGSN_COUNTERS = (
    ("network", "detach rate", layout.K_DETACH_NETWORK),
    ("handsets", "detach rate", layout.K_DETACH_SUBSCRIBER),
    ("handsets", "location refresh rate", layout.K_REFRESHES),
    ("network", "failed refresh rate", layout.K_REFRESHES_FAILED),
)
"""Counted behind signalling links only."""
_LINK_ROWS = (
    layout.L_SUM_TX,
    layout.L_SUM_RX,
    layout.L_ADMITTED,
    layout.L_SERVED,
    layout.L_PEER,
    layout.L_CONGESTED,
)
"""What is read of a link."""
_LINK_POINTS = 120
"""Points of a link's time series in a table: there are four for each link."""
_QUEUE_LEVELS = (("waiting", 0), ("waiting stale", 1))
_QUEUE_RATES = (("served rate", 2), ("served stale rate", 3), ("overflow rate", 4))


@dataclass(frozen=True)
class Series:
    """Time series of some storms; every array has shape (times, storms)."""

    seeds: tuple[int, ...]
    """Storm numbers."""
    time_s: Floats
    """End of each interval, from the scenario's start, shape (times,) [s]."""
    values: dict[tuple[str, str], tuple[str, Floats]]
    """By element and quantity: unit and numbers; a rate is the mean over the interval."""

    def rows(self) -> Iterator[tuple[int, float, str, str, str, float]]:
        """Yield seed, time_s, element, quantity, unit, value; of links, which are many, means over longer intervals."""
        for (element, quantity), (unit, numbers) in self.values.items():
            merge = -(-self.time_s.size // _LINK_POINTS) if "/" in element else 1
            times, values = self.time_s[merge - 1 :: merge], means(numbers, merge)
            for column, seed in enumerate(self.seeds):
                for time, value in zip(times, values[:, column], strict=True):
                    yield seed, float(time), element, quantity, unit, float(value)


@dataclass(frozen=True)
class LinkStates:
    """What the kernel's records leave out: links and IMSI manager, looked at when each record was made."""

    values: dict[tuple[str, str], tuple[str, Floats]]
    """By element and quantity: unit and numbers of shape (records, rows); a rate is the mean since the record before.

    Of each link: ``tx rate`` and ``rx rate`` of messages and answers, ``waiting`` messages that the peer has not taken,
    and whether it is ``congested``, 0 or 1. Of the IMSI manager its smoothed ``CPU``.
    """


def run_watched(batch: Batch) -> LinkStates | None:
    """Run a batch that records to its last record, and look at the links after each; None where there are none."""
    links = batch.scenario.topology.links
    if links is None:
        return None
    table, tile = batch.plan.table, batch.plan.tile
    offsets = [batch.plan.link_offset(i, row) for i in range(int(table[layout.P_LINKS])) for row in _LINK_ROWS]
    manager = int(table[layout.P_IMSIMGR])
    if manager >= 0:
        offsets.append(manager + layout.I_UTILISATION * tile)
    every = int(table[layout.P_RECORD])
    seen = []
    while batch.step + every <= batch.end:
        batch.run(every)
        seen.append(batch.read(offsets))
    states = np.array(seen).reshape(len(seen), len(offsets), batch.size)
    values: dict[tuple[str, str], tuple[str, Floats]] = {}
    for i, name in enumerate(links.names()):
        tx, rx, admitted, served, peer, congested = (states[:, i * len(_LINK_ROWS) + j] for j in range(len(_LINK_ROWS)))
        values[name, "tx rate"] = ("1/s", _rate(tx, every * batch.dt))
        values[name, "rx rate"] = ("1/s", _rate(rx, every * batch.dt))
        values[name, "waiting"] = ("messages", admitted - served - peer)
        values[name, "congested"] = ("on", congested)
    if manager >= 0:
        values["imsimgr", "CPU"] = ("share", states[:, -1])
    return LinkStates(values)


def series_of(batch: Batch, rows: npt.ArrayLike, seeds: Sequence[int], link_states: LinkStates | None = None) -> Series:
    """Read the time series of some rows of a batch that has recorded.

    Args:
        batch: A batch that has run to its end.
        rows: Rows of the batch.
        seeds: Their storm numbers.
        link_states: What `run_watched` saw of the batch.
    """
    records = batch.records()[:, :, np.asarray(rows)]
    every = int(batch.plan.table[layout.P_RECORD])
    interval_s = every * batch.dt
    time_s = (np.arange(records.shape[0], dtype=np.float64) + 1.0) * interval_s
    over = batch.counters()[layout.K_OVER][np.asarray(rows)]
    if np.all(over >= 0):
        end = int(np.searchsorted(time_s, float(over.max()) * batch.dt + _AFTER_S)) + 1
        records, time_s = records[:end], time_s[:end]
    population = float(sum(group.size for group in batch.scenario.subscribers))
    has_gate = batch.plan.has_gate
    values: dict[tuple[str, str], tuple[str, Floats]] = {}
    counters = _COUNTERS if batch.scenario.topology.links is None else (*_COUNTERS, *_SGSN_COUNTERS)
    for element, quantity, row in counters:
        if element != "gate" or has_gate or quantity == "admitted rate":
            values[element, quantity] = ("1/s", _rate(records[:, row], interval_s))
    without = records[:, layout.RECORD_COUNTERS]
    values["handsets", "without service"] = ("subscribers", without)
    values["handsets", "registered share"] = ("share", 1.0 - without / population)
    at = layout.RECORD_COUNTERS + 1
    for name in batch.plan.queues:
        if batch.plan.queue_offset(name) >= 0:
            unit = "requests" if name == "gate" else "messages"
            for quantity, i in _QUEUE_LEVELS:
                values[name, quantity] = (unit, records[:, at + i])
            for quantity, i in _QUEUE_RATES:
                values[name, quantity] = ("1/s", _rate(records[:, at + i], interval_s))
        at += layout.RECORD_PER_QUEUE
    if batch.core:
        for found in series_quantities(batch.scenario):
            numbers = records[:, at + found.row]
            name = f"{found.words} rate" if found.counts else found.words
            unit = "1/s" if found.counts else found.unit
            values[found.element, name] = (unit, _rate(numbers, interval_s) if found.counts else numbers)
    if link_states is not None:
        own = np.asarray(rows)
        values |= {key: (unit, found[: len(time_s), own]) for key, (unit, found) in link_states.values.items()}
    return Series(tuple(seeds), time_s, values)


def _rate(cumulative: Floats, interval_s: float) -> Floats:
    """Turn a cumulative count into the mean rate of each interval [1/s]."""
    return np.diff(cumulative, axis=0, prepend=0.0) / interval_s


def means(numbers: Floats, merge: int) -> Floats:
    """Replace each `merge` neighbours in time by their mean; a rest at the end is left out.

    Args:
        numbers: Shape (times, storms).
        merge: How many become one.
    """
    if merge <= 1:
        return numbers
    whole = len(numbers) // merge * merge
    return np.asarray(np.nanmean(numbers[:whole].reshape(-1, merge, numbers.shape[1]), axis=1))
