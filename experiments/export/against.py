"""An export made for one box: its own names, its own values, one block per association, and the difference in lines."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from signalstorm.envs.model.errors import Fault, InputError, Shown
from signalstorm.envs.model.knob_table import KNOBS, KnobValue
from signalstorm.envs.model.knobs import Setting
from signalstorm.experiments.export.commands import BACK_OFF, BOX_T3346_S
from signalstorm.experiments.export.source import Association, Source
from signalstorm.experiments.imports import grammar, staros, text
from signalstorm.experiments.imports.configuration import Configuration, Modes, Statement
from signalstorm.experiments.imports.present import LINK_KNOBS, is_mme_side, is_running, link_values, present

DIFF = "staros.diff"
"""The file of the difference."""

_TAIL = re.compile(r"tau .+? fwd-reloc (?:drop|reject)(?: ddn (?:drop|reject-with-cause \S+))?")
_OF_LINKS = (grammar.SS7, grammar.PEER_SERVER, grammar.PSP)
"""Objects that lead to an association; their kinds are the keys of `commands.NAMES`."""
_KINDS = {kind: kind for kind in (*_OF_LINKS, grammar.MME, grammar.EGTP, grammar.IMS)} | dict.fromkeys(
    ("mme-context", "egtp-context", "gateway-context"), grammar.CONTEXT
)
"""The kind of object of each name that can be looked up on a box, by the keys of `commands.NAMES`."""


def for_box(source: Source, configuration: Configuration, names: Mapping[str, str]) -> tuple[Source, dict[str, str]]:
    """Return the recommendation for one box, with the values in force on it and the names of its objects.

    Args:
        source: The recommendation.
        configuration: The box's running configuration.
        names: Names that the user gives; they come first.

    Raises:
        InputError: If the configuration contradicts itself where it matters.
    """
    _check_there(configuration, names)
    sgsn = "rto_max_ms" in source.recommended
    now: dict[str, KnobValue] = dict(source.present)
    associations = tuple(
        Association(
            _psp_names(configuration, psp), {k: v for k, v in link_values(configuration, psp).items() if k in now}
        )
        for psp in (_chosen(configuration, names) if sgsn else ())
    )
    held = {key: value for key, value in names.items() if key in (grammar.MME, grammar.EGTP)}
    held = {key: value for key, value in held.items() if configuration.objects(key)}
    box = {
        knob: found.value
        for knob, found in present(configuration, "gprs" if sgsn else "eps", held, alike=False).items()
        if (knob in source.present or knob in source.recommended) and knob not in LINK_KNOBS
    }
    if "nop_rate" in box:
        now.pop("nop_queue", None)
    found = replace(
        source,
        present=Setting({**now, **box}),
        associations=associations,
        differs=tuple(_differing(source, box, associations)),
        t3346_s=None if sgsn else _t3346(configuration, names),
        gate_tail="" if sgsn else _gate_tail(configuration),
    )
    return found, {**_names(configuration), **names}


def _differing(source: Source, box: Mapping[str, KnobValue], associations: Iterable[Association]) -> Iterator[str]:
    """Yield a sentence for each value on the box, and on each of its associations, that is not the one compared."""
    for knob, value in box.items():
        if value != source.present.get(knob):
            yield f"{knob} is {KNOBS[knob].text(value)} on it, {_compared(source, knob)}"
    for one in associations:
        for knob, value in one.values.items():
            if value != source.present.get(knob):
                yield f"{knob} is {KNOBS[knob].text(value)} on {one}, {_compared(source, knob)}"


def _compared(source: Source, knob: str) -> str:
    value = source.present.get(knob)
    return "nothing was compared" if value is None else f"{KNOBS[knob].text(value)} was compared"


def _chosen(configuration: Configuration, names: Mapping[str, str]) -> list[Modes]:
    """Return the associations that the names leave."""
    return [
        psp
        for psp in configuration.objects(grammar.PSP).values()
        if all(names.get(kind) in (None, _name(psp, kind)) for kind in _OF_LINKS)
    ]


def _check_there(configuration: Configuration, names: Mapping[str, str]) -> None:
    """Refuse names of objects that the box does not have: it would make new ones, or leave the real ones as they are.

    Raises:
        InputError: With every such name, and those that are there.
    """
    faults = []
    for key, kind in _KINDS.items():
        there = list(dict.fromkeys(modes[-1].name for modes in configuration.objects(kind).values()))
        if key in names and there and names[key] not in there:
            rule = f"must be one that is on the box, {configuration.file}"
            faults.append(Fault("--name", None, key, rule, names[key], f"it has: {', '.join(there)}"))
    psps = configuration.objects(grammar.PSP).values()
    if not faults and psps and not _chosen(configuration, names):
        given = ", ".join(f"{kind}={names[kind]}" for kind in _OF_LINKS if kind in names)
        there = [", ".join(f"{kind}={_name(psp, kind)}" for kind in _OF_LINKS) for psp in psps]
        rule = f"must name a PSP that is on the box, {configuration.file}"
        faults.append(Fault("--name", None, "psp", rule, Shown(given), f"it has: {'; '.join(there)}"))
    if faults:
        raise InputError(faults)


def _gate_tail(configuration: Configuration) -> str:
    """Return what the gate's line says of procedures that the model does not have."""
    lines = [s.text for s in configuration.effective() if s.slot == grammar.MME_GATE]
    found = _TAIL.search(" ".join(lines[-1].split())) if lines else None
    return found[0] if found else ""


