"""The conclusion of a search in words: the verdict, and what bounds the storm."""

from collections.abc import Iterator, Sequence

from signalstorm.envs.model.knobs import Setting
from signalstorm.experiments.choice import Choice
from signalstorm.experiments.diagnosis import diagnose
from signalstorm.experiments.evaluate import Evaluation
from signalstorm.experiments.patience import fails_sooner
from signalstorm.experiments.recommendation import GateRoom, HeldOut, Nominal
from signalstorm.experiments.room import in_words
from signalstorm.experiments.search import rejected
from signalstorm.experiments.search_space import SearchSpace
from signalstorm.experiments.storm_sets import Paired
from signalstorm.experiments.trials import Trial


def verdict(chosen: Choice, nominal: Nominal, held_out: HeldOut) -> str:
    """Return the result in one sentence; a storm that gets worse comes first."""
    if not chosen.setting:
        return f"Keep the present setting: {chosen.reason}."
    storms = len(held_out.storms)
    now = _time(nominal.present.convergence_time_s.median)
    then = _time(nominal.recommended.convergence_time_s.median)
    bound = nominal.lower_bound_s
    limit = "" if not bound else f" (lower bound {bound:.1f} s)"
    gain = f"ends the storm in {then} instead of {now}{limit}"
    if nominal.recommended.convergence_time_s.median is None:
        gain = f"ends the storm no sooner than the horizon, as the present one, but loses {_lost(nominal)}"
    if not held_out.worse:
        return f"The recommended setting {gain} and is worse than the present one on none of {storms} held-out storms."
    worst = max((row for row in held_out.storms if row.worse), key=lambda row: row.ratio or float("inf"))
    by = "" if worst.ratio is None else f", by up to {worst.ratio - 1:.0%} (storm {worst.number})"
    return (
        f"WORSE than the present setting on {len(held_out.worse)} of {storms} held-out storms{by}; otherwise it {gain}."
    )


def conclusions(
    space: SearchSpace,
    chosen: Choice,
    trials: Sequence[Trial],
    tried_on: Paired,
    confirmed: tuple[Evaluation, Evaluation],
    room: GateRoom | None,
) -> Iterator[str]:
    """Yield what bounds the storm under both settings, and what stands in the way of a better one.

    Args:
        space: The search space.
        chosen: The choice.
        trials: All trials.
        tried_on: The storms of the trials.
        confirmed: Nominal and held-out evaluation, each of the present and the recommended setting.
        room: How far the recommended gate lies above the calm load, if there are both.
    """
    nominal, held_out = confirmed
    parts = [("present setting", Setting({}), nominal, 0)]
    if chosen.setting:
        parts.append(("recommended setting", chosen.setting, nominal, 1))
    parts.append(("held-out storms", chosen.setting, held_out, 1))
    for name, setting, evaluation, i in parts:
        for sentence in diagnose(evaluation.storms, space.identity(setting), evaluation.outcomes.pick(i)):
            yield f"{name}: {sentence}"
    if chosen.setting:
        for sentence in fails_sooner(space.identity(chosen.setting), space.identity(Setting({}))):
            yield f"recommended setting: {sentence}"
    if room is not None:
        yield f"{'recommended' if chosen.setting else 'present'} setting: {in_words(room)}"
    if better := rejected(trials, tried_on):
        yield better


def _lost(nominal: Nominal) -> str:
    then, now = nominal.recommended.subscriber_hours_lost, nominal.present.subscriber_hours_lost
    return f"{then:,.0f} subscriber-hours of service instead of {now:,.0f}"


def _time(seconds: float | None) -> str:
    return "a time beyond the horizon" if seconds is None else f"{seconds:.1f} s"
