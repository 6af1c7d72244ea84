"""Laws for one storm and one person: the counters of an interval in, a command and its reason in words out."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from signalstorm.agents.base import ACCEPTS, CONGESTED, REQUESTS, Controller, Counters, Decision
from signalstorm.agents.laws.base import LIMITING, Law, moved
from signalstorm.agents.laws.rates import Aimd, ConstantGain, DoicRate, RateMatching
from signalstorm.agents.laws.table import Table
from signalstorm.agents.origin import Origin
from signalstorm.agents.plant import Gate, View, as_number
from signalstorm.envs.model.knob_table import KNOBS, OFF, KnobValue
from signalstorm.envs.model.knobs import round_to_legal

GATE = "nop_rate"
"""The knob that they move."""
_RATE = KNOBS[GATE]
_GATE = Gate()


@dataclass(frozen=True)
class Card:
    """A law on the gate's rate that remembers nothing, so that a decision follows from one interval alone."""

    law: Law
    """The law."""
    closing: str
    """What it does under congestion, in words."""
    opening: str
    """What it does otherwise."""

    @property
    def name(self) -> str:
        """The law's name."""
        return self.law.name

    def decide(self, seen: Counters, setting: Mapping[str, KnobValue]) -> Decision:
        """Return the next rate of the gate, see ``Controller.decide``."""
        if ACCEPTS not in seen.values:
            return Decision({}, f"{ACCEPTS} is not known, so nothing is changed")
        rate = setting.get("nop_rate", OFF)
        now = np.array([as_number("nop_rate", rate)])
        view = _GATE.view({name: np.array([value]) for name, value in seen.values.items()}, now, seen.interval_s)
        wanted = self.law.wanted(view, np.zeros((1, 1)))
        state = f"{view.completed[0]:.4g} attaches/s are completed and {view.failed_share[0]:.0%} fail"
        if np.isnan(wanted[0]):
            return Decision({}, f"{state}: the gate is not what limits", _beyond(seen, rate))
        why = f"{state}: {self.reason(view)}"
        return _decision(self.law, view, float(wanted[0]), rate, why, _beyond(seen, rate))

    def reason(self, view: View) -> str:
        """Say in words what the law does."""
        return self.closing if self.law.congested(view)[0] else self.opening


@dataclass(frozen=True)
class TableCard(Card):
    """A table on the gate's rate."""

    law: Table
    closing: str = ""
    opening: str = ""
    origin: Origin | None = None
    """What it was distilled from, where it was."""

    def reason(self, view: View) -> str:
        """Name the row that holds; see `Card.reason`."""
        number = int(self.law.chosen(view)[0])
        return f"row {number + 1}, {self.law.rows[number]}"

    def decide(self, seen: Counters, setting: Mapping[str, KnobValue]) -> Decision:
        """Return the next rate; what only a person remembers is said. See ``Controller.decide``."""
        made = super().decide(seen, setting)
        if GATE not in made.knobs:
            return made
        said = []
        rises = as_number(GATE, made.knobs[GATE]) > as_number(GATE, setting.get(GATE, OFF))
        if self.law.cool_down and rises:
            said.append(f"raise it only if the last change is more than {self.law.cool_down:g} intervals old")
        if self.law.most_per_hour:
            said.append(f"enter it only if it was changed fewer than {self.law.most_per_hour} times in the last hour")
        return Decision(made.knobs, made.reason, (*made.said, *said))


RULES: dict[str, Controller] = {
    card.name: card
    for card in (
        Card(
            RateMatching(),
            "let through what is completed, and a margin",
            "nothing fails although the gate limits, so open it",
        ),
        Card(ConstantGain(), *("let through what is completed, times a constant",) * 2),
        Card(
            Aimd(step_share=0.3),
            "close by a fixed share",
            "nothing fails although the gate limits, so open it by a fixed step",
        ),
        Card(
            DoicRate(step_share=0.3),
            "let through a little less than is completed",
            "nothing fails although the gate limits, so open it by a fixed step",
        ),
    )
}
"""The rules by name, with their default parameters."""


def _decision(law: Law, view: View, wanted: float, rate: KnobValue, why: str, said: tuple[str, ...]) -> Decision:
    """Return the legal rate nearest to a wanted one, within dead band and step limit."""
    step = float(moved(law, view.rate, np.array([wanted]))[0])
    if isinstance(rate, str):
        legal = round_to_legal({"nop_rate": step})["nop_rate"]
        return Decision({"nop_rate": legal}, f"{why}; there is no gate yet: {legal} per s", said)
    if step == rate:
        kept = f"{why}; {wanted:.4g} per s is within {law.dead_band_share:.0%} of the present {rate:g}"
        return Decision({}, kept, said)
    legal = round_to_legal({"nop_rate": step})["nop_rate"]
    limit = "" if step == wanted else f", at most {law.step_share:.0%} at once"
    if legal == rate:
        return Decision({}, f"{why}; {rate:g} per s is the legal limit ({_RATE.low:g} to {_RATE.high:g})", said)
    return Decision({"nop_rate": legal}, f"{why}: {rate:g} -> {legal} per s{limit}", said)


def _beyond(seen: Counters, rate: KnobValue) -> tuple[str, ...]:
    """Say where no rate of the gate can help."""
    said = []
    completed, requests = seen.values.get(ACCEPTS, 0.0), seen.values.get(REQUESTS, 0.0)
    if rate == _RATE.low and completed < LIMITING * _RATE.low and requests > _RATE.low:
        said.append(
            f"no knob can help: {completed:.4g} attaches/s are completed, and the gate cannot be set below "
            f"{_RATE.low:g} per s; the bottleneck itself must become faster, or traffic be held back before the gate"
        )
    links = seen.values.get(CONGESTED, 0.0)
    if links > 0:
        said.append(
            f"{links:.0f} signalling links are congested: the gate does not empty their queues; a restart of the links "
            "does, and a lower RTO-max lets them find out sooner that the peer takes data again"
        )
    return tuple(said)
