"""Loops that move a knob which cannot help."""

from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from signalstorm.envs.model.knob_table import KnobValue
from signalstorm.envs.model.knobs import resolve
from signalstorm.envs.model.metrics import Outcomes
from signalstorm.envs.model.scenario_file import load
from signalstorm.envs.registry import options_of
from signalstorm.experiments import stuck_links
from signalstorm.experiments.diagnosis import diagnose
from signalstorm.experiments.evaluate import StormSet, evaluate

SCENARIO = load("incident-2014-randomised")
STORMS = StormSet(SCENARIO, (0, 1, 2, 3), vary=True)


def outcomes(share: float) -> Outcomes:
    seconds = {"stp1/slc1": np.full(4, share * SCENARIO.horizon_s), "stp2/slc1": np.zeros(4)}
    return cast(Outcomes, SimpleNamespace(link_congested_s=seconds))


def broken() -> dict[str, KnobValue]:
    return dict(resolve(dict(options_of("IncidentSgsn", "BrokenKnob").start), SCENARIO))


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, KnobValue]]:
    """Settings that are tried; a gate ends no storm, a lower RTO-max ends three of four."""
    seen: list[dict[str, KnobValue]] = []

    def fake(settings: list[dict[str, KnobValue]], storms: StormSet) -> SimpleNamespace:
        seen.extend(settings)
        return SimpleNamespace(converged_share=np.array([0.0 if s["rto_max_ms"] == 60000 else 0.75 for s in settings]))

    monkeypatch.setattr(stuck_links, "evaluate", fake)
    return seen


def test_the_broken_knob_is_named_with_what_would_help(tried: list[dict[str, KnobValue]]) -> None:
    (said,) = stuck_links.stuck_links(STORMS, broken(), outcomes(0.9))
    assert said.startswith("cannot help: the loop moves nop_rate alone, and with rto_max_ms = 60000")
    assert "with rto_max_ms = 500 and 335/s 75% end" in said
    assert [setting["nop_rate"] for setting in tried[:-1]] == [50, 100, 168, 335, 1005]
    assert tried[-1]["rto_max_ms"] == 500


def test_nothing_is_said_where_the_gate_is_not_alone_or_links_recover(tried: list[dict[str, KnobValue]]) -> None:
    assert stuck_links.stuck_links(STORMS, broken(), outcomes(0.3)) == []
    assert stuck_links.stuck_links(STORMS, broken() | {"rto_max_ms": 500}, outcomes(0.9)) == []
    assert stuck_links.stuck_links(STORMS, broken() | {"nop_rate": "off"}, outcomes(0.9)) == []
    alone = SCENARIO.model_copy(update={"loop": None})
    assert stuck_links.stuck_links(StormSet(alone, (0,), vary=True), broken(), outcomes(0.9)) == []
    assert tried == []


def test_a_gate_that_ends_storms_is_no_broken_knob(monkeypatch: pytest.MonkeyPatch) -> None:
    shares = SimpleNamespace(converged_share=np.array([0.0, 0.5, 0.0, 0.0, 0.0, 1.0]))
    monkeypatch.setattr(stuck_links, "evaluate", lambda settings, storms: shares)
    assert stuck_links.stuck_links(STORMS, broken(), outcomes(0.9)) == []


@pytest.mark.long
def test_the_diagnosis_of_the_real_storms() -> None:
    found = evaluate([broken()], STORMS).outcomes
    said = diagnose(STORMS, broken(), found.pick(0))
    assert any(line.startswith("cannot help: the loop moves nop_rate alone") for line in said)
