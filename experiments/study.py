"""The study: finished trials in Optuna's storage, and the points that are worth a trial next.

Only finished trials are stored, each in one write. So nothing that kills the process can leave a trial that seems to
run for ever, and nothing finished is lost. Points come in batches; a batch is a function of the batches before it and
of the study's seed alone, so a study that is taken up again in the middle of a batch asks for the same points.
"""

import contextlib
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from optuna.samplers import TPESampler
from optuna.storages import BaseStorage, JournalStorage
from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock
from optuna.trial import FrozenTrial, TrialState

from signalstorm.envs.model.errors import wrong_input
from signalstorm.envs.model.knob_table import KnobValue
from signalstorm.envs.model.knobs import Setting
from signalstorm.experiments.search_space import SearchSpace

_log = logging.getLogger(__name__)

CONSTRAINT = "never_worse"
"""Name of the constraint: the number of storms on which a trial is worse than the present setting."""
STARTUP_TRIALS = 32
"""Trials before the sampler starts to learn from them."""
PENALTY = 10.0
"""The sampler sees a value raised by this times the share of storms on which the trial is worse."""
_ASKS_PER_POINT = 50
"""So many draws in search of one new point; then the space counts as searched through."""


@dataclass(frozen=True)
class Trial:
    """A finished trial."""

    number: int
    """Optuna's number; 0 is the present setting."""
    batch: int
    """The batch to which it belongs; 0 is the present setting alone."""
    point: dict[str, KnobValue]
    """The point; empty for a present setting outside the search space."""
    setting: Setting
    """The legal setting, as overrides of the present one."""
    value_s: float
    """What it is ranked by: its storms' costs, as the study weighs them [s]."""
    worse: int
    """Storms, guards included, on which it is worse than the present setting."""
    times_s: tuple[float | None, ...]
    """T on each storm, None where not reached [s]."""
    lost_h: tuple[float, ...]
    """Subscriber-hours lost on each storm."""

    @property
    def present(self) -> bool:
        """Whether it is the present setting."""
        return self.batch == 0

    @property
    def feasible(self) -> bool:
        """Whether it is worse on no storm."""
        return self.worse == 0


@dataclass(frozen=True)
class Proposal:
    """A point worth a trial."""

    point: dict[str, KnobValue]
    setting: Setting


