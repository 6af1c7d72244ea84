"""What a law is shown in tests: one storm, numbers by hand."""

from dataclasses import replace
from typing import Any

import numpy as np

from signalstorm.agents.laws.base import Law, moved
from signalstorm.agents.plant import View

_CALM = View(
    60.0,
    np.array([400.0]),
    np.array([900.0]),
    np.array([400.0]),
    np.array([400.0]),
    np.array([0.0]),
    np.array([0.0]),
    np.array([0.1]),
    np.array([0.5]),
)


def view(**values: float) -> View:
    """A gate of 400/s that limits, with nothing wrong behind it, but for what is given."""
    arrays: dict[str, Any] = {name: np.array([value]) for name, value in values.items()}
    return replace(_CALM, **arrays)


def memory(law: Law) -> np.ndarray:
    return np.zeros((max(law.memory, 1), 1))


def wanted(law: Law, seen: View, kept: np.ndarray | None = None) -> float:
    return float(law.wanted(seen, memory(law) if kept is None else kept)[0])


def next_rate(law: Law, seen: View, kept: np.ndarray | None = None) -> float:
    return float(moved(law, seen.rate, law.wanted(seen, memory(law) if kept is None else kept))[0])
