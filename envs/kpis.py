"""What storms in an environment come to: the interval's costs for the reward, and the KPIs of a whole episode."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from signalstorm.envs.model.batch import Batch
from signalstorm.envs.model.kernels import layout
from signalstorm.envs.observation import CONGESTED, DATABASE_CPU, IMSIMGR_CPU, MME_CPU
from signalstorm.envs.reward import CPU_LIMIT

Floats = npt.NDArray[np.float64]

_REFUSED = (layout.K_REFUSED_CONGESTION, layout.K_REFUSED_GATE_FAILURE, layout.K_REFUSED_NETWORK, layout.K_DROPPED)
_READ = (
    layout.K_LOST,
    layout.K_ATTEMPTS,
    *_REFUSED,
    layout.K_WITHOUT,
    layout.K_STEADY,
    layout.K_T,
    layout.K_HEALTHY_SINCE,
    layout.K_OVER,
)
_KPIS = (
    layout.K_STORMED,
    layout.K_T,
    layout.K_LOST,
    layout.K_PEAK_ATTEMPTS,
    layout.K_BIN_ATTEMPTS,
    layout.K_ATTEMPTS,
    layout.K_ADMITTED,
    layout.K_SUCCESSES,
    *_REFUSED,
    layout.K_LATE,
    layout.K_EXPIRED,
    layout.K_DETACH_NETWORK,
    layout.K_DETACH_SUBSCRIBER,
    layout.K_OVER,
)
_PROCESSORS = (IMSIMGR_CPU, MME_CPU, DATABASE_CPU)


class Interval(NamedTuple):
    """What an interval cost, each of shape (rows,)."""

    lost: Floats
    """Share of subscribers without service beyond the steady one, mean of the interval."""
    refused: Floats
    """Share of its requests that were refused or dropped."""
    without: Floats
    """Share without service beyond the steady one, at its end."""
    without_before: Floats
    """The same at its beginning."""
    over: npt.NDArray[np.bool_]
    """Healthy again, with nothing more to come."""


class _Places(NamedTuple):
    """Where counters lie, last of them K_OVER: live ones, and the final ones of a storm that is over."""

    live: list[int]
    final: list[int]

    @classmethod
    def of(cls, batch: Batch, rows: tuple[int, ...]) -> "_Places":
        """Look them up."""
        table, width = batch.plan.table, batch.plan.tile
        live, final = int(table[layout.P_KPI]), int(table[layout.P_FINAL])
        return cls([live + row * width for row in rows], [final + row * width for row in rows])


class Tally:
    """Reads the counters behind reward and KPIs, interval by interval."""

    def __init__(self, batch: Batch) -> None:
        """Look up where they lie."""
        self._batch = batch
        table, width = batch.plan.table, batch.plan.tile
        self._costs = _Places.of(batch, _READ)
        self._kpis = _Places.of(batch, _KPIS)
        storm = int(table[layout.P_STORM])
        self._population_at = [storm + layout.S_POPULATION * width, storm + layout.S_OFFSET * width]
        self._last_event = int(table[layout.P_LAST_EVENT])
        self._closed = bool(table[layout.P_CLOSED])
        links = batch.scenario.topology.links
        self._links = links.stps * links.links_per_stp if links is not None else 0
        self._step = batch.step
        self._before = self._read(self._costs)

    def _read(self, places: "_Places") -> Floats:
        live = self._batch.read(places.live)
        over = live[-1] >= 0
        return np.where(over, self._batch.read(places.final), live) if over.any() else live

    def forget(self, rows: npt.NDArray[np.intp]) -> None:
        """Start some rows anew."""
        self._before[:, rows] = self._read(self._costs)[:, rows]

    def read(self) -> Interval:
        """Return what the interval since the reading before cost."""
        now = self._read(self._costs)
        population, offset = self._batch.read(self._population_at)
        steps = max(self._batch.step - self._step, 1)
        self._step = self._batch.step
        gained = now - self._before
        steady = np.zeros_like(population) if self._closed else now[_place(layout.K_STEADY)]
        lost = gained[_place(layout.K_LOST)] / steps
        attempts = gained[_place(layout.K_ATTEMPTS)]
        refused = gained[[_place(row) for row in _REFUSED]].sum(axis=0)
        without, before = now[_place(layout.K_WITHOUT)], self._before[_place(layout.K_WITHOUT)]
        over = (
            (now[_place(layout.K_T)] >= 0)
            & (self._closed | (now[_place(layout.K_HEALTHY_SINCE)] >= 0))
            & (self._batch.step - offset > self._last_event)
        )
        self._before = now
        return Interval(
            np.maximum(lost - steady, 0.0) / population,
            np.minimum(np.where(attempts > 0, refused / np.where(attempts > 0, attempts, 1.0), 0.0), 1.0),
            np.maximum(without - steady, 0.0) / population,
            np.maximum(before - steady, 0.0) / population,
            over,
        )

    def congested(self, seen: dict[str, Floats]) -> Floats:
        """Return the share of the links whose congestion alarm is up, shape (rows,)."""
        return seen[CONGESTED] / self._links if self._links else np.zeros(self._batch.size)

    def overload(self, seen: dict[str, Floats]) -> Floats:
        """Return by how much the busiest processor is over its limit, shape (rows,)."""
        loads = [seen[name] for name in _PROCESSORS if name in seen]
        if not loads:
            return np.zeros(self._batch.size)
        return np.asarray(np.maximum(np.max(loads, axis=0) - CPU_LIMIT, 0.0))

    def kpis(self, rows: npt.NDArray[np.intp]) -> dict[str, Floats]:
        """Return the KPIs of some rows as ``simulate`` names them, NaN where not reached; each of shape (rows,)."""
        batch = self._batch
        found = self._read(self._kpis)[:, rows]
        k = dict(zip(_KPIS, found, strict=True))
        scenario, dt = batch.scenario, batch.dt
        origin = scenario.convergence.count_from_s
        watched = scenario.horizon_s - origin
        bins = float(int(batch.plan.table[layout.P_BIN])) * dt
        stormed = k[layout.K_STORMED] > 0
        reached = k[layout.K_T] >= 0
        time = np.where(reached, np.maximum(k[layout.K_T] * dt - origin, 0.0), np.nan)
        time = np.where(stormed, time, 0.0)
        return {
            "stormed": stormed.astype(np.float64),
            "converged": (~np.isnan(time)).astype(np.float64),
            "convergence_time_s": time,
            "rmst_s": np.fmin(time, watched),
            "subscriber_hours_lost": k[layout.K_LOST] * dt / 3600.0,
            "peak_request_rate_per_s": np.maximum(k[layout.K_PEAK_ATTEMPTS], k[layout.K_BIN_ATTEMPTS]) / bins,
            "attempts": k[layout.K_ATTEMPTS],
            "admitted": k[layout.K_ADMITTED],
            "successes": k[layout.K_SUCCESSES],
            "failures": k[layout.K_REFUSED_NETWORK] + k[layout.K_LATE],
            "refused": np.sum([k[row] for row in _REFUSED[:3]], axis=0),
            "dropped": k[layout.K_DROPPED],
            "expired": k[layout.K_EXPIRED],
            "detaches_network": k[layout.K_DETACH_NETWORK],
            "detaches_subscriber": k[layout.K_DETACH_SUBSCRIBER],
        }


def _place(row: int) -> int:
    """Return a counter's place among those that are read."""
    return _READ.index(row)
