"""When a storm was over, from the curve of those without service."""

import math
from collections.abc import Sequence
from itertools import pairwise

Curve = Sequence[tuple[float, float]]

UNBROKEN_S = 60.0  # health must last this long to count
STEADY_S = 600.0  # the steady level is the mean over this time before the trigger
BAND_SHARE = 0.01
ALARM_HOLD_S = 10.0  # an alarm is cleared once its link has been free for so long


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


def with_alarms(curve: Curve, alarms: Curve) -> Curve:
    """The curve, infinitely far from health while an alarm is up.

    Args:
        curve: Number without service.
        alarms: Number of congested links.
    """
    up: list[tuple[float, float]] = []
    for (start_s, congested), (end_s, _) in pairwise([*alarms, (math.inf, 0)]):
        if congested and up and start_s <= up[-1][1]:
            up[-1] = (up[-1][0], end_s + ALARM_HOLD_S)
        elif congested:
            up.append((start_s, end_s + ALARM_HOLD_S))
    events = sorted(
        [(time_s, 0, count) for time_s, count in curve]
        + [(at_s, 1, float(side)) for spell in up for side, at_s in enumerate(spell)],
        key=lambda event: event[:2],
    )
    merged: list[tuple[float, float]] = []
    without, alarmed = 0.0, False
    for time_s, kind, new in events:
        if kind:
            alarmed = new == 0
        else:
            without = new
        merged.append((time_s, math.inf if alarmed else without))
    return merged


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


def _pieces(curve: Curve, start_s: float, end_s: float) -> list[tuple[float, float, float]]:
    """The constant pieces (start, end, count) of the curve between two times."""
    closed = [*curve, (end_s, 0.0)]
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
