"""A law as an ordered table of thresholds, for a person with a screen: the first row that holds gives the rate."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from signalstorm.agents.laws.base import Flags, Floats, Law
from signalstorm.agents.plant import LEAST, View

Index = npt.NDArray[np.intp]

MOST_ROWS = 12
"""Nobody follows a longer table once a minute."""


@dataclass(frozen=True)
class Column:
    """A number that an operator reads, or works out from two that are on the screen."""

    meaning: str
    """What it is, in words."""
    formula: str
    """How it is worked out from counters."""
    of: Callable[[View], Floats]
    """Works it out, shape (rows,)."""
    is_share: bool = True
    """Whether it is shown in per cent."""
    is_count: bool = False
    """Whether it is a whole number."""

    def shown(self, value: float) -> str:
        """Return a threshold as a person reads it."""
        return f"{100.0 * value:g} %" if self.is_share else f"{value:g}"


def _over(above: Floats, below: Floats) -> Floats:
    return np.asarray(above / np.maximum(below, LEAST))


COLUMNS = {
    "failed_share": Column(
        "share of failed attempts",
        "attach failures / (attach accepts + attach failures)",
        lambda view: view.failed_share,
    ),
    "alarms": Column(
        "congestion alarms up", "links congested", lambda view: view.alarms, is_share=False, is_count=True
    ),
    "admitted_share": Column(
        "admitted of the rate that is set", "admitted / rate", lambda view: _over(view.admitted, view.rate)
    ),
    "completed_share": Column(
        "completed of the rate that is set", "attach accepts / rate", lambda view: _over(view.completed, view.rate)
    ),
    "offered_ratio": Column(
        "requests for each one admitted",
        "attach requests / admitted",
        lambda view: np.minimum(_over(view.offered, view.admitted), 1e6),
        is_share=False,
    ),
}
"""By name: what rows may look at. Nothing in it depends on the size of a network, so a table is not of one alone."""


@dataclass(frozen=True)
class Condition:
    """A column above a threshold, or at most at it."""

    column: str
    """A key of `COLUMNS`."""
    above: bool
    """Whether it must be above."""
    value: float
    """The threshold."""

    def holds(self, view: View) -> Flags:
        """Tell where it holds; what nobody can see, a NaN, is not above anything and not at most anything."""
        seen = COLUMNS[self.column].of(view)
        return np.asarray(seen > self.value if self.above else seen <= self.value)

    def __str__(self) -> str:
        column = COLUMNS[self.column]
        return f"{column.meaning} {'above' if self.above else 'at most'} {column.shown(self.value)}"


@dataclass(frozen=True)
class Row:
    """A row: if all its conditions hold, the rate is factor x completed."""

    conditions: tuple[Condition, ...]
    """None: whatever is seen."""
    factor: float
    """Rate over what was completed in the interval."""

    def __str__(self) -> str:
        return f"{'if ' if self.conditions else ''}{self.when}: gate = {self.factor:g} x completed"

    @property
    def when(self) -> str:
        """The conditions in words."""
        return " and ".join(map(str, self.conditions)) or "otherwise"


@dataclass(frozen=True)
class Table(Law):
    """From top to bottom, the first row whose conditions all hold says what the rate is to be."""

    rows: tuple[Row, ...] = (Row((), 1.1),)
    """The last has no condition."""
    floor_per_s: float = 50.0
    """Least rate, so that a network that completes nothing is still asked [1/s]."""

    name: ClassVar[str] = "table"
    source: ClassVar[str] = "distilled from a policy as an ordered list of rules, or written by hand"

    def wanted(self, view: View, memory: Floats) -> Floats:
        """Return the factor of the row that holds, times what was completed; see `Law.wanted`."""
        factors = np.array([row.factor for row in self.rows])[self.chosen(view)]
        return np.asarray(np.maximum(factors * view.completed, self.floor_per_s))

    def chosen(self, view: View) -> Index:
        """Return the row that holds for each storm, counted from 0, shape (rows,)."""
        return first_of(self.rows, view)


def first_of(rows: Sequence[Row], view: View) -> Index:
    """Return which row is the first to hold, counted from 0; the last if none does; shape (rows,)."""
    found = np.full(np.shape(view.rate), len(rows) - 1, np.intp)
    for number in range(len(rows) - 2, -1, -1):
        holds = np.ones(np.shape(view.rate), bool)
        for condition in rows[number].conditions:
            holds &= condition.holds(view)
        found = np.where(holds, number, found)
    return found
