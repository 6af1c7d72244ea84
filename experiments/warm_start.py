"""A warm start: a policy is fitted to what a control law does before it learns by itself."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from signalstorm.agents.laws.base import Law
from signalstorm.agents.plant import plant_of
from signalstorm.agents.policy import Policy
from signalstorm.agents.steering import LawHand
from signalstorm.envs.loop import Loop
from signalstorm.envs.model.errors import wrong_input
from signalstorm.envs.model.kernels import layout
from signalstorm.envs.model.wording import nearest
from signalstorm.envs.observation import ACCEPTS, Reading
from signalstorm.envs.options import Options
from signalstorm.experiments.contestants import laws
from signalstorm.experiments.training_file import TrainingFile, WarmStart

if TYPE_CHECKING:
    from signalstorm.agents.ppo import Learner

Floats = npt.NDArray[np.float64]
Told = Callable[[int, int], None]
"""Told how many rounds are played, and of how many."""

_KEY = "warm_start.law"


@dataclass(frozen=True)
class Played:
    """Storms that were played, interval by interval."""

    observations: npt.NDArray[np.float32]
    """Shape (intervals + 1, rows, features); the last is what was seen at the horizon."""
    actions: Floats
    """What the law would have done, shape (intervals, rows, knobs)."""
    rewards: Floats
    """Shape (intervals, rows)."""
    lasting: npt.NDArray[np.bool_]
    """Whether the storm lasted when the action was taken; the last row: at the horizon; shape (intervals + 1, rows)."""

    def returns(self, gamma: float, beyond: Floats) -> Floats:
        """Return the discounted rewards from each interval on, shape (intervals, rows).

        Args:
            gamma: Discount per interval.
            beyond: What is expected of storms that last to the horizon, shape (rows,).
        """
        found, following = np.empty_like(self.rewards), np.where(self.lasting[-1], beyond, 0.0)
        for i in range(len(found) - 1, -1, -1):
            following = np.where(self.lasting[i], self.rewards[i] + gamma * following, 0.0)
            found[i] = following
        return found


@dataclass(frozen=True)
class Lesson:
    """A warm start in an environment."""

    law: Law
    """The law, with the parameters tuned for the scenario."""
    spec: WarmStart
    """How it is shown."""

    def to_json(self) -> dict[str, Any]:
        """Return what a bundle says of it, in JSON's own types."""
        return {**self.spec.model_dump(mode="json"), "parameters": asdict(self.law)}


def lesson_of(options: Options, file: TrainingFile) -> Lesson | None:
    """Return the warm start of a training; None if there is to be none.

    Raises:
        InputError: If the law does not move what the policy moves, or the environment's actions cannot follow it.
    """
    if file.warm_start is None:
        return None
    name, scenario = file.warm_start.law, options.scenario
    plant = plant_of(scenario)
    known = laws(scenario)
    if options.knobs != (plant.knob,):
        rule = f"laws move {plant.knob} alone, but the policy is to move {', '.join(options.knobs)}"
        raise wrong_input(rule, name, "train in a Randomised or Easy variant, or without warm_start", key=_KEY)
    if name not in known:
        rule = f"does not apply to {plant.knob} of {scenario.name}"
        raise wrong_input(rule, name, nearest(name, known) if known else "train without warm_start", key=_KEY)
    if options.action_mode == "discrete":
        rule = "a law sets any value, which discrete actions do not reach"
        raise wrong_input(rule, name, "take another action_mode, or train without warm_start", key=_KEY)
    return Lesson(known[name], file.warm_start)


