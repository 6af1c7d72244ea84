"""Policies for tests: as a training writes them, with weights that nobody has learnt."""

from pathlib import Path
from typing import Any

import numpy as np

from signalstorm.agents.bundle import save
from signalstorm.agents.policy import Policy, Shape, shapes
from signalstorm.experiments.train import facts_of
from signalstorm.experiments.training_environment import environment_of
from signalstorm.experiments.training_file import TrainingFile


def save_policy(folder: Path, environment: str = "AttachLteEasy", **others: Any) -> Path:
    """Write a policy into a folder below that of its run.

    Args:
        folder: The folder of the run.
        environment: What it was trained on.
        **others: Facts that are to say something else.
    """
    facts = facts_of(environment_of(environment), TrainingFile()) | others
    shape = Shape(len(facts["features"]), (4,), (1,), "box")
    weights = {name: np.zeros(size, np.float32) for name, size in shapes(shape).items()}
    save(folder / "policy", Policy(shape, weights), facts)
    return folder
