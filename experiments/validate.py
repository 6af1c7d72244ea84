"""Validate: is a recommendation what the search wrote, and does its setting still do what it says, as exported?

The setting is written as commands, read back from them, and simulated again on the record's own storms. Nothing is
taken on trust but the scenario.
"""

import csv
import hashlib
import io
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from signalstorm.envs.model import scenario_file, yaml_lines
from signalstorm.envs.model.errors import SignalstormError, wrong_input
from signalstorm.envs.model.knob_table import KNOBS, KnobValue
from signalstorm.envs.model.knobs import resolve, round_to_legal
from signalstorm.envs.model.scenario import Scenario
from signalstorm.experiments import confirm
from signalstorm.experiments.evaluate import StormSet, evaluate
from signalstorm.experiments.export import releases, source, staros
from signalstorm.experiments.export.commands import NAMES
from signalstorm.experiments.imports import staros as importer
from signalstorm.experiments.imports import text
from signalstorm.experiments.imports.present import present
from signalstorm.experiments.recommendation import FILE, Recommendation, load
from signalstorm.experiments.run_files import SEEDS, TRIALS
from signalstorm.experiments.search_space import SearchSpace
from signalstorm.experiments.storm_sets import plain_times

DRIFT = 1e-6
"""Figures that differ by a larger share are a drift: they are kept with six decimals."""
TRIALS_RUN_AGAIN = 3
"""Trials that are simulated again: the present setting, the best one, and the last one."""
_SHOWN = 4
_STAND_INS = {key: "1" if key != "ss7-variant" else "itu" for key in NAMES}
"""Names of objects for an export that is read back at once."""


@dataclass(frozen=True)
class Check:
    """One thing that was looked at."""

    name: str
    """What was looked at."""
    passed: bool
    """Whether it holds."""
    said: str
    """What was found, in words."""


@dataclass(frozen=True)
class Validation:
    """What a validation found."""

    file: str
    """The recommendation."""
    record: Recommendation
    """Its content."""
    checks: tuple[Check, ...]
    """Everything that was looked at, in order."""

    @property
    def passed(self) -> bool:
        """Whether everything holds."""
        return all(check.passed for check in self.checks)

    def to_json(self) -> dict[str, Any]:
        """Return the result in JSON's own types."""
        rows = [{"name": check.name, "passed": check.passed, "said": check.said} for check in self.checks]
        return {"file": self.file, "scenario": self.record.scenario.name, "passed": self.passed, "checks": rows}


def validate(
    recommendation: str | os.PathLike[str],
    scenario: str | Scenario | None = None,
    *,
    trials: int | None = TRIALS_RUN_AGAIN,
    threads: int | None = None,
) -> Validation:
    """Check a recommendation against itself, the files beside it and a fresh simulation of its exported setting.

    Args:
        recommendation: A run's folder, or a ``recommendation.json``.
        scenario: The scenario; by default the one that the run keeps, or the packaged one of that name.
        trials: Trials to simulate again; None: all of them.
        threads: Threads at most; by default one per core.

    Raises:
        InputError: If there is no such recommendation or scenario.
    """
    path = Path(recommendation)
    folder = path if path.is_dir() else path.parent
    record = load(path)
    model = _scenario(record, folder, scenario)
    checks = [_unaltered(record), *_files(record, folder)]
    same = model.hash() == record.scenario.hash
    said = "is the one that was tuned" if same else f"is another one: its hash is {model.hash()[:12]}"
    checks.append(Check("scenario", same, f"{model.name} {said}"))
    exported, check = _exported(record, model)
    checks.append(check)
    if same and exported is not None:
        checks += _figures(record, model, exported, threads)
        if (folder / TRIALS).exists():
            checks.append(_trials(folder, model, trials, threads))
    return Validation(str(folder / FILE if path.is_dir() else path), record, tuple(checks))


def _scenario(record: Recommendation, folder: Path, given: str | Scenario | None) -> Scenario:
    if isinstance(given, Scenario):
        return given
    if given is not None:
        return scenario_file.load(given)
    own = folder / "scenario.yaml"
    if own.exists():
        return scenario_file.load(own)
    if record.scenario.name in scenario_file.list_names():
        return scenario_file.load(record.scenario.name)
    rule = f"has no scenario.yaml beside it, and no scenario {record.scenario.name} is packaged"
    raise wrong_input(rule, way_out="give the scenario with --scenario", file=str(folder))


def _unaltered(record: Recommendation) -> Check:
    if record.checks is None or record.seal is None:
        return Check("record", False, "has no hashes, so a change could not be noticed")
    altered = record.altered()
    said = f"was changed after the search: {', '.join(altered)}" if altered else "is as the search wrote it"
    return Check("record", not altered, said)


