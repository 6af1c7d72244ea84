"""CPS vDRA: limits as the four tables of custom reference data, one CSV each in an archive.

The names of the tables are published, those of their columns are not: they come from a map that the user compares with
an export of the own system and edits. What an archive cannot hold, the plug-in's two numbers, stands in a text beside.
"""

import csv
import io
import os
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from importlib import resources
from itertools import pairwise
from pathlib import Path
from typing import Any

from signalstorm import __version__
from signalstorm.envs.model import scenario_file, yaml_lines
from signalstorm.envs.model.core_knobs import THROTTLES
from signalstorm.envs.model.errors import ABSENT, Fault, InputError, Shown, wrong_input
from signalstorm.envs.model.knob_table import KNOBS, OFF, KnobValue
from signalstorm.envs.model.wording import nearest
from signalstorm.experiments.export.commands import NAMES
from signalstorm.experiments.export.source import ALTERED, CPU_EDGES, WORSE, Source

ARCHIVE, ROLLBACK, COLUMNS, PLUGIN = "vdra.zip", "vdra-rollback.zip", "vdra-columns.yaml", "vdra-plugin.txt"
"""The files of the target."""
_DEFAULT_COLUMNS = "vdra_columns.yaml"
_STAMP = (2000, 1, 1, 0, 0, 0)
"""Time of every file in the archive: equal settings give equal archives."""
_CODES = {
    "3002": "UNABLE_TO_DELIVER",
    "3004": "TOO_BUSY",
    "5012": "UNABLE_TO_COMPLY",
}
_PROFILE = "signalstorm"
_PEERS = ("gx-peer", "pcrf-group", "ocs-group")
"""Keys of `commands.NAMES` for the peers of the tables."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerLimit:
    """A row of Peer Rate Limit Profile."""

    peer: str
    direction: str
    limit: int
    action: str
    result_code: str
    error_text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageLimit:
    """A row of Message Rate Limit Profile."""

    peer: str
    direction: str
    message: str
    limit: int
    action: str
    result_code: str
    error_text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DynamicPeer:
    """A row of Dynamic Peer Rate Limit Profile."""

    peer: str
    profile: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuBand:
    """A row of Dynamic Throttling DB CPU Profile."""

    profile: str
    cpu_from: int
    cpu_to: int
    throttle: int


TABLES: dict[str, type[Any]] = {
    "Peer Rate Limit Profile": PeerLimit,
    "Message Rate Limit Profile": MessageLimit,
    "Dynamic Peer Rate Limit Profile": DynamicPeer,
    "Dynamic Throttling DB CPU Profile": CpuBand,
}
"""The rows of each table, by the table's published name."""

Columns = Mapping[str, Mapping[str, str]]
"""By table: the column's name of each field, in the order of the columns."""


