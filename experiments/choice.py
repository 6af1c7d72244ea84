"""The choice: the best candidates of a search meet fresh storms, and the best of those that pass is simplified."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from signalstorm.envs.model.errors import InputError
from signalstorm.envs.model.knobs import Setting
from signalstorm.envs.model.storms import CHOICE
from signalstorm.experiments.engines import Engine
from signalstorm.experiments.evaluate import StormSet
from signalstorm.experiments.objectives import Objective, Risk
from signalstorm.experiments.racing import Heat, excess
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
    paired,
    plain_hours,
    plain_times,
)
from signalstorm.experiments.study_file import StudyFile
from signalstorm.experiments.trials import Trial

_TIE = 0.01
"""Values this close count as equal; then the smaller change wins."""
_STEPS = (0.0, 0.25, 0.5, 1.0)
"""Shares of the fresh storms after which candidates are compared."""
_SURE = 3.0
"""A candidate so many standard errors above the leader is not the best."""
ROUNDS = 4
"""So many rounds of candidates before the search counts as without an answer."""


@dataclass(frozen=True)
class Choice:
    """What the fresh storms said."""

    setting: Setting
    """The setting chosen, as overrides; empty if it is the present one."""
    storms: Paired
    """The storms, guards last."""
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
            "reason": self.reason,
        }


def from_json(content: Mapping[str, Any], space: SearchSpace) -> Choice:
    """Return the choice that `Choice.to_json` wrote."""
    storms = StormSet(space.scenario, tuple(content["numbers"]), vary=True)
    times_s, lost_h = float_times(content["present_s"]), np.array(content["present_lost_h"], np.float64)
    known = Paired(storms, content["counted"], times_s, lost_h, content["risk"])
    return Choice(Setting(content["setting"]), known, content["reason"])


def choose(
    space: SearchSpace,
    trials: Sequence[Trial],
    tried_on: Paired,
    budget: Budget,
    engine: Engine,
    spec: StudyFile,
    progress: Progress | None = None,
) -> Choice:
    """Compare the best candidates on storms that the search has not seen.

    Candidates are the trials that the search saw to be worse on no storm. One passes if it is better on average than
    the present setting, keeps the study's limits and is worse on no fresh storm, guards included, by half the
    tolerance; if none does, by the whole tolerance. The best value wins; what it changes in vain is then left out,
    unless the search saw the simpler setting to be worse. Storms are spent where they decide: a candidate that has
    failed, or is surely not the best, meets no more of them.

    Args:
        space: The search space.
        trials: All trials.
        tried_on: The storms of the trials.
        budget: How many storms and candidates.
        engine: Where storms run.
        spec: The study, with its limits.
        progress: Told how far it is.
    """
    storms = fresh_storms(space, budget, engine, progress)
    candidates = [trial.setting for trial in ranked(trials)][: ROUNDS * budget.candidates]
    count, barred = len(candidates), seen_worse(space, trials)
    for tolerance in (MARGIN, TOLERANCE):
        for first in range(0, len(candidates), budget.candidates):
            round_ = candidates[first : first + budget.candidates]
            check = _Check(storms, spec, tolerance)
            heat = _race(Heat(space, round_, storms), check, engine)
            if progress is not None:
                progress("choice", first + len(round_), len(candidates))
            best = check.best(heat)
            if best is not None:
                return Choice(simplest(round_[best], heat, check, engine, barred), storms)
    if unkept := broken_limits(spec, trials):
        reason = unkept
    elif count == 0:
        reason = "no setting tried is better on average than the present one without being worse on some storm"
        reason += " or beyond a limit of the study" if spec.constraints else ""
    else:
        numbers = f"{len(storms.storms.numbers)} fresh storms"
        each = "the one setting that came into question" if count == 1 else f"each of the {count} best settings tried"
        reason = (
            f"{each} is worse than the present one on some of {numbers}, not better "
            f"on average{', or beyond a limit of the study' if spec.constraints else ''}"
        )
    return Choice(Setting({}), storms, reason=reason)


def broken_limits(spec: StudyFile, trials: Sequence[Trial]) -> str:
    """Say which limits of a study no trial keeps, and how near any has come; empty if some trial keeps all.

    Args:
        spec: The study, with its limits.
        trials: All trials, the present setting among them.
    """
    complete = [trial for trial in trials if trial.complete]
    if any(trial.within for trial in complete):
        return ""
    present = next(trial for trial in trials if trial.present)
    limits = [
        (name, limit) for name, limit in spec.constraints.items() if name == "time" or name in present.scores.figures
    ]
    parts = []
    for name, limit in limits:
        best = min(complete, key=lambda trial: trial.figure(name))
        if best.figure(name) > limit:
            parts.append(
                f"no trial keeps {name} at most {limit:g}: the least is {best.figure(name):.4g} (trial {best.number}), "
                f"the present setting breaks the limit, too, with {present.figure(name):.4g}"
            )
    if parts:
        return "; ".join(parts)
    named = " and ".join(f"{name} at most {limit:g} (present: {present.figure(name):.4g})" for name, limit in limits)
    return f"no trial keeps all limits at once, which are {named}"


def fresh_storms(space: SearchSpace, budget: Budget, engine: Engine, progress: Progress | None = None) -> Paired:
    """Return the storms of a choice, guards last, with what the present setting makes of them."""
    if progress is not None:
        progress("choice", 0, 1)
    guards = find_guards(space.scenario, budget.choice_scan, budget.choice_guards, engine)
    return paired(space.scenario, range(CHOICE, CHOICE + budget.choice), guards, engine, budget.risk)


@dataclass(frozen=True)
class _Check:
    """What a candidate has to pass."""

    storms: Paired
    """The storms, guards last."""
    spec: StudyFile
    """The study, with its limits."""
    tolerance: float
    """Share above the present time that still counts as equal."""

    def passed(self, heat: Heat) -> npt.NDArray[np.bool_]:
        """Tell which settings are worse on none of the storms that they have met, shape (settings,)."""
        return np.asarray(~heat.worse(self.tolerance).any(axis=1))

    def within(self, heat: Heat, j: int) -> bool:
        """Tell whether a setting keeps the study's limits."""
        figures: dict[Objective, float] = {"time": heat.value_s(j), **heat.figures(j)}
        return all(share <= 0 for share in excess(self.spec, figures).values())

    def best(self, heat: Heat) -> int | None:
        """Return the setting that passes with the best value, None if there is none."""
        limit_s = self.storms.present_value_s * (1.0 - GAIN)
        ended = np.flatnonzero(self.passed(heat) & heat.met.all(axis=1)).tolist()
        good = [j for j in ended if heat.value_s(j) < limit_s and self.within(heat, j)]
        return min(good, key=heat.value_s, default=None)


