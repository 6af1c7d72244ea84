"""A storm small enough to be tuned in a second or two."""

from pathlib import Path
from typing import Any

from signalstorm.envs.model import scenario_file
from signalstorm.envs.model.scenario import Scenario
from signalstorm.experiments.storm_sets import Budget

SMALL = Budget(
    trials=40,
    seeds=4,
    scan_per_guard=4,
    candidates=4,
    choice=6,
    choice_guards=2,
    safe=4,
    held_out=6,
    nominal=3,
)
KNOBS = ("nop_rate", "nop_wait_s", "nop_queue_wait_s", "nop_action", "diameter_tx_s")


def small_scenario(name: str = "small-lab") -> Scenario:
    """Return 300 handsets against a PCRF whose answers from a full buffer come too late."""
    return scenario_file.load("lab-pcrf").with_fields(
        {"name": name, "subscribers.handset.size": 300, "horizon_s": 60.0, "topology.pcrf.buffer": 110.0}
    )


def busy_scenario(name: str = "small-lab") -> Scenario:
    """Return the same with 500 handsets: too many for any storm to end by itself, so a gate is worse on none."""
    return small_scenario(name).with_fields({"subscribers.handset.size": 500})


def cycling(**fields: Any) -> Scenario:
    """Ten thousand registered subscribers who power-cycle 50 times a second, and a reset of half of them."""
    data = scenario_file.load("lab-pcrf").model_dump(mode="json", exclude={"fitted", "variation", "demand"})
    data["subscribers"][0] |= {"size": 10_000, "registered_share": 1.0, "churn_per_s": 0.005}
    data["topology"]["pcrf"] |= {"rate_per_s": 400.0, "buffer": None}
    return Scenario.model_validate(
        {
            **data,
            "name": "cycling",
            "closed": False,
            "trigger": {"kind": "mass_detach", "time_s": 100.0},
            "timeline": [{"kind": "mass_detach", "time_s": 100.0, "share": 0.2, "spread_s": 10.0}],
            "convergence": {},
            **fields,
        }
    )


STUDY = """
budget: {trials: 40}
robustness: {storms: {count: 4}}
confirmation: {candidates: 4, storms: 6, guards: 2, held_out: 6}
"""
"""Much the same as a study file."""


def write_study(folder: Path, more: str = "") -> Path:
    """Write a small study into a file."""
    path = folder / "small-study.yaml"
    path.write_text(STUDY + more, "utf-8")
    return path


def write_small(folder: Path, name: str = "small-lab") -> Path:
    """Write the small scenario into a file."""
    path = folder / f"{name}.yaml"
    path.write_text(scenario_file.dump(small_scenario(name)), "utf-8")
    return path
