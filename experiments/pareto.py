"""The Pareto set: settings of which none is better than another in everything that a study weighs."""

from collections.abc import Sequence

import optuna

from signalstorm.experiments.objectives import Objective
from signalstorm.experiments.recommendation import ParetoPoint
from signalstorm.experiments.trials import Trial


def figures(trial: Trial) -> dict[Objective, float]:
    """Return everything that a trial came to, `time` included."""
    return {"time": trial.value_s, **trial.scores.figures}


def pareto_set(trials: Sequence[Trial], objectives: Sequence[Objective]) -> tuple[ParetoPoint, ...]:
    """Return the settings on the Pareto front, quickest first; only feasible ones, the present one among them.

    Args:
        trials: Finished trials.
        objectives: What to weigh; those that the network does not have are left out.
    """
    feasible = [trial for trial in trials if trial.feasible]
    known = [name for name in objectives if all(name in figures(trial) for trial in feasible)]
    if not feasible or not known:
        return ()
    scratch = optuna.create_study(directions=[optuna.study.StudyDirection.MINIMIZE] * len(known))
    for trial in feasible:
        values = [figures(trial)[name] for name in known]
        scratch.add_trial(optuna.create_trial(values=values, user_attrs={"number": trial.number}))
    front = {found.user_attrs["number"] for found in scratch.best_trials} if len(known) > 1 else set()
    if len(known) == 1:
        front = {min(feasible, key=lambda trial: (figures(trial)[known[0]], trial.number)).number}
    best = sorted(
        (trial for trial in feasible if trial.number in front), key=lambda trial: (trial.value_s, trial.number)
    )
    return tuple(
        ParetoPoint(
            trial=trial.number,
            override=dict(trial.setting),
            values={name: round(figures(trial)[name], 6) for name in known},
        )
        for trial in best
    )
