"""Barring, nodes, priority, broken handsets, churn over the day and the IMSI manager's broadcasts."""

from typing import Any

import pytest

from tests.reference.fields import Fields
from tests.reference.handset import State
from tests.reference.network import Network
from tests.reference.rate import Profile

EPS: Fields = {"kind": "eps"}


def network(topology: Fields, *timeline: Fields, seed: int = 3, **fields: Any) -> Network:
    """1,000 registered handsets."""
    subscribers = [{"name": "phone", "size": 1000, "registered_share": 1.0, "ladder": EPS}]
    return Network(
        {"subscribers": subscribers, "topology": topology, "timeline": timeline, "horizon_s": 1000.0, **fields},
        {},
        seed,
    )


def test_who_is_held_back_is_let_go_in_equal_stages() -> None:
    storm = network(
        {"resilience": {"release_stages": 4}},
        {"kind": "hold", "time_s": 1.0},
        {"kind": "mass_detach", "time_s": 2.0, "share": 0.8},
        {"kind": "staged_release", "time_s": 100.0, "stage_s": 50.0, "spread_s": 10.0},
    )
    left = []
    for time_s in (99.0, 149.0, 199.0, 249.0, 299.0):
        storm.env.run(until=time_s)
        left.append(len(storm.barring))
    assert left[0] == 800
    # Whoever is let go may be barred again, with the share that is left: 600 + 200 * 0.75, 500 + 250 * 0.5, ...
    assert left[1:] == pytest.approx([750, 625, 391, 0], abs=50)
    assert storm.population.count(State.HELD) == 0


@pytest.mark.parametrize(("recovery", "removed", "lost"), [(0.0, False, 250), (0.6, False, 100), (0.0, True, 250)])
def test_a_lost_node_takes_its_part_of_capacity_and_sessions(recovery: float, removed: bool, lost: int) -> None:
    storm = network(
        {"mme": {"rate_per_s": 400.0}, "resilience": {"failure_domains": 4, "recovery_share": recovery}},
        {"kind": "node_loss", "target": "mme", "time_s": 10.0, "spread_s": 5.0, "load_removed": removed},
        {"kind": "node_restart", "target": "mme", "time_s": 100.0, "spread_s": 5.0},
    )
    rate = storm.servers["mme"].rate
    assert rate is not None
    storm.env.run(until=10.0 + 1e-9)
    assert storm.observer.without_service == lost
    assert rate.at(storm.env.now) == 300.0
    storm.env.run(until=99.0)
    assert storm.observer.without_service == (lost if removed else 0)
    storm.env.run(until=120.0)
    assert (storm.observer.without_service, rate.at(storm.env.now)) == (0, 400.0)


def test_priority_passes_beside_the_gate_and_broken_handsets_only_load() -> None:
    classes = [
        {"name": "phone", "size": 300, "ladder": EPS},
        {"name": "police", "size": 200, "ladder": EPS, "priority": True},
        {"name": "meter", "size": 100, "ladder": EPS, "broken": True},
    ]
    storm = network(
        {"gate": {}, "mme": {}, "hss": {}},
        {"kind": "hold", "time_s": 0.0},
        subscribers=classes,
        demand={"rate_per_s": 600.0},
        present={"nop_rate": 50},
    )
    storm.env.run(until=1.5)
    states = {name: {handset.state for handset in members} for name, members in storm.population.classes.items()}
    assert states["police"] == {State.REGISTERED}
    assert states["phone"] == {State.HELD}
    broken = network({"mme": {}, "hss": {}}, subscribers=classes[2:], demand={"rate_per_s": 100.0})
    broken.env.run(until=45.0)
    assert broken.observer.failures >= 400
    assert broken.observer.successes == 0


def test_churn_follows_the_day() -> None:
    profile = Profile([(10.0, 1.0), (20.0, 3.0)])
    assert [profile.at(time_s) for time_s in (0.0, 10.0, 15.0, 20.0, 99.0)] == [1.0, 1.0, 2.0, 3.0, 3.0]
    subscribers = [{"name": "phone", "size": 1000, "registered_share": 1.0, "ladder": EPS, "churn_per_s": 0.01}]
    storm = network({}, subscribers=subscribers, churn_profile={"points": [[0, 0.5], [100, 0.5], [100.001, 2.0]]})
    storm.env.run(until=100.0)
    before = storm.observer.requests.total()
    storm.env.run(until=200.0)
    assert before == pytest.approx(500, abs=110)
    assert storm.observer.requests.total() - before == pytest.approx(2000, abs=225)


@pytest.mark.parametrize(
    ("base", "fields", "counted"),
    [
        (0.49, {}, "broadcasts"),
        (0.50, {}, "sent_to_one"),
        (0.49, {"uptime_s": 3500.0}, "sent_to_one"),
        (0.60, {"broadcast_off_percent": 65.0}, "broadcasts"),
        (0.70, {"broadcast_off_percent": 70.0}, "unknown_dropped"),
    ],
)
def test_published_thresholds_of_broadcasts(base: float, fields: Fields, counted: str) -> None:
    """From 50 % one session manager is asked, from 70 % nobody, and in the first hour nothing is broadcast."""
    imsimgr = {"capacity_per_s": 1e9, "base_share": base, "unknown_per_s": 20.0, **fields}
    storm = network({"imsimgr": imsimgr})
    storm.env.run(until=50.0)
    assert set(storm.observer.noted) == {counted}


def test_sessions_that_end_send_ccr_t_unless_a_lost_node_had_them() -> None:
    topology = {"mme": {"rate_per_s": 1e4}, "gateway": {}, "pcrf": {}, "dra": {}, "resilience": {"failure_domains": 2}}
    flushed = network(topology, {"kind": "gateway_flush", "time_s": 1.0, "share": 0.5, "flush_s": 10.0})
    flushed.env.run(until=6.0)
    assert flushed.observer.noted["dra_offered"] == pytest.approx(250 + 500, abs=2)  # and a CCR-I for each attach
    lost = network(topology, {"kind": "node_loss", "target": "mme", "time_s": 1.0})
    lost.env.run(until=30.0)
    assert lost.observer.noted["dra_offered"] == 500


@pytest.mark.parametrize("released", [False, True])
def test_a_stalled_server_releases_what_has_queued(released: bool) -> None:
    end = [{"kind": "release", "target": "hss", "time_s": 11.0}] if released else []
    hss = {"rate_per_s": 1000.0, "timer_s": 8.0}
    storm = network(
        {"hss": hss},
        {"kind": "stall", "target": "hss", "time_s": 1.0, "until_s": None if released else 11.0},
        *end,
        {"kind": "mass_detach", "time_s": 2.0},
    )
    storm.env.run(until=9.9)
    assert (len(storm.servers["hss"]), storm.observer.successes, storm.observer.failures) == (1000, 0, 0)
    storm.env.run(until=10.9)
    assert storm.observer.failures == 1000
    storm.env.run(until=13.0)
    assert len(storm.servers["hss"]) == 0
    assert storm.observer.successes == 0
