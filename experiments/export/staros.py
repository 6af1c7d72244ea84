"""StarOS configuration files: the recommended setting, and one that puts the present setting back.

A line that begins with ``#`` is a remark, which the box skips; the file must be ASCII with UNIX line ends, and
a ``|`` makes the box skip a command (ASR 5500 System Administration Guide, StarOS Release 18, p30). Blocks are
left with ``end``, never with ``exit``: after a refused command ``exit`` could leave the session itself.
"""

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from signalstorm import __version__
from signalstorm.envs.model.errors import ABSENT, Finding, located
from signalstorm.envs.model.knob_table import KNOBS, KnobValue
from signalstorm.envs.model.wording import nearest
from signalstorm.experiments.export.command import Command
from signalstorm.experiments.export.commands import (
    BACK_OFF,
    GATE_KNOBS,
    NAMES,
    PSP_MODES,
    Values,
    commands,
    gate_rate,
    not_exported,
    on_box,
    with_tail,
)
from signalstorm.experiments.export.releases import Release
from signalstorm.experiments.export.source import ALTERED, WORSE, Source
from signalstorm.experiments.imports.present import LINK_KNOBS

SETTING, ROLLBACK = "staros.cfg", "staros-rollback.cfg"
"""The files for the MME."""
GATEWAY, GATEWAY_ROLLBACK = "staros-gateway.cfg", "staros-gateway-rollback.cfg"
"""The files for the gateway, where something changes there."""

_WIDTH = 110
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,78}")
_UNSAFE = re.compile(r"[^ -~]")
_FOR_REMARKS = str.maketrans({"|": "/", "?": "."})


def plan(source: Source, release: Release) -> dict[str, list[Command]]:
    """Return the commands of each file, by the file's name.

    Raises:
        InputError: If the release has no command for a value.
    """
    there = _commands(source, release, back=False)
    back = _commands(source, release, back=True)
    found = {
        SETTING: [command for command in there if command.box == "mme"],
        ROLLBACK: [command for command in back if command.box == "mme"],
        GATEWAY: [command for command in there if command.box == "gateway"],
        GATEWAY_ROLLBACK: [command for command in back if command.box == "gateway"],
    }
    return {name: todo for name, todo in found.items() if todo or name in (SETTING, ROLLBACK)}


def _commands(source: Source, release: Release, *, back: bool) -> list[Command]:
    """Return the commands there or back; those of links once per association, by what is in force on it."""
    found = _between(source, source.present, release, back=back)
    if not source.associations:
        return found
    links: list[Command] = []
    for one in source.associations:
        blanks = {key: f"{{{key}}}" for key in NAMES} | dict(one.names)
        links += [
            replace(
                command,
                modes=tuple(mode.format_map(blanks) for mode in command.modes),
                line=command.line.format_map(blanks),
            )
            for command in _between(source, {**source.present, **one.values}, release, back=back)
            if command.modes == PSP_MODES
        ]
    others = [command for command in found if command.modes != PSP_MODES]
    gate_first = bool(links) and _falls(source, back=back)
    return [*others, *links] if gate_first else [*links, *others]


def _falls(source: Source, *, back: bool) -> bool:
    """Tell whether the gate's rate falls, so that it comes before the links."""
    target, other = (source.present, source.recommended) if back else (source.recommended, source.present)
    return gate_rate(target) < gate_rate(other)


def _between(source: Source, present: Values, release: Release, *, back: bool) -> list[Command]:
    target, other = (present, source.recommended) if back else (source.recommended, present)
    found = commands(target, other, release, back=back, t3346_s=source.t3346_s)
    return [with_tail(command, source.gate_tail) for command in found] if source.gate_tail else found


def files(source: Source, release: Release, names: Mapping[str, str]) -> dict[str, str]:
    """Return the files by name.

    Args:
        source: The recommendation.
        release: The release of the boxes.
        names: Names of contexts and services by the keys of `NAMES`; those not given are left to be filled in.

    Raises:
        InputError: If the release has no command for a value, or a name is not legal.
    """
    check_names(names)
    whole = plan(source, release)
    return {
        name: _file(source, release, names, todo, _elsewhere(whole, name), back=name in (ROLLBACK, GATEWAY_ROLLBACK))
        for name, todo in whole.items()
    }


def lines(todo: Iterable[Command], names: Mapping[str, str]) -> list[str]:
    """Return commands in the blocks that enter their modes, without remarks."""
    return [line for block in _blocks(todo) for line in _entered(block, names)]


