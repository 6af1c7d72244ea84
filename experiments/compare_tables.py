"""A comparison as a table for people, as Markdown and as CSV."""

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from signalstorm.envs.model.files import write_atomic
from signalstorm.experiments.compare import Comparison
from signalstorm.experiments.contestants import BEST, PRESENT

JSON, CSV, MARKDOWN = "compare.json", "compare.csv", "comparison.md"
"""The files of a comparison."""

_HEAD = (
    "contestant",
    "T [min]",
    "T / best static",
    "lost [h]",
    "lost / best static",
    "middle half of T [min]",
    "converged",
    "better than best static",
    "worse than present",
    "changes/h",
    "most in 1 h",
)


def text(comparison: Comparison) -> str:
    """Return the comparison as a table for a terminal."""
    record = comparison.to_json()
    parts = [_headline(record), "", *_aligned([_HEAD, *_cells(record["contestants"])]), *_answer(record)]
    for variant, rows in record["beyond"].items():
        parts += ["", f"beyond the variation: {variant}", *_aligned([_HEAD, *_cells(rows)])]
    parts += ["", *(f"{name} does not apply: {reason}" for name, reason in record["left_out"].items())]
    parts += _transferred(comparison)
    return "\n".join(parts).rstrip()


def markdown(comparison: Comparison) -> str:
    """Return the comparison as a page of Markdown."""
    record = comparison.to_json()
    lines = [f"# {record['scenario']}: contestants on the same held-out storms", "", _headline(record), ""]
    return "\n".join([*lines, *_section(comparison, record, "##")])


def page(comparisons: Sequence[Comparison]) -> str:
    """Return several comparisons as one page of Markdown."""
    lines = ["# Contestants on the same held-out storms", ""]
    for comparison in comparisons:
        record = comparison.to_json()
        lines += [f"## {record['scenario']}", "", _headline(record), "", *_section(comparison, record, "###")]
    return "\n".join(lines)


def _transferred(comparison: Comparison) -> list[str]:
    """Return a sentence for each policy and rule that was made on another scenario or model."""
    return [f"the {one.kind} {one.name} {one.words}" for one in comparison.learnt if one.differs]


def _section(comparison: Comparison, record: Mapping[str, Any], heading: str) -> Iterator[str]:
    """Yield the tables of a comparison, and who does not take part."""
    yield from (*_table(record["contestants"]), *_answer(record), "", _legend(record), "")
    if transferred := _transferred(comparison):
        yield from (*(f"* {sentence}" for sentence in transferred), "")
    if record["beyond"]:
        yield from (f"{heading} Beyond the variation", "", *_grid(record), "")
    if record["left_out"]:
        yield from (f"{heading} Does not apply", "")
        yield from (*(f"* {name}: {reason}" for name, reason in record["left_out"].items()), "")


def csv_table(comparison: Comparison) -> str:
    """Return one row per storm and contestant, for other programs."""
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(
        [
            *("variant", "storm", "contestant", "restricted_s", "converged", "lost_h_per_subscriber"),
            *("changes_per_h", "most_changes_in_an_hour"),
        ]
    )
    for variant, runs in {"": comparison.runs, **comparison.beyond}.items():
        for run in runs:
            for i, storm in enumerate(comparison.storms[: run.restricted_s.size]):
                figures = (run.restricted_s[i], run.converged[i], run.lost_h[i], run.changes_per_hour[i])
                most = [f"{run.most_in_an_hour[i]:.0f}" if run.most_in_an_hour.size else ""]
                writer.writerow([variant, storm, run.name, *(f"{x:.8g}" for x in figures), *most])
    return table.getvalue()


def write(comparison: Comparison, out: Path) -> None:
    """Write compare.json, compare.csv and comparison.md into a folder."""
    write_atomic(out / JSON, json.dumps(comparison.to_json(), indent=2, allow_nan=False) + "\n")
    write_atomic(out / CSV, csv_table(comparison))
    write_atomic(out / MARKDOWN, markdown(comparison))


def _headline(record: Mapping[str, Any]) -> str:
    storms = record["storms"]
    knobs = ", ".join(record["fast_knobs"])
    return (
        f"{record['scenario']}: {storms['count']} held-out storms from {storms['first']} on, the same for all; "
        f"T is restricted to {record['horizon_s'] / 60:.0f} min; loops set {knobs} every {record['interval_s']:g} s"
    )


def _answer(record: Mapping[str, Any]) -> list[str]:
    """Return what is to be said where no contestant helps, below an empty line."""
    found = record["answer"]
    return ["", found["sentence"]] if found and found["sentence"] else []


def _legend(record: Mapping[str, Any]) -> str:
    return (
        f"Means over storms, in brackets {record['coverage']:.0%} intervals of a bootstrap over storms; ratios are "
        "paired by storm with the best static setting, as is the share of storms on which T is smaller (ties count "
        "half). Lost: hours without service per subscriber. Worse than present: storms with a T more than 2 % above "
        "that of the setting in force. Changes per hour of storm, on average, and the most within any hour of any "
        "storm. The clairvoyant and the hindsight rows are yardsticks: they know what no operator does."
    )


def _cells(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    return [
        (
            str(row["name"]),
            _minutes(row["restricted_mean_s"]),
            _bracketed(row["time_ratio"], 2),
            _bracketed(row["lost_h"], 3),
            _bracketed(row["lost_ratio"], 2),
            _minutes(row["iqm_s"]),
            f"{row['converged_share']:.1%}",
            f"{row['improvement'][0]:.0%}",
            "" if row["name"] == PRESENT else str(row["worse_than_present"]),
            f"{row['changes_per_hour']:.1f}",
            str(row.get("most_changes_in_an_hour", "")),
        )
        for row in rows
    ]


def _table(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    dropped = any("notifications_dropped" in row for row in rows)
    yield "| " + " | ".join([*_HEAD, *(["notifications dropped"] if dropped else [])]) + " |"
    yield "|" + "---|" * (len(_HEAD) + dropped)
    for row, cells in zip(rows, _cells(rows), strict=True):
        more = [f"{row['notifications_dropped']:,.0f}"] if dropped else []
        yield "| " + " | ".join([*cells, *more]) + " |"


def _grid(record: Mapping[str, Any]) -> Iterator[str]:
    """Yield T and loss of each contestant on each variant."""
    beyond = record["beyond"]
    yield "T [min], in brackets its ratio to the best static setting on the same storms, and hours lost per subscriber."
    yield ""
    yield "| contestant | " + " | ".join(beyond) + " |"
    yield "|---|" + "---|" * len(beyond)
    for at, row in enumerate(next(iter(beyond.values()))):
        cells = []
        for rows in beyond.values():
            found = rows[at]
            ratio = "" if found["name"] == BEST else f" ({found['time_ratio'][0]:.2f})"
            cells.append(f"{found['restricted_mean_s'][0] / 60:.0f}{ratio}, {found['lost_h'][0]:.3f}")
        yield f"| {row['name']} | " + " | ".join(cells) + " |"


def _minutes(seconds: Sequence[float]) -> str:
    value, low, high = (x / 60.0 for x in seconds)
    return f"{value:.1f} [{low:.1f}, {high:.1f}]"


def _bracketed(figures: Sequence[float], digits: int) -> str:
    value, low, high = figures
    return f"{value:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return ["  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
