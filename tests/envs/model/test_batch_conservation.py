"""Nothing is lost and nothing appears: subscribers, requests and queue entries, in every step of every scenario."""

import numpy as np
import numpy.typing as npt
import pytest

from signalstorm.envs.model.batch import Batch
from signalstorm.envs.model.kernels import core_layout, layout
from signalstorm.envs.model.parameters import setting_matrix
from signalstorm.envs.model.procedures import REFRESH_GPRS
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.model.scenario_file import list_names, load
from signalstorm.envs.model.storms import storm
from tests.envs.model.kernels.oddities import CROWD, ODDITIES, TWO_CLASSES, everything
from tests.envs.model.kernels.worlds import world

Floats = npt.NDArray[np.float64]

LIMIT = 1e-9
ROUNDING = 1e-12
"""Share of the population by which a small class beside a large one may be off."""
STORMS = 5
MANY = 200_000
"""Steps from which two storms, one after another, are enough."""


def batch_of(scenario: Scenario, *, vary: bool = False, storms: int = STORMS) -> Batch:
    scenarios = [storm(scenario, number, vary=vary) for number in range(storms)]
    return Batch(scenarios, range(storms), setting_matrix([{}], scenario), check=True)


def stocks(batch: Batch) -> dict[str, Floats]:
    """Where the subscribers are, read from the tiles themselves; shape (rows, classes of the scenario)."""
    table = batch.plan.table
    parts = int(table[layout.P_CLASSES])
    at = int(table[layout.P_CLASS_TABLE])
    groups = [int(table[at + part * layout.PC_COUNT + layout.PC_GROUP]) for part in range(parts)]
    cohorts = [groups[part] for part, _ in batch.plan.cohorts]
    places = {
        "registered": (layout.P_REGISTERED, groups),
        "idle": (layout.P_IDLE, groups),
        "long timer": (layout.P_LONG_STOCK, groups),
        "short timer": (layout.P_SHORT_STOCK, cohorts),
        "procedure": (layout.P_PROC, cohorts),
    }
    if batch.scenario.topology.links is not None:
        places["flagged"] = (layout.P_FLAGGED, groups)
    offsets = {name: (int(table[row]), owners) for name, (row, owners) in places.items()}
    if batch.core:
        offsets["held"] = (int(table[int(table[layout.P_CORE]) + core_layout.X_HELD]), groups)
    found = {}
    for name, (offset, owners) in offsets.items():
        numbers = batch._take(batch._rows(offset, len(owners)))
        mine = [[owner == group for owner in owners] for group in range(len(batch.scenario.subscribers))]
        found[name] = np.stack([numbers[rows].sum(axis=0) for rows in mine], axis=1)
    if "flagged" in found:
        found["refreshing"] = np.sum([refreshing(batch, message) for message in range(len(REFRESH_GPRS))], axis=0)
    return found


def refreshing(batch: Batch, message: int) -> Floats:
    """Who waits for the answer to a message of a location refresh; shape (rows, classes)."""
    table = batch.plan.table
    share = len(batch.plan.cohorts) + 1
    pool = int(table[layout.P_POOL]) + (int(table[layout.P_ATTACH_MESSAGES]) + message) * share * batch.plan.tile
    return batch._take(batch._rows(pool, int(table[layout.P_CLASSES]))).T


def assert_conserved(batch: Batch) -> None:
    sizes = np.array([group.size for group in batch.scenario.subscribers], float)
    found = stocks(batch)
    np.testing.assert_allclose(
        sum(found.values()), np.tile(sizes, (batch.size, 1)), rtol=LIMIT, atol=ROUNDING * sizes.sum()
    )
    for name, stock in found.items():
        assert (stock >= -LIMIT * sizes - ROUNDING * sizes.sum()).all(), name
    k = batch._take(batch._rows(int(batch.plan.table[layout.P_KPI]), layout.K_COUNT))
    before = (
        k[layout.K_DROPPED] + k[layout.K_REFUSED_CONGESTION] + k[layout.K_REFUSED_GATE_FAILURE] + k[layout.K_EXPIRED]
    ) + k[layout.K_OVERLOAD]
    behind = k[layout.K_SUCCESSES] + k[layout.K_REFUSED_NETWORK] + k[layout.K_LATE]
    held = found["procedure"].sum(axis=1)
    np.testing.assert_allclose(before + behind + held, k[layout.K_ATTEMPTS], rtol=LIMIT, atol=1e-6)
    if batch.plan.has_gate:
        in_gate = batch._take(batch._rows(batch.plan.queue_offset("gate"), layout.Q_COUNT))
        waiting = in_gate[layout.Q_ADMITTED_SUM] - in_gate[layout.Q_SERVED_SUM]
        np.testing.assert_allclose(before + waiting + k[layout.K_ADMITTED], k[layout.K_ATTEMPTS], rtol=LIMIT, atol=1e-6)
    served = sum(found[name].sum(axis=1) for name in ("registered", "flagged", "refreshing") if name in found)
    np.testing.assert_allclose(served, sizes.sum() - k[layout.K_WITHOUT], rtol=LIMIT, atol=1e-6)
    assert (k[layout.K_ERROR] < LIMIT).all()


