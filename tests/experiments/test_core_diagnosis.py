"""What the diagnosis says of the elements beyond the attach chain, and that it keeps quiet where nothing happened."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import signalstorm as ss
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.model.scenario_file import load
from signalstorm.experiments.core_diagnosis import diagnose_core


def said(name: str, fields: dict[str, Any] | None = None, **knobs: Any) -> str:
    scenario: Scenario = load(name)
    return " ".join(ss.simulate(scenario.with_fields(fields or {}), knobs, seeds=1).to_json()["diagnosis"])


@pytest.mark.parametrize(
    ("name", "fields", "knobs", "words"),
    [
        ("dra-db-cpu", {}, {}, "count limit: the Diameter agent keeps"),
        ("dra-db-cpu", {"topology.dra.dynamic": None}, {}, "the session database was saturated"),
        ("dra-db-cpu", {}, {"dynamic_hold_s": 1, "dynamic_step_percent": 100}, "too twitchy a limiter: the dynamic"),
        ("dra-slow-ocs", {}, {}, "collateral refusals: the agent's 2500 transaction slots"),
        ("gateway-flush", {}, {"dra_ccr_t_limit_per_s": 100}, "CCR-T did not get through"),
        ("pcrf-bypass", {}, {"gx_failure_action": "continue"}, "(degraded|: degraded)"),
        ("pcrf-bypass", {}, {"gx_failure_action": "retry"}, "asked again at the mated policy server"),
        ("imsimgr-unknown", {}, {}, "unknown subscribers: "),
        ("ddn-surge", {}, {}, "the SGW dropped"),
        ("ddn-surge", {}, {"ddn_throttle_time_s": 1}, "too twitchy a limiter: the SGW's throttle"),
        ("mme-node-loss", {}, {}, "1 of 4 nodes were lost"),
        (
            "docomo-2012",
            {"horizon_s": 27000.0},
            {},
            "up to 4583 messages/s are needed of mme",
        ),
        ("docomo-2012", {"horizon_s": 27000.0}, {}, "were kept from attaching"),
    ],
)
def test_each_mechanism_has_its_sentence(name: str, fields: dict[str, Any], knobs: dict[str, Any], words: str) -> None:
    text = said(name, fields, **knobs)
    assert any(word.strip("()") in text for word in words.split("|")), text


FALL = {"kind": "capacity", "target": "mme", "time_s": 700.0, "value": 100.0}
RETURN = {**FALL, "time_s": 900.0, "value": 460.0}


@pytest.mark.parametrize(
    ("name", "fields", "knobs", "words", "never"),
    [
        ("mme-node-loss", {}, {"failure_domains": 16}, "1 of 16 nodes were lost", "overload: hss"),
        ("dra-db-cpu", {}, {}, "too twitchy a limiter", "overload: pcrf"),
        ("dra-db-cpu", {}, {}, "differs from network to network", "a longer dynamic_hold_s"),
        ("pcrf-bypass", {}, {"gx_failure_action": "terminate"}, "overload: pcrf serves", "pcrf_mate"),
        (
            "pcrf-bypass",
            {"topology.pcrf.rate_per_s": 100.0},
            {"gx_failure_action": "continue"},
            "degraded",
            "are needed of",
        ),
        ("lab-pcrf", {}, {}, "overload: pcrf serves at most 50/s, and of", "are needed of"),
        (
            "site-loss",
            {"topology.mme.other_load_per_s": 500.0},
            {"nop_rate": 450},
            "calm times: up to 870 messages/s are needed of mme (500/s of",
            "no knob",
        ),
        (
            "site-loss",
            {"timeline": [FALL]},
            {"nop_rate": 450},
            "no knob ends this storm: up to 370 messages/s are needed of mme, which then serves 100/s",
            "at most 460/s",
        ),
        ("site-loss", {"timeline": [FALL, RETURN]}, {"nop_rate": 450}, "at most 100 to 460/s", "are needed of"),
        (
            "gateway-flush",
            {"timeline": [], "topology.dra.rate_per_s": 50.0},
            {},
            "messages as too busy; its rated capacity is 50/s",
            "buffer of the PCRF",
        ),
    ],
)
def test_what_is_said_is_of_what_happened(
    name: str, fields: dict[str, Any], knobs: dict[str, Any], words: str, never: str
) -> None:
    text = said(name, fields, **knobs)
    assert words in text, text
    assert never not in text, text


def test_a_stalled_server_is_called_stalled_with_the_time_for_which_it_serves_nothing() -> None:
    stall = {"kind": "stall", "target": "mme", "time_s": 700.0, "until_s": 900.0}
    own_end = said("site-loss", {"timeline": [stall]}, nop_rate=450)
    assert "stall: mme serves nothing from 700 s to 900 s, otherwise at most 460/s, and of" in own_end
    assert "overload: mme" not in own_end
    ends = [{**stall, "until_s": None}, {"kind": "release", "target": "mme", "time_s": 800.0}]
    assert "stall: mme serves nothing from 700 s to 800 s, " in said("site-loss", {"timeline": ends}, nop_rate=450)
    for_ever = said("site-loss", {"timeline": [ends[0]]}, nop_rate=450)
    assert "stall: mme serves nothing from 700 s to the end, " in for_ever


def test_a_load_above_capacity_is_not_called_hopeless_where_storms_end() -> None:
    """Attaches get their share of a server that also serves others, and may all come through in the end."""
    scenario = load("site-loss").with_fields({"topology.mme.other_load_per_s": 500.0})
    outcomes = ss.simulate(scenario, {"nop_rate": 450}, seeds=1).outcomes
    over = replace(outcomes, convergence_time_s=np.array([5000.0]))
    assert "are needed of mme" in " ".join(diagnose_core(scenario, {"nop_rate": 450}, outcomes))
    assert "are needed of mme" not in " ".join(diagnose_core(scenario, {"nop_rate": 450}, over))


def test_a_dynamic_limit_without_a_static_one_is_said_to_change_nothing() -> None:
    free = load("dra-db-cpu").with_fields({"topology.dra.peer_limit_per_s": None})
    assert [finding.key for finding in free.warnings()] == ["topology.dra.dynamic"]
    assert "topology.dra.dynamic: changes nothing" in said("dra-db-cpu", {"topology.dra.peer_limit_per_s": None})
    rigid = {f"topology.dra.peers.{number}.dynamic": False for number in (0, 1)}
    assert [finding.key for finding in load("dra-db-cpu").with_fields(rigid).warnings()] == ["topology.dra.dynamic"]
    for limited in (load("dra-db-cpu"), free.with_fields({"present": {"dra_ccr_t_limit_per_s": 300}})):
        assert list(limited.warnings()) == []
    assert "changes nothing" not in said("dra-db-cpu", dra_peer_limit_per_s=500)
    assert "changes nothing" in said("dra-db-cpu", dra_peer_limit_per_s="off")


def test_slots_that_only_the_policy_server_can_hold_do_not_call_for_a_limit_of_the_charging_system() -> None:
    slow = {"kind": "latency", "target": "pcrf", "time_s": 600.0, "value_s": 4.0}
    text = said("dra-db-cpu", {"topology.dra.pool": 250.0, "timeline": [slow]})
    assert "overload: the agent's 250 transaction slots were all taken" in text, text
    assert "dra_pcrf_limit_per_s" in text
    assert "ocs" not in text


def test_a_what_if_is_what_the_diagnosis_speaks_of() -> None:
    text = said("lab-pcrf", pcrf_rate_per_s=400)
    for word in ("serves at most", "can be answered within"):
        assert word not in text
    assert "fewer than 50 requests/s" in said("lab-pcrf", pcrf_rate_per_s=30)


def test_requests_lost_by_the_imsi_manager_are_told() -> None:
    scenario = load("imsimgr-unknown").with_fields({"topology.imsimgr.capacity_per_s": 1000.0})
    record = ss.simulate(scenario, {"broadcast_off_percent": 70}, seeds=1).to_json()
    assert record["lost_by_imsimgr"] > 10_000
    assert f"lost {record['lost_by_imsimgr']:.0f} requests before the gate" in " ".join(record["diagnosis"])


def test_broken_handsets_are_called_a_standing_load() -> None:
    broken = {"name": "broken", "size": 20000, "broken": True, "ladder": {"kind": "eps"}}
    scenario = load("site-loss").model_dump(mode="json")
    scenario["subscribers"].append(broken)
    scenario["demand"] = {"rate_per_s": 1e6}
    text = " ".join(ss.simulate(Scenario.model_validate(scenario), {"nop_rate": 450}, seeds=1).to_json()["diagnosis"])
    assert "standing load: " in text


def test_a_calm_network_is_left_in_peace() -> None:
    text = said("site-loss", {"timeline": [], "churn_profile": None})
    for word in (
        "count limit",
        "collateral",
        "twitchy",
        "standing load",
        "are needed of",
        "degraded",
        "nodes were lost",
    ):
        assert word not in text


@pytest.mark.parametrize(
    ("nodes", "most"), [([1], 1), ([1, 1, 1, 1], 3), ([1, -1, 1, -1, 1], 1), ([2, -1, 1], 2), ([2, -2, 3], 3)]
)
def test_as_many_nodes_are_called_lost_as_were_out_at_a_time(nodes: list[int], most: int) -> None:
    """Losses, and restarts where below 0, one after another; of four nodes one always stays."""
    timeline = [
        {"kind": "node_loss" if n > 0 else "node_restart", "target": "mme", "time_s": 700.0 + 10 * i, "nodes": abs(n)}
        for i, n in enumerate(nodes)
    ]
    assert f"{most} of 4 nodes were lost" in said("mme-node-loss", {"timeline": timeline[::-1]})
