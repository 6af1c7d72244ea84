"""Laws that follow rates, against decisions worked out by hand."""

import math

import pytest

from signalstorm.agents.laws.rates import (
    Aimd,
    ConstantGain,
    DoicLoss,
    DoicRate,
    RateMatching,
    SipRate,
    StagedRelease,
)
from tests.agents.laws.views import memory, next_rate, view, wanted

BAD = {"completed": 300.0, "failed_share": 0.25}


def test_constant_gain() -> None:
    law = ConstantGain(gain=1.1)
    assert wanted(law, view()) == pytest.approx(440.0)
    assert wanted(law, view(**BAD)) == pytest.approx(330.0)
    assert wanted(law, view(completed=10.0, failed_share=0.9)) == 50.0
    assert math.isnan(wanted(law, view(admitted=90.0, completed=90.0)))


def test_rate_matching() -> None:
    law = RateMatching(margin_share=0.1, growth_share=0.3)
    assert wanted(law, view(**BAD)) == pytest.approx(330.0)
    assert wanted(law, view()) == pytest.approx(520.0)
    assert wanted(law, view(alarms=1.0)) == pytest.approx(440.0)
    assert math.isnan(wanted(law, view(admitted=300.0, completed=300.0)))
    assert wanted(law, view(rate=math.inf, completed=40.0, failed_share=0.9)) == 50.0


def test_steps_and_dead_band() -> None:
    law = RateMatching(step_share=0.25, dead_band_share=0.05)
    assert next_rate(law, view(completed=100.0, failed_share=0.75)) == pytest.approx(320.0)
    assert next_rate(law, view()) == pytest.approx(500.0)
    assert next_rate(law, view(completed=350.0, failed_share=0.1)) == 400.0  # 385 is within 5 %
    assert next_rate(law, view(rate=math.inf, completed=100.0, failed_share=0.75)) == pytest.approx(110.0)


def test_aimd() -> None:
    law = Aimd(increase_per_s=20.0, decrease=0.8)
    assert next_rate(law, view()) == 420.0
    assert next_rate(law, view(**BAD)) == 320.0
    assert next_rate(law, view(admitted=100.0)) == 400.0
    assert next_rate(law, view(rate=math.inf, **BAD)) == 320.0


def test_staged_release() -> None:
    law = StagedRelease(first_per_s=150.0, stage_per_s=100.0, hold=2.0)
    kept = memory(law)
    assert next_rate(law, view(**BAD), kept) == 150.0
    calm = view(rate=150.0, admitted=150.0, completed=150.0)
    assert next_rate(law, calm, kept) == 150.0
    assert next_rate(law, calm, kept) == 250.0
    assert next_rate(law, view(rate=250.0, admitted=250.0), kept) == 250.0
    assert next_rate(law, view(rate=250.0, **BAD), kept) == 150.0


def test_doic_loss() -> None:
    """RFC 7683: 30 % of 900 offered are abated after three overloaded intervals; the reduction is left gradually."""
    law = DoicLoss(rise=0.1, fall=0.02)
    kept = memory(law)
    for reduction in (0.1, 0.2, 0.3):
        assert wanted(law, view(**BAD), kept) == pytest.approx(900.0 * (1.0 - reduction))
    assert wanted(law, view(), kept) == pytest.approx(900.0 * 0.72)
    for _ in range(13):
        wanted(law, view(), kept)
    assert kept[0, 0] == pytest.approx(0.02)
    wanted(law, view(), kept)
    assert math.isnan(wanted(law, view(admitted=100.0, offered=100.0), kept))


def test_doic_rate() -> None:
    law = DoicRate(reduction=0.05, probe_per_s=30.0)
    assert wanted(law, view(**BAD)) == pytest.approx(285.0)
    assert wanted(law, view()) == 430.0
    assert math.isnan(wanted(law, view(admitted=100.0)))


def test_sip_rate() -> None:
    """The occupancy algorithm: rate times target over occupancy, within bounds."""
    law = SipRate(target=0.8, largest=1.5)
    assert wanted(law, view(utilisation=1.0)) == pytest.approx(320.0)
    assert wanted(law, view(utilisation=0.64)) == pytest.approx(500.0)
    assert wanted(law, view(utilisation=0.1)) == pytest.approx(600.0)
    assert wanted(law, view(utilisation=0.1, **BAD)) == pytest.approx(320.0)
    assert math.isnan(wanted(law, view(utilisation=0.1, admitted=100.0)))
