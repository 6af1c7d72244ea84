"""When a storm was over, from the curve of those without service."""

from itertools import pairwise

Curve = list[tuple[float, int]]

UNBROKEN_S = 60.0  # health must last this long to count
STEADY_S = 600.0  # the steady level is the mean over this time before the trigger
BAND_SHARE = 0.01


def last_success(curve: Curve, count_from_s: float) -> float | None:
    """Closed runs: from the origin to the instant after which nobody is without service."""
    time_s, without_service = curve[-1]
    return time_s - count_from_s if without_service == 0 else None


def first_health(curve: Curve, limit: float, count_from_s: float, horizon_s: float) -> float | None:
    """From the origin to the first unbroken health after health was first lost; 0 where it never was."""
    lost = False
    for start_s, end_s, healthy in _spells(curve, limit, count_from_s, horizon_s):
        if not healthy:
            lost = True
        elif lost and end_s - start_s >= UNBROKEN_S:
            return start_s - count_from_s
    return None if lost else 0.0


def steady_level(curve: Curve, trigger_s: float) -> float:
    """Mean number without service in the 600 s before the trigger; the initial one at a trigger at 0."""
    start_s = max(0.0, trigger_s - STEADY_S)
    if trigger_s <= start_s:
        return float(curve[0][1])
    total = sum((end - start) * count for start, end, count in _pieces(curve, start_s, trigger_s))
    return total / (trigger_s - start_s)


def time_back(curve: Curve, share: float, count_from_s: float) -> float | None:
    """From the origin until this share of the peak number without service is back."""
    peak = max(count for _, count in curve)
    after_peak = [count for _, count in curve].index(peak)
    back = (time_s for time_s, count in curve[after_peak:] if count <= (1.0 - share) * peak)
    time_s = next(back, None)
    return None if time_s is None else time_s - count_from_s


def _pieces(curve: Curve, start_s: float, end_s: float) -> list[tuple[float, float, int]]:
    """The constant pieces (start, end, count) of the curve between two times."""
    closed = [*curve, (end_s, 0)]
    clipped = [
        (max(time_s, start_s), min(following_s, end_s), count) for (time_s, count), (following_s, _) in pairwise(closed)
    ]
    return [piece for piece in clipped if piece[1] > piece[0]]


def _spells(curve: Curve, limit: float, start_s: float, end_s: float) -> list[tuple[float, float, bool]]:
    """The alternating times (start, end, healthy) between the origin and the horizon."""
    spells: list[tuple[float, float, bool]] = []
    for start, end, count in _pieces(curve, start_s, end_s):
        healthy = count <= limit
        if spells and spells[-1][2] == healthy:
            spells[-1] = (spells[-1][0], end, healthy)
        else:
            spells.append((start, end, healthy))
    return spells
