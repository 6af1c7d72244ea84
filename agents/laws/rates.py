"""Laws that follow counted rates and failures."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from signalstorm.agents.laws.base import Floats, Law
from signalstorm.agents.plant import View


@dataclass(frozen=True)
class ConstantGain(Law):
    """Let through a little more than what was completed in the interval before, whatever happens."""

    gain: float = 1.1
    """Rate over completed attaches."""
    floor_per_s: float = 50.0
    """Least rate, so that a network that completes nothing is still asked [1/s]."""

    name: ClassVar[str] = "constant-gain"
    source: ClassVar[str] = "proportional to the goodput; a trial with a model of the SGSN storm"

    def wanted(self, view: View, memory: Floats) -> Floats:
        """Return gain times completed attaches; where the knob is not what limits, leave it."""
        rate = np.maximum(self.gain * view.completed, self.floor_per_s)
        calm = ~self.congested(view) & ~self.limits(view)
        return np.where(calm & (rate < view.rate), np.nan, rate)


@dataclass(frozen=True)
class RateMatching(Law):
    """Let through what the network completes: the rate of completed attaches, plus a margin, while it is congested.

    Where it is not and the knob is what limits, open by a fixed share, so that capacity that comes back is found.
    """

    margin_share: float = 0.1
    """Rate above that of completed attaches while congested [share]."""
    growth_share: float = 0.3
    """Opening in one interval while not congested [share]."""
    floor_per_s: float = 50.0
    """Least rate [1/s]."""

    name: ClassVar[str] = "rate-matching"
    source: ClassVar[str] = "follows the goodput, as TopFull (SIGCOMM 2024) does with a learnt step"

    def wanted(self, view: View, memory: Floats) -> Floats:
        """Return completed attaches and a margin, or the rate grown."""
        down = np.maximum(view.completed * (1.0 + self.margin_share), self.floor_per_s)
        up = np.where(self.limits(view), view.rate * (1.0 + self.growth_share), np.nan)
        return np.where(self.congested(view), down, up)


@dataclass(frozen=True)
class Aimd(Law):
    """Add a constant while all is well, multiply by a factor below 1 while it is not."""

    increase_per_s: float = 20.0
    """Added in an interval without congestion [1/s]."""
    decrease: float = 0.8
    """Factor in an interval with it."""
    dead_band_share: float = 0.0
    step_share: float = 1.0

    name: ClassVar[str] = "aimd"
    source: ClassVar[str] = "Chiu and Jain 1989, additive increase and multiplicative decrease"

    def wanted(self, view: View, memory: Floats) -> Floats:
        """Return the rate, larger by the constant or smaller by the factor."""
        up = np.where(self.limits(view), view.rate + self.increase_per_s, np.nan)
        base = np.where(np.isinf(view.rate), view.admitted, view.rate)
        return np.where(self.congested(view), base * self.decrease, up)


@dataclass(frozen=True)
class StagedRelease(Law):
    """Close to a first stage when congestion shows, and open stage by stage after so many calm intervals each."""

    first_per_s: float = 150.0
    """Rate of the first stage [1/s]."""
    stage_per_s: float = 100.0
    """What each further stage adds [1/s]."""
    hold: float = 3.0
    """Calm intervals before the next stage [intervals]."""
    dead_band_share: float = 0.0
    step_share: float = 100.0

    name: ClassVar[str] = "staged-release"
    source: ClassVar[str] = "how operators let registrations in again after an outage (NTT Docomo, 25 January 2012)"
    memory: ClassVar[int] = 1

    def wanted(self, view: View, memory: Floats) -> Floats:
        """Return the stage; memory: calm intervals in this stage."""
        congested = self.congested(view)
        memory[0] = np.where(congested, 0.0, memory[0] + 1.0)
        due = (memory[0] >= self.hold) & self.limits(view)
        memory[0] = np.where(due, 0.0, memory[0])
        first = np.minimum(view.rate, self.first_per_s)
        return np.where(congested, first, np.where(due, view.rate + self.stage_per_s, np.nan))


@dataclass(frozen=True)
class DoicLoss(Law):
    """Turn away a share of what is offered, which rises by steps under overload and falls by smaller ones."""

    rise: float = 0.1
    """Reduction added in an overloaded interval [share]."""
    fall: float = 0.02
    """Reduction taken back in another one, so that it is left gradually [share]."""
    most: float = 0.95
    """Largest reduction [share]."""
    step_share: float = 100.0

    name: ClassVar[str] = "doic-loss"
    source: ClassVar[str] = "Diameter overload indication conveyance, loss algorithm: RFC 7683 5.2 and 6"
    memory: ClassVar[int] = 1

    def wanted(self, view: View, memory: Floats) -> Floats:
        """Return what is left of the offered rate; memory: the reduction."""
        change = np.where(self.congested(view), self.rise, -self.fall)
        memory[0] = np.clip(memory[0] + change, 0.0, self.most)
        rate = view.offered * (1.0 - memory[0])
        return np.where((memory[0] == 0.0) & ~self.limits(view), np.nan, np.maximum(rate, 1.0))


@dataclass(frozen=True)
class DoicRate(Law):
    """Report a largest rate: under overload what was served, less a margin; else raised step by step."""

    reduction: float = 0.05
    """Below what was served [share]."""
    probe_per_s: float = 30.0
    """Added in an interval without overload [1/s]."""
    step_share: float = 1.0

    name: ClassVar[str] = "doic-rate"
    source: ClassVar[str] = "Diameter overload rate control: RFC 8582; how the reporter finds the rate is left to it"

    def wanted(self, view: View, memory: Floats) -> Floats:
        """Return the largest rate reported."""
        up = np.where(self.limits(view), view.rate + self.probe_per_s, np.nan)
        down = np.maximum(view.completed * (1.0 - self.reduction), 1.0)
        return np.where(self.congested(view), down, up)


@dataclass(frozen=True)
class SipRate(Law):
    """Scale the rate by the target of the occupancy over the occupancy, the client keeping it with a leaky bucket."""

    target: float = 0.85
    """Occupancy aimed at [share]."""
    largest: float = 1.5
    """Largest factor in an interval."""
    step_share: float = 1.0

    name: ClassVar[str] = "sip-rate"
    source: ClassVar[str] = (
        "SIP rate-based overload control: RFC 7415; the server's occupancy algorithm: RFC 6357 section 5.1"
    )

    def wanted(self, view: View, memory: Floats) -> Floats:
        """Return the rate times target over occupancy; a failing network counts as fully occupied."""
        busy = np.where(self.congested(view), np.fmax(view.utilisation, 1.0), view.utilisation)
        factor = np.clip(self.target / np.maximum(busy, 1e-3), 1.0 / self.largest, self.largest)
        rate = np.where(np.isinf(view.rate), view.admitted, view.rate) * factor
        return np.where((factor > 1.0) & ~self.limits(view), np.nan, rate)
