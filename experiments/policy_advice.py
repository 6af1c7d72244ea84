"""A policy as adviser: it is shown every interval so far, for it compares the latest with those before."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from signalstorm.agents.base import Counters, Decision
from signalstorm.agents.learnt import Learnt, LearntHand
from signalstorm.agents.origin import Origin
from signalstorm.agents.plant import as_number
from signalstorm.envs.model.batch import Batch
from signalstorm.envs.model.errors import ABSENT, wrong_input
from signalstorm.envs.model.knob_table import KNOBS, KnobValue
from signalstorm.envs.model.knobs import round_to_legal
from signalstorm.envs.model.parameters import setting_matrix
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.observation import Observer, Quantity, Reading
from signalstorm.experiments.policies import find_policy


@dataclass(frozen=True)
class PolicyAdviser:
    """A policy before one storm; what it is asked for follows from the intervals so far."""

    learnt: Learnt
    """The policy."""
    scenario: Scenario
    """The network."""
    history: Sequence[Counters]
    """Counters so far, the latest last."""

    @property
    def name(self) -> str:
        """The policy's name."""
        return self.learnt.name

    @property
    def origin(self) -> Origin | None:
        """What the policy was trained on."""
        return self.learnt.origin

    def decide(self, seen: Counters, setting: Mapping[str, KnobValue]) -> Decision:
        """Return what it sets next, see ``Controller.decide``.

        Raises:
            InputError: If it was trained on something else, or a counter that it needs was never given.
        """
        batch = _batch(self.scenario)
        hand = LearntHand(self.learnt.bundle, self.learnt.options, batch)
        names = [quantity.name for quantity in needed(self.learnt, self.scenario)]
        now = {knob: np.array([as_number(knob, setting.get(knob))]) for knob in self.learnt.options.knobs}
        known: dict[str, float] = {}
        made: Mapping[str, np.ndarray] = {}
        for one in self.history:
            known |= one.values
            if all(name in known for name in names):
                values = {name: np.array([value]) for name, value in known.items()}
                made = hand.act(Reading(one.end_s, one.interval_s, values), now)
        lacking = [name for name in names if name not in known]
        if lacking:
            way_out = "add them, or distil the policy: its table needs five counters"
            raise wrong_input(f"the policy needs {', '.join(lacking)}", ABSENT, way_out, file="--counters")
        return self._decision(made, setting, names)

    def _decision(
        self, made: Mapping[str, np.ndarray], setting: Mapping[str, KnobValue], names: Sequence[str]
    ) -> Decision:
        wanted = {name: round(float(value[0])) for name, value in made.items() if np.isfinite(value[0])}
        legal = round_to_legal(wanted)
        knobs = {name: value for name, value in legal.items() if value != setting.get(name)}
        last = self.history[-1]
        said = [f"{name} is missing; its last value is held" for name in names if name not in last.values]
        trained_s = self.learnt.options.control_interval_s
        if last.interval_s != trained_s:
            said.append(f"the counters are of {last.interval_s:g} s, but the policy was trained on {trained_s:g} s")
        words = ", ".join(f"{name} = {KNOBS[name].text(value)}" for name, value in legal.items())
        return Decision(knobs, f"the policy {self.name} sets {words}", tuple(said))


def adviser(named: str, scenario: Scenario, history: Sequence[Counters], *, transfer: bool = False) -> PolicyAdviser:
    """Return the policy of a folder as an adviser.

    Raises:
        InputError: If there is no such policy, or, without `transfer`, it is of another scenario or model.
    """
    return PolicyAdviser(policy_of(named, scenario, transfer=transfer), scenario, history)


def policy_of(named: str, scenario: Scenario, *, transfer: bool = False) -> Learnt:
    """Return the policy of a folder.

    Args:
        named: The folder.
        scenario: The network.
        transfer: Whether a policy of another scenario or model will do, with a warning.

    Raises:
        InputError: If there is none, it is damaged, or, without `transfer`, of another scenario or model.
    """
    learnt = find_policy(named, scenario, transfer=transfer)
    if learnt is None:
        raise wrong_input("holds no policy", ABSENT, "give the folder of a training", file=named)
    if learnt.origin is not None:
        learnt.origin.warn()
    return learnt


def needed(learnt: Learnt, scenario: Scenario) -> list[Quantity]:
    """Return the counters that a policy looks at."""
    features = set(learnt.bundle.facts.get("features", ()))
    return [quantity for quantity in Observer(_batch(scenario)).quantities if quantity.name in features]


def _batch(scenario: Scenario) -> Batch:
    return Batch([scenario], [0], setting_matrix([{}], scenario), threads=1)
