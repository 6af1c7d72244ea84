"""The choice: the best candidates of a search meet fresh storms, and the best of those that pass is simplified."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from signalstorm.envs.model.errors import InputError
from signalstorm.envs.model.knobs import Setting
from signalstorm.envs.model.storms import CHOICE
from signalstorm.experiments.engines import Engine
from signalstorm.experiments.evaluate import Evaluation, StormSet
from signalstorm.experiments.search import GAIN, ranked
from signalstorm.experiments.search_space import SearchSpace, change_cost
from signalstorm.experiments.storm_sets import (
    MARGIN,
    TOLERANCE,
    Budget,
    Floats,
    Paired,
    Progress,
    find_guards,
    float_times,
    meet,
    paired,
    plain_hours,
    plain_times,
)
from signalstorm.experiments.study import Trial

_TIE = 0.01
"""Values this close count as equal; then the smaller change wins."""
_ROUNDS = 4
"""So many rounds of candidates before the search counts as without an answer."""


@dataclass(frozen=True)
class Choice:
    """What the fresh storms said."""

    setting: Setting
    """The setting chosen, as overrides; empty if it is the present one."""
    storms: Paired
    """The storms, guards last."""
    guards_failed: int = 0
    """Guards on which the setting is worse than the present one."""
    reason: str = ""
    """Why there is nothing better than the present setting; empty if there is."""

    def to_json(self) -> dict[str, Any]:
        """Return the choice in JSON's own types."""
        return {
            "setting": dict(self.setting),
            "numbers": list(self.storms.storms.numbers),
            "counted": self.storms.counted,
            "present_s": plain_times(self.storms.present_s),
            "present_lost_h": plain_hours(self.storms.present_lost_h),
            "risk": self.storms.risk,
            "guards_failed": self.guards_failed,
            "reason": self.reason,
        }


def from_json(content: Mapping[str, Any], space: SearchSpace) -> Choice:
    """Return the choice that `Choice.to_json` wrote."""
    storms = StormSet(space.scenario, tuple(content["numbers"]), vary=True)
    times_s, lost_h = float_times(content["present_s"]), np.array(content["present_lost_h"], np.float64)
    known = Paired(storms, content["counted"], times_s, lost_h, content["risk"])
    return Choice(Setting(content["setting"]), known, content["guards_failed"], content["reason"])


def choose(
    space: SearchSpace,
    trials: Sequence[Trial],
    tried_on: Paired,
    budget: Budget,
    engine: Engine,
    progress: Progress | None = None,
) -> Choice:
    """Compare the best candidates on storms that the search has not seen.

    A candidate passes if it is better on average than the present setting and worse on no storm, by half the
    tolerance. If none does, those pass that are worse only on guards, by the whole tolerance, and on the fewest. The
    best value wins; what it changes in vain is then left out.

    Args:
        space: The search space.
        trials: All trials.
        tried_on: The storms of the trials.
        budget: How many storms and candidates.
        engine: Where storms run.
        progress: Told how far it is.
    """
    if progress is not None:
        progress("choice", 0, 1)
    guards = find_guards(space.scenario, budget.choice_scan, budget.choice_guards, engine)
    storms = paired(space.scenario, range(CHOICE, CHOICE + budget.choice), guards, engine, budget.risk)
    count = 0
    for guarded, tolerance in ((True, MARGIN), (False, TOLERANCE)):
        candidates = [trial.setting for trial in ranked(trials, tried_on, guarded=guarded)]
        candidates = candidates[: _ROUNDS * budget.candidates]
        count += len(candidates)
        for first in range(0, len(candidates), budget.candidates):
            round_ = candidates[first : first + budget.candidates]
            evaluation = meet(round_, storms.storms, engine, "choice", progress)
            check = _Check(storms, tolerance, 0 if guarded else len(guards))
            best = check.best(evaluation)
            if best is not None:
                failed = int(check.failed(evaluation.restricted_s)[best])
                check = _Check(storms, tolerance, failed)
                return Choice(simplest(space, round_[best], check, engine), storms, failed)
    if count == 0:
        reason = "no setting tried is better on average than the present one without being worse on some storm"
    else:
        numbers = f"{len(storms.storms.numbers)} fresh storms"
        reason = (
            f"each of the {count} best settings tried is worse than the present one on some of {numbers}, or not "
            "better on average"
        )
    return Choice(Setting({}), storms, reason=reason)


@dataclass(frozen=True)
class _Check:
    """What a candidate has to pass."""

    storms: Paired
    """The storms, guards last."""
    tolerance: float
    """Share above the present time that still counts as equal."""
    guards: int
    """Guards on which it may be worse."""

    def failed(self, restricted_s: Floats) -> npt.NDArray[np.int_]:
        """Count the guards on which settings are worse, shape (settings,)."""
        return np.asarray(self._worse(restricted_s)[:, self.storms.counted :].sum(axis=1))

    def passed(self, restricted_s: Floats) -> npt.NDArray[np.bool_]:
        """Tell which settings are worse on no other storm and on no more guards than allowed, shape (settings,)."""
        plain = ~self._worse(restricted_s)[:, : self.storms.counted].any(axis=1)
        return np.asarray(plain & (self.failed(restricted_s) <= self.guards))

    def best(self, evaluation: Evaluation) -> int | None:
        """Return the setting that passes with the fewest guards failed and the best value, None if there is none."""
        values, failed = self.storms.values_of(evaluation), self.failed(evaluation.restricted_s)
        gained = values < self.storms.present_value_s * (1.0 - GAIN)
        good = np.flatnonzero(self.passed(evaluation.restricted_s) & gained).tolist()
        return min(good, key=lambda i: (failed[i], values[i]), default=None)

    def _worse(self, restricted_s: Floats) -> npt.NDArray[np.bool_]:
        return self.storms.worse(restricted_s, self.tolerance)


def simplest(space: SearchSpace, setting: Setting, check: _Check, engine: Engine) -> Setting:
    """Leave out changes that bring nothing: on the same storms, at no cost in time and none worse.

    Args:
        space: The search space.
        setting: A setting that has passed.
        check: What it has passed.
        engine: Where storms run.
    """
    single = {name: _without(space, setting, (name,)) for name in setting}
    options = {name: variant for name, variant in single.items() if variant}
    if not options:
        return setting
    storms = check.storms
    evaluation = meet([setting, *options.values()], storms.storms, engine)
    values = storms.values_of(evaluation)
    limit = float(values[0]) * (1.0 + _TIE)
    good = check.passed(evaluation.restricted_s) & (values <= limit)
    idle = [name for name, ok in zip(options, good[1:], strict=True) if ok]
    if not idle:
        return setting
    together = _without(space, setting, idle)
    if together and len(idle) > 1:
        both = meet([together], storms.storms, engine)
        if check.passed(both.restricted_s)[0] and storms.values_of(both)[0] <= limit:
            return together
    return min((options[name] for name in idle), key=lambda option: change_cost(space, option))


def _without(space: SearchSpace, setting: Setting, names: Sequence[str]) -> Setting | None:
    """Return the setting with some knobs back at their present values, None if that is not legal."""
    rest = Setting({name: value for name, value in setting.items() if name not in names})
    try:
        space.identity(rest)
    except InputError:
        return None
    return rest
