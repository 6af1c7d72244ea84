"""``signalstorm distil``: a policy as a table that a person can follow."""

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from signalstorm.cli import EXIT_REJECTED
from signalstorm.cli.common import AsJson, Quiet, Transfer, Verbose, start
from signalstorm.cli.following import following

if TYPE_CHECKING:
    from signalstorm.experiments.distil import Distilled

_log = logging.getLogger(__name__)


def distil(
    policy: Annotated[
        str, typer.Argument(metavar="POLICY", help="The folder of a policy, or of the run that trained it.")
    ],
    out: Annotated[
        Path | None, typer.Option(help="The folder for rule.yaml and rule.md. [default: that of the run]")
    ] = None,
    rows: Annotated[int, typer.Option(metavar="N", help="Rows at most, 1 to 12.")] = 12,
    changes: Annotated[
        int,
        typer.Option(
            metavar="N", help="Changes at most in any hour of any storm, 1 to 60; 0: no limit, 12 per hour on average."
        ),
    ] = 12,
    transfer: Transfer = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Turn a policy into an ordered table of thresholds, over counters on an operator's screen, and say what it costs.

    Watches the policy on training storms, fits small trees, picks dead band and pause on choice storms, and searches
    the numbers of the smallest tree for those with which storms end soonest and lose least, so that a person enters at
    most 12 changes in any hour of any storm.
    Writes rule.yaml, which evaluate, compare, advise and the runbook take, and rule.md, the table for people. Exit
    code 1 if the table is no better than the setting with which its episodes begin.
    """
    from signalstorm.experiments.distil import distil as run

    output = start(as_json=as_json, quiet=quiet, verbose=verbose)
    with following(quiet=quiet) as (progress, _):
        found = run(policy, out=out, rows=rows, changes=changes, transfer=transfer, progress=progress)
    output.result(found.to_json(), _text(found))
    if found.table.rmst_s >= found.best_static.rmst_s:
        said = (
            "the table is no better than the setting with which its episodes begin, %.1f s against %.1f s: exit code 1"
        )
        _log.warning(said, found.table.rmst_s, found.best_static.rmst_s)
        raise typer.Exit(EXIT_REJECTED)


def _text(found: "Distilled") -> str:
    from signalstorm.experiments.distil import PAGE
    from signalstorm.experiments.distil_page import page

    return f"{page(found.rule)}\nwrote {found.folder / 'rule.yaml'} and {found.folder / PAGE}"
