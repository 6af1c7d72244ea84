"""Numbers: the records of a run turned into typed rows, before anything is drawn."""

import json
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from signalstorm.envs.model.knob_table import KNOBS
from signalstorm.experiments.export import releases, source, staros
from signalstorm.experiments.report.curves import Chart, read_charts

Json = Mapping[str, Any]


@dataclass(frozen=True)
class Spread:
    """Median and the interval of the middle 80 %; None where it was not reached within the horizon."""

    median: float | None
    p10: float | None
    p90: float | None


Value = float | bool | Spread | None
"""What a cell of the first table holds; None where it was not reached or not recorded."""


@dataclass(frozen=True)
class Measure:
    """A row of the first table."""

    label: str
    unit: Literal["s", "share", "ratio", "per s", "yes or no"]
    present: Value
    recommended: Value
    note: str = ""
    """What the number means, in words."""


@dataclass(frozen=True)
class KnobRow:
    """A knob under both settings."""

    name: str
    meaning: str
    present: str
    recommended: str
    changed: bool
    how: str
    """What changing it costs; for a what-if, that no command sets it."""
    safe: str
    """The interval in which T stays within 10 % of the best, in words; empty where it is not known."""


@dataclass(frozen=True)
class StormRow:
    """A held-out storm; times from the start of counting [s], None where the storm did not converge."""

    number: int
    fields: Json
    lower_bound_s: float | None
    present_s: float | None
    recommended_s: float | None
    ratio: float | None
    worse: bool

    @property
    def converged(self) -> bool:
        """Whether it converged under both settings."""
        return self.present_s is not None and self.recommended_s is not None


@dataclass(frozen=True)
class Report:
    """Everything that the page shows."""

    scenario: str
    verdict: str
    never_worse: bool
    nominal: tuple[Measure, ...]
    held_out: tuple[Measure, ...]
    knobs: tuple[KnobRow, ...]
    files: Mapping[str, str]
    """Configuration files by name."""
    charts: tuple[Chart, ...]
    """Empty where the run has no ``series.csv``."""
    storms: tuple[StormRow, ...]
    horizon_s: float | None
    diagnosis: tuple[str, ...]
    importance: tuple[tuple[str, float], ...]
    """Knobs by how much of the outcome they explain, most first."""
    provenance: tuple[tuple[str, str], ...]


def read_run(folder: Path) -> Report:
    """Read the records of a run.

    Args:
        folder: The folder that ``signalstorm tune`` wrote.

    Raises:
        InputError: If there is no recommendation, or a record is not as it should be.
    """
    run = source.read(folder)
    content = run.content
    storms = tuple(_storms(content))
    return Report(
        scenario=str(run.scenario.get("name", folder.name)),
        verdict=run.verdict,
        never_worse=run.never_worse,
        nominal=tuple(_nominal(_object(content, "nominal"))),
        held_out=tuple(_held_out(_object(content, "held_out"), storms, never_worse=run.never_worse)),
        knobs=tuple(_knobs(run)),
        files=_files(folder, run),
        charts=tuple(read_charts(folder / "series.csv")),
        storms=storms,
        horizon_s=_number(content, "held_out", "horizon_s") or _number(content, "nominal", "horizon_s"),
        diagnosis=tuple(_diagnosis(content.get("diagnosis"))),
        importance=tuple(_importance(_object(content, "importance"))),
        provenance=tuple(_provenance(folder, run)),
    )


def _nominal(nominal: Json) -> Iterator[Measure]:
    def both(*path: str) -> tuple[float | None, float | None]:
        return _number(nominal, "present", *path), _number(nominal, "recommended", *path)

    present, recommended = (
        _spread(_object(nominal, name, "convergence_time_s")) for name in ("present", "recommended")
    )
    yield Measure(
        "Time to converge, T", "s", present, recommended, note="median, and 10th to 90th percentile over the storms"
    )
    yield Measure(
        "Restricted mean of T", "s", *both("rmst_s"), note="a storm that does not converge counts the horizon"
    )
    yield Measure("Converged within the horizon", "share", *both("converged_share"))
    bound = _number(nominal, "lower_bound_s")
    yield Measure("Lower bound of T", "s", bound, bound, note="no setting can be quicker")
    yield Measure("T over its lower bound", "ratio", *both("ratio_to_lower_bound"))
    yield Measure("Peak of requests", "per s", *both("peak_request_rate_per_s"), note="before the gate")


