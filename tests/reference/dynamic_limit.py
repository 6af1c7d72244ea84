"""The Diameter agent's limit that follows the processor of the session database."""

from collections.abc import Callable, Generator, Sequence
from typing import Any

import simpy

EDGES = (50.0, 55.0, 60.0, 65.0, 70.0)  # lower edges of the bands [% of the CPU]; 50 and 70 are assumed
THROTTLES = (20.0, 30.0, 40.0, 50.0, 60.0)  # [%]


class DynamicLimit:
    """Looks at the processor at times and assigns a throttle; takes it back in steps while it is calm.

    Args:
        cpu_percent: Reads the processor.
        assign: Hears every throttle [%].
    """

    def __init__(
        self,
        env: simpy.Environment,
        cpu_percent: Callable[[], float],
        assign: Callable[[float], None],
        edges: Sequence[float] = EDGES,
        throttles: Sequence[float] = THROTTLES,
        hold_s: float = 30.0,
        step_percent: float = 20.0,
        sample_s: float = 1.0,
    ) -> None:
        self._env, self._cpu_percent, self._assign = env, cpu_percent, assign
        self._edges, self._throttles = edges, throttles
        self._hold_s, self._step_percent, self._sample_s = hold_s, step_percent, sample_s
        self.throttle = 0.0
        self._calm_since_s: float | None = None
        env.process(self._watch())

    def _watch(self) -> Generator[simpy.Event, Any, None]:
        while True:
            yield self._env.timeout(self._sample_s)
            self.sample(self._cpu_percent())

    def sample(self, percent: float) -> None:
        """A band assigns at once, in both directions; below all bands every full hold takes a step back."""
        band = sum(percent >= edge for edge in self._edges)
        if band:
            self.throttle = self._throttles[band - 1]
            self._calm_since_s = None
        elif self._calm_since_s is None:
            self._calm_since_s = self._env.now
        elif self._env.now - self._calm_since_s >= self._hold_s - 1e-9:
            self.throttle = max(0.0, self.throttle - self._step_percent)
            self._calm_since_s = self._env.now
        self._assign(self.throttle)
