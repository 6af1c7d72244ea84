"""Laws that watch a queue, against decisions worked out by hand."""

import math

import numpy as np
import pytest

from signalstorm.agents.laws.queues import AdaptiveLifo, Breakwater, CoDel, Dagor, PidOnDelay
from signalstorm.agents.plant import AgentLimit, Gate
from tests.agents.laws.views import memory, view, wanted


def test_codel() -> None:
    """Turns away 10 % of the rate at which dropping began, then 10 % times the root of the interval's number."""
    law = CoDel(target_s=1.0, drop_share=0.1, growth_share=0.2)
    kept = memory(law)
    assert wanted(law, view(), kept) == pytest.approx(480.0)
    for number in (1, 2, 3):
        late = view(delay_s=2.0, rate=400.0 if number == 1 else 300.0)
        assert wanted(law, late, kept) == pytest.approx(400.0 * (1.0 - 0.1 * math.sqrt(number)))
    assert wanted(law, view(), kept) == pytest.approx(480.0)
    assert wanted(law, view(delay_s=2.0, rate=200.0), kept) == pytest.approx(180.0)


def test_dagor() -> None:
    law = Dagor(target_s=1.0, alpha=0.05, beta=0.01)
    assert wanted(law, view(delay_s=2.0)) == pytest.approx(380.0)
    assert wanted(law, view(delay_s=2.0, admitted=200.0)) == pytest.approx(190.0)
    assert wanted(law, view()) == pytest.approx(404.0)
    assert math.isnan(wanted(law, view(admitted=200.0)))


def test_breakwater() -> None:
    """Credits fall by 10 % per target of excess, by half at most."""
    law = Breakwater(target_s=1.0, more_share=0.05, less=0.1)
    assert wanted(law, view()) == pytest.approx(420.0)
    assert wanted(law, view(delay_s=3.0)) == pytest.approx(320.0)
    assert wanted(law, view(delay_s=30.0)) == pytest.approx(200.0)


def test_pid() -> None:
    """With a delay of e targets the first change is minus the integral gain; then the proportional part joins it."""
    law = PidOnDelay(target_s=1.0, proportional=0.2, integral=0.1, differential=0.05)
    kept = memory(law)
    assert wanted(law, view(delay_s=math.e), kept) == pytest.approx(400.0 * math.exp(-0.1))
    assert wanted(law, view(delay_s=math.e**2), kept) == pytest.approx(400.0 * math.exp(-0.2 * 1 - 0.1 * 2 - 0.05 * 1))
    assert wanted(law, view(delay_s=math.e), kept) == pytest.approx(400.0 * math.exp(0.2 - 0.1 + 0.05 * 2))
    assert math.isnan(wanted(PidOnDelay(), view(admitted=100.0, delay_s=0.01)))


@pytest.mark.parametrize("law", [CoDel(), Dagor(), Breakwater(), PidOnDelay()])
def test_without_a_queue_to_see_congestion_counts(law: CoDel | Dagor | Breakwater | PidOnDelay) -> None:
    blind = {"delay_s": math.nan}
    assert wanted(law, view(**blind)) > 400.0
    assert wanted(law, view(**blind, failed_share=0.5)) < 400.0


def test_the_gates_serve_in_order() -> None:
    for plant in (Gate(), AgentLimit()):
        assert "in order of arrival" in AdaptiveLifo().refuses(plant)
    assert np.isnan(wanted(AdaptiveLifo(), view()))