SCENARIOS = {**{name: load(name) for name in list_names()}, **ODDITIES}


@pytest.mark.parametrize("name", SCENARIOS)
def test_everybody_is_somewhere_at_every_step(name: str) -> None:
    """The kernel looks in every step; here the tiles are summed up independently once in a while."""
    scenario = SCENARIOS[name]
    batch = batch_of(scenario, storms=STORMS if scenario.horizon_s / scenario.dt < MANY else 2)
    while batch.step < batch.end:
        batch.run(round(scenario.horizon_s / 20.0 / batch.dt))
        assert_conserved(batch)
    assert (batch.counters()[layout.K_ERROR] < LIMIT).all()
    assert (batch.counters()[layout.K_ATTEMPTS] > 0).all()


def test_storms_that_vary_are_conserved() -> None:
    batch = batch_of(everything(), vary=True, storms=40)
    batch.run()
    assert (batch.counters()[layout.K_ERROR] < LIMIT).all()


def test_125_million_subscribers_are_conserved() -> None:
    groups = [{**group, "size": size} for group, size in zip(TWO_CLASSES, (100_000_000, 25_000_000), strict=True)]
    batch = batch_of(everything(subscribers=groups, demand={"rate_per_s": 1e5}))
    for _ in range(20):
        batch.run(round(10.0 / batch.dt))
        assert_conserved(batch)


def test_settings_that_change_in_mid_run_conserve() -> None:
    """A controller that moves every knob every second, patience of gate and gateway included."""
    scenario = everything()
    choices = setting_matrix(
        [
            {"nop_rate": rate, "nop_wait_s": wait, "nop_action": action, "t3346_s": back_off, "diameter_tx_s": tx}
            for rate, wait, action, back_off, tx in (
                (50, 1, "drop", 0, 1),
                (60, 15, "reject-congestion", 30, 3),
                (400, 5, "reject-network-failure", 0, 2),
                ("off", 5, "drop", 0, 3),
            )
        ],
        scenario,
    )
    rng = np.random.default_rng(11)
    longest = {"nop_wait_s": 15.0, "t3346_s": 30.0, "diameter_tx_s": 3.0}
    batch = Batch([scenario] * 8, range(8), choices[[0]], check=True, longest=longest)
    while batch.step < batch.end:
        batch.run(round(1.0 / batch.dt))
        assert_conserved(batch)
        batch.set_settings(choices[rng.integers(0, len(choices), 8)])


def half_way() -> Batch:
    """In the middle of a storm whose queues are full, with everything checked."""
    topology = {"gate": {}, "gateway": {"tx_s": 2.0}, "pcrf": {"rate_per_s": 50.0, "buffer": 117, "overflow": "refuse"}}
    batch = batch_of(world(**CROWD, topology=topology), storms=2)
    batch.run(round(8.0 / batch.dt))
    assert (batch.counters()[layout.K_ERROR] < LIMIT).all()
    return batch


def noticed(batch: Batch) -> list[bool]:
    batch.run(1)
    return [bool(error > LIMIT) for error in batch.counters()[layout.K_ERROR]]


def test_an_intact_storm_is_not_accused() -> None:
    assert noticed(half_way()) == [False, False]


@pytest.mark.parametrize(
    "stock", [layout.P_REGISTERED, layout.P_IDLE, layout.P_LONG_STOCK, layout.P_PROC, layout.P_SHORT_STOCK]
)
def test_a_subscriber_too_many_is_noticed(stock: int) -> None:
    """One thousandth of a subscriber in the second storm, and the first stays innocent."""
    batch = half_way()
    batch._memory[1, int(batch.plan.table[stock])] += 1e-3
    assert noticed(batch) == [False, True]


@pytest.mark.parametrize("queue", ["gate", "pcrf"])
@pytest.mark.parametrize("row", [layout.Q_ADMITTED_SUM, layout.Q_SERVED_SUM, layout.Q_SUM_OFFERED, layout.Q_SUM_OVER])
def test_a_queue_entry_too_many_is_noticed(queue: str, row: int) -> None:
    batch = half_way()
    batch._memory[1, batch.plan.queue_offset(queue) + row] += 1.0
    assert noticed(batch) == [False, True]


def test_a_wrong_mixture_is_noticed() -> None:
    """Payload lines that name more owners than there are entries; the queue's own counts are right."""
    batch = half_way()
    server = batch.plan.servers.index("pcrf")
    lines = batch.plan.server_entry(server, layout.PS_LINES)
    length = (batch.plan.server_entry(server, layout.PS_MASK) + 1) * batch.plan.server_entry(server, layout.PS_WIDTH)
    batch._memory[1, lines : lines + length] *= 1.5
    assert noticed(batch) == [False, True]
