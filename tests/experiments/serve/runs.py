"""Folders of runs for the page."""

import json
from collections.abc import Sequence
from pathlib import Path

import optuna

from signalstorm.envs.model import scenario_file
from signalstorm.experiments.storage import open_storage, quiet_optuna
from tests.experiments.recommendation_data import recommendation

SCRIPT = "<img src=x onerror=alert(1)>"
"""A name of a folder that would run in a browser that took it for HTML."""


def write_run(folder: Path, scenario: str = "lab-pcrf") -> Path:
    """Write a finished run of a packaged scenario and return its folder."""
    model = scenario_file.load(scenario)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "scenario.yaml").write_text(scenario_file.dump(model), "utf-8")
    record = recommendation(scenario={"name": scenario, "hash": model.hash()})
    (folder / "recommendation.json").write_text(json.dumps(record), "utf-8")
    return folder


def write_sweep(folder: Path, values_s: Sequence[float], planned: int = 40) -> Path:
    """Write a search on its way; trial 0 is the present setting, and every trial is better with a higher rate."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "scenario.yaml").write_text(scenario_file.dump(scenario_file.load("lab-pcrf")), "utf-8")
    (folder / "study.yaml").write_text(f"name: a\ntrials: {planned}\n", "utf-8")
    with quiet_optuna():
        storage = open_storage(None, folder / "journal.log")
        study = optuna.create_study(study_name="a", storage=storage, load_if_exists=True)
        for value_s in values_s:
            trial = study.ask()
            number = trial.number
            scores = {"value_s": value_s, "times_s": [value_s], "lost_h": [0.0], "figures": {}}
            trial.set_user_attr("scores", scores)
            trial.set_user_attr("batch", min(number, 1))
            trial.set_user_attr("setting", {"nop_rate": 50 + number} if number else {})
            trial.set_constraint("never_worse", 0.0)
            study.tell(trial, value_s)
    return folder
