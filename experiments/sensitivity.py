"""Sensitivity: which knobs matter, and how the two that matter most work together.

Knobs matter by what turning them changes, or by how good trials differ from all in them (PED-ANOVA).
How far one knob alone may move is in ``safe``.
"""

from collections.abc import Mapping, Sequence

import optuna
from optuna.importance import PedAnovaImportanceEvaluator, get_param_importances
from optuna.trial import FrozenTrial

from signalstorm.envs.model.knob_table import KNOBS, KnobValue
from signalstorm.envs.model.knobs import Setting, round_to_legal
from signalstorm.experiments.engines import Engine
from signalstorm.experiments.recommendation import Interaction, Profile
from signalstorm.experiments.safe import knob_value, moved
from signalstorm.experiments.search_space import SearchSpace
from signalstorm.experiments.storm_sets import Paired, Progress, meet

_FLOOR = 0.01
"""A change of cost below this share is none: by so much do settings differ that are as good as equal."""
_FEWEST = 41
"""Trials below which PED-ANOVA says nothing: the best tenth of fewer are fewer than the five that Optuna asks for."""
_SIDE = 5
"""Values of each knob on the map."""
_REACH = 3.0
"""The map reaches from a third of the recommended value to three times as much, as far as the range goes, and on to the
present value where that lies beyond."""


def importance(profiles: Mapping[str, Profile]) -> dict[str, float] | None:
    """Return how much each knob matters: the change of cost over its legal range, as a share of all knobs' changes.

    One knob moves, the others stay as recommended: so a knob ranks high only where turning it from there changes
    storms, which the map of two knobs and the safe intervals show too. Changes below a floor count as chance.

    Args:
        profiles: Costs of the values tried, by knob.

    Returns:
        Shares that sum to 1, or are all 0 where no knob changes anything; None with fewer than two knobs.
    """
    if len(profiles) < 2:
        return None
    changes = {}
    for name, profile in profiles.items():
        least, most = min(profile.value_s), max(profile.value_s)
        changes[name] = most - least if most - least >= _FLOOR * least else 0.0
    total = sum(changes.values())
    return {name: round(change / total, 4) if total > 0 else 0.0 for name, change in changes.items()}


def ped_anova(trials: Sequence[FrozenTrial], knobs: Sequence[str]) -> dict[str, float] | None:
    """Return how much the best tenth of trials differ from all trials in each knob.

    PED-ANOVA (Watanabe, Bansal, Hutter, IJCAI 2023) as Optuna has it and as its dashboard shows it: the Pearson
    divergence between the densities of a knob's values in the best tenth and in all trials. Best is what costs least,
    the first objective, whether or not it keeps the constraints.

    Args:
        trials: Complete trials; those without a point in the search space do not count.
        knobs: The searched knobs.

    Returns:
        Shares that sum to 1, or are all 0 where no trial is better than another; None with fewer than two knobs or too
        few trials.
    """
    known = [trial for trial in trials if trial.params]
    if len(knobs) < 2 or len(known) < _FEWEST:
        return None
    if len({trial.values[0] for trial in known}) == 1:
        return dict.fromkeys(knobs, 0.0)
    scratch = optuna.create_study()
    for trial in known:
        row = optuna.create_trial(params=trial.params, distributions=trial.distributions, value=trial.values[0])
        scratch.add_trial(row)
    found = get_param_importances(scratch, evaluator=PedAnovaImportanceEvaluator())
    return {name: round(found[name], 4) for name in knobs}


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
    present, recommended = (
        (_value(space, part, first), _value(space, part, second)) for part in (Setting({}), setting)
    )
    return Interaction(
        knobs=(first, second),
        units=(KNOBS[first].unit, KNOBS[second].unit),
        first=tuple(rows),
        second=tuple(columns),
        storms=len(storms.storms.numbers),
        value_s=tuple(tuple(found.get((i, j)) for j in range(len(columns))) for i in range(len(rows))),
        present=present,
        recommended=recommended,
    )


def axis(space: SearchSpace, setting: Setting, name: str) -> Sequence[KnobValue]:
    """Return the values of a knob on the map, the recommended one and, where it has one, the present one among them.

    Args:
        space: The search space.
        setting: The recommended setting.
        name: The knob.
    """
    knob = space.knob(name)
    if knob.kind == "choice":
        return knob.choices
    here, now = (knob_value(name, space.identity(part)) for part in (setting, Setting({})))
    if here is None:
        return ()
    low, high = max(knob.low, here / _REACH), min(knob.high, max(here * _REACH, knob.step * (_SIDE - 1)))
    if now is not None:
        low, high = min(low, now), max(high, now)
    values = [here, *_between(low, here, now), *_between(here, high, now)]
    legal = [round_to_legal({name: value})[name] for value in values]
    return sorted(dict.fromkeys(legal), key=float)


def _between(low: float, high: float, now: float | None) -> Sequence[float]:
    """Return the ends of one half of an axis and a value between them: the present one if it lies there."""
    if now is not None and low < now < high:
        return low, now, high
    return (low, (low * high) ** 0.5, high) if low > 0 else (low, (low + high) / 2, high)


def _value(space: SearchSpace, setting: Setting, name: str) -> KnobValue | None:
    """Return the value of a knob under a setting as it stands on the map."""
    complete = space.identity(setting)
    number = knob_value(name, complete)
    return complete.get(name) if number is None else round_to_legal({name: number})[name]
