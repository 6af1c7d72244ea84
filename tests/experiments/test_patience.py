"""Lower time-outs make an association give up sooner, which is said with what would prevent it."""

import pytest

from signalstorm.envs.model.sctp import path_death_s
from signalstorm.experiments.patience import fails_sooner, retransmissions_for

PRESENT = {"rto_min_ms": 1000, "rto_initial_ms": 3000, "rto_max_ms": 60000, "max_assoc_retx": 10}


def said(**changes: int) -> str:
    return " ".join(fails_sooner({**PRESENT, **changes}, PRESENT))


def test_as_patient_as_before() -> None:
    """Five seconds at most: ten retransmissions last 47 s instead of the 363 s of RFC 9260's defaults."""
    assert "after 47 to 55 s without an acknowledgement, instead of 363 to 660 s" in said(rto_max_ms=5000)
    assert "max_assoc_retx=74 would keep it for as long as now" in said(rto_max_ms=5000)
    assert path_death_s(1000, 5000, 74) >= 363.0 > path_death_s(1000, 5000, 73)


def test_where_no_legal_number_does() -> None:
    text = said(rto_min_ms=500, rto_initial_ms=500, rto_max_ms=500)
    assert "after 5.5 s without" in text
    assert (
        "max_assoc_retx=119 would keep it for a minute, max_assoc_retx=255, the most that is legal, for 128 s" in text
    )
    assert retransmissions_for({**PRESENT, "rto_min_ms": 500, "rto_max_ms": 500}, 363.0) is None
    assert said(rto_max_ms=1000, max_assoc_retx=255).endswith("instead of 363 to 660 s")


@pytest.mark.parametrize("changes", [{}, {"max_assoc_retx": 11}, {"rto_max_ms": 120000}, {"rto_initial_ms": 2000}])
def test_nothing_where_it_holds_as_long(changes: dict[str, int]) -> None:
    assert said(**changes) == ""


def test_nothing_without_links() -> None:
    assert list(fails_sooner({"nop_rate": 400}, {"nop_rate": 500})) == []
