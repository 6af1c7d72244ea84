"""Closed loop against static on every kind of network for which a training is packaged: train, compare, one page."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from signalstorm.agents.origin import WAY_THROUGH
from signalstorm.envs.families import FAMILIES
from signalstorm.envs.model.errors import Fault, Finding, InputError, Shown, located
from signalstorm.envs.model.files import write_atomic
from signalstorm.envs.model.scenario import Scenario
from signalstorm.experiments import compare_tables, contestants
from signalstorm.experiments.compare import BEYOND, HINDSIGHT, STORMS, Comparison, Progress, compare
from signalstorm.experiments.drawn_scenario import scenario_of
from signalstorm.experiments.train import RESULT, RUNS, train
from signalstorm.experiments.training_environment import environment_of, own_training
from signalstorm.experiments.training_file import list_trainings, load_training

_log = logging.getLogger(__name__)

PAGE = "results.md"
"""All tables."""
RULE = "rule.yaml"
"""The table that `distil` leaves beside a policy."""
VARIANT = "Randomised"


def environments() -> list[str]:
    """Return the environments on storms and networks that differ for which a training is packaged, in their order."""
    named = {load_training(name).environment for name in list_trainings()}
    return [f"{family}{VARIANT}" for family in FAMILIES if f"{family}{VARIANT}" in named]


def compare_all(
    storms: int = STORMS,
    *,
    beyond: int = BEYOND,
    only: Sequence[str] | None = None,
    which: Sequence[str] | None = None,
    runs: Path = Path(RUNS),
    out: Path,
    transfer: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
) -> list[Comparison]:
    """Compare on each environment of `environments`, with its policy, and write one page with all tables.

    A policy is trained first where its run is not in the folder of runs; the table that was distilled from it takes
    part where there is one. Interrupted, the same call goes on where it stopped.

    Args:
        storms: Held-out storms of each comparison.
        beyond: Storms of each variant beyond the variation.
        only: As for `compare`.
        which: Environments; by default all.
        runs: The folder of runs, see `train`.
        out: The folder: one below it for each scenario, and the page.
        transfer: Whether policies in the folder of runs that were trained on another scenario or model take part.
        threads: Threads at most; by default one per core.
        progress: Told how far it is.

    Raises:
        InputError: If something is wrong with the input, or a policy has to be trained and cannot be.
    """
    chosen = list(which or environments())
    scenarios = [scenario_of(name) for name in chosen]
    _check_only(scenarios, only)
    folders = [_folder(name, runs) for name in chosen]
    _check_policies(folders, scenarios, transfer=transfer)
    policies = [_policy(name, folder, progress) for name, folder in zip(chosen, folders, strict=True)]
    found = []
    for number, (scenario, folder) in enumerate(zip(scenarios, policies, strict=True), 1):
        things = [folder, *([folder / RULE] if (folder / RULE).is_file() else [])]
        _log.info("%d of %d: %s", number, len(chosen), scenario.name)
        own = None if only is None else [name for name in only if name in (*contestants.names(scenario), HINDSIGHT)]
        result = compare(
            scenario, things, storms, beyond=beyond, only=own, out=out / scenario.name, transfer=transfer,
            threads=threads, progress=progress,
        )  # fmt: skip
        compare_tables.write(result, out / scenario.name)
        found.append(result)
        write_atomic(out / PAGE, compare_tables.page(found))
    return found


def _check_only(scenarios: Sequence[Scenario], only: Sequence[str] | None) -> None:
    """Refuse names that are nobody's in any of the scenarios."""
    known = {HINDSIGHT, *(name for scenario in scenarios for name in contestants.names(scenario))}
    wrong = [name for name in only or () if name not in known]
    if wrong:
        rule = "is no contestant of any of the scenarios"
        raise located(
            [Finding(("--only",), rule, Shown(name), f"one of: {', '.join(sorted(known))}") for name in wrong]
        )


def _folder(name: str, runs: Path) -> Path:
    """Return the folder of an environment's training."""
    environment = environment_of(name)
    return runs / f"{environment.name}-{own_training(environment).seed}"


def _check_policies(folders: Sequence[Path], scenarios: Sequence[Scenario], *, transfer: bool) -> None:
    """Refuse policies that cannot take part before others are trained."""
    faults: list[Fault] = []
    for folder, scenario in zip(folders, scenarios, strict=True):
        if not (folder / RESULT).is_file():
            continue
        try:
            contestants.find(folder, scenario, transfer=transfer)
        except InputError as error:
            anew = f"remove {folder}, and it is trained anew"
            faults += [
                replace(one, way_out=f"{anew}, {WAY_THROUGH}" if WAY_THROUGH in one.way_out else anew)
                for one in error.faults
            ]
    if faults:
        raise InputError(faults)


def _policy(name: str, folder: Path, progress: Progress | None) -> Path:
    """Return the folder of an environment's policy, trained now if it was not before."""
    if not (folder / RESULT).is_file():
        _log.info("training the policy of %s into %s", name, folder)
        train(name, out=folder, progress=progress)
    return folder
