"""Room above the calm load: how far the network may grow before a gate that ends its storms turns against it.

A gate below the calm load keeps people out for ever, with or without a storm. Power-cycles make the calm load of a
scenario; a gate that was right when it was tuned is wrong once they have grown past it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from signalstorm.envs.model.knob_table import KnobValue
from signalstorm.envs.model.knobs import Setting
from signalstorm.envs.model.metrics import percentile, restricted, watched_s
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.model.storms import HELD_OUT, storm
from signalstorm.experiments.evaluate import StormSet, evaluate
from signalstorm.experiments.recommendation import GateRoom
from signalstorm.experiments.storm_sets import is_worse

_SEEDS = 4
"""Seeds of the scenario as it is, by which each calm load is judged."""
_COARSE, _FINE = 0.1, 0.01
"""[share] steps by which the calm load grows, and to which the limit is then narrowed down."""
_MOST = 1.0
"""[share] growth up to which a limit is looked for."""
_AHEAD = 4
"""Growths that are run together: with their seeds and both settings they fill a tile, which costs as much as one."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class _Growing(StormSet):
    """The same seeds under several calm loads; a number per seed and growth."""

    growths: tuple[float, ...]
    """Growth of the calm load of each storm."""

    @cached_property
    def scenarios(self) -> tuple[Scenario, ...]:
        """One scenario per storm."""
        grown = {
            growth: self.scenario.with_fields({"churn_scale": self.scenario.churn_scale * (1.0 + growth)})
            for growth in self.growths
        }
        numbered = zip(self.growths, self.numbers, strict=True)
        return tuple(storm(grown[growth], number, vary=False) for growth, number in numbered)


def calm_attaches_per_s(scenario: Scenario) -> float:
    """Return the attaches that meet the gate while everybody has service, at the time of the trigger [per s]."""
    groups = (group for group in scenario.subscribers if not group.priority)
    rate = sum(group.size * group.registered_share * scenario.churn_per_s(group) for group in groups)
    if scenario.churn_profile is None:
        return rate
    times, factors = zip(*scenario.churn_profile.points, strict=True)
    return rate * float(np.interp(scenario.trigger.time_s, times, factors))


def gate_and_calm(scenario: Scenario, setting: Mapping[str, KnobValue]) -> tuple[float, float] | None:
    """Return the gate's rate and the calm load [per s]; None without a gate or without a calm load."""
    rate, calm = setting.get("nop_rate"), calm_attaches_per_s(scenario)
    if scenario.topology.gate is None or isinstance(rate, str | None) or calm <= 0:
        return None
    return float(rate), calm


def gate_room(scenario: Scenario, setting: Setting, complete: Mapping[str, KnobValue]) -> GateRoom | None:
    """Let the calm load grow, all else as in the scenario, until the setting no longer holds.

    It holds while it is worse than the present setting on none of some seeds, and its median storm ends, if it does in
    the scenario as it is. The limit is searched upwards in steps of 10 % and then narrowed down to 1 %.

    Args:
        scenario: The scenario.
        setting: The setting, as overrides of the present one.
        complete: The same, complete.

    Returns:
        The room; None without a gate or without a calm load.
    """
    found = gate_and_calm(scenario, complete)
    if found is None:
        return None
    gate, calm = found
    known: dict[float, Floats] = {}

    def times_s(growth: float, ahead: Sequence[float]) -> Floats:
        if growth not in known:
            asked = dict.fromkeys([growth, *(other for other in ahead if other not in known)])
            known.update(_times_s(scenario, setting, list(asked)))
        return known[growth]

    must_end = percentile(times_s(0.0, _coarse()[: _AHEAD - 1])[1], 0.5) is not None

    def trouble(growth: float, ahead: Sequence[float]) -> str | None:
        times = times_s(growth, ahead)
        present, own = restricted(times, watched_s(scenario))
        if is_worse(own, present).any():
            return "it is worse than the present setting"
        return "its storm outlasts the horizon" if must_end and percentile(times[1], 0.5) is None else None

    held, failed, reason = _limit(trouble)
    return GateRoom(
        gate_per_s=gate,
        calm_per_s=round(calm, 3),
        room_share=round(gate / calm - 1.0, 4),
        holds_to_share=held,
        fails_from_share=failed,
        reason=reason,
    )


def in_words(room: GateRoom) -> str:
    """Return the room as a sentence of the diagnosis."""
    side = "above" if room.room_share >= 0 else "below"
    text = f"the gate of {room.gate_per_s:g}/s lies {abs(room.room_share):.0%} {side} the calm {room.calm_per_s:.0f}/s"
    if room.fails_from_share is None:
        return (
            f"{text}; all else as it is, the setting holds up to a calm load {room.holds_to_share:.0%} higher at least"
        )
    limit = room.calm_per_s * (1.0 + room.fails_from_share)
    return (
        f"{text}; all else as it is, the setting no longer holds from a calm load of {limit:.0f}/s "
        f"({room.fails_from_share:+.0%}) on, where {room.reason}: tune again before the network has grown that far"
    )


def _times_s(scenario: Scenario, setting: Setting, growths: Sequence[float]) -> dict[float, Floats]:
    """Return T of the present and the given setting under each grown calm load, shape (2, seeds) [s]."""
    numbers = tuple(range(HELD_OUT, HELD_OUT + _SEEDS)) * len(growths)
    storms = _Growing(scenario, numbers, vary=False, growths=tuple(np.repeat(growths, _SEEDS).tolist()))
    times = evaluate([{}, setting], storms).outcomes.convergence_time_s
    return {growth: times[:, i * _SEEDS : (i + 1) * _SEEDS] for i, growth in enumerate(growths)}


def _coarse() -> list[float]:
    """Return the growths of the first look."""
    return list(np.arange(_COARSE, _MOST + _COARSE / 2, _COARSE).round(9).tolist())


def _middle(held: float, failed: float) -> float:
    return round((held + failed) / 2, 2)


def _limit(trouble: Callable[[float, Sequence[float]], str | None]) -> tuple[float, float | None, str | None]:
    """Return the growth that still holds, the least that does not, and why; None and None if all of it holds.

    ``trouble`` says what is wrong under a growth; it is also told which growths may be asked for next.
    """
    held = 0.0
    coarse = _coarse()
    for i, growth in enumerate(coarse):
        reason = trouble(growth, coarse[i + 1 : i + _AHEAD])
        if reason is not None:
            break
        held = growth
    else:
        return held, None, None
    failed = growth
    while failed - held > _FINE * 1.5:
        middle = _middle(held, failed)
        found = trouble(middle, [_middle(held, middle), _middle(middle, failed)])
        if found is None:
            held = middle
        else:
            failed, reason = middle, found
    return held, failed, reason
