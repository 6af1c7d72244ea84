"""The recommendation: what a search found, with the evidence, as one frozen record and one JSON file."""

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, field_validator

from signalstorm.envs.model.errors import ABSENT, Fault, InputError, wrong_input
from signalstorm.envs.model.faults import several
from signalstorm.envs.model.files import write_atomic
from signalstorm.envs.model.knob_checks import check
from signalstorm.envs.model.knob_table import Change, KnobValue
from signalstorm.envs.model.scenario_parts import Flag, Number, Whole
from signalstorm.envs.model.validation import validate
from signalstorm.experiments.folders import described

FILE = "recommendation.json"
FORMAT: Literal["signalstorm-recommendation/1"] = "signalstorm-recommendation/1"

Values = Mapping[str, KnobValue]


class Record(BaseModel):
    """A frozen part of a recommendation."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, allow_inf_nan=False)


class ScenarioName(Record):
    """Which scenario was tuned."""

    name: str
    """Its name."""
    hash: str
    """Hash of everything in it that can change a result."""
    clock_start: str | None = None
    """Time of day at its start, HH:MM; null if it names none."""
    count_from_s: Number = 0.0
    """When T starts to count, from its start [s]."""


class DiffRow(Record):
    """A knob whose value the recommendation changes."""

    knob: str
    """The knob."""
    unit: str
    """Unit of both values."""
    present: KnobValue | None
    """Value in force; null where the knob has no effect at present."""
    recommended: KnobValue | None
    """Value recommended; null where the knob then has no effect."""
    change: Change
    """What changing it costs."""
    exportable: Flag
    """Whether a command sets it."""


IntervalEnd = Literal["cost", "range", "rule", "warning"]
"""Why a safe interval ends: values beyond cost more, are outside the legal range, break a rule with another knob, or
are warned of."""


class SafeInterval(Record):
    """Values of one knob, the others as recommended, that cost at most 10 % of the restricted mean time."""

    unit: str
    """Unit of the bounds."""
    low: Number
    """Smallest safe value next to the recommended one."""
    high: Number
    """Largest safe value next to the recommended one."""
    low_end: IntervalEnd | None = None
    """What is beyond `low`; null in records of older versions."""
    high_end: IntervalEnd | None = None
    """What is beyond `high`; null in records of older versions."""


class GateRoom(Record):
    """How far a recommended gate lies above the calm load, and how far that may grow, all else as in the scenario."""

    gate_per_s: Number
    """The gate's rate [per s]."""
    calm_per_s: Number
    """Attaches that meet the gate while everybody has service [per s]."""
    room_share: Number
    """The gate's rate over the calm load, less 1 [share]."""
    holds_to_share: Number
    """Growth of the calm load up to which the setting was seen to hold [share]."""
    fails_from_share: Number | None
    """Least growth seen at which it does not; null: it holds as far as was tried [share]."""
    reason: str | None
    """What happens there, in words."""


class Profile(Record):
    """What storms cost as one knob moves, the others as recommended."""

    unit: str
    """Unit of the values."""
    values: tuple[KnobValue, ...]
    """Values tried, in order, the recommended one among them."""
    value_s: tuple[Number, ...]
    """Mean cost of a storm with each [s]."""


class Spread(Record):
    """Kaplan-Meier percentiles of the convergence time; null where not reached within the horizon."""

    median: Number | None
    """Median [s]."""
    p10: Number | None
    """Tenth percentile [s]."""
    p90: Number | None
    """Ninetieth percentile [s]."""


class Figures(Record):
    """What storms come to under one setting."""

    convergence_time_s: Spread
    """Percentiles of T [s]."""
    rmst_s: Number
    """Restricted mean time: mean of min(T, horizon) [s]."""
    converged_share: Number
    """Share of storms over within the horizon [share]."""
    ratio_to_lower_bound: Number | None
    """Median of T over the storm's own lower bound, censored storms as the horizon; null without bounds."""
    cvar_s: Number
    """Mean of the worst tenth of min(T, horizon) [s]."""
    worst_s: Number
    """Largest min(T, horizon) [s]."""
    peak_request_rate_per_s: Number
    """Median of the largest rate of requests before the gate [per s]."""
    subscriber_hours_lost: Number | None = None
    """Mean of the subscriber-hours without service up to the horizon [h]."""


class Nominal(Record):
    """The scenario as it is, under the noise of some seeds."""

    seeds: tuple[Whole, ...]
    """Storm numbers."""
    lower_bound_s: Number | None
    """The fluid limit, which no setting can beat but by chance; null if the storm cannot end within the horizon [s]."""
    horizon_s: Number
    """Time within which a storm can end [s]."""
    present: Figures
    """Under the present setting."""
    recommended: Figures
    """Under the recommended setting."""


