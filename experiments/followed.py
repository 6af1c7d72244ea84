"""Rules as the runbook is told of them: plain lines and numbers, and a decision to work an example with."""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path

from signalstorm.agents import rule_file
from signalstorm.agents.base import ACCEPTS, ADMITTED, CONGESTED, FAILURES, REQUESTS, Counters, Decision
from signalstorm.agents.laws.base import LIMITING
from signalstorm.agents.laws.rates import ConstantGain
from signalstorm.agents.laws.table import Table
from signalstorm.agents.rules import GATE, RULES, Card, TableCard
from signalstorm.envs.model.errors import ABSENT, wrong_input
from signalstorm.envs.model.knob_table import KNOBS, KnobValue
from signalstorm.envs.model.wording import nearest
from signalstorm.experiments.export.rule_page import Followed
from signalstorm.experiments.policies import basis_of
from signalstorm.experiments.recommendation import load

_log = logging.getLogger(__name__)
_NAMES = {
    "requests": REQUESTS,
    "admitted": ADMITTED,
    "accepts": ACCEPTS,
    "failures": FAILURES,
    "alarms": CONGESTED,
}

_OF_EVERY_LAW = ("dead_band_share", "step_share", "cool_down", "most_per_hour")
"""Parameters that the lines below the table say."""
OFFERED = "constant-gain"
"""The rule of a runbook where nobody names one and the run has none: one line, and nothing to remember."""
NONE = "none"
"""What is named for a runbook without a rule."""


def find(named: str | None, recommendation: Path, *, transfer: bool = False, force: bool = False) -> Followed | None:
    """Return the rule of a name or a file; without one that of the run, or else the simplest one for a gate.

    None where `NONE` is named, or nothing is and the recommended setting has no gate's rate for a rule to move, or is
    the present one. A rule of the run that is no better than a setting that nobody changes is passed over.

    Args:
        named: A name from `RULES`, a file, `NONE`, or None.
        recommendation: The file, or the folder of its run.
        transfer: Whether a rule that was distilled on another scenario will do, with a warning.
        force: Whether a rule will do that is no better than a setting that nobody changes; the page says so.

    Raises:
        InputError: If there is no such rule, its file is wrong, it is not of the gate, or, without `transfer`, was
            distilled on another scenario than the recommendation's, or, without `force`, is no better than a setting
            that nobody changes.
    """
    if named == NONE:
        return None
    if named in RULES:
        card = RULES[named]
        return _followed(named, card) if isinstance(card, Card) else None
    if named is None:
        path = (recommendation if recommendation.is_dir() else recommendation.parent) / rule_file.RULE
        if not path.is_file():
            return _offered(recommendation)
    else:
        path = Path(named)
        if not path.exists() and path.suffix not in (".yaml", ".yml"):
            rule = "must be the name of a rule, or a file with one"
            raise wrong_input(rule, named, nearest(named, RULES), file="--rule")
    found = rule_file.load(path)
    if found.knob != GATE:
        if named is None:
            return _offered(recommendation)
        rule = f"must be of {GATE}, the gate's rate"
        raise wrong_input(rule, found.knob, "run it with evaluate or compare", file=named, key="knob")
    file = rule_file.file_of(path)
    origin = None
    if found.distilled_from:
        scenario = load(recommendation).scenario
        origin = rule_file.origin_of(found, file, basis_of(scenario.name, scenario.hash), transfer=transfer)
        if origin is not None:
            origin.warn()
    followed = _followed(str(path), TableCard(found.law, origin=origin), found)
    if followed.loss and not force:
        rule = f"is no better than the best setting that nobody changes: {followed.loss}"
        if named is None:
            _log.warning("%s: the rule %s; it is passed over", file, rule)
            return _offered(recommendation)
        raise wrong_input(rule, ABSENT, "name another rule, none, or let it through with --force", file=str(file))
    return followed


def _offered(recommendation: Path) -> Followed | None:
    """Return the simplest rule where the recommended setting is a new one with a gate's rate to move, else None."""
    card, known = RULES[OFFERED], load(recommendation)
    gated = isinstance(known.recommended.get(GATE), int | float)
    return _followed(OFFERED, card) if gated and known.changed and isinstance(card, Card) else None


def _followed(named: str, card: Card, file: rule_file.RuleFile | None = None) -> Followed:
    law = card.law

    def decide(seen: Mapping[str, float], setting: Mapping[str, KnobValue]) -> Decision:
        return card.decide(Counters(60.0, 60.0, {_NAMES[name]: value for name, value in seen.items()}), setting)

    return Followed(
        named,
        tuple(_table(card)),
        float(getattr(law, "floor_per_s", KNOBS[GATE].low)),
        law.dead_band_share,
        law.step_share,
        law.cool_down,
        law.most_per_hour,
        lambda seen, setting: _plain(decide(seen, setting)),
        dict(file.distilled_from or {}) if file else {},
        dict(file.evidence or {}) if file else {},
        card.origin if isinstance(card, TableCard) else None,
    )


def _plain(made: Decision) -> tuple[str, KnobValue | None]:
    return made.reason, made.knobs.get(GATE)


def _table(card: Card) -> Iterator[str]:
    law = card.law
    if isinstance(law, Table):
        yield from rule_file.table_lines(law)
        yield ""
        yield "The first row that holds counts; completed is the attach accepts per second of the last interval."
        yield ""
        yield from rule_file.column_lines(law)
        return
    yield "| row | if | then |"
    yield "|---|---|---|"
    if isinstance(law, ConstantGain):
        limit = (
            f"no alarm is up, at most {law.healthy_share:.0%} of the attempts fail, and less than {LIMITING:.0%} of the"
        )
        yield f"| 1 | {limit} gate's rate passes it, which is above the rate of row 2 | leave it |"
        yield f"| 2 | otherwise | gate's rate = {law.gain:g} x attach accepts per second of the last interval |"
    else:
        yield from _rows(card)
    yield ""
    own = [field.name for field in fields(law) if field.name not in _OF_EVERY_LAW]
    yield f"`{card.name}`: " + ", ".join(f"{name} {getattr(law, name):g}" for name in own) + "."


def _rows(card: Card) -> Iterator[str]:
    yield f"| 1 | an alarm is up, or more than {card.law.healthy_share:.0%} of the attempts fail | {card.closing} |"
    yield f"| 2 | otherwise | {card.opening} |"
