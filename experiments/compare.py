"""Compare: contestants on the same held-out storms, paired by storm, and on storms beyond the variation.

The held-out storms serve no other purpose: nothing is chosen or tuned on them.
"""

import json
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from signalstorm.agents.learnt import Learnt
from signalstorm.agents.origin import Origin
from signalstorm.agents.plant import as_number
from signalstorm.agents.steering import Lawful, Steering, fast_knobs, start_of
from signalstorm.envs.model.errors import wrong_input
from signalstorm.envs.model.files import write_atomic
from signalstorm.envs.model.knob_table import KNOBS
from signalstorm.envs.model.knobs import resolve, round_to_legal
from signalstorm.envs.model.metrics import restricted, watched_s
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.model.storms import HELD_OUT
from signalstorm.envs.model.wording import nearest
from signalstorm.experiments import contestants, paired
from signalstorm.experiments.contestants import BEST, PRESENT
from signalstorm.experiments.drawn_scenario import scenario_of
from signalstorm.experiments.effects import Answer, answer, effect
from signalstorm.experiments.evaluate import StormSet, evaluate
from signalstorm.experiments.loops import run_loop
from signalstorm.experiments.recommendation import digest
from signalstorm.experiments.run_folder import model_hash
from signalstorm.experiments.storm_sets import is_worse
from signalstorm.experiments.variants import variants

_log = logging.getLogger(__name__)

Floats = npt.NDArray[np.float64]
Progress = Callable[[str, int, int], None]
"""Told the stage, how much of it is done, and of how much."""

STORMS = 200
"""Held-out storms of a comparison."""
BEYOND = 50
"""Storms of each variant beyond the variation."""
BEYOND_THEM = (PRESENT, BEST, "aimd", "constant-gain", "rate-matching", contestants.CLAIRVOYANT)
"""The scenario's own contestants that meet those storms; what a user adds meets them too."""
HINDSIGHT = "best-static-hindsight"
HINDSIGHT_FACTORS = (0.35, 0.5, 0.65, 0.8, 0.9, 1.0, 1.15, 1.4, 1.8, 2.5)
"""Values of the fast knob, as multiples of the start, among which hindsight picks the best for each storm."""
_PARTS = "parts"
_STAGE = "hundredths of runs"


@dataclass(frozen=True)
class Run:
    """What the storms came to under one contestant; every array has shape (storms,)."""

    name: str
    """The contestant's name."""
    restricted_s: Floats
    """min(T, horizon) [s]."""
    converged: Floats
    """1 where the storm was over within the horizon."""
    lost_h: Floats
    """Hours without service per subscriber [h]."""
    changes_per_hour: Floats
    """Changes of a knob per hour of storm [1/h]."""
    dropped: Floats = field(default_factory=lambda: np.zeros(0))
    """Notifications dropped, where there are any."""
    most_in_an_hour: Floats = field(default_factory=lambda: np.zeros(0))
    """Largest number of changes within any hour of the storm; empty in runs that older versions kept."""

    def to_json(self) -> dict[str, Any]:
        """Return the run in JSON's own types."""
        arrays = {key: value for key, value in vars(self).items() if key != "name"}
        return {"name": self.name, **{key: [float(x) for x in value] for key, value in arrays.items()}}

    @staticmethod
    def of(record: Mapping[str, Any]) -> "Run":
        """Return the run that `to_json` wrote."""
        return Run(record["name"], *(np.array(record[key], np.float64) for key in list(record)[1:]))


