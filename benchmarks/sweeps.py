"""How good and how quick searches are: ``python -m benchmarks.sweeps speed|regret [options]``.

These take from minutes to hours, so they are no part of ``python -m benchmarks``.

speed   a whole run of 1,000 trials: wall time, and what sampler and storage take per trial
regret  the default study against random search at 200 evaluations, over the best value of a race of 20,000 settings, on
        several scenarios
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

import numpy as np
from optuna.storages import InMemoryStorage

from benchmarks.long_search import Floats, LongSearch
from signalstorm.envs.model import scenario_file
from signalstorm.envs.model.metrics import restricted, watched_s
from signalstorm.experiments.engines import Engine, Threads
from signalstorm.experiments.evaluate import StormSet
from signalstorm.experiments.objectives import storm_costs_s
from signalstorm.experiments.sampling import PENALTY
from signalstorm.experiments.search import prepare, search
from signalstorm.experiments.search_space import SearchSpace, search_space
from signalstorm.experiments.storage import quiet_optuna
from signalstorm.experiments.storm_sets import Budget, Paired, is_worse
from signalstorm.experiments.study import Study
from signalstorm.experiments.study_file import StudyFile, own_study
from signalstorm.experiments.tune import tune

SCENARIOS = "lab-pcrf,lab-pcrf-a,lab-pcrf-nop50,incident-sgsn-easy"
_KNOBS = {
    "incident-sgsn-easy": (
        "nop_rate", "nop_wait_s", "nop_queue_wait_s", "rto_min_ms", "rto_initial_ms", "rto_max_ms",
    )
}  # fmt: skip
"""Knobs of scenarios that are tuned by one knob alone otherwise: those of `incident-2014`, whose small sister it is."""


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
    """Compare the default study with random search, by the value of the best feasible trial, on the same storms."""
    found: dict[str, Any] = {}
    for name in options.scenarios.split(","):
        spec, scenario, engine = own_study(name), scenario_file.load(name), Threads(options.threads)
        space = search_space(scenario, _KNOBS.get(name), spec.knobs)
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
        if storms is None:
            raise SystemExit("regret needs at least one repeat")
        long_s = _long(space, storms, options.evaluations, engine)
        best = min(long_s, *values["default"], *values["random"])
        regrets = {kind: [value / best - 1.0 for value in found_] for kind, found_ in values.items()}
        beaten = sum(
            d <= r or (d < 0.05 and r < 0.05) for d, r in zip(regrets["default"], regrets["random"], strict=True)
        )
        found[name] = {
            "best_s": round(best, 3),
            "best_of_long_search_s": round(long_s, 3),
            "settings_of_long_search": options.evaluations,
            "median_regret_default": round(statistics.median(regrets["default"]), 4),
            "worst_regret_default": round(max(regrets["default"]), 4),
            "median_regret_random": round(statistics.median(regrets["random"]), 4),
            "as_good_as_random": f"{beaten} of {options.repeats}",
            "better_than_random": sum(d < r for d, r in zip(regrets["default"], regrets["random"], strict=True)),
        }
        print(name, found[name], file=sys.stderr, flush=True)
    return found


def _long(space: SearchSpace, storms: Paired, settings: int, engine: Engine) -> float:
    """Return the value of the best feasible setting of a race of many settings on the storms of a study."""
    scenario, count = space.scenario, len(storms.storms.numbers)
    # Guards and counted storms come mixed, so that both decide from the start.
    order = np.random.default_rng(7).permutation(count)
    counted = order < storms.counted
    numbers = tuple(storms.storms.numbers[int(i)] for i in order)
    lost_at_present, at_present = storms.present_lost_h[order], storms.present_restricted_s[order]

    def parts(times_s: Floats, lost_h: Floats) -> tuple[Floats, Floats]:
        met = times_s.shape[1]
        costs = storm_costs_s(times_s, lost_h, lost_at_present[:met], watched_s(scenario))
        worse = is_worse(restricted(times_s, watched_s(scenario)), at_present[:met])
        return costs[:, counted[:met]].mean(axis=1), worse.mean(axis=1)

    def score(times_s: Floats, lost_h: Floats) -> Floats:
        means, worse = parts(times_s, lost_h)
        return np.asarray(means * (1.0 + PENALTY * worse))

    ordered = StormSet(scenario, numbers, vary=True)
    tried = LongSearch(space, ordered, [max(count // 10, 1), count // 3, count], score, settings, 0.15).run(engine)
    values = []
    for each in tried:
        if each.times_s.size == count:
            means, worse = parts(each.times_s[np.newaxis], each.lost_h[np.newaxis])
            values += [float(means[0])] if worse[0] == 0 else []
    return min(values)


def _best(space: Any, spec: StudyFile, trials: int, engine: Engine, known: Paired | None) -> tuple[float, Paired]:
    """Return the value of the best feasible trial of a search in memory, and its storms."""
    study = Study(space, InMemoryStorage(), "regret", spec, "regret")
    if known is not None:
        study.remember("guards", list(known.storms.numbers[known.counted :]))
    storms = prepare(study, space, spec, spec.budget_of(Budget()), engine)
    search(study, space, spec, storms, trials, engine)
    return min(trial.value_s for trial in study.trials() if trial.feasible), storms


def main() -> None:
    """Run one of the two and print what it found as JSON."""
    parser = argparse.ArgumentParser(prog="benchmarks.sweeps", description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=["speed", "regret"])
    parser.add_argument("--scenarios", default=SCENARIOS, help="names with commas between them")
    parser.add_argument("--trials", type=int, help="evaluations of a search")
    parser.add_argument("--evaluations", type=int, default=20_000, help="evaluations of the reference of regret")
    parser.add_argument("--repeats", type=int, default=10, help="seeds of the sampler")
    parser.add_argument("--jobs", type=int, help="processes")
    parser.add_argument("--threads", type=int, help="threads of regret")
    options = parser.parse_args()
    options.trials = options.trials or {"speed": 1000, "regret": 200}[options.what]
    with quiet_optuna():
        result = {"speed": speed, "regret": regret}[options.what](options)
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
