"""The sub-commands, in the order in which ``--help`` shows them.

To add one: write ``cli/<name>.py`` with a function whose signature is the command's, import it here and add a
line to ``_COMMANDS``; one with sub-commands of its own is a ``typer.Typer`` and goes into ``_GROUPS``.
"""

from collections.abc import Callable
from typing import Annotated, Any

import typer

from signalstorm import __version__
from signalstorm.cli import import_, scenarios
from signalstorm.cli.advise import advise
from signalstorm.cli.bench import bench
from signalstorm.cli.calibrate import calibrate
from signalstorm.cli.compare import compare, evaluate
from signalstorm.cli.distil import distil
from signalstorm.cli.export import export
from signalstorm.cli.knobs import knobs
from signalstorm.cli.report import report
from signalstorm.cli.schema import schema
from signalstorm.cli.serve import serve
from signalstorm.cli.simulate import simulate
from signalstorm.cli.train import train
from signalstorm.cli.tune import tune
from signalstorm.cli.validate import validate
from signalstorm.cli.versions import versions

_GROUPS: dict[str, typer.Typer] = {"scenarios": scenarios.app, "import": import_.app}
_COMMANDS: tuple[Callable[..., Any], ...] = (
    simulate,
    tune,
    train,
    distil,
    calibrate,
    export,
    validate,
    advise,
    evaluate,
    compare,
    report,
    serve,
    schema,
    knobs,
    bench,
    versions,
)

app = typer.Typer(
    name="signalstorm",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"signalstorm {__version__}")
        raise typer.Exit


@app.callback()
def signalstorm(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and leave."),
    ] = False,
) -> None:
    """Simulate signalling storms in mobile core networks and find the settings that end them soonest.

    Results go to stdout, progress to stderr.

    Exit codes: 0 done, 1 no acceptable answer or a failed check, 2 wrong input.
    """


for _name, _group in _GROUPS.items():
    app.add_typer(_group, name=_name)
for _command in _COMMANDS:
    app.command()(_command)
