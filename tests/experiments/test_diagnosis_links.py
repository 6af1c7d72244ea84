"""What the diagnosis says of links: pinned ones, and time-outs that acknowledgements may outlast."""

import re
from collections.abc import Mapping
from typing import Any

import pytest

import signalstorm as ss
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.model.scenario_file import load
from tests.experiments.short_storms import short

QUICK = {"rto_min_ms": 500, "rto_initial_ms": 500, "rto_max_ms": 500}
SILENT = [{"kind": "capacity", "target": stp, "time_s": 60.0, "value": 0.0} for stp in ("stp1", "stp2")]


def said(scenario: Scenario, knobs: Mapping[str, Any] | None = None) -> str:
    return " ".join(ss.simulate(scenario, knobs, seeds=1).to_json()["diagnosis"])


def test_a_stalled_peer_is_named_and_no_remedy_is_promised() -> None:
    """Peers that take no data any more; nothing is wrong with the load, so the gate is not named."""
    silent = short(rate_per_s=5000.0).with_fields({"timeline": SILENT})
    text = said(silent)
    assert "stalled peer: stp1/slc1, stp2/slc1 congested" in text
    assert "only if the peer takes data again" in text
    assert "overload" not in text
    assert "RTO-max is 500 ms, the least that is legal, so no lower one can help" in said(silent, QUICK)
    assert "stalled" not in said(short(rate_per_s=5000.0))


def test_the_published_storm_is_said_to_lie_in_closed_windows_and_rto_max() -> None:
    """Its peers take data all along; three links of STP-2 carry a window per RTO-max."""
    text = said(load("incident-2014"))
    assert "closed windows: stp2/slc1, stp2/slc2, stp2/slc3 congested" in text
    assert "a window of 800 messages again at each expiry of T3, by now after RTO-max = 60 s; a lower RTO-max" in text
    assert "stalled peer" not in text
    assert "closed windows" not in said(load("incident-2014"), {"rto_max_ms": 5000})


def test_a_peer_that_stalls_for_a_part_of_the_run_is_named_with_its_times() -> None:
    """Ten minutes of eight hours pin no link for most of the run."""
    timeline = [
        {"kind": "capacity", "target": "stp2", "time_s": 7000.0, "value": 0.0},
        {"kind": "capacity", "target": "stp2", "time_s": 7600.0, "value": 500.0},
    ]
    whole = load("incident-2014-advised")
    text = said(whole.with_fields({"timeline": [*whole.model_dump(mode="json")["timeline"], *timeline]}))
    assert re.search(r"stalled peer: stp2/slc1, .*, stp2/slc4 served nothing from 7000 s to 7600 s", text)
    assert "stp1" not in text
    assert "stalled peer" not in said(whole)


@pytest.mark.parametrize(
    ("knobs", "advice"),
    [
        ({"nop_rate": 500}, "the gate lets 500/s through: lower nop_rate"),
        ({"nop_rate": "off"}, r"the gate is off and lets up to [\d,]+/s through: set nop_rate below what they carry"),
    ],
)
def test_links_that_are_asked_for_more_than_they_carry_are_overloaded(knobs: dict[str, Any], advice: str) -> None:
    """Links of 270 and 259 messages/s carry 132 attaches/s at four each; 364/s come in calm times already."""
    text = said(short(rate_per_s=270.0), {**knobs, **QUICK})
    assert re.search(f"overload: the links carry about 132 attaches/s, 4 messages each, {advice}", text)
    assert "stalled peer" not in text


def test_links_with_room_for_what_the_gate_lets_through_are_not_overloaded() -> None:
    assert "overload: the links" not in said(short(rate_per_s=270.0), {"nop_rate": 100, **QUICK})


def test_no_gate_is_advised_below_the_least_that_is_legal() -> None:
    text = said(short(rate_per_s=90.0), QUICK)
    assert "carry about 44 attaches/s" in text
    assert "no legal nop_rate is below what they carry: add links" in text


