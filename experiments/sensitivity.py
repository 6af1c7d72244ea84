"""Sensitivity: which knobs matter, and how the two that matter most work together.

How far one knob alone may move is in ``safe``.
"""

from collections.abc import Sequence

import numpy as np
import optuna

from signalstorm.envs.model.knob_table import KNOBS, KnobValue
from signalstorm.envs.model.knobs import Setting, round_to_legal
from signalstorm.experiments.engines import Engine
from signalstorm.experiments.recommendation import Interaction
from signalstorm.experiments.safe import knob_value, moved
from signalstorm.experiments.search_space import SearchSpace
from signalstorm.experiments.storm_sets import Paired, Progress, meet
from signalstorm.experiments.study import Study

_FEWEST = 32
"""Trials below which nothing is said."""
_SIDE = 5
"""Values of each knob on the map."""
_REACH = 3.0
"""The map reaches from a third of the recommended value to three times as much, as far as the range goes."""


def importance(study: Study) -> dict[str, float] | None:
    """Return how much each knob matters for being among the best (PED-ANOVA, sums to 1); None if unknown."""
    knobs = study.space.knobs
    known = [trial for trial in study.frozen_trials() if trial.params]
    if len(knobs) < 2 or len(known) < _FEWEST:
        return None
    scratch = optuna.create_study()
    for trial in known:  # by the first objective, which decides
        row = optuna.create_trial(params=trial.params, distributions=trial.distributions, value=trial.values[0])
        scratch.add_trial(row)
    found = optuna.importance.get_param_importances(scratch)
    return {name: round(float(found.get(name, 0.0)), 4) for name in knobs}


def interaction(
    space: SearchSpace,
    setting: Setting,
    shares: dict[str, float] | None,
    storms: Paired,
    engine: Engine,
    progress: Progress | None = None,
) -> Interaction | None:
    """Map the cost of storms over the two most important knobs, the others as recommended.

    Args:
        space: The search space.
        setting: The recommended setting, as overrides of the present one.
        shares: Importance of the knobs; None if unknown.
        storms: The storms by which values are compared.
        engine: Where storms run.
        progress: Told how far it is.

    Returns:
        The map; None where fewer than two knobs have a range to move in.
    """
    ordered = sorted(space.knobs, key=lambda name: -(shares or {}).get(name, 0.0))
    axes = [(name, values) for name in ordered if len(values := axis(space, setting, name)) > 1][:2]
    if shares is None or len(axes) < 2:
        return None
    (first, rows), (second, columns) = axes
    cells = [(i, j) for i in range(len(rows)) for j in range(len(columns))]
    settings = {}
    for i, j in cells:
        once = moved(space, setting, first, rows[i])
        both = None if once is None else moved(space, once, second, columns[j])
        if both is not None:
            settings[i, j] = both
    told = None if progress is None else progress
    values_s = storms.values_of(meet(list(settings.values()), storms.storms, engine, "interaction", told))
    found = {cell: round(float(value), 3) for cell, value in zip(settings, values_s, strict=True)}
    return Interaction(
        knobs=(first, second),
        units=(KNOBS[first].unit, KNOBS[second].unit),
        first=tuple(rows),
        second=tuple(columns),
        storms=len(storms.storms.numbers),
        value_s=tuple(tuple(found.get((i, j)) for j in range(len(columns))) for i in range(len(rows))),
    )


def axis(space: SearchSpace, setting: Setting, name: str) -> Sequence[KnobValue]:
    """Return the values of a knob on the map, the recommended one among them.

    Args:
        space: The search space.
        setting: The recommended setting.
        name: The knob.
    """
    knob = space.knob(name)
    if knob.kind == "choice":
        return knob.choices
    here = knob_value(name, space.identity(setting))
    if here is None:
        return ()
    low, high = max(knob.low, here / _REACH), min(knob.high, max(here * _REACH, knob.step * (_SIDE - 1)))
    half = _SIDE // 2 + 1
    if low > 0:
        values = [*np.geomspace(low, here, half), *np.geomspace(here, high, half)]
    else:
        values = [here, *np.linspace(low, high, _SIDE)]
    legal = [round_to_legal({name: float(value)})[name] for value in values]
    return sorted(dict.fromkeys(legal), key=float)
