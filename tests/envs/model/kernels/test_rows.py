"""Several rows in one loop: a storm alone and one among many come to the same bits."""

import math

import numpy as np
import numpy.typing as npt
import pytest
from numba import njit

from signalstorm.envs.model.kernels.memory import Tile, block
from signalstorm.envs.model.kernels.rows import add_rows, add_up, clear

ROWS = 13
"""Two blocks of five and three single rows."""


@njit(error_model="numpy")
def _work(base, count, tile):  # type: ignore[no-untyped-def]
    """Rows 0 to 12 are data; 13: their sum; 14 to 26: twice the data; the data's first rows are emptied at last."""
    rows = block(base, 0, ROWS, tile)
    rest = block(base, ROWS * len(tile), ROWS + 1, tile)
    add_up(rows, count, rest, 0, tile)
    add_rows(rest, 1, rows, 0, ROWS, tile)
    add_rows(rest, 1, rows, 0, ROWS, tile)
    clear(rows, 0, count, tile)


def _run(data: npt.NDArray[np.float64], count: int) -> npt.NDArray[np.float64]:
    memory = np.concatenate([data, np.zeros((ROWS + 1, data.shape[1]))])
    memory[ROWS] = 7.0  # what was there before is no part of the sum
    _work(memory.ctypes.data, count, Tile(data.shape[1]))
    return memory


@pytest.mark.parametrize("count", range(ROWS))
def test_rows_of_zeros_beyond_change_no_bit_of_a_sum(count: int) -> None:
    """Other storms of a tile may use more rows than a storm alone."""
    data = np.random.default_rng(count).exponential(10.0 ** np.arange(ROWS)[:, None] / 1e6, (ROWS, 8))
    data[count:] = 0.0
    for width in (1, 8):
        part = data[:, :width].copy()
        np.testing.assert_array_equal(_run(part, count)[ROWS], _run(part, ROWS)[ROWS])


@pytest.mark.parametrize("count", [0, 3, 5, 12, ROWS])
def test_rows_add_up_alone_as_they_do_among_many(count: int) -> None:
    data = np.random.default_rng(count).exponential(10.0 ** np.arange(ROWS)[:, None] / 1e6, (ROWS, 8))
    many = _run(data, count)
    for b in range(8):
        np.testing.assert_array_equal(_run(data[:, b : b + 1].copy(), count)[:, 0], many[:, b])
        assert many[ROWS, b] == pytest.approx(math.fsum(data[:count, b]), rel=1e-15 * ROWS)
    np.testing.assert_array_equal(many[ROWS + 1 :], 2.0 * data)
    assert (many[:count] == 0.0).all()
    np.testing.assert_array_equal(many[count:ROWS], data[count:])
