"""Signalling links: closed forms of windows and time-outs, dead links, load sharing, discarding, answers."""

import numpy as np
import pytest

from signalstorm.envs.model.kernels import layout
from signalstorm.envs.model.sctp import path_death_s
from tests.envs.model.kernels.linked import DT, WIDE, Watch, event, network, one_link, waiting


@pytest.mark.parametrize(
    ("rto_max_ms", "window"), [(60000, 500.0), (60000, 2000.0), (5000, 500.0), (5000, 200.0), (20000, 1000.0)]
)
def test_a_pinned_link_carries_a_window_per_rto_max(rto_max_ms: int, window: float) -> None:
    """Without window updates only an expiry finds out that the peer takes data again.

    What the STP takes in the step of the expiry itself comes on top: (window + rate * dt) / RTO-max.
    """
    rate, rto_s = 200.0, rto_max_ms / 1000.0
    links = one_link(rate_per_s=rate, window=window, rto_initial_ms=1000, rto_max_ms=rto_max_ms)
    watch = Watch(network(links, load_per_s=2000.0, horizon_s=400.0 + 5 * rto_s))
    served = watch.link(layout.L_SERVED)
    since, until = round(390 / DT), round((390 + 5 * rto_s) / DT)
    carried = (served[until] - served[since]) / (5 * rto_s)
    assert carried == pytest.approx(min(rate, (window + rate * DT) / rto_s), rel=1e-9)
    assert watch.link(layout.L_CONGESTED)[since:].all()


def test_a_window_that_lasts_longer_than_rto_is_served_at_the_stps_rate() -> None:
    links = one_link(rate_per_s=200.0, window=500.0, rto_min_ms=500, rto_initial_ms=500, rto_max_ms=500)
    watch = Watch(network(links, load_per_s=2000.0))
    served = watch.link(layout.L_SERVED)
    since = round(300 / DT)
    assert (served[-1] - served[since]) / ((len(served) - 1 - since) * DT) == pytest.approx(200.0, rel=0.01)


def test_window_updates_reopen_without_an_expiry() -> None:
    links = one_link(rate_per_s=200.0, window=500.0, window_updates=["stp1/slc1"])
    watch = Watch(network(links, load_per_s=2000.0))
    served = watch.link(layout.L_SERVED)
    since = round(300 / DT)
    assert (served[-1] - served[since]) / ((len(served) - 1 - since) * DT) == pytest.approx(200.0, rel=0.01)


def test_rto_doubles_up_to_its_limit() -> None:
    """1, 2, 4, ..., 60 s: seven values until the limit on a link that dies while it is in use."""
    scenario = network(one_link(**WIDE), load_per_s=400.0, timeline=[event("link_down", 50.0, noticed=False)])
    rto = Watch(scenario).link(layout.L_RTO) * DT
    after = rto[round(50 / DT) :]
    assert list(dict.fromkeys(after[:-1]))[:7] == [1, 2, 4, 8, 16, 32, 60]


@pytest.mark.parametrize(
    ("low", "high", "retransmissions"),
    [(1000, 60000, 5), (1000, 5000, 5), (500, 500, 5), (1000, 5000, 10), (1000, 60000, 10)],
)
def test_a_link_that_dies_unnoticed_is_found_after_path_death(low: int, high: int, retransmissions: int) -> None:
    scenario = network(
        one_link(**WIDE),
        load_per_s=400.0,
        timeline=[event("link_down", 50.0, noticed=False)],
        horizon_s=450.0,
    )
    knobs = {"rto_min_ms": low, "rto_initial_ms": low, "rto_max_ms": high, "max_assoc_retx": retransmissions}
    down = Watch(scenario, knobs).link(layout.L_DOWN)
    found = float(np.flatnonzero(down == 1.0)[0]) * DT
    assert found - 50.0 == pytest.approx(path_death_s(low, high, retransmissions), abs=2 * DT)


def test_a_dead_link_loses_its_part_until_it_is_found_out() -> None:
    """An eighth of the first questions is lost until then; afterwards the others carry everything."""
    scenario = network(WIDE, load_per_s=800.0, timeline=[event("link_down", 50.0, noticed=False)], horizon_s=200.0)
    knobs = {"rto_min_ms": 500, "rto_initial_ms": 500, "rto_max_ms": 500, "max_assoc_retx": 10}
    watch = Watch(scenario, knobs)
    death = 50.0 + path_death_s(500, 500, 10)
    served = watch.rows[:, :, layout.L_SERVED, 0]
    a, z = round(50.5 / DT), round((death - 0.5) / DT)
    gained = served[z] - served[a]
    assert gained[0] == 0.0
    assert waiting(watch.rows)[z, 0, 0] > 0.9 * gained[1]
    end = served[-1] - served[round((death + 5.0) / DT)]
    assert end[0] == 0.0
    np.testing.assert_allclose(end[1:4], end[1])
    np.testing.assert_allclose(end[4:], end[4])
    assert end[1:4].sum() == pytest.approx(end[4:].sum(), rel=1e-6)  # the STPs share equally, whatever they have left
    lost = watch.gained(layout.L_SUM_LOST)
    assert lost[0] > 0.0
    assert (lost[1:] == 0.0).all()


