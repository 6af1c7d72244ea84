"""Loads of processors: they show the share of their capacity in use, however few messages make it up."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from signalstorm.envs.model.kernels import core_layout as core
from signalstorm.envs.model.kernels import layout
from tests.envs.model.kernels.cores import agent, network
from tests.envs.model.kernels.worlds import Course

RATES = (20.0, 100.0, 1000.0)
SETTLED_S = 40.0


def shown(row: int, topology: dict[str, Any], seconds: float = 400.0) -> npt.NDArray[np.float64]:
    """A level of the core block with chance at work, after it has settled; shape (seconds, storms)."""
    run = Course(network(topology, stochastic=True, horizon_s=seconds), storms=range(4), every_s=1.0).run()
    at = layout.RECORD_COUNTERS + 1 + layout.RECORD_PER_QUEUE * len(run.batch.plan.queues)
    return run.counter(at + row)[round(SETTLED_S) :]


def mme(rate_per_s: float, load: float) -> dict[str, Any]:
    return {"mme": {"rate_per_s": rate_per_s, "other_load_per_s": load * rate_per_s, "timer_s": 5.0}}


def database(rate_per_s: float, load: float, **fields: Any) -> dict[str, Any]:
    """A session database behind an agent whose dynamic limit looks at it once a second."""
    own = {"rate_per_s": rate_per_s, "other_load_per_s": load * rate_per_s, "timer_s": 5.0, **fields}
    return agent(dynamic={}) | {"database": own}


@pytest.mark.parametrize("rate_per_s", RATES)
def test_a_saturated_mme_reads_full(rate_per_s: float) -> None:
    cpu = shown(core.N_MME_CPU, mme(rate_per_s, 1.5))
    assert cpu.mean() == pytest.approx(1.0, abs=0.02)
    assert cpu.min() > 0.8  # where an overloaded MME begins to name a factor to the SGW


@pytest.mark.parametrize("rate_per_s", RATES)
@pytest.mark.parametrize("load", [0.1, 0.5, 0.8])
def test_an_mme_below_its_capacity_reads_its_load(rate_per_s: float, load: float) -> None:
    cpu = shown(core.N_MME_CPU, mme(rate_per_s, load))
    # Messages in the time watched, all storms together; a queue that is left over at its end adds as much again.
    messages = load * rate_per_s * cpu.size
    assert cpu.mean() == pytest.approx(load, abs=6.0 * load / np.sqrt(messages) + 0.002)
    assert cpu.min() >= 0.0
    assert cpu.max() <= 1.0


@pytest.mark.parametrize("rate_per_s", RATES)
def test_a_saturated_database_reads_full_in_every_sample(rate_per_s: float) -> None:
    """Once there is a queue; so the highest band holds, which the lower ones cannot take away by chance."""
    topology = database(rate_per_s, 1.5)
    np.testing.assert_allclose(shown(core.N_CPU, topology), 1.0, atol=1e-9)
    assert (shown(core.N_THROTTLE, topology) == 60.0).all()


@pytest.mark.parametrize("load", [0.1, 0.5])
def test_a_database_below_its_capacity_reads_its_load_above_its_base(load: float) -> None:
    cpu = shown(core.N_CPU, database(100.0, load, cpu_base_share=0.2))
    used = (cpu - 0.2) / 0.8
    assert used.mean() == pytest.approx(load, abs=6.0 * load / np.sqrt(load * 100.0 * cpu.size) + 0.002)
    assert used.min() >= -1e-9


def test_sgws_throttle_sets_in_at_a_small_mme_that_is_overloaded() -> None:
    """Release 10 at 20 messages/s: the factor that the MME names holds from its overload on."""
    ddn = {"rate_per_s": 0.0, "by_mme": True, "factor_percent": 50.0, "delay_s": 2.0}
    assert (shown(core.N_DDN_FACTOR, mme(20.0, 1.5) | {"ddn": ddn}) == 50.0).all()
