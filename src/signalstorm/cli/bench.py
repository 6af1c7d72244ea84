"""``signalstorm bench``: speed ratios, measured side by side."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from signalstorm.cli import EXIT_WRONG_INPUT
from signalstorm.cli.common import AsJson, Quiet, Verbose, start


def bench(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Benchmarks; all by default.")] = None,
    check: Annotated[bool, typer.Option("--check", help="Exit with 1 if a pass mark is missed.")] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Measure speed ratios in one run: against a C twin, the event-by-event reference, and limits of commands.

    The benchmarks belong to a clone of the project; an installed package does not have them.
    """
    start(as_json=as_json, quiet=quiet, verbose=verbose)
    root = _clone()
    if root is None:
        typer.echo("signalstorm: bench: the benchmarks are part of a clone of the project; run it there", err=True)
        raise typer.Exit(EXIT_WRONG_INPUT)
    sys.path.insert(0, str(root))
    from benchmarks.__main__ import main

    words = [*(names or []), *(["--check"] if check else []), *(["--json"] if as_json else [])]
    raise typer.Exit(main(words))


def _clone() -> Path | None:
    """Return the root of the clone that this package is run from, None for an installed package."""
    import signalstorm

    root = Path(signalstorm.__file__).resolve().parents[2]
    return root if (root / "benchmarks" / "suite.py").is_file() else None
