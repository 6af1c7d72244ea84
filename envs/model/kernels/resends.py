"""SCTP messages that are sent again although nothing was lost, because RTO runs out before the acknowledgement."""

import math

from numba import njit

from signalstorm.envs.model.kernels.layout import (
    L_ACK_DELAY,
    L_COUNT,
    L_RESENT,
    L_RTO,
    L_STALLED,
    L_SUM_TX,
    L_TX_BEFORE,
    P_LINK,
)
from signalstorm.envs.model.kernels.memory import block


@njit(error_model="numpy")
def count_resends(base, plan, link, tile):
    """Count a link's needless resends in this step.

    A peer acknowledges every second message at once, a lone one after its delay d (RFC 9260 6.2). T3 of the first of
    a pair runs out before that with probability exp(-n RTO), where n messages come per step and RTO <= d; a pair, or
    a lone message, is 2 - exp(-n d) messages. Resends use nothing that the model counts: the peer drops copies.
    """
    k = block(base, plan[P_LINK] + link * L_COUNT * len(tile), L_COUNT, tile)
    hasty = 0
    for b in range(len(tile)):
        hasty += k[L_RTO, b] <= k[L_ACK_DELAY, b]
    if hasty == 0:
        return
    for b in range(len(tile)):
        sent = k[L_SUM_TX, b] - k[L_TX_BEFORE, b]
        k[L_TX_BEFORE, b] = k[L_SUM_TX, b]
        if (k[L_RTO, b] <= k[L_ACK_DELAY, b]) & (k[L_STALLED, b] == 0.0):
            k[L_RESENT, b] += sent * math.exp(-sent * k[L_RTO, b]) / (2.0 - math.exp(-sent * k[L_ACK_DELAY, b]))