def _race(heat: Heat, check: _Check, engine: Engine) -> Heat:
    """Let candidates meet the storms step by step, the guards first; those that cannot win any more drop out."""
    counted = check.storms.counted
    alive = np.arange(len(heat.settings))
    for step in _legs(check.storms):
        heat.meet(alive, step, engine)
        alive = alive[check.passed(heat)[alive]]
        if alive.size > 1 and step.stop <= counted:
            alive = alive[_close(heat.costs_s[alive, : step.stop], check.storms.risk)]
        if alive.size == 0:
            break
    return heat


def _legs(storms: Paired) -> list[slice]:
    """Return the storms of each leg of a race: the guards, then a quarter, half and all of the others."""
    counted, total = storms.counted, len(storms.storms.numbers)
    edges = sorted({round(counted * share) for share in _STEPS})
    legs = [slice(first, last) for first, last in pairwise(edges) if last > first]
    return ([slice(counted, total)] if total > counted else []) + legs


def _close(costs_s: Floats, risk: Risk) -> npt.NDArray[np.bool_]:
    """Tell which candidates may still be the best: the leader, and those not surely above it over the same storms.

    Args:
        costs_s: Costs so far, shape (candidates, storms) [s].
        risk: How storms are weighed; only means can be judged from a part of the storms.
    """
    if risk != "mean":
        return np.ones(len(costs_s), np.bool_)
    behind = costs_s - costs_s[np.argmin(costs_s.mean(axis=1))]
    error = behind.std(axis=1, ddof=1) / np.sqrt(costs_s.shape[1]) if costs_s.shape[1] > 1 else np.inf
    return np.asarray(behind.mean(axis=1) <= _SURE * error)


def seen_worse(space: SearchSpace, trials: Sequence[Trial]) -> set[Setting]:
    """Return what the network is set to in the trials that the search saw to be no answer."""
    return {space.identity(trial.setting) for trial in trials if not (trial.present or trial.feasible)}


def simplest(
    setting: Setting, heat: Heat, check: _Check, engine: Engine, barred: Collection[Setting] = frozenset()
) -> Setting:
    """Leave out changes that bring nothing: on the same storms, at no cost in time and none worse.

    Args:
        setting: A setting that has passed.
        heat: The race that it has won.
        check: What it has passed.
        engine: Where storms run.
        barred: What the network must not be set to, as the search saw it to be worse.
    """
    space = heat.space
    single = {name: _without(space, setting, (name,)) for name in setting if name not in space.followers}
    options = {name: other for name, other in single.items() if other and space.identity(other) not in barred}
    if not options:
        return setting
    winner = heat.settings.index(setting)
    limit_s = heat.value_s(winner) * (1.0 + _TIE)

    def good(variants: Sequence[Setting]) -> list[bool]:
        tried = Heat(space, variants, check.storms)
        alive = np.arange(len(variants))
        for leg in _legs(check.storms):
            tried.meet(alive, leg, engine)
            alive = alive[check.passed(tried)[alive]]
            if alive.size and leg.stop <= check.storms.counted and check.storms.risk == "mean":
                behind = tried.costs_s[alive, : leg.stop] - heat.costs_s[winner, : leg.stop]
                alive = alive[~_surely_above(behind, limit_s - heat.value_s(winner))]
            if alive.size == 0:
                break
        whole = {int(j) for j in alive}
        return [j in whole and tried.value_s(j) <= limit_s and check.within(tried, j) for j in range(len(variants))]

    idle = [name for name, ok in zip(options, good(list(options.values())), strict=True) if ok]
    if not idle:
        return setting
    together = _without(space, setting, idle)
    if together and len(idle) > 1 and space.identity(together) not in barred and good([together])[0]:
        return together
    return min((options[name] for name in idle), key=lambda option: change_cost(space, option))


def _surely_above(behind_s: Floats, most_s: float) -> npt.NDArray[np.bool_]:
    """Tell which settings cost more than another by more than so much, storm by storm, by three standard errors.

    Args:
        behind_s: Differences of costs, shape (settings, storms) [s].
        most_s: What they may cost more on average [s].
    """
    count = behind_s.shape[1]
    error = behind_s.std(axis=1, ddof=1) / np.sqrt(count) if count > 1 else np.inf
    return np.asarray(behind_s.mean(axis=1) - most_s > _SURE * error)


def _without(space: SearchSpace, setting: Setting, names: Sequence[str]) -> Setting | None:
    """Return the setting with some knobs back at their present values, None if that is not legal."""
    try:
        return space.overrides({name: setting[name] for name in setting if name not in {*names, *space.followers}})
    except InputError:
        return None