def _held_out(held_out: Json, storms: Sequence[StormRow], *, never_worse: bool) -> Iterator[Measure]:
    times = [[s.present_s for s in storms], [s.recommended_s for s in storms]]
    bounds = [s.lower_bound_s for s in storms]
    if storms:
        over = [_median([t / b if t else None for t, b in zip(ts, bounds, strict=True) if b]) for ts in times]
        missed = [sum(t is None for t in ts) / len(storms) for ts in times]
        yield Measure("Median of T over its lower bound", "ratio", over[0], over[1])
        yield Measure("Not converged within the horizon", "share", missed[0], missed[1])
    worst = _number(held_out, "worst_ratio")
    yield Measure(
        "Worst ratio, recommended over present", "ratio", None, worst, note="storm by storm; below 1 is better"
    )
    yield Measure(
        "Never worse",
        "yes or no",
        None,
        never_worse,
        note="on no held-out storm more than 2 % above the present setting",
    )


def _median(values: Sequence[float | None]) -> float | None:
    """Return the median, with None for larger than any number."""
    middle = statistics.median_high([float("inf") if value is None else value for value in values]) if values else None
    return None if middle == float("inf") else middle


def _storms(content: Json) -> Iterator[StormRow]:
    for row in _list(content, "held_out", "storms"):
        yield StormRow(
            number=int(row["number"]),
            fields=_object(row, "fields"),
            lower_bound_s=_number(row, "lower_bound_s"),
            present_s=_number(row, "present_s"),
            recommended_s=_number(row, "recommended_s"),
            ratio=_number(row, "ratio"),
            worse=bool(row.get("worse")),
        )


def _knobs(run: source.Source) -> Iterator[KnobRow]:
    safe = _object(run.content, "safe_interval")
    for name, knob in KNOBS.items():
        if name not in run.present and name not in run.recommended:
            continue
        old, new = run.present.get(name), run.recommended.get(name)
        yield KnobRow(
            name=name,
            meaning=knob.meaning,
            present="-" if old is None else knob.text(old),
            recommended="-" if new is None else knob.text(new),
            changed=old != new,
            how=knob.change if knob.exportable else "what-if: no command sets it",
            safe=_interval(safe.get(name), knob.unit),
        )


def _interval(value: Any, unit: str) -> str:
    match value:
        case {"low": low, "high": high} | [low, high]:
            return f"{low:g} to {high:g} {unit}".rstrip()
        case _:
            return ""


def _files(folder: Path, run: source.Source) -> dict[str, str]:
    """Return the configuration files of the run; where there are none of this recommendation, what an export writes."""
    names = (staros.SETTING, staros.ROLLBACK, staros.GATEWAY, staros.GATEWAY_ROLLBACK)
    found = {name: (folder / name).read_text("utf-8") for name in names if (folder / name).exists()}
    return (
        found
        if all(run.sha256 in text for text in found.values()) and found
        else staros.files(run, releases.UNKNOWN, {})
    )


def _diagnosis(value: Any) -> Iterator[str]:
    """Yield the diagnosis as sentences: of the whole, or of each setting."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from (f"{key}: {text}" for key, part in value.items() for text in _diagnosis(part))
    elif isinstance(value, Sequence):
        yield from (text for part in value for text in _diagnosis(part))


def _importance(importance: Json) -> list[tuple[str, float]]:
    numbers = {name: _number(importance, name) for name in importance}
    return sorted(((name, x) for name, x in numbers.items() if x is not None), key=lambda row: -row[1])


def _provenance(folder: Path, run: source.Source) -> Iterator[tuple[str, str]]:
    yield "scenario", f"{run.scenario.get('name', '')}, hash {run.scenario.get('hash', 'not recorded')}"
    yield "recommendation", f"sha256 of its content {run.sha256}"
    for name in ("command.txt", "seeds.json", "versions.json"):
        path = folder / name
        if path.exists():
            yield name, path.read_text("utf-8").strip()
    if not (folder / "versions.json").exists():
        yield "versions", json.dumps(run.content.get("versions", "not recorded"))


def _object(content: Any, *path: str) -> Json:
    value = _at(content, *path)
    return value if isinstance(value, Mapping) else {}


def _list(content: Any, *path: str) -> list[Json]:
    value = _at(content, *path)
    return [row for row in value if isinstance(row, Mapping)] if isinstance(value, list) else []


def _number(content: Any, *path: str) -> float | None:
    value = _at(content, *path)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _spread(value: Json) -> Spread | None:
    return Spread(_number(value, "median"), _number(value, "p10"), _number(value, "p90")) if value else None


def _at(content: Any, *path: str) -> Any:
    for key in path:
        content = content.get(key) if isinstance(content, Mapping) else None
    return content
