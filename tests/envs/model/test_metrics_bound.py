"""The fluid bound against figures worked out by hand, and against the model itself."""

import math
from typing import Any

import numpy as np
import pytest

import signalstorm as ss
from signalstorm.envs.model.bound import as_set, lower_bound_s
from signalstorm.envs.model.metrics import outcomes
from signalstorm.envs.model.parameters import setting_matrix
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.model.scenario_file import load
from tests.envs.model.kernels.worlds import LABORATORY, Course, at_once, fixed, handsets, world

ABOUT = 0.1
ONCE = fixed(5000.0, 5000.0)


def laboratory(topology: dict[str, Any], *events: dict[str, Any], **fields: Any) -> Scenario:
    """1,000 idle subscribers at 100/s, closed."""
    data = {
        "subscribers": handsets(1000, LABORATORY),
        "demand": {"rate_per_s": 100.0},
        "closed": True,
        "topology": topology,
        "timeline": list(events),
        "horizon_s": 600.0,
    }
    return world(**{**data, **fields})


def capacity(target: str, time_s: float, value: float, **more: float) -> dict[str, Any]:
    return {"kind": "capacity", "target": target, "time_s": time_s, "value": value, **more}


CLOSED = [
    ("nothing but the demand", {}, [], 10.0),
    ("a server that is faster than the demand", {"database": {"rate_per_s": 200.0}}, [], 10.0),
    ("the narrowest server", {"database": {"rate_per_s": 50.0}}, [], 20.0),
    ("an hss that is asked twice", {"hss": {"rate_per_s": 50.0}}, [], 40.0),
    ("the narrower of two", {"hss": {"rate_per_s": 150.0}, "database": {"rate_per_s": 40.0}}, [], 25.0),
    ("the hss where it is the narrower", {"hss": {"rate_per_s": 50.0}, "database": {"rate_per_s": 40.0}}, [], 40.0),
    # First in, first out: only the foreign messages of the first 10 s are ahead of the last request.
    ("foreign load", {"database": {"rate_per_s": 50.0, "other_load_per_s": 10.0}}, [], (1000 + 100) / 50.0),
    ("foreign load at the hss", {"hss": {"rate_per_s": 100.0, "other_load_per_s": 20.0}}, [], (2000 + 200) / 100.0),
    ("foreign load above the rate", {"database": {"rate_per_s": 50.0, "other_load_per_s": 60.0}}, [], 1600 / 50.0),
    ("a jump", {"database": {"rate_per_s": 50.0}}, [capacity("database", 10.0, 25.0)], 10.0 + 500 / 25),
    # 50 t - t^2 in the first 20 s, then 10/s for the other 400.
    ("a ramp", {"database": {"rate_per_s": 50.0}}, [capacity("database", 0.0, 10.0, until_s=20.0)], 60.0),
    # 10 s at 20/s, a ramp that passes 20 t + 2 t^2, i.e. 800 in 14.85 s.
    (
        "a ramp after a jump",
        {"database": {"rate_per_s": 50.0}},
        [capacity("database", 0.0, 20.0), capacity("database", 10.0, 100.0, until_s=30.0)],
        10.0 + (math.sqrt(20**2 + 4 * 2 * 800) - 20) / 4,
    ),
    ("a limit by an event", {"database": {}}, [capacity("database", 5.0, 25.0)], 5.0 + 500 / 25),
    (
        "foreign load by an event",
        {"database": {"rate_per_s": 50.0}},
        [{"kind": "other_load", "target": "database", "time_s": 5.0, "value_per_s": 20.0}],
        (1000 + 5 * 20) / 50.0,
    ),
    # The hss lets 50/s pass for 10 s, then 200/s; the database meets its last 500 at 10 s and needs 500 / 60 for them.
    (
        "two servers that take turns",
        {"hss": {"rate_per_s": 100.0}, "database": {"rate_per_s": 60.0}},
        [capacity("hss", 10.0, 400.0)],
        10.0 + 500 / 60,
    ),
    ("beyond the horizon", {"database": {"rate_per_s": 1.0}}, [], math.inf),
]


@pytest.mark.parametrize(("topology", "events", "expected"), [case[1:] for case in CLOSED], ids=[c[0] for c in CLOSED])
def test_bound_of_a_closed_run(topology: dict[str, Any], events: list[dict[str, Any]], expected: float) -> None:
    assert lower_bound_s(laboratory(topology, *events)) == pytest.approx(expected, abs=ABOUT)


