"""The benchmarks: what is compared with what, and the pass marks."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from benchmarks import environments, twin
from benchmarks.measure import Ratio, compare, cpu_seconds, wall_seconds
from signalstorm.envs.model import scenario_file
from signalstorm.envs.model.batch import Batch
from signalstorm.envs.model.parameters import setting_matrix
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.model.workers import available_cores

_ENDLESS = {"topology.pcrf.buffer": 150.0, "horizon_s": 100.0}
"""A buffer of three seconds against a patience of two: the storm lasts as long as the run."""


def _batch(scenario: Scenario, knobs: Mapping[str, Any], size: int, threads: int = 1) -> Batch:
    batch = Batch([scenario] * size, range(size), setting_matrix([knobs], scenario), threads=threads)
    batch.run(1)
    return batch


def kernel() -> Iterator[Ratio]:
    """Nanoseconds per substep and storm, against a plain C twin of the same arithmetic."""
    scenario = scenario_file.load("lab-pcrf").with_fields(_ENDLESS)
    steps = round(scenario.horizon_s / scenario.dt) - 1
    for label, knobs in (("no gate", {}), ("gate busy", {"nop_rate": 120})):
        for size in (1, 64, 1024):

            def run_kernel(knobs: Mapping[str, Any] = knobs, size: int = size) -> float:
                batch = _batch(scenario, knobs, size)
                return cpu_seconds(batch.run)

            def run_twin(knobs: Mapping[str, Any] = knobs, size: int = size) -> float:
                batch = _batch(scenario, knobs, size)
                return cpu_seconds(lambda: twin.run(batch))

            name = f"kernel / C twin, {label}, batch of {size}"
            mark = 1.5 if size >= 64 else None
            yield compare(name, run_kernel, run_twin, scale=1e9 / steps / size, unit="ns per substep", most=mark)


def unused() -> Iterator[Ratio]:
    """What the elements beyond the attach chain cost a network that has one of them and uses none."""
    plain = scenario_file.load("lab-pcrf").with_fields(_ENDLESS)
    idle = plain.with_fields({"topology.resilience.failure_domains": 1})
    steps = round(plain.horizon_s / plain.dt) - 1
    for size in (1, 64):

        def run(scenario: Scenario, size: int = size) -> Callable[[], float]:
            return lambda: cpu_seconds(_batch(scenario, {}, size).run)

        name = f"idle core / none, batch of {size}"
        yield compare(name, run(idle), run(plain), scale=1e9 / steps / size, unit="ns per substep", most=1.1)


def population() -> Iterator[Ratio]:
    """Cost of 125 million subscribers against one thousand, all rates scaled alike."""
    small = scenario_file.load("lab-pcrf").with_fields(_ENDLESS)
    factor = 125_000.0
    large = small.with_fields(
        {
            "subscribers.0.size": 125_000_000,
            "demand.rate_per_s": 100.0 * factor,
            "topology.pcrf.rate_per_s": 50.0 * factor,
            "topology.pcrf.buffer": 150.0 * factor,
        }
    )

    def run(scenario: Scenario) -> Callable[[], float]:
        return lambda: cpu_seconds(_batch(scenario, {}, 64).run)

    yield compare("125 million / 1 thousand subscribers, batch of 64", run(large), run(small), most=1.25)


def threads() -> Iterator[Ratio]:
    """Wall time of two threads against one."""
    scenario = scenario_file.load("lab-pcrf").with_fields(_ENDLESS)
    if available_cores() < 2:
        print("skipped: two threads / one needs two cores", file=sys.stderr)
        return
    for size in (256, 1024):

        def run(count: int, size: int = size) -> Callable[[], float]:
            return lambda: wall_seconds(_batch(scenario, {}, size, threads=count).run)

        yield compare(f"two threads / one, batch of {size}", run(2), run(1))


def incident() -> Iterator[Ratio]:
    """Eight hours of the SGSN storm of 2014 against goals in seconds of processor time, and two threads against one."""
    scenario = scenario_file.load("incident-2014")
    for size, goal in ((64, 0.025), (1, 0.060)):

        def run(size: int = size) -> float:
            return cpu_seconds(_batch(scenario, {}, size).run) / size

        def limit(goal: float = goal) -> float:
            return goal

        yield compare(f"incident-2014 per storm, batch of {size} / {goal:g} s", run, limit, most=1.0, rounds=3)
    if available_cores() > 1:
        hour = scenario.with_fields({"horizon_s": 9000.0})

        def threaded(count: int) -> Callable[[], float]:
            return lambda: wall_seconds(_batch(hour, {}, 256, threads=count).run)

        yield compare(
            "incident-2014, two threads / one, batch of 256", threaded(2), threaded(1), most=1 / 1.8, rounds=3
        )


def reference() -> Iterator[Ratio]:
    """The kernel in a batch of 64 against the event-by-event reference, per storm of 1,000 handsets."""
    try:
        from tests.reference.run import run as run_events
    except ImportError as error:
        print(f"skipped: kernel / event by event needs the tests' extra ({error})", file=sys.stderr)
        return
    scenario = scenario_file.load("lab-pcrf").with_fields({**_ENDLESS, "horizon_s": 60.0})

    def run_kernel() -> float:
        return cpu_seconds(_batch(scenario, {}, 64).run) / 64

    def run_reference() -> float:
        return cpu_seconds(lambda: run_events(scenario, {}, 0))

    yield compare("kernel / event by event, per storm", run_kernel, run_reference, most=1 / 200, rounds=3)


def commands() -> Iterator[Ratio]:
    """Wall time of whole commands against their limits in seconds, warm and cold."""
    for name, limit, words in (
        ("signalstorm --help", 0.6, ["-m", "signalstorm", "--help"]),
        ("import signalstorm", 0.5, ["-c", "import signalstorm"]),
        ("simulate lab-pcrf, warm", 1.5, ["-m", "signalstorm", "simulate", "lab-pcrf", "-q"]),
    ):
        yield _against_limit(name, limit, words, rounds=5)
    with tempfile.TemporaryDirectory() as folder:
        cold = {"SIGNALSTORM_CACHE_DIR": folder}
        yield _against_limit(
            "simulate lab-pcrf, cold", 25.0, ["-m", "signalstorm", "simulate", "lab-pcrf"], cold, rounds=1
        )


def _against_limit(
    name: str, limit: float, words: list[str], extra: Mapping[str, str] | None = None, *, rounds: int
) -> Ratio:
    environment = {**os.environ, **(extra or {})}

    def run() -> float:
        return wall_seconds(
            lambda: subprocess.run([sys.executable, *words], check=True, capture_output=True, env=environment)
        )

    if rounds > 1:
        return compare(f"{name} / {limit:g} s", run, lambda: limit, most=1.0, rounds=rounds)
    once = run()
    return Ratio(f"{name} / {limit:g} s", once, limit, "s", once / limit, once / limit, once / limit, 1.0)


SUITE: dict[str, Callable[[], Iterator[Ratio]]] = {
    "kernel": kernel,
    "unused": unused,
    "population": population,
    "threads": threads,
    "incident": incident,
    "reference": reference,
    "environments": environments.rows,
    "learning": environments.learning,
    "commands": commands,
}
