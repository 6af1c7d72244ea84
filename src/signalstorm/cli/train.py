"""``signalstorm train``: learn a policy on rows of storms."""

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from signalstorm.cli import EXIT_REJECTED
from signalstorm.cli.common import AsJson, Quiet, Verbose, interrupted, start
from signalstorm.cli.following import following

if TYPE_CHECKING:
    from signalstorm.experiments.train import Trained

_log = logging.getLogger(__name__)


def train(
    environment: Annotated[
        str | None,
        typer.Argument(metavar="SCENARIO|ENV_ID", help="An environment's id, or a scenario's name or file."),
    ] = None,
    training: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="A training file, or the name of one that comes with the package."),
    ] = None,
    timesteps: Annotated[int | None, typer.Option(metavar="N", help="Steps in all, instead of the file's.")] = None,
    envs: Annotated[int | None, typer.Option(metavar="N", help="Storms played side by side.")] = None,
    seed: Annotated[int | None, typer.Option(metavar="N", help="Seed of networks, exploration and storms.")] = None,
    out: Annotated[Path | None, typer.Option(help="The folder of the run; by default runs/NAME-SEED.")] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Train a policy by PPO, judged on storms of its own; needs the extra `rl`.

    Interrupt it at any time: the same command goes on where it stopped. The folder gets the policy (safetensors and
    JSON), its evaluations, and curves for TensorBoard. Exit code 1 if the policy is no better than the setting with
    which its episodes begin; if neither of the two helps beside the present one, loops are tried, and if none
    of them does either, the result says `cannot help`.
    """
    from signalstorm.experiments.train import train as run

    output = start(as_json=as_json, quiet=quiet, verbose=verbose)
    try:
        with following(quiet=quiet) as (progress, _):
            result = run(
                environment, training=training, timesteps=timesteps, rows=envs, seed=seed, out=out, progress=progress
            )
    except KeyboardInterrupt:
        raise interrupted() from None
    output.result(result.to_json(), _text(result))
    if result.policy.rmst_s >= result.best_static.rmst_s:
        said = (
            "the policy is no better than the setting with which its episodes begin, %.1f s against %.1f s: exit code 1"
        )
        _log.warning(said, result.policy.rmst_s, result.best_static.rmst_s)
        raise typer.Exit(EXIT_REJECTED)


def _text(result: "Trained") -> str:
    rows = [("", "present", "best static", "policy")]
    contestants = (result.present, result.best_static, result.policy)
    lines: list[tuple[str, str]] = [
        ("restricted mean time", "{0.rmst_s:.1f} s"),
        ("hours lost per subscriber", "{0.lost_h:.4f}"),
        ("converged", "{0.converged_share:.1%}"),
        ("changes per hour", "{0.changes_per_hour:.1f}"),
    ]
    for name, form in lines:
        cells: list[str] = [form.format(judged) for judged in contestants]
        rows.append((name, cells[0], cells[1], cells[2]))
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    table = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join(
        [
            f"{result.environment}: {result.steps:,} steps in {result.seconds:.0f} s, "
            f"judged on {result.judged_storms} storms that it never saw but that chose it",
            "",
            *table,
            *(["", result.answer.sentence] if result.answer is not None else []),
            "",
            f"the policy is in {result.folder / 'policy'}; signalstorm compare shows it on held-out storms",
        ]
    )
