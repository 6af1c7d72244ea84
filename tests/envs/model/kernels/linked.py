"""Small networks behind signalling links, and a record of every link after every step."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from signalstorm.envs.model.batch import Batch
from signalstorm.envs.model.kernels import layout
from signalstorm.envs.model.parameters import setting_matrix
from signalstorm.envs.model.scenario import Scenario

Floats = npt.NDArray[np.float64]
Fields = Mapping[str, Any]

DT = 0.25
WIDE: Fields = {"rate_per_s": 1e5, "window": 1e6}
"""Links that are never in the way of an ordinary load."""
VAST: Fields = {"rate_per_s": 1e9, "window": 1e9, "queue": 1e9, "start": 1e9}
"""Links that take everybody at once."""


def network(links: Fields, *, load_per_s: float = 0.0, gate: bool = False, **fields: Any) -> Scenario:
    """Ten million subscribers of whom ``load_per_s`` / 4 attach per second, four messages each if all goes well."""
    churn = load_per_s / 4.0 / 1e7
    data = {
        "name": "network",
        "description": "A test.",
        "source": "invented",
        "access": "gprs",
        "stochastic": False,
        "subscribers": [
            {
                "name": "phone",
                "size": 10_000_000,
                "registered_share": 1.0,
                "churn_per_s": churn,
                "ladder": {"kind": "gprs"},
            }
        ],
        "trigger": {"kind": "none", "time_s": 0.0},
        "topology": {"links": links, **({"gate": {}} if gate else {})},
        "horizon_s": 600.0,
        "step_s": DT,
    }
    return Scenario.model_validate({**data, **fields})


class Watch:
    """A batch of which the links are kept after each step; ``rows`` has shape (steps, links, quantities, storms)."""

    def __init__(self, scenario: Scenario, knobs: Fields | None = None, seconds: float | None = None) -> None:
        self.batch = Batch([scenario], [0], setting_matrix([knobs or {}], scenario), check=True)
        steps = self.batch.end if seconds is None else round(seconds / scenario.dt)
        found, counters = [], []
        for _ in range(steps):
            self.batch.run(1)
            found.append(self.batch.links())
            counters.append(self.batch.counters())
        self.rows = np.array(found)
        self.counters = np.array(counters)[:, :, 0]
        assert self.counters[-1, layout.K_ERROR] < 1e-9

    def link(self, row: int, number: int = 0) -> Floats:
        """A quantity of one link after each step."""
        return np.asarray(self.rows[:, number, row, 0])

    def gained(self, row: int) -> Floats:
        """What each link gained in all."""
        return np.asarray(self.rows[-1, :, row, 0])


def waiting(rows: Floats) -> Floats:
    """Messages that wait in each link's queue, its window not counted."""
    return np.asarray(rows[..., layout.L_ADMITTED, :] - rows[..., layout.L_SERVED, :] - rows[..., layout.L_PEER, :])


def event(kind: str, time_s: float, target: str = "stp1/slc1", **fields: Any) -> Fields:
    return {"kind": kind, "target": target, "time_s": time_s, **fields}


def one_link(**fields: Any) -> Fields:
    """One STP with one link."""
    return {"stps": 1, "links_per_stp": 1, **fields}
