"""Distil: a policy as an ordered table of thresholds that a person can follow, and what that costs."""

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from signalstorm.agents.bundle import FACTS
from signalstorm.agents.laws.table import COLUMNS, MOST_ROWS, Table
from signalstorm.agents.learnt import Learnt
from signalstorm.agents.origin import BASIS
from signalstorm.agents.plant import View, plant_of
from signalstorm.agents.rule_file import RULE, RuleFile, rule_file, save
from signalstorm.agents.steering import Lawful, Static, Steering
from signalstorm.envs.model.errors import ABSENT, Finding, located, wrong_input
from signalstorm.envs.model.files import write_atomic
from signalstorm.envs.model.storms import CHOICE, SEARCH
from signalstorm.envs.options import Options
from signalstorm.experiments.distil_page import page
from signalstorm.experiments.evaluate import StormSet
from signalstorm.experiments.loops import LoopResult, run_loop
from signalstorm.experiments.policies import find_policy
from signalstorm.experiments.refine import TRIALS, refine
from signalstorm.experiments.run_folder import installed_versions, model_hash
from signalstorm.experiments.train import Judgement, judge
from signalstorm.experiments.tree import grow

Floats = npt.NDArray[np.float64]
Progress = Callable[[str, int, int], None]
"""Told the stage, how much of it is done, and of how much."""

PAGE = "rule.md"
"""The table for people."""
MOST_CHANGES = 12
"""Nobody enters more commands in an hour."""
_AIM_PER_H = 11.0
"""Without a limit for every hour, what is chosen keeps below this on average, for other storms need a few more."""
_LEAST_SHARE = 0.01
"""A row stands for at least this share of what the policy did."""
_DEAD_BANDS = (0.1, 0.2, 0.25, 0.3, 0.35)
_COOL_DOWNS = (0.0, 3.0)
_STEP = 4.0
"""The factors of the rows hold a person back, so no step does."""
_HOUR_MIN = 60
_LEFT = 2
"""Candidates of each length that stay for the second, longer look."""
_LEAST_GAIN = 0.01
"""A gain smaller than this counts as one of this size [share of the static setting's]."""
_JUDGED = 3
"""Tables that the search likes best, of which the choice storms choose."""


@dataclass(frozen=True)
class Samples:
    """What a policy saw and did, an interval and storm per sample."""

    columns: Mapping[str, Floats]
    """What rows may look at, by name."""
    target: Floats
    """Logarithm of the next rate over what was completed."""
    weight: Floats
    """How much each counts."""


@dataclass(frozen=True)
class Judged(Judgement):
    """How a contestant did, and how busy a person was with it."""

    most_changes_in_an_hour: int
    """Largest number of changes within any hour of any storm."""


@dataclass(frozen=True)
class Distilled:
    """A rule, and how it did."""

    rule: RuleFile
    """The rule."""
    folder: Path
    """Where it was written."""
    policy: Judged
    """The policy, on storms that chose neither."""
    best_static: Judged
    """The setting with which loops begin, on the same storms."""
    table: Judged
    """The rule, on the same storms."""

    @property
    def kept(self) -> float | None:
        """Share of the policy's gain over the best static setting that is kept; None where there is no gain."""
        gain = self.best_static.rmst_s - self.policy.rmst_s
        return (self.best_static.rmst_s - self.table.rmst_s) / gain if gain > 0 else None

    def to_json(self) -> dict[str, Any]:
        """Return it in JSON's own types."""
        return {"folder": str(self.folder), "rule": self.rule.model_dump(mode="json", exclude_none=True)}


@dataclass(frozen=True)
class Plan:
    """Which storms serve what; each is used once."""

    learn: Sequence[int] = range(SEARCH, SEARCH + 96)
    """Storms on which the policy is watched."""
    choose: Sequence[int] = range(CHOICE, CHOICE + 48)
    """Storms that choose the number of rows, the dead band and the pause."""
    refine: Sequence[int] = range(SEARCH + 96, SEARCH + 352)
    """Storms on which its numbers are searched; a quarter of them meet every table tried, the rest the best few."""
    judge: Sequence[int] = range(CHOICE + 5000, CHOICE + 5064)
    """Storms that say what the rule costs."""
    trials: int = TRIALS
    """Sets of numbers that are tried."""


