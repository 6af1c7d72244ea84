"""What every sub-command shares: the options ``--json``, ``-q`` and ``-v``, and where output goes.

A command takes the three options and starts with one call::

    def versions(as_json: AsJson = False, quiet: Quiet = False, verbose: Verbose = False) -> None:
        output = start(as_json=as_json, quiet=quiet, verbose=verbose)
        ...
        output.result(record, text)

Everything below the command line reports progress through ``logging.getLogger(__name__)``.
"""

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON, for machines.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Report no progress, only warnings and errors.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Report each step, with time and module.")]
Transfer = Annotated[
    bool,
    typer.Option("--transfer", help="Let what was learnt on another scenario or model through, with a warning."),
]

EXIT_INTERRUPTED = 130
"""Ended by Ctrl-C or a request to terminate."""


def interrupted(kept: str = "what is finished is kept, the same command goes on") -> typer.Exit:
    """Say what an interruption leaves, and return how the command ends."""
    typer.echo(f"interrupted: {kept}", err=True)
    return typer.Exit(EXIT_INTERRUPTED)


@dataclass(frozen=True, slots=True)
class Output:
    """Where the result of a command goes: one JSON document or text, on stdout."""

    as_json: bool

    def result(self, record: Mapping[str, Any] | Sequence[Any], text: str) -> None:
        """Print the result in the form the user asked for.

        Args:
            record: The result in JSON's own types; a value that was not reached is None, never NaN.
            text: The same for people.

        Raises:
            ValueError: If the record holds NaN or an infinity, which JSON cannot carry.
        """
        if self.as_json:
            text = json.dumps(record, indent=2, allow_nan=False, ensure_ascii=False)
        typer.echo(text)


def start(*, as_json: bool, quiet: bool, verbose: bool) -> Output:
    """Send the package's log to stderr and return the way to stdout.

    Args:
        as_json: Print the result as JSON.
        quiet: Log warnings and errors only.
        verbose: Log everything, each line with its time and module.

    Raises:
        typer.BadParameter: If both ``quiet`` and ``verbose`` are asked for.
    """
    if quiet and verbose:
        raise typer.BadParameter("at most one of --quiet and --verbose can be given, but got both")
    handler = logging.StreamHandler()
    handler.setFormatter(
        logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s" if verbose else "%(message)s")
    )
    logger = logging.getLogger("signalstorm")
    logger.handlers = [handler]
    logger.setLevel(logging.WARNING if quiet else logging.DEBUG if verbose else logging.INFO)
    return Output(as_json)
