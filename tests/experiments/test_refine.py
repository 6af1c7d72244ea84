"""Numbers of a table, moved one at a time."""

import math
from dataclasses import replace

import pytest

from signalstorm.agents.laws.table import Condition, Row, Table
from signalstorm.experiments.refine import moves, refine

CONGESTED = Condition("alarms", above=True, value=0.0)
BUSY = Condition("completed_share", above=True, value=0.8)
TABLE = Table(
    rows=(Row((CONGESTED, BUSY), 1.1), Row((BUSY,), 1.2), Row((CONGESTED,), 0.9), Row((), 1.3)),
    dead_band_share=0.25,
    cool_down=3.0,
)


def distance(table: Table) -> tuple[float, float]:
    """How far a table is from one that nobody knows."""
    aims = (1.1, 1.0, 1.05, 1.3)
    away = sum(abs(math.log(row.factor / aim)) for row, aim in zip(table.rows, aims, strict=True))
    away += abs(table.rows[1].conditions[0].value - 0.9) + abs(table.dead_band_share - 0.2)
    return 0.0, away + 0.1 * abs(table.cool_down - 2.0)


def test_each_number_goes_where_the_score_is_least() -> None:
    seen: list[Table] = []
    told: list[tuple[int, int]] = []

    def score(table: Table) -> tuple[float, float]:
        seen.append(table)
        return distance(table)

    path = refine(TABLE, [score], lambda done, total: told.append((done, total)))
    assert path[0] == TABLE
    lengths = [distance(table) for table in path]
    assert lengths == sorted(set(lengths), reverse=True)
    found = path[-1]
    factors = [row.factor for row in found.rows]
    assert factors == pytest.approx([1.1, 1.0, 1.05, 1.3], rel=0.02)
    assert found.rows[0].conditions[1].value == found.rows[1].conditions[0].value == pytest.approx(0.9, abs=0.03)
    assert found.rows[0].conditions[0] == CONGESTED
    assert (found.dead_band_share, found.cool_down) == (0.2, 2.0)
    assert len(seen) == len(set(seen))
    assert [done for done, _ in told] == list(range(told[0][1]))


def test_a_table_that_is_best_stays() -> None:
    assert refine(TABLE, [lambda table: (0.0, float(table != TABLE))]) == [TABLE]


def test_a_move_must_help_by_every_score_and_the_first_is_asked_first() -> None:
    seen: tuple[list[Table], list[Table]] = ([], [])

    def first(table: Table) -> tuple[float, float]:
        seen[0].append(table)
        return 0.0, abs(table.dead_band_share - 0.4) + abs(table.cool_down - 8.0)

    def second(table: Table) -> tuple[float, float]:
        seen[1].append(table)
        return 0.0, -table.dead_band_share + 0.01 * abs(table.cool_down - 3.0)

    found = refine(TABLE, [first, second])[-1]
    assert (found.dead_band_share, found.cool_down) == (0.4, 3.0)
    assert len(seen[1]) < len(seen[0])
    # What the first likes less the second is never asked of: all of its tables open the band or lengthen the pause.
    assert all(table.dead_band_share >= 0.25 and table.cool_down >= 3.0 for table in seen[1])
    assert {table.dead_band_share for table in seen[0]} >= {0.2}


def test_changes_beyond_what_a_person_enters_weigh_more_than_time() -> None:
    def score(table: Table) -> tuple[float, float]:
        return max(0.4 - table.dead_band_share, 0.0), table.dead_band_share

    assert refine(TABLE, [score])[-1].dead_band_share == 0.4


def test_thresholds_of_counts_are_whole_and_others_have_two_digits() -> None:
    several, many = Condition("alarms", above=True, value=2.0), Condition("offered_ratio", above=True, value=18.0)
    table = Table(rows=(Row((several, many), 0.9), Row((), 1.3)))
    assert {step(table) for step in moves(table, 0.06)} >= {
        replace(table, rows=(Row((replace(several, value=up), many), 0.9), Row((), 1.3))) for up in (1.0, 3.0)
    }

    def score(table: Table) -> tuple[float, float]:
        alarms, ratio = table.rows[0].conditions
        return 0.0, abs(alarms.value - 4.0) + abs(ratio.value - 25.0)

    alarms, ratio = refine(table, [score])[-1].rows[0].conditions
    assert (alarms.value, ratio.value) == (4.0, 25.0)


def test_rows_that_nothing_comes_to_any_more_are_left_out() -> None:
    several = Condition("alarms", above=True, value=1.0)
    table = Table(rows=(Row((several,), 0.8), Row((CONGESTED, BUSY), 1.1), Row((CONGESTED,), 0.9), Row((), 1.3)))

    def score(table: Table) -> tuple[float, float]:
        return 0.0, table.rows[0].conditions[0].value

    # With the first row at any alarm the next two have nothing left to decide.
    assert refine(table, [score])[-1].rows == (Row((CONGESTED,), 0.8), Row((), 1.3))


def test_numbers_stay_what_a_person_can_enter() -> None:
    table = TABLE
    for _ in range(40):
        for move in moves(table, 0.06):
            table = move(table)
            thresholds = [c for row in table.rows for c in row.conditions]
            assert all(c.value == float(f"{c.value:.2g}") for c in thresholds)
            assert all(c.value >= 0.0 and c.value.is_integer() for c in thresholds if c.column == "alarms")
            assert all(0.5 <= row.factor <= 4.0 and row.factor == round(row.factor, 2) for row in table.rows)
            assert 0.05 <= table.dead_band_share <= 0.4
            assert 0.0 <= table.cool_down <= 8.0
