"""Access barring: requests that are held back at the radio, and let go in stages."""

from functools import partial

import numpy as np
import simpy

from tests.reference.clock import after
from tests.reference.gate import Entrance
from tests.reference.handset import Handset
from tests.reference.observer import Observer


class Barring:
    """Holds a share of all requests back; whoever is held attaches, as attempt 1, when released."""

    def __init__(self, env: simpy.Environment, rng: np.random.Generator, observer: Observer, behind: Entrance) -> None:
        self._env, self._rng, self._observer, self._behind = env, rng, observer, behind
        self._share = 0.0
        self._held: list[Handset] = []

    def __len__(self) -> int:
        return len(self._held)

    def arrive(self, handset: Handset) -> None:
        if self._share > 0.0 and not handset.priority and self._rng.random() < self._share:
            self.hold(handset)
        else:
            self._behind.arrive(handset)

    def hold(self, handset: Handset) -> None:
        """Keep a handset out until it is released."""
        handset.hold()
        self._held.append(handset)
        self._observer.peak("held_peak", len(self._held))

    def bar(self, share: float) -> None:
        self._share = share

    def release(self, stages: int, stage_s: float, spread_s: float) -> None:
        """Each stage lets an equal part go, and bars less by as much."""
        for stage in range(stages):
            after(self._env, stage * stage_s, partial(self._let_go, stages - stage, spread_s))

    def _let_go(self, stages_left: int, spread_s: float) -> None:
        self._share *= 1.0 - 1.0 / stages_left
        chosen = set(self._rng.permutation(len(self._held))[: round(len(self._held) / stages_left)].tolist())
        for index in chosen:
            self._held[index].release(self._rng.uniform(0.0, spread_s))
        self._held = [handset for index, handset in enumerate(self._held) if index not in chosen]
