"""Events of the command line: every kind of the timeline, in its words."""

from typing import get_args

import pytest

from signalstorm.envs.model import scenario_events
from signalstorm.envs.model.errors import InputError
from signalstorm.envs.model.scenario_file import load
from signalstorm.experiments.what_if import EVENT_VALUES, parse_event, what_if


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