def warm_start(learner: "Learner", lesson: Lesson, options: Options, file: TrainingFile, told: Told) -> list[str]:
    """Fit a policy to a law and its critic to what then follows; the same for the same seed.

    Args:
        learner: What is to learn; it has not learnt yet.
        lesson: What it is shown.
        options: Its environment.
        file: The training.
        told: Told how far it is.

    Returns:
        What to write down, a line per round.
    """
    cloning = import_module("signalstorm.agents.cloning")
    spec = lesson.spec
    rounds: list[Played] = []
    said = []
    for number in range(spec.rounds):
        told(number, spec.rounds)
        player = learner.policy() if number else None
        rounds.append(play_and_ask(lesson.law, options, _storms(file, spec, number), player))
        seen = np.concatenate([played.observations[:-1][played.lasting[:-1]] for played in rounds])
        wanted = np.concatenate([played.actions[played.lasting[:-1]] for played in rounds])
        error = cloning.fit_actor(learner.model, seen, wanted, spec.epochs, file.seed + number)
        who = "the policy" if number else lesson.law.name
        said.append(f"warm start, round {number + 1}: {who} played {spec.storms} storms, error {error:.4f}")
    _fit_critic(cloning, learner, rounds[-1], spec.epochs, file)
    told(spec.rounds, spec.rounds)
    return said


def _fit_critic(cloning: Any, learner: "Learner", played: Played, epochs: int, file: TrainingFile) -> None:
    """Fit the critic twice: storms cut at the horizon count what it expects of them, once it expects something."""
    learning = file.learning
    beyond = np.zeros(played.rewards.shape[1])
    lasting = played.lasting[:-1]
    for _ in range(2):
        returns = learning.reward_scale * played.returns(learning.gamma, beyond / learning.reward_scale)
        cloning.fit_critic(learner.model, played.observations[:-1][lasting], returns[lasting], epochs, file.seed)
        beyond = cloning.expected(learner.model, played.observations[-1])


def _storms(file: TrainingFile, spec: WarmStart, number: int) -> list[int]:
    """Return the training storms of a round, other ones than before as long as there are any."""
    (first, beyond), count = file.storms, spec.storms
    return [first + (number * count + i) % (beyond - first) for i in range(count)]


def play_and_ask(law: Law, options: Options, numbers: Sequence[int], policy: Policy | None) -> Played:
    """Let a policy, or the law itself, play storms to their horizon and note what the law would have done.

    Args:
        law: The law; it looks on all the time, so what it remembers is of the storm at hand.
        options: The environment.
        numbers: The storms.
        policy: Who plays; None: the law.
    """
    rows = len(numbers)
    loop, hand = Loop(options, rows), LawHand(law, options.scenario, rows)
    loop.start(range(rows), numbers)
    arrived: deque[Reading] = deque(maxlen=options.delay + 1)
    observations, actions, rewards, lasting = [loop.observe()], [], [], [np.ones(rows, bool)]
    for interval in range(options.episode_steps):
        seen = arrived[0] if len(arrived) > options.delay else None
        actions.append(_asked(hand, seen, loop))
        made = loop.step(actions[-1] if policy is None else policy.act(observations[-1])[0])
        end_s = (interval + 1) * options.control_interval_s
        arrived.append(Reading(end_s, options.control_interval_s, loop.seen))
        observations.append(made.observation)
        rewards.append(made.reward)
        lasting.append(lasting[-1] & ~made.terminated)
    return Played(np.array(observations), np.array(actions), np.array(rewards), np.array(lasting))


def _asked(hand: LawHand, seen: Reading | None, loop: Loop) -> Floats:
    """Return the action that does what a law wants, shape (rows, 1); before it has seen anything: none."""
    values = loop.values
    completed = np.full(len(values), np.nan) if seen is None else seen.values[ACCEPTS]
    if seen is None:
        return loop.actuator.aimed(values, values, completed)
    (knob,) = loop.actuator.knobs
    now = np.where(values[:, 0] >= layout.NEVER, np.inf, values[:, 0])
    wanted = np.asarray(hand.act(seen, {knob: now})[knob])[:, np.newaxis]
    return loop.actuator.aimed(np.where(np.isnan(wanted), values, wanted), values, completed)
