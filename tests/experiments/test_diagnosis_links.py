"""What the diagnosis says of links: pinned ones, and time-outs that acknowledgements may outlast."""

import re

import pytest

import signalstorm as ss
from tests.experiments.short_storms import short


def test_a_stalled_peer_is_named_and_no_remedy_is_promised() -> None:
    text = " ".join(ss.simulate(short(rate_per_s=20.0), seeds=1).to_json()["diagnosis"])
    assert "stalled peer: stp1/slc1, stp2/slc1 congested" in text
    assert "only if the peer takes data again" in text
    assert "stalled" not in " ".join(ss.simulate(short(rate_per_s=5000.0), seeds=1).to_json()["diagnosis"])


def test_a_time_out_at_the_acknowledgement_delay_is_named() -> None:
    result = ss.simulate(short(rate_per_s=5000.0), {"rto_min_ms": 200}, seeds=1)
    assert any(line.startswith("rto_min_ms: should be above 200 ms") for line in result.to_json()["diagnosis"])


@pytest.mark.parametrize(("knobs", "found_s"), [({"max_assoc_retx": 3}, 15), ({"max_assoc_retx": 5}, 63)])
def test_a_path_that_dies_unnoticed_is_named_with_what_is_lost_until_it_is_found(
    knobs: dict[str, int], found_s: int
) -> None:
    """RTO of 1, 2, 4, ... s: the longer an association endures silence, the more is sent in vain."""
    down = {"kind": "link_down", "target": "stp1", "time_s": 200.0, "noticed": False}
    result = ss.simulate(short(rate_per_s=5000.0).with_fields({"timeline": [down]}), knobs, seeds=1).to_json()
    (said,) = (line for line in result["diagnosis"] if line.startswith("path loss"))
    assert f"stp1/slc1 died unnoticed at 200 s; an association fails only after {found_s} s" in said
    dead, alive = (link["lost"] for link in result["links"])
    assert int(re.search(r"\((\d+) were discarded\)", said)[1]) == round(dead)  # type: ignore[index]
    assert 0.5 * 364 * 4 * 0.5 * found_s < dead < 2.0 * 364 * 4 * 0.5 * found_s
    assert alive == 0.0


def test_a_link_that_is_known_to_be_down_is_no_path_loss() -> None:
    down = {"kind": "link_down", "target": "stp1", "time_s": 200.0}
    result = ss.simulate(short(rate_per_s=5000.0).with_fields({"timeline": [down]}), seeds=1)
    assert "path loss" not in " ".join(result.to_json()["diagnosis"])
