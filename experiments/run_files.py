"""The files that a finished search leaves in its folder, beside the recommendation."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any

from signalstorm.envs.model.errors import SignalstormError
from signalstorm.envs.model.knob_table import KNOBS, KnobValue
from signalstorm.experiments.objectives import OBJECTIVES
from signalstorm.experiments.recommendation import Recommendation
from signalstorm.experiments.run_folder import RunFolder
from signalstorm.experiments.search_space import SearchSpace
from signalstorm.experiments.simulate import simulate
from signalstorm.experiments.storm_sets import Budget, Paired
from signalstorm.experiments.trials import Trial

_log = logging.getLogger(__name__)

REPORT = "report.html"
"""The last file of a run."""
SEEDS, TRIALS = "seeds.json", "trials.csv"
SEARCHED = (SEEDS, TRIALS)
"""What a recommendation rests on beside itself: which storms served what, and what every trial came to."""


def write_seeds(folder: RunFolder, storms: Paired, budget: Budget, chosen: Paired | None = None) -> None:
    """Write seeds.json: which storms served which purpose; null for what is still to come."""
    numbers, fresh = storms.storms.numbers, chosen.storms.numbers if chosen else ()
    counted = chosen.counted if chosen else 0
    folder.write_json(
        SEEDS,
        {
            "search": list(numbers[: storms.counted]),
            "search_guards": list(numbers[storms.counted :]),
            "choice": list(fresh[:counted]) or None,
            "choice_guards": list(fresh[counted:]) if chosen else None,
            "held_out": list(budget.held_out_range),
            "nominal": list(budget.nominal_range),
        },
    )


def write_trials(folder: RunFolder, space: SearchSpace, trials: Sequence[Trial], storms: Paired) -> None:
    """Write trials.csv: every trial with its setting, values, constraint, and T on each storm (``-``: not reached)."""
    settings = [space.identity(trial.setting) for trial in trials]
    names = [name for name in KNOBS if any(name in setting for setting in settings)]
    figures = [name for name in OBJECTIVES if any(name in trial.scores.figures for trial in trials)]
    header = ["number", "batch", "present", "value_s", "worse_storms", "feasible", *names, "seeds", "times_s"]
    rows = [
        [trial.number, trial.batch, trial.present, f"{trial.value_s:.6f}", trial.worse, trial.feasible]
        + [setting.get(name, "") for name in names]
        + [" ".join(map(str, storms.storms.numbers[: len(trial.times_s)])), _joined(trial.times_s)]
        + [" ".join(f"{x:.10g}" for x in trial.lost_h), trial.complete]
        + [f"{trial.scores.figures[name]:.10g}" for name in figures]
        for trial, setting in zip(trials, settings, strict=True)
    ]
    header += ["subscriber_hours", "complete", *figures]
    folder.write_table(TRIALS, header, rows)


def write_series(folder: RunFolder, space: SearchSpace, override: Mapping[str, KnobValue], budget: Budget) -> None:
    """Write series.csv: the nominal storms under the present and the recommended setting.

    What is 0 throughout under both is left out.
    """
    header = ["setting", "seed", "time_s", "element", "quantity", "unit", "value"]
    results = simulate(space.scenario, [{}, override], budget.nominal_range, record=True)
    names = ("present", "recommended")
    series = [result.series.values for result in results if result.series is not None]
    quiet = {key for key in series[0] if not any(values[key][1].any() for values in series)}
    rows = [
        (name, seed, f"{time_s:.6g}", element, quantity, unit, f"{value:.6g}")
        for name, result in zip(names, results, strict=True)
        for seed, time_s, element, quantity, unit, value in result.series_rows()
        if (element, quantity) not in quiet
    ]
    folder.write_table("series.csv", header, rows)


def write_exports(folder: RunFolder, record: Recommendation) -> None:
    """Write the commands, the runbook and the report, as far as this installation has them."""
    if record.changed and record.never_worse:
        agent = any(KNOBS[name].element == "dra" for name in record.recommended)
        targets = ("staros", "json", "runbook", *(("vdra",) if agent else ()))
        rule = _call("signalstorm.experiments.followed", "find", None, folder.path)
        _call("signalstorm.experiments.export", "write", folder.path, folder.path, targets=targets, rule=rule)
    _call("signalstorm.experiments.report", "write_report", folder.path)


def _call(module: str, name: str, *arguments: Any, **options: Any) -> Any:
    function = getattr(import_module(module), name, None)
    if function is None:
        return None
    try:
        return function(*arguments, **options)
    except SignalstormError as error:
        _log.warning("%s", error)
        return None


def _joined(times: Iterable[float | None]) -> str:
    return " ".join("-" if t is None else f"{t:.10g}" for t in times)
