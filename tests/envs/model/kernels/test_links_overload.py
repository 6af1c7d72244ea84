"""Links that are asked for more than they carry: no limit of the time-out and no window helps, less load does."""

import pytest

from signalstorm.envs.model.batch import Batch
from signalstorm.envs.model.kernels import layout
from signalstorm.envs.model.parameters import setting_matrix
from tests.envs.model.kernels.linked import DT, Fields, network, one_link

RATE = 240.0
"""Messages/s of the only link; an attach sends four."""
SINCE_S, UNTIL_S = 1200.0, 1800.0
QUICK: Fields = {"rto_min_ms": 500, "rto_initial_ms": 500, "rto_max_ms": 500}


def goodput(load_per_s: float, knobs: Fields, window: float) -> float:
    """Attaches/s that succeed between twenty and thirty minutes after the start."""
    links = one_link(rate_per_s=RATE, window=window)
    scenario = network(links, load_per_s=load_per_s, gate=True, horizon_s=UNTIL_S)
    batch = Batch([scenario], [0], setting_matrix([knobs], scenario), check=True)
    batch.run(round(SINCE_S / DT))
    before = batch.counters()[layout.K_SUCCESSES, 0]
    batch.run()
    return float((batch.counters()[layout.K_SUCCESSES, 0] - before) / (UNTIL_S - SINCE_S))


@pytest.mark.parametrize("limits", [{}, QUICK])
@pytest.mark.parametrize("window", [100.0, 1000.0, 7000.0])
def test_neither_time_outs_nor_windows_restore_goodput_beyond_capacity(limits: Fields, window: float) -> None:
    """2.5 times what the link carries is asked: answers miss the MAP timer for good, until a gate sheds the load."""
    assert goodput(2.5 * RATE, {"nop_rate": "off", **limits}, window) < 0.5
    assert goodput(2.5 * RATE, {"nop_rate": 50, **limits}, window) == pytest.approx(50.0, rel=0.01)


def test_below_capacity_there_is_nothing_to_restore() -> None:
    for limits in ({}, QUICK):
        assert goodput(0.8 * RATE, {"nop_rate": "off", **limits}, 1000.0) == pytest.approx(0.2 * RATE, rel=0.01)
