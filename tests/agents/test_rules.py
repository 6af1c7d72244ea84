"""Rules: pure, within dead band, step limit and legal range, and plain about where no knob helps."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signalstorm.agents.base import ACCEPTS, ADMITTED, CONGESTED, FAILURES, REQUESTS, Controller, Counters, held
from signalstorm.agents.rules import RULES
from signalstorm.envs.model.knobs import validate


def seen(**values: float) -> Counters:
    names = {"requests": REQUESTS, "admitted": ADMITTED, "accepts": ACCEPTS, "failures": FAILURES, "links": CONGESTED}
    return Counters(60.0, 60.0, {names[key]: value for key, value in values.items()})


rates = st.floats(0, 1e5)


@pytest.mark.parametrize("rule", RULES.values(), ids=list(RULES))
@settings(deadline=None)
@given(requests=rates, accepts=rates, failures=rates, rate=st.integers(50, 5000) | st.just("off"))
def test_every_decision_is_legal_and_within_the_step(
    rule: Controller, requests: float, accepts: float, failures: float, rate: int | str
) -> None:
    counters = seen(requests=requests, admitted=accepts + failures, accepts=accepts, failures=failures)
    made = rule.decide(counters, {"nop_rate": rate})
    assert made == rule.decide(counters, {"nop_rate": rate})
    assert made.reason
    if "nop_rate" in made.knobs:
        validate(made.knobs)
        new = made.knobs["nop_rate"]
        assert isinstance(new, int)
        assert new != rate
        if isinstance(rate, int):
            assert rate / 1.3 - 0.5 <= new <= 1.3 * rate + 0.5


def test_rate_matching_follows_what_is_completed() -> None:
    rule = RULES["rate-matching"]
    made = rule.decide(seen(requests=900, admitted=400, accepts=300, failures=100), {"nop_rate": 400})
    assert made.knobs == {"nop_rate": 330}
    assert "25% fail" in made.reason
    assert rule.decide(seen(requests=900, admitted=400, accepts=355, failures=45), {"nop_rate": 400}).knobs == {}
    opened = rule.decide(seen(requests=900, admitted=400, accepts=400, failures=0), {"nop_rate": 400})
    assert opened.knobs == {"nop_rate": 520}
    assert rule.decide(seen(requests=90, admitted=90, accepts=90, failures=0), {"nop_rate": 400}).knobs == {}
    first = rule.decide(seen(requests=900, admitted=900, accepts=40, failures=860), {"nop_rate": "off"})
    assert first.knobs == {"nop_rate": 50}


def test_constant_gain_is_a_constant_times_what_is_completed() -> None:
    rule = RULES["constant-gain"]
    closed = rule.decide(seen(admitted=400, accepts=320, failures=80), {"nop_rate": 400})
    assert closed.knobs == {"nop_rate": 352}
    assert "20% fail" in closed.reason
    assert rule.decide(seen(admitted=400, accepts=376, failures=24), {"nop_rate": 400}).knobs == {}
    opened = rule.decide(seen(admitted=400, accepts=400, failures=0), {"nop_rate": 400})
    assert opened.knobs == {"nop_rate": 440}
    steps = rule.decide(seen(admitted=400, accepts=100, failures=300), {"nop_rate": 400})
    assert steps.knobs == {"nop_rate": 308}
    assert "at most 30% at once" in steps.reason
    calm = rule.decide(seen(admitted=90, accepts=90, failures=0), {"nop_rate": 400})
    assert calm.knobs == {}
    assert "not what limits" in calm.reason


def test_an_alarm_counts_as_congestion() -> None:
    quiet = {"requests": 900, "admitted": 400, "accepts": 400, "failures": 0}
    rule = RULES["aimd"]
    assert rule.decide(seen(**quiet), {"nop_rate": 400}).knobs == {"nop_rate": 420}
    assert rule.decide(seen(**quiet, links=1), {"nop_rate": 400}).knobs == {"nop_rate": 320}


def test_where_no_knob_helps() -> None:
    rule = RULES["rate-matching"]
    made = rule.decide(seen(requests=900, admitted=50, accepts=20, failures=30), {"nop_rate": 50})
    assert made.knobs == {}
    assert any(sentence.startswith("no knob can help: 20 attaches/s") for sentence in made.said)
    links = rule.decide(seen(requests=900, admitted=50, accepts=49, failures=0, links=3), {"nop_rate": 500})
    assert any("3 signalling links are congested" in sentence for sentence in links.said)


def test_missing_counters_hold_their_last_value() -> None:
    before = seen(requests=900, admitted=400, accepts=300, failures=100, links=0)
    filled, said = held(before, seen(requests=800, admitted=390, failures=100, links=0))
    assert filled.values[ACCEPTS] == 300
    assert filled.values[REQUESTS] == 800
    assert said == ("attach accepts is missing; its last value, 300, is held",)
    nothing, said = held(None, seen(requests=800))
    assert "attach accepts is not known" in said
    assert RULES["rate-matching"].decide(nothing, {"nop_rate": 400}).knobs == {}
