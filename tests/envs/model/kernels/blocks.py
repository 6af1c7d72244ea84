"""The building blocks of the kernel on their own: a tile of memory, and a compiled loop around each block."""

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from signalstorm.envs.model.kernels.draws import D_DRAW, D_MEAN, SCRATCH_COUNT, draw_poisson
from signalstorm.envs.model.kernels.layout import (
    P_COUNT,
    P_SCRATCH,
    P_STORM,
    Q_ADMITTED_SUM,
    Q_CAPACITY,
    Q_COUNT,
    Q_DRAW,
    Q_EXPIRED,
    Q_FRESH,
    Q_IN,
    Q_LATER_IN,
    Q_OVER,
    Q_PATIENCE,
    Q_SERVED_SUM,
    Q_TAKEN,
    S_COUNT,
    S_SEED_HIGH,
    S_SEED_LOW,
    S_STEP,
    STREAMS,
)
from signalstorm.envs.model.kernels.memory import Tile, block, table
from signalstorm.envs.model.kernels.queue import advance, collect
from signalstorm.envs.model.kernels.wheel import fire, put
from signalstorm.envs.model.storms import storm_key

Floats = npt.NDArray[np.float64]

TOTALS = ("fresh", "expired", "taken", "over", "waiting")


def poisson(
    means: Floats,
    storms: list[int],
    *,
    steps: int,
    first: int = 0,
    element: int = 9,
    stream: int = 0,
    keys: list[tuple[int, int]] | None = None,
) -> Floats:
    """Draws of one element and stream, shape (steps, storms); one mean per storm, and its key if not the usual one."""
    width = len(storms)
    plan = np.zeros(P_COUNT, np.int64)
    plan[P_STORM] = SCRATCH_COUNT * width
    plan[P_SCRATCH] = 0
    memory = np.zeros((SCRATCH_COUNT + S_COUNT, width))
    halves = np.array(keys or [storm_key(number) for number in storms], np.float64)
    memory[SCRATCH_COUNT + S_SEED_LOW] = halves[:, 0]
    memory[SCRATCH_COUNT + S_SEED_HIGH] = halves[:, 1]
    out = np.zeros((steps, width))
    _draw_all(memory.ctypes.data, plan, np.asarray(means, float), first, element * STREAMS + stream, out, Tile(width))
    return out


def _draw_loop(base: Any, plan: Any, means: Any, first: Any, element: Any, out: Any, tile: Any) -> None:
    d = block(base, plan[P_SCRATCH], SCRATCH_COUNT, tile)
    storm = block(base, plan[P_STORM], S_COUNT, tile)
    for i in range(len(out)):
        for b in range(len(tile)):
            d[D_MEAN, b] = means[b]
            storm[S_STEP, b] = first + i
        draw_poisson(base, table(plan), element, tile)
        for b in range(len(tile)):
            out[i, b] = d[D_DRAW, b]


def queue(
    inflow: Floats, draws: Floats, patience: Floats, capacity: Floats, *, purging: bool, mask: int, stages: int = 1
) -> tuple[dict[str, Floats], Floats, Floats]:
    """Run deadline queues side by side.

    Args:
        inflow: Payload offered, shape (steps, storms, payload): one part per stage; the last number of each part is
            no count.
        draws: What can be served, shape (steps, storms).
        patience: Age at which an entry times out [steps], shape (steps, storms).
        capacity: Entries that fit, shape (steps, storms).
        purging: Whether what times out leaves.
        mask: Ring length less one.
        stages: Transactions at this queue; those after the first follow one of its answers.

    Returns:
        Totals by name, shape (steps, storms); the payload served in time and the payload timed out,
        shape (steps, storms, payload).
    """
    steps, width, payload = inflow.shape
    length = mask + 1
    memory = np.zeros(width * (Q_COUNT + length + length * payload + payload + 2 * payload))
    totals = np.zeros((len(TOTALS), steps, width))
    out = np.zeros((steps, width, 2, payload))
    _queue_all(memory.ctypes.data, mask, purging, stages, inflow, draws, patience, capacity, totals, out, Tile(width))
    return dict(zip(TOTALS, totals, strict=True)), out[:, :, 0], out[:, :, 1]