class StormRow(Record):
    """One held-out storm under both settings."""

    number: Whole
    """The storm's number."""
    fields: Mapping[str, Number]
    """What the storm drew, by dotted path."""
    lower_bound_s: Number | None
    """The fluid limit, which no setting can beat but by chance; null if the storm cannot end within the horizon [s]."""
    present_s: Number | None
    """T under the present setting, null where not reached [s]."""
    recommended_s: Number | None
    """T under the recommended setting, null where not reached [s]."""
    ratio: Number | None
    """min(T, horizon), recommended over present; null where the present one has no storm and the other has."""
    worse: Flag
    """Whether the recommended setting takes more than 2 % longer."""


class HeldOut(Record):
    """Storms with drawn fields that no choice has seen."""

    storms: tuple[StormRow, ...]
    """The storms."""
    worse: tuple[Whole, ...]
    """Numbers of the storms on which the recommended setting takes more than 2 % longer."""
    worst_ratio: Number | None
    """Largest ratio of min(T, horizon), recommended over present."""
    horizon_s: Number
    """Time within which a storm can end [s]."""
    present: Figures
    """Under the present setting."""
    recommended: Figures
    """Under the recommended setting."""


class ParetoPoint(Record):
    """A setting that was tried and is best in its way, over the storms of the search."""

    trial: Whole
    """Number of the trial."""
    override: Values
    """The setting, as overrides of the present one; empty for the present one."""
    values: Mapping[str, Number]
    """What it came to, by objective: `time` [s], `subscriber_hours_lost` [h], shares, and the cost of the change."""


class Interaction(Record):
    """How two knobs work together, the others as recommended."""

    knobs: tuple[str, str]
    """The two knobs."""
    units: tuple[str, str]
    """Units of their values."""
    first: tuple[KnobValue, ...]
    """Values of the first knob."""
    second: tuple[KnobValue, ...]
    """Values of the second knob."""
    storms: Whole
    """Storms over which each value is the mean."""
    value_s: tuple[tuple[Number | None, ...], ...]
    """Mean cost of a storm, a row for each value of the first knob; null where the two are not legal together [s]."""
    present: tuple[KnobValue | None, KnobValue | None] | None = None
    """Where the present values of the two knobs lie; null in records of older versions."""
    recommended: tuple[KnobValue | None, KnobValue | None] | None = None
    """Where the recommended ones lie."""


class PassedOver(Record):
    """A setting tried that ends the storm as it is sooner than the recommended one."""

    trial: Whole
    """Number of the trial."""
    override: Values
    """The setting, as overrides of the present one."""
    seeds: tuple[Whole, ...]
    """Storm numbers on which the two were compared."""
    rmst_s: Number
    """Its restricted mean time on them [s]."""
    recommended_rmst_s: Number
    """That of the recommended setting on the same [s]."""
    reason: str
    """Why it was passed over, in words."""

    @property
    def words(self) -> str:
        """It and its reason in one sentence."""
        knobs = ", ".join(f"{name}={value}" for name, value in self.override.items()) or "the present setting"
        return (
            f"{knobs} (trial {self.trial}) ends the storm as it is in {self.rmst_s:,.1f} s on average, the recommended "
            f"setting in {self.recommended_rmst_s:,.1f} s ({len(self.seeds)} storms); it is not recommended because "
            f"{self.reason}"
        )


class Search(Record):
    """How the recommendation was found."""

    trials: Whole
    """Settings tried, the present one included."""
    feasible: Whole
    """Settings that were worse than the present one on none of the trial's storms."""
    seeds: tuple[Whole, ...]
    """Storms over which a trial's value is the mean."""
    guards: tuple[Whole, ...]
    """Further storms of a trial, on which the present setting is hardest to equal."""
    choice: tuple[Whole, ...]
    """Fresh storms on which the best candidates were compared."""
    choice_guards: tuple[Whole, ...]
    """Fresh storms, the tightest of many, on which they also had to prove themselves."""
    sampler: str
    """The sampler, and its seed."""
    seconds: Number
    """Time it took, interruptions left out [s]."""


class Checks(Record):
    """SHA-256 of parts of this record, so that a changed figure is noticed."""

    scenario: str
    """Of the scenario: its hash."""
    setting: str
    """Of the settings and the diff."""
    nominal: str
    """Of the figures of the nominal storms."""
    held_out: str
    """Of the figures of the held-out storms."""
    files: Mapping[str, str] = {}
    """Of files in the run's folder, by name."""


