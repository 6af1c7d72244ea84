"""Tune: find the setting that ends a scenario's storms soonest and is worse than the present one on none of them.

Search on storms of their own, choice among the best on fresh ones, confirmation on held-out ones that influence
nothing. Every step is kept in the run's folder, so an interrupted run goes on where it stopped.
"""

import logging
import os
import signal
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Any

from signalstorm import __version__
from signalstorm.envs.model import scenario_file
from signalstorm.envs.model.errors import InputError, SignalstormError, located, wrong_input
from signalstorm.envs.model.knobs import Setting, unsettable
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.model.storms import HELD_OUT
from signalstorm.experiments import choice, dashboard, run_files, sampling
from signalstorm.experiments.conclusion import conclusions, verdict
from signalstorm.experiments.confirm import complete, confirm, diff, held_out, nominal
from signalstorm.experiments.engines import Engine, make_engine
from signalstorm.experiments.pareto import pareto_set
from signalstorm.experiments.passed_over import passed_over
from signalstorm.experiments.recommendation import FILE, Recommendation, ScenarioName, Search, digest, load, save
from signalstorm.experiments.room import gate_room
from signalstorm.experiments.run_folder import RunFolder, installed_versions, model_hash
from signalstorm.experiments.safe import safe_intervals
from signalstorm.experiments.search import prepare, search
from signalstorm.experiments.search_space import SearchSpace, search_space
from signalstorm.experiments.sensitivity import importance, interaction, ped_anova
from signalstorm.experiments.standing import Watch
from signalstorm.experiments.storage import open_storage, quiet_optuna, with_room
from signalstorm.experiments.storm_sets import Budget, Paired, Progress
from signalstorm.experiments.study import Study
from signalstorm.experiments.study_file import StudyFile, in_study, load_study, own_study
from signalstorm.experiments.trials import Trial

_log = logging.getLogger(__name__)

_MAP_SHARE = 4
"""The map of two knobs takes this part of the storms by which the safe intervals are found."""
RUNS = "runs"
"""The folder below which runs have theirs."""
_MOST_TRIALS, _MOST_SEEDS = 1_000_000, 500


def tune(
    scenario: str | Scenario,
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
    seed: int | None = None,
    budget: Budget | None = None,
    command: Sequence[str] | None = None,
    progress: Progress | None = None,
    watch: Watch | None = None,
) -> Recommendation:
    """Find the best setting for a scenario, or take up again the search that a folder holds.

    Args:
        scenario: A scenario, the name of one that comes with the package, or a file's path.
        study: A study file, the name of one that comes with the package, or its content; by default the one with
            the scenario's name, or the default study.
        knobs: The knobs to move; by default those of the study, or those that the scenario calls tunable.
        trials: Settings to try, the present one included; by default as the study says.
        seeds: Storms of each trial, the first of the search range; by default as the study says.
        out: The folder of the run; by default ``runs/<name>``.
        storage: URL of Optuna's storage, or a journal file's path; by default a journal in the folder. Several calls
            with one storage and one name, each with a folder of its own, search together.
        name: Name of the study; by default the scenario's.
        jobs: Processes that run storms; by default the threads of this one.
        engine: ``local``, or ``ray`` for a cluster.
        seed: Seed of the sampler; by default as the study says.
        budget: How many storms and candidates to spend, instead of what the study says; ``trials`` and ``seeds``
            override it.
        command: The words of the command, for command.txt; by default those of the process.
        progress: Told the stage, how much of it is done, and of how much.
        watch: Shown all finished trials after each batch of the search.

    Returns:
        The recommendation, which is also in the folder, with the commands and the report.

    Raises:
        InputError: If an argument, the scenario or the folder is wrong.
        KeyboardInterrupt: On Ctrl-C or a request to terminate; the same call goes on where it stopped.
    """
    plan = planned(scenario, study=study, knobs=knobs, trials=trials, seeds=seeds, name=name, seed=seed, budget=budget)
    where = Path(RUNS) / plan.name if out is None else out
    with quiet_optuna(), terminable(), with_room(), RunFolder(where) as folder:
        finished = finished_run(folder, plan)
        if finished is not None:
            return finished
        with make_engine(engine, plan.space.scenario, jobs) as machine:
            run = Run(folder, plan, storage, machine, progress, watch)
            run.begin(command)
            tried, storms = run.search()
            return run.conclude(tried, storms, run.choose(tried, storms))


