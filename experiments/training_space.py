"""The space of hyper-parameters: ranges around what PPO is known to work with, and points as training files."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from signalstorm.envs.model import validation
from signalstorm.envs.model.errors import ABSENT, Finding, Shown, located
from signalstorm.envs.model.knob_table import KnobValue
from signalstorm.envs.model.knobs import Setting
from signalstorm.envs.model.wording import nearest
from signalstorm.experiments.training_file import TrainingFile
from signalstorm.experiments.training_study import ParameterRange


@dataclass(frozen=True)
class Parameter:
    """A hyper-parameter and the range in which it is searched."""

    low: float = 0.0
    high: float = 0.0
    log: bool = False
    whole: bool = False
    choices: tuple[str, ...] = ()
    """Values in words; numbers and the others have none."""

    @property
    def text(self) -> str:
        """The range in words."""
        return f"one of {', '.join(self.choices)}" if self.choices else f"{self.low:g} to {self.high:g}"


PARAMETERS: dict[str, Parameter] = {
    "learning_rate": Parameter(1e-5, 1e-2, log=True),
    "steps": Parameter(choices=("16", "32", "64", "128", "256")),
    "batch_size": Parameter(choices=("512", "1024", "2048", "4096", "8192")),
    "epochs": Parameter(1, 20, whole=True),
    "gamma": Parameter(0.9, 0.9999),
    "gae_lambda": Parameter(0.8, 1.0),
    "clip_range": Parameter(0.05, 0.5),
    "entropy": Parameter(0.0, 0.05),
    "log_std": Parameter(-2.0, 0.5),
    "hidden": Parameter(choices=("32x32", "64x64", "128x128", "256x256")),
}
"""What can be searched, by its name in a training file; a study may name a part of each."""
_USUAL: dict[str, tuple[float, float]] = {
    "learning_rate": (1e-4, 3e-3),
    "epochs": (2, 12),
    "gamma": (0.95, 0.999),
    "gae_lambda": (0.85, 1.0),
    "clip_range": (0.1, 0.4),
    "entropy": (0.0, 0.01),
    "log_std": (-1.5, 0.0),
}
"""Narrower ranges, where a study names none."""


class Learned(Setting):
    """Hyper-parameters by name, in the order of `PARAMETERS`."""

    __slots__ = ()

    def __init__(self, values: Mapping[str, KnobValue]) -> None:
        self._values = {name: values[name] for name in PARAMETERS if name in values}


@dataclass(frozen=True)
class TrainingSpace:
    """The hyper-parameters that a search moves, in the order of `PARAMETERS`."""

    base: TrainingFile
    """What they are changed in."""
    knobs: tuple[str, ...]
    """Their names."""
    ranges: Mapping[str, Parameter] = field(default_factory=dict)
    """The range of each."""

    @cached_property
    def distributions(self) -> dict[str, BaseDistribution]:
        """Optuna's distribution of each."""
        return {name: _distribution(self.ranges[name]) for name in self.knobs}

    @cached_property
    def present_point(self) -> dict[str, KnobValue] | None:
        """The training that is searched from as a point, None if it lies outside."""
        full = _values(self.base)
        point = {name: full[name] for name in self.knobs}
        return point if all(_contains(self.ranges[name], value) for name, value in point.items()) else None

    @property
    def start_points(self) -> tuple[dict[str, KnobValue], ...]:
        """None beside the training that is searched from."""
        return ()

    def setting(self, point: Mapping[str, Any]) -> Setting:
        """Return a point as changes of the training, with minibatches that divide what is gathered."""
        values = dict(_values(self.base)) | {name: _rounded(value) for name, value in point.items()}
        gathered = int(values["steps"]) * self.base.rows
        if "batch_size" in point or "steps" in point:
            most = int(values["batch_size"])
            sizes = [size for size in range(2, min(most, gathered) + 1) if gathered % size == 0]
            values["batch_size"] = str(max(sizes, default=gathered))
        known = _values(self.base)
        return Learned({name: value for name, value in values.items() if value != known[name]})

    def stored(self, values: Mapping[str, Any]) -> Setting:
        """Return changes as a storage has kept them."""
        return Learned(values)

    def identity(self, setting: Mapping[str, KnobValue]) -> Setting:
        """Return all hyper-parameters."""
        return Learned({**_values(self.base), **setting})

    def training(self, setting: Mapping[str, KnobValue], seed: int | None = None) -> TrainingFile:
        """Return the training of some changes.

        Args:
            setting: Changes, as `setting` returns them.
            seed: Its seed; None: as before.
        """
        plain = self.base.model_dump(mode="json")
        learning = plain["learning"]
        for name, value in setting.items():
            learning[name] = _plain(name, value)
        # Evaluations stay at the same numbers of steps: they pick the policy, and curves are compared at them.
        before, now = self.base.learning.steps, int(learning["steps"])
        plain["evaluation"]["every"] = max(round(self.base.evaluation.every * before / now), 1)
        plain["seed"] = self.base.seed if seed is None else seed
        checked, findings = validation.validate(plain, TrainingFile)
        if checked is None:
            raise located(findings, "training")
        return checked


