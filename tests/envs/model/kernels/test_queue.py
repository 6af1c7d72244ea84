"""The deadline queue of cumulative counts against a queue of slots."""

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.envs.model.kernels.blocks import TOTALS, queue
from tests.envs.model.kernels.oracles import SlotQueue

Floats = npt.NDArray[np.float64]

ROWS = 3
LONGEST = 12
MASK = 15
COHORTS = 3


def by_slots(
    inflow: Floats, draws: Floats, patience: Floats, capacity: Floats, *, purging: bool, stages: int
) -> tuple[dict[str, Floats], Floats, Floats]:
    """What `queue` returns, from one queue of slots per row."""
    steps, rows, payload = inflow.shape
    totals = {name: np.zeros((steps, rows)) for name in TOTALS}
    served, expired = np.zeros((steps, rows, payload)), np.zeros((steps, rows, payload))
    for b in range(rows):
        slots = SlotQueue(payload, purging=purging, stages=stages)
        for s in range(steps):
            moved = slots.advance(s, inflow[s, b], draws[s, b], int(patience[s, b]), capacity[s, b])
            served[s, b], expired[s, b] = moved.fresh, moved.expired
            totals["fresh"][s, b], totals["expired"][s, b] = slots.entries(moved.fresh), slots.entries(moved.expired)
            totals["taken"][s, b], totals["over"][s, b] = moved.taken, moved.over
            totals["waiting"][s, b] = slots.waiting
    return totals, served, expired


def assert_same(
    inflow: Floats, draws: Floats, patience: Floats, capacity: Floats, *, purging: bool, stages: int = 1
) -> None:
    run = (inflow, draws, patience, capacity)
    totals, served, expired = queue(*run, purging=purging, mask=MASK, stages=stages)
    expected, expected_served, expected_expired = by_slots(*run, purging=purging, stages=stages)
    for name in TOTALS:
        np.testing.assert_allclose(totals[name], expected[name], atol=1e-9, err_msg=name)
    np.testing.assert_allclose(served, expected_served, atol=1e-9, err_msg="served")
    np.testing.assert_allclose(expired, expected_expired, atol=1e-9, err_msg="expired")


def with_times(counts: Floats) -> Floats:
    """Counts of cohorts with, last, the sum of the steps in which they were sent: this step."""
    steps = np.arange(len(counts))[:, None]
    return np.concatenate([counts, (counts.sum(axis=2) * steps)[:, :, None]], axis=2)


def random_run(
    seed: int, steps: int, *, changing: bool = False, shortest: int = 1
) -> tuple[Floats, Floats, Floats, Floats]:
    """Bursts and silences, idle and busy servers, full and empty buffers; one row is a whole-number queue."""
    rng = np.random.default_rng(seed)
    shape = (steps, ROWS)
    load = rng.choice([0.5, 1.0, 2.0], ROWS) * 5.0
    counts = rng.exponential(load[:, None] / COHORTS, (*shape, COHORTS)) * (rng.random((*shape, 1)) < 0.6)
    counts[:, 0] = np.rint(counts[:, 0])
    draws = rng.exponential(5.0, shape) * (rng.random(shape) < 0.8)
    draws[:, 0] = np.rint(draws[:, 0])
    patience = np.repeat(rng.integers(shortest, LONGEST, (1, ROWS)), steps, axis=0)
    capacity = np.repeat(rng.uniform(1.0, 80.0, (1, ROWS)), steps, axis=0)
    if changing:
        moments = np.sort(rng.integers(0, steps, 3))
        for moment in moments:
            patience[moment:] = rng.integers(shortest, LONGEST, ROWS)
            capacity[moment:] = rng.uniform(0.0, 80.0, ROWS)
    return with_times(counts), draws, patience.astype(float), capacity


@pytest.mark.parametrize("purging", [True, False])
@given(seed=st.integers(0, 2**32 - 1), steps=st.integers(1, 70))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_a_queue_of_constant_patience_is_exact(purging: bool, seed: int, steps: int) -> None:
    assert_same(*random_run(seed, steps, shortest=int(purging)), purging=purging)


@pytest.mark.parametrize("purging", [True, False])
@given(seed=st.integers(0, 2**32 - 1), steps=st.integers(1, 70))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_patience_and_capacity_may_change_in_mid_run(purging: bool, seed: int, steps: int) -> None:
    assert_same(*random_run(seed, steps, changing=True, shortest=int(purging)), purging=purging)


@given(seed=st.integers(0, 2**32 - 1), steps=st.integers(1, 70))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_what_follows_an_answer_goes_before_what_is_new(seed: int, steps: int) -> None:
    """Two transactions at one server, its buffer full now and then."""
    inflow, draws, patience, capacity = random_run(seed, steps, changing=True)
    later, _, _, _ = random_run(seed + 1, steps)
    inflow = np.concatenate([inflow, later * np.random.default_rng(seed).random((steps, ROWS, 1))], axis=2)
    assert_same(inflow, draws, patience, capacity, purging=False, stages=2)


