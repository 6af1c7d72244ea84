"""Sampling: the points that are worth a trial next, asked of one of Optuna's samplers.

Each batch is asked in a scratch study in memory, which holds the trials that the batch may know, by a sampler seeded by
the study's seed and the batch's number. So a batch is a function of earlier ones alone: neither the storage nor an
interruption changes it, and no seed is used twice. What samplers write beside a trial (CMA-ES its state, NSGA-II its
generation) is kept with it.
"""

import importlib.util
import itertools
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.exceptions import ExperimentalWarning
from optuna.samplers import BaseSampler
from optuna.storages import InMemoryStorage
from optuna.trial import FrozenTrial, TrialState

from signalstorm.envs.model.errors import ABSENT, wrong_input
from signalstorm.envs.model.wording import installing
from signalstorm.experiments.study_file import Sampler

PENALTY = 10.0
"""A sampler of one objective sees a value raised by this times the share of storms on which the trial is worse."""
_NEEDS = {
    "cma-es": (("cmaes",), "sweeps"),
    "qmc": (("scipy",), "sweeps"),
    "gp": (("torch", "scipy"), "rl,sweeps"),
}
"""Packages that samplers need beside Optuna, and the extras that bring them."""
_NAMES = {
    "tpe": "TPE, multivariate",
    "cma-es": "CMA-ES",
    "nsga2": "NSGA-II",
    "nsga3": "NSGA-III",
    "gp": "Gaussian process",
    "qmc": "quasi-Monte Carlo (Sobol)",
    "random": "random",
    "grid": "grid",
}
_SOBOL = "qmc"
"""How the key begins under which the Sobol sampler counts its points."""


@dataclass(frozen=True)
class Seen:
    """What a sampler is told of a trial."""

    params: Mapping[str, Any]
    values: tuple[float, ...] | None
    """Objectives, None while the trial is under way."""
    burden: float
    """Share of storms on which it is worse than the present setting, and of limits by which it misses; 0: feasible."""
    attrs: Mapping[str, Any]
    """What the sampler itself wrote beside the trial."""


@dataclass(frozen=True)
class Draw:
    """A point that a sampler proposes."""

    params: dict[str, Any]
    attrs: dict[str, Any]
    """What the sampler wrote beside it."""


class Scratch:
    """The study in memory in which a sampler is asked; that of TPE is kept from batch to batch.

    To build the study anew for each batch took half as long as the sampler's own work once there were a thousand
    trials. TPE looks at trials that are finished or under way, in their order; so what was under way, or was asked for,
    in an earlier batch counts as failed, which it does not look at, and those finished since are added.
    """

    def __init__(self) -> None:
        """Begin with nothing."""
        self.storage = InMemoryStorage()
        self._told: list[Seen] = []
        self._study: optuna.Study | None = None

    def study(
        self,
        spec: Sampler,
        distributions: Mapping[str, BaseDistribution],
        seen: Sequence[Seen],
        objectives: int,
        seed: int,
    ) -> optuna.Study:
        """Return a study that knows some trials and asks a sampler of its own; the arguments are those of `draws`."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExperimentalWarning)
            sampler = _sampler(spec, distributions, seed)
        finished = list(itertools.takewhile(lambda trial: trial.values is not None, seen))
        if self._study is None or spec.kind != "tpe" or finished[: len(self._told)] != self._told:
            self.storage, self._told = InMemoryStorage(), []
            self._study = optuna.create_study(storage=self.storage, directions=["minimize"] * objectives)
        self._study.sampler = sampler
        study_id = self.storage.get_study_id_from_name(self._study.study_name)
        for trial in self._study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
            trial_id = self.storage.get_trial_id_from_study_id_trial_number(study_id, trial.number)
            self.storage.set_trial_state_values(trial_id, TrialState.FAIL)
        self._study.add_trials(_frozen(trial, distributions, objectives) for trial in seen[len(self._told) :])
        # What is finished behind one that is not would come to stand before it: several processes search, build anew.
        in_order = all(trial.values is None for trial in seen[len(finished) :])
        self._told = finished if in_order else [*finished, *seen]
        return self._study


def check_installed(kind: str) -> None:
    """Refuse a sampler whose packages are not installed.

    Raises:
        InputError: With the way to install them.
    """
    packages, extras = _NEEDS.get(kind, ((), ""))
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if missing:
        rule = f"the sampler {kind} needs {' and '.join(missing)}, which this installation lacks"
        raise wrong_input(
            rule,
            ABSENT,
            f"install it with {installing(extras)}, or choose another sampler",
            key="sampler",
        )


def in_words(spec: Sampler) -> str:
    """Return a sampler's name and seed."""
    return f"{_NAMES[spec.kind]}, seed {spec.seed}"


