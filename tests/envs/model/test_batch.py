"""One storm is one storm: the same bits alone or in a batch, on any threads, in any process, in one call or many."""

import hashlib
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from signalstorm.envs.model.batch import Batch
from signalstorm.envs.model.kernels import layout
from signalstorm.envs.model.parameters import setting_matrix
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.model.scenario_file import load
from signalstorm.envs.model.storms import storm
from tests.envs.model.kernels.oddities import everything, whole_core

Floats = npt.NDArray[np.float64]

SETTINGS: list[Mapping[str, Any]] = [
    {"nop_rate": 50, "nop_wait_s": 5, "nop_action": "drop"},
    {"nop_rate": "off"},
    {"nop_rate": 60, "nop_wait_s": 2, "nop_action": "reject-congestion", "t3346_s": 20},
    {"nop_rate": 400, "nop_wait_s": 1, "nop_action": "reject-network-failure", "diameter_tx_s": 3},
]
ROWS = 64


def scenario_of(name: str) -> Scenario:
    made = {"everything": everything, "whole-core": whole_core}
    return made[name]() if name in made else load(name)


def bits(batch: Batch) -> list[Floats]:
    """All that a batch tells; for each array the last axis is the storm."""
    names = [name for name in batch.plan.queues if batch.plan.queue_offset(name) >= 0]
    dra = batch.scenario.topology.dra
    peers = [batch.peer_block(p) for p in range(len(dra.peers))] if dra else []
    core = [batch.core_block()] if batch.core else []
    return [batch.counters(), batch.records(), *(batch.queue(name) for name in names), *core, *peers]


def assert_same(one: Sequence[Floats], other: Sequence[Floats]) -> None:
    for mine, theirs in zip(one, other, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def crowd(name: str, *, threads: int = 1, tile: int = 32) -> Batch:
    """64 storms, each with its own drawn fields and one of four settings."""
    scenario = scenario_of(name)
    numbers = range(100, 100 + ROWS)
    scenarios = [storm(scenario, number, vary=True) for number in numbers]
    matrix = setting_matrix(SETTINGS, scenario)
    rows = (np.arange(ROWS), np.arange(ROWS) % len(SETTINGS))
    return Batch(scenarios, numbers, matrix, rows=rows, record_s=1.0, threads=threads, tile=tile)


def alone(name: str, row: int) -> Batch:
    """The storm and setting of one row of `crowd`."""
    scenario = scenario_of(name)
    drawn = storm(scenario, 100 + row, vary=True)
    setting = setting_matrix([SETTINGS[row % len(SETTINGS)]], scenario)
    return Batch([drawn], [100 + row], setting, record_s=1.0, tile=1)


@pytest.mark.parametrize("name", ["lab-pcrf", "everything", "whole-core"])
def test_a_row_is_the_storm_alone(name: str) -> None:
    """In its first tile or its second, at the edge or in the middle, beside storms that end sooner or never."""
    together = crowd(name)
    together.run()
    for row in (0, 1, 2, 31, 39, 63):
        single = alone(name, row)
        single.run()
        assert_same([array[..., row : row + 1] for array in bits(together)], bits(single))


@pytest.mark.parametrize("attempts", [5, 4])
def test_a_row_is_the_storm_alone_where_storms_draw_timers_of_their_own(attempts: int) -> None:
    """A storm alone has the same timers as all others of its batch; handsets repeat their requests."""
    nominal = load("incident-2014-randomised")
    limits = {f"subscribers.{group.name}.ladder.attempt_limit": attempts for group in nominal.subscribers}
    scenario = nominal.with_fields(limits)
    drawn = [storm(scenario, number, vary=True) for number in range(100, 132)]
    matrix = setting_matrix([{"nop_action": "reject-congestion"}], scenario)
    together = Batch(drawn, range(100, 132), matrix, rows=(np.arange(32), np.zeros(32)), record_s=60.0)
    together.run()
    assert len({str(each.subscribers[0].ladder) for each in drawn}) == 32
    for row in (0, 7, 31):
        single = Batch([drawn[row]], [100 + row], matrix, record_s=60.0)
        single.run()
        assert single.counters()[layout.K_REFUSED_CONGESTION, 0] > 0.0
        assert_same([array[..., row : row + 1] for array in bits(together)], bits(single))


def test_neighbours_and_position_change_nothing() -> None:
    """The same storm under the same setting in row 5 among others, and in row 40 among itself."""
    scenario = load("lab-pcrf")
    matrix = setting_matrix(SETTINGS, scenario)
    storms = [*range(5), 77, *range(6, 48)]
    settings = [0, 1, 2, 3, 0, 1, *(i % 4 for i in range(42))]
    mixed = Batch([scenario] * 48, storms, matrix, rows=(np.arange(48), np.array(settings)), record_s=1.0)
    same = Batch([scenario] * 48, [77] * 48, matrix[[1]], record_s=1.0)
    for batch in (mixed, same):
        batch.run()
    assert_same([array[..., 5] for array in bits(mixed)], [array[..., 40] for array in bits(same)])


@pytest.mark.parametrize("name", ["lab-pcrf", "everything", "whole-core"])
def test_threads_change_nothing(name: str) -> None:
    one, two = crowd(name, threads=1), crowd(name, threads=2)
    for batch in (one, two):
        batch.run()
    assert_same(bits(one), bits(two))


@pytest.mark.parametrize("name", ["lab-pcrf", "everything", "whole-core"])
def test_one_call_or_many(name: str) -> None:
    """Over the horizon, one call per control interval, and chunks of any length."""
    whole, intervals, chunks = crowd(name), crowd(name), crowd(name)
    whole.run()
    while intervals.step < intervals.end:
        intervals.run(round(intervals.scenario.control_interval_s / intervals.dt))
    lengths = np.random.default_rng(3).integers(1, 700, 10_000)
    for length in lengths:
        chunks.run(int(length))
        if chunks.step == chunks.end:
            break
    assert chunks.step == whole.step == intervals.step == whole.end
    assert_same(bits(whole), bits(intervals))
    assert_same(bits(whole), bits(chunks))


def test_a_storm_alone_in_one_call_or_many() -> None:
    whole, chunks = alone("everything", 2), alone("everything", 2)
    whole.run()
    while chunks.step < chunks.end:
        chunks.run(37)
    assert_same(bits(whole), bits(chunks))


def test_setting_the_same_settings_again_changes_nothing() -> None:
    left, steered = crowd("everything"), crowd("everything")
    left.run()
    while steered.step < steered.end:
        steered.run(round(1.0 / steered.dt))
        steered.set_settings(steered.settings)
    assert_same(bits(left), bits(steered))


def digest() -> str:
    """Of everything that some storms alone and 64 together come to."""
    found = hashlib.sha256()
    for batch in (crowd("everything"), crowd("lab-pcrf", threads=2), alone("lab-pcrf", 1)):
        batch.run()
        for array in bits(batch):
            found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()


def test_processes_agree() -> None:
    code = "from tests.envs.model.test_batch import digest; print(digest())"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    environment["PYTHONHASHSEED"] = "7"
    started = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=environment)
        for _ in range(2)
    ]
    found = [process.communicate()[0].strip() for process in started]
    assert [process.returncode for process in started] == [0, 0]
    assert found == [digest()] * 2


