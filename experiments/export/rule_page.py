"""The part of a runbook that moves the gate with the storm: a rule on a card, with an example worked out."""

import math
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from signalstorm.agents.origin import Origin
from signalstorm.envs.model import scenario_file
from signalstorm.envs.model.errors import ABSENT, wrong_input
from signalstorm.envs.model.knob_table import KNOBS, KnobValue
from signalstorm.envs.model.scenario_parts import is_number
from signalstorm.experiments.export import staros
from signalstorm.experiments.export.commands import commands
from signalstorm.experiments.export.releases import Release
from signalstorm.experiments.export.source import Source

GATE = "nop_rate"
"""The knob that rules move."""
_A_MINUTE_S = 60.0
"""As often as a person reads counters and enters a command."""
_CALM_INTERVALS = 10
"""Intervals without alarm and failures after which the rule has done its work."""


Decide = Callable[[Mapping[str, float], Mapping[str, KnobValue]], tuple[str, KnobValue | None]]
"""From rates (requests, admitted, accepts, failures, alarms) and the setting to a reason and the next rate, if any."""


@dataclass(frozen=True)
class Followed:
    """A rule that a person follows."""

    name: str
    """What ``--rule`` takes: its name or its file."""
    table: tuple[str, ...]
    """What to do when, in lines of Markdown."""
    floor_per_s: float
    """Least rate [1/s]."""
    dead_band_share: float
    """Smaller changes are not entered [share]."""
    step_share: float
    """Largest change at once [share]."""
    cool_down: float
    """Intervals after a change in which the rate is not raised [intervals]."""
    most_per_hour: int
    """Changes at most in any 60 minutes; 0: no limit."""
    decide: Decide
    """The rule at work."""
    distilled_from: Mapping[str, Any] = field(default_factory=dict)
    """What it was distilled from."""
    evidence: Mapping[str, Any] = field(default_factory=dict)
    """How it did."""
    origin: Origin | None = None
    """What it was distilled on, and in what that differs from the recommendation's scenario and the present model."""

    @property
    def transferred(self) -> bool:
        """Whether it was distilled on another scenario."""
        return self.origin is not None and bool({"scenario", "scenario_hash"} & set(self.origin.differs))

    @property
    def interval_s(self) -> float:
        """How often it is looked at [s]; a minute where its file does not say."""
        said: Any = self.distilled_from.get("interval_s")
        return float(said) if is_number(said) and 0.0 < said < math.inf else _A_MINUTE_S

    @property
    def loss(self) -> str:
        """By its own evidence, in words, how it is no better than the best static setting; empty where it is better."""
        try:
            own, static = (self.evidence[name]["rmst_s"] / 60.0 for name in ("rule", "best_static"))
        except (KeyError, TypeError):
            return ""
        return f"{own:.1f} min against {static:.1f} min" if own >= static else ""

    def to_json(self) -> dict[str, Any]:
        """Return what an export says of it, in JSON's own types."""
        return {"name": self.name, "learnt": None if self.origin is None else self.origin.to_json()}


def check(rule: Followed | None, source: Source) -> None:
    """Refuse a rule where no gate's rate is set.

    Raises:
        InputError: If the recommendation has none.
    """
    if rule is not None and GATE not in source.recommended:
        raise wrong_input("needs a gate, whose rate it moves", ABSENT, "leave the rule out", file="--rule")


def section(rule: Followed, source: Source, release: Release, names: Mapping[str, str]) -> Iterator[str]:
    """Yield the lines of the part."""
    often = "once a minute" if rule.interval_s == _A_MINUTE_S else f"every {rule.interval_s:g} s"
    yield from ("", f"## {'Best: move' if _is_best(rule, source) else 'Move'} the gate {often}", "")
    yield from _origin(rule, source)
    if loss := rule.loss:
        yield from (f"**It is no better than a setting that nobody changes: {loss}.**", "")
    yield "Begin with the setting under *What to do*. Then, each time new counters are there:"
    yield ""
    yield from rule.table
    yield ""
    yield f"- Never below {rule.floor_per_s:g} per s. Leave a rate that would change by"
    yield f"  {rule.dead_band_share:.0%} or less, and change by no more than a factor of {1.0 + rule.step_share:g}."
    if rule.cool_down:
        yield f"- After a change do not raise the rate for {rule.cool_down:g} intervals; lower it at any time."
    if rule.most_per_hour:
        yield f"- Change it at most {rule.most_per_hour} times in any 60 minutes: note the time of each change."
    yield "- A counter is missing: take its last value. All are: change nothing."
    yield f"- Stop after {_CALM_INTERVALS} intervals without alarm and without failures, requests as on any day, and"
    yield "  put back the rate under *What to do*. Stop, too, if nothing gets better: see *How to tell that it works*."
    yield f"- The same from a file, with its command: {advice(source, rule)}"
    yield from _example(rule, source, release, names)


