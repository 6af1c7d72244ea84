"""Where the links' rows lie: in banks, so that a loop runs over links and storms at once."""

from numba import njit

from signalstorm.envs.model.kernels.draws import SCRATCH_COUNT
from signalstorm.envs.model.kernels.layout import L_COUNT, P_LINK, P_LINK_MASK, P_LINK_RING, P_LINK_SCRATCH
from signalstorm.envs.model.kernels.memory import area, bank, links_per_bank


@njit(inline="always")
def link_rows(base, plan, first, tile):
    """View the rows of the links from ``first`` on, up to the end of its bank."""
    size = links_per_bank(tile)
    at = first // size * L_COUNT * size + first % size
    return area(base, plan, P_LINK, at * len(tile), L_COUNT, bank(tile))


@njit(inline="always")
def link_scratch(base, plan, first, tile):
    """View their rows of scratch; what a draw leaves there is theirs until the next."""
    size = links_per_bank(tile)
    at = first // size * SCRATCH_COUNT * size + first % size
    return area(base, plan, P_LINK_SCRATCH, at * len(tile), SCRATCH_COUNT, bank(tile))


@njit(inline="always")
def link_ring(base, plan, first, tile):
    """View their rings of admissions."""
    slots = plan[P_LINK_MASK] + 1
    size = links_per_bank(tile)
    at = first // size * slots * size + first % size
    return area(base, plan, P_LINK_RING, at * len(tile), slots, bank(tile))
