"""Time series of links and of the IMSI manager, which the kernel's records leave out."""

import dataclasses

import numpy as np
import pytest

import signalstorm as ss
from tests.experiments.short_storms import short


@pytest.mark.parametrize(("rate_per_s", "on"), [(20.0, 1.0), (5000.0, 0.0)])
def test_series_say_when_links_are_congested_and_change_nothing(rate_per_s: float, on: float) -> None:
    scenario = short(rate_per_s=rate_per_s)
    recorded = ss.simulate(scenario, seeds=2, record=True)
    assert recorded.to_json() == ss.simulate(scenario, seeds=2).to_json()
    assert recorded.series is not None
    for name in ("stp1/slc1", "stp2/slc1"):
        unit, congested = recorded.series.values[name, "congested"]
        assert unit == "on"
        assert np.all(congested[-1] == on)
        seconds = congested.sum(axis=0) * 60.0
        np.testing.assert_allclose(seconds, recorded.outcomes.link_congested_s[name], atol=60.0)


def test_series_hold_the_cpu_of_the_imsi_manager() -> None:
    recorded = ss.simulate(short(), seeds=2, record=True)
    assert recorded.series is not None
    unit, cpu = recorded.series.values["imsimgr", "CPU"]
    assert unit == "share"
    assert cpu.shape == (len(recorded.series.time_s), 2)
    assert np.all(cpu.max(axis=0) <= recorded.outcomes.imsimgr_cpu_peak)
    assert np.all(cpu.max(axis=0) > 0)


def test_a_last_interval_that_is_cut_short_is_run_as_well() -> None:
    scenario = short().with_fields({"horizon_s": 630.0})
    recorded, plain = ss.simulate(scenario, seeds=1, record=True), ss.simulate(scenario, seeds=1)
    assert recorded.series is not None
    assert len(recorded.series.time_s) == 10
    for field in dataclasses.fields(plain.outcomes):
        np.testing.assert_equal(getattr(recorded.outcomes, field.name), getattr(plain.outcomes, field.name))


def test_series_hold_what_links_send_and_what_waits() -> None:
    recorded = ss.simulate(short(rate_per_s=20.0), seeds=2, record=True)
    assert recorded.series is not None
    for name in ("stp1/slc1", "stp2/slc1"):
        for quantity, total in (("tx rate", recorded.outcomes.link_tx), ("rx rate", recorded.outcomes.link_rx)):
            unit, rate = recorded.series.values[name, quantity]
            assert unit == "1/s"
            np.testing.assert_allclose(rate.sum(axis=0) * 60.0, total[name], rtol=1e-9)
        unit, waiting = recorded.series.values[name, "waiting"]
        assert unit == "messages"
        assert np.all(waiting >= 0)
        assert waiting.max() > 0


def test_detaches_add_up() -> None:
    recorded = ss.simulate(short(rate_per_s=20.0), seeds=2, record=True)
    assert recorded.series is not None
    for element, total in (
        ("network", recorded.outcomes.detaches_network),
        ("handsets", recorded.outcomes.detaches_subscriber),
    ):
        unit, rate = recorded.series.values[element, "detach rate"]
        assert unit == "1/s"
        np.testing.assert_allclose(rate.sum(axis=0) * 60.0, total, rtol=1e-9)


def test_rows_hold_alarms_by_their_edges_and_fewer_points_of_links() -> None:
    scenario = short(rate_per_s=20.0).with_fields({"control_interval_s": 2.0})
    recorded = ss.simulate(scenario, seeds=2, record=True)
    rows = list(recorded.series_rows())
    edges = [row for row in rows if row[3] == "congestion alarm"]
    assert [row[5] for row in edges if row[0] == 0] == [
        up
        for alarm in recorded.alarms
        if alarm["seed"] == 0
        for up in ([1.0] if alarm["cleared_s"] is None else [1.0, 0.0])
    ]
    sent = [(time, value) for seed, time, element, quantity, _, value in rows
            if (seed, element, quantity) == (1, "stp1/slc1", "tx rate")]  # fmt: skip
    assert [time for time, _ in sent] == [6.0 * i for i in range(1, 101)]  # 300 records, three at a time
    assert sum(value for _, value in sent) * 6.0 == pytest.approx(recorded.outcomes.link_tx["stp1/slc1"][1])
