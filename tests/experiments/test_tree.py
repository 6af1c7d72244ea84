"""Small trees as ordered rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signalstorm.agents.laws.table import Row
from signalstorm.experiments.tree import grow

Columns = dict[str, np.ndarray]


def factors(rows: list[Row], columns: Columns) -> np.ndarray:
    """What an ordered table says, worked out row by row."""
    found = []
    for i in range(len(next(iter(columns.values())))):
        for row in rows:
            if all((columns[c.column][i] > c.value) == c.above for c in row.conditions):
                found.append(row.factor)
                break
    return np.array(found)


def test_a_table_is_found_again() -> None:
    rng = np.random.default_rng(1)
    columns = {"alarms": rng.integers(0, 4, 2000).astype(float), "failed_share": rng.random(2000)}
    true = np.where(columns["alarms"] > 0, np.where(columns["failed_share"] > 0.5, 0.7, 0.9), 1.3)
    rows = grow(columns, np.log(true), np.ones(2000), 3, 0.01)
    assert sorted(row.factor for row in rows) == pytest.approx([0.7, 0.9, 1.3], abs=0.011)
    near = {(c.column, round(c.value, 1)) for row in rows for c in row.conditions}
    assert near == {("alarms", 0.0), ("failed_share", 0.5)}
    assert (np.abs(factors(rows, columns) - true) < 0.011).mean() > 0.98


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 1000), count=st.integers(1, 12))
def test_rows_are_few_disjoint_and_rounded(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    columns = {"alarms": rng.integers(0, 3, 400).astype(float), "failed_share": rng.random(400)}
    target, weight = rng.normal(size=400) + columns["alarms"], rng.random(400) + 0.1
    rows = grow(columns, target, weight, count, 0.05)
    assert 1 <= len(rows) <= count
    assert [not row.conditions for row in rows] == [False] * (len(rows) - 1) + [True]
    for row in rows:
        assert all(float(f"{c.value:.2g}") == c.value for c in row.conditions)
        kinds = [(c.column, c.above) for c in row.conditions]
        assert len(kinds) == len(set(kinds))
    said = factors(rows, columns)
    assert len(said) == 400
    # Each factor is the weighted mean of the samples for which its rows speak, to two digits.
    for factor in set(said):
        held = said == factor
        mean = np.exp(np.average(target[held], weights=weight[held]))
        assert factor == pytest.approx(mean, rel=0.06)


def test_more_rows_fit_better() -> None:
    rng = np.random.default_rng(2)
    columns = {"completed_share": rng.random(3000)}
    target = np.sin(6.0 * columns["completed_share"])
    errors = []
    for count in (1, 2, 4, 8):
        said = np.log(factors(grow(columns, target, np.ones(3000), count, 0.01), columns))
        errors.append(float(((said - target) ** 2).mean()))
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 0.05 * errors[0]
