"""A search of very many settings, by racing: few storms for what is bad, many for what may be best.

It is no product search: it looks for the best value of one figure at any price, to tell how far the product's searches
are from it.
"""

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from optuna._transform import _SearchSpaceTransform as SearchSpaceTransform

from signalstorm.envs.model.knobs import Setting
from signalstorm.experiments.engines import Engine
from signalstorm.experiments.evaluate import StormSet
from signalstorm.experiments.sampling import draws
from signalstorm.experiments.search_space import SearchSpace
from signalstorm.experiments.study_file import Sampler

Floats = npt.NDArray[np.float64]
Score = Callable[[Floats, Floats], Floats]
"""Scores settings, the smaller the better, shape (settings,); told T, NaN where not reached, and the subscriber-hours
lost on the first storms, both of shape (settings, storms)."""

_BATCH = 256
_PARENTS = 64
"""So many of the best settings are varied."""
_MOVES = (0.02, 0.1)
"""Deviations of the variation, as shares of a knob's range."""


@dataclass
class Tried:
    """A setting that was tried."""

    point: Mapping[str, Any]
    setting: Setting
    times_s: Floats = field(default_factory=lambda: np.empty(0))
    lost_h: Floats = field(default_factory=lambda: np.empty(0))
    score: float = np.inf
    rung: int = -1


@dataclass(frozen=True)
class LongSearch:
    """What is searched, on what, and how storms are spent."""

    space: SearchSpace
    storms: StormSet
    """Storms in the order in which settings meet them."""
    rungs: Sequence[int]
    """Storms met when settings are compared; the last is all of them."""
    score: Score
    settings: int
    """Settings to try."""
    keep: float = 0.2
    """At every rung a setting goes on if it is among this part of all that have been there, and of its batch."""
    drawn: float = 0.4
    """The part of the settings that chance draws from the whole space; the rest varies the best."""
    seed: int = 1000
    seconds: float | None = None
    """Time after which it ends with fewer settings; None: no limit [s]."""

    def run(self, engine: Engine) -> list[Tried]:
        """Return all settings tried, the best first: those that came furthest, by their score."""
        tried: list[Tried] = []
        known: set[Setting] = set()
        at_rung: list[list[float]] = [[] for _ in self.rungs]
        began = time.monotonic()
        for batch, points in enumerate(self._points(tried)):
            fresh: list[Tried] = []
            for point in points:
                setting = self.space.setting(point)
                identity = self.space.identity(setting)
                if identity not in known and len(tried) + len(fresh) < self.settings:
                    known.add(identity)
                    fresh.append(Tried(point, setting))
            self._race(fresh, at_rung, engine)
            tried += fresh
            if batch % 4 == 0:
                best = min(tried, key=_place)
                print(
                    f"{self.space.scenario.name} {len(tried)} settings, {time.monotonic() - began:.0f} s, best so far "
                    f"{best.score:.4f} {dict(best.setting)}",
                    file=sys.stderr,
                    flush=True,
                )
            if len(tried) >= self.settings or (self.seconds and time.monotonic() - began > self.seconds):
                break
        return sorted(tried, key=_place)

    def _points(self, tried: Sequence[Tried]) -> Iterator[list[Mapping[str, Any]]]:
        space = self.space
        first = [{}, *space.start_points] if space.present_point is None else [space.present_point, *space.start_points]
        yield [point for point in first if point]
        batch = 0
        while True:
            batch += 1
            if len(tried) < self.drawn * self.settings:
                source = draws(Sampler(kind="random"), space.distributions, [], 1, self.seed + batch, 0)
                yield [next(source).params for _ in range(_BATCH)]
            else:
                yield list(self._near_best(tried, batch))

    def _near_best(self, tried: Sequence[Tried], batch: int) -> Iterator[dict[str, Any]]:
        """Yield points near the best ones: half of the knobs moved, by a tenth or a fiftieth of their range."""
        inside = [each for each in tried if set(each.point) == set(self.space.knobs)]
        best = sorted(inside, key=_place)[:_PARENTS]
        random, transform = np.random.default_rng([self.seed, batch]), SearchSpaceTransform(self.space.distributions)
        low, high = transform.bounds.T
        for _ in range(_BATCH):
            parent = best[int(random.integers(len(best)))]
            moved = random.normal(0.0, random.choice(_MOVES), low.size) * (random.random(low.size) < 0.5)
            there = np.clip(transform.transform(dict(parent.point)) + moved * (high - low), low, high)
            yield transform.untransform(there)

    def _race(self, fresh: Sequence[Tried], at_rung: Sequence[list[float]], engine: Engine) -> None:
        alive, met = list(fresh), 0
        for rung, until in enumerate(self.rungs):
            if not alive:
                return
            some = StormSet(self.storms.scenario, self.storms.numbers[met:until], vary=True)
            outcomes = engine.evaluate([each.setting for each in alive], some).outcomes
            for i, each in enumerate(alive):
                each.times_s = np.append(each.times_s, outcomes.convergence_time_s[i])
                each.lost_h = np.append(each.lost_h, outcomes.subscriber_hours_lost[i])
            scores = self.score(np.array([e.times_s for e in alive]), np.array([e.lost_h for e in alive]))
            for each, score in zip(alive, scores, strict=True):
                each.score, each.rung = float(score), rung
            at_rung[rung].extend(scores.tolist())
            # Of variations of the best nearly all are among the best of all, so a batch sends its own best on.
            limit = min(float(np.quantile(at_rung[rung], self.keep)), float(np.quantile(scores, self.keep)))
            alive, met = [each for each in alive if each.score <= limit], until


def _place(tried: Tried) -> tuple[int, float]:
    return -tried.rung, tried.score
