"""One line for a box."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from signalstorm.envs.model.knob_table import KnobValue


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
    before: Mapping[str, KnobValue] = field(default_factory=dict)
    """What is in force where it is entered, by knob; without those that are not known."""
    after: Mapping[str, KnobValue] = field(default_factory=dict)
    """What it sets, by knob; without those of the box's own default."""
