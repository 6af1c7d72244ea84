"""Runs one storm event by event."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from tests.reference.convergence import (
    BAND_SHARE,
    Curve,
    first_health,
    last_success,
    steady_level,
    time_back,
    with_alarms,
)
from tests.reference.fields import Fields, plain, section, value
from tests.reference.network import Network
from tests.reference.observer import MINUTE_S, Observer


@dataclass(frozen=True)
class Result:
    """What one run counted. Times [s] count from the origin of T; None was not reached in the horizon."""

    attempts: int
    admitted: int
    successes: int
    failures: int
    refused: int
    dropped: int
    expired: int
    lost: int
    create_sessions: int
    refreshes: int
    network_detaches: int
    alarms: int
    convergence_time_s: float | None
    t50_s: float | None
    t75_s: float | None
    t95_s: float | None
    peak_request_rate_per_s: float
    peak_admitted_rate_per_s: float
    peak_create_session_rate_per_s: float
    peak_minute_rate_per_s: float
    beside: Mapping[str, float]
    without_service: Curve


def run(scenario: Any, knobs: Mapping[str, Any], seed: int) -> Result:
    """Simulate a scenario, a mapping or a typed object, with some knobs set over its present ones.

    Args:
        scenario: The scenario.
        knobs: The knobs that are set.
        seed: The storm.
    """
    fields = plain(scenario)
    network = Network(fields, knobs, seed)
    horizon_s = fields["horizon_s"]
    network.env.run(until=_end(network, fields, horizon_s))
    return _result(network.observer, fields, horizon_s)


def _end(network: Network, fields: Fields, horizon_s: float) -> Any:
    """A closed run that nothing can start again ends with the last success, any other with the horizon."""
    churn = any(value(each, "churn_per_s", 0.0) > 0.0 for each in fields["subscribers"])
    if not value(fields, "closed", False) or churn or fields.get("timeline"):
        return horizon_s
    return network.observer.restored | network.env.timeout(horizon_s)


def _result(observer: Observer, fields: Fields, horizon_s: float) -> Result:
    trigger_s = value(section(fields, "trigger"), "time_s", 0.0)
    count_from_s = value(section(fields, "convergence"), "count_from_s", trigger_s)
    curve = observer.curve
    return Result(
        attempts=observer.requests.total(),
        admitted=observer.admissions.total(),
        successes=observer.successes,
        failures=observer.failures,
        refused=observer.refused,
        dropped=observer.dropped,
        expired=observer.expired,
        lost=observer.lost,
        create_sessions=observer.create_sessions.total(),
        refreshes=observer.refreshes,
        network_detaches=observer.network_detaches,
        alarms=sum(later > earlier for (_, earlier), (_, later) in pairwise(observer.alarms)),
        convergence_time_s=_convergence_time_s(curve, observer.alarms, fields, trigger_s, count_from_s, horizon_s),
        t50_s=time_back(curve, 0.50, count_from_s),
        t75_s=time_back(curve, 0.75, count_from_s),
        t95_s=time_back(curve, 0.95, count_from_s),
        peak_request_rate_per_s=observer.requests.peak_per_s(horizon_s),
        peak_admitted_rate_per_s=observer.admissions.peak_per_s(horizon_s),
        peak_create_session_rate_per_s=observer.create_sessions.peak_per_s(horizon_s),
        peak_minute_rate_per_s=observer.requests.largest_mean_per_s(MINUTE_S),
        beside={**observer.noted, **observer.peaks},
        without_service=curve,
    )


def _convergence_time_s(
    curve: Curve, alarms: Curve, fields: Fields, trigger_s: float, count_from_s: float, horizon_s: float
) -> float | None:
    if value(fields, "closed", False):
        return last_success(curve, count_from_s)
    population = sum(each["size"] for each in fields["subscribers"])
    band = value(section(fields, "convergence"), "band_share", BAND_SHARE) * population
    return first_health(with_alarms(curve, alarms), steady_level(curve, trigger_s) + band, count_from_s, horizon_s)
