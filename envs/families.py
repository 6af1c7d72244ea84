"""The environments' ids: every family in every variant, computed from two small tables."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

NAMESPACE = "signalstorm"
VERSION = 0
"""Rises with any change of dynamics, reward or spaces."""


@dataclass(frozen=True)
class Family:
    """A kind of storm."""

    name: str
    """Its name in ids."""
    meaning: str
    """What happens, in a sentence part."""
    scenario: str
    """The storm as it is known."""
    randomised: str
    """Storms of this kind in networks that differ."""
    easy: str
    """A small network with a storm of this kind."""
    steps: tuple[int, int, int]
    """Control intervals of an episode of each of these; a test compares them with the scenarios."""
    broken: str = ""
    """Storms of this kind that the fast knob cannot help against; empty: there is no such variant."""
    broken_steps: int = 0
    """Control intervals of an episode of these."""


FAMILIES = {
    family.name: family
    for family in (
        Family(
            "IncidentSgsn",
            "an HLR reset, and signalling links that stay congested",
            "incident-2014",
            "incident-2014-randomised",
            "incident-sgsn-easy",
            (480, 255, 240),
            broken="incident-sgsn-broken-knob",
            broken_steps=180,
        ),
        Family(
            "AttachLte",
            "handsets attach faster than the policy server answers",
            "lab-pcrf",
            "attach-lte-randomised",
            "attach-lte-easy",
            (600, 180, 120),
        ),
        Family(
            "DraThrottle",
            "a gateway's sessions end at once and fill the session database",
            "dra-db-cpu",
            "dra-throttle-randomised",
            "dra-throttle-easy",
            (90, 150, 180),
        ),
        Family(
            "DdnSurge",
            "a wave of downlink data notifications",
            "ddn-surge",
            "ddn-surge-randomised",
            "ddn-surge-easy",
            (120, 120, 180),
        ),
        Family(
            "ImsimgrBroadcast",
            "requests about unknown subscribers are broadcast to all session managers",
            "imsimgr-unknown",
            "imsimgr-randomised",
            "imsimgr-easy",
            (90, 90, 180),
        ),
        Family(
            "CoreStorm",
            "several faults in a network with all elements",
            "core-storm-randomised",
            "core-storm-randomised",
            "core-storm-easy",
            (150, 150, 180),
        ),
    )
}
"""The families by name."""

VARIANTS = ("", "Incremental", "Ratio", "Discrete", "Easy", "Hard", "BrokenKnob", "Randomised")
"""What follows the family in an id."""
HARD_INTERVALS = 5
"""A control interval of `Hard` lasts so many ordinary ones."""


def ids() -> Iterator[tuple[str, Family, str]]:
    """Yield each id with its family and variant."""
    for family in FAMILIES.values():
        for variant in VARIANTS:
            if variant != "BrokenKnob" or family.broken:
                yield f"{NAMESPACE}/{family.name}{variant}-v{VERSION}", family, variant


def episode_steps(family: Family, variant: str) -> int:
    """Return the control intervals of an episode."""
    usual, randomised, easy = family.steps
    if variant == "Easy":
        return easy
    if variant == "BrokenKnob":
        return family.broken_steps
    if variant == "Randomised":
        return randomised
    return usual // HARD_INTERVALS if variant == "Hard" else usual


def register() -> None:
    """Make the environments known to Gymnasium; doing so twice changes nothing."""
    import gymnasium

    for name, family, variant in ids():
        if name in gymnasium.registry:
            continue
        kwargs: dict[str, Any] = {"family": family.name, "variant": variant}
        gymnasium.register(
            name,
            entry_point="signalstorm.envs.storm:StormEnv",
            vector_entry_point="signalstorm.envs.vector:StormVectorEnv",
            max_episode_steps=episode_steps(family, variant),
            kwargs=kwargs,
        )


def register_with_gymnasium() -> None:
    """Register now if Gymnasium is loaded, else as soon as it is: who only runs commands need not wait for it."""
    if "gymnasium" in sys.modules:
        register()
    elif not any(isinstance(finder, _AfterImport) for finder in sys.meta_path):
        sys.meta_path.insert(0, _AfterImport())


class _AfterImport(MetaPathFinder):
    """Lets Gymnasium be found as ever, and registers once it has been executed."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != "gymnasium":
            return None
        sys.meta_path.remove(self)
        spec = find_spec(fullname)
        if spec is None or spec.loader is None:
            return spec
        loader = spec.loader
        execute = loader.exec_module

        def execute_and_register(module: ModuleType) -> None:
            execute(module)
            register()

        loader.exec_module = execute_and_register  # type: ignore[method-assign]
        return spec