def check_names(names: Mapping[str, str]) -> None:
    """Check the names of contexts and services.

    Raises:
        InputError: With every key that is not known, and every name that a box would not take.
    """
    findings = [
        Finding((key,), "is no object of the commands", ABSENT, nearest(key, NAMES))
        for key in names
        if key not in NAMES
    ]
    rule = "must be a name of letters, digits, dots, hyphens and underscores, at most 79"
    findings += [Finding((key,), rule, name, "") for key, name in names.items() if not _NAME.fullmatch(name)]
    if findings:
        raise located(findings, "--name")


def _file(
    source: Source,
    release: Release,
    names: Mapping[str, str],
    todo: Sequence[Command],
    elsewhere: Mapping[str, str],
    *,
    back: bool,
) -> str:
    target, other = (source.present, source.recommended) if back else (source.recommended, source.present)
    head = [
        *_head(source, release, todo, names, back=back),
        "",
        *_difference(source, elsewhere, back=back),
        *not_exported(target, other),
    ]
    text = list(remarks(head))
    if not todo:
        text += remarks(["", "Nothing to change on this box."])
    for block in _blocks(todo):
        text += remarks(["", *(remark for command in block for remark in _about(command, source))])
        text += _entered(block, names)
    return "\n".join(text) + "\n"


def _head(
    source: Source, release: Release, todo: Sequence[Command], names: Mapping[str, str], *, back: bool
) -> Iterator[str]:
    if not source.never_worse:
        yield WORSE
    if source.altered:
        yield f"{ALTERED}: {', '.join(source.altered)}."
    for sentence in source.differs:
        yield f"THE BOX DIFFERS from the setting that was compared: {sentence}."
    scenario, what = source.record.scenario, "the present setting, to go back to" if back else "the recommended setting"
    yield f"signalstorm {__version__}: {what}, for scenario {scenario.name}"
    yield f"scenario {scenario.hash}, recommendation {source.sha256}"
    if not back:
        yield f"Verdict: {source.record.verdict}"
    yield f"StarOS release: {release.number or 'not named; the forms are those of 17 and later'}"
    blocks = {command.modes for command in todo if is_link(command)}
    if len(blocks) > 1:
        yield (
            "DO NOT LOAD THIS AS A FILE: it takes associations down, one by one. Enter block by block, without the "
            "remarks (lines that begin with #), and go on only once the association of the last block is in service."
        )
    else:
        yield "Load this as a file. Where lines are pasted instead, leave out the remarks (lines that begin with #)."
    missing = [key for key in needed(todo) if key not in names]
    if missing:
        yield "FILL IN FIRST, at < >: " + ", ".join(f"{NAMES[key]} ({key})" for key in missing)
    if not back:
        yield "Save the present configuration first. The file with rollback in its name goes back to it."


def difference(
    target: Values,
    other: Values,
    links: Mapping[str, tuple[Values, Values]] | None = None,
    elsewhere: Mapping[str, str] | None = None,
) -> Iterator[str]:
    """Yield what changes and what stays, a sentence part for each knob.

    Args:
        target: The setting to reach, as `on_box` returns it.
        other: The setting in force, likewise.
        links: What each association is to have and has, by its name in words; None: one setting holds for all.
        elsewhere: The file that sets a knob, where it is not the one that this is written into.
    """
    pairs = {"": (target, other)}
    names = [name for name in KNOBS if name in target or name in other]
    own = LINK_KNOBS if links else ()
    rows = [
        f"  {name}: {text(name, old)} -> {text(name, new)}{f' on {where}' if where else ''}"
        f"{f' (by {elsewhere[name]})' if elsewhere and name in elsewhere else ''}"
        for name in names
        for where, (then, now) in (links or pairs if name in own else pairs).items()
        if (old := now.get(name)) != (new := then.get(name))
    ]
    yield "What changes:" if rows else "What changes: nothing"
    yield from rows
    stays = [n for n in names if not any(row.startswith(f"  {n}: ") for row in rows)]
    yield "What stays: " + (", ".join(f"{n} {text(n, target.get(n))}" for n in stays) or "nothing")


def text(name: str, value: KnobValue | None) -> str:
    """Return a knob's value in words; None: it has none of its own."""
    if value is None:
        return "the box's own" if name == BACK_OFF else "not set"
    return KNOBS[name].text(value)


def _difference(source: Source, elsewhere: Mapping[str, str], *, back: bool) -> Iterator[str]:
    now, then = on_box(source.present, source.recommended, source.t3346_s)
    links = {str(one): ({**now, **one.values}, then) for one in source.associations}
    if back:
        yield from difference(now, then, links, elsewhere)
    else:
        yield from difference(then, now, {where: (there, here) for where, (here, there) in links.items()}, elsewhere)