class Recommendation(Record):
    """The recommended setting and the evidence for it."""

    verdict: str
    """The result in one sentence; a storm that gets worse comes first."""
    format: Literal["signalstorm-recommendation/1"] = FORMAT
    """The format of this file."""
    version: str
    """The signalstorm that wrote it."""
    scenario: ScenarioName
    """The scenario."""
    never_worse: Flag
    """Whether no held-out storm takes more than 2 % longer than under the present setting."""
    changed: Flag
    """Whether another setting than the present one is recommended."""
    present: Values
    """The present setting, complete."""
    recommended: Values
    """The recommended setting, complete and legal."""
    override: Values
    """What the recommended setting overrides: the form in which it was simulated."""
    diff: tuple[DiffRow, ...]
    """The knobs that differ."""
    safe_interval: Mapping[str, SafeInterval]
    """Safe values of each searched knob of numbers, by its name."""
    safe_words: Mapping[str, tuple[str, ...]]
    """Safe words of each searched knob of words, by its name."""
    gate_room: GateRoom | None = None
    """The recommended gate and the calm load; null without a gate, a calm load, or in records of older versions."""
    nominal: Nominal
    """The scenario as it is."""
    held_out: HeldOut
    """Storms with drawn fields."""
    profiles: Mapping[str, Profile] = {}
    """What storms cost as each searched knob moves by itself; empty in records of older versions."""
    importance: Mapping[str, Number] | None
    """How much each knob alone changes the cost of storms over its legal range, as a share of what all do; 0 where it
    changes less than 1 % of the cost; null where fewer than two knobs could be moved."""
    ped_anova: Mapping[str, Number] | None = None
    """How much the best tenth of the trials differ from all of them in each knob (PED-ANOVA), as a share of what they
    do in all; null with fewer than two knobs or 41 trials, or in records of older versions."""
    pareto: tuple[ParetoPoint, ...] | None = None
    """Settings tried of which none is better than another in everything weighed; null in records of older versions."""
    interaction: Interaction | None = None
    """The cost of storms over the two most important knobs; null if unknown."""
    passed_over: PassedOver | None = None
    """The quickest setting on the storm as it is that is not recommended; null if the recommended one is."""
    search: Search
    """How it was found."""
    diagnosis: tuple[str, ...]
    """What bounds the storm, in words."""
    checks: Checks | None = None
    """Hashes of the parts above: equal for equal answers."""
    seal: str | None = None
    """SHA-256 of everything else in this record; null in records of older versions."""
    versions: Mapping[str, str | None]
    """Versions of everything that results depend on."""

    @field_validator("present", "recommended", "override")
    @classmethod
    def _legal(cls, values: Values) -> Values:
        legal, findings = check(values)
        if findings:
            raise several(findings)
        return legal

    def sealed(self, files: Mapping[str, str] | None = None) -> "Recommendation":
        """Return the record with the hashes of its parts.

        Args:
            files: SHA-256 of files in the run's folder, by name.
        """
        checks = self._checks().model_copy(update={"files": dict(files or {})})
        checked = self.model_copy(update={"checks": checks, "seal": None})
        return checked.model_copy(update={"seal": checked._digest()})

    def altered(self) -> list[str]:
        """Return the names of the checks that do not match the record: its figures were changed by hand."""
        now = self._checks().model_dump(exclude={"files"})
        said = self.checks.model_dump() if self.checks else {}
        altered = [name for name, value in now.items() if said.get(name) != value]
        broken = self.seal is not None and self.seal != self.model_copy(update={"seal": None})._digest()
        return altered or (["something beside its settings and storms"] if broken else [])

    def _digest(self) -> str:
        # What a version does not know yet has its default: a record keeps its seal under later versions.
        return digest(self.model_dump(mode="json", exclude_defaults=True))

    def _checks(self) -> Checks:
        plain = self.model_dump(mode="json")
        setting = {key: plain[key] for key in ("present", "recommended", "override", "diff")}
        return Checks(
            scenario=self.scenario.hash,
            setting=digest(setting),
            nominal=digest(plain["nominal"]),
            held_out=digest(plain["held_out"]),
        )


def digest(content: Any) -> str:
    """Return the SHA-256 of a value in JSON's own types, whatever the order of its keys."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def save(recommendation: Recommendation, folder: str | os.PathLike[str]) -> Path:
    """Write recommendation.json into a folder, atomically; returns the file."""
    path = Path(folder) / FILE
    text = json.dumps(recommendation.model_dump(mode="json"), indent=2, allow_nan=False, ensure_ascii=False)
    write_atomic(path, text + "\n")
    return path


def load(path: str | os.PathLike[str]) -> Recommendation:
    """Read a recommendation from its file, or from the folder of a run.

    Raises:
        InputError: If there is none, or with everything that is wrong with the file.
    """
    file = Path(path)
    if file.is_dir():
        if not (file / FILE).exists():
            rule, way_out = described(file, FILE)
            raise wrong_input(rule, ABSENT, way_out, file=str(file))
        file /= FILE
    way_out = f"give a {FILE} that `signalstorm tune` wrote, or the folder of its run"
    try:
        content = json.loads(file.read_text("utf-8"))
    except OSError as error:
        raise wrong_input(f"cannot be read: {error.strerror}", ABSENT, way_out, file=str(file)) from None
    except ValueError as error:
        raise wrong_input(f"is not JSON ({error})", ABSENT, way_out, file=str(file)) from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        found = content.get("format", ABSENT) if isinstance(content, dict) else ABSENT
        raise wrong_input(f"must be a recommendation of the format {FORMAT}", found, way_out, file=str(file))
    recommendation, findings = validate(content, Recommendation)
    if recommendation is None:
        raise InputError(Fault(str(file), None, f.key, f.rule, f.value, f.way_out) for f in findings)
    return recommendation
