import math
from dataclasses import replace

import numpy as np
import pytest
import simpy

from tests.reference.clock import after
from tests.reference.links import Link, Marks, Signalling
from tests.reference.rate import Rate
from tests.reference.server import Transaction

MARKS = Marks(window=100.0, start=8000.0, stop=5000.0, queue=8000.0, rto_max_s=8.0)


class Rig:
    """One STP with a few links, and what became of the MAP questions."""

    def __init__(self, marks: Marks = MARKS, links: int = 1, rate: float = 100.0, updates: bool = False) -> None:
        self.env = simpy.Environment()
        rng = np.random.default_rng(5)
        self.alarms: list[tuple[float, bool]] = []
        self.links = [
            Link(self.env, rng, marks, Rate(rate, rate), updates, lambda on: self.alarms.append((self.env.now, on)))
            for _ in range(links)
        ]
        self.signalling = Signalling(self.env, rng, marks, [self.links])
        self.outcomes: list[tuple[float, bool]] = []

    def ask(self, number: int, at_s: float = 0.0) -> None:
        for _ in range(number):
            after(self.env, at_s, lambda: self.signalling.ask(self._note))

    def offer(self, rate: float, until_s: float) -> None:
        for index in range(round(rate * until_s)):
            self.ask(1, index / rate)

    def push(self, number: int) -> None:
        """So many messages at once, of owners without patience."""
        for _ in range(number):
            self.links[0].send(Transaction(0.0, lambda success: None))

    def served(self) -> int:
        link = self.links[0]
        return link.sent - link.discarded - link.lost - len(link) - len(link.stp)

    def _note(self, success: bool) -> None:
        self.outcomes.append((self.env.now, success))


def test_below_its_rate_a_link_answers_everything() -> None:
    rig = Rig(updates=True)
    rig.offer(50.0, 100.0)
    rig.env.run(until=110.0)
    assert [success for _, success in rig.outcomes] == [True] * 5000
    assert rig.alarms == []
    assert rig.links[0].rto_s == 1.0


def test_a_pinned_link_carries_a_window_per_rto_max() -> None:
    rig = Rig()
    rig.push(5000)
    rig.env.run(until=100.0)
    start = rig.served()
    rig.env.run(until=260.0)
    assert (rig.served() - start) / 160.0 == pytest.approx(100.0 / 8.0, rel=0.01)
    assert rig.links[0].rto_s == 8.0
    assert rig.alarms == [(0.0, True)]


def test_a_short_rto_max_is_no_limit() -> None:
    rig = Rig(replace(MARKS, rto_min_s=0.5, rto_initial_s=0.5, rto_max_s=0.5))
    rig.push(8100)
    rig.env.run(until=60.0)
    assert rig.served() / 60.0 == pytest.approx(100.0, rel=0.06)


def test_rto_doubles_while_the_window_is_filled_at_each_expiry() -> None:
    rig = Rig()
    rig.push(1000)
    seen = []
    for time_s in (0.5, 1.5, 3.5, 7.5, 15.5, 23.5):
        rig.env.run(until=time_s)
        seen.append(rig.links[0].rto_s)
    assert seen == [1.0, 2.0, 4.0, 8.0, 8.0, 8.0]


def test_rto_is_back_at_its_minimum_once_a_window_stays_open() -> None:
    rig = Rig()
    rig.push(150)
    rig.env.run(until=1.5)
    assert rig.links[0].rto_s == 1.0
    assert rig.alarms == [(0.0, True), (1.0, False)]


def test_a_window_update_opens_a_link_once_a_quarter_is_free() -> None:
    rig = Rig(updates=True)
    rig.push(8100)
    rig.env.run(until=60.0)
    assert rig.served() / 60.0 == pytest.approx(100.0, rel=0.04)
    assert rig.links[0].expiries == 0


