"""The timer wheel of differences against one that writes every firing down."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.envs.model.kernels.blocks import wheel
from tests.envs.model.kernels.oracles import fired_uniformly

LANES, STEPS, LONGEST, MASK = 3, 60, 28, 31

Put = tuple[int, int, float, int, int]


@st.composite
def insertions(draw: st.DrawFn) -> list[Put]:
    found: list[Put] = []
    for _ in range(draw(st.integers(1, 30))):
        low = draw(st.integers(1, LONGEST))
        high = draw(st.integers(low + 1, LONGEST + 1))
        n = draw(st.floats(1e-3, 1e6))
        found.append((draw(st.integers(0, STEPS - 1)), draw(st.integers(0, LANES - 1)), n, low, high))
    return sorted(found)


@given(puts=insertions(), end=st.integers(STEPS - 1, 2 * STEPS))
@settings(max_examples=150, deadline=None, derandomize=True)
def test_differences_fire_like_single_timers(puts: list[Put], end: int) -> None:
    fired, waiting = wheel(puts, steps=STEPS, lanes=LANES, end=end, mask=MASK)
    expected, expected_waiting = fired_uniformly(puts, steps=STEPS, lanes=LANES)
    scale = 1.0 + sum(put[2] for put in puts)
    np.testing.assert_allclose(fired / scale, expected / scale, atol=1e-12)
    np.testing.assert_allclose(waiting / scale, expected_waiting / scale, atol=1e-12)


def test_a_fixed_delay_fires_everybody_in_one_step() -> None:
    fired, waiting = wheel([(3, 1, 10_000.0, 25, 26)], steps=STEPS, lanes=LANES, end=STEPS, mask=MASK)
    assert fired[28, 1] == 10_000.0
    assert fired.sum() == 10_000.0
    assert not waiting.any()


def test_what_fires_after_the_horizon_only_waits() -> None:
    fired, waiting = wheel([(0, 0, 8.0, 10, 18), (0, 1, 8.0, 20, 25)], steps=14, lanes=LANES, end=13, mask=MASK)
    np.testing.assert_array_equal(np.flatnonzero(fired[:, 0]), [10, 11, 12, 13])
    np.testing.assert_array_equal(waiting, [4.0, 8.0, 0.0])


def sixty_second_bins(low_s: int, high_s: int) -> list[float]:
    """10,000 handsets refused evenly within 60 s come back after a back-off; one step is a second."""
    puts = [(second, 0, 10_000 / 60, low_s, high_s) for second in range(60)]
    fired, _ = wheel(puts, steps=3600, lanes=1, end=3600, mask=2047)
    assert fired.sum() == pytest.approx(10_000)
    return [float(minute.sum()) for minute in fired.reshape(60, 60)]


def test_a_fixed_back_off_creates_the_burst_again() -> None:
    assert max(sixty_second_bins(1200, 1201)) >= 0.8 * 10_000


def test_a_back_off_of_15_to_30_minutes_does_not() -> None:
    """SGSN range: 10,000 over 900 s are 667 per minute."""
    bins = sixty_second_bins(900, 1800)
    assert max(bins) <= 0.2 * 10_000
    assert max(bins) == pytest.approx(10_000 * 60 / 900)
