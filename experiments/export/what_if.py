"""StarOS configuration files of a what-if: a setting that somebody tried, without the evidence of a search."""

from collections.abc import Iterator, Sequence

from signalstorm import __version__
from signalstorm.envs.model.knob_table import KNOBS
from signalstorm.experiments.export.command import Command
from signalstorm.experiments.export.commands import Values, commands, not_exported, on_box
from signalstorm.experiments.export.releases import UNKNOWN
from signalstorm.experiments.export.staros import (
    GATEWAY,
    GATEWAY_ROLLBACK,
    ROLLBACK,
    SETTING,
    difference,
    lines,
    remarks,
    text,
)

UNCHECKED = "A WHAT-IF: nobody has compared this setting with the present one on other storms than those looked at."
"""The sentence with which these files begin."""


def what_if_files(scenario: str, present: Values, setting: Values) -> dict[str, str]:
    """Return the files by name: for the MME or SGSN, and for the gateway where something changes there.

    Args:
        scenario: The scenario's name.
        present: The complete setting in force.
        setting: The complete setting that was tried.

    Raises:
        InputError: If no command can set a value.
    """
    ways = ((setting, present, SETTING, GATEWAY, False), (present, setting, ROLLBACK, GATEWAY_ROLLBACK, True))
    found: dict[str, str] = {}
    now, then = on_box(present, setting)
    for target, other, mme, gateway, back in ways:
        shown = (now, then) if back else (then, now)
        todo = commands(target, other, UNKNOWN, back=back)
        found[mme] = _file(scenario, target, other, shown, [command for command in todo if command.box == "mme"])
        beside = [command for command in todo if command.box == "gateway"]
        if beside:
            found[gateway] = _file(scenario, target, other, shown, beside)
    return found


def _file(
    scenario: str, target: Values, other: Values, settings: tuple[Values, Values], todo: Sequence[Command]
) -> str:
    head = [
        UNCHECKED,
        f"signalstorm {__version__}, scenario {scenario}; the forms are those of StarOS 17 and later",
        "FILL IN FIRST, at < >: names of contexts and services",
        "",
        *difference(*settings),
        *not_exported(target, other),
        *_about(todo),
    ]
    commanded = lines(todo, {}) if todo else list(remarks(["", "Nothing to change on this box."]))
    return "\n".join([*remarks(head), *commanded]) + "\n"


def _about(todo: Sequence[Command]) -> Iterator[str]:
    for command in todo:
        for name in command.knobs:
            value = text(name, command.after.get(name))
            yield f"{name} = {value}. Changed: {KNOBS[name].change}. Seen in: {command.source}."
        yield from (f"  {note}" for note in command.notes)
        yield from (f"  CONFIRM ON BOX: {doubt}" for doubt in command.confirm)
