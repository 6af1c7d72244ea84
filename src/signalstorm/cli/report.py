"""``signalstorm report``: a run as one page."""

from pathlib import Path
from typing import Annotated

import typer

from signalstorm.cli.common import AsJson, Quiet, Verbose, start


def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a run of `signalstorm tune`.")],
    figures: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Also write every figure into this folder, with its numbers.")
    ] = None,
    format_: Annotated[
        list[str] | None,
        typer.Option("--format", metavar="svg|png|csv", help="What figures are written as; by default all three."),
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Write report.html into the folder of a run: one file that needs no network.

    With --figures each figure also becomes a picture, for which Kaleido and a browser are needed, and a table (CSV).
    """
    from signalstorm.envs.model.errors import wrong_input
    from signalstorm.experiments.report import write_figures, write_report
    from signalstorm.experiments.report.files import FORMATS

    output = start(as_json=as_json, quiet=quiet, verbose=verbose)
    if not folder.is_dir():
        raise wrong_input(
            "must be the folder of a run", way_out="give the --out of `signalstorm tune`", file=str(folder)
        )
    if format_ and figures is None:
        raise wrong_input("belongs to --figures", format_, "say where figures go: --figures DIR", key="--format")
    try:
        files = [] if figures is None else write_figures(folder, figures, format_ or FORMATS)
        path = write_report(folder)
    except OSError as error:
        raise wrong_input(f"cannot be written: {error.strerror}", file=str(error.filename or folder)) from None
    record = {"file": str(path), "bytes": path.stat().st_size, "figures": [str(file) for file in files]}
    words = f", and {len(files)} files of figures into {figures}" if files else ""
    output.result(record, f"wrote {path}{words}")