def _t3346(configuration: Configuration, names: Mapping[str, str]) -> int | None:
    """Return the back-off timer of the box's MME service, whether its gate uses it or not; None where not known [s]."""
    services = configuration.objects(grammar.MME).values()
    own = [modes for modes in services if names.get(grammar.MME) in (None, modes[-1].name)]
    if len(own) != 1:
        return None
    said = [s.values[BACK_OFF] for s in configuration.effective() if s.modes == own[0] and BACK_OFF in s.values]
    if said:
        return round(float(said[-1]))
    return BOX_T3346_S if is_running(configuration) else None


def difference(configuration: Configuration, exported: Mapping[str, str | bytes]) -> str:
    """Return what an export changes of a configuration: its lines now and then, block by block."""
    now = {(s.modes, s.slot): s for s in configuration.effective()}
    rows = [f"--- {configuration.file}", f"+++ {configuration.file} after the export"]
    for name, content in exported.items():
        if not name.endswith(".cfg") or "rollback" in name or not isinstance(content, str):
            continue
        if not any(line[:1] not in ("#", "") for line in content.splitlines()):
            continue
        rows += _changes(now, staros.parse(text.clean(content.encode(), name)))
    return "\n".join(rows) + "\n"


def _changes(now: Mapping[tuple[Modes, str], Statement], then: Configuration) -> Iterator[str]:
    block: Modes | None = None
    for statement in then.effective():
        if statement.slot == "associate":
            continue
        before = now.get((statement.modes, statement.slot))
        if before is not None and before.values == statement.values:
            continue
        if statement.modes != block:
            block = statement.modes
            yield f"@@ {' > '.join(map(str, block)) or 'global configuration'} @@"
        if before is not None:
            yield f"-{before.text}    # line {before.line}: {before.shown}"
        yield f"+{statement.text}    # {statement.shown}"


def _names(configuration: Configuration) -> dict[str, str]:
    """Return the names of objects of which there is one, by the keys of `commands.NAMES`."""
    found: dict[str, str] = {}
    for kind, service, context in (
        (grammar.MME, "mme-service", "mme-context"),
        (grammar.EGTP, "egtp-service", "egtp-context"),
        (grammar.IMS, "ims-auth-service", "gateway-context"),
    ):
        own = [modes for modes in configuration.objects(kind).values() if is_mme_side(configuration, modes)]
        if len(own) == 1:
            found |= {service: own[0][-1].name, context: _name(own[0], grammar.CONTEXT)}
    return found


def _psp_names(configuration: Configuration, psp: Modes) -> dict[str, str]:
    domain = _name(psp, grammar.SS7)
    names = {"ss7-domain": domain, "peer-server": _name(psp, grammar.PEER_SERVER), "psp": psp[-1].name}
    if domain in configuration.variants:
        names["ss7-variant"] = configuration.variants[domain]
    asp = [s.values["asp"] for s in configuration.effective() if s.modes == psp and "asp" in s.values]
    return names | ({"asp": str(asp[-1])} if asp else {})


def _name(modes: Modes, kind: str) -> str:
    return next((mode.name for mode in modes if mode.kind == kind), "")
