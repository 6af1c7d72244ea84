"""Study files: what a search moves, aims at, keeps to, spends and confirms; the default is the default study."""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from signalstorm.envs.model import yaml_lines
from signalstorm.envs.model.errors import InputError, wrong_input
from signalstorm.envs.model.faults import line_of
from signalstorm.envs.model.scenario_parts import Between, Number, Part, Whole
from signalstorm.envs.model.storms import CHOICE, HELD_OUT
from signalstorm.envs.model.typed_files import Kind
from signalstorm.experiments.objectives import OBJECTIVES, Objective, Risk
from signalstorm.experiments.storm_sets import Budget

Positive = Annotated[int, Between(1)]
Share = Annotated[Number, Field(gt=0, lt=1)]
_FOR_CHOICE = HELD_OUT - CHOICE
"""Storms from which those of a choice and its guards are taken."""
_SCANNED = Budget.scan_per_guard // 2
"""Storms looked through for each guard of a choice."""
_MOST_HELD_OUT = 10_000
"""Held-out storms that a machine can still hold the figures of."""


class KnobRange(Part):
    """The part of a knob's range that is searched."""

    low: Number | None = None
    """Smallest value; by default that of the knob table."""
    high: Number | None = None
    """Largest value; by default that of the knob table."""
    choices: tuple[str, ...] | None = None
    """Words of a knob of words; by default all."""


class Sampler(Part):
    """Who proposes points."""

    kind: Literal["tpe", "cma-es", "nsga2", "nsga3", "gp", "qmc", "random", "grid"] = "tpe"
    """Tree-structured Parzen estimator (multivariate), CMA-ES, NSGA-II, NSGA-III, Gaussian process, quasi-Monte Carlo
    (Sobol), independent random points, or a full grid."""
    startup: Whole = 32
    """Random points before TPE, CMA-ES and the Gaussian process begin to learn."""
    population: Positive | None = None
    """Points of a generation of NSGA-II, NSGA-III and CMA-ES; by default the sampler's own."""
    points: Annotated[int, Between(2)] = 5
    """Values per knob of a grid."""
    batch: Annotated[int, Between(1, 1024)] = 16
    """Points that are simulated together. More keep more processors busy, fewer let the sampler learn more often."""
    seed: Whole = 0
    """Seed of the sampler."""


class Pruner(Part):
    """Who ends a trial before it has met all its storms."""

    kind: Literal["none", "wilcoxon", "halving"] = "none"
    """Nobody; the signed-rank test against the best trial over the same storms; or successive halving of a batch."""
    first: Positive = 8
    """Storms that every trial meets; each further step doubles them."""
    p_threshold: Share = 0.1
    """Wilcoxon: probability below which a trial counts as worse than the best."""
    keep: Share = 0.5
    """Halving: share of a batch that goes on."""


class Limits(Part):
    """When a search ends."""

    trials: Annotated[int, Between(1, 1_000_000)] = 256
    """Settings tried, the present one included."""
    seconds: Annotated[Number, Field(gt=0)] | None = None
    """Time after which no further trial begins; a search that ends so is not repeatable [s]."""
    stagnation: Positive | None = None
    """Trials in a row without a better one after which the search ends."""


class StormRange(Part):
    """A generator of storms: numbers at equal distances."""

    first: Annotated[int, Between(0, CHOICE - 1)] = 0
    """The first number."""
    count: Annotated[int, Between(1, 500)] = 32
    """How many."""
    every: Positive = 1
    """Distance of the numbers."""


class Robustness(Part):
    """Which storms a trial meets, and how they are weighed."""

    risk: Risk = "mean"
    """The mean of all storms, the mean of the worst tenth (CVaR), or the worst storm."""
    storms: StormRange = StormRange()
    """A generator of storms; all below 10,000, the range of the search."""
    list: tuple[Annotated[int, Between(0, CHOICE - 1)], ...] = ()
    """Storms by number, instead of the generator."""

    @property
    def numbers(self) -> tuple[int, ...]:
        """The storms of a trial."""
        generated = (self.storms.first + i * self.storms.every for i in range(self.storms.count))
        return tuple(dict.fromkeys(self.list or generated))

    @model_validator(mode="after")
    def _within(self) -> "Robustness":
        if self.list and self.storms != StormRange():
            raise PydanticCustomError("storms", "has both a list and a generator of storms: leave one of them out")
        if max(self.numbers) >= CHOICE:
            raise PydanticCustomError("storms", "storms of a search must be below 10000, others are held back")
        return self


