"""What-if: a scenario with overridden knobs, fields, horizon and events, and the files of a simulated run."""

import csv
import io
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from pydantic import BaseModel

from signalstorm.envs.model import scenario_file, yaml_lines
from signalstorm.envs.model.errors import ABSENT, Fault, Finding, InputError, located, wrong_input
from signalstorm.envs.model.files import NO_ROOM, write_together
from signalstorm.envs.model.knobs import Setting, parse_set, resolve, validate
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.model.scenario_events import Event
from signalstorm.envs.model.wording import nearest
from signalstorm.experiments.alarms import trap_lines
from signalstorm.experiments.clock import start_of_day_s

if TYPE_CHECKING:
    from signalstorm.experiments.simulate import SimulationResult

EVENT_VALUES: dict[str, str | None] = {
    "capacity": "value",
    "latency": "value_s",
    "other_load": "value_per_s",
    "mass_detach": "share",
    "message_burst": "count",
    "hlr_reset": "share",
    "activity": "value",
    "link_down": None,
    "link_up": None,
    "link_reset": None,
    "peer_burst": "count",
    "gateway_flush": "share",
    "user_plane_loss": "share",
    "redirect": "share",
    "stall": "until_s",
    "release": None,
    "node_loss": "nodes",
    "node_restart": "nodes",
    "hold": "share",
    "staged_release": "stage_s",
    "unknown_burst": "value_per_s",
    "ddn_surge": "count",
    "imsimgr_reboot": None,
}
"""The field that VALUE of an event option sets, by kind; None: it takes none."""
_WHOLE = {"nodes"}

_CLOCK = re.compile(r"(\d{1,2}):([0-5]\d)(?::([0-5]\d))?")
_DAY_S = 86_400.0

_HOLD_KNOBS = ("topology", "present")
"""Parts of a scenario of which it depends which knobs there are, and what is legal for them."""
_FORM = "KIND:TARGET@TIME_S[=VALUE][,FIELD=VALUE...]"


def what_if(
    scenario: str | Scenario,
    sets: Iterable[str],
    *,
    horizon_s: float | None = None,
    events: Iterable[str] = (),
    without: Iterable[str] = (),
    config: Mapping[str, Any] | None = None,
) -> tuple[Setting, Scenario]:
    """Return the knobs and the scenario that the options of ``simulate`` describe.

    Args:
        scenario: A scenario, a name, or a path.
        sets: ``NAME=VALUE`` of knobs and fields.
        horizon_s: Another horizon [s].
        events: Events to add, as ``KIND:TARGET@TIME_S[=VALUE][,FIELD=VALUE...]``.
        without: Kinds of events to leave out.
        config: Knob values from a file; ``sets`` override them.

    Raises:
        InputError: With every fault found.
    """
    model = scenario if isinstance(scenario, Scenario) else scenario_file.load(scenario)
    sets, added, left_out = list(sets), list(events), list(without)
    faults: list[Fault] = []
    knobs, fields = Setting({}), dict[str, Any]()
    with _collected(faults):
        knobs, fields = parse_set(sets)
    if config is not None:
        with _collected(faults):
            knobs = validate({**config, **knobs})
    if horizon_s is not None:
        fields["horizon_s"] = horizon_s
    if added or left_out:
        with _collected(faults):
            fields["timeline"] = _timeline(model, added, left_out)
    options = {"--set": sets, "--horizon": horizon_s is not None, "--event": added, "--without-event": left_out}
    origin = ", ".join(name for name, given in options.items() if given)
    changed = model
    if fields:
        with _collected(faults):
            changed = model.with_fields(fields, origin=origin)
    if faults and not any(path.partition(".")[0] in _HOLD_KNOBS for path in fields):
        with _collected(faults):
            resolve(knobs, model)  # else the knobs would be looked at only once everything else is right
    if faults:
        raise InputError(fault for n, fault in enumerate(faults) if fault not in faults[:n])
    return knobs, changed


@contextmanager
def _collected(faults: list[Fault]) -> Iterator[None]:
    """Keep the faults of an error for later, so that all of them are reported at once."""
    try:
        yield
    except InputError as error:
        faults += error.faults


