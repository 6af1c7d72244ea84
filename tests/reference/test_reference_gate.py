import numpy as np
import pytest
import simpy

from tests.reference.clock import after
from tests.reference.gate import PacingGate
from tests.reference.handset import EpsLadder, Habits, Handset, State
from tests.reference.knobs import Pace, queue_capacity
from tests.reference.observer import Observer


class Crowd:
    """Handsets in front of a gate; whoever is admitted stays inside."""

    def __init__(
        self,
        rate: float = 10.0,
        capacity: float = 20,
        wait_s: float = 5.0,
        action: str = "drop",
        back_off_s: float | None = None,
    ) -> None:
        self.env = simpy.Environment()
        self.released_s: list[float] = []
        self.observer = Observer(self.env, 0)
        self._rng = np.random.default_rng(2)
        self.gate = PacingGate(
            self.env,
            self._rng,
            self.observer,
            lambda handset: self.released_s.append(self.env.now),
            Pace(rate, capacity, wait_s, action, back_off_s),
        )

    def send(self, number: int, at_s: float = 0.0) -> list[Handset]:
        handsets = [
            Handset(self.env, self._rng, EpsLadder(), Habits(True), self.gate.arrive, lambda served: None)
            for _ in range(number)
        ]
        for handset in handsets:
            after(self.env, at_s, handset.send)
        return handsets


def test_gate_is_never_over_its_rate() -> None:
    crowd = Crowd(rate=50.0, capacity=250)
    for at_s in np.random.default_rng(3).uniform(0.0, 60.0, 4000):
        crowd.send(1, at_s)
    crowd.env.run(until=70.0)
    assert np.diff(crowd.released_s).min() >= 1 / 50.0 - 1e-9
    assert crowd.observer.admissions.peak_per_s(70.0) == 50.0


def test_gate_saves_no_credit() -> None:
    crowd = Crowd(rate=10.0)
    crowd.send(5, at_s=100.0)
    crowd.env.run(until=110.0)
    assert crowd.released_s == pytest.approx([100.0, 100.1, 100.2, 100.3, 100.4])


def test_overflow_is_dropped_in_silence() -> None:
    crowd = Crowd(capacity=20)
    handsets = crowd.send(30)
    crowd.env.run(until=3.0)
    assert crowd.observer.dropped == 10
    assert len(crowd.released_s) == 20
    assert [handset.state for handset in handsets[20:]] == [State.WAITING] * 10


def test_waiting_too_long_ends_in_silence() -> None:
    crowd = Crowd(rate=1.0, capacity=100, wait_s=5.0)
    crowd.send(10)
    crowd.env.run(until=24.0)
    assert crowd.released_s == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert crowd.observer.expired == 5
    crowd.env.run(until=26.0)
    assert crowd.released_s[5:] == [25.0]


def test_congestion_carries_a_back_off_around_its_value() -> None:
    crowd = Crowd(capacity=0, action="reject-congestion", back_off_s=1000.0)
    handsets = crowd.send(200)
    crowd.env.run(until=899.0)
    assert crowd.observer.refused == 200
    crowd.env.run(until=1101.0)
    assert crowd.observer.refused == 400
    assert {handset.attempt for handset in handsets} == {1}


def test_network_failure_is_a_plain_refusal() -> None:
    crowd = Crowd(capacity=0, action="reject-network-failure", back_off_s=1000.0)
    crowd.send(1)
    crowd.env.run(until=41.0)
    assert crowd.observer.refused == 5


@pytest.mark.parametrize(
    ("rate", "wait_s", "queue", "queue_wait_s", "capacity"),
    [
        (50.0, 5.0, None, None, 250.0),
        (20.0, 5.0, None, 1.0, 100.0),  # the keyword cannot be given, so the default holds
        (500.0, 5.0, None, 3.0, 1500.0),
        (500.0, 5.0, None, 0.1, 500.0),
        (100.0, 5.0, None, 1.0, 250.0),
        (5000.0, 10.0, None, 9.0, 25000.0),
        (500.0, 5.0, 700.0, None, 700.0),
        (500.0, 5.0, None, None, 2500.0),
    ],
)
def test_queue_keeps_to_its_legal_range(
    rate: float, wait_s: float, queue: float | None, queue_wait_s: float | None, capacity: float
) -> None:
    assert queue_capacity(rate, wait_s, queue, queue_wait_s) == capacity
