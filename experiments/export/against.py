"""An export made for one box: its own names, its own values, one block per association, and the difference in lines."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from signalstorm.envs.model.knob_table import KNOBS, KnobValue
from signalstorm.envs.model.knobs import Setting
from signalstorm.experiments.export.source import Association, Source
from signalstorm.experiments.imports import grammar, staros, text
from signalstorm.experiments.imports.configuration import Configuration, Modes, Statement
from signalstorm.experiments.imports.present import is_mme_side, link_values, present

DIFF = "staros.diff"
"""The file of the difference."""


def for_box(source: Source, configuration: Configuration, names: Mapping[str, str]) -> tuple[Source, dict[str, str]]:
    """Return the recommendation for one box, with the values in force on it and the names of its objects.

    Args:
        source: The recommendation.
        configuration: The box's running configuration.
        names: Names that the user gives; they come first.

    Raises:
        InputError: If the configuration contradicts itself where it matters.
    """
    sgsn = "rto_max_ms" in source.recommended
    psps = configuration.objects(grammar.PSP).values() if sgsn else ()
    chosen = [psp for psp in psps if names.get("psp") in (None, psp[-1].name)]
    chosen = [psp for psp in chosen if names.get("peer-server") in (None, _name(psp, grammar.PEER_SERVER))]
    first = {"psp": chosen[0][-1].name} if chosen else {}
    selectors = {key: value for key, value in names.items() if key in (grammar.MME, grammar.EGTP)} | first
    box = {
        knob: found.value
        for knob, found in present(configuration, "gprs" if sgsn else "eps", selectors, alike=False).items()
        if knob in source.present or knob in source.recommended
    }
    differs = tuple(
        f"{knob} is {KNOBS[knob].text(value)} on it, {KNOBS[knob].text(source.present.get(knob))} was compared"
        for knob, value in box.items()
        if value != source.present.get(knob)
    )
    now: dict[str, KnobValue] = dict(source.present)
    if "nop_rate" in box:
        now.pop("nop_queue", None)
    associations = tuple(
        Association(
            _psp_names(configuration, psp), {k: v for k, v in link_values(configuration, psp).items() if k in now}
        )
        for psp in chosen
    )
    found = replace(source, present=Setting({**now, **box}), associations=associations, differs=differs)
    return found, {**_names(configuration), **names}


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
