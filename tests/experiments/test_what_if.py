"""Events of the command line: every kind of the timeline, in its words."""

import re
from pathlib import Path
from typing import get_args

import pytest

from signalstorm.envs.model import scenario_events
from signalstorm.envs.model.errors import InputError
from signalstorm.envs.model.knobs import resolve
from signalstorm.envs.model.scenario_core_events import StallEvent
from signalstorm.envs.model.scenario_file import load
from signalstorm.experiments.what_if import EVENT_VALUES, event_fields, parse_event, refuse_unwritable, what_if

EVENTS = [
    ("capacity:mme@700=200,until_s=720", "site-loss"),
    ("latency:mme@700=0.5", "site-loss"),
    ("other_load:mme@700=50", "site-loss"),
    ("mass_detach:*@700=0.5,spread_s=10", "site-loss"),
    ("message_burst:mme@700=500", "site-loss"),
    ("hlr_reset:hlr@700=0.5", "incident-2014"),
    ("activity:*@700=0.5,until_s=800", "incident-2014"),
    ("link_down:stp1@700,noticed=false", "incident-2014"),
    ("link_up:stp1@800,noticed=true", "incident-2014"),
    ("link_reset:*@900,noticed=true", "incident-2014"),
    ("peer_burst:gateway@700=500,message=ccr_t,spread_s=10", "dra-db-cpu"),
    ("gateway_flush:*@700=0.5,flush_s=10,spread_s=20", "site-loss"),
    ("user_plane_loss:*@700=0.5,spread_s=10", "site-loss"),
    ("redirect:*@700=0.5,spread_s=10", "site-loss"),
    ("stall:mme@700=720", "site-loss"),
    ("release:mme@710", "site-loss"),
    ("node_loss:mme@700=2,spread_s=20,load_removed=true", "mme-node-loss"),
    ("node_restart:mme@5000=1,spread_s=20,load_removed=false", "mme-node-loss"),
    ("hold:*@700=0.5", "site-loss"),
    ("staged_release:*@800=30,spread_s=20", "docomo-2012"),
    ("unknown_burst:imsimgr@700=50,until_s=800", "imsimgr-unknown"),
    ("ddn_surge:ddn@700=500,spread_s=10", "ddn-surge"),
    ("imsimgr_reboot:imsimgr@700", "imsimgr-unknown"),
]
"""An event of each kind with all its fields, and a scenario that can have it."""


def test_every_kind_of_event_can_be_named() -> None:
    union = get_args(scenario_events.Event)[0]
    kinds = {kind for event in get_args(union) for kind in get_args(event.model_fields["kind"].annotation)}
    assert set(EVENT_VALUES) == kinds


def test_events_of_links() -> None:
    added = ["link_reset:*@13320", "link_down:stp2/slc1@600", "link_up:stp2/slc1@900", "hlr_reset:hlr@7200=0.5"]
    _, scenario = what_if("incident-2014", [], events=added, without=["hlr_reset"])
    assert [event.kind for event in scenario.timeline] == ["link_reset", "link_down", "link_up", "hlr_reset"]
    _, scenario = what_if("incident-2014", [], without=["hlr_reset"])
    assert scenario.timeline == ()
    assert len(load("incident-2014").timeline) == 1


def test_a_number_of_nodes_is_whole() -> None:
    assert parse_event("node_loss:mme@600=2")["nodes"] == 2
    assert isinstance(parse_event("node_loss:mme@600=2")["nodes"], int)


def test_an_event_without_a_value() -> None:
    with pytest.raises(InputError, match=r"link_down takes no value.*Write link_down:stp1@60"):
        parse_event("link_down:stp1@60=3")


@pytest.mark.parametrize(("text", "scenario"), EVENTS)
def test_every_field_of_every_kind_can_be_written(text: str, scenario: str) -> None:
    event = parse_event(text)
    assert set(event) == set(event_fields(event["kind"]))
    before = ["stall:mme@690"] if event["kind"] == "release" else []  # there must be something to release
    _, changed = what_if(scenario, [], events=[*before, text])
    added = next(one for one in changed.timeline if (one.kind, one.time_s) == (event["kind"], event["time_s"]))
    assert added.model_dump(mode="json") == event


