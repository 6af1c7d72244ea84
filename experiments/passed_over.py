"""The setting that ends the storm as it is sooner than the recommended one, and why it was passed over all the same."""

from collections.abc import Sequence

import numpy as np

from signalstorm.envs.model.knobs import Setting
from signalstorm.envs.model.metrics import restricted, watched_s
from signalstorm.experiments.choice import Choice
from signalstorm.experiments.engines import Engine
from signalstorm.experiments.evaluate import StormSet
from signalstorm.experiments.recommendation import PassedOver
from signalstorm.experiments.search_space import SearchSpace
from signalstorm.experiments.storm_sets import TOLERANCE, Budget, Paired, float_times, meet
from signalstorm.experiments.trials import Trial

_LOOKED_AT = 7
"""Trials, the best of the search, that are simulated on the storm as it is."""
_SEEDS = 4
"""Seeds of the storm as it is that each of them meets."""
_INSTANT_S = 1e-9
"""Stands for the time of a present setting under which nothing storms [s]."""


def passed_over(
    space: SearchSpace, trials: Sequence[Trial], tried_on: Paired, chosen: Choice, budget: Budget, engine: Engine
) -> PassedOver | None:
    """Return the quickest setting on the storm as it is that was not chosen; None if none is quicker by 2 %.

    Args:
        space: The search space.
        trials: All trials.
        tried_on: The storms of the trials.
        chosen: The choice.
        budget: Which seeds the storm as it is has.
        engine: Where storms run.
    """
    ours = space.identity(chosen.setting)
    others = [trial for trial in trials if trial.complete and space.identity(trial.setting) != ours]
    others = sorted(others, key=lambda trial: (trial.value_s, trial.number))[:_LOOKED_AT]
    if not others:
        return None
    as_it_is = StormSet(space.scenario, tuple(budget.nominal_range)[:_SEEDS], vary=False)
    settings = [chosen.setting, *(trial.setting for trial in others)]
    recommended_s, *times_s = meet(settings, as_it_is, engine).restricted_mean_s.tolist()
    best = int(np.argmin(times_s))
    if times_s[best] >= recommended_s * (1.0 - TOLERANCE):
        return None
    return PassedOver(
        trial=others[best].number,
        override=dict(others[best].setting),
        seeds=as_it_is.numbers,
        rmst_s=round(times_s[best], 6),
        recommended_rmst_s=round(recommended_s, 6),
        reason=_reason(others[best], tried_on, chosen, engine),
    )


def _reason(trial: Trial, tried_on: Paired, chosen: Choice, engine: Engine) -> str:
    """Say where it is worse than the present setting, or what else speaks against it."""
    beyond = [name.removeprefix("at_most_") for name, excess in trial.scores.excess.items() if excess > 0]
    if beyond:
        return f"it exceeds what the study allows of {', '.join(beyond)}"
    if trial.worse:
        return _worse(tried_on, np.asarray(float_times(trial.times_s)), "storms of the search")
    storms = chosen.storms
    met = meet([Setting(trial.setting), chosen.setting], storms.storms, engine)
    times_s = met.outcomes.convergence_time_s[0]
    if bool(storms.worse(met.restricted_s[0]).any()):
        return _worse(storms, times_s, "fresh storms")
    theirs, ours = storms.values_of(met).tolist()
    if theirs > ours:
        return f"storms that vary cost {theirs:,.1f} s with it, {ours:,.1f} s with the recommended one"
    return "it did not pass by the margin that keeps a setting from being worse on storms that nobody has seen"


def _worse(storms: Paired, times_s: np.ndarray, words: str) -> str:
    restricted_s = restricted(times_s, watched_s(storms.storms.scenario))
    worse = storms.worse(restricted_s)[0]
    ratio = float((restricted_s / np.maximum(storms.present_restricted_s, _INSTANT_S))[worse].max())
    return (
        f"it is worse than the present setting on {int(worse.sum())} of {worse.size} {words}, by up to "
        f"{ratio - 1:.0%}, and a recommendation must be worse on none"
    )
