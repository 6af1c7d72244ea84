import math

import numpy as np
import pytest
import simpy

from tests.reference.agent import Agent, AgentLimits, Peer
from tests.reference.bucket import Bucket
from tests.reference.clock import after
from tests.reference.credit import Question
from tests.reference.dynamic_limit import DynamicLimit
from tests.reference.observer import Observer
from tests.reference.rate import Rate
from tests.reference.server import Server


def test_the_51st_request_within_100_ms_is_refused() -> None:
    """300/s, depth 20, full at the start: 20 and the 30 that come in 100 ms."""
    env = simpy.Environment()
    bucket = Bucket(env, 300.0, 20.0)
    passed = 0

    def ask() -> None:
        nonlocal passed
        if bucket.holds_one():
            bucket.take()
            passed += 1

    for index in range(200):
        after(env, 0.1 * index / 199.0, ask)
    env.run()
    assert passed == 50


class Rig:
    """An agent before a policy server and a charging system that answer after a while."""

    def __init__(self, limits: AgentLimits, latency_s: float = 0.0, gy_latency_s: float = 0.0) -> None:
        self.env = simpy.Environment()
        self.observer = Observer(self.env, 0)
        rng = np.random.default_rng(8)
        self.pcrf = Server(self.env, rng, timer_s=5.0, latency_s=latency_s)
        self.ocs = Server(self.env, rng, timer_s=5.0, latency_s=gy_latency_s)
        self.database = Server(self.env, rng, rate=Rate(1e6, 1e6))
        peers = {"gateway": Peer(self.env, limits, True), "other": Peer(self.env, limits, False)}
        writes = {"ccr_i": 1.0, "ccr_u": 2.0, "ccr_t": 3.0}
        self.agent = Agent(
            self.env, rng, self.observer, limits, peers, self.pcrf, self.ocs, self.database, writes, (5.0, 5.0)
        )
        self.heard: list[tuple[float, bool, bool]] = []

    def ask(self, number: int, kind: str = "ccr_i") -> None:
        for _ in range(number):
            self.agent.ask(kind, lambda success, final: self.heard.append((self.env.now, success, final)))

    def passed(self) -> int:
        return sum(success for _, success, _ in self.heard)


LIMITS = AgentLimits(peer=1000.0, kinds=(200.0, None, 200.0, None))


def test_published_static_limits_leave_other_messages_alone() -> None:
    """1,000/s in all, 200 CCR-I/s, 200 CCR-T/s: CCR-U and Gy pass while the total is within 1,000."""
    rig = Rig(LIMITS)
    rig.ask(500)
    rig.ask(700, "gy")
    rig.ask(200, "ccr_u")
    assert rig.passed() == 200 + 700 + 100
    assert rig.observer.noted["dra_limited"] == 300 + 100


@pytest.mark.parametrize(
    ("action", "when_s", "final"), [("drop", 5.0, False), ("3002", 0.0, False), ("5012", 0.0, True)]
)
def test_what_is_beyond_a_limit(action: str, when_s: float, final: bool) -> None:
    rig = Rig(AgentLimits(peer=10.0, action=action))
    rig.ask(12)
    rig.env.run()
    assert rig.heard[10:] == [(when_s, False, final)] * 2


def test_a_slow_charging_system_fills_the_pool_and_gx_is_refused() -> None:
    rig = Rig(AgentLimits(pool=50.0), latency_s=0.01, gy_latency_s=4.0)
    rig.ask(60, "gy")
    rig.ask(5)
    assert rig.observer.noted["dra_busy_gy"] == 10
    assert rig.observer.noted["dra_busy_gx"] == 5
    rig.env.run(until=4.5)
    rig.ask(5)
    rig.env.run(until=4.6)
    assert rig.passed() == 50 + 5


def test_a_pending_limit_of_the_charging_system_contains_it() -> None:
    rig = Rig(AgentLimits(pool=50.0, ocs_pending=30.0), latency_s=0.01, gy_latency_s=4.0)
    rig.ask(60, "gy")
    rig.ask(5)
    assert (rig.observer.noted["dra_busy_gy"], rig.observer.noted["dra_busy_gx"]) == (30, 0)
    assert rig.observer.peaks["pending_peak"] == 35


