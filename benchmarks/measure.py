"""Measuring: candidate and reference in turn in one process, processor time, medians of the ratios pair by pair."""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

ROUNDS = 9
"""Pairs of runs behind a ratio."""


@dataclass(frozen=True)
class Ratio:
    """A measured ratio and its pass mark."""

    name: str
    candidate: float
    """Median of the candidate, in `unit`."""
    reference: float
    """Median of the reference, in `unit`."""
    unit: str
    ratio: float
    """Median of candidate / reference, pair by pair."""
    low: float
    high: float
    most: float | None = None
    """Pass mark: the ratio is at most this; None: for orientation only."""
    least: float | None = None
    """Pass mark: the ratio is at least this."""

    @property
    def passed(self) -> bool:
        """Whether the pass mark is met."""
        return (self.most is None or self.ratio <= self.most) and (self.least is None or self.ratio >= self.least)

    @property
    def mark(self) -> str:
        """The pass mark in words, empty if there is none."""
        limits = (("at most", self.most), ("at least", self.least))
        words = ", ".join(f"{word} {limit:.3g}" for word, limit in limits if limit is not None)
        return f"{words}: {'met' if self.passed else 'MISSED'}" if words else ""


def compare(
    name: str,
    candidate: Callable[[], float],
    reference: Callable[[], float],
    *,
    scale: float = 1.0,
    unit: str = "s",
    most: float | None = None,
    rounds: int = ROUNDS,
) -> Ratio:
    """Run two things in turn.

    Args:
        name: What is compared.
        candidate: Runs once and returns its time [s].
        reference: The same.
        scale: Factor from seconds to `unit`.
        unit: Unit of the times shown.
        most: Pass mark of the ratio.
        rounds: Pairs, after one pair that does not count.
    """
    candidate(), reference()
    return of_pairs(name, [(candidate() * scale, reference() * scale) for _ in range(rounds)], unit, most=most)


def of_pairs(
    name: str,
    pairs: Sequence[tuple[float, float]],
    unit: str,
    *,
    most: float | None = None,
    least: float | None = None,
) -> Ratio:
    """Return the median ratio of pairs of candidate and reference, see `compare`."""
    ratios = [a / b for a, b in pairs]
    return Ratio(
        name,
        statistics.median(a for a, _ in pairs),
        statistics.median(b for _, b in pairs),
        unit,
        statistics.median(ratios),
        min(ratios),
        max(ratios),
        most,
        least,
    )


def cpu_seconds(work: Callable[[], object]) -> float:
    """Return the processor time of a call, all threads together [s]."""
    began = time.process_time()
    work()
    return time.process_time() - began


def wall_seconds(work: Callable[[], object]) -> float:
    """Return the wall time of a call [s]."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
