"""From a running configuration to the setting in force of a scenario."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from signalstorm.envs.model.errors import Fault, InputError, wrong_input
from signalstorm.envs.model.knob_table import KNOBS, OFF, RTO_NAMES, KnobValue
from signalstorm.envs.model.knobs import resolve
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.model.scenario_parts import GprsLadder
from signalstorm.envs.model.wording import nearest
from signalstorm.experiments.imports import grammar
from signalstorm.experiments.imports.configuration import Configuration, Modes, Trouble, faults
from signalstorm.experiments.imports.troubles import is_script

SELECTORS = (grammar.MME, grammar.EGTP, grammar.POLICY, grammar.PSP, grammar.PEER_SERVER, grammar.SS7, grammar.CONTEXT)
"""Kinds of objects among which ``--name`` can choose."""

LINK_KNOBS = (*RTO_NAMES, "max_assoc_retx", "sack_period_ms")
"""Knobs that each association has for itself."""
_HOLDERS = {
    "t3346_s": grammar.MME,
    "gtpc_timeout_ms": grammar.EGTP,
    "gtpc_retries": grammar.EGTP,
    "diameter_tx_s": grammar.POLICY,
    **dict.fromkeys(LINK_KNOBS, grammar.PSP),
}
"""The object that holds each knob which is not of the whole box."""
_DDN_KNOBS = tuple(name for name in KNOBS if name.startswith("ddn_"))
_BESIDE = {
    "gprs": ("broadcast_off_percent", "session_managers", "imsimgr_instances", "t3346_low_min", "t3346_high_min"),
    "eps": ("broadcast_off_percent", "imsimgr_instances", "gx_failure_action", "gy_failure_action", *_DDN_KNOBS),
}
"""Knobs of elements beside the attach chain, by access: those of which there is a line."""
_BY_MME = "ddn sgw-throttling"
_BOX_DEFAULTS: dict[str, KnobValue] = {
    "gtpc_timeout_ms": 5000,
    "gtpc_retries": 4,
    "rto_min_ms": 1000,
    "rto_initial_ms": 3000,
    "rto_max_ms": 60000,
    "max_assoc_retx": 10,
    "sack_period_ms": 200,
}
"""What a box has without the command; the tables of `knob_table` say where that is published."""


@dataclass(frozen=True, slots=True)
class Found:
    """A value of the setting in force."""

    value: KnobValue
    """The value."""
    line: int | None
    """The line that sets it; None: the box's default, by the absence of a line."""
    text: str
    """The line, or why there is none."""


def present(
    configuration: Configuration, access: str, names: Mapping[str, str] | None = None, *, alike: bool = True
) -> dict[str, Found]:
    """Return the setting in force by knob.

    Args:
        configuration: What was read.
        access: ``gprs`` for an SGSN, ``eps`` for an MME.
        names: Which object counts where there are several, by kind: ``{"psp": "4"}``.
        alike: Whether all associations must be set alike; else the first of the chosen ones stands for them.

    Raises:
        InputError: With everything that must be decided by a person first.
    """
    chosen = dict(names or {})
    for kind in chosen:
        if kind not in SELECTORS:
            raise wrong_input("is no kind of object that can be chosen", kind, nearest(kind, SELECTORS), file="--name")
    _check_there(configuration, chosen)
    found: dict[str, Found] = {}
    troubles: list[Trouble] = []
    found |= _gate(configuration, access)
    for knob in _HOLDERS:
        if (knob in LINK_KNOBS) == (access == "gprs"):
            result = _held(configuration, knob, chosen)
            if isinstance(result, Trouble):
                if alike or knob not in LINK_KNOBS:
                    troubles.append(result)
            elif result is not None:
                found[knob] = result
    for knob in _BESIDE[access]:
        result = _stated(configuration, knob)
        if isinstance(result, Trouble):
            troubles.append(result)
        elif result is not None:
            found[knob] = result
    open_questions = [t for t in configuration.troubles if _concerns(t, access)]
    if open_questions or troubles:
        raise InputError(faults(configuration, [*open_questions, *troubles]))
    if found.get("nop_action") is None or found["nop_action"].value != "reject-congestion":
        found.pop("t3346_s", None)
    return found


