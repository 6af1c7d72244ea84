"""How good and how quick searches are: ``python -m benchmarks.sweeps speed|regret|static [options]``.

These take from minutes to hours, so they are no part of ``python -m benchmarks``.

speed   a whole run of 1,000 trials: wall time, and what sampler and storage take per trial
regret  the default study against random search at 200 evaluations, over the best value known, on several scenarios
static  what a search of many evaluations finds: median of T over the storm's bound on held-out storms
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from optuna.storages import InMemoryStorage

from signalstorm.envs.model import scenario_file
from signalstorm.experiments.engines import Engine, Threads
from signalstorm.experiments.search import prepare, search
from signalstorm.experiments.search_space import search_space
from signalstorm.experiments.storage import quiet_optuna
from signalstorm.experiments.storm_sets import Budget, Paired
from signalstorm.experiments.study import Study
from signalstorm.experiments.study_file import StudyFile, own_study
from signalstorm.experiments.tune import tune

SCENARIOS = "lab-pcrf,lab-pcrf-a,lab-pcrf-nop50,incident-2014"


def speed(options: argparse.Namespace) -> dict[str, Any]:
    """Time a whole run, and the share of its search that sampler and storage take in the searching thread."""
    spent = 0.0

    def timed(function: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*arguments: Any) -> Any:
            nonlocal spent
            began = time.thread_time()
            try:
                return function(*arguments)
            finally:
                spent += time.thread_time() - began

        return wrapped

    for name in ("propose", "claim", "finish"):
        setattr(Study, name, timed(getattr(Study, name)))
    marks: dict[str, float] = {}
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        tune(
            options.scenarios.split(",")[0],
            trials=options.trials,
            out=Path(folder) / "run",
            jobs=options.jobs,
            progress=lambda stage, done, total: marks.__setitem__(stage, time.monotonic() - began),
        )
    wall_s = time.monotonic() - began
    return {
        "trials": options.trials,
        "wall_s": round(wall_s, 1),
        "search_s": round(marks["search"], 1),
        "sampler_and_storage_cpu_ms_per_trial": round(1000 * spent / options.trials, 2),
    }


def regret(options: argparse.Namespace) -> dict[str, Any]:
    """Compare the default study with random search, by the value of the best feasible trial."""
    found: dict[str, Any] = {}
    for name in options.scenarios.split(","):
        spec = own_study(name)
        space, engine = search_space(scenario_file.load(name), None, spec.knobs), Threads()
        values: dict[str, list[float]] = {"default": [], "random": []}
        storms = None
        for seed in range(options.repeats):
            for kind in values:
                sampler = spec.sampler.model_copy(update={"seed": seed})
                if kind == "random":
                    sampler = sampler.model_copy(update={"kind": "random"})
                study = spec.model_copy(update={"sampler": sampler})
                value, storms = _best(space, study, options.trials, engine, storms)
                values[kind].append(value)
                print(f"{name} {kind} seed {seed}: {value:.3f} s", file=sys.stderr, flush=True)
        reference = spec.model_copy(
            update={"sampler": spec.sampler.model_copy(update={"kind": "random", "seed": 1000, "batch": 64})}
        )
        best, _ = _best(space, reference, options.evaluations, engine, storms)
        best = min(best, *values["default"], *values["random"])
        regrets = {kind: [value / best - 1.0 for value in found_] for kind, found_ in values.items()}
        beaten = sum(
            d <= r or (d < 0.05 and r < 0.05) for d, r in zip(regrets["default"], regrets["random"], strict=True)
        )
        found[name] = {
            "best_s": round(best, 3),
            "evaluations_of_reference": options.evaluations,
            "median_regret_default": round(statistics.median(regrets["default"]), 4),
            "median_regret_random": round(statistics.median(regrets["random"]), 4),
            "as_good_as_random": f"{beaten} of {options.repeats}",
        }
        print(name, found[name], file=sys.stderr, flush=True)
    return found


def static(options: argparse.Namespace) -> dict[str, Any]:
    """Search long, and compare what is found with the lower bound of each held-out storm."""
    found: dict[str, Any] = {}
    for name in options.scenarios.split(","):
        with tempfile.TemporaryDirectory() as folder:
            record = tune(name, trials=options.trials, out=Path(folder) / "run", jobs=options.jobs)
        horizon = record.held_out.horizon_s
        ratios = [
            (horizon if row.recommended_s is None else row.recommended_s) / row.lower_bound_s
            for row in record.held_out.storms
            if row.lower_bound_s and (row.present_s is None or row.present_s > 0)
        ]
        found[name] = {
            "trials": record.search.trials,
            "seconds": record.search.seconds,
            "setting": dict(record.override),
            "never_worse": record.never_worse,
            "storms_with_bound": len(ratios),
            "median_of_T_over_bound": round(statistics.median(ratios), 3) if ratios else None,
        }
        print(name, found[name], file=sys.stderr, flush=True)
    return found


def _best(space: Any, spec: StudyFile, trials: int, engine: Engine, known: Paired | None) -> tuple[float, Paired]:
    """Return the value of the best feasible trial of a search in memory, and its storms."""
    study = Study(space, InMemoryStorage(), "regret", spec, "regret")
    if known is not None:
        study.remember("guards", list(known.storms.numbers[known.counted :]))
    storms = prepare(study, space, spec, spec.budget_of(Budget()), engine)
    search(study, space, spec, storms, trials, engine)
    return min(trial.value_s for trial in study.trials() if trial.feasible), storms


def main() -> None:
    """Run one of the three and print what it found as JSON."""
    parser = argparse.ArgumentParser(prog="benchmarks.sweeps", description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=["speed", "regret", "static"])
    parser.add_argument("--scenarios", default=SCENARIOS, help="names with commas between them")
    parser.add_argument("--trials", type=int, help="evaluations of a search")
    parser.add_argument("--evaluations", type=int, default=20_000, help="evaluations of the reference of regret")
    parser.add_argument("--repeats", type=int, default=10, help="seeds of the sampler")
    parser.add_argument("--jobs", type=int, help="processes")
    options = parser.parse_args()
    options.trials = options.trials or {"speed": 1000, "regret": 200, "static": 20_000}[options.what]
    with quiet_optuna():
        result = {"speed": speed, "regret": regret, "static": static}[options.what](options)
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
