"""Running configurations: what is understood, with its line, and what makes the present setting."""

import re
from collections.abc import Callable

import pytest

from signalstorm.envs.model.errors import InputError
from signalstorm.envs.model.scenario_file import load
from signalstorm.experiments.imports import present
from tests.experiments.imports.running import LAB, MME, MME_LINE, RUNNING, SGSN, SGSN_LINE, parsed, values


def test_both_gates_links_and_timers() -> None:
    found = parsed(RUNNING)
    assert not found.troubles
    assert found.whole
    assert values(found, "gprs") == SGSN
    assert values(found, "eps") == MME


def test_every_family_is_understood_with_its_line_and_its_unit() -> None:
    found = parsed(RUNNING)
    by_text = {s.text: s for s in found.statements}
    for line, shown in {
        "sctp-rto-max 600": "rto_max_ms = 600 units of 100 ms = 60000 ms",
        "sctp-sack-period 2": "sack_period_ms = 2 units of 100 ms = 200 ms",
        "gmm T3302-timeout 12": "t3302_s = 12 units of 60 s = 720 s = 720000 ms",
        "emm t3346-timeout 900": "t3346_s = 900 s = 900000 ms",
        "gtpc retransmission-timeout-ms 3000": "gtpc_timeout_ms = 3000 ms",
        "diameter request-timeout 100 deciseconds": "diameter_tx_s = 100 units of 0.1 s = 10 s = 10000 ms",
        "timeout sctp-heart-beat 30": "heartbeat_s = 30 s = 30000 ms",
        "task facility imsimgr avoid-sessmgr-broadcast cpu_threshold 60": "broadcast_off_percent = 60 %",
    }.items():
        assert by_text[line].shown == shown
        assert line in RUNNING.splitlines()[by_text[line].line - 1]
    ddn = next(s for s in found.statements if s.slot == "ddn throttle")
    assert (ddn.values["ddn_poll_s"], ddn.values["throttle_hour"], ddn.values["stab_hour"]) == (2, 240, 8)
    slots = {s.slot for s in found.statements}
    assert {"active-call-policy rau", "congestion-control threshold system-cpu-utilization critical"} <= slots
    assert "msg-type credit-control-initial failure-type any" in slots


@pytest.mark.parametrize("kind", ["sgtp-service", "iups-service", "saegw-service", "ggsn-service"])
def test_gtp_of_another_service_is_not_the_mmes(kind: str) -> None:
    """An SGSN's GTP service has the commands of an eGTP service; they stand in no wrong place and set no knob."""
    block = f"    {kind} gn\n      gtpc retransmission-timeout 7\n      gtpc max-retransmissions 1\n    exit\n"
    found = parsed(RUNNING.replace("    sgsn-service sgsn1\n", f"{block}    sgsn-service sgsn1\n"))
    assert not found.troubles
    assert values(found, "gprs") == SGSN
    assert values(found, "eps") == MME
    understood = [s.shown for s in found.statements if s.modes and s.modes[-1].name == "gn"]
    assert (understood == ["gtpc_timeout_ms = 7 units of 1000 ms = 7000 ms", "gtpc_retries = 1 repeats"]) == (
        kind == "sgtp-service"
    )


def test_unknown_lines_are_listed() -> None:
    found = parsed(RUNNING)
    assert "cli hidden" in [line.text for line in found.unknown]
    assert found.unknown_count == len(found.unknown)
    known = {s.line for s in found.statements}
    assert known.isdisjoint(line.number for line in found.unknown)


