"""Refine a table: a search of all its numbers at once, with the table itself at the wheel.

A tree imitates what a policy did where the policy went; a table with a dead band and few changes goes elsewhere, so its
numbers are not the best for where it goes. Moved one at a time they hardly get away from where they are, for a higher
factor in one row only helps with a lower one in another: so TPE (Bergstra et al. 2011) looks at them together. Every
set of numbers meets the same storms.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from signalstorm.agents.laws.table import COLUMNS, Condition, Row, Table
from signalstorm.experiments.tree import two_digits

if TYPE_CHECKING:
    import optuna

Score = Callable[[Table], tuple[float, float]]
"""What is to be small: first changes beyond what a person enters, then what the table loses."""

TRIALS = 200
"""Sets of numbers that are tried, the table's own among them."""
_NEARBY = 24
"""Of them drawn near the table's own, the rest where those before did best."""
_SPREAD = 0.15
"""Deviation of what is drawn nearby [share of a number's range]."""
_LEFT = 6
"""Tables that stay for further storms."""
_FACTORS = (0.5, 4.0)
"""Factors stay within these."""
_FACTOR_SPAN = 1.7
"""A factor moves up or down by this factor at most."""
_RATIO_SPAN = 4.0
"""A threshold of a ratio does by this factor."""
_LEAST_SHARE = 0.1
"""A threshold of a share moves from 0 to twice its value, but at least to this, and at most to 1."""
_COUNT_SPAN = 3
"""A threshold of a count moves up by this at most, or to twice its value."""
_BANDS = (0.05, 0.4)
"""Dead bands stay within these [share]."""
_MOST_PAUSE = 8
"""[intervals]"""


@dataclass(frozen=True)
class Number:
    """A number of a table that is searched."""

    name: str
    """What the search calls it."""
    low: float
    high: float
    value: float
    """What it is in the table that the search starts from."""
    log: bool = False
    """Whether it is searched on a logarithmic scale."""
    whole: bool = False
    """Whether it is a whole number."""

    def near(self, rng: np.random.Generator) -> float:
        """Draw a value near the present one."""
        low, high, value = np.log([self.low, self.high, self.value]) if self.log else (self.low, self.high, self.value)
        drawn = value + _SPREAD * (high - low) * rng.standard_normal()
        found = float(np.exp(drawn)) if self.log else float(drawn)
        inside = min(max(found, self.low), self.high)
        return round(inside) if self.whole else inside


def refine(
    table: Table,
    scores: Sequence[Score],
    trials: int = TRIALS,
    told: Callable[[int, int], None] = lambda done, total: None,
) -> list[Table]:
    """Return the tables that a search likes best, best first; rows that no network can come to any more are left out.

    Args:
        table: Where to start.
        scores: Lower is better. The first is asked of each table tried, each further one of the best few of those
            before it, whose order it then decides.
        trials: Tables tried.
        told: Told how many tables were tried, and of how many.
    """
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = optuna.samplers.TPESampler(seed=0, multivariate=True, n_startup_trials=min(_NEARBY, trials))
    study = optuna.create_study(sampler=sampler)
    searched = list(numbers(table))
    rng = np.random.default_rng(0)
    for number in range(_NEARBY):
        study.enqueue_trial({one.name: one.near(rng) if number else one.value for one in searched})
    first, *further = scores
    found: dict[Table, tuple[float, float]] = {}
    for done in range(trials):
        told(done, trials)
        trial = study.ask()
        other = with_numbers(table, {one.name: _suggested(trial, one) for one in searched})
        if other not in found:
            found[other] = first(other)
        beyond, cost = found[other]
        study.tell(trial, cost + beyond)
    left = sorted(found, key=lambda one: found[one])[:_LEFT]
    for score in further:
        known = {one: score(one) for one in left}
        left.sort(key=lambda one: known[one])
    return left


def numbers(table: Table) -> Iterator[Number]:
    """Yield what is searched; a threshold that several rows name is one number.

    Args:
        table: Where the search starts.
    """
    for number, row in enumerate(table.rows):
        low, high = max(row.factor / _FACTOR_SPAN, _FACTORS[0]), min(row.factor * _FACTOR_SPAN, _FACTORS[1])
        yield Number(f"factor {number}", low, high, row.factor, log=True)
    for column, value in _thresholds(table):
        yield _threshold(f"{column} {value:g}", column, value)
    band = min(max(table.dead_band_share, _BANDS[0]), _BANDS[1])
    yield Number("dead band", *_BANDS, band)
    yield Number("pause", 0, _MOST_PAUSE, min(table.cool_down, _MOST_PAUSE), whole=True)


def _thresholds(table: Table) -> list[tuple[str, float]]:
    return list(dict.fromkeys((c.column, c.value) for row in table.rows for c in row.conditions))


def _threshold(name: str, column: str, value: float) -> Number:
    if COLUMNS[column].is_count:
        return Number(name, 0, max(round(value) + _COUNT_SPAN, round(2 * value)), value, whole=True)
    if COLUMNS[column].is_share or value <= 0.0:
        return Number(name, 0.0, max(min(2.0 * value, 1.0), value, _LEAST_SHARE), value)
    return Number(name, value / _RATIO_SPAN, value * _RATIO_SPAN, value, log=True)


def _suggested(trial: "optuna.Trial", one: Number) -> float:
    if one.whole:
        return float(trial.suggest_int(one.name, int(one.low), int(one.high)))
    return trial.suggest_float(one.name, one.low, one.high, log=one.log)


def with_numbers(table: Table, values: Mapping[str, float]) -> Table:
    """Return a table with other numbers, as a person can enter them.

    Args:
        table: The table.
        values: By the names that `numbers` gives them.
    """

    def moved(condition: Condition) -> Condition:
        value = values[f"{condition.column} {condition.value:g}"]
        return replace(condition, value=value if COLUMNS[condition.column].is_count else two_digits(value))

    rows = tuple(
        Row(tuple(map(moved, row.conditions)), round(values[f"factor {number}"], 2))
        for number, row in enumerate(table.rows)
    )
    return replace(table, rows=_reached(rows), dead_band_share=round(values["dead band"], 2), cool_down=values["pause"])


def _reached(rows: tuple[Row, ...]) -> tuple[Row, ...]:
    """Leave out rows that ask for what cannot be, and those of which an earlier one asks for nothing more."""
    kept: list[Row] = []
    for row in rows:
        earlier_holds = any(all(_implied(c, row) for c in earlier.conditions) for earlier in kept)
        if not earlier_holds and not _contradicts(row):
            kept.append(row)
    return tuple(kept)


def _contradicts(row: Row) -> bool:
    return any(
        a.column == b.column and a.above and not b.above and a.value >= b.value
        for a in row.conditions
        for b in row.conditions
    )


def _implied(condition: Condition, row: Row) -> bool:
    return any(
        (c.column, c.above) == (condition.column, condition.above)
        and (c.value >= condition.value if c.above else c.value <= condition.value)
        for c in row.conditions
    )
