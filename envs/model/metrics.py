"""What a storm comes to: outcomes per storm, and percentiles under censoring."""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from signalstorm.envs.model.batch import Batch
from signalstorm.envs.model.core_metrics import core_outcomes, peer_outcomes
from signalstorm.envs.model.kernels import layout
from signalstorm.envs.model.scenario import Scenario

Floats = npt.NDArray[np.float64]

CVAR_SHARE = 0.1
"""Share of the worst storms that CVaR averages over."""


@dataclass(frozen=True)
class Outcomes:
    """One number per row of a batch; times count from ``count_from`` [s], NaN where not reached."""

    convergence_time_s: Floats
    t50_s: Floats
    t75_s: Floats
    t95_s: Floats
    stormed: Floats
    attempts: Floats
    admitted: Floats
    successes: Floats
    failures: Floats
    refused_congestion: Floats
    refused_gate_failure: Floats
    refused_network: Floats
    dropped: Floats
    expired: Floats
    late: Floats
    lost_by_imsimgr: Floats
    """Requests that an overloaded IMSI manager lost before the gate."""
    refreshes: Floats
    refreshes_failed: Floats
    detaches_network: Floats
    detaches_subscriber: Floats
    imsimgr_cpu_peak: Floats
    """Largest smoothed utilisation, NaN without an IMSI manager."""
    session_requests: Floats
    peak_request_rate_per_s: Floats
    peak_admitted_rate_per_s: Floats
    peak_session_rate_per_s: Floats
    second_wave_peak_per_s: Floats
    subscriber_hours_lost: Floats
    conservation_error: Floats
    offered: dict[str, Floats]
    """Messages offered to each queue."""
    served: dict[str, Floats]
    """Messages that each queue served in time."""
    stale: dict[str, Floats]
    """Messages that each queue served for nobody."""
    overflow: dict[str, Floats]
    """Messages that found each queue full."""
    queue_peak: dict[str, Floats]
    """Most messages waiting in each queue."""
    link_tx: dict[str, Floats]
    """Messages sent on each signalling link."""
    link_rx: dict[str, Floats]
    """Answers received on each signalling link."""
    link_resent: dict[str, Floats]
    """Messages sent again on each signalling link although they had arrived."""
    link_lost: dict[str, Floats]
    """Messages discarded at each signalling link: its queue was full, its path dead, or the link was reset."""
    link_congested_s: dict[str, Floats]
    """Time for which each link's alarm was up [s]."""
    core: dict[str, Floats]
    """What the elements beyond the attach chain came to, by the names of `CORE_QUANTITIES`; empty without any."""
    peers: dict[str, Floats]
    """Messages offered to the Diameter agent and passed by it: ``gateway/offered_ccr_i``, ``gateway/passed_ccr_i``."""

    def pick(self, rows: npt.ArrayLike) -> "Outcomes":
        """Return the outcomes of some rows, in any shape of row numbers."""
        index = np.asarray(rows)
        picked: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            picked[field.name] = (
                {name: array[index] for name, array in value.items()} if isinstance(value, dict) else value[index]
            )
        return Outcomes(**picked)