def distil(
    policy: str | os.PathLike[str],
    *,
    out: str | os.PathLike[str] | None = None,
    rows: int = MOST_ROWS,
    changes: int = MOST_CHANGES,
    plan: Plan | None = None,
    transfer: bool = False,
    progress: Progress | None = None,
) -> Distilled:
    """Turn a policy into a table of thresholds and write it.

    Args:
        policy: The folder of a bundle, or of the run that trained it.
        out: The folder for `RULE` and `PAGE`; by default that of the bundle's run.
        rows: Rows at most.
        changes: Changes at most in any hour of any storm; 0: no such limit, but 12 per hour at most on average.
        plan: Which storms serve what.
        transfer: Whether a policy of another model will do, or of its scenario as it was before; with a warning.
        progress: Told how far it is.

    Raises:
        InputError: If there is no such policy, it moves no rate, or, without `transfer`, its scenario or the model is
            not what it was trained on.
    """
    _check(rows, changes)
    learnt = _policy(policy, transfer=transfer)
    options, plan = learnt.options, plan or Plan()
    folder = Path(out) if out is not None else _home(learnt)
    if learnt.origin is not None:
        learnt.origin.warn()
    told = progress or (lambda stage, done, total: None)
    told("watch", 0, len(plan.learn))
    watched = _run(learnt, options, plan.learn, series=True)
    told("watch", len(plan.learn), len(plan.learn))
    samples = samples_of(watched, options.delay)
    tables = choose(candidates(samples, rows, changes), options, plan.choose, told)
    law = refined(tables, learnt, plan, told)
    judged: list[Judged] = []
    for steering in (learnt, Static("best-static", options.start), Lawful(law)):
        told("judge", len(judged), 3)
        judged.append(_judged(_run(steering, options, plan.judge)))
    found = Distilled(rule_file(law, name="distilled", knob=options.knobs[0]), folder, *judged)
    found = replace(found, rule=_documented(found, learnt, plan))
    save(folder / RULE, found.rule)
    write_atomic(folder / PAGE, page(found.rule))
    return found


def _check(rows: int, changes: int) -> None:
    """Refuse sizes that no person can follow, all at once."""
    wrong = []
    if not 1 <= rows <= MOST_ROWS:
        rule = f"must be 1 to {MOST_ROWS}, for a person follows it"
        wrong.append(Finding(("--rows",), rule, rows, "leave it out for the longest"))
    if not 0 <= changes <= _HOUR_MIN:
        rule = f"must be 1 to {_HOUR_MIN} per hour, or 0 for no limit"
        wrong.append(Finding(("--changes",), rule, changes, f"leave it out for {MOST_CHANGES}"))
    if wrong:
        raise located(wrong, "distil")


def _policy(named: str | os.PathLike[str], *, transfer: bool) -> Learnt:
    """Return the policy of a folder, in the environment that it was trained in."""
    learnt = find_policy(os.fspath(named), None, transfer=transfer)
    if learnt is None:
        raise wrong_input(
            f"holds no policy: there is no {FACTS}", ABSENT, "give the folder of a training", file=str(named)
        )
    options = learnt.options
    plant = plant_of(options.scenario)
    if options.knobs != (plant.knob,) or not plant.is_rate:
        moved = ", ".join(options.knobs)
        rule = f"must move {plant.knob} alone, and that must be a rate; a table of one factor says nothing of {moved}"
        raise wrong_input(rule, ABSENT, "distil a policy of a Randomised or Easy variant", file=str(named))
    return learnt


def _home(learnt: Learnt) -> Path:
    path = learnt.bundle.path
    return path.parent if path.name == "policy" else path


def _run(steering: Steering, options: Options, numbers: Sequence[int], *, series: bool = False) -> LoopResult:
    storms = StormSet(options.scenario, tuple(numbers), vary=options.vary)
    return run_loop(steering, storms, delay=options.delay, interval_s=options.control_interval_s, series=series)


def samples_of(watched: LoopResult, delay: int = 0) -> Samples:
    """Return what was seen of each interval while storms lasted, and the rate that was then set.

    An interval in which few ask counts little: there it hardly matters where the gate stands.
    """
    plant = plant_of(watched.storms.scenario)
    values = watched.values[plant.knob]
    parts = []
    for i in range(delay, len(watched.readings) - 1):
        seen = watched.readings[i - delay]
        view = plant.view(seen.values, values[i], seen.interval_s)
        following = plant.view(seen.values, values[i + 1], seen.interval_s).rate
        lasting = watched.restricted_s + watched.storms.scenario.convergence.count_from_s >= watched.readings[i].end_s
        parts.append(_sample(view, following, lasting))
    names = list(COLUMNS)
    joined = np.concatenate([part.T for part in parts])
    return Samples({name: joined[:, i] for i, name in enumerate(names)}, joined[:, -2], joined[:, -1])


def _sample(view: View, following: Floats, lasting: npt.NDArray[np.bool_]) -> Floats:
    """Return columns, target and weight of an interval, shape (columns + 2, samples)."""
    target = np.log(np.maximum(following, 1.0) / np.maximum(view.completed, Table().floor_per_s))
    asked = np.minimum(view.offered / np.maximum(view.rate, 1.0), 1.0)
    kept = lasting & np.isfinite(target) & np.isfinite(view.rate)
    columns = [column.of(view) for column in COLUMNS.values()]
    return np.array([*columns, target, np.maximum(asked, 0.05)])[:, kept]


