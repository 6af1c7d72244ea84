"""Sources: the scenarios and runs that the page offers, and what it opens of them.

A viewer names a source by a word of this list, never by a path, so nothing else on the machine can be opened. Files
are read as data: YAML by the safe loader, JSON, and Optuna's journal, which is JSON by the line.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from signalstorm.envs.model import scenario_file
from signalstorm.envs.model.errors import wrong_input
from signalstorm.envs.model.knobs import Setting, validate
from signalstorm.envs.model.scenario import Scenario
from signalstorm.experiments.export.source import read as read_recommendation
from signalstorm.experiments.recommendation import FILE
from signalstorm.experiments.run_folder import JOURNAL, SCENARIO

_log = logging.getLogger(__name__)

_OTHER_MODEL = "This run was made by another version of the model, so its storms may look otherwise here."
_PACKAGED, _FILE, _RUN = "scenario:", "file:", "run:"


@dataclass(frozen=True)
class Opened:
    """A source that a viewer has opened."""

    scenario: Scenario
    """The scenario."""
    override: Setting
    """The knobs that the page begins with: those that a finished run recommends."""
    run: Path | None = None
    """The folder of the run, where the source is one."""
    note: str = ""
    """What a viewer should know of it."""


class Sources:
    """The packaged scenarios, the given files, and the runs below a folder."""

    def __init__(self, files: Sequence[Path] = (), runs: Path | None = None) -> None:
        """Read the files.

        Args:
            files: Scenario files to offer beside the packaged ones.
            runs: The folder below which runs have theirs, or the folder of one run; it may be missing.

        Raises:
            InputError: If a file is no scenario.
        """
        self._names = scenario_file.list_names()
        self._files = [(path, scenario_file.load(path)) for path in files]
        self._runs = runs

    @property
    def first(self) -> str:
        """The source that the page begins with."""
        return f"{_FILE}0" if self._files else f"{_PACKAGED}lab-pcrf"

    def offered(self) -> dict[str, str]:
        """Return the sources, and by what name the page offers each."""
        files = {f"{_FILE}{i}": f"{scenario.name} ({path})" for i, (path, scenario) in enumerate(self._files)}
        runs = {f"{_RUN}{folder.name}": f"run {folder.name}" for folder in self._run_folders()}
        return files | {f"{_PACKAGED}{name}": name for name in self._names} | runs

    def check_runs(self) -> None:
        """Refuse a folder of runs that is none, and say so where it holds no run yet.

        Raises:
            InputError: If it is no folder, or cannot be read.
        """
        if self._runs is None:
            return
        try:
            next(self._runs.iterdir(), None)
        except OSError as error:
            rule = f"must be a folder with runs of `signalstorm tune` ({error.strerror})"
            raise wrong_input(rule, str(self._runs), "give the folder in which their --out are", key="--runs") from None
        if not self._run_folders():
            _log.info("%s holds no run of `signalstorm tune` yet; load the page anew when it does", self._runs)

    def open(self, source: str) -> Opened:
        """Open a source.

        Raises:
            KeyError: If there is no such source.
            InputError: If the files of a run are not as they should be.
        """
        if source not in self.offered():
            raise KeyError(source)
        kind, _, name = source.partition(":")
        if f"{kind}:" == _FILE:
            return Opened(self._files[int(name)][1], Setting({}))
        if f"{kind}:" == _PACKAGED:
            return Opened(_packaged(name), Setting({}))
        return _open_run(next(folder for folder in self._run_folders() if folder.name == name))

    def _run_folders(self) -> list[Path]:
        if self._runs is None:
            return []
        try:
            below = [] if _is_run(self._runs) else sorted(self._runs.iterdir())
            return [folder for folder in (self._runs.absolute(), *below) if _is_run(folder)]
        except OSError:
            return []


@cache
def _packaged(name: str) -> Scenario:
    return scenario_file.load(name)


def _is_run(folder: Path) -> bool:
    return (folder / SCENARIO).is_file() and any((folder / name).is_file() for name in (FILE, JOURNAL))


def _open_run(folder: Path) -> Opened:
    scenario = scenario_file.load(folder / SCENARIO)
    if not (folder / FILE).is_file():
        return Opened(scenario, Setting({}), folder)
    record = read_recommendation(folder).record
    note = "" if record.scenario.hash == scenario.hash() else _OTHER_MODEL
    return Opened(scenario, validate(record.override, str(folder / FILE)), folder, note)
