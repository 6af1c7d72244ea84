"""How an STP shares its load out over its links: new messages one way, answers the other."""

from numba import njit

from signalstorm.envs.model.kernels.banks import link_rows
from signalstorm.envs.model.kernels.layout import (
    L_BACK,
    L_CONGESTED,
    L_DOWN,
    L_IN,
    L_LOGGED,
    L_LOSS,
    L_SERVED,
    L_SHARE,
    L_SUM_RX,
    L_SUM_RX_BASE,
    P_LINKS,
    P_LINKS_PER_STP,
    P_STORM,
    S_ALARM,
    S_ANSWER_LOSS,
    S_COUNT,
    S_FREE,
    S_LOSS,
    S_SETTLED,
    S_STPS,
    S_TOTAL,
    S_UP,
    S_WORKING,
)
from signalstorm.envs.model.kernels.memory import area, links_per_bank


@njit(error_model="numpy")
def settle(base, plan, tile):
    """Note what each link gets of new messages and of answers; that holds until an alarm or a link changes.

    New messages: equally over the STPs, there over the links without alarm, over all in service if none is. A link that
    is out of service gets nothing; an STP without any link in service leaves its part to the others. An STP's answers:
    evenly over its links that work, congested or not; on congested ones some are lost.
    """
    size = plan[P_LINKS_PER_STP]
    storm = area(base, plan, P_STORM, 0, S_COUNT, tile)
    if _all_up(base, plan, tile):
        _settle_all_up(base, plan, tile)
        return
    for b in range(len(tile)):
        storm[S_STPS, b] = 0.0
        storm[S_ALARM, b] = 0.0
        storm[S_SETTLED, b] = 1.0
    for first in range(0, plan[P_LINKS], size):
        for b in range(len(tile)):
            storm[S_UP, b] = 0.0
        for link in range(first, first + size):
            k = link_rows(base, plan, link, tile)
            for b in range(len(tile)):
                storm[S_UP, b] += 1.0 if k[L_DOWN, b] != 1.0 else 0.0
                storm[S_ALARM, b] += k[L_LOGGED, b]
        for b in range(len(tile)):
            storm[S_STPS, b] += 1.0 if storm[S_UP, b] > 0.0 else 0.0
    for first in range(0, plan[P_LINKS], size):
        for b in range(len(tile)):
            storm[S_UP, b] = 0.0
            storm[S_FREE, b] = 0.0
            storm[S_WORKING, b] = 0.0
            storm[S_LOSS, b] = 0.0
        for link in range(first, first + size):
            k = link_rows(base, plan, link, tile)
            for b in range(len(tile)):
                up = 1.0 if k[L_DOWN, b] != 1.0 else 0.0
                works = 1.0 if k[L_DOWN, b] == 0.0 else 0.0
                storm[S_UP, b] += up
                storm[S_FREE, b] += up * (1.0 - k[L_CONGESTED, b])
                storm[S_WORKING, b] += works
                storm[S_LOSS, b] += works * k[L_CONGESTED, b]
        for b in range(len(tile)):
            free = storm[S_FREE, b]
            takers = free if free > 0.0 else max(storm[S_UP, b], 1.0)
            storm[S_UP, b] = 1.0 / (takers * max(storm[S_STPS, b], 1.0))
            storm[S_WORKING, b] = 1.0 / max(storm[S_WORKING, b], 1.0)
            storm[S_LOSS, b] *= storm[S_ANSWER_LOSS, b] * storm[S_WORKING, b]
        for link in range(first, first + size):
            k = link_rows(base, plan, link, tile)
            for b in range(len(tile)):
                calm = 1.0 - k[L_CONGESTED, b]
                takes = calm if storm[S_FREE, b] > 0.0 else 1.0
                up = 1.0 if k[L_DOWN, b] != 1.0 else 0.0
                works = 1.0 if k[L_DOWN, b] == 0.0 else 0.0
                k[L_SHARE, b] = up * takes * storm[S_UP, b]
                k[L_BACK, b] = works * (1.0 - storm[S_ANSWER_LOSS, b] * k[L_CONGESTED, b]) * storm[S_WORKING, b]
                k[L_LOSS, b] = storm[S_LOSS, b]