def test_seed_0_is_a_seed_like_any_other() -> None:
    scenario = load("lab-pcrf")
    setting = setting_matrix([{}], scenario)
    runs = [Batch([scenario], [number], setting) for number in (0, 0, 1)]
    for batch in runs:
        batch.run()
    first, again, other = (batch.counters() for batch in runs)
    np.testing.assert_array_equal(first, again)
    assert first[layout.K_ATTEMPTS, 0] != other[layout.K_ATTEMPTS, 0]
    assert first[layout.K_T, 0] != other[layout.K_T, 0]


def test_storms_of_a_batch_differ() -> None:
    scenario = load("lab-pcrf")
    batch = Batch([scenario] * ROWS, range(ROWS), setting_matrix([{}], scenario))
    batch.run()
    assert len(set(batch.counters()[layout.K_ATTEMPTS])) == ROWS


def test_without_chance_all_storms_are_one() -> None:
    scenario = everything(stochastic=False)
    batch = Batch([scenario] * 8, range(8), setting_matrix([{}], scenario))
    batch.run()
    counters = batch.counters()
    np.testing.assert_array_equal(counters, np.repeat(counters[:, :1], 8, axis=1))


def test_a_storm_that_is_over_keeps_its_figures() -> None:
    """Its neighbours go on; counters, queues and records of the finished one stay."""
    batch = crowd("lab-pcrf")
    over_at = np.full(ROWS, -1)
    kept: list[Floats] = [np.zeros((layout.K_COUNT, 0))] * ROWS
    while batch.step < batch.end:
        batch.run(500)
        counters = batch.counters()
        for row in np.flatnonzero(batch.over & (over_at < 0)):
            over_at[row] = batch.step
            kept[row] = counters[:, row]
    assert 0 < (over_at > 0).sum() <= ROWS
    for row in np.flatnonzero(over_at > 0):
        np.testing.assert_array_equal(batch.counters()[:, row], kept[row])
        records = batch.records()[:, :, row]
        after = round(over_at[row] * batch.dt)
        np.testing.assert_array_equal(records[after:], np.repeat(records[-1:], len(records) - after, axis=0))
