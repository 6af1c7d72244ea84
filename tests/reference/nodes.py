"""Nodes that are lost with their capacity and their sessions, and that come back."""

from collections.abc import Mapping

import numpy as np

from tests.reference.barring import Barring
from tests.reference.handset import State
from tests.reference.population import Population
from tests.reference.server import Server


class Nodes:
    """A server is split into equal nodes, each with an equal share of the subscribers.

    Args:
        domains: Nodes that a server has.
        recovery_share: Share of a lost node's sessions that another one recovers.
    """

    def __init__(
        self,
        rng: np.random.Generator,
        servers: Mapping[str, Server],
        population: Population,
        barring: Barring,
        domains: int = 1,
        recovery_share: float = 0.0,
    ) -> None:
        self._rng, self._servers, self._population, self._barring = rng, servers, population, barring
        self._domains, self._recovery_share = domains, recovery_share
        self._left: dict[str, int] = {}

    def lose(self, target: str, nodes: int, spread_s: float, load_removed: bool) -> None:
        left = self._left.get(target, self._domains)
        lost = min(nodes, left - 1)
        self._resize(target, left - lost)
        registered = [each for each in self._population.everyone() if each.state is State.REGISTERED]
        number = round(len(registered) * lost / left * (1.0 - self._recovery_share))
        for chosen in self._rng.permutation(len(registered))[:number]:
            handset = registered[chosen]
            if load_removed:
                handset.lose_service(None)
                self._barring.hold(handset)
            else:
                handset.lose_service(self._rng.uniform(0.0, spread_s))

    def restart(self, target: str, nodes: int, spread_s: float) -> None:
        """Capacity comes back, and whoever is held out attaches."""
        self._resize(target, min(self._left.get(target, self._domains) + nodes, self._domains))
        self._barring.release(1, 0.0, spread_s)

    def _resize(self, target: str, left: int) -> None:
        rate = self._servers[target].rate
        if rate is None:
            raise ValueError(f"only a server with a rate has nodes to lose, but got {target}")
        self._left[target] = left
        rate.share = left / self._domains
