"""Whether moving the knob of a closed loop can help at all: fixed values and loops tried on the storms, not guessed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from signalstorm.agents.clairvoyant import Clairvoyant
from signalstorm.agents.laws.base import Law
from signalstorm.agents.laws.rates import Aimd, ConstantGain, RateMatching
from signalstorm.agents.plant import BroadcastThreshold, as_number, plant_of
from signalstorm.agents.steering import Lawful, Steering, fast_knobs
from signalstorm.envs.model.knob_table import KNOBS, OFF, RTO_NAMES, KnobValue
from signalstorm.envs.model.knobs import round_to_legal
from signalstorm.envs.model.metrics import Outcomes, restricted, watched_s
from signalstorm.experiments.effects import THRESHOLD, Effect, effect
from signalstorm.experiments.evaluate import StormSet, evaluate
from signalstorm.experiments.loops import run_loop

Floats = npt.NDArray[np.float64]

STORMS = 16
"""Storms on which hands are tried, at most."""
OPEN = 0.5
"""Asked where more than this share of the storms is not over within the horizon."""
LIMIT, STUCK_MS, PROMPT_MS = "rto_max_ms", 60_000.0, 500
"""From the first limit on a link hardly notices that its peer takes data again; with the second one it does [ms]."""
_FACTORS = (0.3, 0.5, 1.0, 3.0)
"""Fixed values that are tried, beside the least, the largest and none, over the one that is set."""
_LAWS: tuple[tuple[str, Law], ...] = (
    ("rate matching", RateMatching()),
    ("constant gain 1.1", ConstantGain(gain=1.1)),
    ("additive increase, multiplicative decrease", Aimd()),
    ("constant gain 0.8", ConstantGain(gain=0.8)),
    ("constant gain 1.4", ConstantGain(gain=1.4)),
    ("constant gain 2", ConstantGain(gain=2.0)),
)
"""Loops that are tried, the likeliest first."""


@dataclass(frozen=True)
class Trial:
    """What hands on a knob came to."""

    knob: str
    """The knob."""
    storms: int
    """Storms on which they were tried."""
    values: tuple[KnobValue, ...]
    """Fixed values tried; empty where a loop had helped before."""
    effects: tuple[Effect, ...]
    """Of every hand up to the first that helps, in order."""

    @property
    def cannot_help(self) -> bool:
        """Whether none helps."""
        return not any(one.helps for one in self.effects)


def moving_cannot_help(storms: StormSet, setting: Mapping[str, KnobValue], outcomes: Outcomes) -> list[str]:
    """Say that moving the knob of the scenario's loop cannot help, where nothing that is tried does.

    Nothing is tried where most storms end anyway, or where the scenario does not say what a loop moves.

    Args:
        storms: The storms.
        setting: The complete setting.
        outcomes: What the storms came to, shape (storms,).
    """
    if storms.scenario.loop is None or np.isnan(outcomes.convergence_time_s).mean() <= OPEN:
        return []
    without = Without(storms, outcomes)
    trial = try_hands(without, setting)
    if not trial.cannot_help:
        return []
    nearest = min(trial.effects, key=lambda one: min(one.time, one.lost))
    values = ", ".join(str(value) for value in trial.values)
    loops = "; ".join(one.name for one in trial.effects if not one.name.startswith(f"{trial.knob}="))
    text = (
        f"cannot help: whoever moves {trial.knob} alone, on {trial.storms} storms none of {len(trial.effects)} hands "
        f"shortens the mean time or the hours lost by more than {THRESHOLD:.0%} (fixed at {values}; {loops}); nearest "
        f"{nearest.words}"
    )
    return [text + _instead(without, setting)]


class Without:
    """The storms on which hands are tried, and what they came to without them."""

    def __init__(self, storms: StormSet, outcomes: Outcomes) -> None:
        """Take the first storms, `STORMS` at most, with their outcomes, shape (storms,)."""
        self.storms = StormSet(storms.scenario, tuple(storms.numbers)[:STORMS], vary=storms.vary)
        count = len(self.storms.numbers)
        self._times_s = restricted(outcomes.convergence_time_s[:count], watched_s(storms.scenario))
        self._lost = outcomes.subscriber_hours_lost[:count]

    def effect(self, name: str, times_s: Floats, outcomes: Outcomes) -> Effect:
        """Return what a hand does."""
        return effect(name, times_s, outcomes.subscriber_hours_lost, self._times_s, self._lost)


def try_hands(without: Without, setting: Mapping[str, KnobValue]) -> Trial:
    """Try loops, then fixed values, until one helps.

    Args:
        without: The storms.
        setting: The complete setting; all but the knob stays as it is.
    """
    knob = fast_knobs(without.storms.scenario)[0]
    effects = []
    for one in loops_tried(without, setting):
        effects.append(one)
        if one.helps:
            return Trial(knob, len(without.storms.numbers), (), tuple(effects))
    values = _values(without.storms, setting, knob)
    effects += _fixed(without, setting, knob, values)
    return Trial(knob, len(without.storms.numbers), values, tuple(effects))


def loops_tried(without: Without, setting: Mapping[str, KnobValue]) -> Iterator[Effect]:
    """Yield what each loop does that applies, from a complete setting on; nothing without a loop in the scenario."""
    own = without.storms.scenario.loop
    if own is None:
        return
    start = _held(setting, own.fast) | {name: setting[name] for name in own.fast if name in setting}
    scenario = without.storms.scenario.model_copy(update={"loop": own.model_copy(update={"start": start})})
    storms = StormSet(scenario, without.storms.numbers, vary=without.storms.vary)
    plant = plant_of(scenario)
    hands: list[Steering] = [Lawful(law, title) for title, law in _LAWS if not law.refuses(plant)]
    if not isinstance(plant, BroadcastThreshold):
        hands.insert(2, Clairvoyant())
    for hand in hands:
        found = run_loop(hand, storms)
        yield without.effect(hand.name, found.restricted_s, found.outcomes)


def _fixed(
    without: Without, setting: Mapping[str, KnobValue], knob: str, values: Sequence[KnobValue]
) -> Iterator[Effect]:
    """Yield what each fixed value of the knob does."""
    held = _held(setting, (knob,))
    found = evaluate([{**held, knob: value} for value in values], without.storms)
    for number, value in enumerate(values):
        yield without.effect(f"{knob}={value}", found.restricted_s[number], found.outcomes.pick(number))


def _instead(without: Without, setting: Mapping[str, KnobValue]) -> str:
    """Say that lower limits of the retransmission time-out would help, where they do; else nothing."""
    limit = setting.get(LIMIT)
    if LIMIT not in without.storms.scenario.tunable or not isinstance(limit, int | float) or limit < STUCK_MS:
        return ""
    found = evaluate([{**setting, **dict.fromkeys(RTO_NAMES, PROMPT_MS)}], without.storms)
    one = without.effect(f"with {LIMIT} = {PROMPT_MS}", found.restricted_s[0], found.outcomes.pick(0))
    if not one.helps:
        return ""
    return f"; {one.words}, and {found.converged_share[0]:.0%} of the storms end, so change that first"


def _held(setting: Mapping[str, KnobValue], fast: Sequence[str]) -> dict[str, KnobValue]:
    """Return a setting without the knobs that move; the gate's queue is that of each rate."""
    gone = {*fast, *(("nop_queue",) if "nop_rate" in fast else ())}
    return {name: value for name, value in setting.items() if name not in gone}


def _values(storms: StormSet, setting: Mapping[str, KnobValue], knob: str) -> tuple[KnobValue, ...]:
    """Return the fixed values to try beside the one that is set, legal and in order, `off` last where there is one."""
    row = KNOBS[knob]
    loop = storms.scenario.loop
    now = as_number(knob, setting.get(knob))
    if not np.isfinite(now):
        now = as_number(knob, loop.start.get(knob) if loop else None)
    base = now if np.isfinite(now) else row.low
    numbers = [row.low, row.high, *(min(max(factor * base, row.low), row.high) for factor in _FACTORS)]
    legal = {round_to_legal({knob: value})[knob] for value in numbers}
    values = (*sorted(legal, key=float), *((OFF,) if OFF in row.words else ()))
    return tuple(value for value in values if value != setting.get(knob))
