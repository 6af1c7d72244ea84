"""The vDRA's archive: one CSV per table, columns by the user's map, equal bytes for equal settings."""

import csv
import io
import json
import zipfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signalstorm.envs.model.core_knobs import THROTTLES
from signalstorm.envs.model.errors import InputError
from signalstorm.experiments.export import source, vdra, write
from tests.experiments.recommendation_data import recommendation

DRA: dict[str, Any] = {
    "dra_peer_limit_per_s": 1000,
    "dra_ccr_i_limit_per_s": "off",
    "dra_ccr_t_limit_per_s": 200,
    "dra_pcrf_limit_per_s": "off",
    "dra_limit_action": "3002",
    **dict(zip(THROTTLES, (20, 30, 40, 50, 60), strict=True)),
    "dynamic_hold_s": 30,
    "dynamic_step_percent": 20,
}
"""The published limits: 1,000 messages and 200 CCR-T per second of one peer, excess answered 3002."""


def content(**changes: Any) -> dict[str, Any]:
    made = recommendation()
    made["present"] |= DRA
    made["recommended"] |= {**DRA, **changes}
    return made


def unpacked(archive: bytes) -> dict[str, list[dict[str, str]]]:
    """The rows of each table of an archive, read with Python's own modules."""
    with zipfile.ZipFile(io.BytesIO(archive)) as packed:
        assert packed.testzip() is None
        return {
            name.removesuffix(".csv"): list(csv.DictReader(io.StringIO(packed.read(name).decode(), newline="")))
            for name in packed.namelist()
        }


def test_the_published_limits(tmp_path: Path) -> None:
    paths = write(content(dra_ccr_i_limit_per_s=200), tmp_path, ["vdra"], names={"gx-peer": "pgw2.example.net"})
    assert {path.name for path in paths} >= {"vdra.zip", "vdra-rollback.zip", "vdra-columns.yaml", "vdra-plugin.txt"}
    there = unpacked((tmp_path / "vdra.zip").read_bytes())
    assert set(there) == set(vdra.TABLES)
    assert [(row["Message Type"], row["Rate Limit"]) for row in there["Message Rate Limit Profile"]] == [
        ("CCR-I", "200"),
        ("CCR-T", "200"),
    ]
    peer = there["Peer Rate Limit Profile"][0]
    assert (peer["Peer"], peer["Direction"], peer["Rate Limit"]) == ("pgw2.example.net", "ingress", "1000")
    assert (peer["Discard Behavior"], peer["Result Code"]) == ("error", "3002")
    bands = there["Dynamic Throttling DB CPU Profile"]
    assert [(b["CPU From"], b["CPU To"], b["Throttle Percent"]) for b in bands] == [
        ("50", "55", "20"), ("55", "60", "30"), ("60", "65", "40"), ("65", "70", "50"), ("70", "100", "60"),
    ]  # fmt: skip
    back = unpacked((tmp_path / "vdra-rollback.zip").read_bytes())
    assert [row["Message Type"] for row in back["Message Rate Limit Profile"]] == ["CCR-T"]
    plugin = (tmp_path / "vdra-plugin.txt").read_text()
    assert "Reversal Hold Time: 30 s" in plugin
    assert "FILL IN FIRST" not in plugin
    assert "the columns' names are not published" in plugin
    with (tmp_path / "vdra" / "Message Rate Limit Profile.csv").open(newline="") as table:
        assert list(csv.DictReader(table)) == there["Message Rate Limit Profile"]


def test_columns_of_the_own_system(tmp_path: Path) -> None:
    (first,) = {text for name, text in vdra.files(source.read(content()), {}).items() if name == "vdra-columns.yaml"}
    assert isinstance(first, str)
    own = tmp_path / "mine.yaml"
    own.write_text(first.replace("limit: Rate Limit", "limit: TPS").replace("peer: Peer", "peer: Peer FQDN"))
    made = vdra.files(source.read(content()), {}, own)
    row = unpacked(bytes(made["vdra.zip"]))["Peer Rate Limit Profile"][0]  # type: ignore[arg-type]
    assert (row["Peer FQDN"], row["TPS"]) == ("< peer of the gateway at the Diameter agent, its FQDN >", "1000")
    assert made["vdra-columns.yaml"] == own.read_text()
    own.write_text(
        first.replace("  limit: Rate Limit\n", "  limt: Rate Limit\n", 1).replace("Dynamic Peer", "Dynamik Peer")
    )
    with pytest.raises(InputError) as said:
        vdra.read_columns(own)
    text = str(said.value)
    for part in ("limt: is no field", "Peer Rate Limit Profile.limit: has no column", "Dynamik Peer", "is missing"):
        assert part in text


def test_drop_has_no_result_code() -> None:
    row = vdra.rows(DRA | {"dra_limit_action": "drop"}, {})["Peer Rate Limit Profile"][0]
    assert (row.action, row.result_code, row.error_text) == ("drop", "", "")


