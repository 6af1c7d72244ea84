"""What the diagnosis says of links: pinned ones, and time-outs that acknowledgements may outlast."""

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