@njit(inline="always")
def _all_up(base, plan, tile):
    """Tell whether no link of any storm is down."""
    links = plan[P_LINKS]
    size = links_per_bank(tile)
    down = 0
    for first in range(0, links, size):
        k = link_rows(base, plan, first, tile)
        for i in range(min(size, links - first) * len(tile)):
            down += k[L_DOWN, i] != 0.0
    return down == 0


@njit(inline="always")
def _settle_all_up(base, plan, tile):
    """Do as `settle` does with every link in service: half the work, and nearly always enough."""
    size = plan[P_LINKS_PER_STP]
    links = plan[P_LINKS]
    storm = area(base, plan, P_STORM, 0, S_COUNT, tile)
    working = 1.0 / size
    for b in range(len(tile)):
        storm[S_STPS, b] = links // size
        storm[S_ALARM, b] = 0.0
        storm[S_SETTLED, b] = 1.0
    for first in range(0, links, size):
        for b in range(len(tile)):
            storm[S_LOSS, b] = 0.0
        for link in range(first, first + size):
            k = link_rows(base, plan, link, tile)
            for b in range(len(tile)):
                storm[S_ALARM, b] += k[L_LOGGED, b]
                storm[S_LOSS, b] += k[L_CONGESTED, b]
        for b in range(len(tile)):
            free = size - storm[S_LOSS, b]
            storm[S_FREE, b] = free
            storm[S_UP, b] = 1.0 / ((free if free > 0.0 else size) * storm[S_STPS, b])
            storm[S_LOSS, b] *= storm[S_ANSWER_LOSS, b] * working
        for link in range(first, first + size):
            k = link_rows(base, plan, link, tile)
            for b in range(len(tile)):
                congested = k[L_CONGESTED, b]
                takes = 1.0 - congested if storm[S_FREE, b] > 0.0 else 1.0
                k[L_SHARE, b] = takes * storm[S_UP, b]
                k[L_BACK, b] = (1.0 - storm[S_ANSWER_LOSS, b] * congested) * working
                k[L_LOSS, b] = storm[S_LOSS, b]


@njit(inline="always")
def offer(base, plan, tile):
    """Share this step's messages out."""
    storm = area(base, plan, P_STORM, 0, S_COUNT, tile)
    links = plan[P_LINKS]
    if len(tile) == 1:
        total = storm[S_TOTAL, 0]
        size = links_per_bank(tile)
        for start in range(0, links, size):
            k = link_rows(base, plan, start, tile)
            for i in range(min(size, links - start)):
                k[L_IN, i] = k[L_SHARE, i] * total
        return
    for link in range(links):
        k = link_rows(base, plan, link, tile)
        for b in range(len(tile)):
            k[L_IN, b] = k[L_SHARE, b] * storm[S_TOTAL, b]


@njit(inline="always")
def count_answers(base, plan, tile):
    """Count the answers on the links."""
    size = plan[P_LINKS_PER_STP]
    storm = area(base, plan, P_STORM, 0, S_COUNT, tile)
    for first in range(0, plan[P_LINKS], size):
        for b in range(len(tile)):
            storm[S_TOTAL, b] = 0.0
        for link in range(first, first + size):
            k = link_rows(base, plan, link, tile)
            for b in range(len(tile)):
                storm[S_TOTAL, b] += k[L_SERVED, b] - k[L_SUM_RX_BASE, b]
                k[L_SUM_RX_BASE, b] = k[L_SERVED, b]
        for link in range(first, first + size):
            k = link_rows(base, plan, link, tile)
            for b in range(len(tile)):
                k[L_SUM_RX, b] += storm[S_TOTAL, b] * k[L_BACK, b]
