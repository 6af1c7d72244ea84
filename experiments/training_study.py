"""Training studies: which hyper-parameters of PPO a search moves, on how many seeds, and how trainings are judged."""

import os
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from signalstorm.envs.model.scenario_parts import Between, Number, Part
from signalstorm.envs.model.typed_files import Kind
from signalstorm.experiments.study_file import Limits, Positive, Sampler
from signalstorm.experiments.training_file import MOST_LAYERS, Steps, Units

Layers = Annotated[tuple[Units, ...], Field(min_length=1, max_length=MOST_LAYERS)]


class ParameterRange(Part):
    """The part of a hyper-parameter's range that is searched."""

    low: Number | None = None
    """Smallest value; by default that of the table in docs/training.md."""
    high: Number | None = None
    """Largest value; by default that of the table."""
    choices: Annotated[tuple[Annotated[int, Between(2)], ...] | tuple[Layers, ...], Field(min_length=1)] | None = None
    """Values of `steps` and `batch_size`, layers of `hidden`; by default those of the table."""


class TrainingSeeds(Part):
    """Seeds of the trainings of a trial."""

    first: Annotated[int, Between(0, 3_000_000_000)] = 0
    """The first seed."""
    count: Annotated[int, Between(1, 100)] = 3
    """How many."""


class TrainingPruner(Part):
    """Who ends a trial before all its trainings are through."""

    kind: Literal["none", "median"] = "median"
    """Nobody; or Optuna's median pruner, asked at every evaluation of the first training and after each training."""
    startup: Positive = 5
    """Trials that are through before any is ended."""
    warmup: Annotated[Number, Field(ge=0, lt=1)] = 0.3
    """Share of the first training that every trial gets."""


class TrainingConfirmation(Part):
    """What is spent on the best candidates."""

    candidates: Positive = 3
    """Candidates compared on fresh seeds."""
    seeds: Annotated[int, Between(1, 100)] = 3
    """Fresh seeds of that comparison, and as many again for the last one."""
    held_out: Positive = 200
    """Storms that no training and no choice has seen."""


class TrainingStudy(Part):
    """A study of trainings."""

    description: str = ""
    """What it is for."""
    training: str | None = None
    """The training file that is searched from; by default the one packaged for the environment."""
    timesteps: Steps | None = None
    """Steps of each training; by default as the training file says."""
    parameters: Mapping[str, ParameterRange | None] | None = None
    """Hyper-parameters to move, by their names in a training file, and the parts of their ranges."""
    objective: Literal["time", "lost"] = "time"
    """What a training is ranked by: restricted mean time, or hours without service per subscriber."""
    storms: Annotated[int, Between(1, 1000)] = 128
    """Storms by which trainings are ranked; no training has seen them, nor do they pick its policy."""
    sampler: Sampler = Sampler(startup=8, batch=1)
    """Who proposes points."""
    pruner: TrainingPruner = TrainingPruner()
    """Who ends trials early."""
    budget: Limits = Limits(trials=24)
    """When the search ends."""
    seeds: TrainingSeeds = TrainingSeeds()
    """Trainings of a trial."""
    confirmation: TrainingConfirmation = TrainingConfirmation()
    """What is spent on the best candidates."""

    @model_validator(mode="after")
    def _agrees(self) -> "TrainingStudy":
        if self.parameters is not None and not self.parameters:
            raise PydanticCustomError("parameters", "a search needs at least one hyper-parameter")
        return self

    @property
    def objectives(self) -> tuple[str, ...]:
        """What the sampler aims at."""
        return (self.objective,)

    @property
    def search_seeds(self) -> tuple[int, ...]:
        """Seeds of a trial's trainings."""
        return tuple(range(self.seeds.first, self.seeds.first + self.seeds.count))

    @property
    def choice_seeds(self) -> tuple[int, ...]:
        """Fresh seeds on which the best candidates are compared."""
        first = self.seeds.first + self.seeds.count
        return tuple(range(first, first + self.confirmation.seeds))

    @property
    def last_seeds(self) -> tuple[int, ...]:
        """Fresh seeds of what is told of the winner."""
        first = self.choice_seeds[-1] + 1
        return tuple(range(first, first + self.confirmation.seeds))


def list_training_studies() -> list[str]:
    """Return the names of the packaged studies of trainings, sorted."""
    return _KIND.names()


def load_training_study(name_or_path: str | os.PathLike[str]) -> TrainingStudy:
    """Load a study of trainings by its name, or from a file.

    Raises:
        InputError: With every fault found.
    """
    return _KIND.load(name_or_path)


def parse_training_study(text: str, file: str) -> TrainingStudy:
    """Read a study of trainings from the content of a file.

    Raises:
        InputError: With every fault found.
    """
    return _KIND.parse(text, file)


_KIND = Kind(TrainingStudy, "study", "docs/training.md", "training_studies")
