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
    write(sgsn(), tmp_path, ["staros"], against=box)
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


def test_an_mme(box: Path, tmp_path: Path) -> None:
    made = recommendation(present=dict(MME), recommended={**MME, "gtpc_retries": 1, "diameter_tx_s": 3}, override={})
    write(made, tmp_path, ["staros"], against=box)
    text = (tmp_path / "staros.cfg").read_text()
    assert "  context ingress\n    egtp-service s11\n      gtpc max-retransmissions 1\n" in text
    assert "-gtpc max-retransmissions 2    # line " in (tmp_path / "staros.diff").read_text()
    assert "ims-auth-service gx" in (tmp_path / "staros-gateway.cfg").read_text()
