"""Controls: the knobs and events of a scenario as the page shows them, in plain data."""

import math
from dataclasses import dataclass

from signalstorm.envs.model.core_knobs import FIELDS, field_value
from signalstorm.envs.model.knob_checks import on_grid
from signalstorm.envs.model.knob_table import KNOBS, Knob, KnobValue
from signalstorm.envs.model.knobs import Setting, resolve
from signalstorm.envs.model.scenario import Scenario
from signalstorm.experiments.serve.moves import knob_text
from signalstorm.experiments.serve.sources import Opened
from signalstorm.experiments.what_if import EVENT_VALUES

_POSITIONS = 200
"""Positions of a slider at most."""
_SEARCH_FORM = "nop_queue_wait_s"
"""Another form of nop_queue, which the page shows."""


@dataclass(frozen=True)
class Control:
    """A knob as the page shows it."""

    knob: Knob
    """Its row of the knob table."""
    present: str
    """The field's text under the present setting; empty where it follows from others."""
    start: str
    """The field's text when the page opens."""
    positions: tuple[KnobValue, ...]
    """The values at which the slider stops; none for words."""
    tunable: bool
    """Whether the scenario says that a search moves it."""


def controls(opened: Opened) -> list[Control]:
    """Return the knobs that a scenario has, those that a search moves first."""
    scenario = opened.scenario
    present = {name: knob_text(value) for name, value in resolve({}, scenario).items()}
    tunable = {"nop_queue" if name == _SEARCH_FORM else name for name in scenario.tunable}
    start = present | start_fields(scenario, opened.override)
    for name, knob in KNOBS.items():
        if knob.choices and _has(scenario, name):  # of words one is always chosen
            own_word = field_value(scenario.topology, name) if name in FIELDS else knob.default
            present.setdefault(name, knob_text(own_word or ""))
            start.setdefault(name, present[name])
    found = [
        Control(knob, present.get(name, ""), start.get(name, ""), positions(knob), name in tunable)
        for name, knob in KNOBS.items()
        if _has(scenario, name)
    ]
    return sorted(found, key=lambda control: not control.tunable)


def start_fields(scenario: Scenario, override: Setting) -> dict[str, str]:
    """Return the texts of the fields that a setting changes, by knob.

    Raises:
        InputError: If the setting is not legal in the scenario.
    """
    complete = resolve(override, scenario)
    own = ["nop_queue" if name == _SEARCH_FORM else name for name in override]
    return {name: knob_text(complete[name]) for name in own if name in complete}


def _has(scenario: Scenario, name: str) -> bool:
    if name == _SEARCH_FORM or getattr(scenario.topology, KNOBS[name].element) is None:
        return False
    return name not in FIELDS or field_value(scenario.topology, name) is not None


def positions(knob: Knob) -> tuple[KnobValue, ...]:
    """Return the values at which a knob's slider stops: legal ones, even on the knob's scale.

    A word such as ``off`` means that there is no limit, which is laxer than the largest number: it comes last.
    """
    if knob.kind == "choice":
        return ()
    steps = min(_POSITIONS, round((knob.high - knob.low) / knob.step))
    if knob.scale == "log" and knob.low > 0:
        span = math.log(knob.high / knob.low)
        raw = [knob.low * math.exp(span * i / steps) for i in range(steps + 1)]
    else:
        raw = [knob.low + (knob.high - knob.low) * i / steps for i in range(steps + 1)]
    return (*dict.fromkeys(float(on_grid(knob, value)) for value in raw), *knob.words)


def timeline(scenario: Scenario) -> list[str]:
    """Return the events of a scenario in words, in the order of its timeline."""
    words = []
    for event in scenario.timeline:
        fields = event.model_dump(mode="json", exclude_unset=True)
        kind, target, time_s = (fields.pop(name, None) for name in ("kind", "target", "time_s"))
        about = ", ".join(f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}"
                          for name, value in fields.items())  # fmt: skip
        head = f"{str(kind).replace('_', ' ')} of {target or getattr(event, 'target', '*')} at {time_s:g} s"
        words.append(f"{head}: {about}" if about else head)
    return words


def targets(scenario: Scenario) -> list[str]:
    """Return what an event may concern."""
    topology = scenario.topology
    links = topology.links.names() if topology.links else ()
    stps = dict.fromkeys(name.partition("/")[0] for name in links)
    peers = [peer.name for peer in topology.dra.peers] if topology.dra else []
    others = [name for name in ("imsimgr", "ddn") if getattr(topology, name) is not None]
    hlr = ["hlr"] if any(event.kind == "hlr_reset" for event in scenario.timeline) else []
    classes = [group.name for group in scenario.subscribers]
    return list(dict.fromkeys([*topology.servers(), *hlr, *stps, *links, *others, *peers, *classes, "*"]))


def event_kinds() -> dict[str, str]:
    """Return the kinds of events by name, with what their value is."""
    units = {
        "value": "new rate [per s]", "value_s": "new delay [s]", "value_per_s": "new rate [per s]",
        "share": "share, 0 to 1", "count": "messages", "until_s": "end [s]", "nodes": "nodes",
        "stage_s": "time between stages [s]",
    }  # fmt: skip
    return {kind: "" if field is None else units[field] for kind, field in EVENT_VALUES.items()}
