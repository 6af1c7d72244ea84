"""How long SCTP takes to find a dead path: published times, exact."""

import pytest

from signalstorm.envs.model.sctp import path_death_s


@pytest.mark.parametrize(
    ("low", "high", "retransmissions", "seconds"),
    [
        (1000, 60000, 5, 63.0),
        (1000, 5000, 5, 22.0),
        (500, 500, 5, 3.0),
        (120, 800, 10, 7.24),
        (1000, 60000, 10, 363.0),
        (1000, 5000, 10, 47.0),
        (500, 500, 10, 5.5),
        (1000, 60000, 0, 1.0),
    ],
)
def test_a_path_that_worked(low: float, high: float, retransmissions: int, seconds: float) -> None:
    assert path_death_s(low, high, retransmissions) == pytest.approx(seconds, abs=1e-12)


def test_a_path_that_never_worked_begins_at_rto_initial() -> None:
    """RFC 4960 began at 3 s: 3 + 6 + 12 + 24 + 48 and six times 60."""
    assert path_death_s(1000, 60000, 10, 3000) == 453.0


def test_rto_initial_is_kept_within_its_limits() -> None:
    assert path_death_s(1000, 2000, 1, 5000) == 4.0
    assert path_death_s(1000, 2000, 1, 100) == 3.0