def test_a_slow_down_that_pins_links_is_no_reason_to_add_links() -> None:
    """Peers that take 20 messages/s for three minutes of ten; the links stay congested after it."""
    slow = [
        {"kind": "capacity", "target": stp, "time_s": time_s, "value": value}
        for stp in ("stp1", "stp2")
        for time_s, value in ((60.0, 20.0), (240.0, 5000.0))
    ]
    text = said(short(rate_per_s=5000.0).with_fields({"timeline": slow}))
    assert re.search(r"the links carry about 10 attaches/s for (29|30|31)% of the run, 4 messages each", text)
    assert "no legal nop_rate is below what they carry" in text
    assert "add links" not in text


def test_a_time_out_at_the_acknowledgement_delay_is_named() -> None:
    result = ss.simulate(short(rate_per_s=5000.0), {"rto_min_ms": 200}, seeds=1)
    assert any(line.startswith("rto_min_ms: should be above 200 ms") for line in result.to_json()["diagnosis"])


@pytest.mark.parametrize(
    ("knobs", "found_s", "at_most_s"), [({"max_assoc_retx": 3}, 15, 240), ({"max_assoc_retx": 5}, 63, 360)]
)
def test_a_path_that_dies_unnoticed_is_named_with_what_is_lost_until_it_is_found(
    knobs: dict[str, int], found_s: int, at_most_s: int
) -> None:
    """RTO of 1, 2, 4, ... s: the longer an association endures silence, the more is sent in vain.

    Where expiries had backed RTO off to RTO-max before, the path is found dead only after (limit + 1) x RTO-max.
    """
    down = {"kind": "link_down", "target": "stp1", "time_s": 200.0, "noticed": False}
    result = ss.simulate(short(rate_per_s=5000.0).with_fields({"timeline": [down]}), knobs, seeds=1).to_json()
    (line,) = (line for line in result["diagnosis"] if line.startswith("path loss"))
    words = f"stp1/slc1 died unnoticed at 200 s; an association fails only after {found_s} to {at_most_s} s"
    assert words in line
    dead, alive = (link["lost"] for link in result["links"])
    assert int(re.search(r"\((\d+) were discarded\)", line)[1]) == round(dead)  # type: ignore[index]
    assert 0.5 * 364 * 4 * 0.5 * found_s < dead < 2.0 * 364 * 4 * 0.5 * found_s
    assert alive == 0.0


def test_a_link_that_is_known_to_be_down_is_no_path_loss() -> None:
    down = {"kind": "link_down", "target": "stp1", "time_s": 200.0}
    result = ss.simulate(short(rate_per_s=5000.0).with_fields({"timeline": [down]}), seeds=1)
    assert "path loss" not in " ".join(result.to_json()["diagnosis"])


@pytest.mark.parametrize(
    ("events", "words"),
    [
        (
            [("link_down", "*", 100.0)],
            "all 2 down from 100 s to the end, as the timeline has it; nothing reaches the HLR",
        ),
        (
            [("link_down", "stp1", 100.0), ("link_down", "*", 200.0), ("link_up", "stp1", 300.0)],
            "stp1/slc1 down from 100 s to 300 s, as the timeline has it",
        ),
        ([("link_down", "stp2", 100.0), ("link_reset", "*", 150.0)], "stp2/slc1 down from 100 s to 150 s, "),
    ],
)
def test_links_out_of_service_are_named_with_since_when(events: list[tuple[str, str, float]], words: str) -> None:
    timeline = [{"kind": kind, "target": target, "time_s": time_s} for kind, target, time_s in events]
    assert f"links out of service: {words}" in said(short(rate_per_s=5000.0).with_fields({"timeline": timeline}))


def test_a_link_in_service_is_not_said_to_be_out() -> None:
    silent = [{"kind": "link_down", "target": "stp1", "time_s": 200.0, "noticed": False}]
    at_once = [{"kind": kind, "target": "stp1", "time_s": 200.0} for kind in ("link_down", "link_up")]
    for timeline in ([], [{"kind": "link_reset", "target": "*", "time_s": 200.0}], silent, at_once):
        text = said(short(rate_per_s=5000.0).with_fields({"timeline": timeline}))
        assert "out of service" not in text
