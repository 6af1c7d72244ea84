"""What was understood of a running configuration, with the line of everything."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from signalstorm.envs.model.errors import ABSENT, Fault
from signalstorm.envs.model.knob_table import KnobValue
from signalstorm.experiments.imports.text import Line


class Mode(NamedTuple):
    """A block that encloses a line."""

    kind: str
    """The mode, a name of `grammar`."""
    name: str
    """The object's name; empty where it has none."""

    def __str__(self) -> str:
        return f"{self.kind} {self.name}".rstrip()


Modes = tuple[Mode, ...]
"""The blocks around a line, outermost first; none: global configuration."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A line that was understood."""

    line: int
    """Where it stands."""
    modes: Modes
    """The blocks around it."""
    text: str
    """The line."""
    slot: str
    """What it sets; a later line of the same slot and block replaces it."""
    values: Mapping[str, KnobValue]
    """What it sets, by knob where there is one, in the knob's unit."""
    shown: str
    """The values in words, with units, times also in milliseconds."""

    def name(self, kind: str) -> str:
        """Return the name of the enclosing object of a kind, empty if there is none."""
        return next((mode.name for mode in reversed(self.modes) if mode.kind == kind), "")


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something in the file that must be decided by a person."""

    kind: Literal["conflict", "damaged", "misplaced", "illegal", "differs"]
    """Lines that contradict each other, a known command cut or garbled, one outside its mode, a value out of range,
    or objects of one kind that are set differently."""
    lines: tuple[int, ...]
    """The lines."""
    key: str
    """What it is about."""
    rule: str
    """What is wrong, as a sentence part."""
    way_out: str
    """What to do."""
    knobs: tuple[str, ...]
    """The knobs whose value is therefore not known."""

    def fault(self, file: str) -> Fault:
        """Return it as a fault of the file."""
        return Fault(file, self.lines[0] if self.lines else None, self.key, self.rule, ABSENT, self.way_out)


@dataclass(frozen=True)
class Configuration:
    """A running configuration, as far as it was understood."""

    file: str
    """What messages call the file."""
    statements: tuple[Statement, ...]
    """What was understood, in the file's order; replaced lines are among them."""
    blocks: tuple[tuple[int, Modes], ...]
    """Every known block that was entered: its line and its path."""
    troubles: tuple[Trouble, ...]
    """What must be decided by a person."""
    unknown: tuple[Line, ...]
    """The first of the lines that were not understood."""
    unknown_count: int
    """How many lines were not understood."""
    notes: tuple[str, ...]
    """What was mended on the way, in words."""
    whole: bool
    """Whether the file begins and ends as a whole one does."""
    variants: Mapping[str, str]
    """The variant of each SS7 routing domain, by its number."""

    def effective(self) -> Iterator[Statement]:
        """Yield the statements in force: the last one of each slot in each block."""
        last = {(statement.modes, statement.slot): statement for statement in self.statements}
        yield from last.values()

    def objects(self, kind: str) -> dict[str, Modes]:
        """Return the objects of a kind, by name where it is unique, else by path."""
        paths = list(dict.fromkeys(modes for _, modes in self.blocks if modes[-1].kind == kind))
        names = [modes[-1].name for modes in paths]
        return {
            modes[-1].name if names.count(modes[-1].name) == 1 else " ".join(map(str, modes)): modes for modes in paths
        }

    def to_json(self) -> dict[str, Any]:
        """Return everything in JSON's own types."""
        return {
            "file": self.file,
            "understood": [
                {"line": s.line, "block": " > ".join(map(str, s.modes)), "text": s.text, "values": dict(s.values),
                 "meaning": s.shown}
                for s in self.statements
            ],
            "troubles": [
                {"kind": t.kind, "lines": list(t.lines), "key": t.key, "rule": t.rule, "way_out": t.way_out,
                 "knobs": list(t.knobs)}
                for t in self.troubles
            ],
            "unknown": {"count": self.unknown_count,
                        "first": [{"line": line.number, "text": _short(line.text)} for line in self.unknown]},
            "notes": list(self.notes),
        }  # fmt: skip


def faults(configuration: Configuration, troubles: Iterable[Trouble]) -> list[Fault]:
    """Return troubles as faults of the file, in the order of their lines."""
    found = [trouble.fault(configuration.file) for trouble in troubles]
    return sorted(found, key=lambda fault: fault.line or 0)


def _short(text: str, most: int = 120) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."