@dataclass(frozen=True)
class Plan:
    """What is searched, how, and on what."""

    name: str
    """The study's name."""
    space: SearchSpace
    spec: StudyFile
    budget: Budget
    partners: tuple[str, ...] = ()
    """Scenarios that are to get the same setting, this one among them."""

    @property
    def content(self) -> dict[str, Any]:
        """Everything that decides what a study finds."""
        plain = _plan(self.space, self.budget, self.name, self.spec)
        return {**plain, "partners": list(self.partners)} if self.partners else plain


def planned(
    scenario: str | Scenario,
    *,
    study: StudyFile | str | os.PathLike[str] | None = None,
    knobs: Iterable[str] | None = None,
    trials: int | None = None,
    seeds: int | None = None,
    name: str | None = None,
    seed: int | None = None,
    budget: Budget | None = None,
) -> Plan:
    """Return the plan of a search, checked; the arguments are those of `tune`.

    Raises:
        InputError: If one of them is wrong.
    """
    model = _settable(scenario)
    spec = _spec(own_study(model.name) if study is None else study, seed)
    spent = _checked(budget or spec.budget_of(Budget()), trials, seeds)
    try:
        space = search_space(model, knobs, spec.knobs)
    except InputError as error:
        raise in_study(error, study) from None
    sampling.check_installed(spec.sampler.kind)
    _check_network(spec, space)
    return Plan(name or model.name, space, spec, spent)


def finished_run(folder: RunFolder, plan: Plan) -> Recommendation | None:
    """Return the recommendation if a folder holds the finished run of a plan, None if there is something to do.

    Raises:
        InputError: If the folder holds something else.
    """
    finished = _finished(folder, plan.content) if folder.check(plan.content) else None
    if finished is not None:
        _log.info("%s holds the finished run already", folder.path)
        if not (folder.path / run_files.REPORT).exists():
            run_files.write_exports(folder, finished)
    return finished


