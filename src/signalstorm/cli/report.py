"""``signalstorm report``: a run as one page."""

from pathlib import Path
from typing import Annotated

import typer

from signalstorm.cli.common import AsJson, Quiet, Verbose, start


def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a run of `signalstorm tune`.")],
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Write report.html into the folder of a run: one file that needs no network."""
    from signalstorm.envs.model.errors import wrong_input
    from signalstorm.experiments.report import write_report

    output = start(as_json=as_json, quiet=quiet, verbose=verbose)
    if not folder.is_dir():
        raise wrong_input(
            "must be the folder of a run", way_out="give the --out of `signalstorm tune`", file=str(folder)
        )
    try:
        path = write_report(folder)
    except OSError as error:
        raise wrong_input(f"cannot be written: {error.strerror}", file=str(error.filename or folder)) from None
    output.result({"file": str(path), "bytes": path.stat().st_size}, f"wrote {path}")