def test_a_link_that_is_known_to_be_down_loses_nothing_new() -> None:
    scenario = network(
        WIDE, load_per_s=800.0, timeline=[event("link_down", 50.0), event("link_up", 100.0)], horizon_s=200.0
    )
    watch = Watch(scenario)
    served = watch.rows[:, :, layout.L_SERVED, 0]
    between = served[round(99 / DT)] - served[round(51 / DT)]
    assert between[0] == 0.0
    after = served[-1] - served[round(101 / DT)]
    np.testing.assert_allclose(after, after[0], rtol=1e-6)
    assert watch.counters[-1, layout.K_REFUSED_NETWORK] < 0.25 * 800.0 / 8.0 * 2.0


def test_an_stp_without_links_leaves_its_part_to_the_other() -> None:
    scenario = network(WIDE, load_per_s=800.0, timeline=[event("link_down", 50.0, "stp1")], horizon_s=120.0)
    watch = Watch(scenario)
    sent = watch.rows[-1, :, layout.L_SERVED, 0] - watch.rows[round(60 / DT), :, layout.L_SERVED, 0]
    assert (sent[:4] == 0.0).all()
    np.testing.assert_allclose(sent[4:], sent[4:].mean())
    assert sent.sum() / 4 / (120.0 - 60.0) == pytest.approx(200.0, rel=0.02)


def test_a_reset_empties_the_queue_and_starts_at_rto_initial() -> None:
    links = one_link(rate_per_s=50.0, window=200.0)
    scenario = network(links, load_per_s=400.0, timeline=[event("link_reset", 300.0)], horizon_s=301.0)
    watch = Watch(scenario)
    before, after = waiting(watch.rows)[round(300 / DT) - 1, 0, 0], waiting(watch.rows)[round(300 / DT), 0, 0]
    assert before > 1000.0
    assert after == 0.0
    assert watch.gained(layout.L_SUM_LOST)[0] >= before
    assert watch.link(layout.L_RTO)[round(300 / DT)] * DT == 3.0


def test_new_messages_skip_congested_links() -> None:
    """The first link is narrow: once it is congested its STP's part goes to the other three."""
    scenario = network(
        {"rate_per_s": 300.0, "window": 400.0, "start": 1000, "stop": 500, "queue": 8000},
        load_per_s=800.0,
        timeline=[event("capacity", 0.0, "stp1/slc1", value=5.0)],
        horizon_s=300.0,
    )
    watch = Watch(scenario)
    congested = np.flatnonzero(watch.link(layout.L_CONGESTED))
    assert congested.size > 0
    step = int(congested[0]) + 1
    admitted = np.diff(watch.rows[step - 1 : step + 1, :, layout.L_ADMITTED, 0], axis=0)[0]
    assert admitted[0] == 0.0
    np.testing.assert_allclose(admitted[1:4], admitted[1])
    assert admitted[:4].sum() == pytest.approx(admitted[4:].sum(), rel=1e-9)


def test_with_every_link_congested_all_take_new_messages() -> None:
    links = {"rate_per_s": 5.0, "window": 10.0, "start": 100, "stop": 50, "queue": 1e6}
    watch = Watch(network(links, load_per_s=800.0, horizon_s=100.0))
    assert (watch.rows[-1, :, layout.L_CONGESTED, 0] == 1.0).all()
    admitted = watch.rows[-1, :, layout.L_ADMITTED, 0] - watch.rows[-2, :, layout.L_ADMITTED, 0]
    assert (admitted > 0.0).all()
    np.testing.assert_allclose(admitted, admitted[0])


def test_beyond_the_queue_messages_are_discarded() -> None:
    """A peer that takes nothing, window 0 as it were: window and queue fill, and the association stays up."""
    links = one_link(rate_per_s=1e-6, window=100.0, queue=2000, start=2000, stop=1000)
    watch = Watch(network(links, load_per_s=2000.0, horizon_s=600.0))
    held = watch.link(layout.L_ADMITTED) - watch.link(layout.L_SERVED)
    assert held.max() == pytest.approx(2100.0, abs=1e-6)
    assert watch.gained(layout.L_SUM_LOST)[0] > 0.0
    assert watch.link(layout.L_DOWN)[-1] == 0.0
    assert watch.link(layout.L_CONGESTED)[-1] == 1.0