def fields(configuration: Configuration, scenario: Scenario) -> dict[str, Found]:
    """Return scenario fields, by dotted path, that a running configuration tells beside the knobs."""
    found: dict[str, Found] = {}
    for statement in configuration.effective():
        if "imsimgr_instances" in statement.values and scenario.topology.gate is not None:
            value = statement.values["imsimgr_instances"]
            found["topology.gate.instances"] = Found(value, statement.line, statement.text)
        if "t3302_s" in statement.values and scenario.access == "gprs":
            for group in scenario.subscribers:
                if isinstance(group.ladder, GprsLadder):
                    path = f"subscribers.{group.name}.ladder.t3302_s"
                    found[path] = Found(float(statement.values["t3302_s"]), statement.line, statement.text)
    return found


def link_values(configuration: Configuration, psp: Modes) -> dict[str, KnobValue]:
    """Return what is in force on an association, by knob; with the box's defaults for what has no line."""
    said = {key: s.values[key] for s in configuration.effective() if s.modes == psp for key in s.values}
    known = {} if is_script(configuration, psp) else {knob: _BOX_DEFAULTS[knob] for knob in LINK_KNOBS}
    return {knob: said.get(knob, known.get(knob, 0)) for knob in LINK_KNOBS if knob in said or knob in known}


def into(configuration: Configuration, scenario: Scenario, names: Mapping[str, str] | None = None) -> Scenario:
    """Return a scenario whose setting in force is that of a running configuration.

    Raises:
        InputError: With everything that must be decided by a person first, or if the setting is not legal.
    """
    values: dict[str, Any] = {
        name: found.value
        for name, found in present(configuration, scenario.access, names).items()
        if getattr(scenario.topology, KNOBS[name].element) is not None
    }
    if not values:
        rule = f"sets nothing that the scenario {scenario.name} has"
        raise wrong_input(rule, way_out="give another scenario, or another box's file", file=configuration.file)
    if not is_running(configuration):
        kept = {k: v for k, v in scenario.present.items() if "nop_rate" not in values or not k.startswith("nop_queue")}
        values = {**kept, **values}
    told = {path: found.value for path, found in fields(configuration, scenario).items()}
    changed = scenario.with_fields({"present": values, **told}, configuration.file)
    resolve({}, changed)
    return changed


def _gate(configuration: Configuration, access: str) -> dict[str, Found]:
    head = grammar.SGSN_GATE if access == "gprs" else grammar.MME_GATE
    lines = [s for s in configuration.effective() if s.slot == head]
    if lines:
        return {key: Found(value, lines[-1].line, lines[-1].text) for key, value in lines[-1].values.items()}
    if is_running(configuration):
        return {"nop_rate": Found(OFF, None, "no such line: the box has no gate")}
    return {}


def is_running(configuration: Configuration) -> bool:
    """Tell whether the file is a whole running configuration, neither a part nor a script that changes some lines.

    Of a running configuration most lines mean nothing here, and what it leaves out has the box's default; a script
    holds little else than what it changes.
    """
    blocks = configuration.objects(grammar.PSP).values()
    return (
        configuration.whole
        and configuration.unknown_count > 0
        and not any(is_script(configuration, psp) for psp in blocks)
    )


