"""Events that a viewer adds: read from the form, and checked before they are listed."""

from dataclasses import dataclass

from signalstorm.envs.model.scenario import Scenario
from signalstorm.experiments.serve.moves import EVENTS, MOST_ADDED, Move, RefusedMoveError, changed
from signalstorm.experiments.what_if import needs_value


@dataclass(frozen=True)
class EventForm:
    """What stands in the form of an event."""

    kind: str
    """Its kind."""
    target: str
    """What it concerns."""
    time: str
    """The field of its time [s]."""
    value: str
    """The field of its value; empty for none."""


class RefusedEventError(Exception):
    """An event that is not added, with the reasons in words."""


def read_event(scenario: Scenario, ticked: Move, form: EventForm) -> tuple[str, str]:
    """Read an event that is to be added to those that are ticked.

    Args:
        scenario: The scenario.
        ticked: A move with the events that are to happen.
        form: The event to add.

    Returns:
        The event as a move holds it, and in words.

    Raises:
        RefusedEventError: If a field is no number, or the event breaks a rule of the scenario.
    """
    time, value = form.time.strip(), form.value.strip()
    fields = {"the time": time} | ({"the value": value} if value or needs_value(form.kind) else {})
    if wrong := [_no_number(name, text) for name, text in fields.items() if not _is_number(text)]:
        raise RefusedEventError(" ".join(wrong))
    if len(ticked.added) >= MOST_ADDED:
        raise RefusedEventError(f"A storm takes at most {MOST_ADDED} added events: untick one.")
    text = f"{form.kind}:{form.target}@{_plain(time)}" + (f"={_plain(value)}" if value else "")
    try:
        changed(scenario, Move(source=ticked.source, removed=ticked.removed, added=[*ticked.added, text]))
    except RefusedMoveError as refused:
        raise RefusedEventError(refused.messages.get(EVENTS) or " ".join(refused.messages.values())) from None
    words = f"{form.kind.replace('_', ' ')} of {form.target} at {_plain(time)} s"
    return text, f"{words}: {_plain(value)}" if value else words


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _no_number(name: str, text: str) -> str:
    return f"{name.capitalize()} must be a number, but is {text!r}." if text else f"{name.capitalize()} is missing."


def _plain(number: str) -> str:
    """Write a number in one way, so that 5 and 5.0 are the same event."""
    return f"{float(number):.10g}"