def _origin(rule: Followed, source: Source) -> Iterator[str]:
    if rule.origin is not None and rule.origin.differs:
        yield f"**The rule {_safe(rule.origin.words, ' .-,:;')}.**"
        yield ""
    scenario = str(rule.distilled_from.get("scenario", ""))
    if scenario:
        here = source.record.scenario.name
        yield f"Distilled from a policy for `{_safe(scenario)}`; this page is for `{_safe(here)}`."
    evidence = rule.evidence
    if not evidence:
        yield "Not measured on this scenario: how it does here beside a setting that nobody changes is not known."
        yield ""
        return
    try:
        static, own = evidence["best_static"], evidence["rule"]
        count = evidence["storms"][1] - evidence["storms"][0]
        yield (
            f"On {count} storms there: {own['rmst_s'] / 60.0:.0f} min instead of "
            f"{static['rmst_s'] / 60.0:.0f} min with the best setting that nobody changes, "
            f"{own['changes_per_hour']:.1f} changes per hour."
        )
    except (KeyError, TypeError, IndexError):
        yield "How it does beside a setting that nobody changes was not measured."
    yield ""


def _is_best(rule: Followed, source: Source) -> bool:
    """Tell whether the rule was measured on this scenario, and is better than the best setting that nobody changes."""
    if rule.origin is not None and rule.origin.differs:
        return False
    try:
        here = rule.distilled_from["scenario"] == source.record.scenario.name
        return bool(here and rule.evidence["rule"] and rule.evidence["best_static"] and not rule.loss)
    except (KeyError, TypeError):
        return False


def advice(source: Source, rule: Followed | None = None) -> str:
    """Return the command that works a rule out, with what is to be put in for the night."""
    found = source.record.scenario
    packaged = found.name in scenario_file.list_names() and scenario_file.load(found.name).hash() == found.hash
    words = ["signalstorm", "advise", found.name if packaged else "scenario.yaml", "--counters", "latest.csv"]
    if rule is not None:
        words += ["--rule", rule.name, *(["--transfer"] if rule.transferred else [])]
    rate = source.recommended[GATE]
    command = " ".join(shlex.quote(word) for word in [*words, "--set", f"{GATE}={rate}"]).replace("`", "")
    where = "" if packaged else "scenario.yaml from the folder of the run, "
    return f"`{command}`, {where}with the latest counters and the rate in force by then."


def _safe(text: str, kept: str = " .-_") -> str:
    """Return a name of which nothing can become Markdown."""
    return "".join(character if character.isalnum() or character in kept else " " for character in text)


def _example(rule: Followed, source: Source, release: Release, names: Mapping[str, str]) -> Iterator[str]:
    """Work out one interval with round numbers, as `advise` does."""
    rate = source.recommended[GATE]
    now = float(KNOBS[GATE].low * 4) if isinstance(rate, str) or rate is None else float(rate)
    accepts = round(0.6 * now)
    failures = round(now) - accepts
    links = {"alarms": 1.0} if "rto_max_ms" in source.present else {}
    seen = {"requests": 3 * now, "admitted": now, "accepts": float(accepts), "failures": float(failures), **links}
    setting: dict[str, KnobValue] = {**source.recommended, GATE: round(now)}
    reason, wanted = rule.decide(seen, setting)
    yield ""
    yield f"Example: the gate lets {now:g} per s through; {3 * now:g} per s ask, {accepts} are accepted and"
    yield f"{failures} fail{', one alarm is up' if links else ''}. Then: {reason}."
    if wanted is None:
        return
    after = {**setting, GATE: wanted}
    queue = setting.get("nop_queue")
    if isinstance(queue, int):
        after["nop_queue"] = round(queue * float(wanted) / now)
    todo = [one for one in commands(after, setting, release) if GATE in one.knobs]
    yield ""
    yield "```"
    yield from staros.lines(todo, names)
    yield "```"
