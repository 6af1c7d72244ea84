"""Evaluation: settings against storms, as one batch; the ground under ``simulate``, ``tune`` and ``compare``."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from signalstorm.envs.model.batch import Batch
from signalstorm.envs.model.bound import KNOBS_OF_BOUND, as_set, lower_bound_s
from signalstorm.envs.model.knob_table import KnobValue
from signalstorm.envs.model.knobs import resolve
from signalstorm.envs.model.metrics import Outcomes, outcomes, restricted, watched_s
from signalstorm.envs.model.parameters import setting_matrix
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.model.storms import storm

Floats = npt.NDArray[np.float64]

Progress = Callable[[int, int], None]
"""Told how many storm runs are done, and of how many."""

ROWS_PER_CALL = 1024
"""Rows of one batch; more would only need more memory."""


@dataclass(frozen=True)
class StormSet:
    """Storms that every setting is to meet: common random numbers."""

    scenario: Scenario
    """The nominal scenario."""
    numbers: tuple[int, ...]
    """Storm numbers."""
    vary: bool
    """Whether each storm draws its fields from the scenario's variation."""

    @cached_property
    def scenarios(self) -> tuple[Scenario, ...]:
        """One scenario per storm."""
        return tuple(storm(self.scenario, number, vary=self.vary) for number in self.numbers)

    @cached_property
    def lower_bounds_s(self) -> Floats:
        """The bound of each storm, shape (storms,) [s]."""
        return self.bounds_under({})

    def changes(self, setting: Mapping[str, KnobValue]) -> dict[str, KnobValue]:
        """Return the what-ifs and failure actions in which a complete setting differs from the present one."""
        present = resolve({}, self.scenario)
        return {k: setting[k] for k in KNOBS_OF_BOUND if k in setting and setting[k] != present.get(k)}

    def bounds_under(self, setting: Mapping[str, KnobValue]) -> Floats:
        """Return the bound of each storm where a setting's what-ifs and failure actions hold, shape (storms,) [s].

        Args:
            setting: A complete setting; values of knobs that no bound depends on, or that are in force, change nothing.
        """
        other = self.changes(setting)
        if not self.vary:
            return np.full(len(self.numbers), lower_bound_s(as_set(self.scenario, other)))
        return np.array([lower_bound_s(as_set(scenario, other)) for scenario in self.scenarios])


@dataclass(frozen=True)
class Evaluation:
    """Outcomes of settings against storms; every array has shape (settings, storms)."""

    storms: StormSet
    outcomes: Outcomes

    @property
    def restricted_s(self) -> Floats:
        """min(T, horizon) [s]."""
        return restricted(self.outcomes.convergence_time_s, watched_s(self.storms.scenario))

    @property
    def restricted_mean_s(self) -> Floats:
        """Restricted mean time of each setting, shape (settings,) [s]."""
        return np.asarray(self.restricted_s.mean(axis=1))

    @property
    def converged_share(self) -> Floats:
        """Share of storms that converged within the horizon, shape (settings,)."""
        return np.asarray((~np.isnan(self.outcomes.convergence_time_s)).mean(axis=1))


def evaluate(
    settings: Sequence[Mapping[str, Any]],
    storms: StormSet,
    *,
    threads: int | None = None,
    check: bool = False,
    progress: Progress | None = None,
) -> Evaluation:
    """Run every setting against every storm.

    Args:
        settings: Knob values that override the scenario's present ones, one mapping per setting.
        storms: The storms.
        threads: Threads at most; by default one per core.
        check: Whether to check conservation in every step.
        progress: Told after each part.

    Raises:
        InputError: If a setting is not legal.
    """
    matrix = setting_matrix(settings, storms.scenario)
    count = len(storms.numbers)
    total = len(matrix) * count
    parts = []
    for first in range(0, total, ROWS_PER_CALL):
        rows = np.arange(first, min(first + ROWS_PER_CALL, total))
        batch = Batch(
            storms.scenarios,
            storms.numbers,
            matrix,
            rows=(rows % count, rows // count),
            threads=threads,
            check=check,
        )
        batch.run()
        parts.append(outcomes(batch))
        if progress is not None:
            progress(int(rows[-1]) + 1, total)
    return Evaluation(storms, _join(parts).pick(np.arange(total).reshape(len(matrix), count)))


def ratios_to_bound(restricted_s: Floats, bounds_s: Floats) -> Floats:
    """Return times over lower bounds, of the storms that have a bound above zero and within the horizon.

    Args:
        restricted_s: min(T, horizon), shape (storms,) [s].
        bounds_s: Lower bounds, infinite where beyond the horizon, shape (storms,) [s].
    """
    bounded = np.isfinite(bounds_s) & (bounds_s > 0)
    return np.asarray(restricted_s[bounded] / bounds_s[bounded])


def _join(parts: Sequence[Outcomes]) -> Outcomes:
    """Put parts one after another."""
    if len(parts) == 1:
        return parts[0]
    joined: dict[str, Any] = {}
    for name, first in vars(parts[0]).items():
        values = [getattr(part, name) for part in parts]
        if isinstance(first, dict):
            joined[name] = {key: np.concatenate([value[key] for value in values]) for key in first}
        else:
            joined[name] = np.concatenate(values)
    return Outcomes(**joined)