def test_a_gateway_and_a_pcrf_count_once_each() -> None:
    topology = {"gateway": {"rate_per_s": 80.0}, "pcrf": {"rate_per_s": 62.5}}
    assert lower_bound_s(laboratory(topology)) == pytest.approx(16.0, abs=ABOUT)


def test_the_bound_counts_from_the_origin() -> None:
    topology = {"database": {"rate_per_s": 50.0}}
    late = laboratory(topology, demand={"rate_per_s": 100.0, "start_s": 30.0})
    assert lower_bound_s(late) == pytest.approx(50.0, abs=ABOUT)
    counted = laboratory(topology, demand={"rate_per_s": 100.0, "start_s": 30.0}, convergence={"count_from_s": 30.0})
    assert lower_bound_s(counted) == pytest.approx(20.0, abs=ABOUT)


def open_run(rate_per_s: float | None, *events: dict[str, Any], **fields: Any) -> Scenario:
    """1,000 registered and 5,000 idle subscribers; half of the registered are detached at 100 s."""
    data = {
        "subscribers": handsets(6000, LABORATORY, registered_share=1 / 6),
        "topology": {"database": {"rate_per_s": rate_per_s}},
        "trigger": {"kind": "detach", "time_s": 100.0},
        "convergence": {"count_from_s": 100.0},
        "timeline": [{"kind": "mass_detach", "time_s": 100.0, "share": 0.5}, *events],
        "horizon_s": 400.0,
    }
    return world(**{**data, **fields})


def test_bound_of_an_open_run() -> None:
    """T ends within the band of health, 1 % of 6,000: (500 - 60) / 50."""
    assert lower_bound_s(open_run(50.0)) == pytest.approx(8.8, abs=ABOUT)
    assert lower_bound_s(open_run(None)) == pytest.approx(0.0, abs=ABOUT)


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_an_open_run_that_wastes_nothing_comes_close_to_the_bound(share: float) -> None:
    """Patient subscribers and requesters, no chance: not sooner than the bound, and hardly later."""
    patient = {"database": {"rate_per_s": 50.0, "timer_s": 600.0}}
    events = [{"kind": "mass_detach", "time_s": 100.0, "share": share}]
    groups = handsets(6000, ONCE, registered_share=1 / 6)
    scenario = open_run(50.0, subscribers=groups, topology=patient, timeline=events, stochastic=False)
    found = float(outcomes(Course(scenario, every_s=10.0).run().batch).convergence_time_s[0])
    bound = lower_bound_s(scenario)
    assert bound == pytest.approx((1000 * share - 60) / 50, abs=ABOUT)
    assert bound - 2 * scenario.dt <= found <= bound + 0.3


def test_a_later_disturbance_moves_neither() -> None:
    again = {"kind": "mass_detach", "time_s": 300.0, "share": 0.5}
    assert lower_bound_s(open_run(50.0, again)) == lower_bound_s(open_run(50.0))


def nodes(**resilience: Any) -> Scenario:
    """A database of two nodes, of which one is lost with its 5,000 sessions."""
    return open_run(
        None,
        subscribers=handsets(10_000, LABORATORY, registered_share=1.0),
        topology={"database": {"rate_per_s": 100.0}, "resilience": {"failure_domains": 2, **resilience}},
        timeline=[{"kind": "node_loss", "target": "database", "time_s": 100.0, "spread_s": 1.0}],
    )


@pytest.mark.parametrize(
    ("setting", "lost"),
    [({}, 5000), ({"failure_domains": 4}, 2500), ({"recovery_share": 0.5}, 2500), ({"recovery_share": 1.0}, 0)],
)
def test_what_is_lost_with_a_node_counts_as_it_is_set(setting: dict[str, Any], lost: int) -> None:
    """Failure domains and session recovery are what-ifs: the bound is that of the network as it then is."""
    expected = pytest.approx(max(lost - 100, 0) / 100.0, abs=ABOUT)
    assert lower_bound_s(as_set(nodes(), setting)) == expected
    assert lower_bound_s(nodes(**setting)) == expected
    result = ss.simulate(nodes(), setting, seeds=1)
    assert result.to_json()["lower_bound_s"] == expected


