"""Advise: the next setting for a storm that is going on, from the latest counters. It never touches equipment."""

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from signalstorm.agents import rule_file
from signalstorm.agents.base import Controller, Counters, Decision
from signalstorm.agents.origin import Origin
from signalstorm.agents.rules import GATE, RULES, TableCard
from signalstorm.envs.model.errors import wrong_input
from signalstorm.envs.model.knob_table import KNOBS, KnobValue
from signalstorm.envs.model.knobs import resolve, validate
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.model.wording import nearest
from signalstorm.experiments.advise_data import doubts
from signalstorm.experiments.closed_loop import latest
from signalstorm.experiments.export.commands import commands
from signalstorm.experiments.export.releases import find
from signalstorm.experiments.export.staros import lines
from signalstorm.experiments.policies import basis_of

DEFAULT_RULE = "rate-matching"
_OLD = 1.5
"""Counters older than so many intervals are late."""


@dataclass(frozen=True)
class Advice:
    """What to do next."""

    decision: Decision
    """The decision, with its reason."""
    setting: Mapping[str, KnobValue]
    """The complete setting that results."""
    commands: tuple[str, ...]
    """The lines to enter; none if nothing changes."""
    seen: Counters | None
    """The counters it rests on."""
    origin: Origin | None = None
    """What the rule was distilled on, or the policy trained on; None where neither is the case."""

    def to_json(self) -> dict[str, Any]:
        """Return the advice in JSON's own types."""
        return {
            "knobs": dict(self.decision.knobs),
            "reason": self.decision.reason,
            "said": list(self.decision.said),
            "commands": list(self.commands),
            "setting": dict(self.setting),
            "learnt": None if self.origin is None else self.origin.to_json(),
            "counters": None if self.seen is None else {"end_s": self.seen.end_s, **self.seen.values},
        }


def advise(
    scenario: Scenario,
    history: Sequence[Counters],
    rule: str | Controller = DEFAULT_RULE,
    setting: Mapping[str, KnobValue] | None = None,
    *,
    now_s: float | None = None,
    release: str | int | None = None,
    transfer: bool = False,
) -> Advice:
    """Return the next setting.

    Args:
        scenario: The network, with its present setting.
        history: Counters so far, the latest last.
        rule: A name from `RULES`, a file with a table, or a controller.
        setting: What is in force by now, where it is no longer the scenario's present setting.
        now_s: The time, from the scenario's start; late counters are then said to be late.
        release: The StarOS release of the box, for the command.
        transfer: Whether a file's rule that was distilled on another scenario will do, with a warning.

    Raises:
        InputError: If there is no such rule, its file is wrong or of another scenario, the setting is not legal, or the
            counters are of later.
    """
    controller = rule_of(rule, scenario, transfer=transfer) if isinstance(rule, str) else rule
    origin: Origin | None = getattr(controller, "origin", None)
    override = dict(validate(setting or {}))
    in_force = resolve(override, scenario)
    seen, said = latest(history)
    if seen is None:
        return Advice(Decision({}, "no counters have arrived yet"), in_force, (), None, origin)
    if now_s is not None and not seen.end_s <= now_s < math.inf:
        rule = f"must be at least {seen.end_s:g} s, the end of the latest interval"
        raise wrong_input(rule, now_s, "give the seconds from the scenario's start", file="--now")
    said = (*said, *doubts(history))
    if origin is not None and origin.differs:
        said = (*said, f"the {origin.kind} {origin.words}")
    if now_s is not None and now_s - seen.end_s > _OLD * seen.interval_s:
        said = (*said, f"the latest counters are {now_s - seen.end_s:g} s old")
    made = controller.decide(seen, in_force)
    decision = Decision(made.knobs, made.reason, (*said, *made.said))
    if not made.knobs:
        return Advice(decision, in_force, (), seen, origin)
    if "nop_rate" in made.knobs:
        override.pop("nop_queue", None)
        override.pop("nop_queue_wait_s", None)
    after = resolve({**override, **made.knobs}, scenario)
    told = [line.strip() for line in lines(_changed(commands(after, in_force, find(release)), made.knobs), {})]
    return Advice(decision, after, tuple(line for line in told if line not in ("config", "end")), seen, origin)


def rule_of(named: str, scenario: Scenario, *, transfer: bool = False) -> Controller:
    """Return the rule of a name, or of a file with a table.

    Args:
        named: The name, or the file.
        scenario: The network.
        transfer: Whether a rule that was distilled on another scenario will do, with a warning.

    Raises:
        InputError: If there is no such rule, the file is wrong, the table is of another knob than the gate's rate, or,
            without `transfer`, was distilled on another scenario.
    """
    if named in RULES:
        return RULES[named]
    if Path(named).exists() or named.endswith((".yaml", ".yml")) or os.sep in named:
        found = rule_file.load(named)
        if found.knob != GATE:
            rule = f"must be of {GATE}; advise moves nothing else"
            raise wrong_input(rule, found.knob, "run it with evaluate or compare", file=named, key="knob")
        here = basis_of(scenario.name, scenario.hash())
        origin = rule_file.origin_of(found, rule_file.file_of(named), here, transfer=transfer)
        if origin is not None:
            origin.warn()
        return TableCard(found.law, origin=origin)
    raise wrong_input("must be the name of a rule, or a file with one", named, nearest(named, RULES), file="--rule")


def _changed(todo: Sequence[Any], knobs: Mapping[str, KnobValue]) -> list[Any]:
    """Return the commands that set what changes."""
    return [command for command in todo if set(command.knobs) & set(knobs)]


def in_words(advice: Advice) -> str:
    """Return the advice for the person at the console."""
    rows = []
    if advice.commands:
        rows += ["enter, after review:", *(f"  {line}" for line in advice.commands)]
        rows += [f"  {name}: {KNOBS[name].text(value)}" for name, value in advice.decision.knobs.items()]
    else:
        rows.append("change nothing")
    rows.append(f"because {advice.decision.reason}")
    return "\n".join([*rows, *(f"note: {sentence}" for sentence in advice.decision.said)])
