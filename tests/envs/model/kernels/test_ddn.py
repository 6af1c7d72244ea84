"""The SGW's throttle of downlink data notifications: the published law, exactly; and the MME's own word."""

from typing import Any

import numpy as np

from tests.envs.model.kernels.cores import STEP_S, after, core, course, gain, level, network

LOW = [0.0] * 10 + [0.2] * 5
"""All notifications are of priority levels 11 to 15."""


def sgw(timeline: list[dict[str, Any]] | None = None, *, topology: dict[str, Any] | None = None, **ddn: Any) -> Any:
    """Notifications towards an MME; limit 1,000/s, window 10 s, poll 2 s unless told otherwise."""
    return network(
        {"mme": {}, "ddn": {"arp_shares": LOW, **ddn}, **(topology or {})}, timeline=timeline or [], horizon_s=200.0
    )


def surge(time_s: float, count: float, spread_s: float) -> dict[str, Any]:
    return {"kind": "ddn_surge", "time_s": time_s, "count": count, "spread_s": spread_s}


def factors(run: Any, *seconds: float) -> list[float]:
    return [after(run, core.N_DDN_FACTOR, second) for second in seconds]


def test_4000_in_the_first_2_s_are_not_throttled_and_more_than_10000_in_10_s_are() -> None:
    calm = course(sgw([surge(0.0, 4000.0, 2.0)]), 30.0)
    assert level(calm, core.N_DDN_FACTOR).max() == 0.0
    just = course(sgw([surge(0.0, 10_000.0, 9.0)]), 30.0)
    assert level(just, core.N_DDN_FACTOR).max() == 0.0
    over = course(sgw([surge(0.0, 10_001.0, 9.0)]), 30.0)
    assert factors(over, 9.95, 10.0) == [0.0, 10.0]


def test_surges_that_overlap_are_each_sent_evenly_within_their_time() -> None:
    run = course(sgw([surge(0.0, 1000.0, 10.0), surge(5.0, 1000.0, 100.0)]), 120.0)
    sent = [after(run, core.N_DDN_SENT, seconds) for seconds in (5.0, 10.0, 55.0, 105.0, 110.0)]
    np.testing.assert_allclose(sent, [500.0, 1050.0, 1500.0, 2000.0, 2000.0])


def test_a_window_of_5_s_polled_each_second_throttles_above_5000() -> None:
    for count, factor in ((5000.0, 0.0), (5001.0, 10.0)):
        run = course(sgw([surge(0.0, count, 2.0)], window_s=5.0, poll_s=1.0), 6.0)
        assert level(run, core.N_DDN_FACTOR).max() == factor
    run = course(sgw([surge(0.0, 6000.0, 2.0)], window_s=5.0, poll_s=1.0), 6.0)
    assert factors(run, 1.95, 2.0) == [0.0, 10.0]  # at the first poll that sees it


def test_the_factor_rises_by_the_increment_while_over_and_falls_to_the_configured_one() -> None:
    run = course(sgw([surge(0.0, 60_000.0, 40.0)]), 100.0)
    # 1,500/s: seen at 8 s; windows of 10 s end at 20, 30, 40 above the limit, and from 50 on below it.
    assert factors(run, 7.95, 8.0, 19.95, 20.0, 30.0, 40.0) == [0.0, 10.0, 10.0, 20.0, 30.0, 40.0]
    assert factors(run, 50.0, 60.0, 70.0, 80.0, 90.0) == [30.0, 20.0, 10.0, 10.0, 10.0]


def test_only_priorities_above_the_watermark_are_dropped() -> None:
    even = [1.0 / 15.0] * 15
    run = course(sgw([surge(0.0, 60_000.0, 40.0)], arp_shares=even, arp_watermark=12), 20.0)
    dropped = gain(run, core.N_DDN_DROPPED, 15.0)
    np.testing.assert_allclose(dropped, 1500.0 * (3.0 / 15.0) * 0.1)


def test_throttling_ends_after_its_time_or_sooner_when_a_period_stays_below_the_limit() -> None:
    ever = course(sgw(rate_per_s=2000.0, throttle_time_s=30.0, stabilisation_s=1000.0), 80.0)
    starts = np.flatnonzero(np.diff(level(ever, core.N_DDN_FACTOR) > 0.0)) * STEP_S
    assert np.isclose(starts[1] - starts[0], 30.0)
    calm = course(sgw([surge(0.0, 20_000.0, 10.0)], stabilisation_s=20.0), 80.0)
    # Begun at 6 s: sent and dropped in 6 to 26 s are 8,000, below 1,000/s x 20 s.
    assert factors(calm, 6.0, 25.95, 26.0) == [10.0, 10.0, 0.0]


def test_an_mme_of_release_10_names_factor_and_delay_when_it_is_overloaded() -> None:
    mme = {"mme": {"rate_per_s": 1000.0}}
    busy = [surge(10.0, 30_000.0, 20.0)]
    run = course(sgw(busy, topology=mme, by_mme=True, factor_percent=50.0, delay_s=15.0, rate_per_s=100.0), 150.0)
    factor = level(run, core.N_DDN_FACTOR)
    assert set(np.unique(factor)) == {0.0, 50.0}
    last_busy = np.flatnonzero(level(run, core.N_MME_CPU) >= 0.8).max() * STEP_S
    ended = np.flatnonzero(factor > 0.0).max() * STEP_S
    assert abs(ended - last_busy - 15.0) <= 2 * STEP_S


def test_notifications_load_the_mme_and_polling_costs_messages() -> None:
    run = course(sgw(rate_per_s=200.0, messages=2.0, topology={"mme": {"rate_per_s": 1000.0}}), 60.0)
    assert np.isclose(after(run, core.N_MME_CPU, 60.0), 0.4, atol=1e-4)
    assert run.batch.core_block()[core.N_DDN_POLLS, 0] == 24 * 30
