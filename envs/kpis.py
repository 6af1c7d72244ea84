"""What storms in an environment come to: the interval's costs and reward, and the KPIs of a whole episode."""

from collections.abc import Mapping
from dataclasses import astuple
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from signalstorm.envs.model import glance
from signalstorm.envs.model.batch import Batch
from signalstorm.envs.model.kernels import layout
from signalstorm.envs.observation import CONGESTED, DATABASE_CPU, IMSIMGR_CPU, MME_CPU
from signalstorm.envs.reward import CPU_LIMIT, Weights, names

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

_REFUSED = (layout.K_REFUSED_CONGESTION, layout.K_REFUSED_GATE_FAILURE, layout.K_REFUSED_NETWORK, layout.K_DROPPED)
_COUNTED = {
    glance.LOST: layout.K_LOST,
    glance.ATTEMPTS: layout.K_ATTEMPTS,
    glance.WITHOUT: layout.K_WITHOUT,
    glance.STEADY: layout.K_STEADY,
    glance.CONVERGED: layout.K_T,
    glance.HEALTHY: layout.K_HEALTHY_SINCE,
    glance.STORMED: layout.K_STORMED,
}
_SUMMED = (
    layout.K_STORMED,
    layout.K_T,
    layout.K_LOST,
    layout.K_PEAK_ATTEMPTS,
    layout.K_BIN_ATTEMPTS,
    layout.K_REFUSED_CONGESTION,
    layout.K_REFUSED_GATE_FAILURE,
    layout.K_REFUSED_NETWORK,
    layout.K_LATE,
    layout.K_ATTEMPTS,
    layout.K_ADMITTED,
    layout.K_SUCCESSES,
    layout.K_DROPPED,
    layout.K_EXPIRED,
    layout.K_DETACH_NETWORK,
    layout.K_DETACH_SUBSCRIBER,
)
"""What `glance.sum_up` makes KPIs of, in its order."""
KPIS = (
    "stormed",
    "converged",
    "convergence_time_s",
    "rmst_s",
    "subscriber_hours_lost",
    "peak_request_rate_per_s",
    "failures",
    "refused",
    "attempts",
    "admitted",
    "successes",
    "dropped",
    "expired",
    "detaches_network",
    "detaches_subscriber",
)
"""KPIs of an episode, as ``simulate`` names them."""
_PROCESSORS = (IMSIMGR_CPU, MME_CPU, DATABASE_CPU)


class Interval(NamedTuple):
    """What an interval cost."""

    terms: Floats
    """Weighted terms of the reward, in the order of ``reward.names``; shape (terms, rows)."""
    reward: Floats
    """Their sum, shape (rows,)."""
    over: Flags
    """Healthy again, with nothing more to come; shape (rows,)."""


class Tally:
    """Reads the counters behind reward and KPIs, interval by interval."""

    def __init__(self, batch: Batch, numbers: Mapping[str, int], weights: Weights, gamma: float | None = None) -> None:
        """Look up where they lie.

        Args:
            batch: The batch that is read.
            numbers: The place of each quantity in a reading, see `Observer.numbers`.
            weights: What the terms of the reward count.
            gamma: Discount of the shaping; None: no shaping.
        """
        self._batch = batch
        table, width = batch.plan.table, batch.plan.tile
        live, final = int(table[layout.P_KPI]), int(table[layout.P_FINAL])
        self._over = live + layout.K_OVER * width
        storm = int(table[layout.P_STORM])
        places = {at: (live + row * width, final + row * width) for at, row in _COUNTED.items()}
        fixed = {glance.POPULATION: layout.S_POPULATION, glance.OFFSET: layout.S_OFFSET}
        places |= {at: (storm + row * width,) * 2 for at, row in fixed.items()}
        places |= {glance.REFUSED + i: (live + row * width, final + row * width) for i, row in enumerate(_REFUSED)}
        self._costs = np.array([places[at] for at in range(len(places))], np.int64)
        self._kpis = np.array([(live + row * width, final + row * width) for row in _SUMMED], np.int64)
        self._last_event = int(table[layout.P_LAST_EVENT])
        self._closed = bool(table[layout.P_CLOSED])
        links = batch.scenario.topology.links
        self._links = float(links.stps * links.links_per_stp) if links is not None else 0.0
        self._congested = numbers.get(CONGESTED, -1)
        self._loads = np.array([numbers[name] for name in _PROCESSORS if name in numbers], np.int64)
        self._weights = np.array(astuple(weights))
        self._gamma = np.nan if gamma is None else gamma
        self._terms = len(names(gamma))
        self._step = batch.step
        self._before = np.empty((len(self._costs), batch.size))
        self.forget(np.arange(batch.size))

    def forget(self, rows: npt.NDArray[np.intp]) -> None:
        """Start some rows anew."""
        tiles, width = self._batch.tiles
        glance.start_costs(tiles, width, self._over, self._costs, self._before, rows)

    def read(self, table: Floats, change: Floats, early_end: bool) -> Interval:
        """Return what the interval since the reading before cost.

        Args:
            table: What an operator saw of it; shape (quantities, rows).
            change: How far knobs were moved before it; shape (rows,).
            early_end: Whether an episode ends once the storm is over.
        """
        batch, size = self._batch, self._batch.size
        tiles, width = batch.tiles
        costs, over = np.empty((5, size)), np.empty(size, bool)
        clock = (batch.step, max(batch.step - self._step, 1), self._last_event)
        self._step = batch.step
        glance.cost(tiles, width, self._over, self._costs, self._before, clock, self._closed, costs, over)
        if not early_end:
            over[:] = False
        terms, reward = np.empty((self._terms, size)), np.empty(size)
        glance.judge(
            costs, table, self._congested, self._links, self._loads, CPU_LIMIT, change, over,
            self._weights, self._gamma, terms, reward,
        )  # fmt: skip
        return Interval(terms, reward, over)

    def kpis(self, rows: npt.NDArray[np.intp]) -> Floats:
        """Return the `KPIS` of some rows, NaN where not reached; shape (KPIs, rows)."""
        batch = self._batch
        tiles, width = batch.tiles
        raw, found = np.empty((len(self._kpis), len(rows))), np.empty((len(KPIS), len(rows)))
        glance.fetch(tiles, width, self._over, self._kpis, rows, raw)
        scenario = batch.scenario
        origin = scenario.convergence.count_from_s
        bin_s = float(int(batch.plan.table[layout.P_BIN])) * batch.dt
        glance.sum_up(raw, batch.dt, origin, scenario.horizon_s - origin, bin_s, found)
        return found