class Run:
    """A run on its way from the first trial to the recommendation."""

    def __init__(
        self,
        folder: RunFolder,
        plan: Plan,
        storage: str | None,
        engine: Engine,
        progress: Progress | None,
        watch: Watch | None,
    ) -> None:
        """Open the study in its storage, by default a journal in the folder.

        Raises:
            InputError: If the storage cannot be opened or holds another study of that name.
        """
        folder.mend_journal()
        opened = open_storage(storage, folder.journal)
        worker = "" if storage is None else folder.worker()
        self.folder, self.space, self.spec, self.budget = folder, plan.space, plan.spec, plan.budget
        self._plan = plan
        self.study = Study(self.space, opened, plan.name, self.spec, digest(_identity(plan.content)), worker)
        self.engine, self._progress, self._watch = engine, progress, watch
        if (storage or "").startswith("sqlite") and not self.study.alone():
            _log.warning("SQLite does not stand several workers at once; the journal file, the default, does")
        self._began, self._before_s = time.monotonic(), float(self.study.recall("seconds") or 0.0)

    def begin(self, command: Sequence[str] | None = None) -> None:
        """Claim the folder, now that everything was found right.

        Raises:
            InputError: If the folder cannot be written.
        """
        known, spent = self.folder.claim(self.space.scenario, self._plan.content, command), self.budget
        how = "going on with" if known else "started"
        _say(self.folder, f"{how} {self._plan.name}: {spent.trials} trials of {len(spent.storms)} storms")

    def search(self) -> tuple[list[Trial], Paired]:
        """Do what is still to do of the search, and return its trials and storms."""
        if ghosts := self.study.fail_ghosts():
            _say(self.folder, f"{ghosts} unfinished trials marked as failed")
        storms = prepare(self.study, self.space, self.spec, self.budget, self.engine, self.tell)
        run_files.write_seeds(self.folder, storms, self.budget)
        limit_s = self.spec.budget.seconds
        deadline = None if limit_s is None else self._began + limit_s - self._before_s
        search(
            self.study, self.space, self.spec, storms, self.budget.trials, self.engine,
            self.tell, deadline, self._watch,
        )  # fmt: skip
        trials = self.study.trials()
        if not self.study.alone():
            _say(self.folder, "several processes searched this study, so the same command may find another setting")
        run_files.write_trials(self.folder, self.space, trials, storms)
        feasible = sum(trial.feasible for trial in trials)
        _say(self.folder, f"search finished: {feasible} of {len(trials)} settings are feasible")
        return trials, storms

    def conclude(self, trials: Sequence[Trial], storms: Paired, chosen: choice.Choice) -> Recommendation:
        """Confirm a choice, and write the recommendation with everything beside it."""
        run_files.write_seeds(self.folder, storms, self.budget, chosen.storms)
        _say(self.folder, f"chosen: {dict(chosen.setting) or 'the present setting'}")
        record = self._record(trials, storms, chosen)
        self.tell("report", 0, 1)
        run_files.write_series(self.folder, self.space, record.override, self.budget)
        save(record, self.folder.path)
        run_files.write_exports(self.folder, record)
        dashboard.attach(self.study.optuna_study, record, self.spec.objectives)
        _say(self.folder, record.verdict)
        return record

    def _record(self, trials: Sequence[Trial], storms: Paired, chosen: choice.Choice) -> Recommendation:
        scenario, setting = self.space.scenario, chosen.setting
        # Few storms at a time keep one thread busy; the rest keeps the others busy meanwhile.
        aside = ThreadPoolExecutor(1, thread_name_prefix="room")
        growing = aside.submit(gate_room, scenario, setting, complete(self.space, setting))
        aside.shutdown(wait=False)
        confirmed = confirm(scenario, setting, self.budget, self.engine, self.tell)
        as_it_is, unseen = nominal(confirmed[0]), held_out(confirmed[1])
        safe_on = chosen.storms.first(self.budget.safe)
        present, recommended = complete(self.space, Setting({})), complete(self.space, setting)
        sweep = safe_intervals(self.space, setting, safe_on, self.engine, self.tell)
        shares, mapped_on = importance(sweep.profiles), chosen.storms.first(max(self.budget.safe // _MAP_SHARE, 1))
        self.tell("room above the calm load", 0, 1)
        room = growing.result()
        fresh = chosen.storms.storms.numbers
        return Recommendation(
            verdict=verdict(chosen, as_it_is, unseen),
            version=__version__,
            scenario=ScenarioName(
                name=scenario.name,
                hash=scenario.hash(),
                clock_start=scenario.clock_start,
                count_from_s=scenario.convergence.count_from_s,
            ),
            never_worse=not unseen.worse,
            changed=bool(setting),
            present=present,
            recommended=recommended,
            override=dict(setting),
            diff=diff(present, recommended),
            safe_interval=sweep.intervals,
            safe_words=sweep.words,
            gate_room=room,
            nominal=as_it_is,
            held_out=unseen,
            profiles=sweep.profiles,
            importance=shares,
            ped_anova=ped_anova(self.study.frozen_trials(), self.space.knobs),
            pareto=pareto_set(trials, self.spec.pareto),
            interaction=interaction(self.space, setting, shares, mapped_on, self.engine, self.tell),
            passed_over=passed_over(self.space, trials, storms, chosen, self.budget, self.engine),
            search=Search(
                trials=len(trials),
                feasible=sum(trial.feasible for trial in trials),
                seeds=storms.storms.numbers[: storms.counted],
                guards=storms.storms.numbers[storms.counted :],
                choice=fresh[: chosen.storms.counted],
                choice_guards=fresh[chosen.storms.counted :],
                sampler=sampling.in_words(self.spec.sampler),
                seconds=self._seconds(),
            ),
            diagnosis=tuple(conclusions(self.space, chosen, trials, storms, confirmed, room)),
            versions=installed_versions(),
        ).sealed(self.folder.digests(run_files.SEARCHED))

    def choose(self, trials: Sequence[Trial], storms: Paired) -> choice.Choice:
        """Choose, or take the choice that an interrupted run has made among the same trials."""
        known = self.recall_choice(trials)
        if known is None:
            known = choice.choose(self.space, trials, storms, self.budget, self.engine, self.spec, self.tell)
            self.remember_choice(trials, known)
        return known

    def recall_choice(self, trials: Sequence[Trial]) -> choice.Choice | None:
        """Return the choice that was made among the same trials, None if there is none."""
        known = self.study.recall("choice")
        return choice.from_json(known, self.space) if known is not None and known["trials"] == len(trials) else None

    def remember_choice(self, trials: Sequence[Trial], chosen: choice.Choice) -> None:
        """Keep a choice among trials, for a run that is taken up again."""
        self.study.remember("choice", {"trials": len(trials), **chosen.to_json()})

    def tell(self, stage: str, done: int, total: int) -> None:
        """Report progress, and keep the time that the search has taken."""
        if stage == "search":
            self.study.remember("seconds", self._seconds())
        if self._progress is not None:
            self._progress(stage, done, total)

    def _seconds(self) -> float:
        return round(self._before_s + time.monotonic() - self._began, 1)


def _settable(scenario: str | Scenario) -> Scenario:
    """Return the scenario; refuse one whose present setting no record could hold, before anything runs."""
    if not isinstance(scenario, Scenario):
        return scenario_file.load_settable(scenario)
    if found := unsettable(scenario):
        raise located(found)
    return scenario


def _spec(study: StudyFile | str | os.PathLike[str], seed: int | None) -> StudyFile:
    """Return the study, with another seed where one is given."""
    spec = study if isinstance(study, StudyFile) else load_study(study)
    if seed is None:
        return spec
    return spec.model_copy(update={"sampler": spec.sampler.model_copy(update={"seed": seed})})


def _checked(budget: Budget, trials: int | None, seeds: int | None) -> Budget:
    given: dict[str, Any] = {key: value for key, value in (("trials", trials), ("seeds", seeds)) if value is not None}
    spent = replace(budget, **given, **_first(seeds))
    checked_number("--trials", spent.trials, _MOST_TRIALS)
    checked_number("--seeds", spent.seeds, _MOST_SEEDS)
    if spent.choice_scan.stop > HELD_OUT:
        raise wrong_input(f"storms of a choice must be below {HELD_OUT}", spent.choice_scan.stop - 1, key="budget")
    return spent


def checked_number(option: str, value: int, most: int) -> None:
    """Refuse a number beyond 1 to the most that makes sense.

    Raises:
        InputError: If it is.
    """
    if not 1 <= value <= most:
        raise wrong_input(f"must be 1 to {most}", value, "leave it out for the default", key=option)


def _first(seeds: int | None) -> dict[str, Any]:
    """A number of storms means the first ones, instead of those that the study names."""
    return {} if seeds is None else {"numbers": None}


def _check_network(spec: StudyFile, space: SearchSpace) -> None:
    """Refuse aims and limits that the network knows nothing of."""
    if space.scenario.topology.imsimgr is None and "imsimgr_cpu_peak" in (*spec.objectives, *spec.constraints):
        rule = f"the scenario {space.scenario.name} has no IMSI manager, so imsimgr_cpu_peak has no value"
        raise wrong_input(rule, way_out="leave it out of objectives and constraints", key="--study")


def _plan(space: SearchSpace, budget: Budget, name: str, spec: StudyFile) -> dict[str, Any]:
    """Return everything that decides what a study finds."""
    storms = asdict(budget)
    storms["numbers"] = None if budget.numbers is None else list(budget.numbers)
    return {
        "name": name,
        "trials": storms.pop("trials"),
        "scenario": space.scenario.name,
        "scenario_hash": space.scenario.hash(),
        "knobs": list(space.knobs),
        "storms": storms,
        "study": spec.model_dump(mode="json", exclude={"description", "budget"}),
        "limits": spec.budget.model_dump(mode="json", exclude={"trials"}),
        "version": __version__,
        "model": model_hash(),
    }


def _identity(plan: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in plan.items() if key not in ("name", "trials", "limits")}


def _finished(folder: RunFolder, plan: Mapping[str, Any]) -> Recommendation | None:
    """Return the recommendation of a run that is complete; None if there is still something to do."""
    if not (folder.path / FILE).exists():
        return None
    try:
        record = load(folder.path)
    except SignalstormError:
        return None
    same = record.scenario.hash == plan["scenario_hash"] and not record.altered()
    return record if same and record.search.trials == plan["trials"] else None


def _say(folder: RunFolder, text: str) -> None:
    _log.info("%s", text)
    folder.note(text)


@contextmanager
def terminable() -> Iterator[None]:
    """Treat a request to terminate like Ctrl-C, so that the run ends in order."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