def link_changes(source: Source) -> Iterator[tuple[str, str, KnobValue | None, KnobValue | None]]:
    """Yield knob, association, value in force and recommended value for all that changes on the box's associations."""
    for one in source.associations:
        for name, value in one.values.items():
            if value != source.recommended.get(name):
                yield name, str(one), value, source.recommended.get(name)


def _elsewhere(files: Mapping[str, Sequence[Command]], own: str) -> dict[str, str]:
    """Return the file that sets a knob on the other box, on the same way."""
    other = {SETTING: GATEWAY, ROLLBACK: GATEWAY_ROLLBACK, GATEWAY: SETTING, GATEWAY_ROLLBACK: ROLLBACK}[own]
    knobs = [name for command in files.get(other, ()) for name in command.knobs]
    at_agent = dict.fromkeys((name for name, knob in KNOBS.items() if knob.element == "dra"), "the target vdra")
    return at_agent | dict.fromkeys([*knobs, *(GATE_KNOBS if "nop_rate" in knobs else ())], other)


def _about(command: Command, source: Source) -> Iterator[str]:
    before, after = command.before, command.after
    for name in command.knobs:
        knob = KNOBS[name]
        was = f" (before: {knob.text(before[name])})" if name in before and before[name] != after.get(name) else ""
        yield f"{name} = {text(name, after.get(name))}{was}. Changed: {knob.change}. Seen in: {command.source}."
    if changes_nothing(command):
        yield "  changes nothing: this is in force already, and may be left out"
    if command.modes == PSP_MODES and not command.knobs and command.notes:
        yield "  this block is for one PSP: repeat it for each. What each had is in the configuration saved before"
    yield from (f"  {note}" for note in command.notes)
    if "nop_rate" in command.knobs and not isinstance(after["nop_rate"], str):
        yield f"  {_share(after['nop_rate'], source.imsimgr_instances)}"
    yield from (f"  CONFIRM ON BOX: {doubt}" for doubt in command.confirm)


def changes_nothing(command: Command) -> bool:
    """Tell whether all that a command sets is in force already; one without knobs, `no associate`, does something."""
    before, after = command.before, command.after
    return bool(command.knobs) and all(name in after and after[name] == before.get(name) for name in command.knobs)


def is_link(command: Command) -> bool:
    """Tell whether a command is one of an association."""
    return len(command.modes) == len(PSP_MODES) and command.modes[0].startswith("ss7-routing-domain")


def _share(rate: float, instances: int | None) -> str:
    if instances is None:
        return f"the rate is that of the chassis: each of k IMSI managers gets {rate:g}/k per s"
    if instances == 1:
        return "the rate is that of the chassis, and the scenario has one IMSI manager, which gets all of it"
    return f"the rate is that of the chassis: each of {instances} IMSI managers gets {rate / instances:.6g} per s"


def needed(todo: Iterable[Command]) -> list[str]:
    """Return the keys of `NAMES` that commands hold."""
    text = " ".join(part for command in todo for part in (*command.modes, command.line))
    return [key for key in NAMES if f"{{{key}}}" in text]


def _blocks(todo: Iterable[Command]) -> Iterator[list[Command]]:
    """Yield the commands in blocks of one mode each."""
    for _, block in groupby(todo, key=lambda command: command.modes):
        yield list(block)


def _entered(block: Sequence[Command], names: Mapping[str, str]) -> Iterator[str]:
    """Yield a block's lines; a name to be filled in has blanks, so that a box refuses it if nobody does."""
    filled = {key: names.get(key, f"< {meaning} >") for key, meaning in NAMES.items()}
    yield "config"
    depth = 1
    for mode in block[0].modes:
        yield "  " * depth + mode.format_map(filled)
        depth += 1
    yield from ("  " * depth + command.line.format_map(filled) for command in block)
    yield "end"


def remarks(paragraphs: Iterable[str]) -> Iterator[str]:
    """Yield remark lines; whatever a paragraph holds, none of it can become a command."""
    for paragraph in paragraphs:
        indent = "  " if paragraph.startswith("  ") else ""
        clean = _UNSAFE.sub("*", " ".join(paragraph.split())).translate(_FOR_REMARKS)
        wrapped = textwrap.wrap(clean, _WIDTH, initial_indent=indent, subsequent_indent=indent + "  ")
        yield from (f"# {line}" for line in wrapped) if wrapped else ("#",)
