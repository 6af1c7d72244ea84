import numpy as np
import pytest
import simpy

from tests.reference.notifications import Notifications, Throttle
from tests.reference.observer import Observer

ALL_LOW = (0.0,) * 14 + (1.0,)


class Rig:
    """Notifications of low priority only, in exact numbers per window."""

    def __init__(self, throttle: Throttle, arp_shares: tuple[float, ...] = ALL_LOW) -> None:
        self.env = simpy.Environment()
        self.observer = Observer(self.env, 0)
        rng = np.random.default_rng(10)
        self.ddn = Notifications(self.env, rng, self.observer, None, throttle, arp_shares=arp_shares)

    def send(self, number: int, spread_s: float) -> None:
        self.ddn.surge(number, spread_s)
        self.env.run(until=self.env.now + spread_s - 1e-9)


def test_published_start_of_throttling() -> None:
    """1,000/s over 10 s: 4,000 in the first two seconds is not throttled, more than 10,000 within the window is."""
    rig = Rig(Throttle(limit_per_s=1000.0, window_s=10.0, poll_s=2.0))
    rig.send(4000, 2.0)
    rig.env.run(until=2.1)
    assert rig.ddn.factor == 0.0
    rig.send(6001, 1.0)
    rig.env.run(until=4.1)
    assert rig.ddn.factor == 10.0


def test_5001_within_five_seconds_throttle_and_5000_do_not() -> None:
    for number, factor in ((5000, 0.0), (5001, 10.0)):
        rig = Rig(Throttle(limit_per_s=1000.0, window_s=5.0, poll_s=1.0))
        rig.send(number, 0.9)
        rig.env.run(until=1.1)
        assert rig.ddn.factor == factor


def test_published_course_of_the_factor() -> None:
    """10, 20, 30 while over, 20 when under, never below 10."""
    rig = Rig(Throttle(limit_per_s=100.0, window_s=10.0, poll_s=2.0))
    found = []
    for window, number in enumerate((2000, 3000, 3000, 100, 100, 100)):
        rig.send(number, 9.0)
        rig.env.run(until=10.0 * (window + 1) + 0.1)
        found.append(rig.ddn.factor)
    assert found == [10.0, 20.0, 30.0, 20.0, 10.0, 10.0]


def test_only_low_priority_is_dropped_in_proportion() -> None:
    shares = (0.0,) * 9 + (0.5, 0.5, 0.0, 0.0, 0.0, 0.0)
    rig = Rig(Throttle(limit_per_s=10.0, window_s=10.0, poll_s=1.0, factor_percent=40.0), shares)
    rig.send(101, 0.5)
    rig.env.run(until=1.1)
    rig.send(10000, 1.0)
    dropped = rig.observer.noted["ddn_dropped"]
    assert dropped == pytest.approx(0.5 * 0.4 * 10000, abs=5 * np.sqrt(2000 * 0.8))


@pytest.mark.parametrize(("throttle_time_s", "stabilisation_s", "ends_s"), [(50.0, 1e4, 51.0), (1e4, 30.0, 31.0)])
def test_throttling_ends(throttle_time_s: float, stabilisation_s: float, ends_s: float) -> None:
    """After its time, or once a whole stabilisation time stays below the limit."""
    rig = Rig(Throttle(10.0, 10.0, 1.0, throttle_time_s=throttle_time_s, stabilisation_s=stabilisation_s))
    rig.send(101, 0.5)
    for until_s, on in ((ends_s - 0.1, True), (ends_s + 0.1, False)):
        rig.env.run(until=until_s)
        assert (rig.ddn.factor > 0.0) is on
