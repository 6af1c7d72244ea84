"""`incident-2014` against what was published of 21 November 2014, within this project's tolerances."""

from functools import lru_cache

import numpy as np
import pytest

from signalstorm.envs.model.kernels import layout
from tests.envs.model.incident import Story, variant

QUICK = 4
SEEDS = pytest.mark.parametrize("seeds", [QUICK, pytest.param(20, marks=pytest.mark.long)])
BOUNCE = [{"kind": "link_reset", "target": f"stp2/slc{number}", "time_s": 13320.0} for number in (1, 2, 3)]
"""The three pinned links are restarted at 10:07."""


@lru_cache(maxsize=2)
def untouched(seeds: int) -> Story:
    return Story(variant("incident-2014", events=()), seeds)


@SEEDS
def test_the_first_alarm(seeds: int) -> None:
    """(a) 08:13 on STP-2, 15 minutes either way."""
    story = untouched(seeds)
    assert (np.abs(story.first_alarm_s() - story.seconds("08:13")) <= 900.0).all()
    assert all(story.first_alarm_is_on_stp2())


@SEEDS
def test_without_the_reset_nothing_happens(seeds: int) -> None:
    """(a) No alarm in at least 95 % of the storms, all else kept."""
    story = Story(variant("incident-2014", events=None), seeds)
    assert np.isnan(story.first_alarm_s()).mean() >= 0.95
    assert not story.stormed().any()


@SEEDS
def test_amplification(seeds: int) -> None:
    """(b) 15 to 45 times the calm rate within three hours; 12,164/s from 10:00 to 11:00, a quarter either way."""
    story = untouched(seeds)
    assert ((story.amplification() >= 15.0) & (story.amplification() <= 45.0)).all()
    assert story.attempts_per_s("10:00", "11:00") == pytest.approx(12164.0, rel=0.25)
    assert story.attempts_per_s("07:00", "08:00") == pytest.approx(364.0, rel=0.02)


@SEEDS
def test_three_links_stay_congested_and_the_fourth_carries_the_rest(seeds: int) -> None:
    """(c) 70 to 90 % of STP-2's requests, 0.15 to 0.30 answers per request there, 0.5 to 0.7 over the STP."""
    story = untouched(seeds)
    pinned = story.congested_share("08:30", "14:25") > 0.99
    assert (pinned.sum(axis=0) == 3).all()
    share, answered = story.survivor("08:30", "09:30")
    assert ((share >= 0.7) & (share <= 0.9)).all()
    assert ((answered >= 0.15) & (answered <= 0.3)).all()
    answers = story.answers_per_request("08:30", "09:00")
    assert ((answers >= 0.5) & (answers <= 0.7)).all()


@SEEDS
def test_detaches_and_the_imsi_manager(seeds: int) -> None:
    """(d) Five times the network's detaches of the half-hour before the first alarm; "warn" at 08:48, half an hour."""
    story = untouched(seeds)
    before = story.gained(layout.K_DETACH_NETWORK, "07:30", "08:00")
    during = story.gained(layout.K_DETACH_NETWORK, "08:30", "09:00")
    assert (during >= 5.0 * np.maximum(before, 7400.0)).all()  # published are 7,400 in a calm half-hour
    assert (np.abs(story.warn_s() - story.seconds("08:48")) <= 1800.0).all()


@SEEDS
def test_it_does_not_end_by_itself(seeds: int) -> None:
    """(e) Not over by 14:25, eight hours after the reset."""
    story = untouched(seeds)
    assert story.stormed().all()
    assert np.isnan(story.over_s()).all()


@SEEDS
def test_a_bounce_of_the_pinned_links_ends_it(seeds: int) -> None:
    """(e) At 10:07; over between 11:00 and 12:30."""
    story = Story(variant("incident-2014", events=BOUNCE), seeds)
    over = story.over_s()
    assert ((over >= story.seconds("11:00")) & (over <= story.seconds("12:30"))).all()


@SEEDS
def test_as_run(seeds: int) -> None:
    """The three restarts of that day, the last at 12:00: over by 12:30, and nothing congests again."""
    story = Story(variant("incident-2014-as-run", events=()), seeds)
    over = story.over_s()
    assert ((over >= story.seconds("10:07")) & (over <= story.seconds("12:30"))).all()


@SEEDS
def test_as_advised_it_never_storms(seeds: int) -> None:
    """(f) The gate at 1,000/s, 500 messages/s per link, RTO 500 ms; or the default RTO with RTO-max 5 s."""
    for knobs in ({}, {"rto_min_ms": 1000, "rto_initial_ms": 3000, "rto_max_ms": 5000}):
        story = Story(variant("incident-2014-advised", events=()), seeds, knobs)
        assert not story.stormed().any()
        assert np.isnan(story.first_alarm_s()).all()


def test_a_higher_gate_rate_alone_makes_it_worse() -> None:
    """1,000 attaches/s need 500 messages/s on each link; links of 270 carry less than before."""
    story = Story(variant("incident-2014", events=()), 1, {"nop_rate": 1000})
    assert np.isnan(story.over_s()).all()
    assert (story.lost_hours() > 1.2 * untouched(QUICK).lost_hours()[:1]).all()


def test_wider_links_alone_prevent_it() -> None:
    story = Story(variant("incident-2014", events=(), topology__links__rate_per_s=500.0), 1)
    assert not story.stormed().any()
    assert np.isnan(story.first_alarm_s()).all()


@pytest.mark.parametrize("rto_max_ms", [500, 5000])
def test_a_low_rto_max_alone_ends_it(rto_max_ms: int) -> None:
    """Pinned links come back by themselves, so the storm ends without a restart."""
    initial = min(rto_max_ms, 3000)
    knobs = {"rto_min_ms": min(rto_max_ms, 1000), "rto_initial_ms": initial, "rto_max_ms": rto_max_ms}
    story = Story(variant("incident-2014", events=()), 1, knobs)
    assert (story.over_s() < story.seconds("11:00")).all()


def test_five_minutes_without_any_link_end_once_they_are_back() -> None:
    """Messages that no link takes time out, so their owners try again instead of waiting for ever."""
    outage = [
        {"kind": "link_down", "target": "*", "time_s": 6000.0},
        {"kind": "link_up", "target": "*", "time_s": 6300.0},
    ]
    story = Story(variant("incident-2014", events=outage, topology__links__rate_per_s=500.0), 1, {"nop_rate": 900})
    assert story.attempts_per_s("13:25", "14:25") == pytest.approx(364.0, rel=0.02)
    assert (story.over_s() < story.seconds("10:00")).all()