def outcomes(batch: Batch) -> Outcomes:
    """Read the outcomes of a batch that has run."""
    k = batch.counters()
    scenario, dt = batch.scenario, batch.dt
    origin = scenario.convergence.count_from_s
    bins = float(int(batch.plan.table[layout.P_BIN])) * dt
    names = [name for name in batch.plan.queues if batch.plan.queue_offset(name) >= 0]
    queues = {name: batch.queue(name) for name in names}

    names_of_links = scenario.topology.links.names() if scenario.topology.links else ()
    links = batch.links()

    def time(row: int) -> Floats:
        return np.where(k[row] < 0, np.nan, np.maximum(k[row] * dt - origin, 0.0))

    stormed = k[layout.K_STORMED]
    return Outcomes(
        convergence_time_s=np.where(stormed > 0, time(layout.K_T), 0.0),
        t50_s=time(layout.K_T50),
        t75_s=time(layout.K_T75),
        t95_s=time(layout.K_T95),
        stormed=stormed,
        attempts=k[layout.K_ATTEMPTS],
        admitted=k[layout.K_ADMITTED],
        successes=k[layout.K_SUCCESSES],
        failures=k[layout.K_REFUSED_NETWORK] + k[layout.K_LATE],
        refused_congestion=k[layout.K_REFUSED_CONGESTION],
        refused_gate_failure=k[layout.K_REFUSED_GATE_FAILURE],
        refused_network=k[layout.K_REFUSED_NETWORK],
        dropped=k[layout.K_DROPPED],
        expired=k[layout.K_EXPIRED],
        late=k[layout.K_LATE],
        lost_by_imsimgr=k[layout.K_OVERLOAD],
        refreshes=k[layout.K_REFRESHES],
        refreshes_failed=k[layout.K_REFRESHES_FAILED],
        detaches_network=k[layout.K_DETACH_NETWORK],
        detaches_subscriber=k[layout.K_DETACH_SUBSCRIBER],
        imsimgr_cpu_peak=batch.imsimgr_peak(),
        session_requests=k[layout.K_SESSIONS],
        peak_request_rate_per_s=np.maximum(k[layout.K_PEAK_ATTEMPTS], k[layout.K_BIN_ATTEMPTS]) / bins,
        peak_admitted_rate_per_s=np.maximum(k[layout.K_PEAK_ADMITTED], k[layout.K_BIN_ADMITTED]) / bins,
        peak_session_rate_per_s=np.maximum(k[layout.K_PEAK_SESSIONS], k[layout.K_BIN_SESSIONS]) / bins,
        second_wave_peak_per_s=k[layout.K_SECOND_PEAK] / bins,
        subscriber_hours_lost=k[layout.K_LOST] * dt / 3600.0,
        conservation_error=k[layout.K_ERROR],
        offered={name: q[layout.Q_SUM_OFFERED] for name, q in queues.items()},
        served={name: q[layout.Q_SUM_FRESH] for name, q in queues.items()},
        stale={name: q[layout.Q_SUM_STALE] for name, q in queues.items()},
        overflow={name: q[layout.Q_SUM_OVER] for name, q in queues.items()},
        queue_peak={name: q[layout.Q_PEAK] for name, q in queues.items()},
        link_tx={name: links[i, layout.L_SUM_TX] for i, name in enumerate(names_of_links)},
        link_rx={name: links[i, layout.L_SUM_RX] for i, name in enumerate(names_of_links)},
        link_resent={name: links[i, layout.L_RESENT] for i, name in enumerate(names_of_links)},
        link_lost={name: links[i, layout.L_SUM_LOST] for i, name in enumerate(names_of_links)},
        core=core_outcomes(batch),
        peers=peer_outcomes(batch),
        link_congested_s={name: links[i, layout.L_SUM_CONGESTED] * dt for i, name in enumerate(names_of_links)},
    )


def percentile(times: Floats, share: float) -> float | None:
    """Return the Kaplan-Meier percentile of times of which NaN ones are censored at the horizon.

    All are censored at the same instant, so the estimate of the distribution is the share of all storms that have
    converged by then; the percentile is the first time at which it reaches ``share``.

    Args:
        times: Convergence times, shape (storms,) [s].
        share: 0 to 1.

    Returns:
        The time [s], or None where it is not reached within the horizon.
    """
    if times.size == 0:
        return None
    ordered = np.sort(times[~np.isnan(times)])
    rank = max(int(np.ceil(share * times.size - 1e-9)), 1)
    return float(ordered[rank - 1]) if rank <= ordered.size else None


def restricted(times: Floats, horizon_s: float) -> Floats:
    """Return min(T, horizon), censored times as the horizon [s]."""
    return np.minimum(np.where(np.isnan(times), horizon_s, times), horizon_s)


def cvar(values: Floats) -> float:
    """Return the mean of the worst (largest) tenth, at least one."""
    worst = max(round(values.size * CVAR_SHARE), 1)
    return float(np.sort(values)[-worst:].mean())


def watched_s(scenario: Scenario) -> float:
    """Return the time within which a storm can converge: from ``count_from`` to the horizon [s]."""
    return scenario.horizon_s - scenario.convergence.count_from_s
