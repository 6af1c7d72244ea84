"""Trials: what is proposed, what is claimed, and what it came to."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from optuna.trial import FrozenTrial, TrialState

from signalstorm.envs.model.knob_table import KnobValue
from signalstorm.envs.model.knobs import Setting
from signalstorm.experiments.objectives import Objective

NEVER_WORSE = "never_worse"
"""Name of the constraint: the number of storms on which a trial is worse than the present setting."""


@dataclass(frozen=True)
class Scores:
    """What a trial came to."""

    value_s: float
    """What it is ranked by: its storms' costs, as the study weighs them; an estimate if it was ended early [s]."""
    worse: int
    """Storms, guards included, on which it is worse than the present setting."""
    times_s: tuple[float | None, ...]
    """T on each storm that it met, None where not reached [s]."""
    lost_h: tuple[float, ...]
    """Subscriber-hours lost on each storm that it met."""
    figures: Mapping[Objective, float] = field(default_factory=dict)
    """Everything that can be minimised, `time` left out."""
    excess: Mapping[str, float] = field(default_factory=dict)
    """By how much it exceeds each limit of the study, as a share of the limit; 0 or less: it keeps it."""
    pruned: bool = False
    """Whether it was ended before it had met all its storms."""
    curve: tuple[float, ...] = ()
    """What it came to on its way, where a pruner asks for that."""


@dataclass(frozen=True)
class Trial:
    """A finished trial."""

    number: int
    """Optuna's number; 0 is the present setting."""
    batch: int
    """The batch to which it belongs; 0 is the present setting alone."""
    point: dict[str, KnobValue]
    """The point; empty for a present setting outside the search space."""
    setting: Setting
    """The legal setting, as overrides of the present one."""
    scores: Scores

    @property
    def present(self) -> bool:
        """Whether it is the present setting."""
        return self.batch == 0

    @property
    def value_s(self) -> float:
        """What it is ranked by [s]."""
        return self.scores.value_s

    @property
    def worse(self) -> int:
        """Storms on which it is worse than the present setting."""
        return self.scores.worse

    @property
    def times_s(self) -> tuple[float | None, ...]:
        """T on each storm that it met, None where not reached [s]."""
        return self.scores.times_s

    @property
    def lost_h(self) -> tuple[float, ...]:
        """Subscriber-hours lost on each storm that it met."""
        return self.scores.lost_h

    @property
    def complete(self) -> bool:
        """Whether it has met all its storms."""
        return not self.scores.pruned

    @property
    def feasible(self) -> bool:
        """Whether it has met all its storms, is worse on none, and keeps every limit."""
        return self.complete and self.worse == 0 and self.within

    @property
    def within(self) -> bool:
        """Whether it keeps every limit of the study."""
        return all(excess <= 0 for excess in self.scores.excess.values())

    def figure(self, name: Objective) -> float:
        """Return what it came to in one of the objectives."""
        return self.value_s if name == "time" else self.scores.figures[name]


@dataclass(frozen=True)
class Proposal:
    """A point worth a trial."""

    point: dict[str, KnobValue]
    setting: Setting
    attrs: Mapping[str, Any] = field(default_factory=dict)
    """What the sampler wrote beside the point."""


@dataclass(frozen=True)
class Claim:
    """A trial that is under way."""

    trial_id: int
    number: int
    batch: int
    worker: str
    proposal: Proposal
    waiting: bool = False
    """Whether the storage has given it back, for whoever comes first."""


def sampler_attrs(trial: FrozenTrial) -> dict[str, Any]:
    """Return what the sampler wrote beside a trial."""
    return {key: value for key, value in trial.system_attrs.items() if not key.startswith("constraints")}


def read(trial: FrozenTrial, stored: Callable[[Mapping[str, Any]], Setting] = Setting) -> Trial:
    """Return a finished trial as Optuna keeps it.

    Args:
        trial: The trial.
        stored: Makes a setting of what is kept of one.
    """
    record, constraints = trial.user_attrs["scores"], dict(trial.constraints)
    scores = Scores(
        value_s=float(record["value_s"]),
        worse=round(constraints.pop(NEVER_WORSE)),
        times_s=tuple(record["times_s"]),
        lost_h=tuple(record["lost_h"]),
        figures=record["figures"],
        excess=constraints,
        pruned=trial.state == TrialState.PRUNED,
        curve=tuple(record.get("curve", ())),
    )
    return Trial(
        number=trial.number,
        batch=trial.user_attrs["batch"],
        point=dict(trial.params),
        setting=stored(trial.user_attrs["setting"]),
        scores=scores,
    )
