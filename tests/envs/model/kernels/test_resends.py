"""RTO at or below the peer's delay of acknowledgements: messages are sent again although nothing was lost."""

import math

import pytest

import signalstorm as ss
from signalstorm.envs.model.kernels import layout
from signalstorm.envs.model.knob_checks import warn_rto
from tests.envs.model.kernels.linked import WIDE, Fields, Watch, network, one_link
from tests.reference.test_reference_links import resent_share

SECONDS = 200.0


def low(rto_ms: float) -> Fields:
    return {"rto_min_ms": rto_ms, "rto_initial_ms": 1000, "rto_max_ms": 60000}


def resent(load_per_s: float, rto_ms: float) -> tuple[float, float]:
    """Resends per message sent, and messages lost, on one link."""
    watch = Watch(network(one_link(**WIDE), load_per_s=load_per_s, horizon_s=SECONDS), low(rto_ms))
    assert watch.counters[-1, layout.K_REFUSED_NETWORK] == 0.0
    sent, again, lost = (float(watch.gained(row)[0]) for row in (layout.L_SUM_TX, layout.L_RESENT, layout.L_SUM_LOST))
    return again / sent, lost


@pytest.mark.parametrize("rto_ms", [100, 200])
@pytest.mark.parametrize("load_per_s", [0.5, 4.0, 20.0])
def test_needless_resends_without_loss(load_per_s: float, rto_ms: float) -> None:
    """Closed form; and the reference, in which every acknowledgement and every T3 is an event, agrees with it."""
    share, lost = resent(load_per_s, rto_ms)
    expected = math.exp(-load_per_s * rto_ms / 1000.0) / (2.0 - math.exp(-load_per_s * 0.2))
    assert share == pytest.approx(expected, rel=0.05)
    assert resent_share(load_per_s, rto_ms / 1000.0) == pytest.approx(expected, abs=0.02)
    assert lost == 0.0


@pytest.mark.parametrize(("load_per_s", "rto_ms"), [(4.0, 300), (4.0, 1000), (400.0, 200)])
def test_none_where_acknowledgements_come_sooner(load_per_s: float, rto_ms: float) -> None:
    share, lost = resent(load_per_s, rto_ms)
    assert share == pytest.approx(0.0, abs=1e-6)
    assert lost == 0.0


def test_a_shorter_period_of_acknowledgements_ends_them() -> None:
    """Both ends at 50 ms: RTO 100 ms outlasts every acknowledgement, and nothing is warned of."""
    quick = {**low(100), "sack_period_ms": 50}
    watch = Watch(network(one_link(**WIDE), load_per_s=4.0, horizon_s=SECONDS), quick)
    assert float(watch.gained(layout.L_RESENT)[0]) == 0.0
    field = network(one_link(**WIDE, sack_period_ms=50.0), load_per_s=4.0, horizon_s=SECONDS)
    assert float(Watch(field, low(100)).gained(layout.L_RESENT)[0]) == 0.0
    assert not list(warn_rto(quick))
    assert [finding.way_out for finding in warn_rto({**quick, "sack_period_ms": 100})] == ["give at least 200 ms"]


def test_they_are_shown() -> None:
    result = ss.simulate(network(one_link(**WIDE), load_per_s=4.0, horizon_s=SECONDS), low(100), seeds=1).to_json()
    assert result["links"][0]["resent"] > 0.3 * result["links"][0]["tx"]
    assert any(line.startswith("rto_min_ms: should be above 200 ms") for line in result["diagnosis"])
