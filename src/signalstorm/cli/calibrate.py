"""``signalstorm calibrate``: a scenario fitted to what was observed."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from signalstorm.cli.common import AsJson, Quiet, Verbose, start
from signalstorm.cli.following import following
from signalstorm.cli.import_ import Interval, Marks, pairs, take_marks
from signalstorm.cli.scenarios import ScenarioName

if TYPE_CHECKING:
    from signalstorm.experiments.calibrate import Calibration


def calibrate(
    scenario: ScenarioName,
    observed: Annotated[
        list[Path], typer.Option(metavar="FILE", help="Counters, alarms or figures; give it once per file.")
    ],
    free: Annotated[
        str | None,
        typer.Option(metavar="A,B=LOW:HIGH", help="The fields to fit. [default: those the scenario says were fitted]"),
    ] = None,
    also: Annotated[
        list[str] | None,
        typer.Option(metavar="SCENARIO=FILE", help="A further scenario with the same parameters, and its file."),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=QUANTITY[:UNIT[:OF]]", help="What a column holds, as for `import counters`."),
    ] = None,
    interval: Interval = None,
    marks: Marks = None,
    out: Annotated[
        Path | None, typer.Option(help="A folder for the fitted scenario, the record and the plots.")
    ] = None,
    points: Annotated[int | None, typer.Option(metavar="N", help="Points of the search. [default: 480]")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the search.")] = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Fit fields of a scenario to observed series, alarms and figures, with 90 % intervals.

    Says how well it fits, which fields the data cannot tell apart, and writes a scenario that lists what was fitted.
    """
    from dataclasses import replace

    from signalstorm.envs.model.errors import wrong_input
    from signalstorm.experiments.calibrate import calibrate as run
    from signalstorm.experiments.calibrate_fit import Budget
    from signalstorm.experiments.imports.counters import parse_columns

    output = start(as_json=as_json, quiet=quiet, verbose=verbose)
    budget = Budget()
    if points is not None:
        if points < 1:
            raise wrong_input("must be at least 1", points, "leave it out for the default", file="--points")
        budget = replace(budget, points=points)
    more: dict[str, list[Path]] = {}
    for item in also or ():
        for name, file in pairs([item], "--also", "for example --also lab-pcrf-a=a.csv").items():
            more.setdefault(name, []).append(Path(file))
    wanted = None if free is None else [word.strip() for word in free.split(",") if word.strip()]
    columns = parse_columns(column or ())
    take_marks(marks)
    with following(quiet=quiet) as (progress, _):
        found = run(
            scenario, observed, wanted, also=more, columns=columns, interval_s=interval, marks=marks, out=out,
            budget=budget, seed=seed, progress=progress,
        )  # fmt: skip
    output.result(found.to_json(), _text(found, out))


def _text(found: "Calibration", out: Path | None) -> str:
    names = ", ".join(case.scenario.name for case in found.cases)
    width = max(len(p.path) for p in found.space.parameters)
    lines = [f"{names}: mean squared residual {found.found.cost:.2f} errors, {found.found.start_cost:.3g} before"]
    for p in found.space.parameters:
        low, high = found.intervals[p.path]
        lines.append(f"  {p.path:{width}}  {found.values[p.path]:g} ({low:g} to {high:g}) {p.unit}".rstrip())
    lines += [f"note: {sentence}" for sentence in found.sentences()]
    for row in found.entries():
        ratio = "" if row["ratio"] is None else f", {row['ratio']:.2f} of it"
        of = f"{row['scenario']}: " if len(found.cases) > 1 else ""
        lines.append(f"  {of}{row['entry']}: {row['observed']:,.6g} observed, {row['model']:,.6g} model{ratio}")
    return "\n".join(lines if out is None else [*lines, f"everything is in {out}"])