def _files(record: Recommendation, folder: Path) -> Iterator[Check]:
    """Compare the files of the run with their hashes, and the storms in seeds.json with those of the record."""
    known = record.checks.files if record.checks is not None else {}
    for name in (SEEDS, TRIALS):
        path = folder / name
        if not path.exists():
            if name in known:
                yield Check(name, False, "is missing beside the recommendation")
            continue
        content = path.read_bytes()
        if name not in known:
            yield Check(name, False, "has no hash in the recommendation, so a change could not be noticed")
            continue
        same = hashlib.sha256(content).hexdigest() == known[name]
        yield Check(name, same, "is as the search wrote it" if same else "was changed after the search")
        if name == SEEDS:
            yield _storms(record, content)


def _storms(record: Recommendation, content: bytes) -> Check:
    try:
        said = json.loads(content)
    except ValueError as error:
        return Check("storms", False, f"{SEEDS} is not JSON ({error})")
    expected = {
        "search": record.search.seeds,
        "search_guards": record.search.guards,
        "choice": record.search.choice,
        "choice_guards": record.search.choice_guards,
        "held_out": tuple(row.number for row in record.held_out.storms),
        "nominal": record.nominal.seeds,
    }
    wrong = [key for key, numbers in expected.items() if list(numbers) != list(said.get(key) or ())]
    if wrong:
        return Check("storms", False, f"{SEEDS} and the recommendation name other storms for {', '.join(wrong)}")
    seen = {*record.search.seeds, *record.search.guards, *record.search.choice, *record.search.choice_guards}
    common = seen & {*expected["held_out"], *record.nominal.seeds}
    if common:
        return Check("storms", False, f"held-out storms were seen by the search: {sorted(common)[:_SHOWN]}")
    return Check("storms", True, "the held-out storms were seen by no search and no choice")


def _exported(record: Recommendation, scenario: Scenario) -> tuple[dict[str, KnobValue] | None, Check]:
    """Export the setting, read the commands back, and return what was overridden in the values of the commands."""
    name = "setting"
    try:
        legal = {key: value for key, value in record.recommended.items() if KNOBS[key].exportable}
        rounded = dict(round_to_legal(legal)) if "nop_queue" not in legal or _queue_is_said(legal) else legal
        if any(rounded[key] != value for key, value in legal.items() if key in rounded):
            return None, Check(name, False, "is not one of legal steps")
        by_hand = {key: value for key, value in record.recommended.items() if not KNOBS[key].exported}
        read_back = {**record.present, **by_hand}  # no command of StarOS writes these
        for file, content in staros.files(source.read(record), releases.UNKNOWN, _STAND_INS).items():
            if "rollback" in file or not any(line[:1] not in "#" for line in content.splitlines()):
                continue
            found = importer.parse(text.clean(content.encode(), file))
            values = {key: one.value for key, one in present(found, scenario.access).items()}
            if "nop_rate" in values:
                read_back.pop("nop_queue", None)
            read_back |= values
        then, now = (resolve(_of(scenario, values), scenario) for values in (read_back, record.recommended))
    except SignalstormError as error:
        return None, Check(name, False, f"cannot be exported and read back: {error}")
    differing = [key for key in then if then[key] != now.get(key) and _matters(key, now)]
    if differing:
        shown = ", ".join(f"{key}: {now.get(key)} as recommended, {then[key]} as exported" for key in differing)
        return None, Check(name, False, f"is another one when exported and read back ({shown})")
    override = {key: then.get(key, value) for key, value in record.override.items()}
    wrong = [key for key, value in resolve(_of(scenario, override), scenario).items() if _differs(key, value, now)]
    if wrong:
        return None, Check(name, False, f"what was simulated is another setting: {', '.join(wrong)}")
    return override, Check(name, True, "is legal, and the same when it is exported and read back")


def _queue_is_said(values: Mapping[str, KnobValue]) -> bool:
    """Tell whether the queue is one that the command can say; a smaller one follows from rate and wait."""
    queue = values["nop_queue"]
    return not isinstance(queue, str) and queue >= KNOBS["nop_queue"].low


def _of(scenario: Scenario, values: Mapping[str, KnobValue]) -> dict[str, KnobValue]:
    return {key: value for key, value in values.items() if getattr(scenario.topology, KNOBS[key].element) is not None}


def _matters(name: str, setting: Mapping[str, KnobValue]) -> bool:
    """Tell whether a knob has an effect in a setting, and therefore a command."""
    if not KNOBS[name].exportable:
        return False
    if name == "t3346_s":
        return setting.get("nop_rate") != "off" and setting.get("nop_action") == "reject-congestion"
    return not name.startswith("nop_") or name == "nop_rate" or setting.get("nop_rate") != "off"


def _differs(name: str, value: KnobValue, setting: Mapping[str, KnobValue]) -> bool:
    return _matters(name, setting) and setting.get(name) != value


