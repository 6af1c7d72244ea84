"""One setting for several scenarios: the best candidates of a search in each meet the storms of all of them.

A box keeps its setting whatever storm comes next. A setting that ends one scenario's storms soonest may be worse than
the present one in another, so what is chosen is worse in none, and best by the share of the present cost that is left.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from signalstorm.envs.model.errors import InputError, wrong_input
from signalstorm.envs.model.knob_table import KNOBS, KnobValue
from signalstorm.envs.model.knobs import Setting
from signalstorm.envs.model.scenario import Scenario
from signalstorm.experiments import choice
from signalstorm.experiments.engines import make_engine
from signalstorm.experiments.objectives import Objective
from signalstorm.experiments.racing import Heat, excess
from signalstorm.experiments.recommendation import Recommendation
from signalstorm.experiments.run_folder import RunFolder
from signalstorm.experiments.search import GAIN, ranked
from signalstorm.experiments.search_space import SearchSpace
from signalstorm.experiments.standing import Watch
from signalstorm.experiments.storage import quiet_optuna, with_room
from signalstorm.experiments.storm_sets import MARGIN, TOLERANCE, Paired, Progress
from signalstorm.experiments.study_file import StudyFile
from signalstorm.experiments.trials import Trial
from signalstorm.experiments.tune import RUNS, Plan, Run, finished_run, planned, terminable

_TIE = 0.01
"""A setting with fewer changes wins where it costs at most this share more."""


@dataclass
class _Part:
    """A scenario among those that are to get one setting."""

    run: Run
    trials: list[Trial]
    tried_on: Paired
    storms: Paired
    """Fresh storms, by which candidates are compared."""

    @cached_property
    def barred(self) -> set[Setting]:
        """What its search saw to be no answer."""
        return choice.seen_worse(self.space, self.trials)

    @property
    def space(self) -> SearchSpace:
        """Its search space."""
        return self.run.space


def tune_together(
    scenarios: Sequence[str | Scenario],
    *,
    study: StudyFile | str | os.PathLike[str] | None = None,
    knobs: Iterable[str] | None = None,
    trials: int | None = None,
    seeds: int | None = None,
    out: str | os.PathLike[str] | None = None,
    storage: str | None = None,
    name: str | None = None,
    jobs: int | None = None,
    engine: str = "local",
    command: Sequence[str] | None = None,
    progress: Progress | None = None,
    watch: Watch | None = None,
) -> tuple[Recommendation, ...]:
    """Find one setting for several scenarios, or take up again the search that a folder holds.

    Args:
        scenarios: The scenarios, at least two; each is searched first, by a study of its own.
        study: As for `tune`; with ``risk: cvar`` or ``worst`` the scenario that gains least decides, else their mean.
        knobs: As for `tune`.
        trials: As for `tune`, of each scenario.
        seeds: As for `tune`.
        out: The folder, with one folder of a run below for each scenario; by default ``runs/A+B``.
        storage: As for `tune`.
        name: Name before those of the scenarios in the names of the studies; by default ``A+B``.
        jobs: As for `tune`.
        engine: As for `tune`.
        command: As for `tune`.
        progress: As for `tune`.
        watch: As for `tune`.

    Returns:
        The recommendation for each scenario, all with the same values of the knobs that they share.

    Raises:
        InputError: If an argument, a scenario or a folder is wrong.
        KeyboardInterrupt: On Ctrl-C or a request to terminate; the same call goes on where it stopped.
    """
    wanted = None if knobs is None else list(knobs)
    plans = [planned(one, study=study, knobs=wanted, trials=trials, seeds=seeds) for one in scenarios]
    names = [plan.space.scenario.name for plan in plans]
    if len(set(names)) < len(names) or len(names) < 2:
        raise wrong_input("must be different scenarios, at least two", ", ".join(names), key="scenario")
    together = name or "+".join(names)
    plans = [replace(plan, name=f"{together}/{plan.name}", partners=tuple(names)) for plan in plans]
    root = Path(RUNS) / together if out is None else Path(out)
    with quiet_optuna(), terminable(), with_room(), ExitStack() as held:
        folders = [held.enter_context(RunFolder(root / own)) for own in names]
        finished = [finished_run(folder, plan) for folder, plan in zip(folders, plans, strict=True)]
        known = [record for record in finished if record is not None]
        if len(known) == len(plans):
            return tuple(known)
        engines = [held.enter_context(make_engine(engine, plan.space.scenario, jobs)) for plan in plans]
        runs = [
            Run(folder, plan, storage, machine, progress, watch)
            for folder, plan, machine in zip(folders, plans, engines, strict=True)
        ]
        for run in runs:
            run.begin(command)
        return _finish(runs, plans)


def _finish(runs: Sequence[Run], plans: Sequence[Plan]) -> tuple[Recommendation, ...]:
    searched = [run.search() for run in runs]
    chosen = [run.recall_choice(tried) for run, (tried, _) in zip(runs, searched, strict=True)]
    made = [one for one in chosen if one is not None]
    if len(made) < len(runs):
        parts = [
            _Part(run, tried, tried_on, choice.fresh_storms(run.space, run.budget, run.engine, run.tell))
            for run, (tried, tried_on) in zip(runs, searched, strict=True)
        ]
        made = _choose(parts)
        for run, (tried, _), one in zip(runs, searched, made, strict=True):
            run.remember_choice(tried, one)
    return tuple(
        run.conclude(tried, tried_on, one) for run, (tried, tried_on), one in zip(runs, searched, made, strict=True)
    )


def _choose(parts: Sequence[_Part]) -> list[choice.Choice]:
    """Return the choice for each scenario: the same setting for all, or the present one with the reason.

    As for a single scenario, none may be worse by half the tolerance; if all are, by the whole tolerance.
    """
    rounds = list(_rounds(parts))
    count = sum(map(len, rounds))
    for tolerance in (MARGIN, TOLERANCE):
        for candidates in rounds:
            shares = _meet(parts, candidates, tolerance)
            best = int(np.argmin(shares))
            if shares[best] < 1.0 - GAIN:
                return _same(parts, _simplest(parts, candidates[best], float(shares[best]), tolerance))
    names = " and ".join(part.space.scenario.name for part in parts)
    reason = (
        f"none of the {count} best settings tried is better on average than the present one in {names} and worse on no "
        "storm of either"
    )
    return [choice.Choice(Setting({}), part.storms, reason=reason) for part in parts]


def _same(parts: Sequence[_Part], setting: Mapping[str, KnobValue]) -> list[choice.Choice]:
    """Return the choice of one setting for every scenario."""
    own = [_in(part.space, setting) for part in parts]
    nothing = "the setting for all scenarios moves no knob of this network"
    return [choice.Choice(one, part.storms, "" if one else nothing) for one, part in zip(own, parts, strict=True)]


def _rounds(parts: Sequence[_Part]) -> Iterator[list[dict[str, KnobValue]]]:
    """Yield the best settings of every search that come into question in all scenarios, round by round, each once."""
    taken: set[tuple[Setting, ...]] = set()
    ordered = [ranked(part.trials) for part in parts]
    for step in range(choice.ROUNDS):
        candidates = []
        for part, settings in zip(parts, ordered, strict=True):
            size = part.run.budget.candidates
            for setting in (dict(trial.setting) for trial in settings[step * size : (step + 1) * size]):
                if not all(_eligible(one, setting) for one in parts):
                    continue
                identity = tuple(one.space.identity(_in(one.space, setting)) for one in parts)
                if identity not in taken:
                    taken.add(identity)
                    candidates.append(setting)
        if candidates:
            yield candidates


def _in(space: SearchSpace, setting: Mapping[str, KnobValue]) -> Setting:
    """Return the part of a setting that a scenario's network has."""
    topology = space.scenario.topology
    return Setting(
        {name: value for name, value in setting.items() if getattr(topology, KNOBS[name].element) is not None}
    )


