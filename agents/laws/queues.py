"""Laws that watch how long requests wait.

They were made for queues of milliseconds that are looked at all the time. Here the queue is that of the links or of a
server behind the knob, a look is one control interval, and targets are scaled to the patience of a handset (15 s).
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from signalstorm.agents.laws.base import Flags, Floats, Law
from signalstorm.agents.plant import Plant, View


@dataclass(frozen=True)
class QueueLaw(Law):
    """A law with a target for the delay."""

    target_s: float = 1.0
    """Delay aimed at [s]."""
    dead_band_share: float = 0.0
    step_share: float = 1.0

    def late(self, view: View) -> Flags:
        """Tell where requests wait longer than the target; where no queue is seen, where the network is congested."""
        return np.where(np.isnan(view.delay_s), self.congested(view), view.delay_s > self.target_s)


@dataclass(frozen=True)
class CoDel(QueueLaw):
    """With the delay above the target for an interval, turn away more with the root of the intervals since."""

    drop_share: float = 0.15
    """Turned away in the first interval of dropping; in the n-th it is the root of n times as much [share]."""
    growth_share: float = 0.15
    """Opening in an interval below the target [share]."""

    name: ClassVar[str] = "codel"
    source: ClassVar[str] = "controlled delay: RFC 8289; drops one per interval over the root of their number"
    memory: ClassVar[int] = 2

    def wanted(self, view: View, memory: Floats) -> Floats:
        """Return the rate; memory: intervals above the target in a row, and the rate when that began."""
        late = self.late(view)
        admitted = np.where(np.isinf(view.rate), view.admitted, view.rate)
        memory[1] = np.where(late & (memory[0] == 0.0), admitted, memory[1])
        memory[0] = np.where(late, memory[0] + 1.0, 0.0)
        dropping = memory[0] >= 1.0
        down = memory[1] * np.maximum(1.0 - self.drop_share * np.sqrt(memory[0]), 0.05)
        up = np.where(self.limits(view), view.rate * (1.0 + self.growth_share), np.nan)
        return np.where(dropping, down, up)


@dataclass(frozen=True)
class Dagor(QueueLaw):
    """Admit 5 % less than came in while the mean delay is above its mark, 1 % more while it is not."""

    alpha: float = 0.05
    """Lowering of what is admitted in an overloaded window [share]."""
    beta: float = 0.01
    """Raising in another one [share]."""

    name: ClassVar[str] = "dagor"
    source: ClassVar[str] = (
        "WeChat: Zhou et al., SoCC 2018; there is one class of requests here, so the level is a rate"
    )

    def wanted(self, view: View, memory: Floats) -> Floats:
        """Return the rate that the admission level stands for."""
        base = np.where(np.isinf(view.rate), view.admitted, view.rate)
        up = np.where(self.limits(view), base * (1.0 + self.beta), np.nan)
        return np.where(self.late(view), np.minimum(base, view.admitted) * (1.0 - self.alpha), up)


@dataclass(frozen=True)
class Breakwater(QueueLaw):
    """Credits: a few more while the delay is below the target, fewer in proportion to the excess above it."""

    more_share: float = 0.05
    """Credits added below the target [share]."""
    less: float = 0.1
    """Share of the credits taken back per target of excess delay, at most half at once [share]."""

    name: ClassVar[str] = "breakwater"
    source: ClassVar[str] = "Cho et al., OSDI 2020; the paper's 0.1 % and 2 % are per round trip, here per interval"

    def wanted(self, view: View, memory: Floats) -> Floats:
        """Return the rate that the credits of an interval allow."""
        base = np.where(np.isinf(view.rate), view.admitted, view.rate)
        late = self.late(view)
        excess = np.where(np.isnan(view.delay_s), 1.0, (view.delay_s - self.target_s) / self.target_s)
        down = base * np.maximum(1.0 - self.less * excess, 0.5)
        up = np.where(self.limits(view), base * (1.0 + self.more_share), np.nan)
        return np.where(late, down, up)


@dataclass(frozen=True)
class PidOnDelay(QueueLaw):
    """Proportional, integral and differential control of the delay's logarithm, as changes of the rate's logarithm."""

    proportional: float = 0.1
    """Change of log rate per change of log delay."""
    integral: float = 0.05
    """Change of log rate per interval and log of delay over target."""
    differential: float = 0.0
    """Change of log rate per change of the change."""

    name: ClassVar[str] = "pid"
    source: ClassVar[str] = "PID in its incremental form (Astrom and Hagglund 1995), on the queue's delay"
    memory: ClassVar[int] = 3

    def wanted(self, view: View, memory: Floats) -> Floats:
        """Return the rate; memory: the last two errors, and how many there are."""
        seen = np.where(np.isnan(view.delay_s), np.where(self.congested(view), 4.0, 0.25) * self.target_s, view.delay_s)
        error = np.log(np.maximum(seen, 0.01 * self.target_s) / self.target_s)
        last = np.where(memory[2] > 0.0, memory[0], error)
        before = np.where(memory[2] > 1.0, memory[1], last)
        memory[:] = np.array([error, last, memory[2] + 1.0])
        change = (
            self.proportional * (error - last) + self.integral * error + self.differential * (error - 2 * last + before)
        )
        rate = np.where(np.isinf(view.rate), view.admitted, view.rate) * np.exp(-np.clip(change, -1.0, 1.0))
        return np.where((change < 0.0) & ~self.limits(view), np.nan, rate)


@dataclass(frozen=True)
class AdaptiveLifo(QueueLaw):
    """Serve the newest request first while there is a backlog: no knob of this equipment does it."""

    name: ClassVar[str] = "adaptive-lifo"
    source: ClassVar[str] = "Maurer, Fail at Scale, ACM Queue 2015"

    def refuses(self, plant: Plant) -> str:
        """See `Law.refuses`."""
        return "the queues behind these knobs serve in order of arrival, and no command changes that"

    def wanted(self, view: View, memory: Floats) -> Floats:
        """Return nothing."""
        return np.full_like(view.rate, np.nan)
