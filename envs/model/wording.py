"""Words and numbers for people: the nearest known word for one that is not known, and amounts as they are read."""

import difflib
import re
import shlex
import sys
from collections.abc import Iterable

_UNIT = re.compile(r"_(per_s|s|ms|share)$")
_CUTOFF = 0.6


def closest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that is nearest, with or without the unit at its end; None if none is near."""
    names = list(known)
    forms = {_UNIT.sub("", name): name for name in reversed(names)} | {name: name for name in names}
    close = difflib.get_close_matches(word, forms, n=1, cutoff=_CUTOFF)
    return forms[close[0]] if close else None


def nearest(word: str, known: Iterable[str]) -> str:
    """Return the way out for an unknown word: the nearest known one, or all of them."""
    names = list(known)
    close = closest(word, names)
    return f"did you mean {close}?" if close else f"one of: {', '.join(names)}"


def installing(extras: str) -> str:
    """Return the command that installs extras beside this package, by the pip of the Python that is running."""
    return f"{shlex.quote(sys.executable or 'python')} -m pip install 'signalstorm[{extras}]'"


def amount(value: float) -> str:
    """Write a number to four digits as people read it: 9,315,000 and 23,100 and 0.3142."""
    rounded = f"{value:.4g}"
    return f"{float(rounded):,.0f}" if 1000.0 <= abs(value) < 1e15 else rounded
