"""Engines: where storms run. All give the same numbers; they differ in how many processors they use.

The kernel is bit-equal on any number of threads, and a row of a batch does not know its neighbours, so a batch may be
cut into parts in any way and put together again.
"""

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from functools import lru_cache
from types import TracebackType
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from signalstorm.envs.model.errors import wrong_input
from signalstorm.envs.model.metrics import Outcomes
from signalstorm.envs.model.scenario import Scenario
from signalstorm.experiments.evaluate import Evaluation, StormSet, evaluate

_MOST_JOBS = 1024
Told = Callable[[int, int], None]
"""Told how many storm runs are done, and of how many."""
Settings = Sequence[Mapping[str, Any]]

_ROWS_PER_PART = 64
"""Fewer storm runs than this are not worth a part of their own: they fill two tiles of the kernel."""
_PARTS_PER_WORKER = 2
"""Parts wanted per worker, so that one that ends late does not keep the others waiting for long."""


class Engine(Protocol):
    """Runs settings against storms."""

    at_once: int
    """Batches whose storms may run at the same time."""

    def evaluate(self, settings: Settings, storms: StormSet, progress: Told | None = None) -> Evaluation:
        """Run every setting against every storm; safe to call from several threads."""
        ...

    def __enter__(self) -> Self:
        """Start what has to be started."""
        ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it."""
        ...


class Threads:
    """The threads of this process."""

    at_once = 1

    def __init__(self, threads: int | None = None) -> None:
        """Args: threads: Threads at most; by default one per core."""
        self.threads = threads

    def evaluate(self, settings: Settings, storms: StormSet, progress: Told | None = None) -> Evaluation:
        """Run every setting against every storm."""
        return evaluate(settings, storms, threads=self.threads, progress=progress)

    def __enter__(self) -> Self:
        """Nothing has to be started."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing has to be ended."""


class Processes:
    """Processes of their own, each with one thread; they end with this one, also when it is killed."""

    at_once = 2

    def __init__(self, scenario: Scenario, jobs: int) -> None:
        self.jobs = jobs
        self._pool = ProcessPoolExecutor(
            jobs,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_begin,
            initargs=(scenario,),
        )

    def evaluate(self, settings: Settings, storms: StormSet, progress: Told | None = None) -> Evaluation:
        """Run every setting against every storm."""
        parts = list(cut(len(settings), len(storms.numbers), self.jobs))
        futures: dict[Future[Outcomes], Part] = {}
        for part in parts:
            chosen = [dict(setting) for setting in settings[part.settings]]
            futures[self._pool.submit(_run, chosen, storms.numbers[part.storms], storms.vary)] = part
        total, done = len(settings) * len(storms.numbers), 0
        for future in as_completed(futures):
            done += futures[future].rows
            future.result()
            if progress is not None:
                progress(done, total)
        found = {part: future.result() for future, part in futures.items()}
        return Evaluation(storms, stitch([(part, found[part]) for part in parts]))

    def __enter__(self) -> Self:
        """Processes start with their first work."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the processes; work that has not begun is dropped."""
        self._pool.shutdown(wait=True, cancel_futures=True)


def make_engine(kind: str, scenario: Scenario, jobs: int | None = None) -> Engine:
    """Return an engine.

    Args:
        kind: ``local`` or ``ray``.
        scenario: The scenario whose storms it runs.
        jobs: Processes, or workers of the cluster; by default the threads of this process, or all of the cluster.

    Raises:
        InputError: If there is no such engine, or it is not installed.
    """
    if jobs is not None and not 1 <= jobs <= _MOST_JOBS:
        raise wrong_input(
            f"must be 1 to {_MOST_JOBS}", jobs, "leave it out for the threads of one process", key="--jobs"
        )
    if kind == "local":
        return Threads() if jobs is None else Processes(scenario, jobs)
    if kind == "ray":
        from signalstorm.experiments.distributed import Cluster

        return Cluster(scenario, jobs)
    raise wrong_input("must be local or ray", kind, key="--engine")


class Part(NamedTuple):
    """A part of a batch: some settings against some storms."""

    first_setting: int
    last_setting: int
    first_storm: int
    last_storm: int

    @property
    def settings(self) -> slice:
        """Its settings."""
        return slice(self.first_setting, self.last_setting)

    @property
    def storms(self) -> slice:
        """Its storms."""
        return slice(self.first_storm, self.last_storm)

    @property
    def rows(self) -> int:
        """Its storm runs."""
        return (self.last_setting - self.first_setting) * (self.last_storm - self.first_storm)


def cut(settings: int, storms: int, workers: int) -> Iterator[Part]:
    """Cut settings x storms into parts for workers: by settings first, and by storms where settings are few.

    Args:
        settings: Number of settings.
        storms: Number of storms.
        workers: Workers among which the parts are shared.
    """
    wanted = min(max(settings * storms // _ROWS_PER_PART, 1), _PARTS_PER_WORKER * workers)
    by_settings = min(settings, wanted)
    by_storms = min(-(-wanted // by_settings), storms)
    edges = [np.linspace(0, n, k + 1).astype(int).tolist() for n, k in ((settings, by_settings), (storms, by_storms))]
    for first_setting, last_setting in zip(edges[0], edges[0][1:], strict=False):
        for first_storm, last_storm in zip(edges[1], edges[1][1:], strict=False):
            yield Part(first_setting, last_setting, first_storm, last_storm)


def stitch(parts: Sequence[tuple[Part, Outcomes]]) -> Outcomes:
    """Put the outcomes of parts together; all arrays have the shape (settings, storms)."""
    settings = max(part.last_setting for part, _ in parts)
    storms = max(part.last_storm for part, _ in parts)

    def whole(arrays: Sequence[Any]) -> Any:
        if isinstance(arrays[0], dict):
            return {key: whole([array[key] for array in arrays]) for key in arrays[0]}
        found = np.empty((settings, storms), arrays[0].dtype)
        for (part, _), array in zip(parts, arrays, strict=True):
            found[part.settings, part.storms] = array
        return found

    names = vars(parts[0][1])
    return Outcomes(**{name: whole([getattr(outcome, name) for _, outcome in parts]) for name in names})


_scenario: Scenario | None = None


def _begin(scenario: Scenario) -> None:
    """Set a worker process up: keep the scenario, and end as soon as the parent is no more."""
    global _scenario
    _scenario = scenario
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_follow, args=(parent,), daemon=True).start()


def _follow(parent: Any) -> None:
    parent.join()
    os._exit(1)


def _run(settings: Settings, numbers: tuple[int, ...], vary: bool) -> Outcomes:
    return evaluate(settings, _storms(numbers, vary), threads=1).outcomes


@lru_cache(maxsize=16)
def _storms(numbers: tuple[int, ...], vary: bool) -> StormSet:
    """Keep the storms of a worker, whose fields take longer to draw than some take to run."""
    if _scenario is None:
        raise RuntimeError("the worker was not set up")
    return StormSet(_scenario, numbers, vary)
