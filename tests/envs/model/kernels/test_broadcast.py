"""The IMSI manager and the HLR's requests about unknown subscribers: the published thresholds, exactly."""

from typing import Any

import numpy as np
import pytest

from signalstorm.envs.model.batch import Batch
from signalstorm.envs.model.kernels import layout
from signalstorm.envs.model.parameters import setting_matrix
from tests.envs.model.kernels.cores import after, core, course, gain, level, network
from tests.envs.model.kernels.worlds import fixed, handsets, world

TINY = 1e-6
"""Requests/s that leave the utilisation as it is."""


def manager(base_share: float, unknown_per_s: float = TINY, timeline: Any = (), **fields: Any) -> Any:
    """A manager at a steady utilisation, which its first seconds take to settle."""
    data = {"capacity_per_s": 1000.0, "base_share": base_share, "smooth_s": 0.05, "unknown_per_s": unknown_per_s}
    return network({"imsimgr": {**data, **fields}}, timeline=list(timeline), horizon_s=5000.0)


@pytest.mark.parametrize(
    ("base", "off", "counts"),
    [
        (0.49, 50.0, core.N_BROADCASTS),
        (0.50, 50.0, core.N_SINGLE),
        (0.64, 65.0, core.N_BROADCASTS),
        (0.65, 65.0, core.N_SINGLE),
        (0.69, 50.0, core.N_SINGLE),
        (0.70, 70.0, core.N_UNKNOWN_DROPPED),
        (0.10, None, core.N_SINGLE),
    ],
)
def test_broadcast_to_one_or_dropped_by_the_utilisation(base: float, off: float | None, counts: int) -> None:
    run = course(manager(base, broadcast_off_percent=off), 10.0)
    for row in (core.N_BROADCASTS, core.N_SINGLE, core.N_UNKNOWN_DROPPED):
        grown = after(run, row, 10.0) - after(run, row, 5.0)
        assert grown == pytest.approx(5.0 * TINY if row == counts else 0.0)


def test_nothing_is_broadcast_in_the_first_hour_after_a_start() -> None:
    run = course(manager(0.1, uptime_s=0.0), 4000.0)
    on = np.flatnonzero(level(run, core.N_BROADCAST_ON))
    assert on[0] * 0.05 == pytest.approx(3600.0)
    restarted = course(manager(0.1, timeline=[{"kind": "imsimgr_reboot", "time_s": 100.0}]), 4000.0)
    off = np.flatnonzero(level(restarted, core.N_BROADCAST_ON) == 0.0) * 0.05
    assert (off[0], off[-1]) == (pytest.approx(100.0), pytest.approx(3699.95))


def test_a_broadcast_costs_one_unit_per_session_manager_and_one_request_to_one_costs_one() -> None:
    run = course(manager(0.1, unknown_per_s=3.0, session_managers=100, broadcast_cost=1.0), 10.0)
    utilisation = run.batch._take(run.batch._rows(int(run.batch.plan.table[layout.P_IMSIMGR]), layout.I_COUNT))
    assert utilisation[layout.I_UTILISATION, 0] == pytest.approx(0.4)
    run = course(manager(0.1, unknown_per_s=50.0, broadcast_off_percent=None), 10.0)
    utilisation = run.batch._take(run.batch._rows(int(run.batch.plan.table[layout.P_IMSIMGR]), layout.I_COUNT))
    assert utilisation[layout.I_UTILISATION, 0] == pytest.approx(0.15)


def test_broadcasts_cost_attaches_and_none_costs_nothing() -> None:
    """40/s to 100 session managers are 4,000 units of 1,000; what exceeds them is lost before the gate."""
    crowd = {"subscribers": handsets(2000, fixed(5.0, 15.0)), "demand": {"rate_per_s": 100.0}}
    lost = {}
    for percent in (70.0, 50.0, None):
        data = {"capacity_per_s": 1000.0, "unknown_per_s": 40.0, "broadcast_off_percent": percent}
        run = course(network({"imsimgr": data}, **crowd), 40.0)
        lost[percent] = float(run.batch.counters()[layout.K_OVERLOAD, 0])
    assert lost[70.0] > lost[50.0] > 1000.0
    assert lost[None] == 0.0


def test_lumps_of_work_lose_no_request_while_the_processor_keeps_up() -> None:
    """A broadcast is the work of a whole step; at a mean load of five eighths all requests find their time."""
    imsimgr = {
        "capacity_per_s": 200.0,
        "base_share": 0.1,
        "session_managers": 50,
        "broadcast_cost": 0.2,
        "broadcast_off_percent": 100.0,
        "unknown_per_s": 8.0,
        "smooth_s": 60.0,
    }
    subscribers = handsets(5000, registered_share=1.0, churn_per_s=0.005)
    scenario = world(subscribers=subscribers, topology={"imsimgr": imsimgr}, horizon_s=300.0)
    batch = Batch([scenario] * 4, range(4), setting_matrix([{}], scenario))
    batch.run()
    counters = batch.counters()
    assert (counters[layout.K_OVERLOAD] < 0.02 * counters[layout.K_ATTEMPTS]).all()
    assert (batch.core_block()[core.N_BROADCASTS] > 0.95 * 8.0 * 300.0).all()


BURSTS = (
    {"kind": "unknown_burst", "time_s": 10.0, "value_per_s": 12.0, "until_s": 30.0},
    {"kind": "unknown_burst", "time_s": 20.0, "value_per_s": 20.0, "until_s": 40.0},
    {"kind": "unknown_burst", "time_s": 40.0, "value_per_s": 5.0, "until_s": 50.0},
    {"kind": "unknown_burst", "time_s": 55.0, "value_per_s": 60.0, "until_s": 55.01},
)


@pytest.mark.parametrize("timeline", [list(BURSTS), list(reversed(BURSTS))])
def test_the_burst_that_began_last_says_the_rate_and_the_old_one_returns(timeline: list[Any]) -> None:
    run = course(manager(0.1, unknown_per_s=1.0, timeline=timeline, broadcast_off_percent=None), 60.0)
    asked = [
        sum(gain(run, row, seconds) for row in (core.N_BROADCASTS, core.N_SINGLE))
        for seconds in (9.0, 15.0, 25.0, 35.0, 45.0, 52.0, 59.0)
    ]
    np.testing.assert_allclose(asked, [1.0, 12.0, 20.0, 20.0, 5.0, 1.0, 1.0])
