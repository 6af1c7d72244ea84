from collections.abc import Callable

import numpy as np
import pytest
import simpy

from tests.reference.clock import after
from tests.reference.handset import EpsLadder, GprsLadder, Habits, Handset, LaboratoryLadder, Ladder, State

OBEDIENT = Habits(honours_back_off=True)


class Log:
    """A network of one handset: notes when it sends, and does to it what the test says."""

    def __init__(self, ladder: Ladder, treat: Callable[[Handset], None], habits: Habits = OBEDIENT) -> None:
        self.env = simpy.Environment()
        self.times_s: list[float] = []
        self.attempts: list[int] = []
        self.in_time: list[bool] = []
        self._treat = treat
        rng = np.random.default_rng(1)
        self.handset = Handset(self.env, rng, ladder, habits, self._request, lambda served: None)

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
    log = Log(EpsLadder(), lambda handset: handset.refused(100.0), Habits())
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


def test_gprs_refusal_gives_one_try_per_15_s_and_five_tries_then_t3302() -> None:
    log = Log(GprsLadder(), Handset.refused)
    assert log.sends_until(800.0) == [0.0, 15.0, 30.0, 45.0, 60.0, 780.0, 795.0]


def test_gprs_silence_gives_five_sends_15_s_apart_then_t3311_and_behind_the_fifth_attempt_t3302() -> None:
    log = Log(GprsLadder(), Handset.unanswered)
    attempts_s = [90.0 * attempt for attempt in range(5)] + [4 * 90.0 + 75.0 + 720.0]
    expected = [start_s + 15.0 * send for start_s in attempts_s for send in range(5)]
    assert log.sends_until(1230.0) == expected
    assert log.attempts == [*range(1, 26), *range(1, 6)]


def test_gprs_refusal_of_any_request_ends_its_attempt() -> None:
    log = Log(GprsLadder(), lambda handset: None)
    after(log.env, 5.0, log.handset.unanswered)
    after(log.env, 20.0, log.handset.refused)
    assert log.sends_until(40.0) == [0.0, 15.0, 35.0]
    assert log.attempts == [1, 2, 6]


def test_gprs_accept_helps_until_the_attempt_is_aborted() -> None:
    early, late = (Log(GprsLadder(), lambda handset: None) for _ in range(2))
    for log, accept_s in ((early, 74.9), (late, 75.0)):
        after(log.env, 5.0, log.handset.unanswered)
        after(log.env, accept_s, log.accept)
        log.sends_until(89.0)
    assert (early.in_time, late.in_time) == ([True], [False])
    late.env.run(until=100.0)
    assert (late.times_s, late.attempts) == ([0.0, 15.0, 90.0], [1, 2, 6])


def test_impatient_users_cut_the_long_timer_short() -> None:
    impatient = Habits(power_cycles=True, power_cycle_s=(60.0, 60.0))
    refused = Log(EpsLadder(), Handset.refused, impatient)
    assert refused.sends_until(105.0) == [0.0, 10.0, 20.0, 30.0, 40.0, 100.0]
    silent = Log(EpsLadder(), Handset.unanswered, impatient)
    assert silent.sends_until(180.0) == [0.0, 25.0, 50.0, 75.0, 100.0, 175.0]


def test_who_is_detached_by_the_network_is_back_within_seconds_at_the_first_attempt() -> None:
    log = Log(GprsLadder(), lambda handset: None, Habits(reattach_s=10.0))
    log.handset.flagged = True
    log.handset.detached()
    log.env.run(until=10.0)
    assert len(log.times_s) == 1
    assert log.attempts == [1]
    assert not log.handset.flagged
