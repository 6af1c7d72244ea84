"""What an environment is made of: its scenario, its knobs and how they move, its clock, its reward."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from signalstorm.envs.actions import NO_LIMITS, ActionMode, Actuator, Limits
from signalstorm.envs.model.knob_table import KnobValue
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.model.storms import CHOICE, SEARCH
from signalstorm.envs.reward import Weights


@dataclass(frozen=True)
class Options:
    """A complete description of an environment."""

    scenario: Scenario
    """The nominal scenario."""
    knobs: tuple[str, ...]
    """The knobs that the agent moves."""
    action_mode: ActionMode = "absolute"
    """How it moves them."""
    vary: bool = False
    """Whether storms draw the scenario's variation, or differ in their noise alone."""
    start: Mapping[str, KnobValue] = field(default_factory=dict)
    """The setting with which a storm begins, over the present one."""
    control_interval_s: float = 60.0
    """Time between two actions [s]."""
    delay: int = 0
    """Intervals by which counters arrive late."""
    early_end: bool = True
    """Whether an episode ends once the storm is over; else it runs on to the horizon."""
    storms: tuple[int, int] = (SEARCH, CHOICE)
    """Numbers of the storms that a reset draws from: the first, and the first beyond."""
    limits: Limits = NO_LIMITS
    """How fast knobs may change."""
    weights: Weights = field(default_factory=Weights)
    """What the terms of the reward count."""
    shaping_gamma: float | None = None
    """Discount of potential-based shaping; None: no shaping."""

    @property
    def interval_steps(self) -> int:
        """Steps of the model in one interval."""
        return max(round(self.control_interval_s / self.scenario.dt), 1)

    @property
    def episode_steps(self) -> int:
        """Intervals to the horizon."""
        return max(round(self.scenario.horizon_s / self.scenario.dt) // self.interval_steps, 1)

    def actuator(self) -> Actuator:
        """Return what turns actions into settings.

        Raises:
            InputError: If a knob is unknown, cannot be moved, or the start breaks a rule.
        """
        knobs, mode = self.knobs, self.action_mode
        return Actuator(self.scenario, knobs, mode, self.start, self.control_interval_s, self.limits)