def _held(configuration: Configuration, knob: str, names: Mapping[str, str]) -> Found | Trouble | None:
    """Return a knob that objects hold: one value for all of those that are chosen."""
    kind = _HOLDERS[knob]
    objects = [
        modes
        for name, modes in configuration.objects(kind).items()
        if all(_named(modes, other, names[other], name) for other in names) and is_mme_side(configuration, modes)
    ]
    stated = {modes: s for s in configuration.effective() for modes in objects if s.modes == modes and knob in s.values}
    values: dict[KnobValue, Found] = {}
    for modes in objects:
        statement = stated.get(modes)
        if statement is not None:
            found = Found(statement.values[knob], statement.line, statement.text)
        elif knob in _BOX_DEFAULTS and is_running(configuration):
            found = Found(_BOX_DEFAULTS[knob], None, f"no such line in {modes[-1]}: the box's default")
        else:
            continue
        values.setdefault(found.value, found)
    if len(values) < 2:
        return next(iter(values.values()), None)
    said = "; ".join(f"{KNOBS[knob].text(v)}: {f'line {f.line}' if f.line else f.text}" for v, f in values.items())
    way_out = (
        f"say which one counts: --name {kind}={objects[0][-1].name}" if objects[0][-1].name else "leave one of them"
    )
    lines = tuple(f.line for f in values.values() if f.line is not None)
    return Trouble("differs", lines, knob, f"differs between the objects of kind {kind} ({said})", way_out, (knob,))


def _check_there(configuration: Configuration, names: Mapping[str, str]) -> None:
    """Refuse a choice of which the file has no object: everything that it holds would be left out without a word.

    Raises:
        InputError: With each such choice, and the objects that are there.
    """
    wrong = []
    for kind, wanted in names.items():
        objects = configuration.objects(kind)
        if not any(all(_named(modes, other, names[other], name) for other in names) for name, modes in objects.items()):
            beside = [f"{other}={names[other]}" for other in names if other != kind]
            rule = (
                f"must name an object of {configuration.file}{' together with ' if beside else ''}{', '.join(beside)}"
            )
            way_out = f"there are: {', '.join(objects)}" if objects else f"it has no {kind}; leave the choice out"
            wrong.append(Fault("--name", None, kind, rule, wanted, way_out))
    if wrong:
        raise InputError(wrong)


def _stated(configuration: Configuration, knob: str) -> Found | Trouble | None:
    """Return a knob that lines anywhere set, all to one value."""
    lines = [s for s in configuration.effective() if knob in s.values]
    # An SGW that counts by itself has a factor of its own, beside the one that an MME of Release 10 asks for.
    lines = [s for s in lines if s.slot != _BY_MME] or lines
    values = {s.values[knob]: Found(s.values[knob], s.line, s.text) for s in reversed(lines)}
    if len(values) < 2:
        return next(iter(values.values()), None)
    said = "; ".join(f"{KNOBS[knob].text(value)}: line {one.line}" for value, one in values.items())
    numbers = tuple(s.line for s in lines)
    return Trouble("differs", numbers, knob, f"is set differently ({said})", "leave one of the lines", (knob,))


def _named(modes: Modes, kind: str, wanted: str, name: str) -> bool:
    """Tell whether an object lies in, or is, the chosen one; objects without such a parent are not concerned."""
    own = [mode.name for mode in modes if mode.kind == kind]
    return not own or wanted == own[0] or (modes[-1].kind == kind and wanted == name)


def is_mme_side(configuration: Configuration, modes: Modes) -> bool:
    """Tell whether an eGTP service may be the MME's: another kind of interface says that it is not."""
    if modes[-1].kind != grammar.EGTP:
        return True
    kinds = [
        s.values.get("interface") for s in configuration.effective() if s.modes == modes and s.slot == "interface-type"
    ]
    return not kinds or kinds[-1] == "interface-mme"


def _concerns(trouble: Trouble, access: str) -> bool:
    """Tell whether a trouble stands in the way of this access's setting."""
    if not trouble.knobs:
        return False
    other = grammar.MME_GATE if access == "gprs" else grammar.SGSN_GATE
    return other not in trouble.key and (access == "gprs" or not set(trouble.knobs) <= set(LINK_KNOBS))


def rows(found: Mapping[str, Found]) -> Iterator[tuple[str, str, str]]:
    """Yield knob, value in words and origin of each value."""
    for name, one in found.items():
        knob = KNOBS.get(name)
        value = knob.text(one.value) if knob else str(one.value)
        yield name, value, f"line {one.line}: {one.text}" if one.line else one.text
