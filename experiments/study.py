"""The study: trials in Optuna's storage, and the points that are worth a trial next.

A trial is claimed with its point in one write, and finished with its figures when its storms have run. A claim that
its process did not live to finish is still there: whoever takes the search up simulates that point and no other, so
nothing is lost, no trial seems to run for ever, and no point is tried twice. The figures of a point do not depend on
who runs it.

Several processes may search one study. Claims are numbered by the storage; of two claims for one setting the one with
the lower number stands, and so do the first of all claims up to the number of trials asked for.
"""

import contextlib
import logging
import warnings
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import optuna
from optuna.exceptions import ExperimentalWarning, UpdateFinishedTrialError
from optuna.storages import BaseStorage, fail_stale_trials
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState
from optuna.trial import Trial as OptunaTrial

from signalstorm.envs.model.errors import wrong_input
from signalstorm.envs.model.knobs import Setting
from signalstorm.experiments.sampling import Scratch, Seen, batch_seed, draws
from signalstorm.experiments.space import Space, Spec
from signalstorm.experiments.storage import Heartbeat, patiently
from signalstorm.experiments.trials import NEVER_WORSE, Claim, Proposal, Scores, Trial, read, sampler_attrs

_log = logging.getLogger(__name__)

_ASKS_PER_POINT = 50
"""So many draws in search of one new point; then the space counts as searched through."""
_ENDED = (TrialState.COMPLETE, TrialState.PRUNED)
_OPEN = (TrialState.RUNNING, TrialState.WAITING)


