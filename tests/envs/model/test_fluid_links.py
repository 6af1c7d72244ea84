"""The fluid bound behind signalling links against figures worked out by hand, and against the model itself."""

import math
from typing import Any

import numpy as np
import pytest

from signalstorm.envs.model.batch import Batch
from signalstorm.envs.model.bound import lower_bound_s
from signalstorm.envs.model.metrics import outcomes
from signalstorm.envs.model.parameters import setting_matrix
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.model.scenario_file import load
from signalstorm.envs.model.storms import storm

RTO_500 = {"rto_min_ms": 500, "rto_initial_ms": 500, "rto_max_ms": 500}


def incident(**fields: Any) -> Scenario:
    """`incident-2014` without power-cycles, its origin at the reset, as active as the fields say."""
    still = {"subscribers.0.churn_per_s": 0.0, "subscribers.1.churn_per_s": 0.0, "convergence.count_from_s": 0.0}
    plain = {"topology.links.stp_rate_shares": (1.0, 1.0), "convergence.band_share": 1e-6}
    return load("incident-2014").with_fields(still | plain | {name.replace("__", "."): v for name, v in fields.items()})


def test_everybody_becomes_active_at_once() -> None:
    """2,386,266 refreshes of two messages each, over eight links of 270/s."""
    soon = incident(activity__points=((0.0, 1.0), (1.0, 1.0)))
    assert lower_bound_s(soon) == pytest.approx(2 * 2386266 / (8 * 270), abs=5.0)


def test_a_constant_activity() -> None:
    """Demand 2 a N exp(-a t) falls below capacity c at t1; the backlog of until then is worked off with what is left.

    All messages asked for up to t, 2 N (1 - exp(-a t)), reach c t at the bound.
    """
    rate, population, capacity = 1e-3, 2386266, 8 * 270.0
    bound = lower_bound_s(incident(activity__points=((0.0, rate), (1.0, rate))))
    assert 2 * population * (1 - math.exp(-rate * bound)) == pytest.approx(capacity * bound, rel=1e-3)


def test_power_cycles_take_capacity_and_confirm() -> None:
    """Churn takes four messages per attach; a flagged subscriber who power-cycles needs no refresh any more."""
    active = {"activity__points": ((0.0, 0.0), (3600.0, 0.0), (3601.0, 1.0))}
    without = lower_bound_s(incident(**active))
    churn = 1e-4
    cycling = {"subscribers__0__churn_per_s": churn, "subscribers__1__churn_per_s": churn}
    left = 2386266 * math.exp(-3600 * churn)
    spare = 8 * 270.0 - 4 * 2386266 * churn
    assert without == pytest.approx(3600 + 2 * 2386266 / (8 * 270), abs=10.0)
    assert lower_bound_s(incident(**active, **cycling)) == pytest.approx(3600 + 2 * left / spare, rel=0.005)


def test_more_power_cycles_by_scale_or_by_the_hour() -> None:
    active = {"activity__points": ((0.0, 0.0), (3600.0, 0.0), (3601.0, 1.0))}
    for name in ("subscribers__0__churn_per_s", "subscribers__1__churn_per_s"):
        active[name] = 1e-4  # type: ignore[assignment]
    double = {"subscribers__0__churn_per_s": 2e-4, "subscribers__1__churn_per_s": 2e-4}
    expected = pytest.approx(lower_bound_s(incident(**{**active, **double})))
    assert lower_bound_s(incident(**active, churn_scale=2.0)) == expected
    assert lower_bound_s(incident(**active, churn_profile={"points": [[0.0, 2.0], [1.0, 2.0]]})) == expected


def test_links_that_go_down_and_come_back() -> None:
    """Four of eight links are missing for an hour: the other four carry half."""
    soon = {"activity__points": ((0.0, 1.0), (1.0, 1.0))}
    events = (
        {"kind": "hlr_reset", "time_s": 0.0},
        {"kind": "link_down", "target": "stp1", "time_s": 0.0},
        {"kind": "link_up", "target": "stp1", "time_s": 1000.0},
        {"kind": "capacity", "target": "stp2", "time_s": 1000.0, "value": 135.0},
    )
    early = 4 * 270 * 1000
    expected = 1000 + (2 * 2386266 - early) / (4 * 270 + 4 * 135)
    assert lower_bound_s(incident(**soon, timeline=events)) == pytest.approx(expected, abs=5.0)


def test_no_backlog_no_bound() -> None:
    assert lower_bound_s(load("incident-2014-advised")) == 0.0
    assert lower_bound_s(load("incident-2014")) > 1800.0


@pytest.mark.parametrize("count", [2, pytest.param(40, marks=pytest.mark.long)])
def test_no_setting_beats_the_bound(count: int) -> None:
    """Storms whose fields differ, each under settings that end it: never sooner than the links could do the work."""
    model = load("incident-2014")
    storms = [storm(model, number, vary=True) for number in range(count)]
    settings = setting_matrix([RTO_500, {"nop_rate": 400, **RTO_500}, {"nop_rate": 350}, {"rto_max_ms": 5000}], model)
    rows = np.arange(4 * count)
    batch = Batch(storms, range(count), settings, rows=(rows % count, rows // count))
    batch.run()
    found = outcomes(batch).convergence_time_s.reshape(4, count)
    bounds = np.array([lower_bound_s(each) for each in storms])
    assert (bounds > 0).any()
    assert (np.isnan(found) | (found >= bounds)).all()


def test_a_later_disturbance_does_not_move_the_bound() -> None:
    model = load("incident-2014")
    later = ({"kind": "hlr_reset", "time_s": 0.0}, {"kind": "mass_detach", "time_s": 20000.0, "share": 0.5})
    assert lower_bound_s(model.with_fields({"timeline": later})) == lower_bound_s(model)
