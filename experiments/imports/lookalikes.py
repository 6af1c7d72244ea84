"""Unknown lines that look like a known command: misspelt or garbled, they would otherwise pass for other commands."""

import difflib
from collections.abc import Iterable, Iterator, Sequence

from signalstorm.experiments.imports.text import Line

_ALIKE = 0.8
"""How alike the words are, 1 for equal."""
_MOST_NAMED = 10


def lookalikes(unknown: Iterable[Line], heads: Sequence[str]) -> Iterator[str]:
    """Yield a sentence for each of the first unknown lines that look like a command.

    Args:
        unknown: The lines.
        heads: The words by which commands are known.
    """
    named = 0
    for line in unknown:
        meant = _meant(line.text.lower().split(" "), heads)
        if meant is None:
            continue
        yield f"line {line.number}, which is not understood, looks like `{meant}`: {line.text[:60]}"
        named += 1
        if named == _MOST_NAMED:
            return


def _meant(words: Sequence[str], heads: Sequence[str]) -> str | None:
    """Return the head that as many words from the start of a line are most like; None if none is."""
    best, likeness = None, _ALIKE
    for head in heads:
        start = " ".join(words[: head.count(" ") + 1])
        matcher = difflib.SequenceMatcher(None, start, head, autojunk=False)
        if matcher.real_quick_ratio() < likeness or matcher.quick_ratio() < likeness or start == head:
            continue
        if matcher.ratio() >= likeness:
            best, likeness = head, matcher.ratio()
    return best
