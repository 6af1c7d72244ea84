"""The free parameters of a calibration: scenario fields between bounds, as points of the unit cube."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from signalstorm.envs.model.errors import ABSENT, Fault, Finding, InputError, located, wrong_input
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.model.scenario_paths import FieldInfo
from signalstorm.envs.model.wording import nearest

Floats = npt.NDArray[np.float64]

FACTOR = 3.0
"""Without bounds a parameter lies within its value divided and multiplied by this."""
MIX = "mix."
"""Prefix of the share of a class of subscribers, such as ``mix.gsm``; the other classes share the rest as before."""
_SHARES = ("_share", "share")


@dataclass(frozen=True)
class Parameter:
    """A free parameter."""

    path: str
    """The dotted path of the field, as the user gave it."""
    low: float
    """Smallest value; of a field that is a pair, smallest factor on it."""
    high: float
    """Largest value."""
    start: float
    """The scenario's own value."""
    log: bool
    """Whether the values are searched by their logarithm."""
    unit: str = ""
    """The unit."""
    pair: tuple[float, float] | None = None
    """The ends of a pair of which the parameter is a factor."""
    whole: bool = False
    """Whether the field takes whole numbers only."""

    def value(self, u: float) -> float:
        """Return the value at a place between 0 and 1."""
        if self.log:
            return math.exp(math.log(self.low) + u * (math.log(self.high) - math.log(self.low)))
        return self.low + u * (self.high - self.low)

    def place(self, value: float) -> float:
        """Return the place of a value between 0 and 1."""
        if self.log:
            at = (math.log(value) - math.log(self.low)) / (math.log(self.high) - math.log(self.low))
        else:
            at = (value - self.low) / (self.high - self.low)
        return min(max(at, 0.0), 1.0)


@dataclass(frozen=True)
class Space:
    """The free parameters; a point has one number from 0 to 1 for each."""

    parameters: tuple[Parameter, ...]

    @property
    def start(self) -> Floats:
        """The point of the scenarios' own values."""
        return np.array([p.place(p.start) for p in self.parameters])

    def values(self, point: Sequence[float] | Floats) -> dict[str, float]:
        """Return the values at a point, by path."""
        return {p.path: p.value(float(u)) for p, u in zip(self.parameters, point, strict=True)}

    def applied(self, scenario: Scenario, point: Sequence[float] | Floats) -> Scenario:
        """Return a scenario with the values at a point; parameters that it does not have are left out."""
        return self.with_values(scenario, self.values(point))

    def with_values(self, scenario: Scenario, values: Mapping[str, float]) -> Scenario:
        """Return a scenario with values by path; parameters that it does not have are left out."""
        fields: dict[str, Any] = {}
        for parameter in self.parameters:
            value = values[parameter.path]
            if parameter.path.startswith(MIX):
                fields |= _mixed(scenario, parameter.path.removeprefix(MIX), value)
            elif parameter.pair is not None:
                fields[parameter.path] = [end * value for end in parameter.pair]
            elif _has(scenario, parameter.path):
                fields[parameter.path] = round(value) if parameter.whole else value
        return scenario.with_fields(fields) if fields else scenario


def space_of(scenarios: Sequence[Scenario], free: Iterable[str]) -> Space:
    """Return the space of some free parameters.

    Args:
        scenarios: The scenarios; the first gives the values to start from.
        free: Dotted paths with or without bounds: ``topology.pcrf.rate_per_s`` or ``topology.pcrf.rate_per_s=40:60``;
            ``activity.points`` means the rate of each of its points, ``mix.NAME`` a class's share of all subscribers.

    Raises:
        InputError: With every path that is no number of the scenario, and all bounds that are wrong.
    """
    known = scenarios[0].paths()
    parameters: list[Parameter] = []
    faults: list[Finding] = []
    for item in free:
        path, _, bounds = item.partition("=")
        for one in _expanded(path.strip(), scenarios[0]):
            found = _parameter(one, bounds, scenarios[0], known)
            if isinstance(found, Finding):
                faults.append(found)
            else:
                parameters.append(found)
    if faults:
        raise located(faults, "--free")
    if not parameters:
        raise wrong_input(
            "needs at least one free parameter", ABSENT, "for example topology.pcrf.rate_per_s", file="--free"
        )
    paths = [p.path for p in parameters]
    twice = sorted({path for path in paths if paths.count(path) > 1})
    if twice:
        raise InputError(
            Fault("--free", None, path, "is given twice", ABSENT, "leave one of them out") for path in twice
        )
    return Space(tuple(parameters))


