"""Columns and rows of tiles for Python: begin a storm where others go on, and read what all of them show."""

from numba import njit


@njit(nogil=True, cache=True, error_model="numpy")
def renew(memory, column, ranges, rows, values):
    """Empty one storm's column, then fill in what it holds before its first step.

    Lines, what an entry of a queue consisted of, need not be emptied: a storm writes its own before it reads any.

    Args:
        memory: A tile's array; shape (rows of the tile, storms per tile).
        column: The storm's column.
        ranges: First row and the first row beyond of what is emptied; shape (ranges, 2).
        rows: Rows that hold something before the first step.
        values: What they hold.
    """
    for i in range(len(ranges)):
        for row in range(ranges[i, 0], ranges[i, 1]):
            if memory[row, column] != 0.0:  # most hold nothing, and a write costs more than a look
                memory[row, column] = 0.0
    for i in range(len(rows)):
        memory[rows[i], column] = values[i]


@njit(nogil=True, cache=True, error_model="numpy")
def gather(memory, offsets, width, out):
    """Copy rows of all tiles; a tenth of the time that fancy indexing takes.

    Args:
        memory: Shape (tiles, numbers per tile).
        offsets: Where the rows begin in a tile.
        width: Storms per tile.
        out: Filled; shape (rows, tiles * width).
    """
    for tile in range(len(memory)):
        for i in range(len(offsets)):
            for b in range(width):
                out[i, tile * width + b] = memory[tile, offsets[i] + b]
