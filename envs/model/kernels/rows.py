"""What is done to several rows at once, as one loop: over the rows of a storm alone, over rows and storms of many.

A loop over a row of one storm is no loop, and what the compiler knows of overlaps it learns once per loop. A storm
alone keeps its factors in registers; one of many reads them beside the row.
"""

from numba import njit

_BLOCK = 5
"""Rows that are added up before they are added to the sum, so that few additions wait for one another."""


@njit(inline="always")
def clear(rows, first, count, tile):
    """Set ``count`` rows to zero."""
    for i in range(count * len(tile)):
        rows[first, i] = 0.0


@njit(inline="always")
def add_rows(to, into, rows, first, count, tile):
    """Add ``count`` rows to as many."""
    for i in range(count * len(tile)):
        to[into, i] += rows[first, i]


@njit(inline="always")
def add_up(rows, count, into, row, tile):
    """Add the first ``count`` rows up, into one row.

    What is left over after whole blocks is a block as well, so rows of zeros beyond ``count`` would change nothing: how
    many rows are in use depends on the other storms of a tile.
    """
    whole = count - count % _BLOCK
    if len(tile) == 1:
        total = 0.0
        for k in range(0, whole, _BLOCK):
            total += (((rows[k, 0] + rows[k + 1, 0]) + rows[k + 2, 0]) + rows[k + 3, 0]) + rows[k + 4, 0]
        left = 0.0
        for k in range(whole, count):
            left += rows[k, 0]
        into[row, 0] = total + left
        return
    for b in range(len(tile)):
        into[row, b] = 0.0
    for k in range(0, whole, _BLOCK):
        for b in range(len(tile)):
            into[row, b] += (((rows[k, b] + rows[k + 1, b]) + rows[k + 2, b]) + rows[k + 3, b]) + rows[k + 4, b]
    if count - whole == 1:
        for b in range(len(tile)):
            into[row, b] += rows[whole, b]
    elif count - whole == 2:
        for b in range(len(tile)):
            into[row, b] += rows[whole, b] + rows[whole + 1, b]
    elif count - whole == 3:
        for b in range(len(tile)):
            into[row, b] += (rows[whole, b] + rows[whole + 1, b]) + rows[whole + 2, b]
    elif count - whole == 4:
        for b in range(len(tile)):
            into[row, b] += ((rows[whole, b] + rows[whole + 1, b]) + rows[whole + 2, b]) + rows[whole + 3, b]
