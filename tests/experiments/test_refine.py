"""The numbers of a table, searched together."""

import math
from dataclasses import replace

import pytest

pytest.importorskip("optuna")

from signalstorm.agents.laws.table import COLUMNS, Condition, Row, Table
from signalstorm.experiments.refine import numbers, refine, with_numbers

CONGESTED = Condition("alarms", above=True, value=0.0)
BUSY = Condition("completed_share", above=True, value=0.8)
MANY = Condition("offered_ratio", above=True, value=16.0)
TABLE = Table(
    rows=(Row((CONGESTED, BUSY), 1.1), Row((BUSY,), 1.2), Row((CONGESTED,), 0.9), Row((), 1.3)),
    dead_band_share=0.25,
    cool_down=3.0,
)


def values_of(table: Table) -> dict[str, float]:
    return {one.name: one.value for one in numbers(table)}


def distance(table: Table) -> tuple[float, float]:
    """How far a table is from one whose factors only help together."""
    factors = [row.factor for row in table.rows]
    if len(factors) < 4:
        return 0.0, 9.0
    away = abs(math.log(factors[0] / 1.4)) + abs(math.log(factors[0] * factors[2] / (1.4 * 0.7)))
    return 0.0, 1.0 + away + abs(table.rows[1].conditions[0].value - 0.5) + abs(table.dead_band_share - 0.2)


def test_the_search_gets_nearer_and_tells_how_far_it_is() -> None:
    told: list[tuple[int, int]] = []
    found = refine(TABLE, [distance], 120, lambda done, total: told.append((done, total)))
    assert distance(found[0])[1] - 1.0 < 0.4 * (distance(TABLE)[1] - 1.0)
    assert [distance(one) for one in found] == sorted(distance(one) for one in found)
    assert told == [(done, 120) for done in range(120)]


def test_the_same_search_finds_the_same() -> None:
    assert refine(TABLE, [distance], 40) == refine(TABLE, [distance], 40)


def test_the_table_itself_is_the_first_to_be_tried_and_none_is_tried_twice() -> None:
    seen: list[Table] = []

    def score(table: Table) -> tuple[float, float]:
        seen.append(table)
        return 0.0, float(table != TABLE)

    assert refine(TABLE, [score], 30)[0] == TABLE
    assert seen[0] == TABLE
    assert len(seen) == len(set(seen))


def test_further_storms_decide_among_the_best_few_alone() -> None:
    asked: list[Table] = []

    def second(table: Table) -> tuple[float, float]:
        asked.append(table)
        return 0.0, table.dead_band_share

    found = refine(TABLE, [distance, second], 60)
    assert set(asked) == set(found)
    assert len(asked) == len(found) == 6
    assert [one.dead_band_share for one in found] == sorted(one.dead_band_share for one in found)
    best = refine(TABLE, [distance], 60)
    assert set(found) == set(best)


def test_changes_beyond_what_a_person_enters_weigh_more_than_time() -> None:
    def score(table: Table) -> tuple[float, float]:
        return 40.0 * max(0.35 - table.dead_band_share, 0.0), 1.0 + table.dead_band_share

    assert all(one.dead_band_share >= 0.35 for one in refine(TABLE, [score], 80))


def test_a_threshold_of_several_rows_is_one_number() -> None:
    names = [one.name for one in numbers(TABLE)]
    assert len(names) == len(set(names)) == 4 + 2 + 2
    moved = with_numbers(TABLE, {**values_of(TABLE), "completed_share 0.8": 0.66})
    assert moved.rows[0].conditions[1].value == moved.rows[1].conditions[0].value == 0.66
    assert moved == replace(
        TABLE,
        rows=(
            Row((CONGESTED, replace(BUSY, value=0.66)), 1.1),
            Row((replace(BUSY, value=0.66),), 1.2),
            *TABLE.rows[2:],
        ),
    )


@pytest.mark.parametrize("condition", [CONGESTED, BUSY, MANY, replace(CONGESTED, value=7.0), replace(BUSY, value=0.0)])
def test_each_number_may_stay_and_move(condition: Condition) -> None:
    table = Table(rows=(Row((condition,), 0.9), Row((), 3.9)), dead_band_share=0.6, cool_down=20.0)
    for one in numbers(table):
        assert one.low <= one.value <= one.high
        assert one.low < one.high
        assert one.low > 0.0 or not one.log


def test_numbers_stay_what_a_person_can_enter() -> None:
    table = Table(rows=(Row((CONGESTED, MANY), 0.9), Row((BUSY,), 1.2), Row((), 1.3)))
    tried: list[Table] = []

    def score(one: Table) -> tuple[float, float]:
        tried.append(one)
        return 0.0, 1.0

    refine(table, [score], 40)
    for one in tried[1:]:
        thresholds = [c for row in one.rows for c in row.conditions]
        assert all(c.value == float(f"{c.value:.2g}") >= 0.0 for c in thresholds)
        assert all(c.value.is_integer() for c in thresholds if COLUMNS[c.column].is_count)
        assert all(c.value <= 1.0 for c in thresholds if COLUMNS[c.column].is_share)
        assert all(0.5 <= row.factor <= 4.0 and row.factor == round(row.factor, 2) for row in one.rows)
        assert 0.05 <= one.dead_band_share <= 0.4
        assert one.dead_band_share == round(one.dead_band_share, 2)
        assert 0.0 <= one.cool_down <= 8.0
        assert one.cool_down.is_integer()


def test_rows_that_nothing_comes_to_any_more_are_left_out() -> None:
    several = Condition("alarms", above=True, value=1.0)
    table = Table(rows=(Row((several,), 0.8), Row((CONGESTED, BUSY), 1.1), Row((CONGESTED,), 0.9), Row((), 1.3)))
    # With the first row at any alarm the next two have nothing left to decide.
    moved = with_numbers(table, {**values_of(table), "alarms 1": 0.0})
    assert moved.rows == (Row((CONGESTED,), 0.8), Row((), 1.3))
    # Nothing is above 0.9 and at most 0.8.
    between = Row((replace(BUSY, value=0.5), Condition("completed_share", above=False, value=0.8)), 1.1)
    table = Table(rows=(between, Row((), 1.3)))
    assert with_numbers(table, {**values_of(table), "completed_share 0.5": 0.9}).rows == (Row((), 1.3),)
