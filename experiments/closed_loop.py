"""A controller in the loop: the simulator's counters, interval by interval, and what it sets next."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from signalstorm.agents.base import (
    ACCEPTS,
    ADMITTED,
    CONGESTED,
    FAILURES,
    REQUESTS,
    Controller,
    Counters,
    Decision,
    held,
)
from signalstorm.envs.model.batch import Batch
from signalstorm.envs.model.kernels import layout
from signalstorm.envs.model.knob_table import KnobValue
from signalstorm.envs.model.knobs import Setting, resolve
from signalstorm.envs.model.parameters import setting_matrix
from signalstorm.envs.model.scenario import Scenario

Floats = npt.NDArray[np.float64]

_ROWS = {
    REQUESTS: (layout.K_ATTEMPTS,),
    ADMITTED: (layout.K_ADMITTED,),
    ACCEPTS: (layout.K_SUCCESSES,),
    FAILURES: (layout.K_REFUSED_NETWORK, layout.K_LATE),
}
"""The model's counters behind each of the operator's."""


@dataclass
class Loop:
    """A storm under a hand that changes the setting between intervals."""

    scenario: Scenario
    """The scenario."""
    storm: int = 0
    """The storm's number."""
    setting: Setting = field(init=False)
    """The complete setting in force."""
    history: list[Counters] = field(default_factory=list, init=False)
    """Counters of all intervals so far."""

    def __post_init__(self) -> None:
        self.setting = resolve({}, self.scenario)
        self._override: dict[str, KnobValue] = {}
        self._batch = Batch([self.scenario], [self.storm], setting_matrix([{}], self.scenario), threads=1)
        self._before = self._batch.counters()[:, 0]

    @property
    def ended(self) -> bool:
        """Whether the horizon is reached, or nothing can happen any more."""
        return self._batch.step >= self._batch.end or bool(self._batch.over.all())

    @property
    def convergence_time_s(self) -> float:
        """T, NaN while it is not reached [s]."""
        at = float(self._batch.counters()[layout.K_T, 0])
        return at * self._batch.dt - self.scenario.convergence.count_from_s if at >= 0 else float("nan")

    def advance(self) -> Counters:
        """Run one control interval and return what its counters say."""
        first = self._batch.step
        self._batch.run(max(round(self.scenario.control_interval_s / self._batch.dt), 1))
        interval_s = (self._batch.step - first) * self._batch.dt
        now = self._batch.counters()[:, 0]
        gained = (now - self._before) / interval_s
        self._before = now
        values = {name: float(gained[list(rows)].sum()) for name, rows in _ROWS.items()}
        links = self._batch.links()
        values[CONGESTED] = float(links[:, layout.L_CONGESTED, 0].sum()) if len(links) else 0.0
        seen = Counters(self._batch.step * self._batch.dt, interval_s, values)
        self.history.append(seen)
        return seen

    def apply(self, knobs: Mapping[str, KnobValue]) -> None:
        """Change knobs from the next interval on.

        Raises:
            InputError: If the setting that results is not legal.
        """
        if not knobs:
            return
        self._override |= knobs
        if {"nop_rate", "nop_wait_s"} & knobs.keys() and "nop_queue" not in knobs:
            self._override.pop("nop_queue", None)
        self.setting = resolve(self._override, self.scenario)
        self._batch.set_settings(setting_matrix([self._override], self.scenario))


def latest(history: Sequence[Counters]) -> tuple[Counters | None, tuple[str, ...]]:
    """Return the latest counters, missing ones held from before, and what must be said of them."""
    before: Counters | None = None
    said: tuple[str, ...] = ()
    for seen in history:
        before, said = held(before, seen)
    return before, said


def run(
    scenario: Scenario, rule: Controller, storm: int = 0, *, delay: int = 0, missing: str | None = None
) -> Iterator[tuple[Loop, Decision]]:
    """Yield the storm and the decision after each interval, which is then in force.

    Args:
        scenario: The scenario.
        rule: The controller.
        storm: The storm's number.
        delay: Intervals by which counters arrive late.
        missing: A counter that fails in every second interval.
    """
    loop = Loop(scenario, storm)
    while not loop.ended:
        seen = loop.advance()
        if missing is not None and len(loop.history) % 2 == 0:
            values = {name: value for name, value in seen.values.items() if name != missing}
            loop.history[-1] = Counters(seen.end_s, seen.interval_s, values)
        known, said = latest(loop.history[: len(loop.history) - delay])
        if known is None:
            decision = Decision({}, "no counters have arrived yet")
        else:
            made = rule.decide(known, loop.setting)
            decision = Decision(made.knobs, made.reason, (*said, *made.said))
        loop.apply(decision.knobs)
        yield loop, decision
