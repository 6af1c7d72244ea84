"""``signalstorm tune``: find the best setting for a scenario."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from signalstorm.cli import EXIT_REJECTED
from signalstorm.cli.common import AsJson, Quiet, Verbose, interrupted, start
from signalstorm.cli.following import following
from signalstorm.cli.tune_training import is_training, tune_training

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from signalstorm.experiments.recommendation import Figures, Recommendation


def tune(
    scenarios: Annotated[
        list[str],
        typer.Argument(
            metavar="SCENARIO...",
            help="A scenario's name, or a file's path; several get one setting. Of a training also ENV_ID.",
        ),
    ],
    target: Annotated[
        str,
        typer.Option(
            metavar="scenario|training",
            help="What to tune: the network's setting, or what PPO is told (needs the extra `rl`).",
        ),
    ] = "scenario",
    study: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="A study file, or the name of one that comes with the package."),
    ] = None,
    knobs: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,C",
            help="The knobs, or hyper-parameters, to move; by default those that the study names or the scenario "
            "calls tunable.",
        ),
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(metavar="N", help="Settings to try, the present one included; by default as the study says."),
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(metavar="N", help="Storms, or trainings, of each trial; by default as the study says."),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(metavar="N", help="Processes that run storms; by default the threads of one."),
    ] = None,
    engine: Annotated[str, typer.Option(metavar="local|ray", help="Where storms run.")] = "local",
    out: Annotated[Path | None, typer.Option(help="The folder of the run; by default runs/NAME.")] = None,
    storage: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Where trials are kept: a journal file, sqlite:///..., postgresql+psycopg://..., grpc://HOST:PORT. "
            "Commands that share it and the name search together. By default a journal file in the folder.",
        ),
    ] = None,
    name: Annotated[str | None, typer.Option(help="The study's name; by default the scenario's.")] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Find the setting that ends the storm soonest and is worse than the present one on no held-out storm.

    Interrupt it at any time: the same command goes on where it stopped. Exit code 1 if no better setting was found,
    or the one found is worse on some held-out storm.

    Several scenarios get one setting, worse than the present one in none of them; each has its folder below --out.

    With --target training: find hyper-parameters with which trainings end storms sooner, into training.yaml, which
    `train --training` takes. Exit code 1 if none are better on fresh seeds.
    """
    from signalstorm.experiments.together import tune_together as together
    from signalstorm.experiments.tune import RUNS
    from signalstorm.experiments.tune import tune as run

    output = start(as_json=as_json, quiet=quiet, verbose=verbose)
    wanted = None if knobs is None else [word.strip() for word in knobs.split(",") if word.strip()]
    if is_training(target, scenarios, engine, jobs):
        options = {"parameters": wanted, "study": study, "trials": trials, "seeds": seeds}
        tune_training(scenarios[0], output, quiet=quiet, out=out, storage=storage, name=name, **options)
        return
    try:
        with following(quiet=quiet) as (progress, watch):
            shared: dict[str, Any] = {
                "study": study, "knobs": wanted, "trials": trials, "seeds": seeds, "jobs": jobs, "engine": engine,
                "out": out, "storage": storage, "name": name, "progress": progress, "watch": watch,
            }  # fmt: skip
            records = (run(scenarios[0], **shared),) if len(scenarios) == 1 else together(scenarios, **shared)
    except KeyboardInterrupt:
        raise interrupted() from None
    root = out if out is not None else Path(RUNS) / (name or "+".join(record.scenario.name for record in records))
    folders = [root] if len(records) == 1 else [root / record.scenario.name for record in records]
    plain = [record.model_dump(mode="json") for record in records]
    texts = [_text(record, folder) for record, folder in zip(records, folders, strict=True)]
    output.result(plain[0] if len(plain) == 1 else plain, "\n\n".join(texts))
    if not (any(record.changed for record in records) and all(record.never_worse for record in records)):
        raise typer.Exit(EXIT_REJECTED)


def _text(record: "Recommendation", folder: Path) -> str:
    """Lay the recommendation out for people."""
    from signalstorm.experiments.clock import counted

    nominal, held_out = record.nominal, record.held_out
    bound = "none" if nominal.lower_bound_s is None else f"{nominal.lower_bound_s:.1f} s"
    worst = "-" if held_out.worst_ratio is None else f"{held_out.worst_ratio:.2f}"
    storms = f"{len(held_out.storms)} held-out storms"
    rows = [
        ("", "present", "recommended"),
        (f"T, {len(nominal.seeds)} nominal seeds", *_pair(nominal, _spread)),
        ("  over the lower bound of " + bound, *_pair(nominal, _ratio)),
        (f"{storms}: restricted mean", *_pair(held_out, lambda f: f"{f.rmst_s:.1f} s")),
        ("  not converged", *_pair(held_out, lambda f: f"{1 - f.converged_share:.0%}")),
        ("  median of T over its lower bound", *_pair(held_out, _ratio)),
        ("  mean of the worst tenth", *_pair(held_out, lambda f: f"{f.cvar_s:.1f} s")),
        ("  subscriber-hours lost", *_pair(held_out, lambda f: f"{f.subscriber_hours_lost or 0.0:,.0f}")),
        ("  worse than at present", "", f"{len(held_out.worse)} of {len(held_out.storms)}, worst ratio {worst}"),
    ]
    lines = [f"{record.scenario.name}: {record.verdict}", "", *_aligned(rows)]
    lines += [counted(record.scenario.clock_start, record.scenario.count_from_s, nominal.horizon_s)]
    if record.diff:
        lines += ["", *_aligned([("knob", "present", "recommended", "safe", "change"), *map(list, _changes(record))])]
    lines += ["", *(f"diagnosis: {sentence}" for sentence in record.diagnosis)]
    if record.passed_over is not None:
        lines.append(f"passed over: {record.passed_over.words}")
    for file in ("staros.cfg", "staros-gateway.cfg"):
        if record.changed and record.never_worse and (folder / file).exists():
            commands = [
                line for line in (folder / file).read_text("utf-8").splitlines() if line[:1] not in ("", "!", "#")
            ]
            lines += ["", f"{file}:", *(f"  {line}" for line in commands)]
    page = ", report.html is the page to read" if (folder / "report.html").exists() else ""
    return "\n".join([*lines, "", f"everything is in {folder}{page}"])


def _pair(part: Any, form: "Callable[[Figures], str]") -> tuple[str, str]:
    return form(part.present), form(part.recommended)


def _changes(record: "Recommendation") -> "Iterator[tuple[str, ...]]":
    from signalstorm.envs.model.knob_table import KNOBS
    from signalstorm.experiments.intervals import safe_values

    safe = safe_values(record)
    for row in record.diff:
        values = ("-" if value is None else KNOBS[row.knob].text(value) for value in (row.present, row.recommended))
        yield row.knob, *values, safe.get(row.knob, ""), row.change


def _spread(figures: "Figures") -> str:
    spread = figures.convergence_time_s
    if spread.median is None:
        return "beyond the horizon"
    low, high = (f"{x:.1f}" if x is not None else "beyond the horizon" for x in (spread.p10, spread.p90))
    return f"{spread.median:.1f} s ({low} to {high})"


def _ratio(figures: "Figures") -> str:
    return "-" if figures.ratio_to_lower_bound is None else f"{figures.ratio_to_lower_bound:.2f}"


def _aligned(rows: "list[Any]") -> list[str]:
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return ["  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