def test_no_kind_of_event_is_left_out() -> None:
    assert {parse_event(text)["kind"] for text, _ in EVENTS} == set(EVENT_VALUES)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("peer_burst:gateway@61=5,mesage=gy", "peer_burst has no such field, but got 'mesage'. Did you mean message?"),
        ("link_down:stp1@61,noticed", "further fields must have the form FIELD=VALUE"),
        ("peer_burst:gateway@61=5,count=6", "count must be given once"),
        ("imsimgr_reboot:imsimgr@61,x=1", "imsimgr_reboot has no such field"),
    ],
)
def test_wrong_fields_of_events_are_named(text: str, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        parse_event(text)


@pytest.mark.parametrize(
    ("name", "set_", "key"),
    [
        ("dra-db-cpu", "topology.dra.peers=[]", "topology.dra.peers"),
        ("dra-db-cpu", "subscribers.phone.ladder.t3411_s=[12,8]", "t3411_s"),
        ("ddn-surge", "topology.ddn.arp_shares=[0.5,0.5]", "topology.ddn.arp_shares"),
    ],
)
def test_an_illegal_list_is_one_message(name: str, set_: str, key: str) -> None:
    with pytest.raises(InputError) as refused:
        what_if(name, [set_])
    assert [fault.key.endswith(key) for fault in refused.value.faults] == [True]


def test_a_release_needs_a_stall() -> None:
    with pytest.raises(InputError, match="but the mme is not stalled then, but got 710 s"):
        what_if("site-loss", [], events=["stall:mme@690=700", "release:mme@710"])
    _, changed = what_if("site-loss", [], events=["stall:mme@690=700", "stall:mme@700", "release:mme@710"])
    ends = [event.end_s(changed.timeline) for event in changed.timeline if isinstance(event, StallEvent)]
    assert ends == [700.0, 710.0]


def test_the_last_node_cannot_be_lost() -> None:
    scenario = load("mme-node-loss")
    with pytest.raises(InputError, match="failure_domains: must leave a node: an event of the timeline takes 1"):
        resolve({"failure_domains": 1}, scenario)
    assert resolve({"failure_domains": 2}, scenario)["failure_domains"] == 2


def test_the_generator_is_named_where_its_number_is_missing() -> None:
    with pytest.raises(InputError, match=r"Did you mean random-core-17\?.*random-core-N"):
        load("random-core")


def test_an_unknown_link_is_refused() -> None:
    with pytest.raises(InputError, match="slc9"):
        what_if("incident-2014", [], events=["link_down:stp2/slc9@10"])


def test_faults_of_every_option_come_at_once() -> None:
    for sets, keys in (
        (["rto_max_ms=500"], ["convergence.count_from_s", "rto_max_ms"]),
        (["nop_rate=40"], ["nop_rate", "convergence.count_from_s"]),
    ):
        with pytest.raises(InputError) as refused:
            what_if("incident-2014", sets, horizon_s=100)
        assert [fault.key for fault in refused.value.faults] == keys
    with pytest.raises(InputError) as refused:
        what_if("incident-2014", ["nop_rat=1"], events=["link_dow:stp1@60", "link_down"], without=["reset"])
    assert [fault.key for fault in refused.value.faults] == ["nop_rat", "--without-event", "--event", "--event"]


def test_a_knob_of_an_element_that_a_faulty_field_would_bring_is_not_blamed() -> None:
    with pytest.raises(InputError) as refused:
        what_if("lab-pcrf", ["dra_peer_limit_per_s=100", "topology.dra.rate_per_s=-1"], horizon_s=100)
    assert not any("has no dra" in fault.rule for fault in refused.value.faults)


def test_a_target_that_has_a_default_may_be_left_out() -> None:
    assert parse_event("hlr_reset@0=0.5") == {"kind": "hlr_reset", "target": "hlr", "time_s": 0.0, "share": 0.5}
    with pytest.raises(InputError, match="must have the form KIND:TARGET@TIME_S"):
        parse_event("capacity@30=20")


def test_a_time_of_day_counts_from_the_scenarios_start() -> None:
    _, changed = what_if("incident-2014", [], events=["link_reset:*@10:07", "link_reset:*@10:07:30"])
    assert [event.time_s for event in changed.timeline[-2:]] == [13320.0, 13350.0]
    assert parse_event("link_reset:*@00:25", "06:25")["time_s"] == 18 * 3600.0
    for clock in (None, "06:25"):
        with pytest.raises(InputError, match="with numbers"):
            parse_event("link_reset:*@10:7x", clock)
    with pytest.raises(InputError, match="with numbers"):
        parse_event("capacity:pcrf@10:07=20")


def test_a_folder_that_cannot_be_written_is_refused_before_the_run(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for out in (tmp_path / "file", tmp_path / "file" / "deeper"):
        with pytest.raises(InputError, match="must be a folder that can be written"):
            refuse_unwritable(out)
    refuse_unwritable(tmp_path / "new" / "deeper")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("event", "rule", "way_out"),
    [
        (
            "peer_burst:gateway@700=5",
            "needs message, one of ccr_i, ccr_u, ccr_t, gy",
            "peer_burst:gateway@700=5,message=ccr_i.",
        ),
        ("peer_burst:gateway@700,message=gy", "needs count", "Write peer_burst:gateway@700=NUMBER,message=gy."),
        ("message_burst:pcrf@700", "needs count", "Write message_burst:pcrf@700=NUMBER."),
    ],
)
def test_an_event_without_a_field_is_shown_with_it(event: str, rule: str, way_out: str) -> None:
    with pytest.raises(InputError) as found:
        what_if("dra-db-cpu", [], events=[event])
    assert f"--event: {event.partition(':')[0]} {rule}, but got '{event}'" in str(found.value)
    assert str(found.value).endswith(way_out)


def test_an_event_with_all_its_fields_or_their_defaults_is_taken() -> None:
    what_if("dra-db-cpu", [], events=["peer_burst:gateway@700=5,message=gy", "stall:pcrf@800", "gateway_flush@900"])
