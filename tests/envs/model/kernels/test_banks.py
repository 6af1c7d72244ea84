"""Links lie in banks of eight, or of fewer in wide tiles: more than eight of them, and a last bank that is not full."""

import numpy as np
import pytest

from signalstorm.envs.model.batch import Batch
from signalstorm.envs.model.kernels import layout
from signalstorm.envs.model.kernels.memory import LARGEST_BANK
from signalstorm.envs.model.parameters import setting_matrix
from tests.envs.model.kernels.linked import DT, Watch, event, network

LINKS = {"rate_per_s": 200.0, "window": 500.0}


@pytest.mark.parametrize(("stps", "links_per_stp"), [(3, 4), (1, LARGEST_BANK), (2, 5), (1, 1)])
def test_equal_links_fare_equally_whatever_their_bank(stps: int, links_per_stp: int) -> None:
    links = stps * links_per_stp
    shape = {"stps": stps, "links_per_stp": links_per_stp}
    watch = Watch(network({**LINKS, **shape}, load_per_s=300.0 * links), seconds=120.0)
    final = watch.rows[-1, :, :, 0]
    assert final.shape[0] == links
    assert final[0, layout.L_SUM_STALLS] > 0.0
    assert final[0, layout.L_SERVED] > 0.0
    np.testing.assert_array_equal(final, np.broadcast_to(final[0], final.shape))


def test_an_event_reaches_the_link_that_it_names_in_the_second_bank() -> None:
    links = {**LINKS, "stps": 3, "links_per_stp": 4}
    scenario = network(links, load_per_s=600.0, timeline=[event("link_down", 50.0, target="stp3/slc4")])
    watch = Watch(scenario, seconds=100.0)
    down = watch.rows[:, :, layout.L_DOWN, 0] > 0.0
    assert not down[: round(50.0 / DT)].any()
    np.testing.assert_array_equal(down[-1], [False] * 11 + [True])


def test_a_storm_over_twelve_links_is_the_same_alone_and_in_a_batch() -> None:
    links = {**LINKS, "stps": 3, "links_per_stp": 4}
    scenario = network(links, load_per_s=3600.0, stochastic=True, horizon_s=60.0)
    setting = setting_matrix([{}], scenario)
    many = Batch([scenario] * 40, list(range(40)), setting)
    many.run()
    for number in (0, 33, 39):
        alone = Batch([scenario], [number], setting)
        alone.run()
        np.testing.assert_array_equal(many.links()[:, :, number], alone.links()[:, :, 0])
        np.testing.assert_array_equal(many.counters()[:, number], alone.counters()[:, 0])
