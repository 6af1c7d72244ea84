"""The row of the knob table: one setting, its range, its rule and its command."""

from dataclasses import dataclass
from typing import Literal

KnobValue = int | float | str
"""A knob's value: a number in the knob's unit, or one of its words."""

OFF = "off"
"""The value of `nop_rate` that means: no gate at all."""

Change = Literal["live", "association restart", "reload"]
"""What changing a knob costs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Knob:
    """One row of the table."""

    name: str
    """The name, with the unit at its end where it has one."""
    element: str
    """The part of the topology that the knob belongs to."""
    meaning: str
    """What it sets, in one sentence part."""
    kind: Literal["float", "int", "choice"]
    """Numbers on a grid, whole numbers on a grid, or words."""
    unit: str = ""
    """The unit of the value, of the range and of the step."""
    low: float = 0.0
    """Smallest legal value, in the unit."""
    high: float = 0.0
    """Largest legal value, in the unit."""
    step: float = 1.0
    """Distance of legal values, counted from zero, in the unit."""
    free: bool = False
    """Whether all numbers of the range are legal, not only those a step apart: a what-if that no command rounds."""
    scale: Literal["linear", "log"] = "linear"
    """The scale on which searches and actions move."""
    default: KnobValue | None = None
    """The value where neither the setting nor the scenario gives one; None: it follows from others."""
    choices: tuple[str, ...] = ()
    """The legal words of a choice."""
    words: tuple[str, ...] = ()
    """Words that are legal beside the numbers; searches never use them."""
    command_unit: float = 1.0
    """The unit in which the command counts, in the knob's unit."""
    change: Change = "live"
    """What changing it costs."""
    exportable: bool = True
    """Whether a command or a table of the equipment sets it; a what-if has none."""
    exported: bool = True
    """Whether the exporter writes that command; if not it says so and quotes the command."""
    searchable: bool = True
    """Whether a search may use it."""
    rule: str = ""
    """Rules that tie it to other knobs."""
    command: str = ""
    """The command that sets it, with the knob's name in braces."""
    source: str = ""
    """Where range and command are published."""

    @property
    def range_text(self) -> str:
        """The legal values in words, with unit and step."""
        if self.kind == "choice":
            return ", ".join(self.choices)
        step = "" if self.free or (self.kind == "int" and self.step == 1) else f" in steps of {self.step:g}"
        words = "".join(f", or {word}" for word in self.words)
        return f"{self.low:g} to {self.high:g}{f' {self.unit}' if self.unit else ''}{step}{words}"

    def text(self, value: KnobValue | None) -> str:
        """Return a value in words, with its unit."""
        if value is None:
            return "follows from others"
        return value if isinstance(value, str) else f"{value:g} {self.unit}".rstrip()
