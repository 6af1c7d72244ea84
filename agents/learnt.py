"""A learnt policy as a hand on the knobs of many storms, like any other controller."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from signalstorm.agents.bundle import Bundle, check_fits, interface
from signalstorm.agents.origin import Origin
from signalstorm.agents.steering import fast_knobs
from signalstorm.envs.actions import Actuator
from signalstorm.envs.features import Features
from signalstorm.envs.model.batch import Batch
from signalstorm.envs.model.errors import ABSENT, wrong_input
from signalstorm.envs.model.kernels import layout
from signalstorm.envs.model.knob_table import KnobValue
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.observation import ACCEPTS, Observer, Reading
from signalstorm.envs.options import Options

Floats = npt.NDArray[np.float64]

_FOR_EVER = 1e9


@dataclass(frozen=True)
class Learnt:
    """A bundle that can be run over storms."""

    bundle: Bundle
    """The policy and what it was trained on."""
    options: Options
    """The environment in which it was trained."""
    name: str = "policy"
    """What tables call it."""
    origin: Origin | None = field(default=None, repr=False, compare=False)
    """What it was trained on, and in what that differs from where it is used; None: nobody has looked."""

    def start(self, scenario: Scenario) -> Mapping[str, KnobValue]:
        """Return the setting with which its episodes began."""
        return self.options.start

    def hand(self, scenario: Scenario, batch: Batch, storms: Sequence[Scenario]) -> "LearntHand":
        """Return a hand that has seen nothing yet.

        Scenarios of the same network that differ in what is drawn have the same hands; whether the policy is for this
        network and this model at all, `policies.find_policy` looks.

        Raises:
            InputError: If the policy sees or moves something else.
        """
        return LearntHand(self.bundle, replace(self.options, scenario=scenario), batch)

    def interface(self, batch: Batch) -> dict[str, Any]:
        """Return what it would have to mean to be run on a batch of its scenario, see `bundle.interface`."""
        return _eyes_and_hands(self.options, batch)[2]


def _eyes_and_hands(options: Options, batch: Batch) -> tuple[Actuator, Features, dict[str, Any]]:
    """Return what moves knobs, what is seen of a batch, and what both mean."""
    actuator = options.actuator()
    features = Features(Observer(batch).quantities, options.scenario, options.knobs, batch.size)
    names = tuple(feature.name for feature in features.list)
    return actuator, features, interface(options, names, actuator.low, actuator.high)


class LearntHand:
    """A policy at work on the storms of a batch."""

    def __init__(self, bundle: Bundle, options: Options, batch: Batch) -> None:
        """Build its eyes and hands.

        Raises:
            InputError: If the policy sees or moves something else.
        """
        rows = batch.size
        self.actuator, self.features, meant = _eyes_and_hands(options, batch)
        check_fits(bundle, meant, transfer=True)
        moved = fast_knobs(options.scenario)
        if not set(options.knobs) <= set(moved):
            rule = f"moves {', '.join(options.knobs)}, but a comparison moves only {', '.join(moved)}"
            way_out = "train one for these knobs, such as a Randomised environment's"
            raise wrong_input(rule, ABSENT, way_out, file=str(bundle.path))
        self._policy = bundle.policy
        self._state = bundle.policy.start(rows)
        self._idle = np.full((rows, len(options.knobs)), _FOR_EVER)

    def act(self, seen: Reading, now: Mapping[str, Floats]) -> Mapping[str, Floats]:
        """Return the knobs' next values.

        Args:
            seen: The latest interval whose counters have arrived.
            now: The knobs' values in force, infinite where one is off, each of shape (rows,).
        """
        values = np.stack([np.minimum(now[name], layout.NEVER) for name in self.actuator.knobs], axis=1)
        knobs = self.actuator.scaled(values).astype(np.float32)
        observation = np.concatenate([self.features.see(seen.values), knobs], axis=1)
        actions, self._state = self._policy.act(observation, self._state)
        wanted = self.actuator.target(actions, values, seen.values[ACCEPTS], self._idle)
        self._idle = np.where(wanted != values, 0.0, self._idle) + 1.0
        return {
            name: np.where(wanted[:, i] >= layout.NEVER, np.inf, wanted[:, i])
            for i, name in enumerate(self.actuator.knobs)
        }
