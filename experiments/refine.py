"""Refine a table: one number of it moved at a time, kept where storms then end sooner under it.

A tree imitates what a policy did where the policy went; a table with a dead band goes elsewhere, so its numbers are
not the best for where it goes. A pattern search (Hooke and Jeeves, J. ACM 8, 1961) moves them while the table itself
is at the wheel. Every set of numbers meets the same storms, so a small gain shows.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from signalstorm.agents.laws.table import COLUMNS, Condition, Row, Table
from signalstorm.experiments.tree import two_digits

Score = Callable[[Table], tuple[float, float]]
"""What is to be small."""
Move = Callable[[Table], Table]
"""A table with one number moved."""

STEPS = (0.06, 0.03)
"""By how much a factor is moved in each sweep [share]; a threshold by twice as much, a count by 1."""
_FACTORS = (0.5, 4.0)
"""Factors stay within these."""
_BANDS = (0.05, 0.4)
"""Dead bands stay within these [share]."""
_MOST_PAUSE = 8.0
"""[intervals]"""


def refine(
    table: Table, scores: Sequence[Score], told: Callable[[int, int], None] = lambda done, total: None
) -> list[Table]:
    """Return the tables that a search went through, from the one given on, each better than the one before.

    Each number is moved up and down in each sweep, and moved on while that helps by every score: what helps on some
    storms by chance seldom does so on others. Rows that no network can come to any more are left out.

    Args:
        table: Where to start.
        scores: Lower is better. The first is asked of each table tried, each further one of what those before it like
            better, so the cheapest comes first.
        told: Told how many moves are done, and of how many.
    """
    path, best = [table], [score(table) for score in scores]
    total = sum(len(list(moves(table, step))) for step in STEPS)
    tried = {table}
    done = 0
    for step in STEPS:
        for move in moves(table, step):
            told(done, total)
            done += 1
            while (other := move(path[-1])) not in tried:
                tried.add(other)
                found = _better(other, scores, best)
                if found is None:
                    break
                path, best = [*path, other], found
    return [replace(one, rows=_reached(one.rows)) for one in path]


def _better(
    table: Table, scores: Sequence[Score], best: Sequence[tuple[float, float]]
) -> list[tuple[float, float]] | None:
    """Return a table's scores if each is lower than the best so far; None as soon as one is not."""
    found: list[tuple[float, float]] = []
    for score, least in zip(scores, best, strict=True):
        found.append(score(table))
        if found[-1] >= least:
            return None
    return found


def moves(table: Table, step: float) -> Iterator[Move]:
    """Yield the ways to move one number of a table; a threshold that several rows name moves in all of them.

    Args:
        table: A table.
        step: By how much a factor moves [share].
    """
    for share in (1.0 + step, 1.0 - step):
        for number in range(len(table.rows)):
            yield partial(_factor, number=number, share=share)
    for by in (-0.05, 0.05):
        yield partial(_band, by=by)
    for pause in (-1.0, 1.0):
        yield partial(_pause, by=pause)
    # What a number is now is not known before the moves ahead of it are made: thresholds go by their place.
    named = [(c, (number, place)) for number, row in enumerate(table.rows) for place, c in enumerate(row.conditions)]
    first = {(c.column, c.value): where for c, where in reversed(named)}
    for where in sorted(first.values()):
        for sign in (1.0, -1.0):
            yield partial(_threshold, place=where, step=sign * 2.0 * step)


def _factor(table: Table, number: int, share: float) -> Table:
    low, high = _FACTORS
    factor = min(max(round(table.rows[number].factor * share, 2), low), high)
    rows = tuple(replace(row, factor=factor) if i == number else row for i, row in enumerate(table.rows))
    return replace(table, rows=rows)


def _band(table: Table, by: float) -> Table:
    low, high = _BANDS
    return replace(table, dead_band_share=round(min(max(table.dead_band_share + by, low), high), 2))


def _pause(table: Table, by: float) -> Table:
    return replace(table, cool_down=min(max(table.cool_down + by, 0.0), _MOST_PAUSE))


def _threshold(table: Table, place: tuple[int, int], step: float) -> Table:
    named = table.rows[place[0]].conditions[place[1]]
    value = _stepped(named, step)

    def moved(condition: Condition) -> Condition:
        same = condition.column == named.column and condition.value == named.value
        return replace(condition, value=value) if same else condition

    rows = tuple(replace(row, conditions=tuple(map(moved, row.conditions))) for row in table.rows)
    return replace(table, rows=rows)


def _stepped(condition: Condition, step: float) -> float:
    """Return the next threshold: that of a count is a whole number, others keep two digits; 0 stays the least."""
    if COLUMNS[condition.column].is_count:
        return max(round(condition.value) + math.copysign(1.0, step), 0.0)
    return two_digits(condition.value * (1.0 + step))


def _reached(rows: tuple[Row, ...]) -> tuple[Row, ...]:
    """Leave out rows whose storms an earlier row takes: it asks for nothing that they do not ask for."""
    kept: list[Row] = []
    for row in rows:
        if not any(all(_implied(c, row) for c in earlier.conditions) for earlier in kept):
            kept.append(row)
    return tuple(kept)


def _implied(condition: Condition, row: Row) -> bool:
    return any(
        (c.column, c.above) == (condition.column, condition.above)
        and (c.value >= condition.value if c.above else c.value <= condition.value)
        for c in row.conditions
    )
