"""One line for a box."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Command:
    """One line for a box."""

    box: Literal["mme", "gateway"]
    """The box it belongs on; an SGSN takes the place of the MME."""
    modes: tuple[str, ...]
    """The commands that enter its mode, with the names of objects as fields; none: global configuration."""
    line: str
    """The command."""
    knobs: tuple[str, ...]
    """The knobs that it sets."""
    source: str
    """Where the command is published."""
    notes: tuple[str, ...] = ()
    """Units, times in ms and effects, in words."""
    confirm: tuple[str, ...] = ()
    """What was not found published, to be confirmed on the box before use."""