def _meet(
    parts: Sequence[_Part], candidates: Sequence[Mapping[str, KnobValue]], tolerance: float
) -> npt.NDArray[np.float64]:
    """Let candidates meet the storms of one scenario after another; those that fail in one meet no more.

    Returns:
        What is left of the present cost, infinite where a candidate does not pass, shape (candidates,).
    """
    shares = np.zeros((len(parts), len(candidates)))
    for k, part in enumerate(parts):
        alive = np.flatnonzero(np.isfinite(shares).all(axis=0))
        shares[k] = np.inf
        if alive.size == 0:
            continue
        heat = Heat(part.space, [_in(part.space, candidates[int(i)]) for i in alive], part.storms)
        heat.meet(np.arange(alive.size), slice(0, len(part.storms.storms.numbers)), part.run.engine)
        out = np.asarray(heat.worse(tolerance).any(axis=1))
        for j, i in enumerate(alive):
            figures: dict[Objective, float] = {"time": heat.value_s(j), **heat.figures(j)}
            if not out[j] and all(share <= 0 for share in excess(part.run.spec, figures).values()):
                shares[k, i] = heat.value_s(j) / max(part.storms.present_value_s, part.space.scenario.dt)
    return np.asarray(shares.mean(axis=0) if parts[0].run.budget.risk == "mean" else shares.max(axis=0))


def _simplest(
    parts: Sequence[_Part], setting: dict[str, KnobValue], share: float, tolerance: float
) -> dict[str, KnobValue]:
    """Leave out changes of the best candidate, one after another, that bring nothing in any scenario."""
    limit, kept = share * (1.0 + _TIE), setting
    for name in setting:
        rest = {other: value for other, value in kept.items() if other != name}
        if not rest or not all(_eligible(part, rest) for part in parts):
            continue
        if _meet(parts, [rest], tolerance)[0] <= limit:
            kept = rest
    return kept


def _eligible(part: _Part, setting: Mapping[str, KnobValue]) -> bool:
    """Tell whether a setting is legal in a scenario, and not one that its search saw to be worse."""
    try:
        return part.space.identity(_in(part.space, setting)) not in part.barred
    except InputError:
        return False
