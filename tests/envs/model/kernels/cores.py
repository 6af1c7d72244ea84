"""Small deterministic networks with elements beyond the attach chain, one mechanism each."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from signalstorm.envs.model.kernels import core_layout as core
from signalstorm.envs.model.kernels import layout
from signalstorm.envs.model.scenario import Scenario
from tests.envs.model.kernels.worlds import Course, world

Floats = npt.NDArray[np.float64]
STEP_S = 0.05


def network(topology: Mapping[str, Any], **fields: Any) -> Scenario:
    """A deterministic network in steps of 0.05 s."""
    return world(**{"stochastic": False, "step_s": STEP_S, "topology": topology, **fields})


def agent(**fields: Any) -> dict[str, Any]:
    """A gateway, a Diameter agent and a policy server that answers at once."""
    return {"gateway": {}, "pcrf": {}, "dra": fields}


def course(scenario: Scenario, seconds: float | None = None) -> Course:
    """Run with a record of every step."""
    return Course(scenario).run(seconds)


def level(run: Course, row: int) -> Floats:
    """A recorded row of the core block after each step; shape (steps,)."""
    at = layout.RECORD_COUNTERS + 1 + layout.RECORD_PER_QUEUE * len(run.batch.plan.queues)
    return run.counter(at + row)[:, 0]


def after(run: Course, row: int, seconds: float) -> float:
    """The same after so many seconds."""
    return float(level(run, row)[round(seconds / STEP_S) - 1])


def gain(run: Course, row: int, seconds: float) -> float:
    """What a count gained in the second that ends there."""
    return after(run, row, seconds) - after(run, row, seconds - 1.0)


__all__ = ["STEP_S", "after", "agent", "core", "course", "gain", "level", "network"]
