"""An export for one box: from its own values, with its own names, one association at a time, and the difference."""

from pathlib import Path
from typing import Any

import pytest

from signalstorm.envs.model.errors import InputError
from signalstorm.experiments.export import write
from tests.experiments.export.grammar import read
from tests.experiments.imports.running import MME, RUNNING, SGSN
from tests.experiments.recommendation_data import recommendation

ADVISED = {**SGSN, "nop_rate": 600, "nop_queue": 3000, "rto_min_ms": 500, "rto_initial_ms": 500, "rto_max_ms": 500}


@pytest.fixture
def box(tmp_path: Path) -> Path:
    file = tmp_path / "box.cfg"
    file.write_text(RUNNING)
    return file


def sgsn(**present: Any) -> dict[str, Any]:
    return recommendation(present={**SGSN, **present}, recommended=ADVISED, override=ADVISED)


def test_each_association_by_itself_with_its_names(box: Path, tmp_path: Path) -> None:
    write(sgsn(), tmp_path, ["staros"], against=box)
    text = (tmp_path / "staros.cfg").read_text()
    assert "FILL IN FIRST" not in text
    assert "< " not in "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    assert [line.strip() for line in text.splitlines() if "psp instance" in line] == [
        "psp instance 1",
        "psp instance 4",
    ]
    for name, start in (("staros.cfg", SGSN), ("staros-rollback.cfg", ADVISED)):
        limits = {key: int(str(value)) for key, value in start.items() if key.startswith("rto_")}
        for block in (tmp_path / name).read_text().split("\nend\n"):
            lines = [line for line in block.splitlines() if not line.startswith("#")]
            if lines:
                read("\n".join([*lines, "end", ""]), limits)
        assert (tmp_path / name).read_text().count("no associate") == 2
    assert "variant itu" in text
    assert "associate asp instance 1" in text


def test_the_difference(box: Path, tmp_path: Path) -> None:
    write(sgsn(), tmp_path, ["staros"], against=box)
    lines = (tmp_path / "staros.diff").read_text().splitlines()
    assert lines[0] == f"--- {box}"
    at = lines.index("@@ ss7-domain 1 > peer-server 2 > psp 4 @@")
    assert lines[at + 1] == "+sctp-rto-min 5    # rto_min_ms = 5 units of 100 ms = 500 ms"
    assert "-sctp-rto-max 600    # line 35: rto_max_ms = 600 units of 100 ms = 60000 ms" in lines[at:]
    assert "+sctp-rto-max 5    # rto_max_ms = 5 units of 100 ms = 500 ms" in lines[at:]
    assert sum(line.startswith("-network-overload-protection sgsn") for line in lines) == 1


def test_a_box_that_is_set_otherwise_is_refused_unless_forced(box: Path, tmp_path: Path) -> None:
    made = sgsn(nop_rate=800, nop_queue=4000)
    with pytest.raises(InputError, match=r"nop_rate is 500 per s on it, 800 per s was compared.*--force"):
        write(made, tmp_path, ["staros"], against=box)
    assert not (tmp_path / "staros.cfg").exists()
    write(made, tmp_path, ["staros"], against=box, force=True)
    assert (
        (tmp_path / "staros.cfg")
        .read_text()
        .startswith("# THE BOX DIFFERS from the setting that was compared: nop_rate")
    )
    assert "per-second 500 " in (tmp_path / "staros-rollback.cfg").read_text()


