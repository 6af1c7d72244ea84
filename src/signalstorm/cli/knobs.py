"""``signalstorm knobs``: the knob table."""

from typing import TYPE_CHECKING

from signalstorm.cli.common import AsJson, Quiet, Verbose, start

if TYPE_CHECKING:
    from signalstorm.envs.model.knob_table import Knob


def knobs(as_json: AsJson = False, quiet: Quiet = False, verbose: Verbose = False) -> None:
    """Print the knob table: unit, legal range, default, rule, how a knob is changed, and its command."""
    from dataclasses import asdict

    from signalstorm.envs.model.knob_table import KNOBS, SOURCES

    output = start(as_json=as_json, quiet=quiet, verbose=verbose)
    rows = [{**asdict(knob), "legal": knob.range_text} for knob in KNOBS.values()]
    output.result(rows, "\n\n".join([*map(_block, KNOBS.values()), f"Sources: {SOURCES}"]))


def _block(knob: "Knob") -> str:
    parts = {
        "legal": knob.range_text,
        "default": knob.text(knob.default),
        "changed": knob.change if knob.exportable else "what-if only",
        "rule": knob.rule,
        "command": knob.command,
        "source": knob.source,
    }
    lines = [f"    {name:8} {text}" for name, text in parts.items() if text]
    return "\n".join([f"{knob.name}: {knob.meaning}", *lines])
