"""Events change what they should, by what they should, from their own step on."""

from typing import Any

import numpy as np
import pytest

from signalstorm.envs.model.kernels import layout
from signalstorm.envs.model.scenario import Scenario
from tests.envs.model.kernels.worlds import STEP_S, Course, at_once, fixed, handsets, world

AT_S = 10.0
ONCE = fixed(5000.0, 5000.0)


def busy(*events: dict[str, Any], **fields: Any) -> Scenario:
    """An HSS with more to do than it can, in deterministic mode."""
    topology = {"hss": {"rate_per_s": 50.0, "other_load_per_s": 10.0, "timer_s": 20.0}}
    backlog = {"kind": "message_burst", "target": "hss", "time_s": 0.0, "count": 1e6}
    return world(**{"topology": topology, "timeline": [backlog, *events], "stochastic": False, **fields})


def capacity(time_s: float, value: float, **more: float) -> dict[str, Any]:
    return {"kind": "capacity", "target": "hss", "time_s": time_s, "value": value, **more}


def served(course: Course) -> list[float]:
    """Messages per second that the HSS serves in each step, from the second on."""
    found = ((course.fresh("hss") + course.stale("hss"))[1:, 0] / course.dt).tolist()
    return [round(value, 6) for value in found]


def test_capacity_jumps_at_its_step() -> None:
    course = Course(busy(capacity(AT_S, 20.0), capacity(2 * AT_S, 80.0))).run(3 * AT_S)
    steps = round(AT_S / course.dt)
    assert served(course) == [50.0] * (steps - 1) + [20.0] * steps + [80.0] * steps


def test_capacity_may_fall_to_nothing() -> None:
    course = Course(busy(capacity(AT_S, 0.0))).run(2 * AT_S)
    steps = round(AT_S / course.dt)
    assert served(course) == [50.0] * (steps - 1) + [0.0] * steps


def test_capacity_ramps_in_a_straight_line() -> None:
    course = Course(busy(capacity(AT_S, 90.0, until_s=2 * AT_S))).run(3 * AT_S)
    time_s = np.arange(1, round(3 * AT_S / course.dt)) * course.dt
    np.testing.assert_allclose(served(course), np.interp(time_s, [AT_S, 2 * AT_S], [50.0, 90.0]), atol=1e-5)


def test_a_ramp_starts_from_what_an_event_before_it_left() -> None:
    course = Course(busy(capacity(5.0, 20.0), capacity(AT_S, 0.0, until_s=2 * AT_S))).run(2 * AT_S)
    rates = served(course)
    assert rates[round(15.0 / course.dt) - 1] == pytest.approx(10.0)
    assert rates[round(AT_S / course.dt) - 2] == 20.0


def test_capacity_gives_a_limit_to_a_server_without_one() -> None:
    course = Course(busy(capacity(AT_S, 30.0), topology={"hss": {}})).run(2 * AT_S)
    assert course.waiting("hss")[1, 0] == 0.0
    backlog = busy(
        capacity(AT_S, 30.0),
        {"kind": "message_burst", "target": "hss", "time_s": AT_S, "count": 1e4},
        topology={"hss": {}},
    )
    course = Course(backlog).run(2 * AT_S)
    steps = round(AT_S / course.dt)
    assert served(course)[steps:] == [30.0] * (steps - 1)


def test_latency_changes_when_answers_arrive() -> None:
    """One subscriber per step asks; from 10 s on, the answers take 2 s longer: nobody hears anything for 2 s."""
    scenario = world(
        subscribers=handsets(10_000, ONCE),
        demand={"rate_per_s": 1.0 / STEP_S},
        topology={"database": {"latency_s": 0.5}},
        timeline=[{"kind": "latency", "target": "database", "time_s": AT_S, "value_s": 2.5}],
    )
    course = Course(scenario).run(20.0)
    heard = course.successes[:, 0]
    expected = np.ones(len(heard))
    expected[: 1 + round(0.5 / STEP_S)] = 0.0
    gap = round((AT_S + 0.5) / STEP_S)
    expected[gap : gap + round(2.0 / STEP_S)] = 0.0
    np.testing.assert_allclose(heard, expected, atol=1e-9)


def test_latency_takes_patience_away_from_those_who_wait() -> None:
    """Timer 6 s: 100 that have waited 4 s time out, by halves, when the answer would take 3 s more."""
    scenario = world(
        subscribers=handsets(100, ONCE),
        demand={**at_once(100), "start_s": AT_S - 4.0},
        topology={"database": {"rate_per_s": 1e-6, "timer_s": 6.0}},
        timeline=[{"kind": "latency", "target": "database", "time_s": AT_S, "value_s": 3.0}],
    )
    course = Course(scenario).run(20.0)
    gone = course.stale_waiting("database")[:, 0]
    at = round(AT_S / course.dt)
    assert gone[at - 1] == 0.0
    assert gone[at] == pytest.approx(100.0)


def test_a_latency_that_goes_away_helps_those_who_still_wait() -> None:
    """Latency 5 s, timer 4 s: nobody is ever served in time; without it those that come are."""
    scenario = world(
        subscribers=handsets(2000, fixed(100.0, 100.0)),
        demand={"rate_per_s": 20.0},
        topology={"gateway": {"tx_s": 4.0}, "pcrf": {"rate_per_s": 50.0, "latency_s": 5.0}},
        timeline=[{"kind": "latency", "target": "pcrf", "time_s": AT_S, "value_s": 0.0}],
    )
    course = Course(scenario).run(20.0)
    at = round(AT_S / course.dt)
    assert course.successes[:at].sum() == 0.0
    assert course.successes[at + 5 :].sum() == pytest.approx(20.0 * 10, rel=0.05)


