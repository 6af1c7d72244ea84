"""The search: batches of points from the sampler, each batch against all storms of a trial in one call of the kernel.

While a batch runs, the next one is asked and claimed, so sampler and storage take their time beside the storms.

A trial's value is the mean cost of the search storms [s] (see ``objectives``), and not a mean of ratios to each
storm's lower bound: seconds of all storms add up, a bound of zero or beyond the horizon spoils nothing, and as every
setting meets the same storms, a storm that lasts long for all of them cancels out. Its constraint is the number of
storms, guards included, on which it is worse than the present setting; a trial that is worse on none beats every one
that is.
"""

import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np

from signalstorm.envs.model.knobs import Setting
from signalstorm.envs.model.metrics import restricted, watched_s
from signalstorm.experiments.engines import Engine
from signalstorm.experiments.evaluate import StormSet
from signalstorm.experiments.racing import rival, run_batch
from signalstorm.experiments.search_space import SearchSpace
from signalstorm.experiments.standing import Watch
from signalstorm.experiments.storm_sets import Budget, Paired, Progress, find_guards, float_times, longer, paired
from signalstorm.experiments.study import Study
from signalstorm.experiments.study_file import StudyFile
from signalstorm.experiments.trials import Claim, Proposal, Scores, Trial

_log = logging.getLogger(__name__)

GAIN = 0.01
"""A setting is better than the present one if its value is at least this share below."""
_BETTER = 1e-3
"""A trial ends a standstill if it improves on the best value by at least this share."""
_UNDER_WAY = 2
"""Batches claimed at once, whatever the engine: what a batch may know depends on it (see `Study.known`)."""
_POLL_S = 0.2
"""Time between two looks at what other processes do [s]."""
_IDLE_S = 10.0
"""With nothing else to do, trials that others have not finished within this time are run here as well [s]."""


def prepare(
    study: Study,
    space: SearchSpace,
    spec: StudyFile,
    budget: Budget,
    engine: Engine,
    progress: Progress | None = None,
) -> Paired:
    """Find the guards, run the present setting as trial 0, and return the storms of all trials.

    Both are taken from the study where it holds them already.
    """
    scenario = space.scenario
    guards = study.recall("guards")
    if guards is None:
        if progress is not None:
            progress("present setting", 0, 1)
        guards = find_guards(scenario, budget.search_scan, budget.guards, engine)
        study.remember("guards", guards)
    known = next((trial for trial in study.trials() if trial.present), None)
    if known is not None:
        storms = (*budget.storms, *guards)
        if len(known.times_s) == len(storms):
            times_s, lost_h = float_times(known.times_s), np.array(known.lost_h)
            return Paired(StormSet(scenario, storms, vary=True), len(budget.storms), times_s, lost_h, budget.risk)
    found = paired(scenario, budget.storms, guards, engine, budget.risk)
    present = Proposal(space.present_point or {}, Setting({}))
    study.start(run_batch(space, spec, [present], found, None, engine)[0])
    return found


Runner = Callable[[Sequence[Claim], Sequence[Trial]], list[Scores]]
"""Runs claims; told the trials that their batch may know. Returns what each came to."""


@dataclass
class _Search:
    """A search on its way."""

    study: Study
    run_claims: Runner
    trials: int
    progress: Progress | None
    deadline: float | None
    watch: Watch | None = None
    left: deque[list[Claim]] = field(default_factory=deque)
    """Claims of an earlier life of this process."""
    running: deque[tuple[list[Claim], Future[list[Scores]]]] = field(default_factory=deque)
    exhausted: bool = False
    """Whether no further point is to be asked for."""

    def run(self, pool: ThreadPoolExecutor) -> None:
        """Run until the study holds the trials asked for, or nothing more is to be asked."""
        self._take_up()
        idle_since = time.monotonic()
        while True:
            self._tell()
            while len(self.running) < _UNDER_WAY and (claims := self._next()):
                known = self.study.known(claims[0].batch)
                self.running.append((claims, pool.submit(self.run_claims, claims, known)))
            if self.running:
                claims, future = self.running.popleft()
                for claim, scores in zip(claims, future.result(), strict=True):
                    self.study.finish(claim, scores)
                idle_since = time.monotonic()
            elif not self._wait(idle_since):
                return

    def _take_up(self) -> None:
        """Take up the claims that an earlier life of this process did not finish, batch by batch."""
        by_batch: dict[int, list[Claim]] = {}
        for claim in self.study.left_open():
            by_batch.setdefault(claim.batch, []).append(claim)
        self.left.extend(by_batch[batch] for batch in sorted(by_batch))

    def _next(self) -> list[Claim]:
        """Return the claims to run next, none if there is nothing to do."""
        if self.left:
            claims = self.left.popleft()
            return [claim for claim in claims if self.study.take(claim)]
        waiting = [claim for claim in self.study.open_waiting() if self.study.take(claim)]
        if waiting:
            return waiting
        if self.exhausted or self.study.trial_count() >= self.trials or self._stopped():
            return []
        return self._ask()

    def _ask(self) -> list[Claim]:
        """Ask for the points of a batch and claim them."""
        size, made = self.study.spec.sampler.batch, self.study.my_batches()
        last = max(made, default=0)
        batch = last if last > 0 and made[last] < size else last + 1
        for number in sorted({batch, last + 1}):
            # What was there before limits a batch, not what is there now: taken up again, it has to be equal.
            before = sum(count for known, count in made.items() if known < number)
            room = self.trials - (before if self.study.alone() else self.study.trial_count())
            proposals = self.study.propose(number, min(size, room))
            taken = self.study.taken()
            fresh = [p for p in proposals if self.study.space.identity(p.setting) not in taken]
            if claims := self.study.claim(number, fresh, self.trials):
                return claims
        if not proposals:
            _log.info("the search space holds no more points")
            self.exhausted = True
        return []

    def _stopped(self) -> bool:
        """Tell whether time or patience is over."""
        if self.deadline is not None and time.monotonic() > self.deadline:
            _log.info("the time for the search is over")
            self.exhausted = True
        limit = self.study.spec.budget.stagnation
        if limit is not None and standstill(self.study.known(max(self.study.my_batches(), default=0) + 1)) >= limit:
            _log.info("no better setting among the last %d trials", limit)
            self.exhausted = True
        return self.exhausted

    def _wait(self, idle_since: float) -> bool:
        """Wait for other processes; false if the search is over."""
        others = self.study.others_open() if self.study.worker else []
        if not others:
            return not self.exhausted and self.study.trial_count() < self.trials
        if time.monotonic() - idle_since > _IDLE_S:
            by_batch: dict[tuple[str, int], list[Claim]] = {}
            for claim in others:
                by_batch.setdefault((claim.worker, claim.batch), []).append(claim)
            self.left.extend(by_batch.values())
        else:
            time.sleep(_POLL_S)
        return True

    def _tell(self) -> None:
        trials = self.study.trials()
        if self.watch is not None:
            self.watch(trials)
        if self.progress is not None:
            self.progress("search", len(trials), self.trials)