@dataclass(frozen=True)
class Comparison:
    """Runs over the same storms, and over those of each variant."""

    scenario: Scenario
    """The nominal scenario."""
    storms: tuple[int, ...]
    """Storm numbers."""
    runs: tuple[Run, ...]
    """In the order of the table."""
    beyond: Mapping[str, tuple[Run, ...]] = field(default_factory=dict)
    """Runs by the variant's name."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Laws that do not apply, each with the reason."""
    learnt: tuple[Origin, ...] = ()
    """What the policies and rules among them were learnt on."""
    model: str = ""
    """The model that played, by its hash."""

    def of(self, name: str, variant: str | None = None) -> Run:
        """Return a contestant's run."""
        runs = self.runs if variant is None else self.beyond[variant]
        return next(run for run in runs if run.name == name)

    def rows(self, variant: str | None = None) -> list[dict[str, Any]]:
        """Return the figures of each contestant, against best static and the present setting."""
        runs = self.runs if variant is None else self.beyond[variant]
        reference, present = self.of(BEST, variant), self.of(PRESENT, variant)
        return [_row(run, reference, present) for run in runs]

    @property
    def answer(self) -> Answer | None:
        """Whether any contestant helps beside the present setting; None if nobody else took part."""
        present = self.of(PRESENT)
        others = [run for run in self.runs if run is not present]
        effects = [effect(x.name, x.restricted_s, x.lost_h, present.restricted_s, present.lost_h) for x in others]
        return answer(effects, sum(bool(run.changes_per_hour.any()) for run in others)) if effects else None

    def to_json(self) -> dict[str, Any]:
        """Return everything in JSON's own types; times in seconds, intervals as [value, low, high]."""
        found = self.answer
        return {
            "scenario": self.scenario.name,
            "scenario_hash": self.scenario.hash(),
            "model": self.model,
            "storms": {"first": self.storms[0], "count": len(self.storms)},
            "horizon_s": watched_s(self.scenario),
            "interval_s": self.scenario.control_interval_s,
            "fast_knobs": list(fast_knobs(self.scenario)),
            "start": dict(start_of(self.scenario)),
            "coverage": paired.COVERAGE,
            "contestants": self.rows(),
            "answer": None if found is None else found.to_json(),
            "beyond": {variant: self.rows(variant) for variant in self.beyond},
            "left_out": dict(self.left_out),
            "learnt": [origin.to_json() for origin in self.learnt],
        }