def test_associations_that_differ_are_each_led_from_where_they_are(box: Path, tmp_path: Path) -> None:
    """PSP 4 has 0.3 s already: there RTO-max goes up first, on PSP 1 RTO-min goes down first."""
    low = "sctp-rto-max 5\n        sctp-rto-initial 3\n        sctp-rto-min 3\n        sctp-max-assoc-retx 10"
    box.write_text(RUNNING.replace("sctp-rto-max 600\n        sctp-max-assoc-retx 10", low))
    with pytest.raises(InputError, match="rto_min_ms is 300 ms on PSP 4 of peer server 2 in SS7 domain 1, 1000 ms was"):
        write(sgsn(), tmp_path, ["staros"], against=box)
    write(sgsn(), tmp_path, ["staros"], against=box, force=True)
    text = (tmp_path / "staros.cfg").read_text()
    first, second = (part.split("associate asp")[0] for part in text.split("psp instance ")[1:])
    assert [line.split()[0] for line in first.splitlines() if "sctp-rto" in line and "#" not in line] == [
        "sctp-rto-min", "sctp-rto-initial", "sctp-rto-max",
    ]  # fmt: skip
    assert [line.split()[0] for line in second.splitlines() if "sctp-rto" in line and "#" not in line] == [
        "sctp-rto-initial", "sctp-rto-min",
    ]  # fmt: skip
    back = (tmp_path / "staros-rollback.cfg").read_text()
    assert "sctp-rto-min 3" in back
    assert "sctp-rto-max 600" in back


SLOWER = (
    "sctp-rto-max 300\n        sctp-rto-initial 20\n        sctp-rto-min units-10ms 25\n        sctp-max-assoc-retx 20"
)
"""PSP 4 with other limits and retransmissions than the record's, one of them in the finer unit."""


def test_every_association_is_compared_and_every_difference_named(box: Path, tmp_path: Path) -> None:
    box.write_text(RUNNING.replace("sctp-rto-max 600\n        sctp-max-assoc-retx 10", SLOWER))
    with pytest.raises(InputError) as refused:
        write(sgsn(), tmp_path, ["staros"], against=box)
    said = [str(fault) for fault in refused.value.faults]
    assert len(said) == 4
    for knob, value in (
        ("rto_min_ms", "250 ms"),
        ("rto_initial_ms", "2000 ms"),
        ("rto_max_ms", "30000 ms"),
        ("max_assoc_retx", "20 retransmissions"),
    ):
        assert any(f"{knob} is {value} on PSP 4 of peer server 2 in SS7 domain 1, " in one for one in said)
    write(sgsn(), tmp_path, ["staros"], against=box, names={"psp": "1"})
    assert "psp instance 4" not in (tmp_path / "staros.cfg").read_text()


def test_remarks_beside_an_association_are_of_its_own_values(box: Path, tmp_path: Path) -> None:
    box.write_text(RUNNING.replace("sctp-rto-max 600\n        sctp-max-assoc-retx 10", SLOWER))
    write(sgsn(), tmp_path, ["staros"], against=box, force=True)
    there, back = (joined(tmp_path / name) for name in ("staros.cfg", "staros-rollback.cfg"))
    first, second = there.split("psp instance 4")[0].split("psp instance 1")
    for part in (
        "rto_min_ms = 500 ms (before: 250 ms)",
        "rto_max_ms = 500 ms (before: 30000 ms)",
        "max_assoc_retx = 10 retransmissions (before: 20 retransmissions)",
    ):
        assert part in second
        assert part not in first
    assert "rto_max_ms = 500 ms (before: 60000 ms)" in first.split("What stays")[1]
    assert "changes nothing" not in there + back
    for part in (
        "  rto_min_ms: 250 ms -> 500 ms on PSP 4 of peer server 2 in SS7 domain 1",
        "  rto_min_ms: 1000 ms -> 500 ms on PSP 1 of peer server 2 in SS7 domain 1",
        "  max_assoc_retx: 20 retransmissions -> 10 retransmissions on PSP 4 of peer server 2 in SS7 domain 1",
    ):
        assert part in there
    assert "max_assoc_retx" not in there.split("What stays: ")[1].split("\n")[0]
    assert "sctp-rto-min units-10ms 25\n" in back
    assert "25 units of 10 ms = 250 ms" in back
    assert "rto_max_ms = 30000 ms (before: 500 ms)" in back
    for text in (there, back):
        assert "DO NOT LOAD THIS AS A FILE" in text
        assert "repeat it for each" not in text
        assert text.count("will most likely end all sessions on its peer server") == 2


