"""Small scenarios for single questions, settings beyond what a command accepts, and the course of a run."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from signalstorm.envs.model.batch import Batch
from signalstorm.envs.model.kernels import layout
from signalstorm.envs.model.parameters import ACTIONS, SETTING_FIELDS, setting_matrix
from signalstorm.envs.model.scenario import Scenario

Floats = npt.NDArray[np.float64]
Fields = Mapping[str, Any]

EPS: Fields = {"kind": "eps"}
LABORATORY: Fields = {"kind": "laboratory", "retry_refused_s": [3.5, 6.5], "retry_silent_s": [10.5, 19.5]}
GATED: Fields = {"gate": {}}
"""A topology of a gate alone."""
STEP_S = 0.05
"""Step of a scenario without a server that has a rate: a twentieth of the shortest wait in the gate."""


def handsets(size: int, ladder: Fields = EPS, **fields: Any) -> list[Fields]:
    """One class."""
    return [{"name": "handset", "size": size, "ladder": ladder, **fields}]


def fixed(refused_s: float, silent_s: float) -> Fields:
    """Laboratory handsets that all wait equally long."""
    return {"kind": "laboratory", "retry_refused_s": refused_s, "retry_silent_s": silent_s}


def at_once(size: int) -> Fields:
    """A demand that switches everybody on in the first step."""
    return {"rate_per_s": 1000.0 * size}


def world(**fields: Any) -> Scenario:
    """A scenario of one EPS handset that nobody switches on, in a network without elements, for 100 s."""
    data = {
        "name": "world",
        "description": "A test.",
        "source": "invented",
        "access": "eps",
        "subscribers": handsets(1),
        "trigger": {"kind": "start", "time_s": 0.0},
        "topology": {},
        "horizon_s": 100.0,
    }
    return Scenario.model_validate({**data, **fields})


def gate(
    rate_per_s: float, *, wait_s: float = 5.0, queue: float = 1e9, action: str = "drop", t3346_s: float = 0.0
) -> Floats:
    """A setting vector of the gate, legal or not; shape (1, fields)."""
    values = {
        "nop_rate": rate_per_s,
        "nop_wait_s": wait_s,
        "nop_queue": queue,
        "nop_action": ACTIONS[action],
        "t3346_s": t3346_s,
    }
    return np.array([[values.get(name, np.nan) for name in SETTING_FIELDS]])


def closed_gate(action: str = "drop", t3346_s: float = 0.0) -> Floats:
    """A gate that lets nobody in, so that everybody gets the action."""
    return gate(0.0, queue=0.0, action=action, t3346_s=t3346_s)


def open_gate() -> Floats:
    """A gate that paces nothing."""
    return gate(layout.NEVER, queue=layout.NEVER)


class Course:
    """A batch that keeps a record of every step; each attribute has shape (steps, rows)."""

    def __init__(
        self,
        scenario: Scenario | Sequence[Scenario],
        settings: Floats | None = None,
        *,
        storms: Sequence[int] = (0,),
        every_s: float | None = None,
        **options: Any,
    ) -> None:
        scenarios = [scenario] * len(storms) if isinstance(scenario, Scenario) else list(scenario)
        if settings is None:
            settings = setting_matrix([{}], scenarios[0])
        every_s = scenarios[0].dt if every_s is None else every_s
        self.batch = Batch(scenarios, list(storms), settings, record_s=every_s, check=True, **options)
        self.dt = every_s

    def run(self, seconds: float | None = None) -> "Course":
        """Go on for a time, or to the end."""
        self.batch.run(None if seconds is None else round(seconds / self.batch.dt))
        return self

    def counter(self, row: int) -> Floats:
        """A counter after each record so far."""
        return self.batch.records()[: round(self.batch.step * self.batch.dt / self.dt), row]

    def per_step(self, row: int) -> Floats:
        """What a counter gained in each record."""
        return np.diff(self.counter(row), axis=0, prepend=0.0)

    @property
    def attempts(self) -> Floats:
        return self.per_step(layout.K_ATTEMPTS)

    @property
    def admitted(self) -> Floats:
        return self.per_step(layout.K_ADMITTED)

    @property
    def successes(self) -> Floats:
        return self.per_step(layout.K_SUCCESSES)

    @property
    def without(self) -> Floats:
        """Not registered at the end of the step."""
        return self.counter(layout.RECORD_COUNTERS)

    def _queue(self, name: str, quantity: int) -> int:
        return layout.RECORD_COUNTERS + 1 + layout.RECORD_PER_QUEUE * self.batch.plan.queues.index(name) + quantity

    def waiting(self, name: str) -> Floats:
        """Entries of a queue at the end of the step."""
        return self.counter(self._queue(name, 0))

    def stale_waiting(self, name: str) -> Floats:
        """Entries of a queue that have timed out and still wait."""
        return self.counter(self._queue(name, 1))

    def fresh(self, name: str) -> Floats:
        """Entries that a queue served in time in each step."""
        return self.per_step(self._queue(name, 2))

    def stale(self, name: str) -> Floats:
        """Entries that a server served for nobody in each step, or that the gate purged."""
        return self.per_step(self._queue(name, 3))

    def over(self, name: str) -> Floats:
        """Entries that found a queue full in each step."""
        return self.per_step(self._queue(name, 4))

    def times(self, gained: Floats) -> list[float]:
        """Starts of the steps in which the first row gained anything [s], tenths of a millisecond."""
        return [round(float(i) * self.dt, 4) for i in np.flatnonzero(gained[:, 0] > 1e-9)]
