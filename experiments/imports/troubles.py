"""What in a running configuration contradicts itself, or cannot be what is in force."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from signalstorm.envs.model.knob_table import KNOBS, RTO_NAMES
from signalstorm.experiments.imports import grammar
from signalstorm.experiments.imports.configuration import Configuration, Modes, Statement, Trouble

_RTO_DEFAULTS_MS = {"rto_min_ms": 1000.0, "rto_initial_ms": 3000.0, "rto_max_ms": 60000.0}
"""What a PSP has without the commands (CLI-R16 p8316-8317)."""
_RTO_WORDS = {"rto_min_ms": "RTO-min", "rto_initial_ms": "RTO-initial", "rto_max_ms": "RTO-max"}


def troubles_of(configuration: Configuration) -> Iterator[Trouble]:
    """Yield contradictions between lines, and limits that are out of order."""
    yield from _conflicts(configuration)
    yield from _limits(configuration)


def is_script(configuration: Configuration, psp: Modes) -> bool:
    """Tell whether a PSP's block takes the association down: it is a change, and says nothing of what it leaves out."""
    return any(s.modes == psp and s.text.lower().startswith("no associate") for s in configuration.statements)


def limits_of(configuration: Configuration, psp: Modes) -> dict[str, Statement]:
    """Return the statements in force that set limits of the retransmission time-out of a PSP, by knob."""
    return {key: s for s in configuration.effective() if s.modes == psp for key in s.values if key in RTO_NAMES}


def _conflicts(configuration: Configuration) -> Iterator[Trouble]:
    """A slot that is set twice, to different values; what is set twice to the same is not worth a word."""
    by_slot: dict[tuple[Modes, str], list[Statement]] = defaultdict(list)
    for statement in configuration.statements:
        if statement.slot != "associate":
            by_slot[statement.modes, statement.slot].append(statement)
    for (modes, slot), statements in by_slot.items():
        if len({tuple(s.values.items()) for s in statements}) < 2:
            continue
        where = f"{' > '.join(map(str, modes))}: " if modes else ""
        said = "; ".join(f"line {s.line}: {s.shown}" for s in statements[:4])
        knobs = tuple(dict.fromkeys(key for s in statements for key in s.values if key in KNOBS))
        yield Trouble(
            "conflict",
            tuple(s.line for s in statements),
            where + slot,
            f"is set {len(statements)} times, to different values ({said})",
            "leave one of the lines in the file: a box obeys the last, but two may come from two boxes",
            knobs,
        )


def _limits(configuration: Configuration) -> Iterator[Trouble]:
    """RTO-min <= RTO-initial <= RTO-max, with the box's defaults for what is not there."""
    for psp in configuration.objects(grammar.PSP).values():
        said = limits_of(configuration, psp)
        if not said:
            continue
        known = {} if is_script(configuration, psp) else dict(_RTO_DEFAULTS_MS)
        known |= {name: float(s.values[name]) for name, s in said.items()}
        order = [(name, known[name]) for name in RTO_NAMES if name in known]
        if all(low <= high for (_, low), (_, high) in pairwise(order)):
            continue
        shown = ", ".join(f"{_RTO_WORDS[n]} {v:g} ms{'' if n in said else ' by default'}" for n, v in order)
        top = said.get("rto_max_ms")
        way_out = "see on the box which of them is in force"
        if top is not None and known["rto_max_ms"] < max(high for _, high in order):
            units = round(float(top.values["rto_max_ms"]) / 100)
            way_out = (
                f"which is meant: sctp-rto-max {units} counts in 100 ms and is {units / 10:g} s; "
                f"{units} s would be sctp-rto-max {10 * units}; with {units / 10:g} s give also RTO-min and RTO-initial"
            )
        lines = tuple(sorted(s.line for s in said.values()))
        rule = f"RTO-min <= RTO-initial <= RTO-max must hold, but it has {shown}"
        yield Trouble("illegal", lines, " > ".join(map(str, psp)), rule, way_out, tuple(RTO_NAMES))
