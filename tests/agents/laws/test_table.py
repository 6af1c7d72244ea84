"""Tables of thresholds: the first row that holds counts."""

import numpy as np
import pytest

from signalstorm.agents.laws.table import COLUMNS, Condition, Row, Table
from tests.agents.laws.views import next_rate, view, wanted

ALARM = Condition("alarms", above=True, value=0.0)
FAILING = Condition("failed_share", above=True, value=0.1)
IDLE = Condition("admitted_share", above=False, value=0.5)
TABLE = Table(rows=(Row((ALARM, FAILING), 0.8), Row((ALARM,), 0.9), Row((IDLE,), 2.0), Row((), 1.2)), step_share=4.0)


@pytest.mark.parametrize(
    ("seen", "factor"),
    [
        ({"alarms": 1.0, "failed_share": 0.2}, 0.8),
        ({"alarms": 1.0, "failed_share": 0.1}, 0.9),
        ({"alarms": 1.0, "admitted": 100.0}, 0.9),
        ({"admitted": 200.0}, 2.0),
        ({"admitted": 201.0, "failed_share": 0.9}, 1.2),
    ],
)
def test_the_first_row_that_holds_counts(seen: dict[str, float], factor: float) -> None:
    assert wanted(TABLE, view(**seen)) == pytest.approx(factor * 400.0)


def test_floor_dead_band_and_step() -> None:
    assert wanted(TABLE, view(completed=0.0)) == TABLE.floor_per_s
    assert next_rate(Table(dead_band_share=0.2), view(completed=390.0)) == 400.0
    assert next_rate(Table(dead_band_share=0.05, step_share=0.3), view(completed=1000.0)) == pytest.approx(520.0)


def test_storms_side_by_side_are_as_each_alone() -> None:
    rng = np.random.default_rng(5)
    alarms, failing = rng.integers(0, 2, 50).astype(float), rng.random(50) * 0.2
    many = view()
    together = TABLE.chosen(type(many)(**{**vars(many), **_repeated(many), "alarms": alarms, "failed_share": failing}))
    alone = [int(TABLE.chosen(view(alarms=a, failed_share=f))[0]) for a, f in zip(alarms, failing, strict=True)]
    assert together.tolist() == alone
    assert set(alone) == {0, 1, 3}


def _repeated(many: object) -> dict[str, np.ndarray]:
    return {name: np.repeat(value, 50) for name, value in vars(many).items() if isinstance(value, np.ndarray)}


def test_what_nobody_sees_fulfils_no_condition() -> None:
    unseen = view(offered=np.nan)
    for above in (True, False):
        assert not Condition("offered_ratio", above=above, value=3.0).holds(unseen)[0]


def test_a_gate_that_is_off_has_no_shares() -> None:
    assert float(COLUMNS["admitted_share"].of(view(rate=np.inf))[0]) == 0.0


def test_words() -> None:
    assert str(TABLE.rows[0]) == (
        "if congestion alarms up above 0 and share of failed attempts above 10 %: gate = 0.8 x completed"
    )
    assert str(TABLE.rows[-1]) == "otherwise: gate = 1.2 x completed"
