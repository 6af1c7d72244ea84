"""``signalstorm serve``: the what-if page."""

from pathlib import Path
from typing import Annotated

import typer

from signalstorm.cli.common import AsJson, Quiet, Verbose, start

_RUNS = Path("runs")


def serve(
    scenario: Annotated[
        list[Path] | None, typer.Argument(metavar="[FILE]...", help="Scenario files to offer beside the packaged ones.")
    ] = None,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes a free one.")] = 8050,
    runs: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The folder with runs of `signalstorm tune`; by default runs.")
    ] = None,
    allow_remote: Annotated[
        bool, typer.Option("--allow-remote", help="Allow an address that other machines reach.")
    ] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Serve a page on which knobs and events of a storm can be changed, with the storm beside; Ctrl-C ends it.

    It offers the packaged scenarios, the given files, and runs of `signalstorm tune`, finished or on their way.
    """
    from signalstorm.experiments.serve.server import Page, check_address

    output = start(as_json=as_json, quiet=quiet, verbose=verbose)
    check_address(host, allow_remote=allow_remote)
    # Runs of their own are looked for where `signalstorm tune` puts them; only a folder that is named must be there.
    page = Page(host, port, scenarios=scenario or (), runs=_RUNS if runs is None else runs, check_runs=runs is not None)
    output.result({"url": page.url}, f"The what-if page is at {page.url} (Ctrl-C ends it)")
    page.run()