def test_other_load_changes_at_its_step() -> None:
    event = {"kind": "other_load", "target": "hss", "time_s": AT_S, "value_per_s": 70.0}
    course = Course(busy(event)).run(2 * AT_S)
    offered = np.diff(course.waiting("hss")[:, 0]) / course.dt + 50.0
    at = round(AT_S / course.dt)
    np.testing.assert_allclose(offered[: at - 1], 10.0, atol=1e-5)
    np.testing.assert_allclose(offered[at - 1 :], 70.0, atol=1e-5)


def test_other_load_is_poisson_where_chance_is_on() -> None:
    """Mean and variance of the messages of 100 s, within 4 standard errors of 64 storms."""
    scenario = world(topology={"hss": {"rate_per_s": 1000.0, "other_load_per_s": 30.0}})
    course = Course(scenario, storms=range(64), every_s=100.0).run()
    offered = course.batch.queue("hss")[layout.Q_SUM_OFFERED]
    assert abs(offered.mean() - 3000.0) < 4.0 * np.sqrt(3000.0 / 64)
    assert offered.var(ddof=1) == pytest.approx(3000.0, rel=4.0 * np.sqrt(2.0 / 63))


def test_a_message_burst_arrives_whole_and_once() -> None:
    event = {"kind": "message_burst", "target": "hss", "time_s": AT_S, "count": 500}
    course = Course(busy(event)).run(2 * AT_S)
    grown = np.diff(course.waiting("hss")[:, 0])
    at = round(AT_S / course.dt)
    expected = np.full(len(grown), -40.0 * course.dt)
    expected[at - 1] += 500.0
    np.testing.assert_allclose(grown, expected, atol=1e-6)


def detached(**event: Any) -> Course:
    scenario = world(
        subscribers=[
            {"name": "phone", "size": 1000, "registered_share": 1.0, "ladder": ONCE},
            {"name": "meter", "size": 500, "registered_share": 0.8, "ladder": ONCE},
        ],
        topology={"gate": {}, "database": {"rate_per_s": 1e-6}},
        timeline=[{"kind": "mass_detach", "time_s": AT_S, **event}],
    )
    return Course(scenario).run(50.0)


@pytest.mark.parametrize(
    ("event", "lost"),
    [
        ({}, 1400.0),
        ({"target": "*", "share": 0.25}, 350.0),
        ({"target": "phone", "share": 0.5}, 500.0),
        ({"target": "meter", "share": 0.5}, 200.0),
    ],
)
def test_a_mass_detach_takes_service_at_its_step(event: dict[str, Any], lost: float) -> None:
    course = detached(**event)
    at = round(AT_S / course.dt)
    np.testing.assert_allclose(course.without[:at, 0], 100.0)
    np.testing.assert_allclose(course.without[at:, 0], 100.0 + lost)


@pytest.mark.parametrize("spread_s", [0.0, 4.0, 30.0])
def test_the_detached_attach_again_evenly_within_the_spread(spread_s: float) -> None:
    course = detached(spread_s=spread_s)
    at = round(AT_S / course.dt) + 1
    steps = max(round(spread_s / course.dt), 1)
    expected = np.zeros(len(course.attempts))
    expected[at : at + steps] = 1400.0 / steps
    np.testing.assert_allclose(course.attempts[:, 0], expected, atol=1e-9)


def test_each_storm_has_its_own_event() -> None:
    """Times and values may differ from storm to storm, side by side in one tile."""
    scenarios = [busy(capacity(time_s, value)) for time_s, value in ((5.0, 10.0), (7.5, 30.0), (12.0, 60.0))]
    course = Course(scenarios, storms=(0, 1, 2)).run(15.0)
    rates = (course.fresh("hss") + course.stale("hss"))[1:] / course.dt
    for row, (time_s, value) in enumerate(((5.0, 10.0), (7.5, 30.0), (12.0, 60.0))):
        at = round(time_s / course.dt)
        np.testing.assert_allclose(rates[: at - 1, row], 50.0)
        np.testing.assert_allclose(rates[at - 1 :, row], value)


def test_settings_do_not_undo_an_event() -> None:
    """A controller that sets its knobs every second leaves rate and latency of the timeline as they are."""
    events = [
        {"kind": "latency", "target": "pcrf", "time_s": 1.0, "value_s": 2.0},
        {"kind": "capacity", "target": "pcrf", "time_s": 2.0, "value": 20.0},
    ]
    scenario = world(
        subscribers=handsets(1000, fixed(5.0, 15.0)),
        demand={"rate_per_s": 40.0},
        topology={"gateway": {"tx_s": 5.0}, "pcrf": {"rate_per_s": 50.0}},
        timeline=events,
    )
    alone, steered = Course(scenario).run(), Course(scenario)
    for _ in range(100):
        steered.run(1.0)
        steered.batch.set_settings(steered.batch.settings)
    np.testing.assert_array_equal(alone.batch.records(), steered.batch.records())
