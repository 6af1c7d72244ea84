"""The fit of a calibration: a search of the whole space, steps of least squares, intervals by local regression.

All points of a step run as one batch, against the same storms. What is fitted is the mean over storms; what was
observed is one storm, so the spread of storms is part of the error of every entry, correlated as the storms are.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import optuna
from optuna.distributions import BaseDistribution, FloatDistribution
from optuna.samplers import TPESampler

from signalstorm.envs.model.scenario import Scenario
from signalstorm.experiments.calibrate_data import MOST_ERRORS, Observed, model_vectors
from signalstorm.experiments.calibrate_space import Space
from signalstorm.experiments.evaluate import ROWS_PER_CALL
from signalstorm.experiments.storage import quiet_optuna

Floats = npt.NDArray[np.float64]
Progress = Callable[[str, int, int], None]
"""Told the stage, how much of it is done, and of how much."""

_PRIOR = 12.0
"""Precision of a parameter of which nothing is known but its bounds: one over the variance of a uniform draw."""
_STEP = 0.05
"""Step of the differences, as a part of the bounds' distance."""
_DAMPINGS = (0.0, 0.1, 1.0, 10.0, 100.0)
_SHORTENINGS = (1.0, 0.5)
_ENOUGH = 0.01
"""A step that gains a smaller share of the misfit is the last."""
_FIRST_SPREAD = 2.0
"""Before the storms' spread is known it is taken as so many errors."""
_LAST_STAGES = 3
"""The spread at the fit, its slopes, and the draws around it."""
_APART = 0.1
"""Starts of least squares differ by so much in at least one parameter."""


@dataclass(frozen=True)
class Budget:
    """How many points and storms a calibration spends."""

    points: int = 480
    """Points of the search of the whole space."""
    per_round: int = 24
    """Points that run as one batch."""
    search_storms: int = 8
    """Storms of such a point."""
    starts: int = 4
    """Points from which steps of least squares begin."""
    step_storms: int = 16
    """Storms of a point of the steps."""
    steps: int = 6
    """Steps of least squares at most, from each start."""
    final_storms: int = 96
    """Storms by which the spread at the fit is found."""
    draws: int = 512
    """Points around the fit, each with a storm of its own, by which the intervals are found."""


@dataclass(frozen=True)
class Fit:
    """What the fit came to; parameters are places between 0 and 1."""

    point: Floats
    """The fit, shape (parameters,)."""
    low: Floats
    """Lower ends of the 90 % intervals."""
    high: Floats
    """Upper ends."""
    mean: Floats
    """The model's mean over storms at the fit, as compared, shape (entries,)."""
    spread: Floats
    """Its standard deviation over storms."""
    weights: Floats
    """One over the squared error of each entry."""
    jacobian: Floats
    """Change of the mean by the parameters, shape (entries, parameters)."""
    cost: float
    """Mean squared residual, in errors."""
    start_cost: float
    """The same at the scenario's own values."""
    runs: int
    """Storms that were run."""


