"""The throttles that vendors ship, as laws of their own: bands of a processor's load, an additive share of drops."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from signalstorm.agents.laws.base import Floats, Law
from signalstorm.agents.plant import Plant, View

FROM_SHARE = (0.50, 0.55, 0.60, 0.65, 0.70)
"""Lower edges of the bands, inclusive [share of the CPU]."""
THROTTLE_SHARE = (0.20, 0.30, 0.40, 0.50, 0.60)
"""Throttle of each band, by which the static limit is lowered [share]."""


@dataclass(frozen=True)
class DraBands(Law):
    """Lower a static limit by the band of the CPU, at once both ways; below all bands, one step back per hold."""

    static_per_s: float = 1000.0
    """The limit without a throttle [1/s]."""
    hold_s: float = 30.0
    """Time below all bands before a step is taken back, and again after each such time [s]."""
    step: float = 0.20
    """That step, in points of the throttle [share]."""
    dead_band_share: float = 0.0
    step_share: float = 100.0

    name: ClassVar[str] = "dra-bands"
    source: ClassVar[str] = "CPS vDRA, dynamic limit by the session database's CPU; bands from 50 and from 70 % assumed"
    memory: ClassVar[int] = 2

    def refuses(self, plant: Plant) -> str:
        """See `Law.refuses`."""
        if plant.knob != "dra_ccr_i_limit_per_s":
            return f"the bands are of the session database's CPU, which says nothing about {plant.knob}"
        return ""

    def wanted(self, view: View, memory: Floats) -> Floats:
        """Return the limit; memory: the throttle, and the time below all bands [s]."""
        band = np.searchsorted(FROM_SHARE, view.utilisation, side="right")
        memory[1] = np.where(band > 0, 0.0, memory[1] + view.interval_s)
        steps = np.floor(memory[1] / self.hold_s)
        memory[1] -= steps * self.hold_s
        eased = np.maximum(memory[0] - steps * self.step, 0.0)
        memory[0] = np.where(band > 0, np.array([0.0, *THROTTLE_SHARE])[band], eased)
        return np.asarray(self.static_per_s * (1.0 - memory[0]))


@dataclass(frozen=True)
class DdnAdditive(Law):
    """Drop a share that grows by an increment while more than the limit is sent, and shrinks by it while less is."""

    limit_per_s: float = 600.0
    """Notifications sent beyond which the share grows [1/s]."""
    increment: float = 0.1
    """By how much, in an interval [share]."""
    factor: float = 0.1
    """Least share once throttling has begun [share]."""
    dead_band_share: float = 0.0
    step_share: float = 100.0

    name: ClassVar[str] = "ddn-additive"
    source: ClassVar[str] = (
        "StarOS downlink-data-notification throttle (CLI-R18 p8722), with the interval as its window"
    )
    memory: ClassVar[int] = 1

    def refuses(self, plant: Plant) -> str:
        """See `Law.refuses`."""
        return "" if plant.knob == "ddn_factor_percent" else f"it drops notifications, and {plant.knob} passes none"

    def wanted(self, view: View, memory: Floats) -> Floats:
        """Return what is left of the notifications; memory: the share dropped."""
        over = view.admitted > self.limit_per_s
        change = np.where(over, self.increment, -self.increment)
        begun = np.clip(memory[0] + change, self.factor, 1.0)
        memory[0] = np.where(memory[0] > 0.0, begun, np.where(over, self.factor, 0.0))
        return np.asarray(view.offered * (1.0 - memory[0]))
