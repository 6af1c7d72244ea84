"""Each rule of a scenario: what it says, where it points, and its way out."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from signalstorm.envs.model.errors import InputError
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.model.scenario_file import load
from signalstorm.envs.model.validation import validate
from tests.envs.model.scenario_data import full_data

Change = tuple[str, Any]

_CAPACITY = {"kind": "capacity", "target": "pcrf", "time_s": 5, "value": 3}
_EPS = {"kind": "eps"}
_PHONE = {"name": "phone", "size": 10, "ladder": _EPS}


def faults(**changes: Any) -> list[tuple[str, str, str]]:
    """Key, rule with value, and way out of each fault of the full scenario with other top-level fields."""
    _, findings = validate(full_data(**changes), Scenario)
    return [(finding.key, str(finding), finding.way_out) for finding in findings]


@pytest.mark.parametrize(
    ("changes", "key", "rule", "way_out"),
    [
        ({"name": "Full Core"}, "name", "must be lower-case words joined by hyphens", ""),
        ({"access": "lte"}, "access", "must be one of eps, gprs, but got 'lte'", ""),
        ({"horizon_s": 0}, "horizon_s", "must be greater than 0 s, but got 0", "length of a run"),
        ({"horizon_s": -5.0}, "horizon_s", "must be greater than 0 s, but got -5", ""),
        ({"clock_start": "25:00"}, "clock_start", "must be a time of day HH:MM", ""),
        ({"clock_start": 385}, "clock_start", "must be text, but got 385", "put it in quotes"),
        ({"subscribers": []}, "subscribers", "must have at least 1 entry", ""),
        ({"subscribers": [_PHONE | {"name": f"c{i}"} for i in range(5)]}, "subscribers", "at most 4", ""),
        ({"trigger": {"kind": "x", "time_s": 600}}, "trigger.time_s", "horizon_s = 600 s", "raise horizon_s"),
        ({"demand": {"rate_per_s": 1, "start_s": 700}}, "demand.start_s", "but got 700 s", "raise horizon_s"),
        ({"demand": {"rate_per_s": 0}}, "demand.rate_per_s", "must be greater than 0 per s", ""),
        ({"demand": 5}, "demand", "must be a mapping of keys to values, but got 5", ""),
        ({"demand": {"rate_per_s": 1, "pattern": "pased"}}, "demand.pattern", "", "did you mean paced?"),
        ({"convergence": {"count_from_s": 600}}, "convergence.count_from_s", "but got 600 s", ""),
        ({"convergence": {"band_share": 1.5}}, "convergence.band_share", "must be at most 1, but", ""),
        ({"control_interval_s": 0.07}, "control_interval_s", "a whole number of steps of 0.05 s", "0.05 s"),
        ({"control_interval_s": 700}, "control_interval_s", "at most horizon_s = 600 s", "shorten"),
        ({"step_s": 0.3}, "step_s", "must divide control_interval_s = 1 s, but got 0.3 s", "leave it out"),
        ({"step_s": 1e-7}, "horizon_s", "must be at most 1e+09 steps of 1e-07 s", "shorten"),
        ({"step_s": 0}, "step_s", "must be greater than 0 s", ""),
        ({"tunable": ["nop_rat"]}, "tunable.0", "no such knob", "did you mean nop_rate?"),
        ({"tunable": ["nop_queue"]}, "tunable.0", "a search cannot use", "use nop_queue_wait_s"),
        ({"tunable": ["pcrf_rate_per_s"]}, "tunable.0", "a search cannot use", "nop_rate"),
        ({"tunable": ["nop_rate", "nop_rate"]}, "tunable.1", "must be named once", "leave one"),
        ({"present": {"nop_rate": 40}}, "present.nop_rate", "50 to 5000 per s, or off", "value is 50 per s"),
        ({"present": {"nop_rte": 400}}, "present.nop_rte", "no such knob", "did you mean nop_rate?"),
        ({"present": [1]}, "present", "must be a mapping of keys to values", ""),
        ({"variation": {"demand.rte": [1, 2]}}, "variation.demand.rte", "no scenario field", "rate_per_s?"),
        ({"variation": {"demand.rate_per_s": [2, 1]}}, "variation.demand.rate_per_s", "lo <= hi", ""),
        ({"variation": {"demand.rate_per_s": [1]}}, "variation.demand.rate_per_s", "a pair [lo, hi]", ""),
        ({"variation": {"demand.rate_per_s": [-1, 1]}}, "variation.demand.rate_per_s", "greater than 0", ""),
        ({"variation": {"demand.pattern": [0, 1]}}, "variation.demand.pattern", "must be legal values", ""),
        ({"variation": {"horizon_s": [1, 2]}}, "variation.horizon_s", "differ from storm to storm", ""),
        ({"fitted": {"topology.pcrf.bufer": "x"}}, "fitted.topology.pcrf.bufer", "", "did you mean buffer?"),
        ({"fitted": {"topology.pcrf.buffer": 3}}, "fitted.topology.pcrf.buffer", "must be text", "quotes"),
    ],
)
def test_top_level(changes: dict[str, Any], key: str, rule: str, way_out: str) -> None:
    assert_single(faults(**changes), key, rule, way_out)


@pytest.mark.parametrize(
    ("change", "key", "rule", "way_out"),
    [
        ({"size": -5}, "size", "must be at least 1 subscribers, but got -5", ""),
        ({"size": 0}, "size", "must be at least 1 subscribers, but got 0", ""),
        ({"size": 10.5}, "size", "must be a whole number, but got 10.5", ""),
        ({"size": "1000"}, "size", "must be a whole number, but got '1000'", "without quotes"),
        ({"size": 1e11}, "size", "must be at most 10,000,000,000", ""),
        ({"registered_share": 1.01}, "registered_share", "must be at most 1, but got 1.01", ""),
        ({"honours_t3346_share": -0.1}, "honours_t3346_share", "must be at least 0, but", ""),
        ({"churn_per_s": -1}, "churn_per_s", "must be at least 0 per s", ""),
        ({"sise": 3}, "sise", "there is no such key here", "did you mean size?"),
        ({"name": "meter"}, "name", "must be unique", "rename one"),
        ({"ladder": {}}, "ladder.kind", "this key is missing", "eps, gprs, laboratory"),
        ({"ladder": {"kind": "epc"}}, "ladder.kind", "one of eps, gprs, laboratory, but got 'epc'", "mean eps?"),
        ({"ladder": _EPS | {"attempt_limit": 0}}, "ladder.attempt_limit", "must be at least 1 tries", ""),
        ({"ladder": _EPS | {"t3410_s": 0}}, "ladder.t3410_s", "", ""),
        ({"ladder": _EPS | {"t3410_s": [6, 3]}}, "ladder.t3410_s", "must be [lo, hi] with lo <= hi", "T3410"),
        ({"ladder": _EPS | {"t3410_s": [1, 2, 3]}}, "ladder.t3410_s", "a number or a pair [lo, hi]", ""),
        ({"ladder": _EPS | {"t3410": 15}}, "ladder.t3410", "no such key", "did you mean t3410_s?"),
    ],
)
def test_subscribers(change: dict[str, Any], key: str, rule: str, way_out: str) -> None:
    meter = full_data()["subscribers"][1]
    found = faults(subscribers=[meter, _PHONE | change], timeline=[])
    assert [fault for fault in found if not fault[0].startswith("subscribers.1.")] == []
    assert_single(found, f"subscribers.1.{key}", rule, way_out, prefix=True)


@pytest.mark.parametrize(
    ("event", "key", "rule", "way_out"),
    [
        (_CAPACITY | {"time_s": 600}, "time_s", "before the end of the scenario, horizon_s = 600 s", "raise"),
        (_CAPACITY | {"time_s": -1}, "time_s", "must be at least 0 s", ""),
        (_CAPACITY | {"until_s": 5}, "until_s", "after the event's time_s = 5 s, but got 5 s", "leave it out"),
        (_CAPACITY | {"value": -1}, "value", "must be at least 0 per s", ""),
        (_CAPACITY | {"target": "pcfr"}, "target", "a server that can have this event", "did you mean pcrf?"),
        (_CAPACITY | {"target": "phone"}, "target", "a server that can have this event", ""),
        (_CAPACITY | {"vlaue": 1}, "vlaue", "no such key", "did you mean value?"),
        ({"kind": "latency", "target": "gateway", "time_s": 5, "value_s": 1}, "target", "server", "pcrf"),
        ({"kind": "mass_detach", "target": "fone", "time_s": 5}, "target", "a class of subscribers or *", ""),
        ({"kind": "capasity", "target": "pcrf"}, "kind", "hlr_reset, link_reset", "did you mean capacity?"),
        ({"target": "pcrf"}, "kind", "this key is missing", "capacity"),
        ({"kind": "message_burst", "target": "pcrf", "time_s": 5}, "count", "this key is missing", "messages"),
    ],
)
def test_timeline(event: dict[str, Any], key: str, rule: str, way_out: str) -> None:
    assert_single(faults(timeline=[_CAPACITY, event]), f"timeline.1.{key}", rule, way_out)


@pytest.mark.parametrize(
    ("topology", "key", "rule", "way_out"),
    [
        ({"pcrf": {}}, "topology.pcrf", "a pcrf needs a gateway", "add topology.gateway"),
        ({"gateway": {"tx_s": 0}}, "topology.gateway.tx_s", "must be greater than 0 s, but got 0", "Tx"),
        ({"gateway": {"n3_requests": 1.5}}, "topology.gateway.n3_requests", "must be a whole number", ""),
        ({"gateway": {"latency_s": 1}}, "topology.gateway.latency_s", "there is no such key here", ""),
        ({"gateway": {"overflow": "reject"}}, "topology.gateway.overflow", "one of drop, refuse", ""),
        ({"gate": {"instances": 0}}, "topology.gate.instances", "must be at least 1 instances", ""),
        ({"hss": {"rate_per_s": 0}}, "topology.hss.rate_per_s", "must be greater than 0 per s", ""),
        ({"hss": {"buffer": -1}}, "topology.hss.buffer", "must be greater than 0 messages", ""),
        ({"hss": {"other_load_per_s": -1}}, "topology.hss.other_load_per_s", "must be at least 0 per s", ""),
        ({"hss": []}, "topology.hss", "must be a mapping of keys to values", ""),
        ({"hhs": {}}, "topology.hhs", "there is no such key here", "did you mean hss?"),
    ],
)
def test_topology(topology: dict[str, Any], key: str, rule: str, way_out: str) -> None:
    found = faults(topology=topology, timeline=[], present={}, tunable=[], fitted={})
    assert_single(found, key, rule, way_out)


@pytest.mark.parametrize(("field", "value"), [("present", {"nop_rate": 500}), ("tunable", ["nop_rate"])])
def test_a_knob_needs_its_element(field: str, value: Any) -> None:
    changes = {"present": {}, "tunable": [], "fitted": {}, "timeline": []} | {field: value}
    ((key, rule, way_out),) = faults(topology={"gateway": {}}, **changes)
    assert key in ("present.nop_rate", "tunable.0")
    assert "the knob nop_rate belongs to the gate, which the topology does not have" in rule
    assert "add topology.gate" in way_out


def test_a_closed_population_starts_unattached_and_has_a_demand() -> None:
    found = faults(closed=True, demand=None)
    assert [key for key, _, _ in found] == ["closed", "subscribers.0.registered_share"]


@pytest.mark.parametrize("key", ["name", "description", "source", "access", "subscribers", "horizon_s"])
def test_a_missing_key_says_what_to_add(key: str) -> None:
    ((found, text, way_out),) = faults(**{key: None})
    assert found == key
    assert "this key is missing" in text
    assert way_out.startswith("add it: ")


def assert_single(
    found: list[tuple[str, str, str]], key: str, rule: str, way_out: str, *, prefix: bool = False
) -> None:
    """Assert that there is one fault and that it says what it should."""
    assert len(found) == 1, found
    assert found[0][0].startswith(key) if prefix else found[0][0] == key
    assert rule in found[0][1]
    assert way_out in found[0][2]


def linked(links: dict[str, Any], **changes: Any) -> list[tuple[str, str, str]]:
    """Faults of `incident-2014` with other links and other top-level fields."""
    data = load("incident-2014").model_dump(mode="json", exclude={"fitted", "variation"})
    data["topology"]["links"] |= links
    _, findings = validate({**data, **changes}, Scenario)
    return [(finding.key, str(finding), finding.way_out) for finding in findings]


@pytest.mark.parametrize(
    ("links", "key", "rule"),
    [
        ({"stop": 9000.0, "start": 8000.0}, "topology.links.stop", "(stop=9000, start=8000, queue=8000)"),
        ({"start": 9000.0}, "topology.links.start", "(start=9000, queue=8000)"),
        ({"stp_rate_shares": [1.0]}, "topology.links.stp_rate_shares", "one share per STP, but got 1 for 2 STPs"),
        ({"window_updates": ["stp3/slc1"]}, "topology.links.window_updates", "must name links, but got 'stp3/slc1'"),
        ({"rto_max_ms": 500.0}, "topology.links.rto_max_ms", "(RTO-min 1000 ms, RTO-initial 3000 ms, RTO-max 500 ms)"),
    ],
)
def test_links(links: dict[str, Any], key: str, rule: str) -> None:
    assert_single(linked(links), key, rule, "")


@pytest.mark.parametrize(
    ("missing", "way_out"), [("activity", "add activity"), ("topology.links", "add topology.links")]
)
def test_a_reset_of_the_hlr_that_nobody_would_answer_is_refused(missing: str, way_out: str) -> None:
    reset = [{"kind": "hlr_reset", "time_s": 5.0}]
    found = linked({}, activity=None) if missing == "activity" else faults(timeline=reset)
    assert_single(found, "timeline.0.kind", f"needs {missing}, or nobody ever refreshes the location", way_out)


@pytest.mark.parametrize("path", ["topology.gateway.gx_failure", "present.gx_failure_action"])
def test_asking_a_mate_that_is_not_there_is_refused(path: str) -> None:
    data = full_data()
    *parents, last = path.split(".")
    here = data
    for word in parents:
        here = here[word]
    here[last] = "retry"
    _, findings = validate(data, Scenario)
    (found,) = findings
    assert found.key == path
    assert "the topology does not have, but got 'retry'" in str(found)
    assert found.way_out == "add topology.pcrf_mate, or choose terminate or continue"
    data["topology"]["pcrf_mate"] = {}
    assert not validate(data, Scenario)[1]


def test_notifications_without_an_mme_are_refused() -> None:
    topology = full_data()["topology"] | {"ddn": {"rate_per_s": 5.0}}
    assert_single(faults(topology=topology), "topology.ddn", "notifications need an MME", "add topology.mme")
    assert not faults(topology=topology | {"mme": {}})


def test_present_rto_limits_are_ordered_with_those_of_the_links() -> None:
    assert_single(linked({}, present={"rto_max_ms": 500}), "present.rto_max_ms", "RTO-initial 3000 ms", "<= 500")


def test_a_search_moves_all_rto_limits_or_none() -> None:
    assert_single(linked({}, tunable=["rto_max_ms"]), "tunable", "all three limits", "rto_initial_ms")


def test_rto_at_the_acknowledgement_delay_is_warned() -> None:
    low = load("incident-2014").with_fields({"topology.links.rto_min_ms": 200.0})
    warned = [finding for finding in low.warnings() if finding.key == "topology.links.rto_min_ms"]
    assert len(warned) == 1
    assert "should be above 200 ms" in str(warned[0])
    assert "got 200 ms" in str(warned[0])
    high = load("incident-2014").with_fields({"topology.links.rto_min_ms": 300.0})
    assert not [finding for finding in high.warnings() if "rto" in finding.key]


def test_a_limit_in_the_commands_units_gets_a_hint() -> None:
    """`sctp-rto-max 5` is 500 ms; in a scenario a 5 is five milliseconds."""
    assert_single(linked({"rto_max_ms": 5.0}), "topology.links.rto_max_ms", "RTO-max 5 ms", "so its 5 is 500 here")
    alike = {"topology.links.rto_min_ms": 5.0, "topology.links.rto_initial_ms": 5.0, "topology.links.rto_max_ms": 5.0}
    warned = [str(finding) for finding in load("incident-2014").with_fields(alike).warnings()]
    hints = [text for text in warned if "so its 5 is 500 here" in text]
    assert len(hints) == 3
    assert "topology.links.rto_max_ms: should be 500 to 120000 ms" in hints[-1]


def test_links_belong_to_2g_and_3g_and_times_of_activity_rise() -> None:
    incident = load("incident-2014")
    with pytest.raises(InputError, match=r"topology\.links: belongs to 2G and 3G.*set access: gprs"):
        incident.with_fields({"access": "eps", "activity": None, "timeline": []})
    points = [[5700.0, 0.003], [0.0, 3e-6], [7500.0, 0.0016]]
    with pytest.raises(InputError, match=r"activity\.points: times must rise, but got 5700 s, 0 s, 7500 s"):
        incident.with_fields({"activity.points": points})


def test_packaged_scenarios_are_not_warned_of_their_steps() -> None:
    """The wait in force counts for the gate, not the shortest that a search may try."""
    incident = load("incident-2014")
    assert not list(incident.warnings())
    (coarse,) = incident.with_fields({"step_s": 0.5}).warnings()
    assert coarse.key == "step_s"
    assert "at most 0.25 s, 1/20 of the wait in the gate" in coarse.rule
    assert coarse.way_out.endswith("0.05 s")


def test_a_fault_is_told_once_whatever_the_variation() -> None:
    """Each bound of a variation is tried in the scenario; what is wrong with that anyway is no fault of the bound."""
    wide = {"demand.rate_per_s": [1.0, 2.0], "topology.pcrf.rate_per_s": [10.0, 20.0], "demand.start_s": [0.0, 700.0]}
    found = faults(variation=wide, trigger={"kind": "x", "time_s": 600})
    assert [key for key, _, _ in found] == ["trigger.time_s", "variation.demand.start_s"]


@pytest.mark.parametrize(
    ("event", "rule", "way_out"),
    [
        (
            {"kind": "peer_burst", "target": "a", "message": "gy", "count": 1},
            "Diameter agent, and the topology has no dra",
            "add topology.dra,",
        ),
        ({"kind": "link_down", "target": "stp1"}, "or *, and the topology has no links", "add topology.links,"),
        ({"kind": "capacity", "target": "stp1", "value": 1}, "a link such as", "add topology.links,"),
        ({"kind": "ddn_surge", "count": 1}, "the notifications, and the topology has no ddn", "add topology.ddn,"),
        ({"kind": "imsimgr_reboot"}, "must be imsimgr, the IMSI manager, and the topology has no imsimgr", "add"),
        ({"kind": "hold", "target": "phone"}, "must be *, which is everybody, but got 'phone'", ""),
        ({"kind": "redirect", "target": "fone"}, "must be a class of subscribers or *", "did you mean phone?"),
        ({"kind": "stall", "target": "pcfr"}, "must be a server that can have this event", "did you mean pcrf?"),
    ],
)
def test_a_target_is_worded_by_what_it_is(event: dict[str, Any], rule: str, way_out: str) -> None:
    assert_single(faults(timeline=[event | {"time_s": 5}]), "timeline.0.target", rule, way_out)


def test_a_bad_name_is_one_fault_and_its_default_none() -> None:
    agent = {"peers": [{"name": "gateway"}, {"name": "Gate Way"}]}
    found = faults(topology=full_data()["topology"] | {"dra": agent})
    assert_single(found, "topology.dra.peers.1.name", "must be lower-case words joined by hyphens", "")


def _numbers(schema: Any, place: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every number in a JSON schema, but bounds and settings, which the fields and knobs named by them limit."""
    if isinstance(schema, list):
        for part in schema:
            yield from _numbers(part, place)
    elif isinstance(schema, dict):
        if schema.get("type") in ("number", "integer"):
            yield place, schema
        for key, part in schema.items():
            if key not in ("variation", "present", "start"):
                yield from _numbers(part, f"{place}.{key}")


