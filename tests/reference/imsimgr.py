"""The IMSI manager: the processor of an SGSN or MME that every request meets before the gate."""

import math
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import simpy

from tests.reference.gate import Entrance
from tests.reference.handset import Handset
from tests.reference.observer import Observer
from tests.reference.rate import Rate

REACTION_S = 0.25  # work that may wait, in time; the pages name no buffer, and an overload of seconds does not feel it


DROP_PERCENT = 70.0  # utilisation from which unknown subscribers are dropped in silence
BROADCAST_AFTER_S = 3600.0  # a node broadcasts nothing in its first hour


@dataclass(frozen=True)
class Broadcast:
    """What a request about an unknown subscriber costs, and when it goes to one session manager only."""

    session_managers: int = 100
    cost: float = 1.0
    off_percent: float | None = 50.0
    uptime_s: float = 1e6


class ImsiManager:
    """Work per request, refusal and drop against a capacity; a request that finds it fully busy is lost in silence.

    Args:
        capacity_per_s: Units of work [1/s]; a request costs 1.
        base_share: Part of it that is always taken.
        refusal_cost, drop_cost: Work of what the gate behind turns away.
    """

    def __init__(
        self,
        env: simpy.Environment,
        observer: Observer,
        capacity_per_s: float,
        base_share: float = 0.05,
        refusal_cost: float = 1.0,
        drop_cost: float = 0.2,
        smooth_s: float = 5.0,
        broadcast: "Broadcast | None" = None,
    ) -> None:
        self._env, self._observer = env, observer
        self._capacity_per_s, self._base_share, self._smooth_s = capacity_per_s, base_share, smooth_s
        self._broadcast = broadcast or Broadcast()
        self._level = 0.0
        self._free_per_s = capacity_per_s * (1.0 - base_share)
        self._refusal_cost, self._drop_cost = refusal_cost, drop_cost
        self.behind: Entrance | None = None
        self._work = 0.0
        self._since_s = 0.0

    def arrive(self, handset: Handset) -> None:
        """A request arrives."""
        assert self.behind is not None
        self._catch_up()
        if self._work + 1.0 > self._free_per_s * REACTION_S:
            self._observer.request()
            self._observer.lost += 1
            handset.unanswered()
            return
        self._work += 1.0
        self.behind.arrive(handset)

    def turned_away(self, refused: bool) -> None:
        """The gate behind has refused or dropped a request."""
        self._work += self._refusal_cost if refused else self._drop_cost

    @property
    def utilisation(self) -> float:
        """Share of the capacity that is used, smoothed."""
        self._catch_up()
        return self._base_share + self._level

    def unknown(self, rng: np.random.Generator, rate: Rate) -> Generator[simpy.Event, Any, None]:
        """The HLR's requests about subscribers that are not known, a Poisson process of a varying rate."""
        while True:
            yield self._env.timeout(rng.standard_exponential() / rate.ceiling)
            if rng.random() * rate.ceiling < rate.at(self._env.now):
                self._seek()

    def reboot(self) -> None:
        """The node has started again just now."""
        self._broadcast = replace(self._broadcast, uptime_s=-self._env.now)

    def _seek(self) -> None:
        """Ask all session managers for the subscriber, one of them, or none, by the utilisation."""
        rule, level = self._broadcast, 100.0 * self.utilisation
        if level >= DROP_PERCENT:
            self._observer.note("unknown_dropped")
            return
        young = rule.uptime_s + self._env.now < BROADCAST_AFTER_S
        alone = young or rule.off_percent is None or level >= rule.off_percent
        self._observer.note("sent_to_one" if alone else "broadcasts")
        self._work += rule.cost * (1 if alone else rule.session_managers)

    def _catch_up(self) -> None:
        """Work done since the last look, and the smoothed level that it makes."""
        passed_s = self._env.now - self._since_s
        if passed_s <= 0.0:
            return
        done = min(self._work, passed_s * self._free_per_s)
        kept = math.exp(-passed_s / self._smooth_s)
        self._level = self._level * kept + done / passed_s / self._capacity_per_s * (1.0 - kept)
        self._work -= done
        self._since_s = self._env.now
