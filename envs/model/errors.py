"""Every error of the project, in one hierarchy.

The command line shows any of them as one message without a traceback. An error that is none of these is a
mistake of the program.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

Path = tuple[str | int, ...]
"""Where a value stands in nested mappings and lists: the keys and indices that lead to it."""

_LONGEST_VALUE = 80
"""Characters of a value that a message shows."""


class Shown(str):
    """A value already put into words, which a message shows without quotes."""

    __slots__ = ()


class Absent:
    """The type of `ABSENT`."""

    def __repr__(self) -> str:
        return "nothing"


ABSENT = Absent()
"""Stands for the value of a key that is missing, or that does not help to understand the fault."""


class Finding(NamedTuple):
    """A rule that a value breaks, before it is known where the value was written."""

    path: Path
    """Where the value stands."""
    rule: str
    """The rule in plain words, as a sentence part: ``must be at least 0 s``."""
    value: Any
    """The value; `ABSENT` where there is none."""
    way_out: str
    """What the user can do, as a sentence without its full stop."""

    @property
    def key(self) -> str:
        """The path with dots."""
        return ".".join(str(word) or "''" for word in self.path)

    def __str__(self) -> str:
        return _paragraph((self.key,), self.rule, self.value, self.way_out)


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong with the input, and what to do about it."""

    file: str | None
    """The file or the option, for example ``--set``; None for a value from Python."""
    line: int | None
    """The line, counted from 1; None where there are no lines."""
    key: str
    """The dotted key; empty for the file as a whole."""
    rule: str
    """The rule in plain words."""
    value: Any
    """The value that breaks it; `ABSENT` where there is none to show."""
    way_out: str
    """What the user can do."""

    def __str__(self) -> str:
        place = self.file or ""
        if self.line is not None:
            place += f":{self.line}" if place else f"line {self.line}"
        return _paragraph((place, self.key), self.rule, self.value, self.way_out)


class SignalstormError(Exception):
    """Base of all errors that the user sees as a message."""

    exit_code: ClassVar[int] = 2
    """The exit code of a command that ends with this error."""


class InputError(SignalstormError):
    """The input is wrong; carries everything that is wrong with it, and shows it a line for each fault.

    Args:
        faults: All faults found, at least one.
    """

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__(self.faults)

    def __str__(self) -> str:
        return "\n".join(map(str, self.faults))


class RunError(SignalstormError):
    """The input is right, but the run cannot give an acceptable answer."""

    exit_code: ClassVar[int] = 1


def wrong_input(
    rule: str, value: Any = ABSENT, way_out: str = "", *, file: str | None = None, key: str = ""
) -> InputError:
    """Return the error for a single fault without a line."""
    return InputError([Fault(file, None, key, rule, value, way_out)])


def located(findings: Iterable[Finding], file: str | None = None) -> InputError:
    """Return the error for findings that have no lines, such as those of an option."""
    return InputError(
        Fault(file, None, finding.key, finding.rule, finding.value, finding.way_out) for finding in findings
    )


def _paragraph(places: Iterable[str], rule: str, value: Any, way_out: str) -> str:
    got = "" if value is ABSENT else f", but got {_shortened(value)}"
    text = ": ".join([*filter(None, places), f"{rule}{got}."])
    if way_out:
        text += f" {way_out[0].upper()}{way_out[1:]}{'' if way_out[-1] in '.?' else '.'}"
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)


def _shortened(value: Any) -> str:
    text = str(value) if isinstance(value, Shown) else repr(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 3]}..."