class Study:
    """An Optuna study that holds trials of settings."""

    def __init__(self, space: SearchSpace, storage: BaseStorage, name: str, seed: int, identity: str) -> None:
        """Open the study, or create it.

        Args:
            space: The search space.
            storage: Where trials are kept.
            name: The study's name there.
            seed: Seed of the sampler.
            identity: A hash of everything that decides what the study finds.

        Raises:
            InputError: If the storage has another study of that name.
        """
        self.space = space
        self.seed = seed
        self._study = optuna.create_study(study_name=name, storage=storage, direction="minimize", load_if_exists=True)
        known = self._study.user_attrs.get("identity", identity if not self._study.trials else None)
        if known != identity:
            rule = f"the storage holds another study of the name {name} ({str(known)[:12]})"
            raise wrong_input(rule, identity[:12], "give another --name", key="--storage")
        if "identity" not in self._study.user_attrs:
            self._study.set_user_attr("identity", identity)

    def trials(self) -> list[Trial]:
        """Return the finished trials by number."""
        return [_read(trial) for trial in self._finished()]

    def add(
        self,
        batch: int,
        proposal: Proposal,
        value_s: float,
        worse: int,
        times_s: Sequence[float | None],
        lost_h: Sequence[float],
    ) -> None:
        """Store a finished trial, in one write."""
        inside = set(proposal.point) == set(self.space.knobs)
        self._study.add_trial(
            optuna.create_trial(
                params=proposal.point if inside else {},
                distributions=self.space.distributions if inside else {},
                value=value_s,
                constraints={CONSTRAINT: float(worse)},
                user_attrs={
                    "batch": batch,
                    "present": batch == 0,
                    "setting": dict(proposal.setting),
                    "times_s": list(times_s),
                    "lost_h": list(lost_h),
                },
            )
        )

    def remember(self, key: str, value: Any) -> None:
        """Keep a value, in JSON's own types, beside the trials."""
        self._study.set_user_attr(key, value)

    def recall(self, key: str) -> Any:
        """Return a value that was kept; None if there is none."""
        return self._study.user_attrs.get(key)

    def fail_ghosts(self) -> int:
        """Mark trials that another program left unfinished as failed; returns how many."""
        ghosts = self._study.get_trials(deepcopy=False, states=(TrialState.RUNNING, TrialState.WAITING))
        for ghost in ghosts:
            self._study.tell(ghost.number, state=TrialState.FAIL)
        return len(ghosts)

    def propose(self, batch: int, count: int) -> list[Proposal]:
        """Return the points of a batch, all different and none tried in an earlier batch.

        Args:
            batch: The batch; 1 is the first.
            count: Points wanted; fewer come back where the space holds no more.
        """
        before = [trial for trial in self._finished() if trial.user_attrs["batch"] < batch]
        taken = {self.space.identity(_read(trial).setting) for trial in before}
        proposals = list(self._start(taken)) if batch == 1 else []
        seed = int(np.random.SeedSequence([self.seed, len(before)]).generate_state(1)[0])
        for point in self._draws(before, seed, _ASKS_PER_POINT * count):
            if len(proposals) >= count:
                break
            proposals += self._new(point, taken)
        return proposals[:count]

    def importance(self) -> dict[str, float] | None:
        """Return how much each knob matters for being among the best (PED-ANOVA, sums to 1); None if unknown."""
        if len(self.space.knobs) < 2:
            return None
        known = [trial for trial in self._finished() if trial.params]
        if len(known) < STARTUP_TRIALS:
            return None
        scratch = optuna.create_study()
        scratch.add_trials(known)
        found = optuna.importance.get_param_importances(scratch)
        return {name: round(float(found.get(name, 0.0)), 4) for name in self.space.knobs}

    def _finished(self) -> list[FrozenTrial]:
        trials = self._study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        return sorted(trials, key=lambda trial: trial.number)

    def _start(self, taken: set[Setting]) -> Iterator[Proposal]:
        for point in self.space.start_points:
            yield from self._new(point, taken)

    def _new(self, point: Mapping[str, Any], taken: set[Setting]) -> list[Proposal]:
        """Return the point's proposal and take it, or nothing if its setting is taken."""
        setting = self.space.setting(point)
        identity = self.space.identity(setting)
        if identity in taken:
            return []
        taken.add(identity)
        return [Proposal(dict(point), setting)]

    def _draws(self, before: Sequence[FrozenTrial], seed: int, most: int) -> Iterator[dict[str, Any]]:
        """Draw points from the sampler, in a scratch copy of the study."""
        sampler = TPESampler(seed=seed, n_startup_trials=STARTUP_TRIALS, multivariate=True)
        scratch = optuna.create_study(sampler=sampler)
        scratch.add_trials([_scored(trial) for trial in before if trial.params])
        for _ in range(most):
            yield scratch.ask(self.space.distributions).params


def _scored(trial: FrozenTrial) -> FrozenTrial:
    """Return what the sampler learns from a trial: its value, raised by the share of storms on which it is worse.

    Optuna ranks every trial that keeps a constraint before all that do not. Settings that change nothing keep it, so
    with the constraint itself the sampler would gather among them.
    """
    worse, storms = trial.constraints[CONSTRAINT], len(trial.user_attrs["times_s"])
    value = float(trial.value or 0.0) * (1.0 + PENALTY * worse / storms)
    return optuna.create_trial(params=trial.params, distributions=trial.distributions, value=value)


def _read(trial: FrozenTrial) -> Trial:
    return Trial(
        number=trial.number,
        batch=trial.user_attrs["batch"],
        point=dict(trial.params),
        setting=Setting(trial.user_attrs["setting"]),
        value_s=float(trial.value or 0.0),
        worse=round(trial.constraints[CONSTRAINT]),
        times_s=tuple(trial.user_attrs["times_s"]),
        lost_h=tuple(trial.user_attrs["lost_h"]),
    )


def open_storage(url: str | None, journal: Path) -> BaseStorage:
    """Open the storage of trials.

    Args:
        url: A database's URL, or the path of a journal file; None: the run's own journal.
        journal: The run's own journal.

    Raises:
        InputError: If the storage cannot be opened.
    """
    if url is None or "://" not in url:
        path = str(journal if url is None else url)
        return JournalStorage(JournalFileBackend(path, lock_obj=JournalFileOpenLock(path)))
    if url.startswith("sqlite"):
        _log.warning("SQLite does not stand several workers at once; the journal file, the default, does")
    try:
        return optuna.storages.get_storage(url)
    except Exception as error:  # each database has errors of its own
        first = str(error).partition("\n")[0]
        raise wrong_input(f"cannot be opened ({first})", url, "check the URL and its driver", key="--storage") from None


@contextlib.contextmanager
def quiet_optuna() -> Iterator[None]:
    """Keep Optuna's own log lines off the terminal."""
    level = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(level)
