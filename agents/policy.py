"""A learnt policy without the library that learnt it: a small network in NumPy."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Weights = Mapping[str, npt.NDArray[np.float32]]
Array = npt.NDArray[np.float32]

ActionKind = Literal["box", "discrete", "multidiscrete"]


@dataclass(frozen=True)
class Shape:
    """What a network takes, holds and gives."""

    features: int
    """Numbers of an observation."""
    hidden: tuple[int, ...]
    """Units of each hidden layer."""
    outputs: tuple[int, ...]
    """Numbers of an action, or choices of each discrete one."""
    action: ActionKind
    """The kind of the action space."""
    lstm: int = 0
    """Units of the recurrent layer in front; 0: none."""


class Policy:
    """The deterministic part of a policy: what it does on an observation."""

    def __init__(self, shape: Shape, weights: Weights) -> None:
        """Check that the weights fit.

        Raises:
            ValueError: If a weight is missing, too many, of another shape or not finite.
        """
        self.shape = shape
        self.weights = {name: np.asarray(value, np.float32) for name, value in weights.items()}
        wanted = shapes(shape)
        if wanted.keys() != self.weights.keys():
            odd = sorted(wanted.keys() ^ self.weights.keys())
            raise ValueError(f"the weights {', '.join(odd)} are missing or too many")
        for name, value in self.weights.items():
            if value.shape != wanted[name]:
                raise ValueError(f"the weight {name} has the shape {value.shape}, but the network needs {wanted[name]}")
            if not np.isfinite(value).all():
                raise ValueError(f"the weight {name} holds numbers that are not finite")

    def start(self, rows: int) -> tuple[Array, Array]:
        """Return the state with which a recurrent policy begins; shape (rows, units) each."""
        return np.zeros((rows, self.shape.lstm), np.float32), np.zeros((rows, self.shape.lstm), np.float32)

    def act(self, observations: Array, state: tuple[Array, Array] | None = None) -> tuple[Any, tuple[Array, Array]]:
        """Return the actions on observations, and the state that follows.

        Args:
            observations: Shape (rows, features).
            state: Of a recurrent policy; None: it begins.

        Returns:
            Actions, shape (rows, knobs), or (rows,) of a discrete space; and the state.
        """
        x = np.asarray(observations, np.float32)
        state = self.start(len(x)) if state is None else state
        if self.shape.lstm:
            x, state = self._lstm(x, state)
        for i in range(len(self.shape.hidden)):
            x = np.tanh(x @ self.weights[f"hidden.{i}.weight"].T + self.weights[f"hidden.{i}.bias"])
        out = x @ self.weights["action.weight"].T + self.weights["action.bias"]
        if self.shape.action == "box":
            return np.clip(out, -1.0, 1.0), state
        parts = np.split(out, np.cumsum(self.shape.outputs)[:-1], axis=1)
        choices = np.stack([part.argmax(axis=1) for part in parts], axis=1)
        return choices[:, 0] if self.shape.action == "discrete" else choices, state

    def _lstm(self, x: Array, state: tuple[Array, Array]) -> tuple[Array, tuple[Array, Array]]:
        """Advance the recurrent layer by one step (Hochreiter and Schmidhuber 1997, gates in the order i, f, g, o)."""
        hidden, cell = state
        w = self.weights
        gates = x @ w["lstm.input.weight"].T + w["lstm.input.bias"]
        gates += hidden @ w["lstm.hidden.weight"].T + w["lstm.hidden.bias"]
        i, f, g, o = np.split(gates, 4, axis=1)
        cell = _sigmoid(f) * cell + _sigmoid(i) * np.tanh(g)
        hidden = _sigmoid(o) * np.tanh(cell)
        return hidden, (hidden, cell)


def shapes(shape: Shape) -> dict[str, tuple[int, ...]]:
    """Return the shape of each weight of a network."""
    found: dict[str, tuple[int, ...]] = {}
    width = shape.features
    if shape.lstm:
        units = shape.lstm
        found |= {"lstm.input.weight": (4 * units, width), "lstm.input.bias": (4 * units,)}
        found |= {"lstm.hidden.weight": (4 * units, units), "lstm.hidden.bias": (4 * units,)}
        width = units
    for i, units in enumerate(shape.hidden):
        found |= {f"hidden.{i}.weight": (units, width), f"hidden.{i}.bias": (units,)}
        width = units
    return found | {"action.weight": (sum(shape.outputs), width), "action.bias": (sum(shape.outputs),)}


def _sigmoid(x: Array) -> Array:
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * x)), np.float32)
