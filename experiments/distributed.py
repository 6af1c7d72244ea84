"""A Ray cluster as the place where storms run: parts of candidates x storms on every processor of every host.

The search itself stays in one process, so a cluster gives the same trials as one laptop. A part that is lost with its
host is run again elsewhere; as its numbers depend on nothing but itself, nobody can tell.
"""

import logging
import os
from functools import lru_cache
from types import TracebackType
from typing import Any, Self

from signalstorm.envs.model.errors import ABSENT, wrong_input
from signalstorm.envs.model.metrics import Outcomes
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.model.wording import installing
from signalstorm.experiments.engines import Part, Settings, Told, cut, stitch
from signalstorm.experiments.evaluate import Evaluation, StormSet, evaluate

_log = logging.getLogger(__name__)

ADDRESS = "RAY_ADDRESS"
"""Environment variable with the address of a running cluster; without it one is started on this host."""
_RETRIES = 20
"""So often a part is run again when its worker or its host dies."""


class Cluster:
    """A Ray cluster: the running one that the environment names, or one of this host."""

    at_once = 2

    def __init__(self, scenario: Scenario, jobs: int | None = None) -> None:
        """Connect.

        Args:
            scenario: The scenario whose storms it runs.
            jobs: Processors to use; by default all that the cluster has.

        Raises:
            InputError: If Ray is not installed, or the cluster cannot be reached.
        """
        try:
            import ray
        except ImportError:
            way_out = f"install it with {installing('distributed')}, or use --engine local"
            raise wrong_input("needs Ray, which this installation lacks", ABSENT, way_out, key="--engine") from None
        self._ray = ray
        self._own = not ray.is_initialized()
        if self._own:
            address = os.environ.get(ADDRESS)
            options: dict[str, Any] = (
                {"address": address} if address else {"num_cpus": jobs, "include_dashboard": False}
            )
            try:
                ray.init(configure_logging=False, log_to_driver=False, **options)
            except (ConnectionError, ValueError, RuntimeError) as error:
                first = str(error).partition("\n")[0]
                rule = f"the cluster cannot be reached ({first})"
                raise wrong_input(rule, address or ABSENT, f"check {ADDRESS}", key="--engine") from None
        self.jobs = jobs or max(int(ray.cluster_resources().get("CPU", 1)), 1)
        self._scenario = ray.put(scenario)
        self._run = ray.remote(num_cpus=1, max_retries=_RETRIES)(_run_part)
        _log.info("Ray: %d processors on %d hosts", self.jobs, sum(node["Alive"] for node in ray.nodes()))

    def evaluate(self, settings: Settings, storms: StormSet, progress: Told | None = None) -> Evaluation:
        """Run every setting against every storm."""
        parts = list(cut(len(settings), len(storms.numbers), self.jobs))
        references = {}
        for part in parts:
            chosen = [dict(setting) for setting in settings[part.settings]]
            reference = self._run.remote(self._scenario, chosen, storms.numbers[part.storms], storms.vary)
            references[reference] = part
        total, done, waiting = len(settings) * len(storms.numbers), 0, list(references)
        found: dict[Part, Outcomes] = {}
        while waiting:
            ready, waiting = self._ray.wait(waiting, num_returns=1)
            for reference in ready:
                found[references[reference]] = self._ray.get(reference)
                done += references[reference].rows
            if progress is not None:
                progress(done, total)
        return Evaluation(storms, stitch([(part, found[part]) for part in parts]))

    def __enter__(self) -> Self:
        """The connection is there already."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the cluster, and end it if it was started here."""
        if self._own:
            self._ray.shutdown()


def _run_part(scenario: Scenario, settings: Settings, numbers: tuple[int, ...], vary: bool) -> Outcomes:
    return evaluate(settings, _storms(scenario, numbers, vary), threads=1).outcomes


@lru_cache(maxsize=16)
def _storms(scenario: Scenario, numbers: tuple[int, ...], vary: bool) -> StormSet:
    """Keep the storms of a worker, whose fields take longer to draw than some take to run."""
    return StormSet(scenario, numbers, vary)