def rows(
    setting: Mapping[str, KnobValue], names: Mapping[str, str], cpu_edges: Sequence[float] = CPU_EDGES
) -> dict[str, list[Any]]:
    """Return the rows of each table.

    Args:
        setting: The setting.
        names: Names of the peers.
        cpu_edges: Lower edge of each band of the session database's CPU [%].

    Raises:
        InputError: If throttles fall from band to band, or an edge is no whole number.
    """
    gateway, pcrf, ocs = (names.get(key, _mark(key)) for key in _PEERS)
    action = str(setting.get("dra_limit_action", KNOBS["dra_limit_action"].default))
    beyond = {
        "action": "drop" if action == "drop" else "error",
        "result_code": "" if action == "drop" else action,
        "error_text": "" if action == "drop" else f"{_CODES[action]}: rate limit exceeded",
    }
    found: dict[str, list[Any]] = {table: [] for table in TABLES}
    for knob, peer, direction in (
        ("dra_peer_limit_per_s", gateway, "ingress"),
        ("dra_pcrf_limit_per_s", pcrf, "egress"),
        ("dra_ocs_limit_per_s", ocs, "egress"),
    ):
        limit = setting.get(knob, OFF)
        if not isinstance(limit, str):
            found["Peer Rate Limit Profile"].append(
                PeerLimit(peer=peer, direction=direction, limit=round(limit), **beyond)
            )
    for knob, message in (("dra_ccr_i_limit_per_s", "CCR-I"), ("dra_ccr_t_limit_per_s", "CCR-T")):
        limit = setting.get(knob, OFF)
        if not isinstance(limit, str):
            found["Message Rate Limit Profile"].append(
                MessageLimit(peer=gateway, direction="ingress", message=message, limit=round(limit), **beyond)
            )
    throttles = {name: setting[name] for name in THROTTLES if name in setting}
    if throttles:
        percents = [round(float(value)) for value in throttles.values()]
        if percents != sorted(percents):
            rule = "must not fall from band to band"
            raise wrong_input(
                rule, Shown(", ".join(map(str, percents))), "raise the later ones", key="dynamic_throttle"
            )
        found["Dynamic Peer Rate Limit Profile"].append(DynamicPeer(peer=gateway, profile=_PROFILE))
        if any(edge != round(edge) for edge in cpu_edges):
            rule, shown = "must be whole percentages for the vDRA's table", Shown(", ".join(map(str, cpu_edges)))
            raise wrong_input(rule, shown, "change them in the scenario", key="topology.dra.dynamic.from_percent")
        bands = dict(zip(THROTTLES, pairwise([*map(round, cpu_edges), 100]), strict=True))
        for name, percent in zip(throttles, percents, strict=True):
            low, high = bands[name]
            found["Dynamic Throttling DB CPU Profile"].append(
                CpuBand(profile=_PROFILE, cpu_from=low, cpu_to=high, throttle=percent)
            )
    return found


def files(
    source: Source, names: Mapping[str, str], columns: str | os.PathLike[str] | None = None
) -> dict[str, str | bytes]:
    """Return the files by name: the archive, the way back, the columns' map, the plug-in's numbers, and each table.

    Raises:
        InputError: If the scenario has no Diameter agent, the map is wrong, or a setting cannot be written.
    """
    if not _concerned(source.recommended):
        rule = "sets nothing of a Diameter agent"
        raise wrong_input(rule, way_out="export it as staros", file=source.origin)
    content, known = read_columns(columns)
    there, back = (tables(rows(one, names, source.cpu_edges), known) for one in (source.recommended, source.present))
    return {
        ARCHIVE: archive(there),
        ROLLBACK: archive(back),
        COLUMNS: content,
        PLUGIN: _plugin(source, [NAMES[key] for key in _PEERS if any(_mark(key) in text for text in there.values())]),
        **{f"vdra/{name}": text for name, text in there.items()},
    }


def tables(found: Mapping[str, list[Any]], columns: Columns) -> dict[str, str]:
    """Return the CSV of each table by its file's name; a table without rows has its header only."""
    texts = {}
    for table, own in found.items():
        content = io.StringIO()
        writer = csv.writer(content, lineterminator="\r\n")
        writer.writerow(columns[table].values())
        writer.writerows([getattr(row, field) for field in columns[table]] for row in own)
        texts[f"{table}.csv"] = content.getvalue()
    return texts