def search(
    study: Study,
    space: SearchSpace,
    spec: StudyFile,
    storms: Paired,
    trials: int,
    engine: Engine,
    progress: Progress | None = None,
    deadline: float | None = None,
    watch: Watch | None = None,
) -> None:
    """Run batches until the study holds the asked number of trials, or is to end earlier.

    Args:
        study: The study; it has the present setting as trial 0.
        space: Its space.
        spec: Its file.
        storms: What `prepare` returned.
        trials: Trials to end with, the present setting included.
        engine: Where storms run.
        progress: Told after each batch.
        deadline: Monotonic time after which no trial begins [s].
        watch: Shown all finished trials after each batch.
    """

    def run(claims: Sequence[Claim], known: Sequence[Trial]) -> list[Scores]:
        return run_batch(space, spec, [claim.proposal for claim in claims], storms, rival(known, storms), engine)

    run_study(study, run, trials, engine.at_once, progress, deadline, watch)


def run_study(
    study: Study,
    run: Runner,
    trials: int,
    at_once: int,
    progress: Progress | None = None,
    deadline: float | None = None,
    watch: Watch | None = None,
    cancel: Callable[[], None] | None = None,
) -> None:
    """Claim and run batches until the study holds the asked number of trials, or is to end earlier.

    Args:
        study: The study; it has trial 0.
        run: Runs claims.
        trials: Trials to end with.
        at_once: Batches that run at the same time.
        progress: Told after each batch.
        deadline: Monotonic time after which no trial begins [s].
        watch: Shown all finished trials after each batch.
        cancel: Makes what is running end soon; called where the search ends by an exception.
    """
    pool = ThreadPoolExecutor(at_once, thread_name_prefix="batch")
    try:
        with study.heartbeat:
            _Search(study, run, trials, progress, deadline, watch).run(pool)
    except BaseException:
        if cancel is not None:
            cancel()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def standstill(trials: Sequence[Trial]) -> int:
    """Return how many trials in a row have brought no better feasible one."""
    best, since = np.inf, 0
    for trial in trials:
        since += 1
        if trial.feasible and trial.value_s < best * (1.0 - _BETTER):
            best, since = trial.value_s, 0
    return since


def ranked(trials: Sequence[Trial]) -> list[Trial]:
    """Return the feasible trials that are better on average than the present setting, best first.

    Of trials that came to the same on every storm the one with the fewest overrides stays.
    """
    present = next(trial for trial in trials if trial.present)
    better = [trial for trial in trials if trial.feasible and trial.value_s < present.value_s * (1.0 - GAIN)]
    better.sort(key=lambda trial: (trial.value_s, len(trial.setting), trial.number))
    return list({(trial.times_s, trial.lost_h): trial for trial in reversed(better)}.values())[::-1]


def rejected(trials: Sequence[Trial], storms: Paired) -> str | None:
    """Say which setting is faster on average than every feasible one, and why it is no answer."""
    feasible = [trial.value_s for trial in trials if trial.feasible]
    least = min(feasible, default=np.inf)
    faster = [
        trial for trial in trials if trial.complete and trial.worse and trial.within and trial.value_s < least * 0.98
    ]
    if not faster:
        return None
    best = min(faster, key=lambda trial: (trial.worse, trial.value_s))
    horizon = watched_s(storms.storms.scenario)
    times_s = restricted(float_times(best.times_s), horizon)
    knobs = ", ".join(f"{name}={value}" for name, value in best.setting.items())
    against = f" against {least:.1f} s of the best that is" if feasible else ""
    return (
        f"faster on average but not never worse: {knobs} comes to {best.value_s:.1f} s{against}, but is worse on "
        f"{best.worse} of {len(best.times_s)} storms, where the present one recovers by itself: it "
        f"{longer(times_s, storms.present_restricted_s)}"
    )
