"""``signalstorm schema``: JSON schemas of the project's files."""

import json
from typing import Annotated

import typer

from signalstorm.cli.common import AsJson, Quiet, Verbose, start


def schema(
    name: Annotated[str, typer.Argument(metavar="KIND", help="scenario, study or recommendation.")],
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Print the JSON schema of a kind of file, for editors and other programs."""
    from signalstorm.experiments.schemas import schema as build

    output = start(as_json=as_json, quiet=quiet, verbose=verbose)
    found = build(name)
    output.result(found, json.dumps(found, indent=2, allow_nan=False, ensure_ascii=False))