def training_space(base: TrainingFile, parameters: Mapping[str, ParameterRange | None] | None = None) -> TrainingSpace:
    """Return the space of a study.

    Args:
        base: The training that is searched from.
        parameters: Hyper-parameters to move and the parts of their ranges, as a study file gives them.

    Raises:
        InputError: With every fault found.
    """
    wanted = dict.fromkeys(PARAMETERS) if parameters is None else parameters
    faults = [
        Finding(("parameters", name), "there is no such hyper-parameter", ABSENT, nearest(name, PARAMETERS))
        for name in wanted
        if name not in PARAMETERS
    ]
    ranges: dict[str, Parameter] = {}
    for name, row in PARAMETERS.items():
        if name in wanted:
            wrong, ranges[name] = _narrow(name, row, wanted[name])
            faults += wrong
    if faults:
        raise located(faults, "--study")
    return TrainingSpace(base, tuple(ranges), ranges)


def _narrow(name: str, row: Parameter, part: ParameterRange | None) -> tuple[list[Finding], Parameter]:
    given = ParameterRange() if part is None else part
    path = ("parameters", name)
    if row.choices:
        if given.low is not None or given.high is not None:
            return [Finding(path, "takes single values", ABSENT, "give `choices` in place of low and high")], row
        layers = name == "hidden"
        odd = [x for x in given.choices or () if isinstance(x, tuple) != layers]
        if odd:
            form = "layers such as [64, 64]" if layers else "whole numbers"
            return [Finding((*path, "choices"), f"must be {form}", odd[0], "write them so")], row
        words = [_word(value) for value in given.choices or ()]
        return [], replace(row, choices=tuple(dict.fromkeys(words))) if words else row
    low, high = _USUAL[name]
    low, high = (low if given.low is None else given.low), (high if given.high is None else given.high)
    if given.choices is not None or not row.low <= low <= high <= row.high:
        rule = f"its range must have low <= high, within {row.text}"
        shown = Shown(f"low {low:g}, high {high:g}")
        return [Finding(path, rule, shown, "leave out what is not to change")], row
    return [], replace(row, low=low, high=high)


def _contains(row: Parameter, value: KnobValue) -> bool:
    return value in row.choices if row.choices else isinstance(value, int | float) and row.low <= value <= row.high


def _distribution(row: Parameter) -> BaseDistribution:
    if row.choices:
        return CategoricalDistribution(row.choices)
    if row.whole:
        return IntDistribution(round(row.low), round(row.high))
    return FloatDistribution(row.low, row.high, log=row.log)


def _values(training: TrainingFile) -> dict[str, KnobValue]:
    """Return a training's hyper-parameters as a search writes them."""
    learning = training.learning
    return {
        name: _word(value) if PARAMETERS[name].choices else value
        for name in PARAMETERS
        for value in [getattr(learning, name)]
    }


def _word(value: Any) -> str:
    return "x".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _plain(name: str, value: KnobValue) -> Any:
    """Return a value as a training file has it."""
    if name == "hidden":
        return [int(units) for units in str(value).split("x")]
    return int(value) if PARAMETERS[name].choices or PARAMETERS[name].whole else value


def _rounded(value: Any) -> Any:
    """Return a rate to four digits, as one writes it into a file."""
    return float(f"{value:.4g}") if isinstance(value, float) else value
