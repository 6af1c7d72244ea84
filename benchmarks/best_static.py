"""Does any legal static setting come closer to the bound? ``python -m benchmarks.best_static SCENARIO [options]``.

A race of many settings for the least median of T over the storm's lower bound, whatever it costs otherwise: neither
"never worse" nor subscriber-hours count. The best meet fresh storms, the very best the held-out ones. Beside it: what
the best setting of each single storm, chosen with hindsight, comes to on that storm. Where the median of *that* is
above a limit, no static setting can be below it on these storms.
"""

import argparse
import json
import sys
from dataclasses import replace

import numpy as np

from benchmarks.long_search import Floats, LongSearch, Tried
from signalstorm.envs.model import scenario_file
from signalstorm.envs.model.knob_table import KNOBS
from signalstorm.envs.model.metrics import restricted, watched_s
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.model.storms import CHOICE, HELD_OUT, SEARCH
from signalstorm.experiments.engines import Engine, Threads
from signalstorm.experiments.evaluate import StormSet
from signalstorm.experiments.objectives import storm_costs_s
from signalstorm.experiments.search_space import search_space
from signalstorm.experiments.storage import quiet_optuna


def bounded(scenario: Scenario, first: int, count: int, engine: Engine) -> StormSet:
    """Return the first storms that storm under the present setting and have a bound above 0 within the horizon."""
    numbers: list[int] = []
    while len(numbers) < count:
        some = StormSet(scenario, tuple(range(first, first + 64)), vary=True)
        times = engine.evaluate([{}], some).outcomes.convergence_time_s[0]
        bounds = some.lower_bounds_s
        numbers += [some.numbers[i] for i in np.flatnonzero((times != 0) & (bounds > 0) & np.isfinite(bounds))]
        first += 64
    return StormSet(scenario, tuple(numbers[:count]), vary=True)


def spread(storms: StormSet) -> StormSet:
    """Order storms such that the first few of them cover the range of bounds evenly."""
    by_bound = np.argsort(storms.lower_bounds_s, kind="stable")
    count = len(by_bound)
    # Steps of a golden section visit a range evenly at any length.
    order = np.argsort((np.arange(1, count + 1) * 0.6180339887) % 1.0)
    places = np.empty(count, np.intp)
    places[order] = by_bound
    return StormSet(storms.scenario, tuple(storms.numbers[int(i)] for i in places), vary=True)


def ratios(times_s: Floats, storms: StormSet) -> Floats:
    """Return min(T, horizon) over the bounds of the first storms, shape (settings, storms)."""
    return restricted(times_s, watched_s(storms.scenario)) / storms.lower_bounds_s[: times_s.shape[-1]]