@pytest.mark.parametrize("action", ["continue", "retry"])
def test_a_server_that_attaches_can_do_without_bounds_nothing(action: str) -> None:
    topology = {"gateway": {"gx_failure": "terminate"}, "pcrf": {"rate_per_s": 50.0}}
    alone = laboratory(topology)
    assert lower_bound_s(as_set(alone, {"gx_failure_action": "retry"})) == pytest.approx(20.0, abs=ABOUT)
    closed = laboratory({**topology, "pcrf_mate": {}})
    assert lower_bound_s(closed) == pytest.approx(20.0, abs=ABOUT)
    assert lower_bound_s(as_set(closed, {"gx_failure_action": action})) == pytest.approx(10.0, abs=ABOUT)
    assert lower_bound_s(closed.with_fields({"tunable": ["gx_failure_action"]})) == pytest.approx(10.0, abs=ABOUT)
    assert lower_bound_s(as_set(closed, {"pcrf_rate_per_s": 80})) == pytest.approx(12.5, abs=ABOUT)


def test_demand_goes_on_while_the_backlog_drains() -> None:
    """500 at once and 20/s more, but for the band of 60: 440 / (50 - 20)."""
    demand = {"rate_per_s": 20.0, "start_s": 100.0}
    assert lower_bound_s(open_run(50.0, demand=demand)) == pytest.approx(440 / 30, abs=ABOUT)
    assert lower_bound_s(open_run(50.0, demand={"rate_per_s": 60.0, "start_s": 100.0})) == pytest.approx(
        (500 + 5000 - 60) / 50.0, abs=ABOUT
    )


def test_a_spread_slower_than_the_server_makes_no_backlog() -> None:
    wide = [{"kind": "mass_detach", "time_s": 100.0, "share": 0.5, "spread_s": 50.0}]
    assert lower_bound_s(open_run(50.0, timeline=wide)) == 0.0
    narrow = [{"kind": "mass_detach", "time_s": 100.0, "share": 0.5, "spread_s": 5.0}]
    assert lower_bound_s(open_run(50.0, timeline=narrow)) == pytest.approx(5.0 + (250 - 60) / 50, abs=ABOUT)


def test_only_the_detached_class_counts() -> None:
    groups = [
        {"name": "phone", "size": 1000, "registered_share": 1.0, "ladder": LABORATORY},
        {"name": "meter", "size": 400, "registered_share": 0.5, "ladder": LABORATORY},
    ]
    for target, lost in (("phone", 500.0), ("meter", 100.0), ("*", 600.0)):
        timeline = [{"kind": "mass_detach", "time_s": 100.0, "share": 0.5, "target": target}]
        bound = lower_bound_s(open_run(50.0, subscribers=groups, timeline=timeline))
        assert bound == pytest.approx((lost - 14.0) / 50.0, abs=ABOUT)


@pytest.mark.parametrize(("topology", "events"), [case[1:3] for case in CLOSED[:-1]], ids=[c[0] for c in CLOSED[:-1]])
def test_a_network_that_wastes_nothing_comes_close_to_the_bound(
    topology: dict[str, Any], events: list[dict[str, Any]]
) -> None:
    """Patient handsets and requesters, no chance: never sooner than the bound, and hardly later.

    An HSS asked twice answers first questions before second ones, so its attaches bunch at the end: a server or foreign
    messages behind it may then cost more than the fluid's even flow says.
    """
    patient = {
        name: {**server, **({"timer_s": 600.0} if name in ("hss", "database") else {})}
        for name, server in topology.items()
    }
    scenario = laboratory(patient, *events, subscribers=handsets(1000, ONCE), stochastic=False)
    bound = lower_bound_s(scenario)
    found = float(outcomes(Course(scenario, every_s=10.0).run().batch).convergence_time_s[0])
    assert found >= bound - 2 * scenario.dt
    if "hss" not in topology or not ("database" in topology or "other_load_per_s" in topology["hss"]):
        assert found <= bound + 0.3


@pytest.mark.parametrize("name", ["lab-pcrf-a", "lab-pcrf", "lab-pcrf-nop50"])
def test_no_setting_beats_the_bound(name: str) -> None:
    scenario = load(name).with_fields({"stochastic": False})
    bound = lower_bound_s(scenario)
    assert bound == pytest.approx(20.0, abs=ABOUT)
    for knobs in ({}, {"nop_rate": 50}, {"nop_rate": 60, "nop_wait_s": 15}, {"nop_rate": "off"}):
        course = Course(scenario, setting_matrix([knobs], scenario), every_s=10.0).run()
        found = outcomes(course.batch).convergence_time_s
        assert (np.isnan(found) | (found >= bound - 2 * scenario.dt)).all()


def test_everybody_at_once() -> None:
    scenario = laboratory({"database": {"rate_per_s": 50.0}}, demand=at_once(1000))
    assert lower_bound_s(scenario) == pytest.approx(20.0, abs=ABOUT)