class Confirmation(Part):
    """What is spent on the best candidates."""

    candidates: Annotated[int, Between(1, 1000)] = 12
    """Candidates compared on fresh storms."""
    storms: Annotated[int, Between(1, _FOR_CHOICE)] = 200
    """Storms of that comparison."""
    guards: Annotated[int, Between(0, _FOR_CHOICE // _SCANNED)] = 48
    """Further storms of it, on which the present setting is hardest to equal."""
    held_out: Annotated[int, Between(1, _MOST_HELD_OUT)] = 100
    """Storms that no choice has seen."""
    safe: Annotated[int, Between(1, _FOR_CHOICE)] = 50
    """Storms by which the safe intervals are found, the first of the comparison."""

    @model_validator(mode="after")
    def _apart(self) -> "Confirmation":
        used = self.storms + _SCANNED * self.guards
        if used > _FOR_CHOICE:
            raise PydanticCustomError(
                "storms",
                "the storms of a choice must be below {held_out}, where those begin that no choice may see: storms + "
                "{scanned} x guards must be at most {most}, but come to {used}",
                {"held_out": HELD_OUT, "scanned": _SCANNED, "most": _FOR_CHOICE, "used": used},
            )
        return self


class StudyFile(Part):
    """A study."""

    description: str = ""
    """What it is for."""
    knobs: Annotated[Mapping[str, KnobRange | None], Field(min_length=1)] | None = None
    """Knobs to move and the parts of their ranges; by default those that the scenario calls tunable."""
    objectives: Annotated[tuple[Objective, ...], Field(min_length=1)] = ("time",)
    """What the sampler aims at. The first must be `time`, by which the choice is made."""
    pareto: tuple[Objective, ...] = OBJECTIVES
    """Between which the Pareto set is drawn up."""
    constraints: Mapping[Objective, Annotated[Number, Field(ge=0)]] = Field(default_factory=dict)
    """Largest values that an answer may have, beside never being worse than the present setting."""
    sampler: Sampler = Sampler()
    """Who proposes points."""
    pruner: Pruner = Pruner()
    """Who ends trials early."""
    budget: Limits = Limits()
    """When the search ends."""
    robustness: Robustness = Robustness()
    """Which storms a trial meets."""
    confirmation: Confirmation = Confirmation()
    """What is spent on the best candidates."""

    @model_validator(mode="after")
    def _agrees(self) -> "StudyFile":
        if self.objectives[0] != "time":
            raise PydanticCustomError("objectives", "the first objective must be time, by which the choice is made")
        if len(set(self.objectives)) < len(self.objectives):
            raise PydanticCustomError("objectives", "each objective can be named once")
        if len(self.objectives) > 1 and self.sampler.kind == "cma-es":
            raise PydanticCustomError(
                "objectives", "the sampler cma-es knows one objective; use tpe, nsga2 or nsga3 for several"
            )
        if len(self.objectives) > 1 and self.pruner.kind != "none":
            raise PydanticCustomError("pruner", "trials with several objectives cannot be pruned; leave the pruner out")
        return self

    def budget_of(self, like: Budget) -> Budget:
        """Return how many storms and candidates it spends.

        Args:
            like: Gives what a study file does not say.
        """
        known = vars(like) | {
            "trials": self.budget.trials,
            "seeds": len(self.robustness.numbers),
            "numbers": self.robustness.numbers,
            "risk": self.robustness.risk,
            "candidates": self.confirmation.candidates,
            "choice": self.confirmation.storms,
            "choice_guards": self.confirmation.guards,
            "held_out": self.confirmation.held_out,
            "safe": self.confirmation.safe,
        }
        return Budget(**known)


def list_studies() -> list[str]:
    """Return the names of the packaged studies, sorted."""
    return _KIND.names()


def own_study(scenario: str) -> StudyFile:
    """Return the packaged study with a scenario's name, the default study if there is none."""
    return load_study(scenario) if scenario in list_studies() else StudyFile()


def load_study(name_or_path: str | os.PathLike[str]) -> StudyFile:
    """Load a study by its name, or from a file.

    Raises:
        InputError: With every fault found.
    """
    path = Path(name_or_path)
    if path.is_char_device() or path.is_block_device():  # which may have no end
        raise wrong_input("is a device, not a file", way_out="give a study file", file=str(path))
    return _KIND.load(name_or_path)


def in_study(error: InputError, study: object) -> InputError:
    """Return an error about the knobs of a study with the file and the lines, where it is a user's file.

    Args:
        error: What is wrong; faults of ``--study`` have the knob as their key.
        study: What the study was given as.
    """
    if not isinstance(study, str | os.PathLike) or study in list_studies() or not Path(study).is_file():
        return error
    _, lines, _ = yaml_lines.read(Path(study).read_text("utf-8"))
    return InputError(
        fault
        if fault.file != "--study"
        else replace(
            fault,
            file=str(study),
            line=line_of(("knobs", *fault.key.split(".")), lines),
            key=f"knobs.{fault.key}",
        )
        for fault in error.faults
    )


def parse_study(text: str, file: str) -> StudyFile:
    """Read a study from the content of a file.

    Raises:
        InputError: With every fault found.
    """
    return _KIND.parse(text, file)


def _with_lists(data: dict[str, Any]) -> dict[str, Any]:
    """Take a list of knobs for a mapping without ranges."""
    knobs = data.get("knobs")
    named = isinstance(knobs, list) and all(isinstance(name, str) for name in knobs)
    return {**data, "knobs": dict.fromkeys(knobs)} if named and knobs else data


_KIND = Kind(StudyFile, "study", "docs/sweeps.md", "studies", _with_lists)
