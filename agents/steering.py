"""Steering many storms at once: what a hand on the knobs is, and the hand that follows a control law."""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from signalstorm.agents.laws.base import Law, moved
from signalstorm.agents.origin import Origin
from signalstorm.agents.plant import plant_of
from signalstorm.envs.model.batch import Batch
from signalstorm.envs.model.knob_table import KnobValue
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.observation import Reading

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

_HOUR_S = 3600.0


class Hand(Protocol):
    """A hand on the knobs of the storms of one batch; it may remember what it saw."""

    def act(self, seen: Reading, now: Mapping[str, Floats]) -> Mapping[str, Floats]:
        """Return the values that knobs should have next; what is absent stays as it is.

        Args:
            seen: An interval, the latest whose counters have arrived.
            now: The fast knobs' values in force, infinite where one is off, each of shape (rows,).
        """
        ...


class Steering(Protocol):
    """Something that can be run over storms: a static setting, a law, a policy."""

    @property
    def name(self) -> str:
        """What tables call it."""
        ...

    def start(self, scenario: Scenario) -> Mapping[str, KnobValue]:
        """Return the knob values, over the scenario's present ones, with which every storm begins."""
        ...

    def hand(self, scenario: Scenario, batch: Batch, storms: Sequence[Scenario]) -> Hand | None:
        """Return a fresh hand for a batch; None if nothing is to be changed.

        Args:
            scenario: The nominal scenario.
            batch: The batch; only yardsticks that know more than an operator may look into it.
            storms: The scenario of each row; the same goes for them.
        """
        ...


@dataclass(frozen=True)
class Static:
    """A setting that nobody changes."""

    name: str
    setting: Mapping[str, KnobValue] = field(default_factory=dict)
    """Knob values over the scenario's present ones."""

    def start(self, scenario: Scenario) -> Mapping[str, KnobValue]:
        """Return the setting."""
        return self.setting

    def hand(self, scenario: Scenario, batch: Batch, storms: Sequence[Scenario]) -> Hand | None:
        """Return None."""
        return None


@dataclass(frozen=True)
class Lawful:
    """A control law on the scenario's first fast knob, which starts from the best static setting."""

    law: Law
    title: str = ""
    """What tables call it, if not by the law's name."""
    origin: Origin | None = field(default=None, repr=False, compare=False)
    """What it was distilled from, where it was."""

    @property
    def name(self) -> str:
        """Its title, or the law's name."""
        return self.title or self.law.name

    def start(self, scenario: Scenario) -> Mapping[str, KnobValue]:
        """Return the loop's start."""
        return start_of(scenario)

    def hand(self, scenario: Scenario, batch: Batch, storms: Sequence[Scenario]) -> Hand | None:
        """Return a hand without memories."""
        return LawHand(self.law, scenario, batch.size)


class LawHand:
    """A law at work."""

    def __init__(self, law: Law, scenario: Scenario, rows: int) -> None:
        """Start with an empty memory for so many storms, and no change to cool down from."""
        self._law = law
        self._plant = plant_of(scenario)
        self._memory = np.zeros((max(law.memory, 1), rows))
        self._since = np.full(rows, np.inf)
        self._recent: deque[Flags] = deque()

    def act(self, seen: Reading, now: Mapping[str, Floats]) -> Mapping[str, Floats]:
        """See `Hand.act`."""
        value = now[self._plant.knob]
        view = self._plant.view(seen.values, value, seen.interval_s)
        rate = moved(self._law, view.rate, self._law.wanted(view, self._memory))
        rises = rate > view.rate
        rate = np.where((rises & (self._since < self._law.cool_down)) | self._spent(), view.rate, rate)
        self._since = np.where(rate == view.rate, self._since + 1.0, 0.0)
        self._remember(rate != view.rate, seen.interval_s)
        return {self._plant.knob: np.where(rate == view.rate, value, self._plant.value(rate, view))}

    def _spent(self) -> Flags:
        """Tell where no change is left of those that the law has for any hour, shape (rows,)."""
        made = sum(self._recent, np.zeros(self._since.shape))
        return np.asarray((made >= self._law.most_per_hour) & (self._law.most_per_hour > 0))

    def _remember(self, changed: Flags, interval_s: float) -> None:
        """Keep the changes of the intervals that lie in one hour with the next."""
        if not self._law.most_per_hour:
            return
        self._recent.append(changed)
        while len(self._recent) >= _HOUR_S / interval_s:
            self._recent.popleft()


def start_of(scenario: Scenario) -> Mapping[str, KnobValue]:
    """Return the setting from which loops start: that of the scenario's loop, or the present one."""
    return scenario.loop.start if scenario.loop else {}


def fast_knobs(scenario: Scenario) -> tuple[str, ...]:
    """Return the knobs that loops move: those of the scenario's loop, or the gate's rate."""
    return scenario.loop.fast if scenario.loop else ("nop_rate",)