def _timeline(model: Scenario, added: Iterable[str], left_out: Iterable[str]) -> list[dict[str, Any]]:
    """Return a scenario's events without some kinds and with those of the command line."""
    unknown = [
        Finding(("--without-event",), "there is no such kind of event", kind, nearest(kind, EVENT_VALUES))
        for kind in left_out
        if kind not in EVENT_VALUES
    ]
    faults = list(located(unknown).faults)
    more = []
    for text in added:
        with _collected(faults):
            more.append(parse_event(text, model.clock_start))
    if faults:
        raise InputError(faults)
    return [event.model_dump(mode="json") for event in model.timeline if event.kind not in left_out] + more


def parse_event(text: str, clock_start: str | None = None) -> dict[str, Any]:
    """Read an event of the command line.

    Args:
        text: For example ``capacity:pcrf@30=20``: from 30 s on the PCRF serves 20 per second; further fields of the
            event follow, each behind a comma: ``peer_burst:gateway@60=5000,message=ccr_t,spread_s=10``. A target that
            has a default may be left out: ``hlr_reset@0``.
        clock_start: The scenario's start as HH:MM, with which a time of day may be given: ``link_reset:*@10:07``.

    Raises:
        InputError: If the words are not of that form.
    """
    words, *more = text.split(",")
    head, equals, value = words.partition("=")
    what, at, when = head.partition("@")
    kind, colon, target = what.partition(":")
    example = "for example capacity:pcrf@30=20"
    if kind in EVENT_VALUES and not colon:
        target = _default_target(kind)
    if not at or not (colon or target):
        raise wrong_input(f"must have the form {_FORM}", text, example, key="--event")
    if kind not in EVENT_VALUES:
        raise wrong_input("there is no such kind of event", kind, nearest(kind, EVENT_VALUES), key="--event")
    try:
        event: dict[str, Any] = {"kind": kind, "target": target, "time_s": _time_s(when, clock_start)}
        number = float(value) if equals else None
    except ValueError:
        raise wrong_input(f"must have the form {_FORM} with numbers", text, example, key="--event") from None
    field = EVENT_VALUES[kind]
    if number is not None:
        if field is None:
            raise wrong_input(f"{kind} takes no value", text, f"write {head}", key="--event")
        event[field] = int(number) if field in _WHOLE and number.is_integer() else number
    for part in more:
        name, value = _field(part, text, event)
        event[name] = value
    _refuse_incomplete(event, text)
    return event


def needs_value(kind: str) -> bool:
    """Tell whether an event of a kind must be given the VALUE of the option."""
    model, name = _event_model(kind), EVENT_VALUES.get(kind)
    return model is not None and name is not None and model.model_fields[name].is_required()


def _refuse_incomplete(event: Mapping[str, Any], text: str) -> None:
    """Refuse an event that lacks a field which has no default, and show how an option gives it."""
    model = _event_model(event["kind"])
    for name, field in ({} if model is None else model.model_fields).items():
        if not field.is_required() or name in event:
            continue
        words = [str(word) for word in get_args(field.annotation)]
        head, comma, rest = text.partition(",")
        whole = f"{head}=NUMBER{comma}{rest}" if name == EVENT_VALUES[event["kind"]] else f"{text},{name}={words[0]}"
        among = f", one of {', '.join(words)}" if words else ""
        raise wrong_input(f"{event['kind']} needs {name}{among}", text, f"write {whole}", key="--event")


def _default_target(kind: str) -> str:
    """Return the target that an event of a kind has by itself; empty if it must be given."""
    model = _event_model(kind)
    field = None if model is None else model.model_fields["target"]
    return "" if field is None or field.is_required() else str(field.default)


def _time_s(when: str, clock_start: str | None) -> float:
    """Return a time from the scenario's start, given in seconds or as a time of day [s].

    Raises:
        ValueError: If it is neither, or the scenario names no time of day.
    """
    clock, start_s = _CLOCK.fullmatch(when.strip()), start_of_day_s(clock_start)
    if clock is None or start_s is None:
        return float(when)
    hours, minutes, seconds = (int(part or 0) for part in clock.groups())
    return (3600.0 * hours + 60.0 * minutes + seconds - start_s) % _DAY_S


def _field(part: str, text: str, event: Mapping[str, Any]) -> tuple[str, Any]:
    """Read ``FIELD=VALUE`` of an event whose other fields are known."""
    name, equals, written = (word.strip() for word in part.partition("="))
    known = [field for field in event_fields(event["kind"]) if field not in ("kind", "target", "time_s")]
    if not equals or not written:
        raise wrong_input("further fields must have the form FIELD=VALUE", text, _fields_in_words(known), key="--event")
    if name not in known:
        way_out = nearest(name, known) if known else f"{event['kind']} has no further field"
        raise wrong_input(f"{event['kind']} has no such field", name, way_out, key="--event")
    if name in event:
        raise wrong_input(f"{name} must be given once", text, "leave one of them out", key="--event")
    try:
        return name, yaml_lines.read_value(written)
    except yaml_lines.YamlError:
        raise wrong_input(f"{name} must be a number or a word", text, "mend it", key="--event") from None


