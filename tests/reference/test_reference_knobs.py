from tests.reference.knobs import Knobs, Pace

SCENARIO = {
    "topology": {
        "gateway": {"t3_response_s": 3.0, "n3_requests": 2, "tx_s": 7.0},
        "pcrf": {"rate_per_s": 50.0},
    },
    "present": {"nop_rate": 500, "nop_wait_s": 6, "nop_queue": 1500, "t3346_s": 0},
}


def test_the_present_setting_holds() -> None:
    assert Knobs(SCENARIO, {}).pace == Pace(500.0, 1500, 6)


def test_a_new_rate_has_its_own_default_queue() -> None:
    assert Knobs(SCENARIO, {"nop_rate": 400}).pace == Pace(400.0, 2400.0, 6)


def test_another_action_keeps_the_queue() -> None:
    changed = Knobs(SCENARIO, {"nop_action": "reject-congestion", "t3346_s": 600})
    assert changed.pace == Pace(500.0, 1500, 6, "reject-congestion", 600)


def test_off_means_no_pace() -> None:
    assert Knobs(SCENARIO, {"nop_rate": "off"}).pace is None
    assert Knobs({}, {}).pace is None


def test_fields_of_the_scenario_hold_without_a_knob() -> None:
    knobs = Knobs(SCENARIO, {})
    assert (knobs.t3_response_s, knobs.n3_requests, knobs.tx_s, knobs.pcrf_rate_per_s) == (3.0, 2, 7.0, 50.0)


def test_knobs_override_fields_of_the_scenario() -> None:
    settings = {"gtpc_timeout_ms": 1500, "gtpc_retries": 0, "diameter_tx_s": 4, "pcrf_rate_per_s": 60}
    knobs = Knobs(SCENARIO, settings)
    assert (knobs.t3_response_s, knobs.n3_requests, knobs.tx_s, knobs.pcrf_rate_per_s) == (1.5, 0, 4, 60)
