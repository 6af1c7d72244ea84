"""What an agent sees: an operator's counters and knobs as numbers between 0 and 1, on fixed scales.

Nothing is normalised by what was seen before, so a policy means the same wherever it is loaded. Rates and numbers of
messages go through a fourth root, which spreads four decades like a logarithm but is exact on every machine, so that a
row of a batch is the same as a single environment, bit for bit.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from signalstorm.envs.model import glance
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.observation import (
    ACCEPTS,
    ADMITTED,
    FAILURES,
    REQUESTS,
    Quantity,
    received,
    sent,
)

Floats = npt.NDArray[np.float64]

_EVERYBODY_S = 60.0
"""A rate of 1 is that at which all subscribers attach within so long [s]."""
_TRENDS = (5.0, 20.0)
"""Intervals over which completions are averaged for comparison."""
_SPANS = np.array(_TRENDS)


class Feature(NamedTuple):
    """One number of an observation."""

    name: str
    """What it is."""
    scale: str
    """How it is scaled to 0 to 1."""


@dataclass
class _Memory:
    """What the averages have seen, per row."""

    averages: Floats
    """Shape (trends, rows)."""
    counts: Floats
    """Intervals seen, shape (rows,)."""


class Features:
    """Works out observations of all rows of a batch."""

    def __init__(self, quantities: Sequence[Quantity], scenario: Scenario, knobs: tuple[str, ...], rows: int) -> None:
        """Choose what is seen.

        Args:
            quantities: What an operator sees.
            scenario: The nominal scenario; its population sets the scale of rates.
            knobs: The knobs whose places are seen.
            rows: Storms at a time.
        """
        self._shown = [quantity for quantity in quantities if _is_total(quantity)]
        self._knobs = knobs
        population = float(sum(group.size for group in scenario.subscribers))
        links = scenario.topology.links
        count = float(links.stps * links.links_per_stp) if links is not None else 1.0
        self._per_unit = np.array([1.0 / _full(quantity, population, count) for quantity in self._shown])
        self._rooted = np.array([_is_rooted(quantity) for quantity in self._shown])
        numbers = {quantity.name: number for number, quantity in enumerate(quantities)}
        self._names = tuple(numbers)
        self._numbers = np.array([numbers[quantity.name] for quantity in self._shown], np.int64)
        self._links = links is not None
        shares = [(ACCEPTS, ADMITTED), (ADMITTED, REQUESTS), (FAILURES, FAILURES, ACCEPTS)]
        shares += [(received(), sent())] if self._links else []
        of = [[numbers[name] for name in names] for names in shares]
        self._shares = np.array([(*found, -1)[:3] for found in of], np.int64)
        self._accepts = numbers[ACCEPTS]
        self._memory = _Memory(np.zeros((len(_TRENDS), rows)), np.zeros(rows))
        self.list = self._list()

    def _list(self) -> tuple[Feature, ...]:
        found = [Feature(q.name, _scale_in_words(q)) for q in self._shown]
        found += [
            Feature("completed of those admitted", "share"),
            Feature("admitted of those that asked", "share"),
            Feature("failed of those that ended", "share"),
        ]
        if self._links:
            found.append(Feature("answers of messages sent", "share"))
        found += [Feature(f"completed against the mean of {n:.0f} intervals", "r / (r + mean)") for n in _TRENDS]
        return (*found, *(Feature(f"knob {name}", "place in its range, on its scale") for name in self._knobs))

    def forget(self, rows: npt.NDArray[np.intp]) -> None:
        """Start some rows anew, for another storm has taken their place."""
        self._memory.averages[:, rows] = 0.0
        self._memory.counts[rows] = 0.0

    def see(self, values: Mapping[str, Floats]) -> npt.NDArray[np.float32]:
        """Return what an interval showed, knobs left out; shape (rows, features less knobs).

        Args:
            values: The reading of the interval by quantity, each of shape (rows,).
        """
        return self.see_table(np.array([values[name] for name in self._names]))

    def see_table(self, table: Floats) -> npt.NDArray[np.float32]:
        """Return the same for a reading in numbers alone; shape (quantities, rows)."""
        out = np.empty((table.shape[1], len(self.list) - len(self._knobs)), np.float32)
        memory = self._memory
        glance.scale(
            table, self._numbers, self._per_unit, self._rooted, self._shares, self._accepts, _SPANS,
            memory.averages, memory.counts, out,
        )  # fmt: skip
        return out


def _is_total(quantity: Quantity) -> bool:
    """Whether a quantity belongs to the network as a whole: single links are left out, their sum is seen."""
    return "/" not in quantity.name


def _is_rooted(quantity: Quantity) -> bool:
    return quantity.is_rate or quantity.unit in ("messages", "requests", "transactions")


def _full(quantity: Quantity, population: float, links: float) -> float:
    """Return the value of a quantity that counts as 1."""
    if quantity.is_rate:
        return population / _EVERYBODY_S
    fixed = {"share": 1.0, "on": 1.0, "alarm": 1.0, "%": 100.0, "0 to 2": 2.0, "links": links}
    return fixed.get(quantity.unit, population)


def _scale_in_words(quantity: Quantity) -> str:
    if quantity.is_rate:
        return f"fourth root; 1: all subscribers within {_EVERYBODY_S:.0f} s"
    if _is_rooted(quantity):
        return "fourth root; 1: one per subscriber"
    return {"links": "share of the links", "subscribers": "share of the subscribers"}.get(quantity.unit, "share")
