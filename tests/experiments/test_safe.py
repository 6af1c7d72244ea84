"""Safe intervals move one knob alone, and only to legal values."""

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from signalstorm.envs.model.knobs import Setting
from signalstorm.envs.model.scenario_file import load
from signalstorm.experiments import safe
from signalstorm.experiments.search_space import search_space

RECOMMENDED = Setting(
    {"nop_rate": 400, "nop_queue": 2000, "rto_min_ms": 500, "rto_initial_ms": 600, "rto_max_ms": 1900}
)


@pytest.fixture
def intervals(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Intervals in a world where every legal setting is as good as any other."""
    monkeypatch.setattr(safe, "meet", lambda settings, *_: settings)
    storms = cast(Any, SimpleNamespace(storms=None, values_of=lambda settings: np.ones(len(settings))))
    found = safe.safe_intervals(search_space(load("incident-2014")), RECOMMENDED, storms, cast(Any, None))
    return {name: (interval.low, interval.high) for name, interval in found.intervals.items()}


def test_time_outs_stay_in_order(intervals: dict[str, Any]) -> None:
    """RTO-min <= RTO-initial <= RTO-max with the other two as recommended."""
    assert intervals["rto_min_ms"] == (100, 600)
    assert intervals["rto_initial_ms"] == (500, 1900)
    assert intervals["rto_max_ms"] == (600, 120000)


def test_the_queue_follows_the_rate(intervals: dict[str, Any]) -> None:
    assert intervals["nop_rate"] == (50, 5000)
