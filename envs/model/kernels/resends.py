"""SCTP messages that are sent again although nothing was lost, because RTO runs out before the acknowledgement."""

import math

from numba import njit

from signalstorm.envs.model.kernels.banks import link_rows
from signalstorm.envs.model.kernels.layout import (
    L_ACK_DELAY,
    L_RESENT,
    L_RTO,
    L_STALLED,
    L_SUM_TX,
    L_TX_BEFORE,
)


@njit(error_model="numpy")
def count_resends(base, plan, first, links, tile):
    """Count the needless resends of ``links`` links from ``first`` on in this step.

    A peer acknowledges every second message at once, a lone one after its delay d (RFC 9260 6.2). T3 of the first of
    a pair runs out before that with probability exp(-n RTO), where n messages come per step and RTO <= d; a pair, or
    a lone message, is 2 - exp(-n d) messages. Resends use nothing that the model counts: the peer drops copies.
    """
    k = link_rows(base, plan, first, tile)
    numbers = links * len(tile)
    hasty = 0
    for i in range(numbers):
        hasty += k[L_RTO, i] <= k[L_ACK_DELAY, i]
    if hasty == 0:
        return
    for i in range(numbers):
        sent = k[L_SUM_TX, i] - k[L_TX_BEFORE, i]
        k[L_TX_BEFORE, i] = k[L_SUM_TX, i]
        if (k[L_RTO, i] <= k[L_ACK_DELAY, i]) & (k[L_STALLED, i] == 0.0):
            k[L_RESENT, i] += sent * math.exp(-sent * k[L_RTO, i]) / (2.0 - math.exp(-sent * k[L_ACK_DELAY, i]))
