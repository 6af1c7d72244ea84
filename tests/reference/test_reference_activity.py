import math

import numpy as np
import pytest

from tests.reference.activity import Activity, Change
from tests.reference.fields import Fields
from tests.reference.network import Network

RNG = np.random.default_rng(4)


def times_s(activity: Activity, now_s: float, count: int = 4000) -> np.ndarray:
    return np.array([activity.next_s(now_s, RNG) for _ in range(count)])


def test_a_constant_rate_is_exponential() -> None:
    found = times_s(Activity([(0.0, 0.1), (100.0, 0.1)]), 50.0) - 50.0
    assert found.mean() == pytest.approx(10.0, rel=0.06)
    assert (found > 10.0).mean() == pytest.approx(math.exp(-1.0), abs=0.03)


def test_a_rising_rate_has_its_integral() -> None:
    """0.001 t per s from 0 on: the share still quiet at t is exp(-t * t / 2000)."""
    found = times_s(Activity([(0.0, 0.0), (1000.0, 1.0)]), 0.0)
    for time_s in (20.0, 40.0, 60.0):
        assert (found > time_s).mean() == pytest.approx(math.exp(-(time_s**2) / 2000.0), abs=0.03)


def test_rates_hold_before_the_first_and_behind_the_last_point() -> None:
    assert times_s(Activity([(1000.0, 0.1), (2000.0, 0.0)]), 0.0).mean() == pytest.approx(10.0, rel=0.06)
    assert times_s(Activity([(0.0, 0.0), (10.0, 0.1)], scale=2.0), 20.0).mean() == pytest.approx(25.0, rel=0.06)
    assert Activity([(0.0, 0.0), (10.0, 0.0)]).next_s(5.0, RNG) == math.inf


def test_changes_are_factors_on_the_rate_from_their_time_on() -> None:
    """0.1 per s, from 10 s on a third of it, from 40 to 60 s rising to twice."""
    changes = [Change(10.0, 1.0 / 3.0), Change(40.0, 2.0, 60.0)]
    found = times_s(Activity([(0.0, 0.1), (1.0, 0.1)], changes=changes), 0.0)
    for time_s, area in ((10.0, 1.0), (40.0, 2.0), (60.0, 2.0 + 0.1 * 20.0 * (1.0 / 3.0 + 2.0) / 2.0)):
        assert (found > time_s).mean() == pytest.approx(math.exp(-area), abs=0.03)


def forgotten(**links: float) -> Network:
    """500 subscribers that an HLR reset at 10 s flags, active once in 20 s on average."""
    scenario: Fields = {
        "access": "gprs",
        "subscribers": [{"name": "phone", "size": 500, "registered_share": 1.0, "ladder": {"kind": "gprs"}}],
        "timeline": [{"kind": "hlr_reset", "time_s": 10.0, "share": 0.8}],
        "activity": {"points": [[0.0, 0.05], [100.0, 0.05]]},
        "topology": {"links": {"rate_per_s": 100.0, "window": 100.0, **links}},
        "horizon_s": 1000.0,
    }
    return Network(scenario, {}, 1)


def test_who_refreshes_in_time_keeps_service() -> None:
    network = forgotten()
    network.env.run(until=400.0)
    assert network.observer.refreshes == 400
    assert network.observer.network_detaches == 0
    assert network.observer.curve == [(0.0, 0)]
    assert not any(handset.flagged for handset in network.population.everyone())


def test_refreshes_that_are_put_off_come_later_and_all_the_same() -> None:
    network = forgotten(refresh_delay_max_s=200.0)
    network.env.run(until=110.0)
    at_110_s = sum(handset.flagged for handset in network.population.everyone())
    assert 180 < at_110_s < 320  # half of the longest delay has passed for those who were active soon
    network.env.run(until=800.0)
    assert not any(handset.flagged for handset in network.population.everyone())
    assert network.observer.network_detaches == 0


def test_who_cannot_be_refreshed_is_detached_and_attaches() -> None:
    network = forgotten(rate_per_s=1.0, map_timer_s=5.0)
    network.env.run(until=400.0)
    observer = network.observer
    assert observer.refreshes == 400
    assert observer.network_detaches > 20
    assert observer.requests.total() >= observer.network_detaches