def draws(
    spec: Sampler,
    distributions: Mapping[str, BaseDistribution],
    seen: Sequence[Seen],
    objectives: int,
    seed: int,
    asked: int,
    scratch: Scratch | None = None,
) -> Iterator[Draw]:
    """Yield points, without end except on a grid.

    Args:
        spec: The sampler.
        distributions: The space.
        seen: The trials that it may know, in their order.
        objectives: How many objectives there are.
        seed: Seed of this batch.
        asked: Points asked of the sampler in earlier batches.
        scratch: What was kept of the batch before, which spares TPE the trials that it knows already.
    """
    kept = Scratch() if scratch is None else scratch
    study = kept.study(spec, distributions, seen, objectives, seed)
    storage, study_id = kept.storage, kept.storage.get_study_id_from_name(study.study_name)
    if spec.kind == "qmc":
        _skip_sobol(study, storage, study_id, distributions, asked)
    most = _grid_size(spec, distributions) if spec.kind == "grid" else None
    for _ in itertools.count() if most is None else range(most):
        trial = study.ask(dict(distributions))
        trial_id = storage.get_trial_id_from_study_id_trial_number(study_id, trial.number)
        yield Draw(dict(trial.params), dict(storage.get_trial_system_attrs(trial_id)))


def batch_seed(seed: int, worker: int, batch: int) -> int:
    """Return the seed of a batch: of its own for every study, worker and batch."""
    return int(np.random.SeedSequence([seed, worker, batch]).generate_state(1)[0])


def _sampler(spec: Sampler, distributions: Mapping[str, BaseDistribution], seed: int) -> BaseSampler:
    samplers = optuna.samplers
    match spec.kind:
        case "tpe":
            return samplers.TPESampler(seed=seed, n_startup_trials=spec.startup, multivariate=True)
        case "cma-es":
            return samplers.CmaEsSampler(
                seed=seed, n_startup_trials=spec.startup, popsize=spec.population, warn_independent_sampling=False
            )
        case "nsga2":
            return samplers.NSGAIISampler(seed=seed, population_size=spec.population or 50)
        case "nsga3":
            return samplers.NSGAIIISampler(seed=seed, population_size=spec.population or 50)
        case "gp":
            return samplers.GPSampler(seed=seed, n_startup_trials=spec.startup)
        case "qmc":
            # One scrambled sequence for the whole study, so its seed is that of the study.
            return samplers.QMCSampler(seed=spec.seed, scramble=True, warn_independent_sampling=False)
        case "random":
            return samplers.RandomSampler(seed=seed)
        case "grid":
            return samplers.GridSampler(grid(spec, distributions), seed=spec.seed)


def grid(spec: Sampler, distributions: Mapping[str, BaseDistribution]) -> dict[str, list[Any]]:
    """Return the values of each knob on a full grid, evenly on the knob's own scale."""
    return {name: _levels(distribution, spec.points) for name, distribution in distributions.items()}


def _grid_size(spec: Sampler, distributions: Mapping[str, BaseDistribution]) -> int:
    return int(np.prod([len(values) for values in grid(spec, distributions).values()]))


def _levels(distribution: BaseDistribution, points: int) -> list[Any]:
    if isinstance(distribution, CategoricalDistribution):
        return list(distribution.choices)
    if not isinstance(distribution, IntDistribution | FloatDistribution):
        raise TypeError(f"no grid for {distribution!r}")
    space = np.geomspace if distribution.log else np.linspace
    values = space(distribution.low, distribution.high, points)
    step = distribution.step or 0.0
    if step:
        values = distribution.low + np.round((values - distribution.low) / step) * step
    kind = int if isinstance(distribution, IntDistribution) else float
    return list(dict.fromkeys(min(max(kind(v), distribution.low), distribution.high) for v in values))


def _frozen(trial: Seen, distributions: Mapping[str, BaseDistribution], objectives: int) -> FrozenTrial:
    """Return what the sampler learns from a trial.

    Optuna ranks every trial that keeps a constraint before all that do not. Settings that change nothing keep it, so
    with the constraint itself a search for one objective would gather among them; there the burden raises the value.
    """
    if trial.values is None:
        return optuna.create_trial(
            state=TrialState.RUNNING,
            params=dict(trial.params),
            distributions=dict(distributions),
            system_attrs=dict(trial.attrs),
        )
    single = objectives == 1
    values = [trial.values[0] * (1.0 + PENALTY * trial.burden)] if single else list(trial.values)
    return optuna.create_trial(
        params=dict(trial.params),
        distributions=dict(distributions),
        values=values,
        system_attrs=dict(trial.attrs),
        constraints=None if single else {"burden": trial.burden},
    )


def _skip_sobol(
    scratch: optuna.Study,
    storage: InMemoryStorage,
    study_id: int,
    distributions: Mapping[str, BaseDistribution],
    asked: int,
) -> None:
    """Let the Sobol sequence go on where earlier batches ended."""
    if asked == 0:
        return
    scratch.tell(scratch.ask(dict(distributions)), state=TrialState.FAIL)
    for key in storage.get_study_system_attrs(study_id):
        if key.startswith(_SOBOL):
            storage.set_study_system_attr(study_id, key, asked - 1)
