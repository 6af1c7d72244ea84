"""Calibrate: find values of scenario fields with which the model comes to what was observed, and how sure they are."""

import json
import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from signalstorm import __version__
from signalstorm.envs.model import scenario_file
from signalstorm.envs.model.errors import wrong_input
from signalstorm.envs.model.files import write_atomic
from signalstorm.envs.model.scenario import Scenario
from signalstorm.experiments.calibrate_data import Observed, read_observed
from signalstorm.experiments.calibrate_fit import Budget, Confounded, Fit, Problem, Progress, confounded, fit
from signalstorm.experiments.calibrate_space import MIX, Parameter, Space, space_of
from signalstorm.experiments.imports.counters import Meaning

_log = logging.getLogger(__name__)

RECORD, PLOTS = "calibration.json", "residuals.html"
"""The files that a calibration writes beside the scenarios."""
_DIGITS = 4
"""Significant digits of a fitted value; more would claim what nobody knows."""
_SUFFIX = "-fitted"


@dataclass(frozen=True)
class Calibration:
    """What a calibration found."""

    cases: tuple[Observed, ...]
    """The scenarios and what was observed of each."""
    space: Space
    """The free parameters."""
    found: Fit
    """The fit."""
    untold: tuple[Confounded, ...]
    """Combinations of parameters that the data cannot tell apart."""
    scenarios: tuple[Scenario, ...]
    """The scenarios with the fitted values."""

    @property
    def values(self) -> dict[str, float]:
        """The fitted values, by path."""
        return {path: _rounded(value) for path, value in self.space.values(self.found.point).items()}

    @property
    def intervals(self) -> dict[str, tuple[float, float]]:
        """The 90 % intervals, by path."""
        low, high = (self.space.values(ends) for ends in (self.found.low, self.found.high))
        return {path: (_rounded(low[path]), _rounded(high[path])) for path in low}

    def sentences(self) -> list[str]:
        """Return what stands in the way of trusting the fit, in words."""
        said = []
        if self.found.cost > _POOR:
            said.append(
                f"the fit is poor: residuals are {self.found.cost**0.5:.1f} times what chance and 5 % allow; "
                "the model lacks something, or the data contradict each other"
            )
        for one in self.untold:
            if len(one.paths) == 1 and self._moves(one.paths[0]) < _NOTHING:
                said.append(f"the data say nothing of {one.paths[0]}: what was observed does not change with it")
            elif len(one.paths) == 1:
                said.append(f"the data say little of {one.paths[0]}: its interval is mostly that of its bounds")
            else:
                pairs = zip(one.paths, one.together, strict=True)
                moves = ", ".join(f"{path} {'up' if sign > 0 else 'down'}" for path, sign in pairs)
                said.append(f"the data cannot tell apart: {moves} (all together change next to nothing)")
        for parameter, at in zip(self.space.parameters, self.found.point, strict=True):
            if at in (0.0, 1.0):
                bound = parameter.low if at == 0.0 else parameter.high
                said.append(
                    f"{parameter.path} lies at its bound, {bound:g} {parameter.unit}".rstrip() + ": give wider ones"
                )
        return [*said, *(note for case in self.cases for note in case.notes)]

    def _moves(self, path: str) -> float:
        """Return by how much a parameter moves the entry that it moves most, from bound to bound [errors]."""
        at = [parameter.path for parameter in self.space.parameters].index(path)
        return float((abs(self.found.jacobian[:, at]) * self.found.weights**0.5).max())

    def entries(self) -> list[dict[str, Any]]:
        """Return each observed entry beside the model's at the fit, in its own unit."""
        rows: list[dict[str, Any]] = []
        at = 0
        for case in self.cases:
            for i, name in enumerate(case.names):
                compared, spread = float(self.found.mean[at]), float(self.found.spread[at])
                back = _identity if case.is_time[i] else _squared
                length = float(case.lengths_s[i])
                model, low, high = (
                    back(max(x, 0.0)) / length for x in (compared, compared - 1.645 * spread, compared + 1.645 * spread)
                )
                observed = float(case.plain[i])
                ratio = None if case.is_time[i] or observed == 0 else model / observed
                residual = (compared - float(case.target[i])) * float(self.found.weights[at]) ** 0.5
                rows.append(
                    {"scenario": case.scenario.name, "entry": name, "observed": observed, "model": model,
                     "model_p5": low, "model_p95": high, "ratio": ratio, "residual_in_errors": residual}
                )  # fmt: skip
                at += 1
        return rows

    def to_json(self) -> dict[str, Any]:
        """Return the result in JSON's own types."""
        return {
            "format": "signalstorm calibration, version 1",
            "version": __version__,
            "scenarios": [{"name": case.scenario.name, "hash": case.scenario.hash()} for case in self.cases],
            "parameters": [
                {"path": p.path, "unit": p.unit, "bounds": [p.low, p.high], "start": p.start,
                 "fitted": self.values[p.path], "interval_90": list(self.intervals[p.path])}
                for p in self.space.parameters
            ],
            "misfit": self.found.cost,
            "misfit_at_start": self.found.start_cost,
            "runs": self.found.runs,
            "said": self.sentences(),
            "entries": self.entries(),
        }  # fmt: skip


_NOTHING = 0.01
"""A parameter that moves no entry by so much from bound to bound is one of which the data say nothing [errors]."""
_POOR = 4.0
"""A mean squared residual above this is no fit [errors squared]."""


