"""Laws' parameters, tuned on the search storms of a scenario and kept in a file with what they were tuned on.

``python -m signalstorm.experiments.tuned_laws incident-2014-randomised`` tunes all laws that apply and writes
``configs/controllers/incident-2014-randomised.yaml``.
"""

import argparse
import logging
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from signalstorm.agents.catalogue import LAWS, law_of
from signalstorm.agents.plant import plant_of
from signalstorm.agents.steering import Lawful
from signalstorm.envs.model import scenario_file, yaml_lines
from signalstorm.envs.model.errors import InputError, wrong_input
from signalstorm.envs.model.files import write_atomic
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.model.storms import SEARCH
from signalstorm.experiments.evaluate import StormSet
from signalstorm.experiments.loops import run_loop
from signalstorm.experiments.sampling import batch_seed

_log = logging.getLogger(__name__)

Progress = Callable[[str, int, int], None]

MOST_CHANGES_PER_H = 12.0
"""Changes beyond these cost: nobody enters more commands in an hour."""
CHANGE_COST = 0.02
"""Each change per hour beyond them is worth this share of the time."""


class Span(NamedTuple):
    """Bounds of a parameter in a search."""

    low: float
    high: float
    log: bool = False


_MOVES = {"dead_band_share": Span(0.0, 0.35), "step_share": Span(0.2, 4.0, log=True), "cool_down": Span(0.0, 6.0)}
_TARGET = {"target_s": Span(0.1, 10.0, log=True)}
_HEALTHY = {"healthy_share": Span(0.005, 0.3, log=True)}
SPANS: Mapping[str, Mapping[str, Span]] = {
    "constant-gain": {"gain": Span(1.02, 1.6), **_HEALTHY, **_MOVES},
    "rate-matching": {"margin_share": Span(-0.2, 0.4), "growth_share": Span(0.05, 1.5), **_HEALTHY, **_MOVES},
    "aimd": {"increase_per_s": Span(3.0, 150.0, log=True), "decrease": Span(0.4, 0.98), **_HEALTHY},
    "staged-release": {
        "first_per_s": Span(50.0, 400.0, log=True),
        "stage_per_s": Span(10.0, 200.0, log=True),
        "hold": Span(1.0, 8.0),
        **_HEALTHY,
    },
    "dra-bands": {"static_per_s": Span(100.0, 1000.0, log=True), "hold_s": Span(10.0, 240.0), "step": Span(0.02, 0.6)},
    "ddn-additive": {
        "limit_per_s": Span(200.0, 1500.0, log=True),
        "increment": Span(0.02, 0.5),
        "factor": Span(0.01, 1.0),
    },
    "doic-loss": {"rise": Span(0.02, 0.5), "fall": Span(0.002, 0.2, log=True), **_HEALTHY},
    "doic-rate": {"reduction": Span(-0.2, 0.3), "probe_per_s": Span(3.0, 150.0, log=True), **_HEALTHY},
    "sip-rate": {"target": Span(0.4, 1.2), "largest": Span(1.05, 3.0), **_HEALTHY},
    "codel": {"drop_share": Span(0.02, 0.5), "growth_share": Span(0.02, 1.0, log=True), **_TARGET},
    "dagor": {"alpha": Span(0.01, 0.5), "beta": Span(0.005, 0.5, log=True), **_TARGET},
    "breakwater": {"more_share": Span(0.005, 0.5, log=True), "less": Span(0.02, 1.0), **_TARGET},
    "pid": {
        "proportional": Span(0.0, 0.5),
        "integral": Span(0.005, 0.4, log=True),
        "differential": Span(0.0, 0.2),
        **_TARGET,
    },
}
"""What is searched of each law."""


def tuned_laws(scenario: Scenario, text: str | None = None, file: str | None = None) -> dict[str, dict[str, float]]:
    """Return the tuned parameters of laws by name, from the packaged file of the scenario's name; empty without one.

    Args:
        scenario: The scenario.
        text: What the file holds, in place of the packaged one.
        file: What messages call it.

    Raises:
        InputError: If the file is damaged, or names laws or parameters that do not exist.
    """
    packaged = resources.files("signalstorm.configs") / "controllers" / f"{scenario.name}.yaml"
    if text is None:
        if not packaged.is_file():
            return {}
        text, file = packaged.read_text("utf-8"), f"{scenario.name}.yaml"
    data, _, findings = yaml_lines.read(text)
    laws = data.get("laws") if isinstance(data, dict) else None
    if findings or not isinstance(laws, dict):
        raise wrong_input("must hold a mapping `laws`", way_out="tune them again", file=file)
    for name, parameters in laws.items():
        law_of(name, parameters, file)
    return {name: dict(parameters) for name, parameters in laws.items()}


