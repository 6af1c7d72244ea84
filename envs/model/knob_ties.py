"""Knobs that are tied: in each row of them none may exceed the next, and what must follow when one is lowered."""

from collections.abc import Mapping
from itertools import pairwise
from typing import NamedTuple

from signalstorm.envs.model.core_knobs import THROTTLES
from signalstorm.envs.model.knob_row import Knob, KnobValue
from signalstorm.envs.model.knob_table import RTO_NAMES


class Tie(NamedTuple):
    """A row of knobs in rising order."""

    names: tuple[str, ...]
    """Names, smallest first."""
    gap: int = 0
    """By how much each stays below the next, in their unit."""


TIES = (
    Tie(RTO_NAMES),
    Tie(THROTTLES),
    Tie(("t3346_low_min", "t3346_high_min")),
    Tie(("ddn_poll_s", "ddn_window_s"), gap=1),
)
"""All such rows of the knob table; the gate's queue, which lies between two values, has a form of its own."""


def lowered(values: Mapping[str, KnobValue]) -> dict[str, KnobValue]:
    """Return the values, each lowered to what the next of its row that has one allows."""
    found = dict(values)
    for names, gap in TIES:
        given = [name for name in names if name in found]
        for above, below in pairwise(reversed(given)):
            most = found[above] if gap == 0 else float(found[above]) - gap
            found[below] = min(found[below], most, key=float)
    return found


def below(name: str) -> tuple[str, ...]:
    """Return the knobs that are lowered where this one is, the nearest last."""
    return next((names[: names.index(name)] for names, _ in TIES if name in names), ())


def ceiling(knob: Knob, others: Mapping[str, KnobValue]) -> tuple[float, str | None]:
    """Return the largest legal value of a knob beside others that stay, and which of them sets it; None: none does."""
    most, why = knob.high, None
    for names, gap in TIES:
        above = names[names.index(knob.name) + 1 :] if knob.name in names else ()
        for other in above:
            if other in others and (limit := float(others[other]) - gap) < most:
                most, why = limit // knob.step * knob.step, other
    return most, why