class Problem:
    """Cases to be fitted at once, and the runs that this takes."""

    def __init__(self, cases: Sequence[Observed], space: Space, threads: int | None, first_storm: int = 0) -> None:
        self.cases, self.space, self.threads = list(cases), space, threads
        self._steps_s = [_finest_step_s(case.scenario, space) for case in cases]
        self.first_storm = first_storm
        self.target = np.concatenate([case.target for case in cases])
        self.errors = np.concatenate([case.errors for case in cases])
        self.runs = 0

    def run(self, points: Floats, storms: Sequence[int], *, paired: bool = False) -> Floats:
        """Return compared vectors, shape (points, storms, entries); ``paired``: point i meets storm i only."""
        each = 1 if paired else len(storms)
        per_call = max(ROWS_PER_CALL // each, 1)
        parts = []
        for first in range(0, len(points), per_call):
            some = points[first : first + per_call]
            numbers = list(storms[first : first + per_call]) if paired else list(storms) * len(some)
            vectors = []
            for case, step_s in zip(self.cases, self._steps_s, strict=True):
                base = case.scenario.with_fields({"step_s": step_s})
                scenarios = [self.space.applied(base, point) for point in some]
                rows = [scenario for scenario in scenarios for _ in range(each)]
                plain = model_vectors(case, rows, numbers, self.threads)
                vectors.append(case.compared(plain).reshape(len(some), each, len(case)))
            self.runs += len(some) * each * len(self.cases)
            parts.append(np.concatenate(vectors, axis=2))
        return np.concatenate(parts)

    def storms(self, count: int, offset: int = 0) -> list[int]:
        """Return numbers of storms."""
        return list(range(self.first_storm + offset, self.first_storm + offset + count))

    def misfits(self, runs: Floats, variance: Floats) -> Floats:
        """Return by how much points miss what was observed: mean squared residual in errors, shape (points,).

        Args:
            runs: Compared vectors, shape (points, storms, entries).
            variance: Of each entry, shape (entries,); the same for all points, or the vaguest would win.
        """
        residual = (runs.mean(axis=1) - self.target) / np.sqrt(variance)
        return np.asarray((np.clip(residual, -MOST_ERRORS, MOST_ERRORS) ** 2).mean(axis=-1))

    def first_variance(self) -> Floats:
        """Return the variance of each entry before anything is known of the storms' spread."""
        chance = np.where(self.errors > 0, _FIRST_SPREAD * self.errors, 0.0)
        return np.asarray(self.errors**2 + chance**2)

    def variance(self, runs: Floats) -> Floats:
        """Return the variance of what was observed about the mean over storms; shape (points, entries)."""
        storms = runs.shape[1]
        return np.asarray(self.errors**2 + runs.var(axis=1, ddof=1) * (1.0 + 1.0 / storms))


def _finest_step_s(scenario: Scenario, space: Space) -> float:
    """Return a step fine enough for every point: all rows of a batch have one [s]."""
    corners = [space.start]
    for i in range(len(space.parameters)):
        for end in (0.0, 1.0):
            corner = space.start.copy()
            corner[i] = end
            corners.append(corner)
    return min(space.applied(scenario, corner).dt for corner in corners)


def fit(problem: Problem, budget: Budget, seed: int = 0, progress: Progress | None = None) -> Fit:
    """Fit the parameters.

    Args:
        problem: What is fitted.
        budget: What may be spent.
        seed: Seed of the search.
        progress: Told after each batch.
    """
    tell = progress or (lambda stage, done, total: None)
    storms = problem.storms(budget.step_storms)
    variance = problem.first_variance()
    points = _searched(problem, budget, variance, seed, tell)
    ends = []
    rounds = (len(points) + 1) * budget.steps
    for number, point in enumerate(points):
        done = _Told(tell, number * budget.steps, rounds)
        ends.append(_descended(problem, point, variance, storms, budget.steps, done))
    best = min(ends, key=lambda end: end[1])[0]
    variance = problem.variance(problem.run(best[None], storms))[0]  # from here on, that of the storms at the fit
    done = _Told(tell, len(points) * budget.steps, rounds)
    best, _ = _descended(problem, best, variance, storms, budget.steps, done)
    return _finished(problem, budget, best, seed, tell)


class _Told(NamedTuple):
    """Who is told of steps of least squares, from which number on, of how many."""

    tell: Progress
    first: int
    total: int


def _descended(
    problem: Problem, point: Floats, variance: Floats, storms: Sequence[int], steps: int, told: _Told
) -> tuple[Floats, float]:
    """Take steps of least squares for as long as they gain; return the point and its misfit."""
    misfit = np.inf
    for number in range(steps):
        told.tell("least squares", told.first + number, told.total)
        point, misfit, gain = _stepped(problem, point, variance, storms)
        if gain < _ENOUGH * misfit:
            break
    return point, misfit


def _searched(problem: Problem, budget: Budget, variance: Floats, seed: int, tell: Progress) -> list[Floats]:
    """Search the whole space with Optuna's TPE, a batch at a time; return the best points that lie apart."""
    names = [p.path for p in problem.space.parameters]
    space: dict[str, BaseDistribution] = {name: FloatDistribution(0.0, 1.0) for name in names}
    storms = problem.storms(budget.search_storms)
    with quiet_optuna():
        sampler = TPESampler(seed=seed, n_startup_trials=3 * budget.per_round, multivariate=True, constant_liar=True)
        study = optuna.create_study(sampler=sampler)
        study.enqueue_trial(dict(zip(names, problem.space.start.tolist(), strict=True)))
        done = 0
        while done < budget.points:
            trials = [study.ask(space) for _ in range(min(budget.per_round, budget.points - done))]
            points = np.array([[trial.params[name] for name in names] for trial in trials])
            for trial, misfit in zip(trials, problem.misfits(problem.run(points, storms), variance), strict=True):
                study.tell(trial, float(misfit))
            done += len(trials)
            tell("search", done, budget.points)
        ranked = sorted(study.trials, key=lambda done: done.value if done.value is not None else np.inf)
    found: list[Floats] = []
    for one in ranked:
        point = np.array([one.params[name] for name in names])
        if all(np.abs(point - other).max() > _APART for other in found):
            found.append(point)
        if len(found) == budget.starts:
            break
    return found


def jacobian(problem: Problem, point: Floats, storms: Sequence[int]) -> Floats:
    """Return the change of the mean by the parameters, by differences; shape (entries, parameters)."""
    steps = np.eye(len(point)) * _STEP
    low, high = np.maximum(point - steps, 0.0), np.minimum(point + steps, 1.0)
    means = problem.run(np.concatenate([low, high]), storms).mean(axis=1)
    width = (high - low).sum(axis=1)
    return np.asarray(((means[len(point) :] - means[: len(point)]) / width[:, None]).T)


def _stepped(problem: Problem, point: Floats, variance: Floats, storms: Sequence[int]) -> tuple[Floats, float, float]:
    """Take a step of least squares, damped as far as helps; return the new point, its misfit and what it gained."""
    runs = problem.run(point[None], storms)
    slopes = jacobian(problem, point, storms) / np.sqrt(variance)[:, None]
    residual = np.clip((runs[0].mean(axis=0) - problem.target) / np.sqrt(variance), -MOST_ERRORS, MOST_ERRORS)
    information, pull = slopes.T @ slopes, slopes.T @ residual
    scale = np.diag(np.maximum(np.diag(information), 1e-9))
    tried = [point]
    for damping in _DAMPINGS:
        step = np.linalg.lstsq(information + damping * scale + 1e-9 * np.eye(len(point)), -pull, rcond=None)[0]
        tried += [np.clip(point + short * step, 0.0, 1.0) for short in _SHORTENINGS]
    misfits = problem.misfits(problem.run(np.array(tried), storms), variance)
    best = int(np.argmin(misfits))
    return tried[best], float(misfits[best]), float(misfits[0] - misfits[best])


def _finished(problem: Problem, budget: Budget, point: Floats, seed: int, tell: Progress) -> Fit:
    """Find the spread at the fit, and the intervals."""
    tell("intervals", 0, _LAST_STAGES)
    storms = problem.storms(budget.final_storms)
    both = problem.run(np.array([point, problem.space.start]), storms)
    mean, spread = both[0].mean(axis=0), both[0].std(axis=0, ddof=1)
    weights = 1.0 / problem.variance(both)[0]
    tell("intervals", 1, _LAST_STAGES)
    slopes = jacobian(problem, point, problem.storms(2 * budget.step_storms))
    cost, start_cost = (float(((runs.mean(axis=0) - problem.target) ** 2 * weights).mean()) for runs in both)
    tell("intervals", 2, _LAST_STAGES)
    low, high = _intervals(problem, budget, point, slopes, weights, max(cost, 1.0), seed)
    tell("intervals", _LAST_STAGES, _LAST_STAGES)
    return Fit(point, low, high, mean, spread, weights, slopes, cost, start_cost, problem.runs)


def _intervals(
    problem: Problem, budget: Budget, point: Floats, slopes: Floats, weights: Floats, misfit: float, seed: int
) -> tuple[Floats, Floats]:
    """Return 90 % intervals: points around the fit meet a storm each, and are regressed on what they come to.

    Each vector is condensed to the sums by which least squares moves the parameters. What a parameter is likely to be
    where those sums are the observed ones follows from a regression on draws near them, residuals included; this
    takes the correlation between entries, the storms' spread and curvature into account. A fit that is worse than
    chance allows widens the intervals by its misfit.
    """
    draw = np.random.default_rng([seed, 1])
    root = np.sqrt(weights)[:, None]
    covariance = np.linalg.inv((slopes * root).T @ (slopes * root) + _PRIOR * np.eye(len(point)))
    width = np.minimum(3.0 * np.sqrt(misfit * np.diag(covariance)) + _STEP, 0.5)
    low, high = np.maximum(point - 2.0 * width, 0.0), np.minimum(point + 2.0 * width, 1.0)
    points = low + draw.random((budget.draws, len(point))) * (high - low)
    storms = problem.storms(budget.draws, budget.final_storms)
    vectors = problem.run(points, storms, paired=True)[:, 0]
    vectors = vectors + draw.standard_normal(vectors.shape) * problem.errors * np.sqrt(misfit)
    condense = (slopes * weights[:, None]) @ covariance
    sums = np.clip(vectors - problem.target, -MOST_ERRORS / np.sqrt(weights), MOST_ERRORS / np.sqrt(weights)) @ condense
    spread = np.maximum(sums.std(axis=0), 1e-9)
    distance = np.sqrt(((sums / spread) ** 2).mean(axis=1))
    # Where what is observed does not depend on the parameters, half of the draws lie at no distance at all.
    near = np.maximum(1.0 - (distance / max(float(np.quantile(distance, 0.5)), 1e-12)) ** 2, 0.0)
    if not near.any():
        near = np.ones(len(points))
    features = np.concatenate([np.ones((len(points), 1)), sums / spread], axis=1)
    heavy = np.sqrt(near)[:, None]
    line, *_ = np.linalg.lstsq(features * heavy, points * heavy, rcond=None)
    adjusted = points - features[:, 1:] @ line[1:]
    ends = np.array([_quantiles(adjusted[:, i], near) for i in range(len(point))])
    low, high = np.clip(ends[:, 0], 0.0, 1.0), np.clip(ends[:, 1], 0.0, 1.0)
    return np.minimum(low, point), np.maximum(high, point)


def _quantiles(values: Floats, weights: Floats) -> tuple[float, float]:
    """Return the weighted 5 % and 95 % quantiles."""
    order = np.argsort(values)
    share = np.cumsum(weights[order]) / weights.sum()
    return tuple(float(values[order][min(int(np.searchsorted(share, q)), len(values) - 1)]) for q in (0.05, 0.95))  # type: ignore[return-value]


@dataclass(frozen=True)
class Confounded:
    """Parameters that the data cannot tell apart."""

    paths: tuple[str, ...]
    """Their paths; a single one is not seen by the data at all."""
    together: tuple[int, ...]
    """In which direction each moves, +1 or -1."""
    explains: float
    """How much the bounds alone know of their combination, 0 to 1."""


def confounded(problem: Problem, found: Fit) -> Iterator[Confounded]:
    """Yield the combinations of parameters of which the data say little more than the bounds do."""
    root = np.sqrt(found.weights / max(found.cost, 1.0))[:, None]
    slopes = found.jacobian * root
    values, vectors = np.linalg.eigh(slopes.T @ slopes)
    for value, vector in zip(values, vectors.T, strict=True):
        known = _PRIOR / (_PRIOR + max(float(value), 0.0))
        if known < _UNTOLD:
            continue
        heavy = np.flatnonzero(np.abs(vector) >= _PART)
        heavy = heavy[np.argsort(-np.abs(vector[heavy]))]
        signs = np.sign(vector[heavy] * np.sign(vector[heavy[0]])).astype(int)
        yield Confounded(tuple(problem.space.parameters[i].path for i in heavy), tuple(int(s) for s in signs), known)


_UNTOLD = 0.25
_PART = 0.3
