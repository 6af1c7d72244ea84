"""``signalstorm tune --target training``: find better hyper-parameters."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import typer

from signalstorm.cli import EXIT_REJECTED
from signalstorm.cli.common import Output, interrupted
from signalstorm.cli.following import following

if TYPE_CHECKING:
    from signalstorm.experiments.tune_training import TunedTraining

_TARGETS = ("scenario", "training")


def is_training(target: str, scenarios: Sequence[str], engine: str, jobs: int | None) -> bool:
    """Tell whether trainings are to be tuned.

    Raises:
        InputError: If there is no such target, or it does not go with an option.
    """
    from signalstorm.envs.model.errors import Finding, located
    from signalstorm.envs.model.wording import nearest

    faults = []
    if target not in _TARGETS:
        faults.append(Finding(("--target",), f"must be {' or '.join(_TARGETS)}", target, nearest(target, _TARGETS)))
    if target == "training":
        way_out = "leave it out; several commands with one --storage and one --name train side by side"
        rule = "trainings of one command run one after another"
        faults += [Finding(("--jobs",), rule, jobs, way_out)] if jobs is not None else []
        faults += [Finding(("--engine",), rule, engine, way_out)] if engine != "local" else []
        named = ", ".join(scenarios)
        several = Finding(("scenario",), "a search among trainings has one environment", named, "name one")
        faults += [several] if len(scenarios) > 1 else []
    if faults:
        raise located(faults)
    return target == "training"


def tune_training(what: str, output: Output, *, quiet: bool, **options: Any) -> None:
    """Run the search and show what it found."""
    from signalstorm.experiments.tune_training import tune_training as run

    try:
        with following(quiet=quiet) as (progress, _):
            found = run(what, progress=progress, **options)
    except KeyboardInterrupt:
        raise interrupted() from None
    output.result(found.to_json(), _text(found))
    if not found.better:
        raise typer.Exit(EXIT_REJECTED)


def _text(found: "TunedTraining") -> str:
    lines = [f"{found.environment}: {found.verdict}", ""]
    lines += [f"{found.trials} trials, {found.pruned} of them ended early, in {found.seconds:.0f} s"]
    if found.held_out is not None:
        unit = "s" if found.objective == "time" else "h lost"
        lines += [
            f"seed {seed}: {before:.4g} {unit} before, {after:.4g} {unit} after"
            for seed, before, after in zip(
                found.held_out.seeds, found.held_out.before, found.held_out.after, strict=True
            )
        ]
    lines += ["", *(f"{name}: {found.before[name]} -> {found.after[name]}" for name in found.changes), ""]
    return "\n".join([*lines, f"the training is in {found.folder / 'training.yaml'}, for signalstorm train --training"])
