"""``signalstorm compare`` and ``signalstorm evaluate``: contestants on the same held-out storms."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from signalstorm.cli.common import AsJson, Quiet, Verbose, start
from signalstorm.cli.following import following
from signalstorm.cli.tune import EXIT_INTERRUPTED

Storms = Annotated[int, typer.Option("--seeds", help="Held-out storms: the first so many from 20,000 on.")]
ScenarioOption = Annotated[str, typer.Option("--scenario", metavar="SCENARIO", help="A scenario's name or file.")]
Out = Annotated[Path | None, typer.Option(help="A folder for compare.json, compare.csv and comparison.md.")]


def evaluate(
    things: Annotated[
        list[str],
        typer.Argument(metavar="THING...", help="A controller, a file of knob values, a recommendation, or a policy."),
    ],
    scenario: ScenarioOption,
    seeds: Storms = 100,
    out: Out = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Run controllers, settings or policies over held-out storms, beside the present and the best static setting.

    Controllers: present, vendor-default, vendor-advice, vendor-advice-mean, best-static, staged-release, aimd,
    dra-bands, ddn-additive, doic-loss, doic-rate, sip-rate, codel, dagor, breakwater, pid, constant-gain,
    rate-matching, clairvoyant; those that do not apply to a scenario's knob say why.
    """
    from signalstorm.envs.model import scenario_file
    from signalstorm.experiments import contestants

    known = contestants.names(scenario_file.load(scenario))
    _run(
        scenario, [t for t in things if t not in known], seeds, 0, [t for t in things if t in known], out,
        as_json=as_json, quiet=quiet, verbose=verbose,
    )  # fmt: skip


def compare(
    scenario: ScenarioOption,
    things: Annotated[
        list[str] | None, typer.Option("--with", metavar="THING", help="A file, run or policy that takes part, too.")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Which of the scenario's contestants run; best-static-hindsight is one of them."
        ),
    ] = None,
    seeds: Storms = 200,
    beyond: Annotated[int, typer.Option(help="Storms of each variant beyond the variation; 0: no variants.")] = 50,
    out: Out = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Compare the present setting, vendor advice, rules, the best static setting and two yardsticks on the same storms.

    The storms are held out: nothing was chosen or tuned on them. With --out the same command goes on where it was
    interrupted.
    """
    _run(scenario, things or [], seeds, beyond, only, out, as_json=as_json, quiet=quiet, verbose=verbose)


def _run(
    scenario: str,
    things: list[str],
    seeds: int,
    beyond: int,
    only: list[str] | None,
    out: Path | None,
    *,
    as_json: bool,
    quiet: bool,
    verbose: bool,
) -> None:
    from signalstorm.experiments import compare_tables
    from signalstorm.experiments.compare import compare as run

    output = start(as_json=as_json, quiet=quiet, verbose=verbose)
    try:
        with following(quiet=quiet) as (progress, _):
            found = run(scenario, things, seeds, beyond=beyond, only=only, out=out, progress=progress)
    except KeyboardInterrupt:
        kept = "what is finished is kept, the same command goes on" if out else "nothing is kept without --out"
        print(f"interrupted: {kept}", file=sys.stderr)  # noqa: T201
        raise typer.Exit(EXIT_INTERRUPTED) from None
    if out is not None:
        compare_tables.write(found, out)
    output.result(found.to_json(), compare_tables.text(found))
