"""``signalstorm validate``: a recommendation, checked and simulated again as exported."""

from pathlib import Path
from typing import Annotated

import typer

from signalstorm.cli import EXIT_REJECTED
from signalstorm.cli.common import AsJson, Quiet, Verbose, start


def validate(
    recommendation: Annotated[
        Path, typer.Argument(metavar="RECOMMENDATION", help="A recommendation.json, or the folder of a run.")
    ],
    scenario: Annotated[
        str | None, typer.Option(help="The scenario. [default: the one in the run's folder, or of that name]")
    ] = None,
    all_trials: Annotated[
        bool, typer.Option("--all-trials", help="Simulate every trial again, not only a few.")
    ] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Check that a recommendation is unchanged, and that its setting does what it says, as exported.

    The commands are written, read back and simulated again on the same storms. Exit code 1 if anything differs, 2 if a
    value in it is not legal.
    """
    from signalstorm.experiments.validate import TRIALS_RUN_AGAIN
    from signalstorm.experiments.validate import validate as run

    output = start(as_json=as_json, quiet=quiet, verbose=verbose)
    found = run(recommendation, scenario, trials=None if all_trials else TRIALS_RUN_AGAIN)
    width = max(len(check.name) for check in found.checks)
    rows = [f"  {'ok  ' if check.passed else 'FAIL'}  {check.name:{width}}  {check.said}" for check in found.checks]
    head = f"{found.file}: {'valid' if found.passed else 'NOT VALID'}"
    output.result(found.to_json(), "\n".join([head, *rows]))
    if not found.passed:
        raise typer.Exit(EXIT_REJECTED)
