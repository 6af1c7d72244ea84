"""Measures against figures worked out by hand."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from signalstorm.envs.model.metrics import Outcomes, outcomes
from tests.envs.model.kernels.worlds import STEP_S, Course, closed_gate, fixed, handsets, open_gate, world

Floats = npt.NDArray[np.float64]

ABOUT = 3 * STEP_S
"""A hand calculation does not know where in a step something happens."""
QUICK = fixed(1.0, 1.0)


def detach(time_s: float, share: float, spread_s: float, target: str = "*") -> dict[str, Any]:
    return {"kind": "mass_detach", "time_s": time_s, "share": share, "spread_s": spread_s, "target": target}


def recovery(*events: dict[str, Any], horizon_s: float = 400.0, **fields: Any) -> Outcomes:
    """1,000 registered subscribers, a network that answers at once, and mass detaches."""
    data = {
        "subscribers": handsets(1000, QUICK, registered_share=1.0),
        "trigger": {"kind": "detach", "time_s": 100.0},
        "convergence": {"count_from_s": 100.0},
        "timeline": list(events),
        "horizon_s": horizon_s,
    }
    return outcomes(Course(world(**{**data, **fields}), every_s=1.0).run().batch)


def test_times_of_a_straight_recovery() -> None:
    """500 lose service at 100 s and come back evenly within 50 s; the band is 10."""
    found = recovery(detach(100.0, 0.5, 50.0))
    assert found.stormed == 1.0
    assert found.convergence_time_s == pytest.approx(49.0, abs=ABOUT)
    assert found.t50_s == pytest.approx(25.0, abs=ABOUT)
    assert found.t75_s == pytest.approx(37.5, abs=ABOUT)
    assert found.t95_s == pytest.approx(47.5, abs=ABOUT)
    assert found.subscriber_hours_lost == pytest.approx(500 * 50 / 2 / 3600, rel=0.01)


def test_the_band_is_a_share_of_the_population() -> None:
    found = recovery(detach(100.0, 0.5, 50.0), convergence={"count_from_s": 100.0, "band_share": 0.1})
    assert found.convergence_time_s == pytest.approx(40.0, abs=ABOUT)


def test_times_count_from_their_origin() -> None:
    assert recovery(detach(100.0, 0.5, 50.0), convergence={"count_from_s": 0.0}).convergence_time_s == pytest.approx(
        149.0, abs=ABOUT
    )
    late = recovery(detach(100.0, 0.5, 50.0), convergence={"count_from_s": 120.0})
    assert late.convergence_time_s == pytest.approx(29.0, abs=ABOUT)
    assert late.t50_s == pytest.approx(5.0, abs=ABOUT)


def test_health_that_was_never_lost_takes_no_time() -> None:
    for found in (recovery(), recovery(detach(100.0, 0.009, 50.0))):
        assert found.stormed == 0.0
        assert found.convergence_time_s == 0.0


def test_a_storm_before_the_origin_does_not_count() -> None:
    found = recovery(detach(100.0, 0.5, 50.0), convergence={"count_from_s": 160.0})
    assert found.stormed == 0.0
    assert found.convergence_time_s == 0.0


def test_health_must_last_60_s() -> None:
    """A second detach 59 s after health came back: T is that of the second one. At 61 s it is that of the first."""
    relapsed = recovery(detach(100.0, 0.5, 50.0), detach(149.0 + 59.0, 0.5, 50.0))
    assert relapsed.convergence_time_s == pytest.approx(208.0 + 49.0 - 100.0, abs=ABOUT)
    lasting = recovery(detach(100.0, 0.5, 50.0), detach(149.0 + 61.0, 0.5, 50.0))
    assert lasting.convergence_time_s == pytest.approx(49.0, abs=ABOUT)


def test_a_relapse_shows_in_the_second_wave_and_the_lost_hours() -> None:
    found = recovery(detach(100.0, 0.5, 50.0), detach(300.0, 0.8, 20.0))
    assert found.convergence_time_s == pytest.approx(49.0, abs=ABOUT)
    assert found.second_wave_peak_per_s == pytest.approx(800 / 20.0, rel=1e-6)
    assert found.subscriber_hours_lost == pytest.approx((500 * 50 / 2 + 800 * 20 / 2) / 3600, rel=0.01)
    assert found.peak_request_rate_per_s == pytest.approx(40.0, rel=1e-6)


def test_shares_that_are_back_count_from_the_highest_peak() -> None:
    """The second detach takes more: T50, T75 and T95 are those of its recovery."""
    found = recovery(detach(100.0, 0.5, 50.0), detach(300.0, 0.8, 20.0))
    assert found.t50_s == pytest.approx(200.0 + 10.0, abs=ABOUT)
    assert found.t95_s == pytest.approx(200.0 + 19.0, abs=ABOUT)


def test_what_is_not_reached_is_censored() -> None:
    """Health came back at 149 s, but the horizon does not see 60 s of it."""
    short = recovery(detach(100.0, 0.5, 50.0), horizon_s=205.0)
    assert np.isnan(short.convergence_time_s)
    assert short.t95_s == pytest.approx(47.5, abs=ABOUT)
    never = recovery(detach(100.0, 0.5, 300.0), horizon_s=300.0)
    assert np.isnan(never.convergence_time_s)
    assert np.isnan(never.t95_s)
    assert never.t50_s == pytest.approx(150.0, abs=2 * ABOUT)


def test_the_steady_level_is_the_mean_of_the_600_s_before_the_trigger() -> None:
    """200 idle ones are switched on at 1/4 per s in the 800 s before: on average 75 of the last 600 s were without."""
    scenario: dict[str, Any] = {
        "subscribers": handsets(1000, QUICK, registered_share=0.8),
        "demand": {"rate_per_s": 0.25},
        "trigger": {"kind": "detach", "time_s": 800.0},
        "convergence": {"count_from_s": 800.0},
        "horizon_s": 1200.0,
    }
    found = recovery(detach(800.0, 0.5, 50.0), **scenario)
    assert found.convergence_time_s == pytest.approx(50.0 * (500 - 85) / 500, abs=2 * ABOUT)


def test_without_time_before_the_trigger_the_steady_level_is_the_initial_number() -> None:
    found = recovery(
        detach(0.0, 0.5, 50.0),
        subscribers=handsets(1000, QUICK, registered_share=0.8),
        trigger={"kind": "detach", "time_s": 0.0},
        convergence={"count_from_s": 0.0},
    )
    assert found.convergence_time_s == pytest.approx(50.0 * (400 - 10) / 400, abs=ABOUT)


def closed(size: int, rate_per_s: float, horizon_s: float = 100.0) -> Outcomes:
    scenario = world(
        subscribers=handsets(size, QUICK), demand={"rate_per_s": rate_per_s}, closed=True, horizon_s=horizon_s
    )
    return outcomes(Course(scenario, every_s=1.0).run().batch)


def test_a_closed_run_is_over_with_its_last_success() -> None:
    found = closed(1000, 100.0)
    assert found.stormed == 1.0
    assert found.convergence_time_s == pytest.approx(10.0, abs=STEP_S)
    assert found.t50_s == pytest.approx(5.0, abs=STEP_S)
    assert found.t75_s == pytest.approx(7.5, abs=STEP_S)
    assert found.t95_s == pytest.approx(9.5, abs=STEP_S)
    assert found.subscriber_hours_lost == pytest.approx(1000 * 10 / 2 / 3600, rel=0.01)
    assert found.attempts == found.successes == pytest.approx(1000.0)


def test_a_closed_run_that_never_ends_is_censored() -> None:
    scenario = world(
        subscribers=handsets(1000, QUICK), demand={"rate_per_s": 100.0}, closed=True, topology={"gate": {}}
    )
    found = outcomes(Course(scenario, closed_gate(), every_s=1.0).run().batch)
    assert np.isnan(found.convergence_time_s)
    assert found.stormed == 1.0
    assert found.dropped == found.attempts
    assert found.failures == 0.0


def test_peaks_are_counts_of_a_clock_second() -> None:
    found = closed(1000, 100.0)
    assert found.peak_request_rate_per_s == pytest.approx(100.0)
    assert found.peak_admitted_rate_per_s == pytest.approx(100.0)


def test_a_burst_shorter_than_a_second_counts_whole() -> None:
    assert closed(10, 100.0).peak_request_rate_per_s == pytest.approx(10.0)


def test_peaks_of_more_than_an_hour_are_means_of_a_clock_minute() -> None:
    assert closed(1000, 100.0, horizon_s=3601.0).peak_request_rate_per_s == pytest.approx(1000 / 60.0)
    assert closed(12_000, 100.0, horizon_s=3601.0).peak_request_rate_per_s == pytest.approx(100.0)
    assert closed(12_000, 100.0, horizon_s=3600.0).peak_request_rate_per_s == pytest.approx(100.0)


def test_peak_without_service_and_queue_peak() -> None:
    scenario = world(
        subscribers=handsets(1000, QUICK), demand={"rate_per_s": 100.0}, closed=True, topology={"gate": {}}
    )
    course = Course(scenario, closed_gate(), every_s=1.0).run(2.0)
    course.batch.set_settings(open_gate())
    found = outcomes(course.run().batch)
    assert found.queue_peak["gate"] == pytest.approx(course.waiting("gate").max(), abs=10.0)
    assert found.overflow["gate"] == found.dropped
