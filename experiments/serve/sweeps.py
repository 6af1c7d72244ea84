"""Sweeps: how far the search in a run's folder is, read while it goes on."""

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from optuna.storages import BaseStorage
from optuna.trial import TrialState

from signalstorm.envs.model import yaml_lines
from signalstorm.envs.model.errors import InputError, wrong_input
from signalstorm.experiments.recommendation import FILE
from signalstorm.experiments.run_folder import JOURNAL, STUDY, is_held
from signalstorm.experiments.standing import Standing, standing
from signalstorm.experiments.storage import open_storage, quiet_optuna
from signalstorm.experiments.trials import Trial, read

_KEPT = 8
"""Journals that are kept open: a second look reads only what is new."""
_turn = threading.Lock()


@dataclass(frozen=True)
class Sweep:
    """A search, on its way or finished."""

    trials: tuple[Trial, ...]
    """Its finished trials, by number."""
    planned: int | None
    """Trials it is to end with; None if that is not known."""
    finished: bool
    """Whether its recommendation is written."""
    quiet_s: float
    """Time since its last trial [s]."""
    held: bool | None
    """Whether a process is running in its folder; None if the file system cannot tell."""

    @property
    def standing(self) -> Standing:
        """How far it has come."""
        return standing(self.trials)


def read_sweep(folder: Path) -> Sweep:
    """Read the search of a run's folder.

    Raises:
        InputError: If its journal is missing or damaged.
    """
    journal = folder / JOURNAL
    way_out = "its trials may be kept in a database: see --storage of `signalstorm tune`"
    if not journal.is_file():
        raise wrong_input("the run has no journal to watch", way_out=way_out, file=str(folder))
    try:
        quiet_s = max(time.time() - journal.stat().st_mtime, 0.0)
        with _turn, quiet_optuna():
            trials = _trials(_storage(journal))
    except (InputError, OSError, ValueError, LookupError, TypeError, AssertionError) as error:
        why = "it is none, or damaged" if isinstance(error, InputError) else type(error).__name__
        raise wrong_input(f"the journal cannot be read ({why})", file=str(journal)) from None
    return Sweep(tuple(trials), _planned(folder), (folder / FILE).is_file(), quiet_s, is_held(folder))


@lru_cache(maxsize=_KEPT)
def _storage(journal: Path) -> BaseStorage:
    return open_storage(None, journal)


def _trials(storage: BaseStorage) -> Sequence[Trial]:
    """Return the finished trials of the only study of a journal."""
    studies = storage.get_all_studies()
    if not studies:
        return []
    ended = (TrialState.COMPLETE, TrialState.PRUNED)
    frozen = storage.get_all_trials(studies[0]._study_id, deepcopy=False, states=ended)
    return [read(trial) for trial in frozen if "scores" in trial.user_attrs]


def _planned(folder: Path) -> int | None:
    try:
        data, _, _ = yaml_lines.read((folder / STUDY).read_text("utf-8"))
    except (OSError, ValueError, yaml_lines.YamlError):
        return None
    planned = data.get("trials") if isinstance(data, dict) else None
    return planned if isinstance(planned, int) else None
