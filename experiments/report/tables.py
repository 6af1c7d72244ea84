"""Numbers: the records of a run turned into typed rows, before anything is drawn."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from signalstorm.envs.model.files import read_text
from signalstorm.envs.model.knob_table import KNOBS, KnobValue
from signalstorm.experiments.clock import counted
from signalstorm.experiments.export import releases, source, staros
from signalstorm.experiments.intervals import safe_values
from signalstorm.experiments.recommendation import Figures, ParetoPoint, Recommendation, Spread
from signalstorm.experiments.report.curves import Curves, read_curves
from signalstorm.experiments.report.survival import Interval, restricted_means

_ABOUT = ("present setting", "recommended setting", "held-out storms")
"""What sentences of the diagnosis are about; the others are about the search."""

Value = float | bool | Spread | Interval | None
"""What a cell of the first tables holds; None where it was not reached or is not known."""


@dataclass(frozen=True)
class Measure:
    """A row of the first tables."""

    label: str
    unit: Literal["s", "share", "ratio", "per s", "subscriber-hours"]
    present: Value
    recommended: Value
    note: str = ""
    """What the number means, in words."""


@dataclass(frozen=True)
class Comparison:
    """A measure that only the two settings together have."""

    label: str
    value: float | bool | None
    unit: Literal["ratio", "yes or no"]
    note: str


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
    """The values that keep T within 10 % of the best and are legal and not warned of, in words; empty if unknown."""


@dataclass(frozen=True)
class Worth:
    """How much a knob matters, said in two ways."""

    name: str
    share: float | None
    """What turning it changes, as a share of what all knobs change; None where there was nothing to turn."""
    ped_anova: float | None
    """How much good trials differ from all trials in it, as a share of what they do in all knobs; None if unknown."""


@dataclass(frozen=True)
class Report:
    """Everything that the page shows."""

    record: Recommendation
    """The recommendation."""
    never_worse: bool
    """Whether no held-out storm is worse, by its own word and by its storms."""
    altered: tuple[str, ...]
    """Parts of the record that are not as the search wrote them."""
    counted: str
    """From when T counts, in words."""
    nominal: tuple[Measure, ...]
    """The storm as it is."""
    held_out: tuple[Measure, ...]
    """The held-out storms."""
    comparisons: tuple[Comparison, ...]
    """What the two settings have together."""
    knobs: tuple[KnobRow, ...]
    """The knobs, in the knob table's order."""
    present: Mapping[str, KnobValue]
    """The present setting, the queue also in seconds of the rate."""
    recommended: Mapping[str, KnobValue]
    """The recommended one, likewise."""
    files: Mapping[str, str]
    """Configuration files by name; none where an export refuses the setting."""
    curves: Curves
    """Empty where the run has no ``series.csv``."""
    diagnosis: Mapping[str, tuple[str, ...]]
    """Sentences by what they are about."""
    importance: tuple[Worth, ...]
    """Knobs by how much turning them changes, most first."""
    pareto: tuple[ParetoPoint, ...]
    """Settings tried of which none is better than another in everything weighed; empty if unknown."""
    provenance: tuple[tuple[str, str], ...]
    """Where it all comes from."""


def read_run(folder: Path) -> Report:
    """Read the records of a run.

    Args:
        folder: The folder that ``signalstorm tune`` wrote.

    Raises:
        InputError: If there is no recommendation, or a record is not as it should be.
    """
    run = source.read(folder)
    record = run.record
    nominal, held_out = record.nominal, record.held_out
    bound = Measure(
        "Lower bound of T", "s", nominal.lower_bound_s, nominal.lower_bound_s, "the fluid limit: only chance is quicker"
    )
    return Report(
        record=record,
        never_worse=run.never_worse,
        altered=tuple(run.altered),
        counted=counted(record.scenario.clock_start, record.scenario.count_from_s, nominal.horizon_s),
        nominal=(*_measures(nominal.present, nominal.recommended), bound),
        held_out=tuple(_measures(held_out.present, held_out.recommended, _means(record))),
        comparisons=(
            Comparison("Worst ratio of T", held_out.worst_ratio, "ratio", "recommended over present, storm by storm"),
            Comparison("Never worse", run.never_worse, "yes or no", "on no held-out storm more than 2 % longer"),
        ),
        knobs=tuple(_knobs(run)),
        present=_with_queue_wait(run.present),
        recommended=_with_queue_wait(run.recommended),
        files=_files(folder, run),
        curves=read_curves(folder / "series.csv"),
        diagnosis=_diagnosis(record.diagnosis),
        importance=_importance(record),
        pareto=record.pareto or (),
        provenance=tuple(_provenance(folder, run)),
    )


def _means(record: Recommendation) -> tuple[Interval, Interval] | None:
    return restricted_means(record.held_out.storms, record.held_out.horizon_s)


def _importance(record: Recommendation) -> tuple[Worth, ...]:
    shares, ped_anova = record.importance or {}, record.ped_anova or {}
    known = [Worth(name, shares.get(name), ped_anova.get(name)) for name in dict.fromkeys([*shares, *ped_anova])]
    return tuple(sorted(known, key=lambda row: (-(row.share or 0.0), -(row.ped_anova or 0.0))))