def test_answers_return_over_all_links_of_an_stp_alike() -> None:
    """One link carries all requests of its STP and a quarter of the answers: tx to rx four to one."""
    pinned = [event("capacity", 0.0, f"stp1/slc{number}", value=0.0) for number in (2, 3, 4)]
    links = {"rate_per_s": 1e5, "window": 100.0, "start": 100.0, "stop": 50.0, "queue": 200.0}
    watch = Watch(network(links, load_per_s=800.0, timeline=pinned, horizon_s=200.0))
    first = watch.rows[round(100 / DT)]
    received, sent = (watch.rows[-1, :, row, 0] - first[:, row, 0] for row in (layout.L_SUM_RX, layout.L_SUM_TX))
    np.testing.assert_allclose(received[:4], received[0])
    assert sent[0] / received[0] == pytest.approx(4.0, rel=0.02)
    np.testing.assert_allclose(sent[4:], sent[4])
    assert sent[4] / received[4] == pytest.approx(1.0, rel=0.02)


@pytest.mark.parametrize("noticed", [True, False])
def test_a_link_that_is_down_receives_nothing(noticed: bool) -> None:
    """What is left of the STP receives all its answers."""
    down = [event("link_down", 50.0, f"stp1/slc{number}", noticed=noticed) for number in (2, 3)]
    watch = Watch(network(WIDE, load_per_s=800.0, timeline=down, horizon_s=150.0))
    before, after = watch.rows[round(50 / DT)], watch.rows[-1]
    received, served = (after[:, row, 0] - before[:, row, 0] for row in (layout.L_SUM_RX, layout.L_SERVED))
    np.testing.assert_allclose(received[[1, 2]], 0.0, atol=1e-9)
    np.testing.assert_allclose(received[[0, 3]], served[:4].sum() / 2, rtol=1e-6)


def test_a_link_out_of_service_raises_an_alarm_of_its_own() -> None:
    """At once where it is noticed, else when the association fails; cleared when it is back; congestion is another."""
    timeline = [event("link_down", 20.0), event("link_up", 60.0)]
    log = Watch(network(WIDE, load_per_s=800.0, timeline=timeline, horizon_s=100.0)).batch.alarms()[0]
    assert [(at, element - layout.ALARM_DOWN, up) for at, element, up in log] == [(20.0, 0, True), (60.0, 0, False)]
    unnoticed = [event("link_down", 20.0, noticed=False)]
    quick = {"rto_min_ms": 500, "rto_initial_ms": 500, "rto_max_ms": 500, "max_assoc_retx": 3}
    watch = Watch(network(WIDE, load_per_s=800.0, timeline=unnoticed, horizon_s=100.0), quick)
    ((at, _, up),) = [row for row in watch.batch.alarms()[0] if row[1] >= layout.ALARM_DOWN]
    assert up
    assert at == pytest.approx(20.0 + 4 * 0.5, abs=2 * DT + 0.5)


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_answers_over_congested_links_are_lost(share: float) -> None:
    """A congested link receives the rest of its part, and those whose answers are lost fail."""
    links = {"rate_per_s": 300.0, "window": 400.0, "start": 1000, "stop": 500, "answer_loss_share": share}
    timeline = [event("capacity", 0.0, "stp1/slc1", value=0.0)]
    watch = Watch(network(links, load_per_s=800.0, timeline=timeline, horizon_s=300.0))
    rows = watch.rows[round(200 / DT) :]
    received = rows[-1, :, layout.L_SUM_RX, 0] - rows[0, :, layout.L_SUM_RX, 0]
    assert (rows[:, 0, layout.L_CONGESTED, 0] == 1.0).all()
    assert received[0] == pytest.approx((1.0 - share) * received[1], rel=1e-6, abs=1e-6)
    failed = watch.counters[:, layout.K_REFUSED_NETWORK]
    assert (failed[-1] - failed[round(200 / DT)] > 10.0) == (share > 0.0)


def test_one_alarm_while_a_link_flaps() -> None:
    """A link that is free for less than ten seconds stays one alarm; afterwards the alarm is cleared."""
    links = one_link(rate_per_s=200.0, window=400.0, window_updates=["stp1/slc1"])
    scenario = network(
        links, load_per_s=300.0, timeline=[event("capacity", 200.0, "stp1/slc1", value=1000.0)], horizon_s=300.0
    )
    watch = Watch(scenario)
    assert (np.diff(watch.link(layout.L_CONGESTED)) != 0).sum() > 4
    ((set_s, element, up), (cleared_s, _, still)) = watch.batch.alarms()[0]
    assert (element, bool(up), bool(still)) == (0, True, False)
    last = float(np.flatnonzero(watch.link(layout.L_CONGESTED))[-1]) * DT
    assert set_s == float(np.flatnonzero(watch.link(layout.L_CONGESTED))[0]) * DT
    assert cleared_s == pytest.approx(last + 10.0, abs=DT)