def tune_law(
    name: str, scenario: Scenario, storms: int, trials: int, seed: int = 0, progress: Progress | None = None
) -> tuple[dict[str, float], float, float]:
    """Search a law's parameters on search storms.

    Args:
        name: The law.
        scenario: The scenario.
        storms: How many search storms, the first ones.
        trials: Parameter sets tried; the defaults are the first.
        seed: Seed of the sampler.
        progress: Told after each trial.

    Returns:
        The best parameters, their restricted mean time [s] and their changes per hour.
    """
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = optuna.samplers.TPESampler(seed=batch_seed(seed, 0, 0), multivariate=True, n_startup_trials=trials // 3)
    study = optuna.create_study(sampler=sampler)
    spans = SPANS[name]
    study.enqueue_trial({key: _default(name, key, spans) for key in spans})
    met = StormSet(scenario, tuple(range(SEARCH, SEARCH + storms)), vary=True)
    found: dict[int, tuple[float, float]] = {}
    for number in range(trials):
        trial = study.ask()
        values = {key: _rounded(trial.suggest_float(key, *span[:2], log=span.log)) for key, span in spans.items()}
        result = run_loop(Lawful(law_of(name, values)), met)
        time_s, changes = float(result.restricted_s.mean()), float(result.changes_per_hour.mean())
        found[trial.number] = (time_s, changes)
        study.tell(trial, time_s * (1.0 + CHANGE_COST * max(changes - MOST_CHANGES_PER_H, 0.0)))
        if progress is not None:
            progress(name, number + 1, trials)
    best = study.best_trial
    return {key: _rounded(value) for key, value in best.params.items()}, *found[best.number]


def tune_all(
    scenario: Scenario,
    names: Sequence[str],
    out: Path,
    storms: int,
    trials: int,
    progress: Progress | None = None,
) -> None:
    """Tune laws one by one and write the file anew after each; laws in it that are not named stay."""
    held: dict[str, Any] = {}
    effort: dict[str, Any] = {}
    if out.exists():
        before = yaml.safe_load(out.read_text("utf-8"))
        if before.get("scenario_hash") == scenario.hash():
            held, effort = before["laws"], before["tuned_on"]["effort"]
    for name in names:
        best, time_s, changes = tune_law(name, scenario, storms, trials, progress=progress)
        _log.info("%s: %.1f min, %.1f changes per hour: %s", name, time_s / 60.0, changes, best)
        held[name], effort[name] = best, {"storms": storms, "trials": trials}
        write_atomic(out, _text(scenario, held, effort))


def _text(scenario: Scenario, laws: Mapping[str, Mapping[str, float]], effort: Mapping[str, Any]) -> str:
    ordered = [name for name in LAWS if name in laws]
    record = {
        "scenario": scenario.name,
        "scenario_hash": scenario.hash(),
        "tuned_on": {
            "first_storm": SEARCH,
            "sampler": "TPE, multivariate",
            "effort": {name: dict(effort[name]) for name in ordered},
        },
        "laws": {name: dict(laws[name]) for name in ordered},
    }
    head = (
        f"# Laws tuned on search storms; written by: python -m signalstorm.experiments.tuned_laws {scenario.name}\n"
        "# The aim was the restricted mean time, with a penalty beyond 12 changes per hour.\n"
    )
    return head + str(yaml.safe_dump(record, sort_keys=False, width=120))


def _default(name: str, key: str, spans: Mapping[str, Span]) -> float:
    """Return a parameter's default, within its span."""
    default = next(field.default for field in fields(LAWS[name]) if field.name == key)
    return min(max(float(default), spans[key].low), spans[key].high)  # type: ignore[arg-type]


def _rounded(value: float) -> float:
    """Round to four digits, as the file keeps it."""
    return float(f"{value:.4g}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Tune the laws of a scenario from the command line."""
    parser = argparse.ArgumentParser(prog="python -m signalstorm.experiments.tuned_laws", description=__doc__)
    parser.add_argument("scenario")
    parser.add_argument("--law", action="append", help="a law; by default all that apply")
    parser.add_argument("--storms", type=int, default=64)
    parser.add_argument("--trials", type=int, default=24)
    parser.add_argument("--out", type=Path, help="the file; by default configs/controllers/SCENARIO.yaml")
    given = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    try:
        scenario = scenario_file.load(given.scenario)
    except InputError as error:
        parser.error(str(error))
    names = given.law or [name for name in SPANS if not LAWS[name]().refuses(plant_of(scenario))]
    out = given.out or Path(str(resources.files("signalstorm.configs"))) / "controllers" / f"{scenario.name}.yaml"
    tune_all(scenario, names, out, given.storms, given.trials)
    return 0


if __name__ == "__main__":
    sys.exit(main())
