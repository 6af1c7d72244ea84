"""``signalstorm compare`` and ``signalstorm evaluate``: contestants on the same held-out storms."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from signalstorm.cli.common import AsJson, Quiet, Transfer, Verbose, interrupted, start
from signalstorm.cli.following import following

_log = logging.getLogger(__name__)

Storms = Annotated[int, typer.Option("--seeds", help="Held-out storms: the first so many from 20,000 on.")]
_WHERE = "A scenario's name or file, or the id of an environment on drawn storms."
ScenarioOption = Annotated[str, typer.Option("--scenario", metavar="SCENARIO|ENV_ID", help=_WHERE)]
Out = Annotated[Path | None, typer.Option(help="A folder for compare.json, compare.csv and comparison.md.")]


def evaluate(
    things: Annotated[
        list[str],
        typer.Argument(metavar="THING...", help="A controller, a file of knob values, a recommendation, or a policy."),
    ],
    scenario: ScenarioOption,
    seeds: Storms = 100,
    out: Out = None,
    curves: Annotated[
        Path | None,
        typer.Option(help="An HTML file with what the first THING sees and sets over time, on the first 20 storms."),
    ] = None,
    transfer: Transfer = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Run controllers, settings or policies over held-out storms, beside the present and the best static setting.

    Controllers: present, vendor-default, vendor-advice, vendor-advice-mean, best-static, staged-release, aimd,
    dra-bands, ddn-additive, doic-loss, doic-rate, sip-rate, codel, dagor, breakwater, pid, constant-gain,
    rate-matching, clairvoyant; those that do not apply to a scenario's knob say why.

    Below the table stands `cannot help` where none of them shortens the mean time or the hours lost by more than 5 %.
    """
    from signalstorm.experiments import contestants
    from signalstorm.experiments.drawn_scenario import scenario_of

    known = contestants.names(scenario_of(scenario))
    _run(
        scenario, [t for t in things if t not in known], seeds, 0, [t for t in things if t in known], out,
        transfer=transfer, as_json=as_json, quiet=quiet, verbose=verbose,
    )  # fmt: skip
    if curves is not None:
        _draw(things[0], scenario, curves, seeds, transfer=transfer)


def compare(
    scenario: Annotated[str | None, typer.Option("--scenario", metavar="SCENARIO|ENV_ID", help=_WHERE)] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Every environment with a packaged training and storms that differ.")
    ] = False,
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
    runs: Annotated[Path, typer.Option(help="With --all: the folder in which train leaves its runs.")] = Path("runs"),
    out: Out = None,
    transfer: Transfer = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Compare the present setting, vendor advice, rules, the best static setting and two yardsticks on the same storms.

    The storms are held out: nothing was chosen or tuned on them. Below the table stands `cannot help` where no
    contestant shortens the mean time or the hours lost by more than 5 %. With --out the same command goes on where it
    was interrupted.

    --all trains the policies of runs/NAME-0 that are not there yet, and writes one page with the tables of all
    comparisons, results.md, below --out (by default runs/compare).
    """
    if every == (scenario is not None):
        raise typer.BadParameter("give either --scenario or --all")
    if scenario is not None:
        _run(
            scenario, things or [], seeds, beyond, only, out,
            transfer=transfer, as_json=as_json, quiet=quiet, verbose=verbose,
        )  # fmt: skip
        return
    if things:
        raise typer.BadParameter("--with goes with --scenario; --all brings a policy of its own for each")
    _run_all(
        seeds, beyond, only, runs, out or runs / "compare",
        transfer=transfer, as_json=as_json, quiet=quiet, verbose=verbose,
    )  # fmt: skip


def _run(
    scenario: str,
    things: list[str],
    seeds: int,
    beyond: int,
    only: list[str] | None,
    out: Path | None,
    *,
    transfer: bool,
    as_json: bool,
    quiet: bool,
    verbose: bool,
) -> None:
    from signalstorm.experiments import compare_tables
    from signalstorm.experiments.compare import compare as run

    output = start(as_json=as_json, quiet=quiet, verbose=verbose)
    with _going_on(bool(out)), following(quiet=quiet) as (progress, _):
        found = run(scenario, things, seeds, beyond=beyond, only=only, out=out, transfer=transfer, progress=progress)
    if out is not None:
        compare_tables.write(found, out)
    output.result(found.to_json(), compare_tables.text(found))


def _draw(thing: str, scenario: str, path: Path, seeds: int, *, transfer: bool) -> None:
    from signalstorm.envs.model.errors import wrong_input
    from signalstorm.experiments.loop_curves import STORMS, write_curves

    try:
        write_curves(thing, scenario, path, min(seeds, STORMS), transfer=transfer)
    except OSError as error:
        raise wrong_input(f"cannot be written: {error.strerror}", file=str(path), key="--curves") from None
    _log.info("wrote %s", path)


def _run_all(
    seeds: int,
    beyond: int,
    only: list[str] | None,
    runs: Path,
    out: Path,
    *,
    transfer: bool,
    as_json: bool,
    quiet: bool,
    verbose: bool,
) -> None:
    from signalstorm.experiments import compare_tables
    from signalstorm.experiments.compare_all import PAGE, compare_all

    output = start(as_json=as_json, quiet=quiet, verbose=verbose)
    with _going_on(kept=True), following(quiet=quiet) as (progress, _):
        found = compare_all(seeds, beyond=beyond, only=only, runs=runs, out=out, transfer=transfer, progress=progress)
    text = "\n\n".join([*map(compare_tables.text, found), f"wrote {out / PAGE}"])
    output.result([one.to_json() for one in found], text)


@contextmanager
def _going_on(kept: bool) -> Iterator[None]:
    """Say what an interruption leaves."""
    try:
        yield
    except KeyboardInterrupt:
        said = "what is finished is kept, the same command goes on" if kept else "nothing is kept without --out"
        raise interrupted(said) from None