def test_every_number_has_a_largest_legal_value_that_arithmetic_can_bear() -> None:
    schema = Scenario.model_json_schema()
    schema["$defs"]["Loop"]["properties"].pop("start")
    found = dict(_numbers(schema))
    assert len(found) > 150
    assert {place for place, number in found.items() if not number.get("maximum", 1e308) <= 1e10} == set()


@pytest.mark.parametrize(
    ("scenario", "field", "most"),
    [
        ("random-core-70664", "topology.dra.update_per_s", "1000 per s"),
        ("dra-db-cpu", "topology.dra.update_per_s", "1000 per s"),
        ("lab-pcrf", "subscribers.0.ladder.retry_refused_s", "1e+08 s"),
        ("lab-pcrf", "subscribers.0.churn_per_s", "1000 per s"),
        ("lab-pcrf", "topology.gateway.t3_response_s", "100000 s"),
        ("ddn-surge", "timeline.0.count", "1e+09 notifications"),
        ("incident-2014", "topology.links.stps", "16 STPs"),
    ],
)
@pytest.mark.parametrize("value", [1e308, 2e10])
def test_sizes_beyond_reason_are_refused_with_the_largest(scenario: str, field: str, most: str, value: float) -> None:
    with pytest.raises(InputError, match=re.escape(f"must be at most {most}, but got")):
        load(scenario).with_fields({field: value})
