from collections.abc import Callable

import numpy as np
import pytest
import simpy

from tests.reference.clock import after
from tests.reference.handset import EpsLadder, Handset, LaboratoryLadder, Ladder, State


class Log:
    """A network of one handset: notes when it sends, and does to it what the test says."""

    def __init__(self, ladder: Ladder, treat: Callable[[Handset], None], honours_back_off: bool = True) -> None:
        self.env = simpy.Environment()
        self.times_s: list[float] = []
        self.attempts: list[int] = []
        self.in_time: list[bool] = []
        self._treat = treat
        rng = np.random.default_rng(1)
        self.handset = Handset(self.env, rng, ladder, honours_back_off, self._request, lambda served: None)

    def _request(self, handset: Handset) -> None:
        self.times_s.append(self.env.now)
        self.attempts.append(handset.attempt)
        self._treat(handset)

    def accept(self) -> None:
        self.in_time.append(self.handset.accepted())

    def sends_until(self, horizon_s: float) -> list[float]:
        self.handset.send()
        self.env.run(until=horizon_s)
        return self.times_s


def test_eps_silence_gives_five_tries_25_s_apart_then_t3402() -> None:
    log = Log(EpsLadder(), Handset.unanswered)
    assert log.sends_until(900.0) == [0.0, 25.0, 50.0, 75.0, 100.0, 835.0, 860.0, 885.0]
    assert log.attempts == [1, 2, 3, 4, 5, 1, 2, 3]


def test_eps_refusal_gives_five_tries_10_s_apart_then_t3402() -> None:
    log = Log(EpsLadder(), Handset.refused)
    assert log.sends_until(775.0) == [0.0, 10.0, 20.0, 30.0, 40.0, 760.0, 770.0]
    assert log.attempts == [1, 2, 3, 4, 5, 1, 2]


def test_honoured_back_off_restarts_the_attempts() -> None:
    log = Log(EpsLadder(), lambda handset: handset.refused(100.0))
    assert log.sends_until(250.0) == [0.0, 100.0, 200.0]
    assert log.attempts == [1, 1, 1]


def test_ignored_back_off_is_a_plain_refusal() -> None:
    log = Log(EpsLadder(), lambda handset: handset.refused(100.0), honours_back_off=False)
    assert log.sends_until(25.0) == [0.0, 10.0, 20.0]


def test_laboratory_handset_never_stops() -> None:
    log = Log(LaboratoryLadder((5.0, 5.0), (15.0, 15.0)), Handset.refused)
    assert log.sends_until(101.0) == [5.0 * index for index in range(21)]
    assert set(log.attempts) == {1}


def test_laboratory_delays_are_drawn_in_their_span() -> None:
    log = Log(LaboratoryLadder((3.5, 6.5), (15.0, 15.0)), Handset.refused)
    gaps_s = np.diff(log.sends_until(5000.0))
    assert gaps_s.min() >= 3.5
    assert gaps_s.max() <= 6.5
    assert gaps_s.mean() == pytest.approx(5.0, abs=3 * 3.0 / np.sqrt(12 * gaps_s.size))


def test_silence_counts_from_the_sending() -> None:
    log = Log(EpsLadder(), lambda handset: None)
    after(log.env, 7.0, log.handset.unanswered)
    assert log.sends_until(30.0) == [0.0, 25.0]


def test_late_accept_is_silence_and_the_handset_sends_at_once() -> None:
    log = Log(EpsLadder(), lambda handset: None)
    after(log.env, 30.0, log.accept)
    assert log.sends_until(31.0) == [0.0, 30.0]
    assert log.in_time == [False]
    assert log.attempts == [1, 2]


def test_accept_at_the_response_timer_is_too_late() -> None:
    log = Log(EpsLadder(), lambda handset: None)
    after(log.env, 15.0, log.accept)
    assert log.sends_until(40.0) == [0.0, 25.0]


def test_accept_in_time_registers() -> None:
    log = Log(EpsLadder(), lambda handset: None)
    after(log.env, 14.9, log.accept)
    assert log.sends_until(1000.0) == [0.0]
    assert log.handset.state is State.REGISTERED
