"""Moves: everything that a viewer has changed, as the page sends it, and the storm that it describes."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from werkzeug.exceptions import BadRequest

from signalstorm.envs.model.errors import Fault, InputError
from signalstorm.envs.model.knob_table import KNOBS, KnobValue
from signalstorm.envs.model.knobs import Setting, parse_set, resolve
from signalstorm.envs.model.scenario import Scenario
from signalstorm.experiments.what_if import parse_event

ELSEWHERE = ""
"""What messages that belong to no knob are kept under."""
EVENTS = "events"
"""What messages about added events are kept under."""

MOST_ADDED = 50
"""Events that a move adds at most."""

_Word = Annotated[str, Field(max_length=200)]


class Move(BaseModel):
    """Everything that a viewer has changed."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    source: _Word
    """The scenario or run, see `sources.Sources`."""
    knobs: Annotated[dict[_Word, _Word], Field(max_length=len(KNOBS))] = {}
    """What was written into the fields of knobs, by knob."""
    removed: Annotated[list[Annotated[int, Field(ge=0, lt=1000)]], Field(max_length=1000)] = []
    """Events of the scenario that are left out, by their place in the timeline."""
    added: Annotated[list[_Word], Field(max_length=MOST_ADDED)] = []
    """Events added, each as ``KIND:TARGET@TIME_S[=VALUE]``."""


@dataclass(frozen=True)
class Changed:
    """The storm that a move describes."""

    scenario: Scenario
    """The scenario, with its events changed."""
    override: Setting
    """The knobs changed."""
    setting: Setting
    """The complete setting."""


class RefusedMoveError(Exception):
    """A move that breaks a rule.

    Args:
        messages: What is wrong, by knob; under `EVENTS` and `ELSEWHERE` what is wrong with anything else.
    """

    def __init__(self, messages: Mapping[str, str]) -> None:
        super().__init__(dict(messages))
        self.messages = dict(messages)


def read_move(data: Any) -> Move:
    """Read a move.

    Raises:
        BadRequest: If it is not one, which no page of ours sends.
    """
    try:
        move = Move.model_validate_json(data) if isinstance(data, str) else Move.model_validate(data)
    except ValidationError:
        raise BadRequest("This is not a move of the what-if page.") from None
    if unknown := [name for name in move.knobs if name not in KNOBS]:
        raise BadRequest(f"There are no such knobs: {len(unknown)}.")
    return move


def changed(scenario: Scenario, move: Move) -> Changed:
    """Return the storm that a move describes.

    Raises:
        RefusedMoveError: If a value breaks the rules of the knob table, or an event those of the scenario.
    """
    messages: dict[str, list[str]] = {}
    override = Setting({})
    try:
        override, _ = parse_set([f"{name}={text}" for name, text in move.knobs.items()])
    except InputError as error:
        _sort(error, messages)
    model = _with_events(scenario, move, messages)
    if not messages:
        try:
            return Changed(model, override, resolve(override, model))
        except InputError as error:
            _sort(error, messages)
    raise RefusedMoveError({place: " ".join(words) for place, words in messages.items()})


def _with_events(scenario: Scenario, move: Move, messages: dict[str, list[str]]) -> Scenario:
    if not move.removed and not move.added:
        return scenario
    kept = [event for i, event in enumerate(scenario.timeline) if i not in move.removed]
    events: list[dict[str, Any]] = [event.model_dump(mode="json") for event in kept]
    about = [f"{event.kind} at {event.time_s:g} s" for event in kept] + move.added
    for text in move.added:
        try:
            events.append(parse_event(text))
        except InputError as error:
            messages.setdefault(EVENTS, []).extend(f"{text}: {_words(fault)}" for fault in error.faults)
    if EVENTS in messages:
        return scenario
    try:
        return scenario.with_fields({"timeline": events})
    except InputError as error:
        for fault in error.faults:
            head, _, rest = fault.key.partition(".")
            place = rest.partition(".")[0]
            named = head == "timeline" and place.isdecimal()
            words = f"{about[int(place)] if named else fault.key}: {_words(fault)}"
            messages.setdefault(EVENTS, []).append(words)
        return scenario


def _sort(error: InputError, messages: dict[str, list[str]]) -> None:
    for fault in error.faults:
        place = fault.key if fault.key in KNOBS else ELSEWHERE
        messages.setdefault(place, []).append(_words(fault))


def _words(fault: Fault) -> str:
    """Return a fault without the place, which the page shows by where the message stands."""
    return str(replace(fault, file=None, line=None, key=""))


def knob_text(value: KnobValue) -> str:
    """Return a value as the field of a knob shows it."""
    return value if isinstance(value, str) else f"{value:.10g}"
