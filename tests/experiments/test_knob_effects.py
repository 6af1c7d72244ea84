"""Every knob changes an outcome somewhere: the table on the page says where, and the cases bear it out."""

import re
from pathlib import Path

import pytest

from signalstorm.envs.model.knob_table import KNOBS
from signalstorm.experiments.knob_effects import BEGIN, CASES, END, LEAST, Case, effect_of, renewed

PAGE = (Path(__file__).parents[2] / "docs" / "knobs.md").read_text(encoding="utf-8")
QUICK = ("nop_rate", "pcrf_rate_per_s", "dra_ocs_pending", "gx_failure_action", "ddn_factor_percent")


def test_every_knob_has_one_case_and_one_line_that_shows_a_change() -> None:
    assert [case.knob for case in CASES] == list(KNOBS)
    lines = PAGE.partition(BEGIN)[2].partition(END)[0].strip().splitlines()[2:]
    assert [re.match(r"\| `(\w+)`", line)[1] for line in lines] == list(KNOBS)  # type: ignore[index]
    for line in lines:
        low, high = (float(number) for number in line.split("|")[5].split(","))
        assert abs(high - low) >= LEAST * max(high, low), line


def assert_on_the_page(case: Case) -> None:
    """The page's numbers hold to 5 %: it is written anew when results change on purpose, not for each last digit."""
    found = effect_of(case)
    assert found.change >= LEAST, case.knob
    (line,) = (line for line in PAGE.splitlines() if line.startswith(f"| `{case.knob}` | `{case.scenario}`"))
    low, high = (float(number) for number in line.split("|")[5].split(","))
    assert found.outcome in line, case.knob
    assert found.low == pytest.approx(low, rel=0.05), case.knob
    assert found.high == pytest.approx(high, rel=0.05), case.knob


def test_what_a_case_finds_is_what_the_page_says() -> None:
    for case in CASES:
        if case.knob in QUICK:
            assert_on_the_page(case)


def test_a_knob_that_does_nothing_would_show() -> None:
    idle = Case("t3346_s", "lab-pcrf", 0, 600, {"nop_rate": 60, "nop_action": "drop"})
    assert effect_of(idle).change == 0.0


def test_the_page_keeps_the_rest() -> None:
    page = renewed(f"above\n{BEGIN}\nold\n{END}\nbelow", "new")
    assert page.startswith("above\n")
    assert page.endswith("\nbelow")
    assert "old" not in page
    with pytest.raises(ValueError, match="lacks"):
        renewed("nothing", "new")


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_every_case_bears_the_page_out() -> None:
    for case in CASES:
        assert_on_the_page(case)