def best_static(name: str, options: argparse.Namespace) -> dict[str, object]:
    """Search a scenario."""
    scenario, engine = scenario_file.load(name), Threads(options.threads)
    knobs = [n for n, knob in KNOBS.items() if knob.searchable and getattr(scenario.topology, knob.element) is not None]
    space = search_space(scenario, knobs if options.all_knobs else None)
    rungs = [int(word) for word in options.rungs.split(",")]
    storms = spread(bounded(scenario, SEARCH, rungs[-1], engine))
    shorter = {"horizon_s": options.horizon, "step_s": options.step}
    if any(shorter.values()):
        # Bounds stay those of the whole storm; what is not over by then is known to be above horizon / bound.
        space = replace(space, scenario=scenario.with_fields({k: v for k, v in shorter.items() if v is not None}))
        known, storms = storms.lower_bounds_s, StormSet(space.scenario, storms.numbers, vary=True)
        storms.__dict__["lower_bounds_s"] = known
    lower, lost_at_present = storms.lower_bounds_s, engine.evaluate([{}], storms).outcomes.subscriber_hours_lost[0]

    def score(times_s: Floats, lost_h: Floats) -> Floats:
        # The median of few storms jumps; the mean of the better half of logarithms has the same optimum and a slope.
        # Storms that do not end cost what the product's searches take for it, which tells them apart.
        met = times_s.shape[1]
        costs = storm_costs_s(times_s, lost_h, lost_at_present[:met], watched_s(storms.scenario))
        logs = np.sort(np.log(np.maximum(costs, scenario.dt) / lower[:met]), axis=1)
        return np.asarray(logs[:, : logs.shape[1] // 2 + 1].mean(axis=1))

    tried = LongSearch(space, storms, rungs, score, options.settings, options.keep, seconds=options.seconds).run(engine)
    through = [each for each in tried if each.rung == len(rungs) - 1]
    through.sort(key=lambda each: float(np.median(ratios(each.times_s, storms))))
    least = np.array([_least(tried, storms, i) for i in range(len(storms.numbers))])
    fresh = bounded(scenario, CHOICE, options.fresh, engine)
    again = engine.evaluate([each.setting for each in through[: options.candidates]], fresh).outcomes
    medians = np.median(ratios(again.convergence_time_s, fresh), axis=1)
    winner = through[int(np.argmin(medians))]
    held = bounded(scenario, HELD_OUT, options.held_out, engine)
    last = engine.evaluate([{}, winner.setting], held).outcomes.convergence_time_s
    final = ratios(last, held)
    return {
        "scenario": name,
        "knobs": list(space.knobs),
        "settings": len(tried),
        "settings_at_rung": {str(until): sum(each.rung >= k for each in tried) for k, until in enumerate(rungs)},
        "storm_runs": int(sum(each.times_s.size for each in tried)),
        "setting": dict(winner.setting),
        "median_on_search_storms": round(float(np.median(ratios(winner.times_s, storms))), 4),
        "median_on_fresh_storms": round(float(medians.min()), 4),
        "held_out_storms": len(held.numbers),
        "median_held_out": round(float(np.median(final[1])), 4),
        "held_out_p10_p90": np.quantile(final[1], [0.1, 0.9]).round(3).tolist(),
        "held_out_not_converged": round(float(np.isnan(last[1]).mean()), 4),
        "held_out_worse_than_present": int((final[1] > final[0] * 1.02).sum()),
        "present_median_held_out": round(float(np.median(final[0])), 4),
        "hindsight_median_of_best_per_storm": round(float(np.median(least)), 4),
        "hindsight_p10_p90": np.quantile(least, [0.1, 0.9]).round(3).tolist(),
        "best_few": [
            {"setting": dict(each.setting), "fresh": round(float(m), 4)}
            for m, each in sorted(zip(medians.tolist(), through, strict=False), key=lambda pair: pair[0])[:5]
        ],
    }


def _least(tried: list[Tried], storms: StormSet, i: int) -> float:
    """Return the least ratio that any setting tried has on one storm."""
    met = [each.times_s[i] for each in tried if each.times_s.size > i]
    return float(np.nanmin(restricted(np.array(met), watched_s(storms.scenario))) / storms.lower_bounds_s[i])


def main() -> None:
    """Search and print what was found as JSON."""
    parser = argparse.ArgumentParser(prog="benchmarks.best_static", description=__doc__.partition("\n")[0])
    parser.add_argument("scenario")
    parser.add_argument("--settings", type=int, default=20_000)
    parser.add_argument("--rungs", default="2,8,24,64", help="storms met when settings are compared")
    parser.add_argument("--keep", type=float, default=0.2, help="share that goes on at each")
    parser.add_argument("--candidates", type=int, default=16, help="settings that meet fresh storms")
    parser.add_argument("--fresh", type=int, default=100, help="fresh storms")
    parser.add_argument("--held-out", type=int, default=100, help="held-out storms")
    parser.add_argument("--horizon", type=float, help="horizon_s of the race, where shorter than the scenario's")
    parser.add_argument("--step", type=float, help="step_s of the race, where longer than the scenario's")
    parser.add_argument("--seconds", type=float, help="end the race after so long, with fewer settings")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--all-knobs", action="store_true", help="every legal knob, not only the tunable ones")
    options = parser.parse_args()
    with quiet_optuna():
        print(json.dumps(best_static(options.scenario, options), indent=2))
    sys.stdout.flush()


if __name__ == "__main__":
    main()
