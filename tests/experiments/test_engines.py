"""Where storms run changes nothing: parts fit together, processes and threads agree to the bit."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from signalstorm.envs.model.errors import InputError
from signalstorm.experiments.engines import Processes, Threads, cut, make_engine
from signalstorm.experiments.evaluate import StormSet
from tests.experiments.sharing import environment
from tests.experiments.tuning import small_scenario

pytestmark = pytest.mark.processes

SETTINGS = [{}, {"nop_rate": 60}, {"nop_rate": 50, "diameter_tx_s": 4}]


@given(settings=st.integers(1, 300), storms=st.integers(1, 600), workers=st.integers(1, 64))
def test_parts_cover_everything_once(settings: int, storms: int, workers: int) -> None:
    covered = np.zeros((settings, storms), int)
    parts = list(cut(settings, storms, workers))
    for part in parts:
        covered[part.settings, part.storms] += 1
        assert part.rows > 0
    assert (covered == 1).all()
    assert sum(part.rows for part in parts) == settings * storms


@pytest.fixture(scope="module")
def processes() -> Iterator[Processes]:
    with Processes(small_scenario(), 2) as engine:
        yield engine


@pytest.mark.parametrize("vary", [True, False])
def test_processes_and_threads_agree_to_the_bit(processes: Processes, vary: bool) -> None:
    storms = StormSet(small_scenario(), tuple(range(100)), vary)
    told: list[tuple[int, int]] = []
    apart = processes.evaluate(SETTINGS, storms, lambda done, total: told.append((done, total))).outcomes
    together = Threads().evaluate(SETTINGS, storms).outcomes
    for name, value in vars(together).items():
        other = getattr(apart, name)
        for key in value if isinstance(value, dict) else [None]:
            ours, theirs = (value, other) if key is None else (value[key], other[key])
            np.testing.assert_array_equal(ours, theirs, err_msg=name)
    assert told[-1] == (300, 300)


_PARENT = """
import sys, time
from signalstorm.experiments.engines import Processes
from signalstorm.experiments.evaluate import StormSet
from tests.experiments.tuning import small_scenario
if __name__ == "__main__":
    engine = Processes(small_scenario(), 1)
    engine.evaluate([{}], StormSet(small_scenario(), (0,), True))
    print(*engine._pool._processes, flush=True)
    time.sleep(60)
"""


def test_processes_end_with_a_parent_that_is_killed() -> None:
    parent = subprocess.Popen([sys.executable, "-c", _PARENT], env=environment(), stdout=subprocess.PIPE)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    os.kill(parent.pid, signal.SIGKILL)
    parent.communicate()
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and _lives(child):
        time.sleep(0.05)
    assert not _lives(child)


def test_an_engine_has_a_name_that_is_known() -> None:
    with pytest.raises(InputError, match="--engine: must be local or ray, but got 'spark'"):
        make_engine("spark", small_scenario())


@pytest.mark.parametrize("jobs", [0, 5000])
def test_jobs_have_a_range(jobs: int) -> None:
    with pytest.raises(InputError, match="--jobs: must be 1 to 1024"):
        make_engine("local", small_scenario(), jobs)


@pytest.mark.skipif(find_spec("ray") is not None, reason="Ray is installed")
def test_without_ray_the_way_to_it_is_named() -> None:
    with pytest.raises(InputError, match=r"--engine: needs Ray.*pip install 'signalstorm\[distributed\]'"):
        make_engine("ray", small_scenario())


def _lives(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
