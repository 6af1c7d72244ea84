"""Rules for the gate's rate that fit on a card: each looks at the counters of one interval."""

from collections.abc import Mapping
from dataclasses import dataclass

from signalstorm.agents.base import ACCEPTS, ADMITTED, CONGESTED, FAILURES, REQUESTS, Controller, Counters, Decision
from signalstorm.envs.model.knob_table import KNOBS, OFF, KnobValue
from signalstorm.envs.model.knobs import round_to_legal

_RATE = KNOBS["nop_rate"]
_LIMITING = 0.9
"""The gate limits where it lets through at least this share of its rate."""


@dataclass(frozen=True)
class RateMatching:
    """Let through what the network completes: the gate follows the rate of attaches that got through.

    Where hardly any fail and the gate is what limits, it opens by the step limit, so that capacity that comes back is
    found; the way down is the rate that was completed, plus a margin.
    """

    margin_share: float = 0.1
    """The gate's rate above that of completed attaches [share]."""
    dead_band_share: float = 0.05
    """Smaller changes are not worth a command [share]."""
    step_share: float = 0.3
    """Largest change in one interval [share]."""
    healthy_share: float = 0.02
    """Up to this share of failures the network could take more [share]."""

    name: str = "rate-matching"

    def decide(self, seen: Counters, setting: Mapping[str, KnobValue]) -> Decision:
        """Return the next rate of the gate."""
        if ACCEPTS not in seen.values:
            return Decision({}, f"{ACCEPTS} is not known, so nothing is changed")
        completed = seen.values[ACCEPTS]
        admitted = seen.values.get(ADMITTED, completed)
        failed = seen.values.get(FAILURES, max(admitted - completed, 0.0))
        rate = setting.get("nop_rate", OFF)
        share = failed / max(completed + failed, 1e-9)
        now = f"{completed:.4g} attaches/s are completed and {share:.0%} fail"
        if share <= self.healthy_share:
            if isinstance(rate, str) or admitted < _LIMITING * rate:
                return Decision({}, f"{now}: the gate is not what limits", _beyond(seen, rate))
            wanted, why = rate * (1.0 + self.step_share), f"{now} although the gate limits: open it"
        else:
            wanted, why = completed * (1.0 + self.margin_share), f"{now}: let through what is completed, and a margin"
        return _moved(rate, wanted, why, seen, self.dead_band_share, self.step_share)


@dataclass(frozen=True)
class ConstantGain:
    """Open or close the gate in proportion to how far the share of failures is from a goal."""

    goal_share: float = 0.05
    """Share of attaches behind the gate that may fail [share]."""
    gain: float = 0.5
    """Change of the rate, as a share of it, per share of failures off the goal."""
    dead_band_share: float = 0.02
    """Smaller changes are not worth a command [share]."""
    step_share: float = 0.3
    """Largest change in one interval [share]."""

    name: str = "constant-gain"

    def decide(self, seen: Counters, setting: Mapping[str, KnobValue]) -> Decision:
        """Return the next rate of the gate."""
        if FAILURES not in seen.values or ACCEPTS not in seen.values:
            return Decision({}, f"{FAILURES} or {ACCEPTS} is not known, so nothing is changed")
        failed, completed = seen.values[FAILURES], seen.values[ACCEPTS]
        share = failed / max(completed + failed, 1e-9)
        rate = setting.get("nop_rate", OFF)
        now = f"{share:.0%} of the attaches behind the gate fail, the goal is {self.goal_share:.0%}"
        if isinstance(rate, str):
            if share <= self.goal_share:
                return Decision({}, f"{now}: no gate is needed", _beyond(seen, rate))
            wanted = completed + failed
        elif share <= self.goal_share and seen.values.get(ADMITTED, completed + failed) < _LIMITING * rate:
            return Decision({}, f"{now}: the gate is not what limits", _beyond(seen, rate))
        else:
            wanted = rate * (1.0 + self.gain * (self.goal_share - share))
        return _moved(rate, wanted, now, seen, self.dead_band_share, self.step_share)


RULES: dict[str, Controller] = {rule.name: rule for rule in (RateMatching(), ConstantGain())}
"""The rules by name, with their default parameters."""


def _moved(
    rate: KnobValue, wanted: float, why: str, seen: Counters, dead_band_share: float, step_share: float
) -> Decision:
    """Return the legal rate nearest to a wanted one, within dead band and step limit."""
    said = _beyond(seen, rate)
    if isinstance(rate, str):
        legal = round_to_legal({"nop_rate": wanted})["nop_rate"]
        return Decision({"nop_rate": legal}, f"{why}; there is no gate yet: {legal} per s", said)
    if abs(wanted / rate - 1.0) <= dead_band_share:
        return Decision({}, f"{why}; {wanted:.4g} per s is within {dead_band_share:.0%} of the present {rate:g}", said)
    step = min(max(wanted, rate * (1.0 - step_share)), rate * (1.0 + step_share))
    legal = round_to_legal({"nop_rate": step})["nop_rate"]
    limit = "" if step == wanted else f", at most {step_share:.0%} at once"
    if legal == rate:
        return Decision({}, f"{why}; {rate:g} per s is the legal limit ({_RATE.low:g} to {_RATE.high:g})", said)
    return Decision({"nop_rate": legal}, f"{why}: {rate:g} -> {legal} per s{limit}", said)


def _beyond(seen: Counters, rate: KnobValue) -> tuple[str, ...]:
    """Say where no rate of the gate can help."""
    said = []
    completed, requests = seen.values.get(ACCEPTS, 0.0), seen.values.get(REQUESTS, 0.0)
    if rate == _RATE.low and completed < _LIMITING * _RATE.low and requests > _RATE.low:
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
