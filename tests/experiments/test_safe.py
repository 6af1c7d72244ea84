"""Safe intervals move one knob alone, and only to legal values."""

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from signalstorm.envs.model.knobs import Setting
from signalstorm.envs.model.scenario_file import load
from signalstorm.experiments import safe
from signalstorm.experiments.intervals import beyond, ends, span
from signalstorm.experiments.recommendation import SafeInterval
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
    return {name: (one.low, one.high, one.low_end, one.high_end) for name, one in found.intervals.items()}


def test_time_outs_stay_in_order(intervals: dict[str, Any]) -> None:
    """RTO-min <= RTO-initial <= RTO-max with the other two as recommended; not where a warning begins, at 200 ms."""
    assert intervals["rto_min_ms"] == (300, 600, "warning", "rule")
    assert intervals["rto_initial_ms"] == (500, 1900, "rule", "rule")
    assert intervals["rto_max_ms"] == (600, 120000, "rule", "range")


def test_the_queue_follows_the_rate(intervals: dict[str, Any]) -> None:
    assert intervals["nop_rate"] == (50, 5000, "range", "range")


def test_the_queue_is_legal_by_itself(intervals: dict[str, Any]) -> None:
    """Five seconds of the rate are the most that an entry waits; a shorter wait would need a shorter queue as well."""
    assert intervals["nop_queue_wait_s"] == (1, 5, "range", "rule")


def test_a_cost_ends_an_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    """Above 20 s of RTO-max storms cost 20 % more."""
    monkeypatch.setattr(safe, "meet", lambda settings, *_: settings)

    def values_of(settings: list[Setting]) -> Any:
        return np.array([1.2 if float(one.get("rto_max_ms", 0)) > 20000 else 1.0 for one in settings])

    storms = cast(Any, SimpleNamespace(storms=None, values_of=values_of))
    found = safe.safe_intervals(search_space(load("incident-2014")), RECOMMENDED, storms, cast(Any, None))
    assert found.intervals["rto_max_ms"].high_end == "cost"
    assert 19_000 <= found.intervals["rto_max_ms"].high <= 20_000


def test_profiles_know_the_present_value_where_it_is_legal_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """RTO-max of 60 s is; RTO-min of 1 s would lie above the recommended RTO-initial."""
    monkeypatch.setattr(safe, "meet", lambda settings, *_: settings)

    def values_of(settings: list[Setting]) -> Any:
        return np.array([float(one["rto_max_ms"]) for one in settings])

    storms = cast(Any, SimpleNamespace(storms=None, values_of=values_of))
    profiles = safe.safe_intervals(search_space(load("incident-2014")), RECOMMENDED, storms, cast(Any, None)).profiles
    costs = dict(zip(profiles["rto_max_ms"].values, profiles["rto_max_ms"].value_s, strict=True))
    assert (costs[1900], costs[60000]) == (1900.0, 60000.0)
    assert 1000 not in profiles["rto_min_ms"].values


def test_a_recommended_value_that_carries_the_warning_is_no_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(safe, "meet", lambda settings, *_: settings)
    storms = cast(Any, SimpleNamespace(storms=None, values_of=lambda settings: np.ones(len(settings))))
    low = Setting({**RECOMMENDED, "rto_min_ms": 200})
    found = safe.safe_intervals(search_space(load("incident-2014")), low, storms, cast(Any, None))
    assert (found.intervals["rto_min_ms"].low, found.intervals["rto_min_ms"].low_end) == (100, "range")


def test_intervals_in_words() -> None:
    interval = SafeInterval(unit="ms", low=300, high=600, low_end="warning", high_end="rule")
    assert (span(interval), ends(interval)) == ("300 to 600 ms", "warned of below, rule above")
    assert ends(SafeInterval(unit="s", low=1, high=2, low_end="cost", high_end="range")) == "range ends above"
    assert ends(SafeInterval(unit="s", low=1, high=2)) == ""
    assert beyond(interval) == "below it values are warned of, above it a rule with another knob is broken"
    assert beyond(SafeInterval(unit="s", low=1, high=2)) == "outside of it storms cost more than 10 % more"
