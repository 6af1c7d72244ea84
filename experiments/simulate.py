"""Simulate: a scenario under one setting or several, and what the storms come to."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from signalstorm import __version__
from signalstorm.envs.model import scenario_file
from signalstorm.envs.model.batch import Batch
from signalstorm.envs.model.errors import wrong_input
from signalstorm.envs.model.knobs import Setting, resolve
from signalstorm.envs.model.metrics import Outcomes, outcomes, percentile, restricted, watched_s
from signalstorm.envs.model.parameters import setting_matrix
from signalstorm.envs.model.scenario import Scenario
from signalstorm.experiments.alarms import alarm_rows
from signalstorm.experiments.diagnosis import diagnose
from signalstorm.experiments.evaluate import ROWS_PER_CALL, StormSet, ratios_to_bound
from signalstorm.experiments.series import Series, run_watched, series_of

Floats = npt.NDArray[np.float64]

DEFAULT_SEEDS = 20
"""Storms where the caller does not say."""
MOST_SEEDS = 10_000
"""Storms of one call; numbers from 10,000 on belong to the choice and the confirmation of a search."""


@dataclass(frozen=True)
class SimulationResult:
    """What the storms of a scenario came to under one setting; arrays have shape (storms,)."""

    setting: Setting
    """The complete setting."""
    storms: StormSet
    """The storms, and the scenario."""
    outcomes: Outcomes
    """One number per storm."""
    series: Series | None
    """Time series, where they were asked for."""
    alarms: tuple[dict[str, Any], ...] = ()
    """Alarms of all storms: seed, element, kind, set_s, cleared_s (None: still up)."""

    @property
    def scenario(self) -> Scenario:
        """The nominal scenario."""
        return self.storms.scenario

    @property
    def convergence_time_s(self) -> Floats:
        """T of each storm, NaN where it was not reached within the horizon [s]."""
        return self.outcomes.convergence_time_s

    @property
    def restricted_s(self) -> Floats:
        """min(T, horizon) of each storm [s]."""
        return restricted(self.convergence_time_s, watched_s(self.scenario))

    @property
    def converged_share(self) -> float:
        """Share of storms that converged within the horizon, 0 to 1."""
        return float((~np.isnan(self.convergence_time_s)).mean())

    @cached_property
    def lower_bound_s(self) -> float:
        """Median of the storms' lower bounds, with the setting's what-ifs in force [s]."""
        return float(np.median(self._bounds_s))

    @cached_property
    def _bounds_s(self) -> Floats:
        return self.storms.bounds_under(self.setting)

    @cached_property
    def diagnosis(self) -> tuple[str, ...]:
        """What bounds the storms, and where knobs cannot help, in sentences; loops may be tried on them for that."""
        return tuple(diagnose(self.storms, self.setting, self.outcomes))

    def to_json(self) -> dict[str, Any]:
        """Return the result in JSON's own types: medians over storms, Kaplan-Meier percentiles of T."""
        o, scenario = self.outcomes, self.scenario
        population = float(sum(group.size for group in scenario.subscribers))
        ratios = ratios_to_bound(self.restricted_s, self._bounds_s)
        stormed = float(np.mean(o.stormed))
        return {
            "scenario": scenario.name,
            "scenario_hash": scenario.hash(),
            "version": __version__,
            "seeds": list(self.storms.numbers),
            "vary": self.storms.vary,
            "knobs": dict(self.setting),
            "horizon_s": scenario.horizon_s,
            "count_from_s": scenario.convergence.count_from_s,
            "stormed": stormed > 0.5,
            "stormed_share": stormed,
            "converged_share": self.converged_share,
            "convergence_time_s": self._spread(self.convergence_time_s),
            "rmst_s": float(self.restricted_s.mean()),
            "lower_bound_s": _finite(self.lower_bound_s),
            "ratio_to_lower_bound": _median(ratios),
            "t50_s": percentile(o.t50_s, 0.5),
            "t75_s": percentile(o.t75_s, 0.5),
            "t95_s": percentile(o.t95_s, 0.5),
            "peak_request_rate_per_s": _median(o.peak_request_rate_per_s),
            "peak_admitted_rate_per_s": _median(o.peak_admitted_rate_per_s),
            "peak_session_rate_per_s": _median(o.peak_session_rate_per_s),
            "second_wave_peak_per_s": _median(o.second_wave_peak_per_s),
            "attempts": _median(o.attempts),
            "attempts_per_subscriber": _median(o.attempts / population),
            "admitted": _median(o.admitted),
            "successes": _median(o.successes),
            "failures": _median(o.failures),
            "refused": {
                "congestion": _median(o.refused_congestion),
                "network_failure": _median(o.refused_gate_failure),
                "no_resources": _median(o.refused_network),
            },
            "dropped": _median(o.dropped),
            "expired": _median(o.expired),
            "late": _median(o.late),
            "lost_by_imsimgr": _median(o.lost_by_imsimgr),
            "detaches": {"network": _median(o.detaches_network), "subscriber": _median(o.detaches_subscriber)},
            "refreshes": _median(o.refreshes),
            "subscriber_hours_lost": _median(o.subscriber_hours_lost),
            "goodput_over_capacity": self._goodput(),
            "imsimgr_cpu_peak": _median(o.imsimgr_cpu_peak[np.isfinite(o.imsimgr_cpu_peak)]),
            "db_cpu_peak": self._core("database_cpu_peak"),
            "degraded_sessions": self._core("degraded"),
            "core": {name: _median(values) for name, values in o.core.items()},
            "peers": self._peers(),
            "links": self._links(),
            "alarms": list(self.alarms),
            "queues": {
                name: {
                    "offered": _median(o.offered[name]),
                    "served": _median(o.served[name]),
                    "stale": _median(o.stale[name]),
                    "overflow": _median(o.overflow[name]),
                    "peak": _median(o.queue_peak[name]),
                }
                for name in o.offered
            },
            "diagnosis": list(self.diagnosis),
        }

    def _spread(self, times: Floats) -> dict[str, float | None] | None:
        spread = {
            "median": percentile(times, 0.5),
            "p10": percentile(times, 0.1),
            "p90": percentile(times, 0.9),
        }
        return None if all(value is None for value in spread.values()) else spread

    def _core(self, name: str) -> float | None:
        """Median of a quantity of the core; None where the network does not have it."""
        return _median(self.outcomes.core[name]) if name in self.outcomes.core else None

    def _links(self) -> list[dict[str, Any]]:
        """Medians per signalling link; ``share``: its part of what was sent to its STP."""
        o = self.outcomes
        rows = []
        for name, tx in o.link_tx.items():
            stp = sum(o.link_tx[other] for other in o.link_tx if other.partition("/")[0] == name.partition("/")[0])
            share = tx / np.maximum(stp, 1e-12)
            rows.append(
                {
                    "name": name,
                    "tx": _median(tx),
                    "rx": _median(o.link_rx[name]),
                    "share": _median(share),
                    "resent": _median(o.link_resent[name]),
                    "lost": _median(o.link_lost[name]),
                    "congested_s": _median(o.link_congested_s[name]),
                }
            )
        return rows

    def _peers(self) -> dict[str, dict[str, float | None]]:
        """Medians per peer of the Diameter agent, by kind of message."""
        found: dict[str, dict[str, float | None]] = {}
        for path, values in self.outcomes.peers.items():
            peer, _, name = path.partition("/")
            found.setdefault(peer, {})[name] = _median(values)
        return found

    def _goodput(self) -> float | None:
        """Successes per second until T, as a share of the narrowest server's rate."""
        rates = [server.rate_per_s for server in self.scenario.topology.servers().values() if server.rate_per_s]
        if not rates:
            return None
        return _median(self.outcomes.successes / np.maximum(self.restricted_s, self.scenario.dt) / min(rates))

    def series_rows(self) -> Iterator[tuple[int, float, str, str, str, float]]:
        """Yield the time series in long form: seed, time_s, element, quantity, unit, value.

        An alarm has a row when it is set, with 1, and when it is cleared, with 0.
        """
        if self.series is None:
            raise ValueError("the run kept no time series: simulate with record=True")
        yield from self.series.rows()
        for alarm in self.alarms:
            for time_s, up in ((alarm["set_s"], 1.0), (alarm["cleared_s"], 0.0)):
                if time_s is not None:
                    yield alarm["seed"], time_s, alarm["element"], f"{alarm['kind']} alarm", "on", up


