"""Storms for viewers: simulated one at a time on all cores, and remembered."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from signalstorm.envs.model.knobs import KnobValue, Setting
from signalstorm.envs.model.scenario import Scenario
from signalstorm.experiments.simulate import SimulationResult, simulate

_SHORT_STEPS = 40_000
"""A run of more steps takes too long for many storms."""
_MANY, _FEW = 4, 2
"""Storms of a short and of a long run: up to four are run one by one, which is quickest for so few."""
_KEPT = 64
"""Results that are remembered."""


@dataclass(frozen=True)
class Outcome:
    """What storms came to."""

    result: SimulationResult
    """The storms, with time series."""
    record: dict[str, Any]
    """The same as ``signalstorm simulate --json`` prints it."""


class Storms:
    """Simulates, and remembers what the last moves came to."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._remembered = lru_cache(maxsize=_KEPT)(_run)

    def of(self, scenario: Scenario, override: Mapping[str, KnobValue]) -> Outcome:
        """Return the recorded storms of a scenario under a setting.

        One simulation takes all cores, so viewers wait for their turn: together they would be no quicker. A viewer
        who waits for what another has asked for finds it done.

        Args:
            scenario: The scenario.
            override: Knobs that differ from the present setting.

        Raises:
            InputError: If the setting is not legal.
        """
        with self._turn:
            return self._remembered(scenario, Setting(override))


def _run(scenario: Scenario, override: Setting) -> Outcome:
    result = simulate(scenario, override, storms_of(scenario), record=True)
    return Outcome(result, result.to_json())


def storms_of(scenario: Scenario) -> int:
    """Return how many storms a scenario is shown by."""
    return _MANY if scenario.horizon_s / scenario.dt <= _SHORT_STEPS else _FEW
