"""The nearest known word for one that is not known."""

import difflib
import re
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
