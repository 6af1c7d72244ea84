"""The IMSI manager: the processor of an SGSN or MME that every request meets before the gate."""

import simpy

from tests.reference.gate import Entrance
from tests.reference.handset import Handset
from tests.reference.observer import Observer

REACTION_S = 0.25  # work that may wait, in time; the pages name no buffer, and an overload of seconds does not feel it


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
    ) -> None:
        self._env, self._observer = env, observer
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

    def _catch_up(self) -> None:
        self._work = max(0.0, self._work - (self._env.now - self._since_s) * self._free_per_s)
        self._since_s = self._env.now