def calibrate(
    scenario: str | Scenario,
    observed: Sequence[str | os.PathLike[str]] | Observed,
    free: Iterable[str] | None = None,
    *,
    also: Mapping[str, Sequence[str | os.PathLike[str]]] | Sequence[Observed] = (),
    columns: Mapping[str, Meaning] | None = None,
    interval_s: float | None = None,
    marks: str | None = None,
    out: str | os.PathLike[str] | None = None,
    budget: Budget | None = None,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Calibration:
    """Fit free parameters of a scenario to what was observed.

    Args:
        scenario: The scenario: its name, file or content.
        observed: Files of counters, alarms and figures, or what was read from them.
        free: Dotted paths of the fields to fit, with bounds where wanted (``PATH=LOW:HIGH``); by default those that
            the scenario says were fitted.
        also: Further scenarios that share the parameters, each with what was observed of it.
        columns: What columns of the files hold, where their names do not say.
        interval_s: The length of an interval of counters [s]; by default the distance of the times.
        marks: Whether a time of counters marks the ``start`` or the ``end`` of its interval.
        out: A folder for the fitted scenarios, calibration.json and residuals.html.
        budget: How many points and storms to spend.
        seed: Seed of the search.
        threads: Threads at most; by default one per core.
        progress: Told the stage, how much of it is done, and of how much.

    Raises:
        InputError: If a file, a path or a bound is wrong, or a column is ambiguous.
    """
    model = scenario if isinstance(scenario, Scenario) else scenario_file.load(scenario)
    first = observed if isinstance(observed, Observed) else read_observed(model, observed, columns, interval_s, marks)
    more = (
        [read_observed(scenario_file.load(name), files, columns, interval_s, marks) for name, files in also.items()]
        if isinstance(also, Mapping)
        else list(also)
    )
    cases = (first, *more)
    space = space_of([case.scenario for case in cases], _default_free(model) if free is None else free)
    problem = Problem(cases, space, threads)
    found = fit(problem, budget or Budget(), seed, progress)
    scenarios = tuple(_fitted(case, space, found) for case in cases)
    result = Calibration(cases, space, found, tuple(confounded(problem, found)), scenarios)
    if out is not None:
        write(result, out)
    return result


def write(result: Calibration, out: str | os.PathLike[str]) -> list[Path]:
    """Write the fitted scenarios, calibration.json and residuals.html; returns the files.

    Raises:
        InputError: If the folder cannot be written.
    """
    from signalstorm.experiments.calibrate_plots import page

    folder = Path(out)
    texts = {f"{scenario.name}.yaml": scenario_file.dump(scenario) for scenario in result.scenarios}
    texts[RECORD] = json.dumps(result.to_json(), indent=2, allow_nan=False, ensure_ascii=False) + "\n"
    texts[PLOTS] = page(result)
    try:
        for name, content in texts.items():
            write_atomic(folder / name, content)
    except OSError as error:
        raise wrong_input(f"cannot be written: {error.strerror}", file=str(error.filename or folder)) from None
    return [folder / name for name in texts]


def _default_free(scenario: Scenario) -> list[str]:
    """Return the numbers that a scenario says were fitted."""
    known = scenario.paths()
    numbers = [path for path in scenario.fitted if path == "activity.points" or _is_number(known.get(path))]
    if not numbers:
        raise wrong_input("says of no number that it was fitted", way_out="give --free", file=scenario.name)
    return numbers


def _is_number(info: Any) -> bool:
    value = getattr(info, "value", None)
    pair = isinstance(value, list) and len(value) == 2 and all(isinstance(x, int | float) for x in value)
    return pair or (isinstance(value, int | float) and not isinstance(value, bool))


def _fitted(case: Observed, space: Space, found: Fit) -> Scenario:
    """Return a scenario with the fitted values, which says that they were fitted, and to what."""
    values = {path: _rounded(value) for path, value in space.values(found.point).items()}
    changed = space.with_values(case.scenario, values)
    to = ", ".join(
        dict.fromkeys([*(s.name for s in case.series), *(a.name for a in case.alarms), *(o.name for o in case.singles)])
    )
    fitted = dict(case.scenario.fitted)
    for parameter, low, high in zip(space.parameters, found.low, found.high, strict=True):
        path = _told_path(parameter, case.scenario)
        if path is None:
            continue
        ends = (_rounded(parameter.value(float(low))), _rounded(parameter.value(float(high))))
        interval = f"90 % interval {ends[0]:g} to {ends[1]:g} {parameter.unit}".rstrip()
        said = f"calibrated to {to} of {case.scenario.name}; {parameter.path}: {interval}"
        fitted[path] = (
            said
            if not fitted.get(path, "").startswith("calibrated")
            else f"{fitted[path]}; {parameter.path}: {interval}"
        )
    return changed.with_fields({"name": f"{case.scenario.name}{_SUFFIX}", "fitted": fitted})


def _told_path(parameter: Parameter, scenario: Scenario) -> str | None:
    """Return the field under which a parameter is listed as fitted, None if the scenario does not have it."""
    if parameter.path.startswith("activity.points."):
        return "activity.points" if scenario.activity is not None else None
    if parameter.path.startswith(MIX):
        return f"subscribers.{parameter.path.removeprefix(MIX)}.size"
    names = {group.name: str(i) for i, group in enumerate(scenario.subscribers)}
    words = parameter.path.split(".")
    if words[0] == "subscribers":
        words[1] = names.get(words[1], words[1])
    return parameter.path if ".".join(words) in scenario.paths() else None


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def _identity(value: float) -> float:
    return value


def _squared(value: float) -> float:
    return value * value
