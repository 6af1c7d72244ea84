"""What operators count: the quantities that can be compared with the model, their units, and how headers name them."""

import re
from dataclasses import dataclass
from typing import Literal

Unit = Literal["count", "1/s", "1/min", "1/h"]
"""Units of a counter: events per interval, or a mean rate."""

PER_S = {"1/s": 1.0, "1/min": 1 / 60, "1/h": 1 / 3600}
"""Rates by unit, as a part of one per second."""


SHORTEST_RETRY_S = 5.0
"""No handset timer is shorter: more requests per subscriber are impossible (TS 24.008 11.2, TS 24.301 10.2)."""
_ACCEPTED_S = 3600.0
"""A subscriber who was accepted is hardly accepted again sooner."""
_MESSAGE_S = 0.25
"""A subscriber's procedures need fewer than twenty messages per shortest timer."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """Something that is counted."""

    name: str
    """Its name here."""
    pattern: re.Pattern[str]
    """How headers name it."""
    element: Literal["", "link", "stp"] = ""
    """What it belongs to: the whole network, a link or an STP."""
    again_after_s: float = SHORTEST_RETRY_S
    """A subscriber is not counted again sooner [s]; infinite: not twice within one interval."""

    def most(self, subscribers: float, interval_s: float) -> float:
        """Return how many of them subscribers can cause at most in an interval."""
        return subscribers * (1.0 + interval_s / self.again_after_s)


def _quantity(name: str, pattern: str, **rest: object) -> Quantity:
    return Quantity(name, re.compile(pattern, re.IGNORECASE), **rest)  # type: ignore[arg-type]


_NO_LINK = r"^(?!.*(?:psp|slc|link))(?=.*stp)"
QUANTITIES = {
    quantity.name: quantity
    for quantity in (
        _quantity(
            "network detaches",
            r"(?:network|nw|net)[- ]?init\w* .*detach|detach\w*.*(?:network|nw|net)\b|(?:network|nw) detach",
            again_after_s=float("inf"),
        ),
        _quantity(
            "subscriber detaches",
            r"(?:ms|ue|mobile|subscriber|user)[- ]?init\w* .*detach|detach\w*.*\b(?:ms|ue)\b|"
            r"(?:ms|ue|subscriber) detach",
            again_after_s=float("inf"),
        ),
        _quantity("create-session requests", r"create[- ]session"),
        _quantity("refused for congestion", r"(?:reject|refus)\w*.*congestion|congestion.*(?:reject|refus)"),
        _quantity("attach rejects", r"attach.*(?:reject|refus)|(?:reject|refus)\w*.*attach"),
        _quantity(
            "attach accepts",
            r"attach.*(?:accept|complete|success)|registration.*complete",
            again_after_s=_ACCEPTED_S,
        ),
        _quantity("attach failures", r"attach.*fail|esm fail"),
        _quantity("admitted", r"admitted|behind the gate|attach.*processed"),
        _quantity(
            "attach requests",
            r"attach(?:\w* ?)(?:request|attempt|rate)?|\bgprs lu\b",
        ),
        _quantity("location refreshes", r"location (?:update|refresh)|\bglu\b|refresh"),
        _quantity("stp tx", rf"{_NO_LINK}.*\btx\b", element="stp", again_after_s=_MESSAGE_S),
        _quantity("stp rx", rf"{_NO_LINK}.*\brx\b", element="stp", again_after_s=_MESSAGE_S),
        _quantity("link tx", r"(?:psp|slc|link|m3ua|data).*\btx\b|\btx\b", element="link", again_after_s=_MESSAGE_S),
        _quantity("link rx", r"(?:psp|slc|link|m3ua|data).*\brx\b|\brx\b", element="link", again_after_s=_MESSAGE_S),
    )
}
"""The quantities, in the order in which headers are tried."""

_UNITS: tuple[tuple[Unit, re.Pattern[str]], ...] = (
    ("1/s", re.compile(r"per[- ]?sec\w*|/ ?s(?:ec\w*)?\b|\bp/?s\b|\btps\b|\bcps\b|\bper_s\b|_per_s$", re.IGNORECASE)),
    ("1/min", re.compile(r"per[- ]?min\w*|/ ?min\w*\b|_per_min$", re.IGNORECASE)),
    ("1/h", re.compile(r"per[- ]?hour|/ ?h(?:our)?\b|\bhourly\b|_per_h$", re.IGNORECASE)),
    (
        "count",
        re.compile(r"\bcounts?\b|per[- ]?interval|\bnumber of\b|\btotal\b|per[- ]?\d+ ?min\w*|_count$", re.IGNORECASE),
    ),
)


def quantity_of(header: str) -> str | None:
    """Return the quantity that a header names, None if it names none."""
    text = header.replace("_", " ")
    return next((name for name, quantity in QUANTITIES.items() if quantity.pattern.search(text)), None)


def unit_of(header: str) -> Unit | None:
    """Return the unit that a header names, None if it names none."""
    return next((unit for unit, pattern in _UNITS if pattern.search(header)), None)


_CLASSES = (
    ("2G", re.compile(r"(?<![a-z0-9])(?:2g|gsm|geran)(?![a-z0-9])", re.IGNORECASE)),
    ("3G", re.compile(r"(?<![a-z0-9])(?:3g|umts|utran|wcdma)(?![a-z0-9])", re.IGNORECASE)),
    ("4G", re.compile(r"(?<![a-z0-9])(?:4g|lte|e-?utran)(?![a-z0-9])", re.IGNORECASE)),
)


CLASSES = tuple(name for name, _ in _CLASSES)
"""Classes of subscribers by which operators count."""


def class_of(name: str) -> str:
    """Return the class of subscribers that a header or a scenario's class names, 2G, 3G or 4G; empty if none."""
    text = name.replace("_", " ")
    return next((name for name, pattern in _CLASSES if pattern.search(text)), "")


def element_of(header: str) -> str:
    """Return the link or STP that a header names as the scenario does: ``stp2/slc4`` or ``stp2``; empty if none."""
    found = [re.search(rf"{word}[-_ ]?(\d+)", header, re.IGNORECASE) for word in ("stp", "(?:psp|slc|link)")]
    stp, link = (match[1].lstrip("0") or "0" if match else "" for match in found)
    if not stp:
        return ""
    return f"stp{stp}/slc{link}" if link else f"stp{stp}"
