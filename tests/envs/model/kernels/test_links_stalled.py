"""A peer that takes no data for ten minutes, and a path that dies unnoticed."""

import numpy as np
import pytest

import signalstorm as ss
from signalstorm.envs.model.kernels import layout
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.model.sctp import path_death_s
from tests.envs.model.kernels.linked import DT, Fields, Watch, event, network, one_link, waiting

SINCE_S, UNTIL_S = 100.0, 700.0
RATE = 200.0
LINK = one_link(rate_per_s=RATE, window=400.0)
QUICK: Fields = {"rto_min_ms": 500, "rto_initial_ms": 500, "rto_max_ms": 500}


def stalled() -> Scenario:
    """One link at four fifths of its rate, whose peer keeps its window at 0 from 100 s to 700 s."""
    timeline = [event("capacity", SINCE_S, value=0.0), event("capacity", UNTIL_S, value=RATE)]
    return network(LINK, load_per_s=160.0, timeline=timeline, horizon_s=900.0)


@pytest.fixture(scope="module")
def watch() -> Watch:
    return Watch(stalled())


def test_the_association_stays_up(watch: Watch) -> None:
    """Acknowledged probes count as no failure, however many (RFC 9260 6.1)."""
    assert (watch.link(layout.L_DOWN) == 0.0).all()
    during = watch.link(layout.L_RTO)[round(300 / DT) : round(UNTIL_S / DT)] * DT
    assert during.max() == 60.0


def test_the_queue_fills_to_its_limit_and_the_rest_is_discarded(watch: Watch) -> None:
    at_end = round(UNTIL_S / DT) - 1
    assert waiting(watch.rows)[at_end, 0, 0] == pytest.approx(8000.0)
    assert watch.link(layout.L_PEER)[at_end] == pytest.approx(400.0)
    served = watch.link(layout.L_SERVED)
    assert served[at_end] == served[round(SINCE_S / DT)]
    lost = watch.link(layout.L_SUM_LOST)
    full = int(np.flatnonzero(lost > 0.0)[0])
    assert (np.diff(lost[full:at_end]) > 0.0).all()
    assert watch.link(layout.L_CONGESTED)[round(200 / DT) : at_end].all()


def test_a_low_rto_max_changes_nothing_while_the_peer_takes_nothing(watch: Watch) -> None:
    quick = Watch(stalled(), QUICK)
    at_end = round(UNTIL_S / DT) - 1
    for row in (layout.L_SERVED, layout.L_SUM_LOST, layout.L_DOWN):
        assert quick.link(row)[at_end] == pytest.approx(watch.link(row)[at_end], rel=1e-9)
    afterwards = [each.link(layout.L_SERVED)[-1] - each.link(layout.L_SERVED)[at_end] for each in (quick, watch)]
    assert afterwards[0] == pytest.approx(RATE * 200.0, rel=0.02)
    assert afterwards[1] < 0.1 * afterwards[0]


@pytest.mark.parametrize(
    ("knobs", "said"),
    [
        ({}, "a lower RTO-max helps only if the peer takes data again"),
        (QUICK, "RTO-max is 500 ms, the least that is legal, so no lower one can help"),
    ],
)
def test_the_report_names_the_peer_and_promises_nothing(knobs: Fields, said: str) -> None:
    text = " ".join(ss.simulate(stalled(), knobs, seeds=1).to_json()["diagnosis"])
    assert "stalled peer: stp1/slc1 congested" in text
    assert said in text


@pytest.mark.parametrize(("low", "high", "retransmissions"), [(1000, 60000, 5), (500, 500, 10)])
def test_half_is_lost_until_one_of_two_links_is_found_dead(low: int, high: int, retransmissions: int) -> None:
    """A path that dies unnoticed takes its half until expiries in a row exceed the limit; then the other takes all."""
    links = {"stps": 1, "links_per_stp": 2, "rate_per_s": 1e5, "window": 1e6}
    dead = network(links, load_per_s=80.0, timeline=[event("link_down", 50.0, noticed=False)], horizon_s=160.0)
    knobs = {"rto_min_ms": low, "rto_initial_ms": low, "rto_max_ms": high, "max_assoc_retx": retransmissions}
    watch = Watch(dead, knobs)
    death_s = 50.0 + path_death_s(low, high, retransmissions)
    taken = watch.rows[:, :, layout.L_ADMITTED, 0]
    since, until = round(50.5 / DT), round((death_s - 0.5) / DT)
    before = taken[until] - taken[since]
    assert before[0] == pytest.approx(before[1], rel=1e-9)
    assert watch.link(layout.L_SERVED)[until] == watch.link(layout.L_SERVED)[since]
    after = taken[-1] - taken[round((death_s + 0.5) / DT)]
    assert after[0] == 0.0
    assert after[1] > 0.0
    since_death = taken[-1, 0] - taken[round(50.0 / DT) - 2, 0]  # what came in the step before still waited
    assert watch.gained(layout.L_SUM_LOST)[0] == pytest.approx(since_death, rel=1e-6)
