"""What results and time series say of the elements beyond the attach chain, and that others say nothing."""

import json

import numpy as np

import signalstorm as ss
from signalstorm.envs.model.scenario_file import load


def test_results_and_series_hold_the_core_and_survive_json() -> None:
    result = ss.simulate(load("dra-db-cpu").with_fields({"horizon_s": 1500.0}), seeds=2, record=True)
    found = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert found["core"]["throttle_peak_percent"] == 60.0
    assert found["core"]["dra_limited"] > 0
    assert set(found["peers"]) == {"gateway", "gateway-b"}
    assert found["peers"]["gateway"]["passed_ccr_t"] < found["peers"]["gateway"]["offered_ccr_t"]
    assert "ddn_sent" not in found["core"]
    assert result.series is not None
    values = result.series.values
    unit, throttle = values["dra", "throttle"]
    assert (unit, float(throttle.max())) == ("%", 60.0)
    assert values["database", "CPU"][1].max() > 0.9
    rate = values["dra", "beyond a limit rate"][1]
    total = rate.sum(axis=0) * (result.series.time_s[1] - result.series.time_s[0])
    np.testing.assert_allclose(total, result.outcomes.core["dra_limited"], rtol=1e-9)


def test_a_network_without_a_core_has_none_in_its_results() -> None:
    result = ss.simulate("lab-pcrf", seeds=1, record=True)
    assert result.to_json()["core"] == {}
    assert result.to_json()["peers"] == {}
    assert result.series is not None
    assert not [element for element, _ in result.series.values if element in ("dra", "ddn", "mme")]
