"""What a study searches: points of named values, and what each point stands for."""

from collections.abc import Mapping
from typing import Any, Protocol

from optuna.distributions import BaseDistribution

from signalstorm.envs.model.knob_table import KnobValue
from signalstorm.envs.model.knobs import Setting
from signalstorm.experiments.study_file import Limits, Sampler


class Space(Protocol):
    """Points, and what is set by each."""

    @property
    def knobs(self) -> tuple[str, ...]:
        """Names of what a search moves."""
        ...

    @property
    def distributions(self) -> dict[str, BaseDistribution]:
        """Optuna's distribution of each."""
        ...

    @property
    def present_point(self) -> dict[str, KnobValue] | None:
        """What is in force as a point, None if it lies outside."""
        ...

    @property
    def start_points(self) -> tuple[dict[str, KnobValue], ...]:
        """Points that every search tries first."""
        ...

    def setting(self, point: Mapping[str, Any]) -> Setting:
        """Return what a point stands for, as overrides of what is in force."""
        ...

    def stored(self, values: Mapping[str, Any]) -> Setting:
        """Return such overrides as a storage has kept them."""
        ...

    def identity(self, setting: Mapping[str, KnobValue]) -> Setting:
        """Return all that is set: two with equal identities are the same."""
        ...


class Spec(Protocol):
    """What a study file says of the search itself."""

    @property
    def sampler(self) -> Sampler:
        """Who proposes points."""
        ...

    @property
    def budget(self) -> Limits:
        """When the search ends."""
        ...

    @property
    def objectives(self) -> tuple[Any, ...]:
        """What the sampler aims at."""
        ...
