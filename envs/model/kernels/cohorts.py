"""Which cohorts a tile uses: what lies beyond them is zero in all of its storms, so no loop goes there."""

from numba import njit

from signalstorm.envs.model.kernels.layout import P_ATTEMPTS, P_STORM, S_COUNT, S_SENDS
from signalstorm.envs.model.kernels.memory import area


@njit(inline="always")
def sends_in_use(base, plan, tile):
    """Return how many sends within an attempt any storm of the tile has come to."""
    return int(area(base, plan, P_STORM, 0, S_COUNT, tile)[S_SENDS, 0])


@njit(inline="always")
def cohorts_in_use(base, plan, tile):
    """Return the number of cohorts in use; gains a factor of two where handsets repeat their requests (GPRS)."""
    return plan[P_ATTEMPTS] * sends_in_use(base, plan, tile)


@njit(inline="always")
def use_send(base, plan, send, tile):
    """Take the cohorts of one more send into use; ``send`` counts from 0."""
    storm = area(base, plan, P_STORM, 0, S_COUNT, tile)
    storm[S_SENDS, 0] = max(storm[S_SENDS, 0], send + 1.0)
