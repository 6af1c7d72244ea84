"""Alarms as trap lines: what is written is read back, storm by storm."""

from pathlib import Path
from typing import Any

import pytest

import signalstorm as ss
from signalstorm.experiments.alarms import trap_lines
from signalstorm.experiments.imports import traps
from signalstorm.experiments.imports.text import Text, read
from signalstorm.experiments.what_if import write_run
from tests.experiments.short_storms import short


def alarm(element: str, kind: str, set_s: float, cleared_s: float | None) -> dict[str, Any]:
    return {"element": element, "kind": kind, "set_s": set_s, "cleared_s": cleared_s}


LOG = [
    alarm("stp2/slc1", "congestion", 6194.0, None),
    alarm("stp2/slc4", "congestion", 6209.0, 6527.0),
    alarm("imsimgr", "cpu warn", 8580.0, 8600.0),
    alarm("stp1/slc2", "link down", 8590.0, 8700.0),
    alarm("stp2/slc4", "congestion", 90_000.0, 90_001.0),
]


def parsed(text: str, folder: Path) -> traps.Traps:
    (folder / "alarms.txt").write_text(text)
    return traps.read(folder / "alarms.txt")


@pytest.mark.parametrize(("clock_start", "start_s"), [("06:25", 23_100.0), (None, 0.0), ("23:30", 84_600.0)])
def test_trap_lines_are_read_back(clock_start: str | None, start_s: float, tmp_path: Path) -> None:
    found = parsed(trap_lines(LOG[:4], clock_start), tmp_path)
    assert found.unknown == ()
    day_s = 86_400.0
    origin = (start_s + LOG[0]["set_s"]) // day_s * day_s  # a log knows no days before its first line
    shifted = [
        {
            **row,
            **{key: row[key] if row[key] is None else row[key] + start_s - origin for key in ("set_s", "cleared_s")},
        }
        for row in LOG[:4]
    ]
    assert found.alarms() == shifted


def test_a_line_reads_as_equipment_writes_it() -> None:
    assert trap_lines(LOG[1:3], "06:25").splitlines() == [
        "08:08:29 STP-2 SLC-4 congestion",
        "08:13:47 STP-2 SLC-4 congestion cleared",
        "08:48:00 IMSI manager CPU warn",
        "08:48:20 IMSI manager CPU warn cleared",
    ]


def test_a_simulated_run_leaves_a_log_of_each_storm_with_alarms(tmp_path: Path) -> None:
    result = ss.simulate(short(rate_per_s=20.0), seeds=2, record=True)
    write_run(result, tmp_path)
    assert {path.name for path in (tmp_path / "traps").iterdir()} == {"storm-0.txt", "storm-1.txt"}
    for seed in (0, 1):
        text = read(tmp_path / "traps" / f"storm-{seed}.txt")
        assert isinstance(text, Text)
        own = [row for row in result.alarms if row["seed"] == seed]
        found = traps.parse(text).alarms()
        assert [(row["element"], row["kind"]) for row in found] == [(row["element"], row["kind"]) for row in own]
        start_s = 6 * 3600.0 + 25 * 60.0
        assert [row["set_s"] - start_s for row in found] == [float(int(row["set_s"])) for row in own]


def test_a_calm_run_leaves_none(tmp_path: Path) -> None:
    write_run(ss.simulate(short(rate_per_s=5000.0), seeds=1, record=True), tmp_path)
    assert not (tmp_path / "traps").exists()
