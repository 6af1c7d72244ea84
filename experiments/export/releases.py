"""What is published of the StarOS releases, as far as the exported commands depend on it."""

import re
from dataclasses import dataclass

from signalstorm.envs.model.errors import wrong_input


@dataclass(frozen=True, slots=True)
class Release:
    """How the commands read in one major release; what was not read is False and flagged in the export."""

    number: int
    """The major release."""
    gate_line_read: bool = False
    """Whether the gate's command was read in this release's own reference."""
    has_t3346: bool = True
    """Whether the MME has ``emm t3346-timeout``: new in 17.0 (RCR-R17 p320)."""
    gtpc_in_ms: bool = True
    """Whether ``gtpc`` takes milliseconds (CLI-R17 p3644); before that whole seconds."""


_TABLE = {
    release.number: release
    for release in (
        Release(16, gate_line_read=True, has_t3346=False, gtpc_in_ms=False),
        Release(17, gate_line_read=True),
        Release(18),
        Release(19),
        Release(20),
        Release(21),
    )
}
RELEASES = tuple(map(str, _TABLE))
"""The major releases of which something is known."""

UNKNOWN = Release(0)
"""Stands for the release where the user names none: the forms of 17 and later."""

_FORM = re.compile(r"[Rr]?(\d{1,3})(\.\d{1,3})*")


def find(name: str | int | None) -> Release:
    """Return what is known of a release; `UNKNOWN` for None.

    Args:
        name: Such as ``17``, ``R17`` or ``21.28``; the part behind the first dot makes no difference here.

    Raises:
        InputError: For a release of which nothing is known; names those that are.
    """
    if name is None:
        return UNKNOWN
    form = _FORM.fullmatch(str(name).strip())
    release = _TABLE.get(int(form[1])) if form else None
    if release is None:
        rule = "must be a StarOS release whose commands are known"
        raise wrong_input(rule, name, f"one of: {', '.join(RELEASES)}", key="release")
    return release