class Study:
    """An Optuna study that holds trials of settings."""

    def __init__(
        self,
        space: Space,
        storage: BaseStorage,
        name: str,
        spec: Spec,
        identity: str,
        worker: str = "",
    ) -> None:
        """Open the study, or create it.

        Args:
            space: The search space.
            storage: Where trials are kept.
            name: The study's name there.
            spec: What it searches for and how.
            identity: A hash of everything that decides what the study finds.
            worker: Name of this process among those that share the storage; empty if none can.

        Raises:
            InputError: If the storage has another study of that name.
        """
        self.space, self.spec, self.worker = space, spec, worker
        self._storage = storage
        directions = [StudyDirection.MINIMIZE] * len(spec.objectives)
        self._study = patiently(
            lambda: optuna.create_study(study_name=name, storage=storage, directions=directions, load_if_exists=True)
        )
        self._id = storage.get_study_id_from_name(name)
        self._ended: dict[int, Trial] = {}
        self._identities: dict[int, Setting] = {}
        self._scratch = Scratch()
        self.heartbeat = Heartbeat(storage)
        self._check(name, identity)

    def trials(self) -> list[Trial]:
        """Return the finished trials by number."""
        for trial in self._frozen():
            if trial.state in _ENDED and trial.number not in self._ended and "scores" in trial.user_attrs:
                self._ended[trial.number] = read(trial, self.space.stored)
        return [self._ended[number] for number in sorted(self._ended)]

    def trial_count(self) -> int:
        """Return how many trials are finished or under way."""
        return sum(trial.state in (*_ENDED, *_OPEN) for trial in self._frozen())

    def start(self, scores: Scores) -> None:
        """Record the present setting as trial 0, where it is not yet; other processes may try the same.

        Args:
            scores: What the present setting came to.
        """
        present = Proposal(self.space.present_point or {}, self.space.stored({}))
        while True:
            first = next((trial for trial in self._frozen() if trial.number == 0), None)
            if first is None:
                claim = self._create(0, present)
                if claim.number > 0:
                    self._fail(claim.trial_id)
                continue
            if first.state in _OPEN:
                self.finish(self._claim(first), scores)
            return

    def claim(self, batch: int, proposals: Sequence[Proposal], most: int) -> list[Claim]:
        """Claim trials for points, and return the claims that stand.

        Args:
            batch: Number of the batch.
            proposals: The points.
            most: Trials that the study shall end with.
        """
        claims = []
        for proposal in proposals:
            if self.worker and self.trial_count() >= most:
                break
            claim = self._create(batch, proposal)
            if self.worker and not self._stands(claim, most):
                self._fail(claim.trial_id)
                continue
            self.heartbeat.add(claim.trial_id)
            claims.append(claim)
        return claims

    def finish(self, claim: Claim, scores: Scores) -> None:
        """Finish a trial; without effect if another process did so before."""
        trial_id = claim.trial_id
        values = [scores.value_s, *(scores.figures.get(name, 0.0) for name in self.spec.objectives[1:])]
        constraints = {NEVER_WORSE: float(scores.worse), **scores.excess}
        record = {key: value for key, value in vars(scores).items() if key not in ("worse", "excess", "pruned")}

        def write() -> None:
            try:
                self._storage.set_trial_user_attr(trial_id, "scores", record)
                trial = OptunaTrial(self._study, trial_id)
                for key, value in constraints.items():
                    if key not in trial.constraints:
                        trial.set_constraint(key, value)
                state = TrialState.PRUNED if scores.pruned else TrialState.COMPLETE
                self._storage.set_trial_state_values(trial_id, state, values)
            except UpdateFinishedTrialError:
                _log.debug("trial %d was finished by another process", claim.number)

        patiently(write)
        self.heartbeat.remove(trial_id)

    def remember(self, key: str, value: Any) -> None:
        """Keep a value, in JSON's own types, beside the trials."""
        patiently(lambda: self._study.set_user_attr(key, value))

    def recall(self, key: str) -> Any:
        """Return a value that was kept; None if there is none."""
        return patiently(lambda: self._study.user_attrs).get(key)

    def open_waiting(self) -> list[Claim]:
        """Return the claims of processes that show no sign of life any more, given back by the storage."""
        if not self.worker:
            return []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExperimentalWarning)
            patiently(lambda: fail_stale_trials(self._study))
        return [self._claim(trial) for trial in self._frozen() if trial.state == TrialState.WAITING]

    def fail_ghosts(self) -> int:
        """Mark trials that another program left unfinished as failed; returns how many."""
        ghosts = [trial for trial in self._frozen() if trial.state in _OPEN and "setting" not in trial.user_attrs]
        for ghost in ghosts:
            trial_id = self._storage.get_trial_id_from_study_id_trial_number(self._id, ghost.number)
            self._fail(trial_id)
        return len(ghosts)

    def left_open(self) -> list[Claim]:
        """Return the claims of this worker that it did not live to finish."""
        return [
            self._claim(trial)
            for trial in self._frozen()
            if trial.state == TrialState.RUNNING and trial.user_attrs.get("worker") == self.worker and trial.number > 0
        ]

    def take(self, claim: Claim) -> bool:
        """Take an open claim up; false if another process was faster."""
        found = patiently(lambda: self._storage.get_trial(claim.trial_id))
        if found.state not in _OPEN:
            return False
        if claim.waiting and not patiently(
            lambda: self._storage.set_trial_state_values(claim.trial_id, TrialState.RUNNING)
        ):
            return False
        self.heartbeat.add(claim.trial_id)
        return True

    def others_open(self) -> list[Claim]:
        """Return the claims that other processes have under way, and those given back."""
        return [self._claim(trial) for trial in self._frozen() if trial.state in _OPEN and trial.number > 0]

    def alone(self) -> bool:
        """Tell whether no other process has searched this study."""
        return all(trial.user_attrs.get("worker", self.worker) == self.worker for trial in self._frozen())

    def known(self, batch: int) -> list[Trial]:
        """Return the trials that the points of a batch may depend on.

        While a batch runs, the next one is asked: so a batch knows what was there before the one before it. Trials of
        other processes are known as soon as they are finished.
        """
        mine = {t.number for t in self._frozen() if t.user_attrs.get("worker") == self.worker}
        return [trial for trial in self.trials() if trial.number not in mine or trial.batch < max(batch - 1, 1)]

    def propose(self, batch: int, count: int) -> list[Proposal]:
        """Return the points of a batch, all different and none tried in an earlier batch.

        Args:
            batch: The batch; 1 is the first.
            count: Points wanted; fewer come back where the space holds no more.
        """
        before = [
            trial
            for trial in self._frozen()
            if trial.state in (*_ENDED, *_OPEN)
            and "setting" in trial.user_attrs
            and (trial.user_attrs.get("worker") != self.worker or trial.user_attrs["batch"] < batch)
        ]
        known = {trial.number: trial for trial in self.known(batch)}
        taken = {self._identity(trial) for trial in before}
        proposals = [p for point in self._starts(batch) for p in self._new(point, {}, taken)]
        if len(proposals) < count:
            seen = [self._seen(trial, known.get(trial.number)) for trial in before if trial.params]
            asked = sum(trial.user_attrs["batch"] > 0 for trial in before)
            seed = batch_seed(self.spec.sampler.seed, self._salt, batch)
            drawn = draws(
                self.spec.sampler, self.space.distributions, seen, len(self.spec.objectives), seed, asked, self._scratch
            )
            for _, draw in zip(range(_ASKS_PER_POINT * count), drawn, strict=False):
                proposals += self._new(draw.params, draw.attrs, taken)
                if len(proposals) >= count:
                    break
        return proposals[:count]

    def taken(self) -> set[Setting]:
        """Return what the network is set to in trials that are finished or under way."""
        return {self._identity(t) for t in self._frozen() if t.state in (*_ENDED, *_OPEN) and "setting" in t.user_attrs}

    def my_batches(self) -> dict[int, int]:
        """Return the batches of this worker with the number of claims made for each."""
        found: dict[int, int] = {}
        for trial in self._frozen():
            if trial.user_attrs.get("worker") == self.worker and "batch" in trial.user_attrs:
                batch = trial.user_attrs["batch"]
                found[batch] = found.get(batch, 0) + 1
        return found

    def frozen_trials(self) -> list[FrozenTrial]:
        """Return the complete trials as Optuna keeps them."""
        return [trial for trial in self._frozen() if trial.state == TrialState.COMPLETE]

    @property
    def optuna_study(self) -> optuna.Study:
        """The study as Optuna knows it."""
        return self._study

    @cached_property
    def _salt(self) -> int:
        """A number of this worker: 0 for the one that began the study, so that alone it searches as on a journal."""
        first = next((trial for trial in self._frozen() if trial.number == 0), None)
        founder = "" if first is None else str(first.user_attrs.get("worker", ""))
        return 0 if founder == self.worker else int(self.worker or "0", 16) + 1

    def _check(self, name: str, identity: str) -> None:
        """Refuse a study that belongs to something else; trials are read first, for the identity is written first."""
        trials = self._frozen()
        known = self.recall("identity")
        if known is None and not trials:
            self.remember("identity", identity)
        elif known != identity:
            rule = f"the storage holds another study of the name {name} ({str(known)[:12]})"
            raise wrong_input(rule, identity[:12], "give another --name", key="--storage")

    def _starts(self, batch: int) -> Iterable[Mapping[str, Any]]:
        """Points that are worth a trial before the sampler knows anything; one process is enough to try them."""
        return self.space.start_points if batch == 1 and self._salt == 0 else ()

    def _seen(self, trial: FrozenTrial, known: Trial | None) -> Seen:
        if known is None:
            return Seen(trial.params, None, 0.0, sampler_attrs(trial))
        scores = known.scores
        over = sum(min(max(excess, 0.0), 1.0) for excess in scores.excess.values())
        burden = scores.worse / len(scores.times_s) + over
        values = (scores.value_s, *(scores.figures.get(name, 0.0) for name in self.spec.objectives[1:]))
        return Seen(trial.params, values, burden, sampler_attrs(trial))

    def _new(self, point: Mapping[str, Any], attrs: Mapping[str, Any], taken: set[Setting]) -> list[Proposal]:
        """Return the point's proposal and take it, or nothing if its setting is taken."""
        setting = self.space.setting(point)
        identity = self.space.identity(setting)
        if identity in taken:
            return []
        taken.add(identity)
        return [Proposal(dict(point), setting, attrs)]

    def _create(self, batch: int, proposal: Proposal) -> Claim:
        """Write a claim."""
        inside = set(proposal.point) == set(self.space.knobs)
        trial = optuna.create_trial(
            state=TrialState.RUNNING,
            params=proposal.point if inside else {},
            distributions=self.space.distributions if inside else {},
            user_attrs={
                "batch": batch,
                "present": batch == 0,
                "worker": self.worker,
                "setting": dict(proposal.setting),
            },
            system_attrs=dict(proposal.attrs),
        )
        tried = False

        def write() -> int:
            # A write that was done although its answer got lost is not done again.
            nonlocal tried
            for known in self._frozen() if tried else ():
                mine = known.user_attrs.get("worker") == self.worker and known.user_attrs.get("batch") == batch
                if mine and known.user_attrs["setting"] == dict(proposal.setting) and known.state in _OPEN:
                    return self._storage.get_trial_id_from_study_id_trial_number(self._id, known.number)
            tried = True
            return self._storage.create_new_trial(self._id, trial)

        trial_id = patiently(write)
        number = patiently(lambda: self._storage.get_trial_number_from_id(trial_id))
        return Claim(trial_id, number, batch, self.worker, proposal)

    def _stands(self, claim: Claim, most: int) -> bool:
        """Tell whether a claim stands beside those with a lower number."""
        older = [t for t in self._frozen() if t.number < claim.number and t.state in (*_ENDED, *_OPEN)]
        identity = self.space.identity(claim.proposal.setting)
        return len(older) < most and all(self._identity(trial) != identity for trial in older)

    def _claim(self, trial: FrozenTrial) -> Claim:
        trial_id = self._storage.get_trial_id_from_study_id_trial_number(self._id, trial.number)
        attrs = trial.user_attrs
        proposal = Proposal(dict(trial.params), self.space.stored(attrs["setting"]), sampler_attrs(trial))
        waiting = trial.state == TrialState.WAITING
        return Claim(trial_id, trial.number, attrs["batch"], attrs["worker"], proposal, waiting)

    def _identity(self, trial: FrozenTrial) -> Setting:
        """Return what the network is set to in a trial."""
        if trial.number not in self._identities:
            self._identities[trial.number] = self.space.identity(self.space.stored(trial.user_attrs["setting"]))
        return self._identities[trial.number]

    def _fail(self, trial_id: int) -> None:
        def write() -> None:
            with contextlib.suppress(UpdateFinishedTrialError):
                self._storage.set_trial_state_values(trial_id, TrialState.FAIL)

        patiently(write)

    def _frozen(self) -> list[FrozenTrial]:
        return patiently(lambda: self._storage.get_all_trials(self._id, deepcopy=False))