@overload
def simulate(
    scenario: str | Scenario,
    knobs: Mapping[str, Any] | None = None,
    seeds: int | Sequence[int] = DEFAULT_SEEDS,
    *,
    vary: bool = False,
    record: bool = False,
    threads: int | None = None,
    check: bool = False,
) -> SimulationResult: ...


@overload
def simulate(
    scenario: str | Scenario,
    knobs: Sequence[Mapping[str, Any]],
    seeds: int | Sequence[int] = DEFAULT_SEEDS,
    *,
    vary: bool = False,
    record: bool = False,
    threads: int | None = None,
    check: bool = False,
) -> list[SimulationResult]: ...


def simulate(
    scenario: str | Scenario,
    knobs: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
    seeds: int | Sequence[int] = DEFAULT_SEEDS,
    *,
    vary: bool = False,
    record: bool = False,
    threads: int | None = None,
    check: bool = False,
) -> SimulationResult | list[SimulationResult]:
    """Run a scenario's storms under a setting, or under each of several, many at a time in one call of the kernel.

    Args:
        scenario: A scenario, the name of one that comes with the package, or a file's path.
        knobs: Knob values that override the present setting, or a sequence of such mappings.
        seeds: The first so many storms, or the storm numbers themselves.
        vary: Whether each storm draws its fields from the scenario's variation.
        record: Whether to keep time series, one point per control interval.
        threads: Threads at most; by default one per core.
        check: Whether to check conservation in every step (``outcomes.conservation_error``).

    Returns:
        A result, or a list of results if ``knobs`` is a sequence.

    Raises:
        InputError: If the scenario, a setting or the seeds are wrong.
    """
    model = scenario if isinstance(scenario, Scenario) else scenario_file.load(scenario)
    settings = [knobs or {}] if isinstance(knobs, Mapping | None) else list(knobs)
    storms = StormSet(model, storm_numbers(seeds), vary)
    per_call = max(ROWS_PER_CALL // len(storms.numbers), 1)
    results: list[SimulationResult] = []
    for first in range(0, len(settings), per_call):
        part = settings[first : first + per_call]
        results += _simulate(storms, part, record=record, threads=threads, check=check)
    return results[0] if isinstance(knobs, Mapping | None) else results


def _simulate(
    storms: StormSet, settings: Sequence[Mapping[str, Any]], *, record: bool, threads: int | None, check: bool
) -> list[SimulationResult]:
    """Run all storms under all settings as one batch."""
    model = storms.scenario
    count = len(storms.numbers)
    rows = np.arange(len(settings) * count)
    batch = Batch(
        storms.scenarios,
        storms.numbers,
        setting_matrix(settings, model),
        rows=(rows % count, rows // count),
        record_s=model.control_interval_s if record else None,
        threads=threads,
        check=check,
    )
    link_states = run_watched(batch) if record else None
    batch.run()
    all_outcomes = outcomes(batch)
    logged = batch.alarms()
    results = []
    for setting, own in zip(settings, rows.reshape(len(settings), count), strict=True):
        series = series_of(batch, own, storms.numbers, link_states) if record else None
        alarms = tuple(
            {"seed": seed, **alarm}
            for seed, row in zip(storms.numbers, own, strict=True)
            for alarm in alarm_rows(logged[int(row)], model)
        )
        results.append(SimulationResult(resolve(setting, model), storms, all_outcomes.pick(own), series, alarms))
    return results


def storm_numbers(seeds: int | Sequence[int], first: int = 0) -> tuple[int, ...]:
    """Return storm numbers: the first ``seeds`` from ``first`` on, or the given ones.

    Raises:
        InputError: If there is none, or one is negative.
    """
    numbers = (
        tuple(range(first, first + min(seeds, MOST_SEEDS + 1)))
        if isinstance(seeds, int)
        else tuple(int(n) for n in seeds)
    )
    if len(numbers) > MOST_SEEDS:
        given = seeds if isinstance(seeds, int) else len(numbers)
        raise wrong_input(f"must be at most {MOST_SEEDS} storms", given, "give fewer", key="seeds")
    if not numbers or min(numbers) < 0:
        raise wrong_input("must be at least 1 storm, numbered from 0 on", seeds, "for example 20", key="seeds")
    return numbers


_DECIMALS = 6
"""Counts come in fractions of a subscriber; more decimals than these are rounding noise."""


def _median(values: Floats) -> float | None:
    return round(float(np.median(values)), _DECIMALS) if values.size else None


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None
