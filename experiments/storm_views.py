"""The views of a storm that people look at first: which curves there are, and what they are called."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from signalstorm.experiments.series import Series

Floats = npt.NDArray[np.float64]

_NOT_SERVERS = ("gate", "handsets", "network")
_CPU = {"imsimgr": "IMSI manager", "database": "session database", "mme": "MME"}
_QUIET = 1e-9
"""A curve that never exceeds this shows nothing."""


@dataclass(frozen=True)
class View:
    """A curve of a storm."""

    key: str
    """Its name, of letters, digits and hyphens."""
    title: str
    """What is shown."""
    unit: str
    """The unit of the values, in words."""
    sources: tuple[tuple[str, str], ...]
    """The time series that it adds up, by element and quantity."""
    scale: float = 1.0
    """What values are multiplied by."""
    most: float | None = None
    """The largest possible value, where there is one."""

    def values(self, series: Series) -> Floats:
        """Return the values; shape (times, storms)."""
        return np.asarray(sum(series.values[source][1] for source in self.sources) * self.scale)


def views(series: Series) -> list[View]:
    """Return the views that the time series of a storm allow, in the order of drawing."""
    return list(_views(series))


def stirred(some: Iterable[View], *storms: Series) -> list[View]:
    """Return the views that show something in one of the storms at least."""
    return [view for view in some if any(view.values(series).max(initial=0.0) > _QUIET for series in storms)]


def _views(series: Series) -> Iterator[View]:
    known = series.values
    yield View("requests", "Request rate, before the gate", "requests per s", (("handsets", "request rate"),))
    if ("gate", "waiting") in known:
        yield View("admitted", "Admitted rate, behind the gate", "requests per s", (("gate", "admitted rate"),))
    registered = ("handsets", "registered share")
    yield View("registered", "Registered subscribers", "% of all", (registered,), scale=100.0, most=100.0)
    if ("gate", "waiting") in known:
        yield View("gate", "Queue of the gate", "requests", (("gate", "waiting"),))
    for element, quantity in known:
        if quantity == "waiting" and element not in _NOT_SERVERS and "/" not in element:
            yield View(f"queue-{element}", f"Queue of {element}", "messages", ((element, quantity),))
    links = tuple(source for source in known if source[1] == "congested")
    if links:
        yield View("links", "Congested links", f"links, of {len(links)}", links, most=float(len(links)))
        waiting = tuple((name, "waiting") for name, _ in links)
        yield View("queue-links", "Waiting on the links", "messages", waiting)
    for element, name in _CPU.items():
        if (element, "CPU") in known:
            yield View(f"cpu-{element}", f"CPU of the {name}", "% of capacity", ((element, "CPU"),), scale=100.0)
    if ("dra", "throttle") in known:
        yield View("throttle", "Throttle of the Diameter agent", "% turned away", (("dra", "throttle"),))
    if ("ddn", "factor") in known:
        yield View("ddn", "Throttle of notifications", "% dropped", (("ddn", "factor"),))
    if ("handsets", "held back") in known:
        yield View("held", "Held back at the radio", "subscribers", (("handsets", "held back"),))


def time_axis(last_s: float) -> tuple[str, float]:
    """Return the unit in which times up to the last one are shown, and its length [s]."""
    return ("s", 1.0) if last_s <= 1800.0 else ("min", 60.0) if last_s <= 3 * 3600.0 else ("h", 3600.0)
