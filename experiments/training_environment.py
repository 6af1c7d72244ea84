"""What a training is on: the environment and the training file; all that is wrong with either is found at once."""

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from signalstorm.envs.families import FAMILIES, VARIANTS
from signalstorm.envs.model import scenario_file, validation
from signalstorm.envs.model.errors import ABSENT, Fault, Finding, InputError, located, wrong_input
from signalstorm.envs.options import Options
from signalstorm.envs.registry import options_of, resolve_id
from signalstorm.experiments.training_file import (
    TrainingFile,
    WarmStart,
    fitting_batch,
    list_trainings,
    load_training,
)
from signalstorm.experiments.warm_start import lesson_of

_NAMELESS = ("names no environment", "give an id or a scenario")
"""The rule and the way out where nothing says what is to be trained on."""


@dataclass(frozen=True)
class Environment:
    """What is trained on: how to make the environment again, and what it is."""

    family: str
    """A family's name, or a scenario's name or path."""
    variant: str
    """The variant."""
    changes: Mapping[str, Any]
    """What differs from it."""
    options: Options
    """All of it."""

    @property
    def name(self) -> str:
        """A name for folders and training files, such as ``incident-sgsn-easy``."""
        words = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", f"{self.family}{self.variant}") if self.variant else self.family
        return Path(words).stem.lower()


def environment_of(what: str, changes: Mapping[str, Any] | None = None) -> Environment:
    """Return the environment of an id, or of a scenario: its fast knobs on drawn storms where it names some.

    Raises:
        InputError: If there is no such environment, or an argument is wrong.
    """
    given = dict(changes or {})
    family, variant = resolve_id(what)
    if family not in FAMILIES and scenario_file.load(family).loop is not None:
        variant = "Randomised"
    return Environment(family, variant, given, options_of(family, variant, **given))


def own_training(environment: Environment) -> TrainingFile:
    """Return the packaged training of an environment, the default if there is none."""
    names = list_trainings()
    plain = environment.name
    for variant in VARIANTS:
        plain = plain.removesuffix(f"-{variant.lower()}") if variant else plain
    found = next((name for name in (environment.name, plain) if name in names), None)
    return TrainingFile() if found is None else load_training(found)


def training_of(
    what: str | None, training: TrainingFile | str | os.PathLike[str] | None
) -> tuple[Environment, TrainingFile]:
    """Return the environment of a training, and the training with the environment's name in it.

    Args:
        what: An environment's id, or a scenario's name or path; None: what the training names.
        training: A training file, its name or its content; None: the one that is packaged for the environment.

    Raises:
        InputError: With everything that is wrong, in a file with its lines.
    """
    if training is None:
        if what is None:
            raise wrong_input(_NAMELESS[0], ABSENT, _NAMELESS[1], key="environment")
        file = own_training(environment_of(what))
    elif isinstance(training, TrainingFile):
        file = training
    else:
        file = load_training(training, lambda data: _look(what, data))
    named = what or file.environment
    if named is None:
        raise wrong_input(_NAMELESS[0], ABSENT, _NAMELESS[1], key="environment")
    environment = environment_of(named, file.options)
    _check(environment.options)
    lesson_of(environment.options, file)
    return environment, file.model_copy(update={"environment": named})


def _look(what: str | None, data: Mapping[str, Any]) -> Iterable[Finding | Fault]:
    """Return what is wrong with the environment, its options and the warm start of a training file.

    Args:
        what: What is to be trained on, if not what the file says.
        data: Content of the file.
    """
    named, options, warm = what or data.get("environment"), data.get("options") or {}, data.get("warm_start")
    if named is None:
        return [Finding(("environment",), _NAMELESS[0], ABSENT, _NAMELESS[1])]
    if not isinstance(named, str):
        return []
    try:
        resolve_id(named)
    except InputError as error:
        return error.faults if what else [_of_environment(fault, named) for fault in error.faults]
    if not isinstance(options, Mapping) or not all(isinstance(name, str) for name in options):
        return []
    try:
        made = environment_of(named, options).options
        _check(made)
    except InputError as error:
        return [_of_options(fault, options) for fault in error.faults]
    spec = validation.validate(warm, WarmStart)[0] if isinstance(warm, Mapping) else None
    try:
        lesson_of(made, TrainingFile(warm_start=spec))
    except InputError as error:
        return [Finding((*fault.key.split("."),), fault.rule, fault.value, fault.way_out) for fault in error.faults]
    return []


def _check(options: Options) -> None:
    """Refuse knobs, limits and starts that only the network tells to be wrong.

    Raises:
        InputError: If an agent cannot move a knob, or its episodes cannot begin so.
    """
    options.actuator()


def _of_environment(fault: Fault, named: str) -> Finding | Fault:
    """Say of an unknown environment where a training file names it; a fault in a scenario's own file stays there."""
    if fault.line is not None:
        return fault
    value = named if fault.value is ABSENT else fault.value
    return Finding(("environment",), fault.rule, value, fault.way_out)


def _of_options(fault: Fault, options: Mapping[str, Any]) -> Finding | Fault:
    """Find a fault of an environment among the options of a training file; of a scenario's own file it stays there."""
    words = tuple(fault.key.split(".")) if fault.key else ()
    place: tuple[str, ...]
    if fault.file == "environment":
        place = words
        if not set(words[:1]) <= {*options, "knobs"}:
            knob = words[0] if fault.value is ABSENT else fault.value
            return Finding(("options", "knobs"), fault.rule, knob, fault.way_out)
    elif fault.file in (None, "start") and words:
        place = ("start", *words)
    elif fault.line is None and "scenario" in options:
        value = options["scenario"] if fault.value is ABSENT else fault.value
        return Finding(("options", "scenario"), fault.rule, value, fault.way_out)
    else:
        return fault
    return Finding(("options", *place), fault.rule, fault.value, fault.way_out)


def with_arguments(file: TrainingFile, given: Mapping[str, Any]) -> TrainingFile:
    """Return a training with the arguments of a command, and with minibatches that divide what other rows gather."""
    plain = file.model_dump(mode="json") | dict(given)
    rows = plain["rows"]
    if "rows" in given and isinstance(rows, int) and rows > 0:
        gathered, most = rows * file.learning.steps, file.learning.batch_size
        plain["learning"] = {**plain["learning"], "batch_size": fitting_batch(gathered, most) or most}
    checked, findings = validation.validate(plain, TrainingFile)
    if checked is None:
        raise located(findings, "training")
    return checked