def candidates(samples: Samples, rows: int, most: int = 0) -> list[Table]:
    """Return tables of several lengths, each with several dead bands and pauses.

    Args:
        samples: What the policy did.
        rows: Rows at most.
        most: Changes at most in any hour; 0: no limit.
    """
    lengths = sorted({max(rows // 2, 1), rows})
    grown = [grow(samples.columns, samples.target, samples.weight, count, _LEAST_SHARE) for count in lengths]
    return [
        Table(rows=tuple(found), dead_band_share=band, step_share=_STEP, cool_down=pause, most_per_hour=most)
        for found in grown
        for band in _DEAD_BANDS
        for pause in _COOL_DOWNS
    ]


def choose(tables: Sequence[Table], options: Options, numbers: Sequence[int], told: Progress) -> list[Table]:
    """Return per number of rows, the fewest first, the best of the tables that change the knob seldom enough.

    All take part in a third of the storms; the best of each length in the others, too.
    """
    first, rest = numbers[: -(-len(numbers) // 3)], numbers[-(-len(numbers) // 3) :]
    lengths = sorted({len(table.rows) for table in tables})
    total, done = len(tables) + _LEFT * len(lengths), 0

    def scores(some: Sequence[Table], storms: Sequence[int]) -> list[Table]:
        nonlocal done
        found = {}
        for table in some:
            told("choose", done, total)
            found[table] = _score(table, judge(_run(Lawful(table), options, storms)))
            done += 1
        return sorted(found, key=lambda table: found[table])

    left = [scores([table for table in tables if len(table.rows) == length], first)[:_LEFT] for length in lengths]
    return [(scores(some, rest) if rest else some)[0] for some in left]


@dataclass(frozen=True)
class Share:
    """What a table loses of a policy's gain over the best static setting, on one set of storms."""

    options: Options
    numbers: Sequence[int]
    policy: Judgement
    static: Judgement

    def lost(self, table: Table) -> tuple[float, float]:
        """Return the changes beyond what is aimed at, and the share lost of the time or of the service gained.

        The larger counts: a table could have a network healthy for a moment, and strangle it ever after.
        """
        judged = judge(_run(Lawful(table), self.options, self.numbers))
        shares = []
        for name in ("rmst_s", "lost_h"):
            own, policy, static = (getattr(one, name) for one in (judged, self.policy, self.static))
            # Where the policy gains next to nothing, what counts is how the table compares with the static setting.
            shares.append((own - policy) / max(static - policy, _LEAST_GAIN * static, 1e-9))
        return _too_many(table, judged), max(shares)


def refined(tables: Sequence[Table], learnt: Learnt, plan: Plan, told: Progress) -> Table:
    """Search the numbers of the shortest table, and return the best of what was found and the tables as they are.

    A table of few rows is easier to follow, and its few numbers are sooner found.

    Args:
        tables: Tables, the shortest first.
        learnt: The policy.
        plan: Which storms serve what.
        told: Told how far it is.
    """
    quarter = -(-len(plan.refine) // 4)
    parts = [part for part in (plan.refine[:quarter], plan.refine[quarter:]) if len(part)]
    *scores, last = (_share(learnt, part).lost for part in (*parts, plan.choose))
    found = refine(tables[0], scores, plan.trials, lambda done, total: told("refine", done, total))
    return min([*tables, *found[:_JUDGED]], key=last)


def _share(learnt: Learnt, numbers: Sequence[int]) -> Share:
    """Let a policy and the best static setting play storms."""
    options = learnt.options
    policy, static = (judge(_run(one, options, numbers)) for one in (learnt, Static("best-static", options.start)))
    return Share(options, numbers, policy, static)


def _score(table: Table, judged: Judgement) -> tuple[float, float]:
    """Return what is to be small: first the changes beyond what is aimed at, then the time."""
    return _too_many(table, judged), judged.rmst_s


def _too_many(table: Table, judged: Judgement) -> float:
    """Return the changes per hour beyond what is aimed at: none where the table itself keeps it so."""
    return 0.0 if table.most_per_hour else max(judged.changes_per_hour - _AIM_PER_H, 0.0)


def _judged(result: LoopResult) -> Judged:
    return Judged(**vars(judge(result)), most_changes_in_an_hour=round(float(result.most_in_an_hour.max())))


def _documented(found: Distilled, learnt: Learnt, plan: Plan) -> RuleFile:
    facts = learnt.bundle.facts
    scenario = learnt.options.scenario
    sources = {
        "policy": hashlib.sha256((learnt.bundle.path / FACTS).read_bytes()).hexdigest(),
        "weights_sha256": facts["weights_sha256"],
        "scenario": scenario.name,
        "scenario_hash": scenario.hash(),
        "interval_s": learnt.options.control_interval_s,
        "model": model_hash(),
        "trained_on": {name: facts.get(name) for name in BASIS},
        "versions": installed_versions(),
        "watched_storms": _span(plan.learn),
        "choosing_storms": _span(plan.choose),
        "refining_storms": _span(plan.refine),
    }
    evidence = {
        "storms": _span(plan.judge),
        "policy": asdict(found.policy),
        "best_static": asdict(found.best_static),
        "rule": asdict(found.table),
        "share_of_gain_kept": found.kept,
    }
    description = f"what a policy for {scenario.name} does, as a table for a person"
    return found.rule.model_copy(update={"description": description, "distilled_from": sources, "evidence": evidence})


def _span(numbers: Sequence[int]) -> list[int]:
    """Return the first number, and the first beyond."""
    return [min(numbers), max(numbers) + 1]