def test_throttles_must_not_fall() -> None:
    with pytest.raises(InputError, match="must not fall from band to band"):
        vdra.rows(DRA | {"dynamic_throttle_60": 10}, {})


def test_a_network_without_an_agent() -> None:
    with pytest.raises(InputError, match="sets nothing of a Diameter agent"):
        vdra.files(source.read(recommendation()), {})


def test_staros_says_where_the_limits_are(tmp_path: Path) -> None:
    write(content(dra_ccr_i_limit_per_s=200), tmp_path, ["staros", "json"])
    said = json.loads((tmp_path / "recommended.json").read_text())["not_exported"]
    assert any("dra_ccr_i_limit_per_s = 200 per s is not written here, the target vdra writes it" in s for s in said)


limits = st.just("off") | st.integers(1, 100_000)


@given(
    peer=limits, ccr_i=limits, ccr_t=limits, pcrf=limits, ocs=limits,
    action=st.sampled_from(["drop", "3002", "3004", "5012"]),
    throttles=st.lists(st.integers(0, 100), min_size=5, max_size=5).map(sorted),
)  # fmt: skip
@settings(max_examples=100, deadline=None)
def test_every_limit_comes_back_from_the_archive(
    peer: Any, ccr_i: Any, ccr_t: Any, pcrf: Any, ocs: Any, action: str, throttles: list[int]
) -> None:
    wanted = {
        "dra_peer_limit_per_s": peer, "dra_ccr_i_limit_per_s": ccr_i, "dra_ccr_t_limit_per_s": ccr_t,
        "dra_pcrf_limit_per_s": pcrf, "dra_ocs_limit_per_s": ocs, "dra_limit_action": action,
        **dict(zip(THROTTLES, throttles, strict=True)),
    }  # fmt: skip
    _, columns = vdra.read_columns()
    names = {"gx-peer": "pgw", "pcrf-group": "pcrf", "ocs-group": "ocs"}
    tables = unpacked(vdra.archive(vdra.tables(vdra.rows(wanted, names), columns)))
    found: dict[str, Any] = dict.fromkeys(name for name in wanted if name.endswith("_per_s"))
    by_peer = {"pgw": "dra_peer_limit_per_s", "pcrf": "dra_pcrf_limit_per_s", "ocs": "dra_ocs_limit_per_s"}
    for row in tables["Peer Rate Limit Profile"]:
        found[by_peer[row["Peer"]]] = int(row["Rate Limit"])
        assert row["Direction"] == ("ingress" if row["Peer"] == "pgw" else "egress")
        assert (row["Result Code"] or "drop") == action
    for row in tables["Message Rate Limit Profile"]:
        found[f"dra_{row['Message Type'].lower().replace('-', '_')}_limit_per_s"] = int(row["Rate Limit"])
    bands = tables["Dynamic Throttling DB CPU Profile"]
    edges = [(int(row["CPU From"]), int(row["CPU To"])) for row in bands]
    assert all(low < high for low, high in edges)
    assert all(before[1] == after[0] for before, after in pairwise(edges))
    assert {name: value or "off" for name, value in found.items()} == {name: wanted[name] for name in found}
    assert [int(row["Throttle Percent"]) for row in bands] == throttles


def test_bands_are_those_of_the_scenario(tmp_path: Path) -> None:
    (tmp_path / "scenario.yaml").write_text("topology: {dra: {dynamic: {from_percent: [40, 50, 60, 70, 80]}}}")
    (tmp_path / "recommendation.json").write_text(json.dumps(content()))
    write(tmp_path, tmp_path, ["vdra"])
    for name in ("vdra.zip", "vdra-rollback.zip"):
        bands = unpacked((tmp_path / name).read_bytes())["Dynamic Throttling DB CPU Profile"]
        assert [(b["CPU From"], b["CPU To"]) for b in bands] == [
            ("40", "50"), ("50", "60"), ("60", "70"), ("70", "80"), ("80", "100"),
        ]  # fmt: skip
    (tmp_path / "scenario.yaml").write_text("topology: {dra: {dynamic: {from_percent: [40, 50, 60, 70.5, 80]}}}")
    with pytest.raises(InputError, match=r"from_percent: must be whole percentages.*70\.5"):
        write(tmp_path, tmp_path, ["vdra"])


def test_a_forced_archive_says_so_and_the_other_files_point_to_it(tmp_path: Path) -> None:
    write(
        content(dra_ccr_i_limit_per_s=200) | {"never_worse": False}, tmp_path, ["vdra", "staros", "runbook"], force=True
    )
    assert (tmp_path / "vdra-plugin.txt").read_text().startswith("WORSE THAN THE PRESENT SETTING")
    text = (tmp_path / "staros.cfg").read_text()
    assert "-> 200 per s (by the target vdra)" in text
    page = (tmp_path / "runbook.md").read_text()
    for said in (text, page):
        assert "{" not in said.replace("{ drop", "")
    assert "At the Diameter agent: `vdra.zip`" in page
    assert "At the Diameter agent: `vdra-rollback.zip`" in page
