import math

import numpy as np
import pytest
import simpy

from tests.reference.clock import after
from tests.reference.rate import Rate
from tests.reference.server import Server


class Bench:
    """A server under Poisson or paced questions; notes the age of each answer, NaN where it failed."""

    def __init__(self, seed: int = 4, **settings: object) -> None:
        self.env = simpy.Environment()
        self.rng = np.random.default_rng(seed)
        self.server = Server(self.env, self.rng, **settings)  # type: ignore[arg-type]
        self.ages_s: list[float] = []
        self.failed_after_s: list[float] = []

    def ask(self) -> None:
        asked_s = self.env.now
        self.server.ask(lambda success: self._note(success, self.env.now - asked_s))

    def ask_at(self, times_s: np.ndarray) -> None:
        for time_s in times_s:
            after(self.env, float(time_s), self.ask)

    def _note(self, success: bool, age_s: float) -> None:
        (self.ages_s if success else self.failed_after_s).append(age_s)


def loss_m_m_1_k(load: float, size: int) -> float:
    """Share of Poisson arrivals that find `size` in an M/M/1/K system: (1 - a) a^K / (1 - a^(K + 1))."""
    return (1.0 - load) * load**size / (1.0 - load ** (size + 1))


@pytest.mark.parametrize("load", [0.7, 0.95, 1.3])
def test_loss_of_m_m_1_k_agrees_with_the_closed_form(load: float) -> None:
    size, arrivals, batches = 8, 4000, 10
    losses = []
    for seed in range(batches):
        bench = Bench(seed, rate=Rate(10.0, 10.0), buffer=size)
        times_s = np.cumsum(np.random.default_rng(100 + seed).exponential(1 / (10.0 * load), arrivals))
        bench.ask_at(times_s)
        bench.env.run(until=times_s[-1])
        losses.append(bench.server.lost / arrivals)
    error = np.std(losses, ddof=1) / math.sqrt(batches)
    assert abs(np.mean(losses) - loss_m_m_1_k(load, size)) < 3 * error


@pytest.mark.parametrize(("load", "share"), [(0.3, 0.3), (0.8, 0.8), (1.5, 1.0)])
def test_a_server_is_busy_for_the_share_of_time_that_its_load_takes(load: float, share: float) -> None:
    bench = Bench(rate=Rate(20.0, 20.0), other_load=Rate(20.0 * load, 20.0 * load))
    bench.env.run(until=2000.0)
    assert bench.server.busy_s / 2000.0 == pytest.approx(share, abs=0.02)


def test_mean_wait_of_d_m_1_agrees_with_the_closed_form() -> None:
    # D/M/1: the time in the system is exponential of rate c (1 - s), where s = exp(-(1 - s) / load).
    load, root = 0.8, 0.5
    for _ in range(200):
        root = math.exp(-(1.0 - root) / load)
    means = []
    for seed in range(10):
        bench = Bench(seed, rate=Rate(10.0, 10.0))
        bench.ask_at(np.arange(4000) / (10.0 * load))
        bench.env.run(until=550.0)
        means.append(np.mean(bench.ages_s))
    error = np.std(means, ddof=1) / math.sqrt(len(means))
    assert abs(np.mean(means) - 1.0 / (10.0 * (1.0 - root))) < 3 * error


def test_whoever_gives_up_still_takes_place_and_service() -> None:
    bench = Bench(rate=Rate(1.0, 1.0), buffer=30, timer_s=1e-6)
    bench.ask_at(np.zeros(30))
    bench.env.run(until=1e-3)
    assert bench.failed_after_s == pytest.approx([1e-6] * 30)
    assert len(bench.server) == 30
    bench.ask()
    assert len(bench.failed_after_s) == 31
    bench.env.run(until=100.0)
    assert len(bench.server) == 0
    assert bench.ages_s == []


def test_a_full_buffer_that_drops_is_found_out_by_the_timer() -> None:
    bench = Bench(rate=Rate(1e-9, 1e-9), buffer=0, overflow="drop", timer_s=2.0)
    bench.ask_at(np.array([1.0]))
    bench.env.run(until=10.0)
    assert bench.failed_after_s == [2.0]


@pytest.mark.parametrize(("latency_s", "timer_s", "served"), [(3.5, 3.0, False), (3.0, 3.0, False), (3.5, 4.0, True)])
def test_latency_counts_against_the_timer(latency_s: float, timer_s: float, served: bool) -> None:
    bench = Bench(latency_s=latency_s, timer_s=timer_s)
    bench.ask()
    bench.env.run(until=10.0)
    assert (bench.ages_s, bench.failed_after_s) == (([latency_s], []) if served else ([], [timer_s]))


def test_foreign_load_uses_capacity() -> None:
    bench = Bench(rate=Rate(10.0, 10.0), buffer=100, other_load=Rate(20.0, 20.0))
    bench.env.run(until=200.0)
    assert len(bench.server) >= 90
    assert bench.server.lost == pytest.approx(200 * 10, rel=0.1)


def test_a_ramp_is_followed() -> None:
    bench = Bench(rate=Rate(0.0, 100.0))
    bench.ask_at(np.zeros(20_000))
    rate = bench.server.rate
    assert rate is not None
    after(bench.env, 100.0, lambda: rate.aim(100.0, bench.env.now, 200.0))
    bench.env.run(until=100.0)
    assert len(bench.ages_s) == 0
    bench.env.run(until=200.0)
    assert abs(len(bench.ages_s) - 5000) < 3 * math.sqrt(5000)
    bench.env.run(until=300.0)
    assert abs(len(bench.ages_s) - 15_000) < 3 * math.sqrt(15_000)