def _queue_loop(
    base: Any,
    mask: Any,
    purging: Any,
    stages: Any,
    inflow: Any,
    draws: Any,
    patience: Any,
    capacity: Any,
    totals: Any,
    out: Any,
    tile: Any,
) -> None:
    width = len(tile)
    payload = inflow.shape[2]
    stage = payload // stages
    ring = Q_COUNT * width
    lines = ring + (mask + 1) * width
    offered = lines + (mask + 1) * width * payload
    leaves = offered + width * payload
    q = block(base, 0, Q_COUNT, tile)
    arrive = block(base, offered, payload, tile)
    leave = block(base, leaves, 2 * payload, tile)
    for step in range(len(inflow)):
        for b in range(width):
            q[Q_IN, b] = 0.0
            q[Q_LATER_IN, b] = 0.0
            for k in range(payload):
                arrive[k, b] = inflow[step, b, k]
                if k % stage < stage - 1:
                    q[Q_IN, b] += inflow[step, b, k]
                    q[Q_LATER_IN, b] += inflow[step, b, k] if k >= stage else 0.0
            q[Q_DRAW, b] = draws[step, b]
            q[Q_PATIENCE, b] = patience[step, b]
            q[Q_CAPACITY, b] = capacity[step, b]
        advance(base, 0, ring, mask, step, purging, tile)
        collect(base, 0, ring, lines, mask, step, stage, payload, payload - 1, offered, leaves, tile)
        for b in range(width):
            for i in range(2):
                for k in range(payload):
                    out[step, b, i, k] = leave[i * payload + k, b]
            totals[0, step, b] = q[Q_FRESH, b]
            totals[1, step, b] = q[Q_EXPIRED, b]
            totals[2, step, b] = q[Q_TAKEN, b]
            totals[3, step, b] = q[Q_OVER, b]
            totals[4, step, b] = q[Q_ADMITTED_SUM, b] - q[Q_SERVED_SUM, b]


def wheel(
    puts: list[tuple[int, int, float, int, int]], *, steps: int, lanes: int, end: int, mask: int
) -> tuple[Floats, Floats]:
    """Run a timer wheel of one storm.

    Args:
        puts: Step, lane, owners, and the delays ``low`` and ``high`` [steps] of each insertion, in order of time.
        steps: Steps to run.
        lanes: Lanes of the wheel.
        end: Step of the horizon.
        mask: Ring length less one.

    Returns:
        Owners fired, shape (steps, lanes), and the owners that still wait, shape (lanes,).
    """
    memory = np.zeros(lanes * (mask + 1 + 3))
    fired = np.zeros((steps, lanes))
    table = np.array(puts, float).reshape(-1, 5)
    _wheel_all(memory.ctypes.data, mask, end, table, fired, Tile(1))
    return fired, memory[lanes * (mask + 2) : lanes * (mask + 3)].copy()


def _wheel_loop(base: Any, mask: Any, end: Any, puts: Any, fired: Any, tile: Any) -> None:
    steps, lanes = fired.shape
    level = lanes * (mask + 1)
    stock = level + lanes
    out = stock + lanes
    row = block(base, out, lanes, tile)
    following = 0
    for step in range(steps):
        fire(base, 0, mask, level, stock, step, lanes, lanes, out, tile)
        for lane in range(lanes):
            fired[step, lane] = row[lane, 0]
        while following < len(puts) and puts[following, 0] == step:
            lane, n = int(puts[following, 1]), puts[following, 2]
            low, high = int(puts[following, 3]), int(puts[following, 4])
            put(base, 0, mask, stock, step, end, lanes, 0, lane, n, low, high, tile)
            following += 1


_draw_all = njit(cache=True)(_draw_loop)
_queue_all = njit(cache=True)(_queue_loop)
_wheel_all = njit(cache=True)(_wheel_loop)
