"""Links that stay congested whatever the gate does: tried, not guessed."""

from collections.abc import Mapping

import numpy as np

from signalstorm.envs.model.knob_table import KNOBS, RTO_NAMES, KnobValue
from signalstorm.envs.model.metrics import Outcomes
from signalstorm.experiments.evaluate import StormSet, evaluate

GATE, LIMIT = "nop_rate", "rto_max_ms"
STUCK_MS = 60_000.0
"""From this limit on a link hardly notices that its peer takes data again [ms]."""
PINNED_SHARE = 0.7
"""A link congested for more than this share of the run does not recover by itself."""
_STORMS = 6
"""Storms on which gates are tried."""
_FACTORS = (0.3, 0.5, 1.0, 3.0)
"""Gates that are tried, besides the lowest, over the one that is set."""
_FEW = 0.25
"""A gate helps where it ends more than this share of the storms."""


def stuck_links(storms: StormSet, setting: Mapping[str, KnobValue], outcomes: Outcomes) -> list[str]:
    """Say that a loop which moves the gate alone cannot help, where every gate that is tried leaves storms open.

    Args:
        storms: The storms.
        setting: The complete setting.
        outcomes: What the storms came to, shape (storms,).
    """
    loop, rate, limit = storms.scenario.loop, setting.get(GATE), setting.get(LIMIT)
    if loop is None or loop.fast != (GATE,) or isinstance(rate, str) or rate is None:
        return []
    if not isinstance(limit, int | float) or limit < STUCK_MS or not _pinned(storms, outcomes):
        return []
    tried = StormSet(storms.scenario, tuple(storms.numbers)[:_STORMS], vary=storms.vary)
    gates = _gates(float(rate))
    held = {name: value for name, value in setting.items() if name not in (GATE, "nop_queue")}
    lower = {name: loop.start[name] for name in RTO_NAMES if name in loop.start}
    other = {**held, **lower} if float(lower.get(LIMIT, limit)) < STUCK_MS else None
    settings = [{**held, GATE: gate} for gate in gates]
    found = evaluate([*settings, *([{**other, GATE: rate}] if other else [])], tried).converged_share
    most = float(found[: len(gates)].max())
    if most > _FEW:
        return []
    rates = ", ".join(f"{gate:g}" for gate in gates)
    text = (
        f"cannot help: the loop moves {GATE} alone, and with {LIMIT} = {limit:g} none of {rates}/s ends more than "
        f"{most:.0%} of {len(tried.numbers)} storms: the links' queues stay, or the gate keeps everybody out"
    )
    if other is not None and float(found[-1]) > most:
        text += f"; with {LIMIT} = {lower[LIMIT]} and {rate:g}/s {float(found[-1]):.0%} end, so change that first"
    return [text]


def _pinned(storms: StormSet, outcomes: Outcomes) -> bool:
    """Tell whether some link is congested most of the time in at least half of the storms."""
    seconds = list(outcomes.link_congested_s.values())
    if not seconds:
        return False
    worst = np.max(seconds, axis=0)
    return float(np.median(worst)) > PINNED_SHARE * storms.scenario.horizon_s


def _gates(rate: float) -> list[int]:
    """Return the rates to try, legal and in order."""
    knob = KNOBS[GATE]
    return sorted({round(min(max(rate * factor, knob.low), knob.high)) for factor in (0.0, *_FACTORS)})
