"""The SGSN: GPRS ladders, location refreshes that fail, the IMSI manager, conservation, and equal bits."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from signalstorm.envs.model.batch import Batch
from signalstorm.envs.model.kernels import layout
from signalstorm.envs.model.parameters import setting_matrix
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.model.scenario_file import load
from tests.envs.model.kernels.linked import DT, VAST, WIDE, Watch, event, network
from tests.envs.model.kernels.worlds import GATED, Course, at_once, closed_gate, handsets, world

GPRS = {"kind": "gprs"}


def tries(action: str, horizon_s: float) -> Course:
    scenario = world(
        access="gprs", subscribers=handsets(10, GPRS), demand=at_once(10), topology=GATED, horizon_s=horizon_s
    )
    return Course(scenario, closed_gate(action)).run()


@pytest.mark.parametrize("action", ["reject-congestion", "reject-network-failure"])
def test_gprs_refusal(action: str) -> None:
    """One try per 15 s, five tries, then T3302."""
    course = tries(action, 830.0)
    assert course.times(course.attempts) == [0, 15, 30, 45, 60, 780, 795, 810, 825]


def test_gprs_silence() -> None:
    """Five sends 15 s apart make one attempt; the fifth T3310 aborts it, T3311 later comes the next; then T3302."""
    course = tries("drop", 1170.0)
    attempt = [0, 15, 30, 45, 60]
    first = [90 * number + send for number in range(5) for send in attempt]
    second = 4 * 90 + 75 + 720
    assert course.times(course.attempts) == [*first, *(second + send for send in attempt if second + send < 1170)]
    assert course.attempts.sum() == pytest.approx(10 * (25 + 1))


def test_gprs_refusal_ends_the_sends_of_an_attempt() -> None:
    """Two sends without an answer, then refusals: attempts 1 to 5 in all, then T3302."""
    scenario = world(access="gprs", subscribers=handsets(10, GPRS), demand=at_once(10), topology=GATED, horizon_s=830.0)
    course = Course(scenario, closed_gate("drop")).run(20.0)
    course.batch.set_settings(closed_gate("reject-congestion"))
    course.run()
    assert course.times(course.attempts) == [0, 15, 30, 45, 60, 75, 90, 810, 825]


def refreshing(**fields: Any) -> Scenario:
    """Everybody flagged at the start, everybody active at once."""
    activity = {"points": [[0.0, 100.0], [600.0, 100.0]]}
    timeline = [{"kind": "hlr_reset", "time_s": 10.0}, *fields.pop("timeline", [])]
    return network(VAST, activity=activity, timeline=timeline, **fields)


def test_a_refresh_confirms_and_nobody_loses_service() -> None:
    watch = Watch(refreshing(), seconds=60.0)
    final = watch.counters[-1]
    assert final[layout.K_REFRESHES] == pytest.approx(1e7)
    assert final[layout.K_REFRESHES_FAILED] == 0.0
    assert watch.counters[:, layout.K_WITHOUT].max() < 1e-3
    assert final[layout.K_ATTEMPTS] == 0.0


def test_a_refresh_that_fails_detaches_and_the_handset_attaches_within_ten_seconds() -> None:
    """The links are down, so the MAP timer of 30 s runs out; the first attempts follow over 10 s."""
    watch = Watch(refreshing(timeline=[event("link_down", 5.0, "*", noticed=False)]), seconds=90.0)
    detached = np.diff(watch.counters[:, layout.K_DETACH_NETWORK], prepend=0.0)
    attempts = np.diff(watch.counters[:, layout.K_ATTEMPTS], prepend=0.0)
    begun = np.flatnonzero(np.diff(watch.counters[:, layout.K_REFRESHES], prepend=0.0) > 1.0) * DT
    when = np.flatnonzero(detached > 1.0) * DT
    assert when[0] == pytest.approx(begun[0] + 30.0, abs=2 * DT)
    assert detached.sum() == pytest.approx(1e7)
    first = np.flatnonzero(attempts > 1e-6) * DT
    assert first[0] == pytest.approx(when[0] + DT, abs=DT)
    within = (np.arange(attempts.size) * DT >= when[0]) & (np.arange(attempts.size) * DT <= when[-1] + 10.0 + DT)
    assert attempts[within].sum() == pytest.approx(1e7, rel=1e-9)
    half = (np.arange(attempts.size) * DT <= when[0] + 5.0) & within
    assert attempts[half].sum() == pytest.approx(0.5e7, rel=0.06)


def manager(**fields: Any) -> Scenario:
    return network(
        WIDE,
        load_per_s=4000.0,  # 1,000 attaches/s
        topology={"links": WIDE, "imsimgr": {"smooth_s": 0.25, "base_share": 0.1, **fields}},
        horizon_s=20.0,
    )


@pytest.mark.parametrize(("capacity", "lost"), [(2000.0, 0.0), (1200.0, 0.0), (1000.0, 0.1)])
def test_the_imsi_manager_loses_what_it_cannot_take(capacity: float, lost: float) -> None:
    """From the moment on at which a quarter of a second of work waits."""
    watch = Watch(manager(capacity_per_s=capacity), seconds=10.0)
    gained = watch.counters[-1] - watch.counters[round(4.0 / DT)]
    assert gained[layout.K_OVERLOAD] / gained[layout.K_ATTEMPTS] == pytest.approx(lost, abs=5e-3)
    peak = watch.batch.imsimgr_peak()[0]
    assert peak == pytest.approx(min(0.1 + 1000.0 / capacity, 1.0), rel=0.02)


def test_the_imsi_manager_warns() -> None:
    warned = Watch(manager(capacity_per_s=1600.0, warn_share=0.7), seconds=2.0).batch.alarms()[0]
    assert [(element, bool(up)) for _, element, up in warned] == [(layout.ALARM_IMSIMGR, True)]
    assert Watch(manager(capacity_per_s=1600.0, warn_share=0.8), seconds=2.0).batch.alarms() == [[]]


# -- the incident itself, in small ---------------------------------------------------------------------------------

EARLY: Mapping[str, Any] = {
    "horizon_s": 1200.0,
    "convergence.count_from_s": 300.0,
    "activity.points": [[0, 1e-5], [120, 2e-3], [300, 4e-3]],
}
"""Everything as in the incident, but people become active within minutes."""
EVENTS = [
    event("link_reset", 500.0, "stp2"),
    event("link_down", 600.0, "stp1/slc2"),
    event("link_down", 620.0, "stp2/slc3", noticed=False),
    event("link_up", 800.0, "stp1/slc2"),
    event("link_up", 900.0, "stp2/slc3"),
    event("link_down", 950.0, "stp1"),
]


def short(events: bool = True) -> Scenario:
    scenario = load("incident-2014").with_fields(EARLY)
    data = scenario.model_dump(mode="json")
    return Scenario.model_validate({**data, "timeline": [*data["timeline"], *(EVENTS if events else [])]})


def test_the_incident_conserves_subscribers_at_every_step() -> None:
    """Resets, links that go down, unnoticed deaths included; the check looks in each step."""
    batch = Batch([short()] * 3, range(3), setting_matrix([{"max_assoc_retx": 2}], short()), check=True)
    batch.run()
    k = batch.counters()
    assert (k[layout.K_ERROR] < 1e-9).all()
    assert (k[layout.K_DETACH_NETWORK] > 1e4).all()
    assert (batch.links()[:, layout.L_SUM_LOST].sum(axis=0) > 0.0).all()


def bits(batch: Batch) -> list[Any]:
    return [batch.counters(), batch.records(), batch.links(), batch.queue("gate")]


SETTINGS: list[Mapping[str, Any]] = [
    {},
    {"nop_rate": 1000},
    {"rto_min_ms": 500, "rto_initial_ms": 500, "rto_max_ms": 500},
    {"nop_action": "drop"},
]


def batch_of(count: int, **options: Any) -> Batch:
    matrix = setting_matrix(SETTINGS, short())
    rows = (np.arange(count), np.arange(count) % len(SETTINGS))
    return Batch([short()] * count, range(count), matrix, rows=rows, record_s=60.0, **options)


def test_a_row_is_the_storm_alone_on_any_threads_in_any_chunks() -> None:
    together = batch_of(40, threads=1)
    together.run()
    threaded = batch_of(40, threads=2)
    for seconds in (100.0, 0.25, 333.0):
        threaded.run(round(seconds / DT))
    threaded.run()
    for mine, theirs in zip(bits(together), bits(threaded), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert together.alarms() == threaded.alarms()
    for row in (0, 3, 33):
        single = Batch([short()], [row], setting_matrix([SETTINGS[row % 4]], short()), record_s=60.0, tile=1)
        single.run()
        for mine, theirs in zip(bits(together), bits(single), strict=True):
            np.testing.assert_array_equal(mine[..., row : row + 1], theirs)
        assert together.alarms()[row] == single.alarms()[0]
