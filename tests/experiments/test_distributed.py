"""A Ray cluster gives the same trials as one process, also when one of its hosts dies."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from signalstorm.experiments.tune import tune
from tests.experiments.sharing import rows
from tests.experiments.tuning import KNOBS, SMALL, busy_scenario

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("default")]
ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'signalstorm[distributed]'")


@pytest.fixture
def cluster() -> Iterator[Any]:
    from ray.cluster_utils import Cluster

    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    nodes.add_node(num_cpus=1)
    ray.init(address=nodes.address, log_to_driver=False)
    yield nodes
    ray.shutdown()
    nodes.shutdown()


def test_two_nodes_one_killed_in_mid_sweep_find_what_one_process_finds(cluster: Any, tmp_path: Path) -> None:
    local = tune(busy_scenario(), knobs=KNOBS, out=tmp_path / "local", budget=SMALL)
    killed = threading.Event()

    def watch(stage: str, done: int, total: int) -> None:
        if stage == "search" and done >= SMALL.trials // 3 and not killed.is_set():
            killed.set()
            other = next(node for node in cluster.list_all_nodes() if node is not cluster.head_node)
            cluster.remove_node(other, allow_graceful=False)

    assert ray.cluster_resources()["CPU"] == 2
    found = tune(busy_scenario(), knobs=KNOBS, out=tmp_path / "ray", budget=SMALL, engine="ray", progress=watch)
    assert killed.is_set()
    deadline = time.monotonic() + 60
    while sum(node["Alive"] for node in ray.nodes()) > 1 and time.monotonic() < deadline:
        time.sleep(0.2)
    assert sum(node["Alive"] for node in ray.nodes()) == 1
    assert rows(tmp_path / "ray") == rows(tmp_path / "local")
    assert found.checks == local.checks
