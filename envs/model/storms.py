"""Storms: the noise and the drawn fields that belong to one storm number."""

import hashlib

import numpy as np

from signalstorm.envs.model.scenario import Scenario

SEARCH, CHOICE, HELD_OUT = 0, 10_000, 20_000
"""First storm numbers of the ranges for search, for the choice among the best, and held out."""

_MASK = (1 << 64) - 1


def storm_key(number: int) -> tuple[int, int]:
    """Return the two 32-bit seeds of a storm's draws (splitmix64 of its number)."""
    z = (number * 0x9E3779B97F4A7C15 + 0x632BE59BD9B4E019) & _MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    z ^= z >> 31
    return z & 0xFFFFFFFF, z >> 32


def drawn_fields(scenario: Scenario, number: int) -> dict[str, float]:
    """Draw a storm's fields, each uniform within the scenario's variation.

    A field's draw depends on the storm's number and the field's path alone, so adding a field to the variation
    leaves the others as they were. A field that follows another is then multiplied by that one's value.
    """
    fields = {}
    for path, (low, high) in scenario.variation_or_default().items():
        digest = int.from_bytes(hashlib.sha256(path.encode()).digest()[:8], "little")
        share = float(np.random.default_rng([number, digest]).random())
        fields[path] = low + share * (high - low)
    for path, base in scenario.follows.items():
        fields[path] *= fields[base] if base in fields else float(scenario.paths()[base].value)
    return fields


def storm(scenario: Scenario, number: int, *, vary: bool) -> Scenario:
    """Return the scenario of one storm: nominal, or with its drawn fields."""
    fields = drawn_fields(scenario, number) if vary else {}
    return scenario.with_fields(fields, drawn=True) if fields else scenario