def archive(texts: Mapping[str, str]) -> bytes:
    """Return files as a zip archive; equal files give equal bytes."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, text in texts.items():
            packed.writestr(zipfile.ZipInfo(name, _STAMP), text)
    return content.getvalue()


def read_columns(path: str | os.PathLike[str] | None = None) -> tuple[str, Columns]:
    """Read a map of columns, by default the one that comes with the package.

    Returns:
        The file's text, and for each table the column of each field.

    Raises:
        InputError: With every table or field that is missing or not known.
    """
    if path is None:
        content = (resources.files("signalstorm.experiments.export") / _DEFAULT_COLUMNS).read_text("utf-8")
        file = _DEFAULT_COLUMNS
    else:
        raw, file = scenario_file.read(Path(path))
        content = raw.decode("utf-8-sig", "replace")
    try:
        data, lines, _ = yaml_lines.read(content)
    except yaml_lines.YamlError as error:
        raise InputError([Fault(file, error.line, "", error.rule, ABSENT, error.way_out)]) from None
    if not isinstance(data, Mapping):
        raise wrong_input(
            "must hold a mapping of columns for each table", way_out="start from the one exported", file=file
        )
    faults = list(_column_faults(data, lines, file))
    if faults:
        raise InputError(faults)
    return content, {table: {str(field): str(name) for field, name in data[table].items()} for table in TABLES}


def _column_faults(data: Mapping[str, Any], lines: Mapping[Any, int], file: str) -> Iterator[Fault]:
    for table in data:
        if table not in TABLES:
            yield Fault(file, lines.get((table,)), table, "is no table of the archive", ABSENT, nearest(table, TABLES))
    for table, kind in TABLES.items():
        own = data.get(table)
        if not isinstance(own, Mapping):
            yield Fault(file, lines.get((table,)), table, "is missing", ABSENT, "give a column for each of its fields")
            continue
        known = [one.name for one in fields(kind)]
        for name in own:
            if name not in known:
                yield Fault(
                    file, lines.get((table, name)), f"{table}.{name}", "is no field", ABSENT, nearest(name, known)
                )
        for name in known:
            if not own.get(name):
                yield Fault(file, lines.get((table,)), f"{table}.{name}", "has no column", ABSENT, "name its column")


def _concerned(setting: Mapping[str, KnobValue]) -> bool:
    return any(KNOBS[name].element == "dra" for name in setting)


def _mark(key: str) -> str:
    """Return what stands for a name that is to be filled in."""
    return f"< {NAMES[key]} >"


def _plugin(source: Source, missing: Sequence[str]) -> str:
    """Return what no table holds, with the way back, and what to compare before the import."""
    then, now = source.recommended, source.present
    lines = [] if source.never_worse else [WORSE]
    lines += [f"{ALTERED}: {', '.join(source.altered)}."] if source.altered else []
    lines += [
        f"signalstorm {__version__}: CPS vDRA, for scenario {source.record.scenario.name}",
        "",
        "Policy Builder > DRA Configuration plug-in > DRA Dynamic Peer Rate Limiter:",
    ]
    for knob, label, unit in (
        ("dynamic_hold_s", "Reversal Hold Time", "s"),
        ("dynamic_step_percent", "Reversal Step (percentage points)", "%"),
    ):
        if knob in then:
            lines.append(f"  {label}: {then[knob]} {unit} (before: {now.get(knob, 'not set')})")
    if then.get("dra_ocs_pending", OFF) != now.get("dra_ocs_pending", OFF):
        slots = KNOBS["dra_ocs_pending"].text(then["dra_ocs_pending"])
        lines.append(
            f"  By hand: pending transactions of the charging system's peer group: {slots}; no table of it is known"
        )
    if missing:
        lines += [
            "",
            f"FILL IN FIRST, at < >: {', '.join(missing)} (--name gx-peer=..., pcrf-group=..., ocs-group=...)",
        ]
    lines += [
        "",
        "CONFIRM ON BOX: the columns' names are not published. Export the tables of the own system, compare their",
        f"first lines with {COLUMNS}, correct that file, and export again with --columns {COLUMNS}.",
        "The archive holds four tables; an import needs all tables of the schema, so put these into an own export.",
        "A band holds from its first figure up to, but not at, its second; see which of its ends the own table counts.",
        "The bands from 50 % and from 70 % of CPU, and a limit's direction, are this project's reading of the source.",
        f"The way back: import {ROLLBACK} in the same manner.",
    ]
    return "\n".join(lines) + "\n"
