"""Sensitivity: which knobs matter, and how the two that matter most work together."""

import optuna

from signalstorm.experiments.study import Study

_FEWEST = 32
"""Trials below which nothing is said."""


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
