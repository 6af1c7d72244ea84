import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from tests.reference.compare import Share, compare, median
from tests.reference.run import Result, run

CALM: Mapping[str, Any] = {
    "closed": True,
    "subscribers": [{"name": "phone", "size": 300, "registered_share": 0.0, "ladder": {"kind": "eps"}}],
    "demand": {"rate_per_s": 30.0},
    "topology": {"gateway": {"tx_s": 5.0}, "pcrf": {"rate_per_s": 50.0, "buffer": 500}},
    "horizon_s": 100.0,
}


def other_seeds(scenario: Any, knobs: Mapping[str, Any], seeds: Sequence[int]) -> list[Result]:
    return [run(scenario, knobs, 1000 + seed) for seed in seeds]


def test_the_reference_agrees_with_itself() -> None:
    comparison = compare(CALM, {}, 10, kernel=other_seeds)
    assert comparison.agrees
    assert not comparison.on_edge
    assert str(comparison).endswith("away from the edge: medians within 5%: agree")


def test_a_slower_kernel_is_found() -> None:
    def slower(scenario: Any, knobs: Mapping[str, Any], seeds: Sequence[int]) -> list[Result]:
        results = other_seeds(scenario, knobs, seeds)
        return [replace(each, convergence_time_s=(each.convergence_time_s or 0.0) * 1.1) for each in results]

    comparison = compare(CALM, {}, 10, kernel=slower)
    assert not comparison.agrees
    assert [row.measure for row in comparison.rows if not row.agrees] == ["convergence_time_s"]
    assert compare(CALM, {}, 10, kernel=slower, on_edge=True).agrees


def test_a_kernel_that_never_ends_is_found() -> None:
    def endless(scenario: Any, knobs: Mapping[str, Any], seeds: Sequence[int]) -> list[dict[str, Any]]:
        results = other_seeds(scenario, knobs, seeds)
        return [{**vars(each), "convergence_time_s": None} for each in results]

    comparison = compare(CALM, {}, 10, kernel=endless, on_edge=True)
    assert not comparison.collapse_agrees
    assert comparison.rows[0].difference == math.inf
    assert "10/10" in str(comparison)


def test_wilson_interval() -> None:
    assert Share(0, 40).interval == pytest.approx((0.0, 0.0876), abs=1e-4)
    assert Share(10, 40).interval == pytest.approx((0.1419, 0.4019), abs=1e-4)


def test_interval_of_a_median_holds_it() -> None:
    found = median([1.0, 2.0, 3.0, 4.0, math.inf])
    assert found.value == 3.0
    assert found.interval[0] <= 3.0 <= found.interval[1]
