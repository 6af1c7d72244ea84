"""The vendors' throttles as laws, against the published walk-throughs."""

import numpy as np
import pytest

from signalstorm.agents.laws.rates import Aimd
from signalstorm.agents.laws.throttles import DdnAdditive, DraBands
from signalstorm.agents.plant import AgentLimit, BroadcastThreshold, Gate, NotificationFactor
from tests.agents.laws.views import memory, view, wanted


def test_the_published_walk_through_of_the_dynamic_limit() -> None:
    """Static limit 1,000, hold 30 s, step 20 points; each look is 30 s later."""
    law = DraBands(static_per_s=1000.0, hold_s=30.0, step=0.2)
    kept = memory(law)
    expected = [(0.62, 600), (0.49, 800), (0.57, 700), (0.67, 500), (0.55, 700), (0.49, 900), (0.3, 1000), (0.3, 1000)]
    for cpu, limit in expected:
        seen = view(utilisation=cpu)
        seen = type(seen)(**{**vars(seen), "interval_s": 30.0})
        assert wanted(law, seen, kept) == pytest.approx(limit)


def test_several_steps_are_taken_back_in_a_long_interval() -> None:
    law = DraBands(static_per_s=1000.0, hold_s=40.0, step=0.2)
    kept = memory(law)
    assert wanted(law, view(utilisation=0.8), kept) == pytest.approx(400.0)
    assert wanted(law, view(utilisation=0.3), kept) == pytest.approx(600.0)
    assert kept[1, 0] == pytest.approx(20.0)
    assert wanted(law, view(utilisation=0.3), kept) == pytest.approx(1000.0)


def test_the_additive_throttle_of_notifications() -> None:
    """10 -> 20 -> 30 while over the limit, 30 -> 20 -> 10 while under, never below 10."""
    law = DdnAdditive(limit_per_s=600.0, increment=0.1, factor=0.1)
    kept = memory(law)
    assert wanted(law, view(admitted=500.0), kept) == pytest.approx(900.0)
    for share in (0.1, 0.2, 0.3):
        assert wanted(law, view(admitted=700.0), kept) == pytest.approx(900.0 * (1.0 - share))
    for share in (0.2, 0.1, 0.1):
        assert wanted(law, view(admitted=500.0), kept) == pytest.approx(900.0 * (1.0 - share))


def test_each_law_says_where_it_does_not_apply() -> None:
    assert DraBands().refuses(AgentLimit()) == ""
    assert "session database" in DraBands().refuses(Gate())
    assert DdnAdditive().refuses(NotificationFactor()) == ""
    assert "drops notifications" in DdnAdditive().refuses(Gate())
    assert Aimd().refuses(Gate()) == ""
    assert "lets none through" in Aimd().refuses(BroadcastThreshold())
    assert np.isnan(BroadcastThreshold().value(np.ones(2), view())).all()