def compare(
    scenario: str | Scenario,
    things: Sequence[str | os.PathLike[str]] = (),
    storms: int = STORMS,
    *,
    beyond: int = BEYOND,
    only: Sequence[str] | None = None,
    out: Path | None = None,
    transfer: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Run contestants over the same held-out storms.

    Args:
        scenario: A scenario, its name or path, or the id of an environment on drawn storms.
        things: Contestants beside those that the scenario has: files, runs, policies.
        storms: How many held-out storms.
        beyond: How many of them each variant has; 0 for no variants.
        only: Names of the scenario's own contestants that run beside present and best static; by default all, and
            hindsight.
        out: A folder in which finished runs are kept, so that the same command goes on where it stopped.
        transfer: Whether policies and rules of another scenario or model take part, with a warning. Variants are made
            from the scenario itself, and do not count as another one.
        threads: Threads at most; by default one per core.
        progress: Told how far it is.

    Raises:
        InputError: If the scenario or a contestant is wrong.
    """
    model = scenario if isinstance(scenario, Scenario) else scenario_of(scenario)
    if storms < 1 or beyond < 0:
        raise wrong_input("must be at least 1 storm", f"{storms} and {beyond}", "for example 200", key="--seeds")
    known = (*contestants.names(model), HINDSIGHT)
    for name in only or ():
        if name not in known:
            raise wrong_input("is none of the scenario's contestants", name, nearest(name, known), key="--only")
    own = [name for name in known[:-1] if only is None or name in {*only, PRESENT, BEST}]
    taking_part = contestants.find_all([*own, *things], model, transfer=transfer)
    learnt = tuple(one.origin for one in taking_part if isinstance(one, Learnt | Lawful) and one.origin)
    for origin in learnt:
        origin.warn()
    hindsight = only is None or HINDSIGHT in only
    numbers = tuple(range(HELD_OUT, HELD_OUT + storms))
    names = {steering.name for steering in taking_part[len(own) :]} | set(BEYOND_THEM)
    abroad = [steering for steering in taking_part if steering.name in names] if beyond else []
    grids = variants(model) if abroad else {}
    desk = _Desk(out, threads, progress)
    desk.total = len(taking_part) + (len(HINDSIGHT_FACTORS) if hindsight else 0) + len(abroad) * len(grids)
    runs = desk.runs(model, taking_part, numbers, hindsight=hindsight)
    far = {name: desk.runs(variant, abroad, numbers[:beyond], where=name) for name, variant in grids.items()}
    return Comparison(model, numbers, runs, far, contestants.left_out(model), learnt, model_hash())


@dataclass
class _Desk:
    """Runs contestants, or takes up what an interrupted comparison left."""

    out: Path | None
    threads: int | None
    progress: Progress | None
    total: int = 0
    """Runs in all; those of hindsight count one for each value."""
    done: int = 0

    def runs(
        self,
        scenario: Scenario,
        taking_part: Sequence[Steering],
        numbers: Sequence[int],
        *,
        hindsight: bool = False,
        where: str = "",
    ) -> tuple[Run, ...]:
        """Run contestants over storms of a scenario, and hindsight if asked for."""
        storms = StormSet(scenario, tuple(numbers), vary=True)
        found = []
        for steering in taking_part:
            found.append(self._run(steering, storms, where))
            self.done += 1
        if hindsight and np.isfinite(_start(scenario)):
            found.append(self._kept(HINDSIGHT, storms, where, lambda: self._hindsight(storms)))
            self.done += len(HINDSIGHT_FACTORS)
        return tuple(found)

    def _run(self, steering: Steering, storms: StormSet, where: str) -> Run:
        def run() -> Run:
            _log.debug("%s on %d storms %s", steering.name, len(storms.numbers), where)
            result = run_loop(steering, storms, threads=self.threads, progress=self._told(1))
            dropped = result.outcomes.core.get("ddn_dropped", np.zeros(0))
            return Run(
                steering.name,
                result.restricted_s,
                result.converged.astype(np.float64),
                result.lost_h,
                result.changes_per_hour,
                dropped,
                result.most_in_an_hour,
            )

        return self._kept(steering.name, storms, where, run, steering)

    def _hindsight(self, storms: StormSet) -> Run:
        """Pick, for each storm, the value of the fast knob that ends it soonest, then the one that loses least."""
        scenario = storms.scenario
        knob = fast_knobs(scenario)[0]
        start = dict(start_of(scenario))
        values = dict.fromkeys(
            round_to_legal({knob: _within(knob, factor * _start(scenario))})[knob] for factor in HINDSIGHT_FACTORS
        )
        settings = [{**start, knob: value} for value in values]
        met = evaluate(settings, storms, threads=self.threads, progress=self._told(len(values)))
        population = np.array([float(sum(group.size for group in s.subscribers)) for s in storms.scenarios])
        lost = met.outcomes.subscriber_hours_lost / population
        best = np.lexsort((lost, met.restricted_s), axis=0)[0]
        at = (best, np.arange(best.size))
        times = met.outcomes.convergence_time_s[at]
        return Run(
            HINDSIGHT,
            restricted(times, watched_s(scenario)),
            (~np.isnan(times)).astype(np.float64),
            lost[at],
            np.zeros(best.size),
            met.outcomes.core["ddn_dropped"][at] if "ddn_dropped" in met.outcomes.core else np.zeros(0),
            np.zeros(best.size),
        )

    def _told(self, runs: int) -> Callable[[int, int], None] | None:
        """Return what tells how far so many runs are, in hundredths of a run."""
        progress, before = self.progress, self.done
        if progress is None:
            return None
        return lambda done, total: progress(
            "compare, 1/100 runs", round(100 * (before + runs * done / total)), 100 * self.total
        )

    def _kept(
        self, name: str, storms: StormSet, where: str, run: Callable[[], Run], steering: Steering | None = None
    ) -> Run:
        """Return a run from the folder if the same one was finished there, else run it and keep it."""
        if self.out is None:
            return run()
        key = digest([name, repr(steering), storms.scenario.hash(), storms.numbers, model_hash()])[:16]
        words = "-".join("".join(c if c.isalnum() else " " for c in f"{name} {where}").split())
        file = self.out / _PARTS / f"{words}-{key}.json"
        if file.exists():
            return Run.of(json.loads(file.read_text("utf-8")))
        found = run()
        write_atomic(file, json.dumps(found.to_json(), allow_nan=False) + "\n")
        return found


def _start(scenario: Scenario) -> float:
    """Return the fast knob's value at the start, infinite if it is off."""
    knob = fast_knobs(scenario)[0]
    return as_number(knob, resolve(start_of(scenario), scenario).get(knob))


def _within(knob: str, value: float) -> float:
    row = KNOBS[knob]
    return min(max(value, row.low), row.high)


def _row(run: Run, reference: Run, present: Run) -> dict[str, Any]:
    """Return a contestant's figures; times in seconds."""
    worse = is_worse(run.restricted_s, present.restricted_s)
    row = {
        "name": run.name,
        "restricted_mean_s": paired.estimate(run.restricted_s).to_json(),
        "iqm_s": paired.estimate(run.restricted_s, paired.iqm).to_json(),
        "lost_h": paired.estimate(run.lost_h).to_json(),
        "converged_share": round(float(run.converged.mean()), 6),
        "changes_per_hour": round(float(run.changes_per_hour.mean()), 6),
        "time_ratio": paired.ratio(run.restricted_s, reference.restricted_s).to_json(),
        "time_difference_s": paired.difference(run.restricted_s, reference.restricted_s).to_json(),
        "lost_ratio": paired.ratio(run.lost_h, reference.lost_h).to_json(),
        "improvement": paired.improvement(run.restricted_s, reference.restricted_s).to_json(),
        "worse_than_present": int(worse.sum()),
    }
    if run.most_in_an_hour.size:
        row["most_changes_in_an_hour"] = int(run.most_in_an_hour.max())
    if run.dropped.size:
        row["notifications_dropped"] = round(float(run.dropped.mean()), 1)
    return row