def test_names_that_the_box_does_not_have_are_refused(box: Path, tmp_path: Path) -> None:
    for names, said in (
        ({"psp": "9"}, r"psp: must be one that is on the box, .*, but got '9'\. It has: 1, 4\."),
        ({"peer-server": "3", "psp": "1"}, r"peer-server: must be .* It has: 2\."),
        ({"mme-service": "mme2"}, r"mme-service: must be .* It has: mme1\."),
        ({"egtp-context": "nowhere"}, r"egtp-context: must be .* It has: .*ingress"),
    ):
        with pytest.raises(InputError, match=said):
            write(sgsn(), tmp_path, ["staros"], against=box, names=names)
    assert not (tmp_path / "staros.cfg").exists()
    more = "    peer-server id 3\n      psp instance 7\n        associate asp instance 1\n      #exit\n    #exit\n"
    box.write_text(RUNNING.replace("    peer-server id 2\n", f"{more}    peer-server id 2\n"))
    with pytest.raises(InputError, match=r"must name a PSP that is on the box.*got peer-server=3, psp=4"):
        write(sgsn(), tmp_path, ["staros"], against=box, names={"peer-server": "3", "psp": "4"})


def test_the_gate_comes_first_where_its_rate_falls(box: Path, tmp_path: Path) -> None:
    """A gate that lets more through waits for the links, one that lets less through does not wait."""
    write(sgsn(), tmp_path, ["staros"], against=box)
    for name, gate_first in (("staros.cfg", False), ("staros-rollback.cfg", True)):
        lines = [line.strip() for line in (tmp_path / name).read_text().splitlines() if line[:1] != "#"]
        gate = next(i for i, line in enumerate(lines) if line.startswith("network-overload-protection"))
        assert (gate < lines.index("no associate")) == gate_first


def mme(present: dict[str, Any], recommended: dict[str, Any]) -> dict[str, Any]:
    return recommendation(present={**MME, **present}, recommended={**MME, **recommended}, override={})


@pytest.mark.parametrize(
    "tail",
    [
        "tau reject-with-emm-cause no-sec-ctxt-in-nw fwd-reloc reject",
        "tau drop fwd-reloc drop ddn reject-with-cause unable-to-page-ue",
    ],
)
def test_what_the_gate_does_with_other_requests_stays(box: Path, tmp_path: Path, tail: str) -> None:
    """The model has attaches only; a line that is written anew must not change the rest, neither there nor back."""
    box.write_text(RUNNING.replace("tau reject-with-emm-cause congestion fwd-reloc drop", tail))
    write(mme({}, {"nop_rate": 350, "nop_queue": 1400}), tmp_path, ["staros"], against=box)
    for name in ("staros.cfg", "staros-rollback.cfg"):
        text = joined(tmp_path / name)
        assert f" action attach reject-with-emm-cause congestion {tail} queue-size 1" in text
        assert "`tau" in text
        assert "tau takes the action of attach" not in text
        assert "references of releases 16 and 17 print" not in text
        read((tmp_path / name).read_text())


def test_the_runbook_names_what_differs_on_each_association(box: Path, tmp_path: Path) -> None:
    box.write_text(RUNNING.replace("sctp-rto-max 600\n        sctp-max-assoc-retx 10", SLOWER))
    write(sgsn(), tmp_path, ["runbook"], against=box, force=True)
    text = (tmp_path / "runbook.md").read_text().replace("\\", "")
    assert "**THE BOX DIFFERS from the setting that was compared: rto_min_ms is 250 ms on PSP 4" in text
    assert "| max_assoc_retx on PSP 4 of peer server 2 in SS7 domain 1 | 20 retransmissions | **10 retrans" in text
    assert "| rto_max_ms on PSP 1 of peer server 2 in SS7 domain 1 | 60000 ms | **500 ms** |" in text
    assert "max_assoc_retx on PSP 1" not in text


