"""Elements beyond the attach chain at an SGSN behind signalling links; long, for it compiles a kernel of its own."""

import pytest

from signalstorm.envs.model.batch import Batch
from signalstorm.envs.model.kernels import core_layout, layout
from signalstorm.envs.model.parameters import setting_matrix
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.model.scenario_file import load
from tests.envs.model.test_batch import assert_same, bits
from tests.envs.model.test_batch_conservation import assert_conserved

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]


def sgsn() -> Scenario:
    """The incident with a class of priority, unknown-subscriber requests, a profile of the day and a barring."""
    data = load("incident-2014").model_dump(mode="json", exclude_unset=True)
    data["subscribers"].append(
        {"name": "rescue", "size": 5000, "registered_share": 1.0, "priority": True, "ladder": {"kind": "gprs"}}
    )
    data["churn_profile"] = {"points": [[0.0, 1.0], [9000.0, 1.5]]}
    data["topology"]["imsimgr"] |= {"unknown_per_s": 30.0, "session_managers": 40}
    data["timeline"] += [
        {"kind": "unknown_burst", "time_s": 5000.0, "value_per_s": 300.0, "until_s": 6000.0},
        {"kind": "user_plane_loss", "time_s": 3000.0, "share": 0.02, "spread_s": 60.0},
        {"kind": "hold", "time_s": 9000.0, "share": 0.5},
        {"kind": "staged_release", "time_s": 10_000.0, "stage_s": 200.0, "spread_s": 100.0},
    ]
    data["topology"]["resilience"] = {"release_stages": 4}
    data["convergence"] = {"count_from_s": 5700.0}
    return Scenario.model_validate(data | {"horizon_s": 12_000.0})


def test_it_conserves_and_a_row_is_the_storm_alone() -> None:
    scenario = sgsn()
    matrix = setting_matrix([{}], scenario)
    together = Batch([scenario] * 6, range(6), matrix, check=True, record_s=600.0)
    while together.step < together.end:
        together.run(round(scenario.horizon_s / 12.0 / together.dt))
        assert_conserved(together)
    alone = Batch([scenario], [4], matrix, check=True, record_s=600.0)
    alone.run()
    assert_same([array[..., 4:5] for array in bits(together)], bits(alone))


def test_priority_gets_in_while_the_others_are_barred() -> None:
    scenario = sgsn().with_fields({"timeline": [{"kind": "hold", "time_s": 1.0, "share": 1.0}]})
    batch = Batch([scenario], [0], setting_matrix([{}], scenario), check=True)
    batch.run(round(3600.0 / batch.dt))
    held = float(batch.core_block()[core_layout.N_HELD, 0])
    without = float(batch.counters()[layout.K_WITHOUT, 0])
    assert held > 1e6
    assert abs(without - held) < 0.01 * held