def _expanded(path: str, scenario: Scenario) -> list[str]:
    if path == "activity.points" and scenario.activity is not None:
        return [f"activity.points.{i}.1" for i in range(len(scenario.activity.points))]
    return [path]


def _parameter(path: str, bounds: str, scenario: Scenario, known: Mapping[str, FieldInfo]) -> Parameter | Finding:
    info = _info(path, scenario, known)
    if info is None:
        if path in known:
            return Finding((path,), "is no number of the scenario", known[path].value, "free a field that is a number")
        return Finding((path,), "is no number of the scenario", ABSENT, nearest(path, [*known, "activity.points"]))
    value, unit = info.value, info.unit
    pair: tuple[float, float] | None = None
    if isinstance(value, list):
        pair, value, unit = (float(value[0]), float(value[1])), 1.0, f"times {value} {info.unit}".rstrip()
    share = path.rpartition(".")[2].endswith(_SHARES) or path.startswith(MIX)
    low, high = (0.0, 1.0) if share else (float(value) / FACTOR, float(value) * FACTOR)
    if bounds:
        try:
            low, high = (float(word) for word in bounds.split(":"))
        except ValueError:
            return Finding(
                (path,), "must have bounds of the form LOW:HIGH", bounds, f"for example {path}={low:g}:{high:g}"
            )
    if not low < high or not math.isfinite(low + high):
        return Finding((path,), "must have LOW below HIGH", f"{low:g}:{high:g}", "give bounds, LOW:HIGH")
    start = min(max(float(value), low), high)
    return Parameter(path, low, high, start, low > 0, unit, pair, isinstance(info.value, int))


def _info(path: str, scenario: Scenario, known: Mapping[str, FieldInfo]) -> FieldInfo | None:
    """Return a field that is a number or a pair of them."""
    if path.startswith(MIX):
        sizes = {group.name: group.size for group in scenario.subscribers}
        name = path.removeprefix(MIX)
        return FieldInfo(sizes[name] / sum(sizes.values()), "share", "") if name in sizes and len(sizes) > 1 else None
    if path.startswith("activity.points."):
        words = path.split(".")
        points = scenario.activity.points if scenario.activity else ()
        if len(words) == 4 and words[2].isdecimal() and int(words[2]) < len(points) and words[3] in "01":
            return FieldInfo(points[int(words[2])][int(words[3])], "per s" if words[3] == "1" else "s", "")
        return None
    names = {group.name: str(i) for i, group in enumerate(scenario.subscribers)}
    words = path.split(".")
    if words[0] == "subscribers" and len(words) > 1:
        words[1] = names.get(words[1], words[1])
    info = known.get(".".join(words))
    if info is None or isinstance(info.value, bool):
        return None
    is_pair = (
        isinstance(info.value, list) and len(info.value) == 2 and all(isinstance(x, int | float) for x in info.value)
    )
    return info if isinstance(info.value, int | float) or is_pair else None


def _has(scenario: Scenario, path: str) -> bool:
    return _info(path, scenario, scenario.paths()) is not None


def _mixed(scenario: Scenario, name: str, share: float) -> dict[str, Any]:
    """Return class sizes with a new share of one class; the others keep their proportions, the sum stays."""
    total = sum(group.size for group in scenario.subscribers)
    others = sum(group.size for group in scenario.subscribers if group.name != name)
    sizes = {
        group.name: round(total * share if group.name == name else total * (1 - share) * group.size / others)
        for group in scenario.subscribers
    }
    last = next(other for other in reversed(sizes) if other != name)
    sizes[last] += total - sum(sizes.values())
    return {f"subscribers.{other}.size": max(size, 1) for other, size in sizes.items()}
