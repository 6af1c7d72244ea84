"""``signalstorm export``: a recommendation as commands for the boxes."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from signalstorm.cli import EXIT_REJECTED
from signalstorm.cli.common import AsJson, Quiet, Transfer, Verbose, start

_BOTH = ("staros", "json")


def export(
    recommendation: Annotated[
        Path, typer.Argument(metavar="RECOMMENDATION", help="A recommendation.json, or the folder of a run.")
    ],
    target: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TARGET", help="staros, vdra, runbook or json; give it several times. [default: staros, json]"
        ),
    ] = None,
    release: Annotated[
        str | None, typer.Option(metavar="R", help="The StarOS release, 16 to 21. [default: forms of 17 and later]")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="The folder for the files. [default: that of the recommendation]")
    ] = None,
    name: Annotated[
        list[str] | None,
        typer.Option(metavar="OBJECT=NAME", help="The name of a context or service, such as mme-service=mme1."),
    ] = None,
    columns: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The names of the vDRA's columns, as target vdra writes them.")
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The box's running configuration: its names, its values, and a diff."),
    ] = None,
    rule: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FILE",
            help="The rule that the runbook offers first, such as constant-gain; none: no rule. [default: the run's "
            "rule.yaml, or constant-gain where there is a gate]",
        ),
    ] = None,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Export a setting that is worse than the present one on some storm, or a rule that does not help.",
        ),
    ] = False,
    transfer: Transfer = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Write the recommended setting as commands, and the way back; exit code 1 if it is worse on some storm.

    Writes staros.cfg and staros-rollback.cfg (target staros), vdra.zip with its tables and their columns (target vdra),
    runbook.md for the night shift (target runbook) and recommended.json (target json), and prints the StarOS commands
    that it wrote.
    """
    from signalstorm.envs.model.errors import wrong_input
    from signalstorm.envs.model.files import NO_ROOM
    from signalstorm.experiments.export import NotBetterError, preview, write

    output = start(as_json=as_json, quiet=quiet, verbose=verbose)
    names: dict[str, str] = {}
    for item in name or ():
        key, equals, value = item.partition("=")
        if not equals:
            raise wrong_input("must be OBJECT=NAME", item, "for example --name mme-service=mme1", file="--name")
        names[key] = value
    folder = out or (recommendation if recommendation.is_dir() else recommendation.parent)
    followed = None
    if rule is not None or "runbook" in (target or ()):
        from signalstorm.experiments.followed import find

        followed = find(rule, recommendation, transfer=transfer, force=force)
    try:
        paths = write(recommendation, folder, target or _BOTH, release, force, names, columns, against, followed)
    except NotBetterError as error:
        print(f"signalstorm: {error}", file=sys.stderr)  # noqa: T201  (the command line may print)
        raise typer.Exit(EXIT_REJECTED) from None
    except OSError as error:
        if error.errno in NO_ROOM:
            raise
        raise wrong_input(f"cannot be written: {error.strerror}", file=str(error.filename or folder)) from None
    found = preview(recommendation, release, names, against, followed)
    files = [str(path) for path in paths]
    written = {path.name for path in paths}
    lines = {file: lines for file, lines in found["lines"].items() if lines and file in written}
    texts = {file: [*commands, *about(found["commands"][file])] for file, commands in lines.items()}
    shown = [f"{file}:\n" + "\n".join(text) + "\n" for file, text in texts.items()]
    output.result({"files": files, **found}, "\n".join([*shown, *(f"wrote {file}" for file in files)]))


def about(commands: list[dict[str, Any]]) -> list[str]:
    """Return what a person must know before entering commands: times in their usual unit, and what they interrupt."""
    from signalstorm.envs.model.knob_table import KNOBS

    said = []
    restarted = False
    for command in commands:
        said += [f"  ({', '.join(command['knobs'])}: {note})" for note in command["notes"] if "units of" in note]
        restarted |= any(KNOBS[name].change == "association restart" for name in command["knobs"])
    if restarted:
        said.append("  (service-affecting: each association is taken down and restarted; change one at a time)")
    return list(dict.fromkeys(said))