def one_row(counts: list[float], draws: float, patience: int, capacity: float = 1e9) -> tuple[Floats, ...]:
    steps = len(counts)
    inflow = with_times(np.repeat(np.array(counts)[:, None, None], ROWS, axis=1))
    full = np.ones((steps, ROWS))
    return inflow, draws * full, patience * full, capacity * full


def test_an_entry_leaves_the_gate_at_its_patience_to_the_step() -> None:
    totals, _, expired = queue(*one_row([8.0] + [0.0] * 9, 1.0, 4), purging=True, mask=MASK)
    np.testing.assert_array_equal(totals["fresh"][:, 0], [0, 1, 1, 1, 0, 0, 0, 0, 0, 0])
    np.testing.assert_array_equal(totals["expired"][:, 0], [0, 0, 0, 0, 5, 0, 0, 0, 0, 0])
    np.testing.assert_array_equal(totals["waiting"][:, 0], [8, 7, 6, 5, 0, 0, 0, 0, 0, 0])
    assert expired[4, 0].tolist() == [5.0, 0.0]


def test_a_zombie_stays_is_served_and_is_wasted() -> None:
    """Eight at once, one served per step, patience 4 steps: the first half times out in step 4, the rest in step 5."""
    totals, served, expired = queue(*one_row([8.0] + [0.0] * 9, 1.0, 4), purging=False, mask=MASK)
    np.testing.assert_array_equal(totals["fresh"][:, 0], [0, 1, 1, 1, 0, 0, 0, 0, 0, 0])
    np.testing.assert_array_equal(totals["expired"][:, 0], [0, 0, 0, 0, 1, 4, 0, 0, 0, 0])
    np.testing.assert_array_equal(totals["waiting"][:, 0], [8, 7, 6, 5, 4, 3, 2, 1, 0, 0])
    assert served[:, 0, 0].sum() + expired[:, 0, 0].sum() == 8.0


def test_no_patience_at_all_serves_nobody_in_time() -> None:
    """A server whose latency is longer than the requester's timer: patience 0."""
    totals, _, expired = queue(*one_row([8.0] * 10, 5.0, 0), purging=False, mask=MASK)
    assert not totals["fresh"].any()
    np.testing.assert_array_equal(expired[1:, 0, 0], 8.0)


def test_dead_entries_take_their_place_in_the_buffer() -> None:
    run = one_row([10.0] + [10.0] * 9, 1.0, 2, capacity=10.0)
    zombie, _, _ = queue(*run, purging=False, mask=MASK)
    purging, _, _ = queue(*run, purging=True, mask=MASK)
    assert zombie["taken"][1:, 0].max() == 1.0
    assert purging["taken"][2:, 0].max() == 10.0


def test_order_of_arrival_keeps_each_steps_mixture() -> None:
    """Cohort 0 in step 0 and cohort 1 in step 1 leave in that order, with the time of sending."""
    counts = np.zeros((8, ROWS, 2))
    counts[0, :, 0] = 3.0
    counts[1, :, 1] = 2.0
    full = np.ones((8, ROWS))
    _, served, _ = queue(with_times(counts), full, 10 * full, 99 * full, purging=True, mask=MASK)
    np.testing.assert_allclose(served[:, 0, 0], [0, 1, 1, 1, 0, 0, 0, 0])
    np.testing.assert_allclose(served[:, 0, 1], [0, 0, 0, 0, 1, 1, 0, 0])
    np.testing.assert_allclose(served[:, 0, 2], [0, 0, 0, 0, 1, 1, 0, 0])


@pytest.mark.parametrize("purging", [True, False])
def test_littles_law(purging: bool) -> None:
    """The sum of the queue's length over all steps is the sum of the waits of all that left it."""
    inflow, draws, patience, capacity = random_run(5, 400)
    inflow[300:] = 0.0
    patience[:] = 9.0
    totals, served, expired = queue(inflow, draws, patience, capacity, purging=purging, mask=MASK)
    gone = served + expired
    left = gone[:, :, :-1].sum(axis=2)
    waits = (left * np.arange(400.0)[:, None] - gone[:, :, -1]).sum(axis=0)
    live = np.cumsum(totals["taken"] - left, axis=0)
    assert (live[-1] < 1e-9).all()
    np.testing.assert_allclose(waits, live.sum(axis=0), rtol=1e-9)
    if purging:
        np.testing.assert_allclose(live, totals["waiting"], atol=1e-9)
    else:
        assert (live <= totals["waiting"] + 1e-9).all()