def _figures(
    record: Recommendation, scenario: Scenario, override: Mapping[str, KnobValue], threads: int | None
) -> Iterator[Check]:
    """Simulate the record's own storms again under both settings, and compare every figure."""
    pair: list[Mapping[str, Any]] = [{}, override]
    as_it_is = evaluate(pair, StormSet(scenario, record.nominal.seeds, vary=False), threads=threads)
    yield _compared("nominal storm", record.nominal, confirm.nominal(as_it_is))
    numbers = tuple(row.number for row in record.held_out.storms)
    unseen = confirm.held_out(evaluate(pair, StormSet(scenario, numbers, vary=True), threads=threads))
    yield _compared("held-out storms", record.held_out, unseen)
    worse = record.never_worse != (not unseen.worse)
    said = (
        f"worse on {len(unseen.worse)} of {len(numbers)} held-out storms, {'not ' if worse else ''}as the record says"
    )
    yield Check("never worse", not worse, said)


def _compared(name: str, said: BaseModel, found: BaseModel) -> Check:
    differing = list(_drift(said.model_dump(mode="json"), found.model_dump(mode="json"), ""))
    if not differing:
        return Check(name, True, "every figure comes out again")
    return Check(name, False, f"{len(differing)} figures drifted: {'; '.join(differing[:_SHOWN])}")


def _drift(said: Any, found: Any, path: str) -> Iterator[str]:
    if isinstance(said, Mapping) and isinstance(found, Mapping):
        for key in {**said, **found}:
            yield from _drift(said.get(key), found.get(key), f"{path}.{key}".lstrip("."))
    elif isinstance(said, list) and isinstance(found, list) and len(said) == len(found):
        for i, (one, other) in enumerate(zip(said, found, strict=True)):
            yield from _drift(one, other, f"{path}.{i}")
    elif not _alike(said, found):
        yield f"{path} is {found}, not {said}"


def _alike(said: Any, found: Any) -> bool:
    numbers = all(isinstance(x, int | float) and not isinstance(x, bool) for x in (said, found))
    return abs(said - found) <= DRIFT * max(1.0, abs(said)) if numbers else bool(said == found)


def _trials(folder: Path, scenario: Scenario, count: int | None, threads: int | None) -> Check:
    """Simulate trials again and compare the times on their storms."""
    rows = list(csv.DictReader(io.StringIO((folder / TRIALS).read_text("utf-8"))))
    chosen = rows if count is None else _picked(rows, count)
    wrong = []
    for row in chosen:
        try:
            said = [None if word == "-" else float(word) for word in row["times_s"].split()]
            storms = StormSet(scenario, tuple(int(word) for word in row["seeds"].split()), vary=True)
            times = evaluate([_setting(row, scenario, folder)], storms, threads=threads).outcomes.convergence_time_s[0]
        except (SignalstormError, ValueError, KeyError, TypeError) as error:
            wrong.append(f"trial {row.get('number')} cannot be read: {error}")
            continue
        if any(True for _ in _drift(said, plain_times(times), "")):
            wrong.append(f"trial {row['number']} comes to other times")
    said_of = f"{len(chosen)} of {len(rows)} simulated again"
    return Check("trials", not wrong, f"{said_of}: {'; '.join(wrong[:_SHOWN]) if wrong else 'the same times'}")


def _picked(rows: Sequence[Mapping[str, str]], count: int) -> list[Mapping[str, str]]:
    """Return the present setting, the best trials and the last one, at most so many."""
    feasible = sorted((row for row in rows if row["feasible"] == "True"), key=lambda row: float(row["value_s"]))
    order = [*rows[:1], *feasible[:1], *rows[-1:], *feasible[1:], *rows]
    return list({row["number"]: row for row in order}.values())[:count]


def _setting(row: Mapping[str, str], scenario: Scenario, folder: Path) -> dict[str, KnobValue]:
    """Return what a trial overrode: the study's knobs and what followed, the queue in the form of the command."""
    if row["present"] == "True":
        return {}
    data, _, _ = yaml_lines.read((folder / "study.yaml").read_text("utf-8"))
    names = ["nop_queue" if name == "nop_queue_wait_s" else name for name in data["knobs"]]
    values = {name: yaml_lines.read_value(row[name]) for name in names if row.get(name)}
    in_force = resolve({}, scenario)
    followed = {name: row[name] for name in SearchSpace(scenario, tuple(data["knobs"])).followers if row.get(name)}
    found = {name: yaml_lines.read_value(text) for name, text in followed.items()}
    values |= {name: value for name, value in found.items() if value != in_force.get(name)}
    if values.get("nop_rate") is False:
        values["nop_rate"] = "off"
    queue = values.get("nop_queue")
    if queue is not None and queue < KNOBS["nop_queue"].low:
        del values["nop_queue"]
    return _of(scenario, values)
