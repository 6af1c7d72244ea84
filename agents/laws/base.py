"""What a control law is: from what is seen around a knob, the rate that should go through it next."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from signalstorm.agents.plant import Plant, View

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

LIMITING = 0.9
"""A knob limits where it lets through at least this share of its rate."""


@dataclass(frozen=True)
class Law(ABC):
    """A law with its parameters; what it remembers of a storm lies in an array of the caller's."""

    healthy_share: float = 0.02
    """Up to this share of failures the network could take more [share]."""
    dead_band_share: float = 0.05
    """Smaller changes are not worth a command [share]."""
    step_share: float = 0.3
    """Largest change in one interval, up or down, as a share of the smaller of the two rates [share]."""
    cool_down: float = 0.0
    """Intervals after a change in which the rate is not raised again; it may fall at any time [intervals]."""
    most_per_hour: int = 0
    """Changes at most in any 60 minutes, up or down; 0: no limit."""

    name: ClassVar[str]
    """The name by which commands call it."""
    source: ClassVar[str]
    """Where it comes from."""
    memory: ClassVar[int] = 0
    """Numbers that it keeps per storm; all 0 at the start."""

    def refuses(self, plant: Plant) -> str:
        """Return why the law does not apply to a plant; empty where it does."""
        return "" if plant.is_rate else f"{self.name} sets a rate of requests, and {plant.knob} lets none through"

    @abstractmethod
    def wanted(self, view: View, memory: Floats) -> Floats:
        """Return the rate wanted next, NaN to leave the knob alone, shape (rows,) [1/s].

        Args:
            view: What was seen of the latest interval.
            memory: What the law has kept, shape (`memory`, rows); it may write there.
        """

    def congested(self, view: View) -> Flags:
        """Tell where the network behind the knob is overloaded: an alarm is up, or too many attempts fail."""
        return np.asarray((view.alarms > 0) | (view.failed_share > self.healthy_share))

    def limits(self, view: View) -> Flags:
        """Tell where the knob is what limits."""
        return np.asarray(view.admitted >= LIMITING * view.rate)


def moved(law: Law, rate: Floats, wanted: Floats) -> Floats:
    """Return the rate after dead band and step limit; where nothing is wanted, the rate as it is.

    A knob that is off has no rate to take steps from: it goes where the law wants.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        low, high = rate / (1.0 + law.step_share), rate * (1.0 + law.step_share)
        step = np.where(np.isinf(rate), wanted, np.clip(wanted, low, high))
        still = np.isnan(wanted) | (np.abs(wanted / rate - 1.0) <= law.dead_band_share)
    return np.where(still, rate, step)
