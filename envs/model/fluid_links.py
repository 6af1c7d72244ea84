"""The fluid limit behind signalling links: location refreshes and attaches at full link rate, nothing wasted."""

import numpy as np
import numpy.typing as npt

from signalstorm.envs.model.capacity import activity_factors, link_rates
from signalstorm.envs.model.procedures import PROCEDURES, REFRESH_GPRS
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.model.scenario_events import HlrResetEvent, MassDetachEvent
from signalstorm.envs.model.scenario_topology import Links

Floats = npt.NDArray[np.float64]

_STEP_S = 1.0
"""Step of the fluid; activity and link rates change over minutes."""


def links_bound_s(scenario: Scenario, links: Links) -> float:
    """Return the time that the links need for the work of a storm if none of it is wasted [s].

    Flagged subscribers refresh at the rate of the activity profile, two messages each, and those who power-cycle
    attach, four messages; the links carry their full rate as long as there is work. What is left is above the band of
    health as long as it stands for more subscribers than the band, at the two messages that each needs at least.

    Returns:
        From ``count_from`` to the instant when the work left is within the band again; 0 if it never leaves it;
        infinite if it is still above the band at the horizon.
    """
    count = max(round(scenario.horizon_s / _STEP_S), 1)
    time = np.arange(count + 1, dtype=np.float64) * _STEP_S
    work = _cumulative(_work(scenario, time))
    capacity = _cumulative(link_rates(scenario, links, time))
    left = work - np.minimum(np.minimum.accumulate(work - capacity) + capacity, work)
    population = sum(group.size for group in scenario.subscribers)
    origin = scenario.convergence.count_from_s
    above = (left > len(REFRESH_GPRS) * scenario.convergence.band_share * population) & (time >= origin)
    if not above.any():
        return 0.0
    # T ends at the first health after it was lost; a later disturbance does not move it.
    first = int(np.argmax(above))
    within = np.flatnonzero(~above[first:])
    return float(time[first + within[0]]) - origin if within.size else float("inf")


def _cumulative(rates: Floats) -> Floats:
    """Integrate rates from the start up to each instant."""
    return np.concatenate([[0.0], np.cumsum(rates[:-1]) * _STEP_S])


def _work(scenario: Scenario, time: Floats) -> Floats:
    """Return the messages asked for at each instant [1/s]."""
    attach, refresh = len(PROCEDURES[scenario.access]), len(REFRESH_GPRS)
    points = scenario.activity.points if scenario.activity else ((0.0, 0.0),)
    scale = scenario.activity.scale if scenario.activity else 0.0
    activity = scale * np.interp(time, [point[0] for point in points], [point[1] for point in points])
    activity = activity * activity_factors(scenario, time)
    work = np.zeros_like(time)
    factor: Floats | float = 1.0
    if scenario.churn_profile is not None:
        times, factors = zip(*scenario.churn_profile.points, strict=True)
        factor = np.interp(time, times, factors)
    for group in scenario.subscribers:
        churn = np.full_like(time, scenario.churn_per_s(group)) * factor
        registered = group.size * group.registered_share
        flagged = np.zeros_like(time)
        for event in scenario.timeline:
            if isinstance(event, HlrResetEvent):
                after = time >= event.time_s
                gone = _cumulative((activity + churn) * after)
                flagged = np.where(
                    after, flagged * (1.0 - event.share) + event.share * registered * np.exp(-gone), flagged
                )
            elif isinstance(event, MassDetachEvent) and event.target in ("*", group.name):
                spread = max(event.spread_s, _STEP_S)
                within = (time >= event.time_s) & (time < event.time_s + spread)
                work += attach * within * event.share * registered / spread
        # Exact within a step, however soon they become active.
        leaving = np.maximum(activity + churn, 1e-12) * _STEP_S
        confirmed = -np.expm1(-leaving) / leaving * activity * np.minimum(flagged, registered)
        work += refresh * _put_off(scenario, time, confirmed) + attach * churn * registered
    return work


def _put_off(scenario: Scenario, time: Floats, rates: Floats) -> Floats:
    """Return refreshes per second of which each comes later by a time that is uniform up to the longest delay."""
    links = scenario.topology.links
    delay_s = links.refresh_delay_max_s if links else 0.0
    if delay_s < _STEP_S:
        return rates
    total = _cumulative(rates)
    return np.asarray((total - np.interp(time - delay_s, time, total, left=0.0)) / delay_s)
