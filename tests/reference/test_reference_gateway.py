import math

import numpy as np
import pytest
import simpy

from tests.reference.clock import after
from tests.reference.gateway import Gateway
from tests.reference.observer import Observer
from tests.reference.rate import Rate
from tests.reference.server import Server

STUCK = Rate(1e-9, 1e-9)


class Path:
    """One attach at the gateway and the policy server behind it; notes when and how it ends."""

    def __init__(self, sessions: dict[str, object], policy: dict[str, object]) -> None:
        self.env = simpy.Environment()
        rng = np.random.default_rng(5)
        self.observer = Observer(self.env, 0)
        self.sessions = Server(self.env, rng, **sessions)  # type: ignore[arg-type]
        self.pcrf = Server(self.env, rng, **policy)  # type: ignore[arg-type]
        self.gateway = Gateway(self.env, self.observer, self.sessions, 5.0, 4)
        self.outcomes: list[tuple[float, bool]] = []

    def attach_and_run(self) -> list[tuple[float, bool]]:
        after(self.env, 0.0, lambda: self.gateway.create_session(self._handed_over))
        self.env.run(until=1000.0)
        return self.outcomes

    def _handed_over(self, success: bool) -> None:
        if success:
            self.gateway.through(self.pcrf)(self._ended)
        else:
            self._ended(False)

    def _ended(self, success: bool) -> None:
        self.outcomes.append((self.env.now, success))


def test_a_fast_network_needs_one_request() -> None:
    path = Path({}, {})
    assert path.attach_and_run() == [(0.0, True)]
    assert path.observer.create_sessions.total() == 1


def test_no_answer_means_four_repeats_then_refusal() -> None:
    path = Path({"rate": STUCK, "timer_s": 25.0}, {})
    assert path.attach_and_run() == [(25.0, False)]
    assert path.observer.create_sessions.total() == 5
    assert len(path.sessions) == 5


def test_tx_shorter_than_t3_needs_no_repeat() -> None:
    path = Path({}, {"rate": STUCK, "timer_s": 2.0})
    assert path.attach_and_run() == [(2.0, False)]
    assert path.observer.create_sessions.total() == 1


def test_repeats_go_on_while_the_policy_server_says_nothing() -> None:
    path = Path({}, {"rate": STUCK, "buffer": 0, "overflow": "drop", "timer_s": 12.0})
    assert path.attach_and_run() == [(12.0, False)]
    assert path.observer.create_sessions.total() == 3


def test_the_mme_gives_up_before_a_longer_tx() -> None:
    path = Path({}, {"rate": STUCK, "timer_s": math.inf})
    assert path.attach_and_run() == [(25.0, False)]


def test_the_clock_restarts_at_the_policy_server() -> None:
    path = Path({"latency_s": 4.0}, {"latency_s": 4.0})
    assert path.attach_and_run() == [(8.0, True)]
    assert path.observer.create_sessions.total() == 1


def test_refusal_for_a_full_buffer_is_immediate() -> None:
    path = Path({}, {"rate": STUCK, "buffer": 0, "timer_s": 2.0})
    assert path.attach_and_run() == [(0.0, False)]


@pytest.mark.parametrize("latency_s", [7.0, 13.0])
def test_repeats_are_counted_until_the_answer(latency_s: float) -> None:
    path = Path({}, {"latency_s": latency_s})
    assert path.attach_and_run() == [(latency_s, True)]
    assert path.observer.create_sessions.total() == 1 + int(latency_s // 5.0)