def test_a_slot_is_held_until_the_timer_where_no_answer_comes() -> None:
    rig = Rig(AgentLimits(pool=10.0), latency_s=9.0)
    rig.ask(10)
    rig.env.run(until=4.9)
    rig.ask(1)
    assert rig.observer.noted["dra_busy_gx"] == 1
    rig.env.run(until=5.1)
    rig.ask(1)
    assert rig.observer.noted["dra_busy_gx"] == 1


def test_messages_of_nobody_here_load_servers_and_database() -> None:
    rig = Rig(AgentLimits())
    for kind in ("ccr_i", "ccr_u", "ccr_t", "gy"):
        rig.agent.message(kind, "other")
    assert len(rig.database) == 1 + 2 + 3


def sampled(course: list[tuple[int, float]]) -> list[float]:
    """The limit of 1,000/s after each spell of so many seconds at a CPU."""
    env = simpy.Environment()
    cpu = 0.0
    limit = DynamicLimit(env, lambda: cpu, lambda percent: None)
    found = []
    for seconds, cpu in course:  # noqa: B007  (the limit reads it)
        env.run(until=env.now + seconds + 1e-6)
        found.append(1000.0 * (1.0 - limit.throttle / 100.0))
    return found


def test_published_walk_of_the_dynamic_limit() -> None:
    """62 % 600; 60-64 600; at or below 49 % for 30 s 800; 57 % 700; 67 % 500; 55 % 700; 30 s 900; 30 s more 1,000."""
    course = [(1, 62.0), (10, 64.0), (31, 49.0), (1, 57.0), (1, 67.0), (1, 55.0), (31, 49.0), (30, 49.0)]
    assert sampled(course) == [600.0, 600.0, 800.0, 700.0, 500.0, 700.0, 900.0, 1000.0]


def test_a_sample_in_a_band_restarts_the_hold() -> None:
    assert sampled([(1, 62.0), (29, 40.0), (1, 52.0), (29, 40.0), (3, 40.0)]) == [600.0, 600.0, 800.0, 800.0, 1000.0]


def test_the_throttle_takes_part_of_a_peers_limit_unless_it_has_no_profile() -> None:
    rig = Rig(AgentLimits(peer=100.0))
    rig.env.run(until=10.0)
    rig.agent.throttle(40.0)
    rig.ask(100)
    assert rig.passed() == 60
    own: list[bool] = []
    bucket = Peer(rig.env, AgentLimits(peer=100.0), False)
    bucket.throttle(40.0)
    own.append(bucket.kinds["ccr_i"] is None)
    assert own == [True]


@pytest.mark.parametrize(
    ("failure", "limits", "outcome"),
    [
        ("terminate", AgentLimits(peer=1e-6), (False, {})),
        ("continue", AgentLimits(peer=1e-6), (True, {"degraded": 1})),
        ("retry", AgentLimits(peer=1e-6), (True, {"retried": 1})),
        ("retry", AgentLimits(peer=1e-6, action="5012"), (False, {})),
    ],
)
def test_failure_handling(failure: str, limits: AgentLimits, outcome: tuple[bool, dict[str, int]]) -> None:
    rig = Rig(limits)
    mate = Server(rig.env, np.random.default_rng(9), timer_s=5.0)
    question = Question(rig.env, rig.observer, "ccr_i", rig.pcrf, rig.agent, failure, mate)
    answers: list[bool] = []
    question.ask(answers.append)
    rig.env.run()
    counted = {name: n for name, n in rig.observer.noted.items() if name in ("degraded", "retried")}
    assert (answers, counted) == ([outcome[0]], outcome[1])


def test_gy_goes_on_without_charging_uncounted() -> None:
    rig = Rig(AgentLimits())
    silent = Server(
        rig.env, np.random.default_rng(9), rate=Rate(1.0, 1.0), buffer=0.0, timer_s=math.inf, overflow="refuse"
    )
    answers: list[bool] = []
    question = Question(rig.env, rig.observer, "gy", silent, None, "continue", None)
    question.ask(answers.append)
    assert answers == [True]
    assert not rig.observer.noted