def _fields_in_words(names: list[str]) -> str:
    return f"its fields are {', '.join(names)}" if names else "it has no further field"


def event_fields(kind: str) -> tuple[str, ...]:
    """Return the fields that an event of a kind has, its kind, target and time among them."""
    model = _event_model(kind)
    return () if model is None else tuple(model.model_fields)


def _event_model(kind: str) -> type[BaseModel] | None:
    """Return the class of a kind of event."""
    union = get_args(Event)[0]
    return next((one for one in get_args(union) if kind in get_args(one.model_fields["kind"].annotation)), None)


def read_setting(path: Path) -> Setting:
    """Read knob values from a YAML or JSON file, or from the recommended setting of a recommendation.

    Raises:
        InputError: If the file cannot be read, or a value is not legal; with the file and the line.
    """
    content, file = scenario_file.read(path)
    try:
        data, lines, findings = yaml_lines.read(content.decode())
    except UnicodeDecodeError:
        raise wrong_input("must be UTF-8 text", ABSENT, "save it as UTF-8", file=file) from None
    except yaml_lines.YamlError as error:
        raise InputError([Fault(file, error.line, "", error.rule, ABSENT, error.way_out)]) from None
    base: tuple[str, ...] = ()
    if isinstance(data, Mapping) and isinstance(data.get("recommended"), Mapping):
        data, base = data["recommended"], ("recommended",)
    if not isinstance(data, Mapping) or not data:
        raise wrong_input("must hold knob values, one per line", ABSENT, "for example nop_rate: 400", file=file)
    if findings:
        raise located(findings, file)
    try:
        return validate({str(name): value for name, value in data.items()}, file)
    except InputError as error:
        raise InputError(
            Fault(f.file, lines.get((*base, f.key)), f.key, f.rule, f.value, f.way_out) for f in error.faults
        ) from None


def refuse_tune_folder(out: Path) -> None:
    """Refuse a folder that holds the run of a search: its files would be overwritten.

    Raises:
        InputError: If it does.
    """
    if any((out / name).exists() for name in ("recommendation.json", "journal.log")):
        raise wrong_input("holds the run of tune, which is left alone", str(out), "give another --out", key="--out")


def refuse_unwritable(out: Path) -> None:
    """Refuse a folder that cannot be written, before a run whose files it is to hold.

    Raises:
        InputError: If it is a file, or it or the nearest folder above it cannot be written.
    """
    above = next((folder for folder in (out, *out.absolute().parents) if folder.exists()), Path("/"))
    if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
        reason = "not a folder" if not above.is_dir() else "no permission"
        rule = f"must be a folder that can be written ({above}: {reason})"
        raise wrong_input(rule, str(out), "give another --out", key="--out")


def write_run(result: "SimulationResult", out: Path) -> None:
    """Write ``result.json``, ``series.csv`` and ``scenario.yaml`` of a simulated run.

    Where storms set alarms, the log of each goes into ``traps/storm-N.txt``.

    Raises:
        InputError: If the folder cannot be written.
    """
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(["seed", "time_s", "element", "quantity", "unit", "value"])
    for seed, time_s, element, quantity, unit, value in result.series_rows():
        writer.writerow([seed, f"{time_s:.6g}", element, quantity, unit, f"{value:.8g}"])
    texts: dict[Path, str | bytes] = {
        out / "scenario.yaml": scenario_file.dump(result.scenario),
        out / "series.csv": table.getvalue(),
        out / "result.json": json.dumps(result.to_json(), indent=2, allow_nan=False) + "\n",
    }
    for seed in dict.fromkeys(alarm["seed"] for alarm in result.alarms):
        own = [alarm for alarm in result.alarms if alarm["seed"] == seed]
        texts[out / "traps" / f"storm-{seed}.txt"] = trap_lines(own, result.scenario.clock_start)
    try:
        write_together(texts)
    except OSError as error:
        if error.errno in NO_ROOM:
            raise
        rule = f"must be a folder that can be written ({error.strerror})"
        raise wrong_input(rule, str(out), "give another --out", key="--out") from None
