"""Published vendor laboratory runs A, C and D: one laboratory, three storms, medians of 20 seeds.

1,000 simulated handsets, a PCRF of 50 transactions/s, no limit on tries. The published figures and the tolerances
that this project grants them are in docs/validation.md.
"""

from functools import cache

import numpy as np
import numpy.typing as npt
import pytest

from signalstorm.envs.model.metrics import Outcomes
from signalstorm.envs.model.scenario_file import load
from signalstorm.experiments.evaluate import StormSet, evaluate
from tests.envs.model.kernels.worlds import Course

Floats = npt.NDArray[np.float64]

SEEDS = 20


@cache
def run(name: str) -> Outcomes:
    found = evaluate([{}], StormSet(load(name), tuple(range(SEEDS)), vary=False), check=True).outcomes
    assert (found.conservation_error < 1e-9).all()
    return found


def median(values: Floats) -> float:
    """The median; what was not reached counts as later than everything."""
    return float(np.median(np.where(np.isnan(values), np.inf, values)))


def test_run_a_everybody_is_attached_in_about_20_s() -> None:
    """50/s into a PCRF that just bears it."""
    found = run("lab-pcrf-a")
    assert median(found.convergence_time_s) == pytest.approx(20.0, rel=0.05)
    assert found.successes == pytest.approx(np.full((1, SEEDS), 1000.0), abs=0.5)


def test_run_c_takes_more_than_two_minutes() -> None:
    """100/s and no gate: last success after 120 to 260 s."""
    assert 120.0 <= median(run("lab-pcrf").convergence_time_s) <= 260.0


def test_run_c_needs_ten_times_the_attempts() -> None:
    """10,580 attempts, of which 9,580 fail, within 30 %."""
    found = run("lab-pcrf")
    assert median(found.attempts) == pytest.approx(10_580, rel=0.3)
    assert median(found.failures) == pytest.approx(9_580, rel=0.3)
    assert found.successes == pytest.approx(np.full((1, SEEDS), 1000.0), abs=0.5)


def test_run_c_peaks_at_180_create_session_requests_per_second() -> None:
    """Within 20 %."""
    assert median(run("lab-pcrf").peak_session_rate_per_s) == pytest.approx(180.0, rel=0.2)


def test_run_d_ends_after_about_30_s() -> None:
    """The same storm behind a gate of 50/s: within 20 %."""
    assert median(run("lab-pcrf-nop50").convergence_time_s) == pytest.approx(30.0, rel=0.2)


def test_run_d_wastes_nothing() -> None:
    """1,000 attempts behind the gate and no failure, in every storm."""
    found = run("lab-pcrf-nop50")
    assert found.admitted == pytest.approx(np.full((1, SEEDS), 1000.0), abs=0.5)
    assert found.failures.max() < 1e-6


def test_run_d_never_exceeds_50_per_second() -> None:
    found = run("lab-pcrf-nop50")
    assert found.peak_session_rate_per_s.max() <= 50.0 + 1e-6
    course = Course(load("lab-pcrf-nop50"), storms=range(4)).run(60.0)
    assert course.admitted.max() <= 50.0 * course.dt + 1e-9


def test_the_gate_is_what_makes_the_difference() -> None:
    """Run C against run D: at least four times as long and eight times the work."""
    free, gated = run("lab-pcrf"), run("lab-pcrf-nop50")
    assert median(free.convergence_time_s) > 4.0 * median(gated.convergence_time_s)
    assert median(free.attempts) > 8.0 * median(gated.attempts)