@pytest.mark.parametrize(
    "mend",
    [
        lambda text: text.replace("\n", "\r\n").encode(),
        lambda text: text.replace("\n", "\r").encode(),
        lambda text: b"\xef\xbb\xbf" + text.encode(),
        lambda text: text.encode("utf-16"),
        lambda text: text.encode("utf-16-le"),
        lambda text: text.replace("stp2", "Zürich").encode("latin-1"),
        lambda text: re.sub(r"^ +", "", text, flags=re.MULTILINE).encode(),
        lambda text: re.sub(r"^ +", lambda blanks: "\t" * (len(blanks[0]) // 2), text, flags=re.MULTILINE).encode(),
        lambda text: text.replace("\n  ss7", "\n--More--\x08\x08\x08        \x08\x08  ss7").encode(),
        lambda text: text.replace("  context ingress", "--More--\r            \r  context ingress").encode(),
        lambda text: f"[local]sgsn1# show configuration\n{text}[local]sgsn1# \n".encode(),
        lambda text: text.replace("config\n", "\x1b[2J\x1b[1;31mconfig\x1b[0m\n", 1).encode(),
        lambda text: text.replace(" ", "\xa0").encode(),
        lambda text: text.replace("mme1", '"mme "core" 1"').encode(),
        lambda text: text.replace("congestion queue-size 1500", "congestion queue-si\nze 1500").encode(),
        lambda text: text.replace("action reject-with-cause", "action\nreject-with-cause").encode(),
        lambda text: text.replace("\n", "\n\n\n").encode(),
        lambda text: (text + text).encode(),
        lambda text: text.replace("#exit", "# exit").encode(),
        lambda text: text.replace("  sgsn-global", "  new-block x\n    sctp-rto-x 3\n  #exit\n  sgsn-global").encode(),
        lambda text: text.upper().replace("MME1", "mme1").encode(),
    ],
)  # fmt: skip
def test_what_a_terminal_does_to_it_changes_nothing(mend: Callable[[str], bytes]) -> None:
    found = parsed(mend(RUNNING))
    assert not found.troubles
    assert values(found, "gprs") == SGSN
    assert values(found, "eps") == MME


def test_other_spellings_of_the_gate() -> None:
    blanks = SGSN_LINE.replace("reject-with-cause", "reject with cause")
    assert values(parsed(RUNNING.replace(SGSN_LINE, blanks)), "gprs") == SGSN
    required = MME_LINE.replace("fwd-reloc drop", "fwd-reloc drop ddn drop")
    assert values(parsed(RUNNING.replace(MME_LINE, required)), "eps") == MME
    off = RUNNING.replace(SGSN_LINE, "default network-overload-protection sgsn-new-connections-per-second")
    assert values(parsed(off), "gprs")["nop_rate"] == "off"
    assert values(parsed(RUNNING.replace(f"  {SGSN_LINE}\n", "")), "gprs")["nop_rate"] == "off"
    short = SGSN_LINE.replace(" queue-size 1500", "").replace(" wait-time 5", "")
    gate = values(parsed(RUNNING.replace(SGSN_LINE, short)), "gprs")
    assert (gate["nop_wait_s"], "nop_queue" in gate) == (5, False)


def test_forms_of_older_releases() -> None:
    seconds = RUNNING.replace("gtpc retransmission-timeout-ms 3000", "gtpc retransmission-timeout 3")
    assert values(parsed(seconds), "eps") == MME
    fine = RUNNING.replace("sctp-rto-initial 30", "sctp-rto-initial 30\n        sctp-rto-min units-10ms 100")
    assert not parsed(fine).troubles


def test_a_part_of_a_file_says_nothing_of_what_it_leaves_out() -> None:
    part = RUNNING.split("\n", 15)[-1].removesuffix("end\n")
    assert SGSN_LINE not in part
    found = parsed(part)
    assert "nop_rate" not in values(found, "gprs")
    assert any("nothing is concluded" in note for note in found.notes)


def test_associations_that_differ_are_asked_about() -> None:
    found = parsed(RUNNING.replace("sctp-rto-max 600", "sctp-rto-max 50", 1))
    with pytest.raises(InputError, match=r"rto_max_ms: differs.*5000 ms: line 28.*60000 ms: line 35.*--name psp=1"):
        values(found, "gprs")
    assert values(found, "gprs", psp="1")["rto_max_ms"] == 5000
    assert values(found, "gprs", psp="4")["rto_max_ms"] == 60000
    with pytest.raises(InputError, match="kind of object"):
        values(found, "gprs", pps="4")


def test_half_a_second_or_five() -> None:
    """`sctp-rto-max 5` is 0.5 s and illegal beside RTO-min and RTO-initial; the message asks which is meant."""
    found = parsed(RUNNING.replace("sctp-rto-max 600", "sctp-rto-max 5"))
    said = r"RTO-min 1000 ms by default, RTO-initial 3000 ms, RTO-max 500 ms.*5 counts in 100 ms and is 0.5 s"
    with pytest.raises(InputError, match=said + r".*5 s would be sctp-rto-max 50"):
        values(found, "gprs")
    assert values(found, "eps") == MME


def test_a_limit_out_of_order_below_rto_max_asks_nothing_about_units() -> None:
    found = parsed(RUNNING.replace("sctp-rto-initial 30", "sctp-rto-initial 30\n        sctp-rto-min 40"))
    with pytest.raises(InputError, match="RTO-min 4000 ms, RTO-initial 3000 ms") as refused:
        values(found, "gprs")
    assert "counts in 100 ms" not in str(refused.value)
    assert "see on the box" in str(refused.value).lower()


def test_into_a_scenario() -> None:
    sgsn = present.into(parsed(RUNNING), load("incident-2014"))
    assert dict(sgsn.present) == SGSN
    assert sgsn.topology.gate is not None
    assert sgsn.topology.gate.instances == 4
    script = "config\n  network-overload-protection sgsn-new-connections-per-second 800 action drop wait-time 5\nend\n"
    changed = present.into(parsed(script), load("incident-2014-advised"))
    kept = load("incident-2014-advised").present
    expected = {**kept, "nop_rate": 800, "nop_action": "drop", "nop_wait_s": 5}
    del expected["nop_queue"]  # that of the old rate; the new line leaves it to the box
    assert dict(changed.present) == expected
    lab = present.into(parsed(RUNNING), load("lab-pcrf"))
    assert dict(lab.present) == LAB
    with pytest.raises(InputError, match="sets nothing that the scenario lab-pcrf has"):
        present.into(parsed("config\n  task facility imsimgr max 4\nend\n"), load("lab-pcrf"))


def test_what_is_no_configuration_is_refused() -> None:
    with pytest.raises(InputError, match="no command of a StarOS running configuration"):
        parsed("hostname router1\ninterface Gi0/0\n ip address 1.1.1.1 255.0.0.0\n")


def test_what_an_mme_of_release_10_asks_of_the_sgw() -> None:
    """Its factor counts where the SGW has none of its own; rules of the charging service close nothing else."""
    profile = """config
  lte-policy
    congestion-action-profile critical1
      ddn sgw-throttling throttle-factor 40 delay 120
    exit
  exit
  active-charging service acs
    ruledef all
      ip any-match = TRUE
    exit
    credit-control group gy
      failure-handling initial-request continue go-offline-after-tx-expiry
      failure-handling update-request terminate
    exit
  exit
{}end
"""
    assert values(parsed(profile.format("")), "eps") == {
        "nop_rate": "off",
        "ddn_factor_percent": 40,
        "ddn_delay_s": 120,
        "gy_failure_action": "continue",
    }
    own = "  context c\n    sgw-service s\n      ddn throttle arp-watermark 9 rate-limit 100 time-factor 10 "
    own += "throttle-factor 10 increment-factor 10 throttle-time-sec 5 stab-time-sec 5\n    exit\n  exit\n"
    assert values(parsed(profile.format(own)), "eps")["ddn_factor_percent"] == 10


def test_a_choice_of_which_there_is_no_object_is_refused() -> None:
    """Its values would be left out without a word; a PSP is not to be taken from another peer server, either."""
    more = "    peer-server id 4\n      psp instance 7\n        sctp-rto-max 50\n      #exit\n    #exit\n"
    box = parsed(RUNNING.replace("    peer-server id 2\n", f"{more}    peer-server id 2\n"))
    assert present.present(box, "gprs", {"psp": "7"})["rto_max_ms"].value == 5000
    assert present.present(box, "gprs", {"psp": "4", "peer-server": "2"})["rto_max_ms"].value == 60_000
    for names, said in (
        ({"psp": "9"}, r"--name: psp: must name an object of box.cfg, but got '9'\. There are: 7, 1, 4\."),
        ({"psp": "4", "peer-server": "4"}, r"psp: must .*box.cfg together with peer-server=4, but got '4'"),
    ):
        with pytest.raises(InputError, match=said):
            present.present(box, "gprs", names)
    with pytest.raises(InputError, match=r"psp: .*It has no psp; leave the choice out"):
        present.present(parsed(f"config\n  {SGSN_LINE}\nend\n"), "gprs", {"psp": "1"})