def _with_queue_wait(setting: Mapping[str, KnobValue]) -> dict[str, KnobValue]:
    """Return a setting with the queue in the form in which searches move it, too."""
    rate, queue = setting.get("nop_rate"), setting.get("nop_queue")
    if isinstance(rate, str | None) or isinstance(queue, str | None):
        return dict(setting)
    return {**setting, "nop_queue_wait_s": round(2 * queue / rate) / 2}


def _measures(
    present: Figures, recommended: Figures, means: tuple[Interval, Interval] | None = None
) -> Iterator[Measure]:
    times = present.convergence_time_s, recommended.convergence_time_s
    yield Measure("Time to converge, T", "s", *times, note="median, and 10th to 90th percentile over the storms")
    note = "a storm that does not converge counts as the horizon"
    if means is None:
        yield Measure("Restricted mean of T", "s", present.rmst_s, recommended.rmst_s, note)
    else:
        yield Measure("Restricted mean of T", "s", *means, f"{note}; in brackets its 95 % interval")
    yield Measure("Mean of the worst tenth", "s", present.cvar_s, recommended.cvar_s, "CVaR, restricted as above")
    yield Measure("Worst storm", "s", present.worst_s, recommended.worst_s, "restricted as above")
    missed = 1.0 - present.converged_share, 1.0 - recommended.converged_share
    yield Measure("Not converged within the horizon", "share", *missed)
    ratios = present.ratio_to_lower_bound, recommended.ratio_to_lower_bound
    yield Measure("T over its lower bound", "ratio", *ratios, note="median; 1 is as quick as any setting can be")
    peaks = present.peak_request_rate_per_s, recommended.peak_request_rate_per_s
    lost = present.subscriber_hours_lost, recommended.subscriber_hours_lost
    if None not in lost:
        yield Measure("Service lost", "subscriber-hours", *lost, "mean over the storms, up to the horizon")
    yield Measure("Peak of requests", "per s", *peaks, note="median of the largest rate, before the gate")


def _knobs(run: source.Source) -> Iterator[KnobRow]:
    safe = safe_values(run.record)
    for name, knob in KNOBS.items():
        if name in run.present or name in run.recommended:
            old, new = run.present.get(name), run.recommended.get(name)
            yield KnobRow(
                name=name,
                meaning=knob.meaning,
                present="no effect" if old is None else knob.text(old),
                recommended="no effect" if new is None else knob.text(new),
                changed=old != new,
                how=knob.change if knob.exportable else "what-if: no command sets it",
                safe=safe.get(name, ""),
            )


def _diagnosis(sentences: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Put together what is said about the same, which a sentence names first."""
    found: dict[str, tuple[str, ...]] = {}
    for sentence in sentences:
        about, _, rest = sentence.partition(": ")
        if about not in _ABOUT:
            about, rest = "the search", sentence
        found[about] = (*found.get(about, ()), rest)
    return found


def _files(folder: Path, run: source.Source) -> dict[str, str]:
    """Return the configuration files of this recommendation, or what an export would write if it did not refuse."""
    names = (staros.SETTING, staros.ROLLBACK, staros.GATEWAY, staros.GATEWAY_ROLLBACK)
    way_out = "`signalstorm export` with this folder writes it anew"
    found = {name: read_text(folder / name, way_out) for name in names if (folder / name).exists()}
    if found and all(run.sha256 in text for text in found.values()):
        return found
    return staros.files(run, releases.UNKNOWN, {}) if run.never_worse and not run.altered else {}


def _provenance(folder: Path, run: source.Source) -> Iterator[tuple[str, str]]:
    record = run.record
    yield "scenario", f"{record.scenario.name}, hash {record.scenario.hash}"
    yield "recommendation", f"sha256 of its content {run.sha256}"
    search = record.search
    yield (
        "search",
        f"{search.trials} trials, {search.feasible} of them feasible; {search.sampler}; {search.seconds:g} s",
    )
    yield "storms of the search", _ranges((*search.seeds, *search.guards))
    yield "storms of the choice", _ranges((*search.choice, *search.choice_guards))
    yield "nominal storms", _ranges(record.nominal.seeds)
    yield "held-out storms", _ranges(tuple(row.number for row in record.held_out.storms))
    command = folder / "command.txt"
    yield "command", read_text(command, "take it out of the folder").strip() if command.exists() else "not recorded"
    yield "versions", "\n".join(f"{name} {version or '-'}" for name, version in record.versions.items())


def _ranges(numbers: tuple[int, ...]) -> str:
    """Return numbers in words, neighbours as ranges: 0-63, 70."""
    parts: list[list[int]] = []
    for number in sorted(set(numbers)):
        if parts and number == parts[-1][-1] + 1:
            parts[-1][1:] = [number]
        else:
            parts.append([number])
    return ", ".join("-".join(map(str, part)) for part in parts) or "none"
