"""SCTP arithmetic: how long an association takes to find out that its path is dead."""


def path_death_s(
    rto_min_ms: float, rto_max_ms: float, retransmissions: int, rto_initial_ms: float | None = None
) -> float:
    """Return the time from the first unanswered transmission to the failure of the path [s].

    Every expiry of T3-rtx doubles RTO up to RTO-max (RFC 9260 6.3.3 E2). The path has failed when the expiries
    in a row *exceed* the limit (8.1, 8.2), so the last of the retransmissions has its own expiry: limit + 1 in all.

    Args:
        rto_min_ms: RTO-min, at which a path with a short round trip works [ms].
        rto_max_ms: RTO-max [ms].
        retransmissions: Path.Max.Retrans, or Association.Max.Retrans where the association has one path.
        rto_initial_ms: RTO-initial, where no round trip was ever measured; None: the path worked at RTO-min [ms].
    """
    rto = min(max(rto_min_ms if rto_initial_ms is None else rto_initial_ms, rto_min_ms), rto_max_ms)
    total = 0.0
    for _ in range(retransmissions + 1):
        total += rto
        rto = min(2.0 * rto, rto_max_ms)
    return total / 1000.0
