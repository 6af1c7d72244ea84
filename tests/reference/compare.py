"""Compares the compiled model with the reference: medians over storms with intervals, and a verdict."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.reference.run import run

Kernel = Callable[[Any, Mapping[str, Any], Sequence[int]], Sequence[Any]]
Interval = tuple[float, float]

MEASURES = ("convergence_time_s", "attempts", "peak_request_rate_per_s", "peak_admitted_rate_per_s")
AWAY_FROM_EDGE, ON_EDGE = 0.05, 0.15  # how far the medians may lie apart
CONFIDENCE_Z = 1.959964  # two-sided 95 %
RESAMPLES = 2000


@dataclass(frozen=True)
class Median:
    """A median over storms and its 95 % bootstrap interval; infinite where half never converge."""

    value: float
    interval: Interval

    def __str__(self) -> str:
        return f"{self.value:.5g} [{self.interval[0]:.5g}, {self.interval[1]:.5g}]"


@dataclass(frozen=True)
class Row:
    """One measure on both sides."""

    measure: str
    reference: Median
    kernel: Median
    tolerance: float

    @property
    def difference(self) -> float:
        """Of the kernel from the reference, relative; 0 where both are infinite or zero."""
        if self.kernel.value == self.reference.value:
            return 0.0
        if self.reference.value in (0.0, math.inf):
            return math.inf
        return self.kernel.value / self.reference.value - 1.0

    @property
    def agrees(self) -> bool:
        return abs(self.difference) <= self.tolerance


@dataclass(frozen=True)
class Share:
    """Storms that do not converge, with the Wilson 95 % interval of their share."""

    count: int
    storms: int

    @property
    def interval(self) -> Interval:
        """Wilson's score interval."""
        n, p, z = self.storms, self.count / self.storms, CONFIDENCE_Z
        middle = (p + z * z / (2 * n)) / (1 + z * z / n)
        half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        return max(0.0, middle - half), min(1.0, middle + half)

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.count}/{self.storms} [{low:.3f}, {high:.3f}]"


@dataclass(frozen=True)
class Comparison:
    """The verdict and what it rests on; as text it is a table."""

    rows: tuple[Row, ...]
    reference_collapse: Share
    kernel_collapse: Share
    on_edge: bool
    seconds: tuple[float, float]

    @property
    def collapse_agrees(self) -> bool:
        """Whether the two Wilson intervals overlap."""
        (low, high), (other_low, other_high) = self.reference_collapse.interval, self.kernel_collapse.interval
        return low <= other_high and other_low <= high

    @property
    def agrees(self) -> bool:
        return self.collapse_agrees and all(row.agrees for row in self.rows)

    def __str__(self) -> str:
        lines = [_line("measure (median [95 %])", "reference", "kernel", "difference", "agrees")]
        for row in self.rows:
            difference = f"{row.difference:+.1%}"
            lines.append(_line(row.measure, row.reference, row.kernel, difference, _yes(row.agrees)))
        shares = (self.reference_collapse, self.kernel_collapse)
        lines.append(_line("not converged", *shares, "", _yes(self.collapse_agrees)))
        lines.append(_line("seconds per storm", f"{self.seconds[0]:.3g}", f"{self.seconds[1]:.3g}", "", ""))
        where, tolerance = ("on the edge", ON_EDGE) if self.on_edge else ("away from the edge", AWAY_FROM_EDGE)
        lines.append(f"{where}: medians within {tolerance:.0%}: {'agree' if self.agrees else 'DISAGREE'}")
        return "\n".join(lines)


def compare(
    scenario: Any,
    knobs: Mapping[str, Any],
    seeds: int = 40,
    *,
    kernel: Kernel,
    on_edge: bool | None = None,
    measures: Sequence[str] = MEASURES,
) -> Comparison:
    """Run the same storms on both sides.

    Args:
        scenario: A mapping or a typed scenario; the kernel gets it as it is.
        knobs: Settings over the scenario's present ones.
        seeds: Storms per side.
        kernel: Gives one record per seed with the fields of `Result`, as attributes or keys.
        on_edge: Whether the wider tolerance holds; by default where only some reference storms converge.
        measures: Fields whose medians are compared.
    """
    numbers = range(seeds)
    began_s = time.perf_counter()
    reference = [run(scenario, knobs, seed) for seed in numbers]
    between_s = time.perf_counter()
    other = kernel(scenario, knobs, list(numbers))
    seconds = (between_s - began_s) / seeds, (time.perf_counter() - between_s) / seeds
    collapse, other_collapse = _collapse(reference), _collapse(other)
    edge = 0 < collapse.count < seeds if on_edge is None else on_edge
    tolerance = ON_EDGE if edge else AWAY_FROM_EDGE
    rows = [Row(name, median(_column(reference, name)), median(_column(other, name)), tolerance) for name in measures]
    return Comparison(tuple(rows), collapse, other_collapse, edge, seconds)


def median(values: Sequence[float]) -> Median:
    """The median and its percentile bootstrap interval, from resamples of their own fixed seed."""
    sample = np.asarray(values, dtype=float)
    resamples = np.random.default_rng(0).choice(sample, (RESAMPLES, sample.size))
    low, high = np.quantile(np.median(resamples, axis=1), (0.025, 0.975), method="nearest")
    return Median(float(np.median(sample)), (float(low), float(high)))


def _collapse(records: Sequence[Any]) -> Share:
    times_s = _column(records, "convergence_time_s")
    return Share(times_s.count(math.inf), len(times_s))


def _column(records: Sequence[Any], name: str) -> list[float]:
    """A measure of every record; what was not reached is infinitely late."""
    found = [_field(record, name) for record in records]
    return [math.inf if each is None or math.isnan(each) else float(each) for each in found]


def _field(record: Any, name: str) -> Any:
    """A field of a record; of what was counted beside the attaches, 0 where nothing was."""
    if isinstance(record, Mapping):
        return record[name]
    return getattr(record, name) if hasattr(record, name) else record.beside.get(name, 0.0)


def _line(measure: object, reference: object, kernel: object, difference: str, agrees: str) -> str:
    return f"{measure!s:<26}{reference!s:<28}{kernel!s:<28}{difference:>11}{agrees:>8}"


def _yes(agrees: bool) -> str:
    return "yes" if agrees else "NO"
