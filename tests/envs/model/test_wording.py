"""Numbers as people read them."""

import pytest

from signalstorm.envs.model.wording import amount


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (9_315_432.1, "9,315,000"),
        (23_100.0, "23,100"),
        (1234.56, "1,235"),
        (999.96, "1000"),
        (26.14, "26.14"),
        (0.0, "0"),
        (-1234.0, "-1,234"),
        (0.000123456, "0.0001235"),
    ],
)
def test_amounts(value: float, text: str) -> None:
    assert amount(value) == text