def test_a_closed_window_trickles() -> None:
    rig = Rig(replace(MARKS, trickle_per_s=5.0, rto_max_s=60.0))
    rig.push(8100)
    rig.env.run(
        until=70.0
    )  # RTO 1, 2, 4, 8, 16, 32: the window filled at 63 s is served, then only the trickle until 123 s
    start = rig.served()
    rig.env.run(until=122.0)
    assert rig.served() - start == pytest.approx(5.0 * 52.0, abs=2)


def test_marks() -> None:
    rig = Rig(replace(MARKS, start=60.0, stop=20.0, queue=80.0))
    rig.push(200)
    assert (len(rig.links[0].stp), len(rig.links[0]), rig.links[0].discarded) == (100, 80, 20)
    assert rig.alarms == [(0.0, True)]


def test_new_messages_avoid_congested_links_and_answers_do_not() -> None:
    rig = Rig(replace(MARKS, answer_loss_share=1.0), links=2, updates=True)
    rig.links[1].closed = rig.links[1].congested = True
    rig.offer(80.0, 50.0)
    rig.env.run(until=100.0)
    assert rig.links[0].sent == 4000
    assert sum(success for _, success in rig.outcomes) == pytest.approx(2000, abs=5 * math.sqrt(1000.0))
    assert rig.links[0].answers == sum(success for _, success in rig.outcomes)


def test_owners_of_lost_messages_find_out_when_their_timer_ends() -> None:
    rig = Rig()
    rig.ask(20)
    after(rig.env, 0.01, rig.links[0].reset)
    rig.env.run(until=40.0)
    late = [(time_s, success) for time_s, success in rig.outcomes if time_s > 1.0]
    assert late == [(30.0, False)] * (20 - len(rig.outcomes[: -len(late)]))
    assert len(rig.outcomes) == 20


def test_a_reset_empties_the_queue_and_starts_at_rto_initial() -> None:
    rig = Rig()
    rig.push(1000)
    after(rig.env, 20.0, rig.links[0].reset)
    rig.env.run(until=20.1)
    link = rig.links[0]
    assert (len(link), len(link.stp), link.rto_s, link.closed) == (0, 0, 3.0, False)
    assert rig.alarms == [(0.0, True), (20.0, False)]


def test_half_is_lost_until_one_of_two_links_is_found_dead() -> None:
    """RTO 1, 2, 4, 8, 8, ... s: the limit of 5 retransmissions is exceeded by the sixth expiry, 31 s after the loss."""
    rig = Rig(replace(MARKS, max_assoc_retx=5), links=2, updates=True)
    rig.links[0].fall(noticed=False)
    rig.offer(20.0, 100.0)
    rig.env.run(until=140.0)
    lost = [time_s - 30.0 for time_s, success in rig.outcomes if not success]
    assert len(lost) == pytest.approx(10.0 * 31.0, abs=2)
    assert max(lost) == pytest.approx(31.0, abs=0.2)
    assert not rig.links[0].in_service


def test_a_link_known_to_be_down_gets_nothing() -> None:
    rig = Rig(links=2, updates=True)
    rig.links[0].fall(noticed=True)
    rig.offer(20.0, 20.0)
    rig.env.run(until=60.0)
    assert all(success for _, success in rig.outcomes)
    assert rig.links[0].sent == 0


def resent_share(load_per_s: float, rto_s: float) -> float:
    """Resends per message of 4,000 that arrive as a Poisson process, none of which is lost."""
    rig = Rig(replace(MARKS, rto_min_s=rto_s), rate=1e4)
    for at_s in np.cumsum(np.random.default_rng(7).exponential(1.0 / load_per_s, 4000)):
        rig.ask(1, at_s)
    rig.env.run()
    assert all(success for _, success in rig.outcomes)
    return rig.links[0].resent / rig.links[0].sent


def test_a_low_rto_sends_lone_messages_again() -> None:
    assert resent_share(0.01, 0.1) > 0.98
    assert resent_share(100.0, 0.1) < 0.01
    assert resent_share(1.0, 0.3) == 0.0