REFUSING = {"nop_action": "reject-congestion"}


@pytest.mark.parametrize("timer", [900, 0, 1500, None])
def test_the_way_back_sets_the_back_off_that_the_box_had(box: Path, tmp_path: Path, timer: int | None) -> None:
    own = "" if timer is None else f"emm t3346-timeout {timer}"
    box.write_text(RUNNING.replace("reject-with-emm-cause congestion", "drop").replace("emm t3346-timeout 900", own))
    write(mme({"nop_action": "drop", "t3346_s": 0}, {**REFUSING, "t3346_s": 0}), tmp_path, ["staros"], against=box)
    there, back = (joined(tmp_path / name) for name in ("staros.cfg", "staros-rollback.cfg"))
    known = 1500 if timer is None else timer
    if known == 0:  # it has what is asked for already
        assert "changes nothing: this is in force already" in there.split("emm t3346-timeout 0\n")[0]
        assert "t3346-timeout" not in back
        assert "t3346_s 0 s" in there.split("What stays: ")[1].split("\n")[0]
        return
    assert "emm t3346-timeout 0\n" in there
    assert f"  t3346_s: {known} s -> 0 s" in there
    assert "changes nothing" not in there.split("emm t3346-timeout 0\n")[0]
    assert f"  t3346_s: 0 s -> {known} s" in back
    assert ("emm t3346-timeout 900\n" if known == 900 else "default emm t3346-timeout\n") in back
    assert "the value before the change" not in back


def test_a_gate_that_no_longer_refuses_leaves_the_back_off_alone(tmp_path: Path) -> None:
    """Its default would be 1500 s, which nobody asked for; other refusals of the box carry it, too."""
    write(mme({**REFUSING, "t3346_s": 900}, {"nop_action": "drop", "t3346_s": 0}), tmp_path, ["staros"])
    there, back = (joined(tmp_path / name) for name in ("staros.cfg", "staros-rollback.cfg"))
    assert "t3346-timeout" not in there
    assert "emm t3346-timeout 900\n" in back
    assert "default emm" not in back
    for text in (there, back):
        assert "t3346_s 900 s" in text.split("What stays: ")[1].split("\n")[0]
    assert "t3346_s stays as it is on the box" in there


def test_a_back_off_of_an_unknown_box_is_named_as_a_change(tmp_path: Path) -> None:
    write(mme({"nop_action": "drop"}, {**REFUSING, "t3346_s": 0}), tmp_path, ["staros", "runbook"])
    page = (tmp_path / "runbook.md").read_text().replace("\\", "")
    assert any(line.startswith("| t3346_s: ") and "| the box's own | **0 s** |" in line for line in page.splitlines())
    there, back = (joined(tmp_path / name) for name in ("staros.cfg", "staros-rollback.cfg"))
    assert "  t3346_s: the box's own -> 0 s" in there
    assert "changes nothing" not in there.split("emm t3346-timeout 0")[0]
    assert "  t3346_s: 0 s -> the box's own" in back
    assert "t3346_s = the box's own (before: 0 s)" in back
    assert "CONFIRM ON BOX: the value before the change, if it was not the default" in back


def joined(file: Path) -> str:
    """Return a file with wrapped remarks on one line."""
    return file.read_text().replace("\n#     ", " ").replace("\n#   ", "\n#   ").replace("\n# ", "\n")


def test_an_mme(box: Path, tmp_path: Path) -> None:
    made = recommendation(present=dict(MME), recommended={**MME, "gtpc_retries": 1, "diameter_tx_s": 3}, override={})
    write(made, tmp_path, ["staros"], against=box)
    text = (tmp_path / "staros.cfg").read_text()
    assert "  context ingress\n    egtp-service s11\n      gtpc max-retransmissions 1\n" in text
    assert "-gtpc max-retransmissions 2    # line " in (tmp_path / "staros.diff").read_text()
    assert "ims-auth-service gx" in (tmp_path / "staros-gateway.cfg").read_text()
