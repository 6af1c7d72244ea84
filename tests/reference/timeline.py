"""The events of a scenario, each called at its time."""

from collections.abc import Mapping, Sequence
from functools import partial

import simpy

from tests.reference.clock import after
from tests.reference.fields import Fields, value
from tests.reference.population import EVERY_CLASS, Population
from tests.reference.server import Server


class Timeline:
    """What the world does to the network while the storm runs."""

    def __init__(self, env: simpy.Environment, servers: Mapping[str, Server], population: Population) -> None:
        self._env, self._servers, self._population = env, servers, population

    def schedule(self, events: Sequence[Fields]) -> None:
        """Arm every event; an unknown kind is an error now, not later."""
        kinds = {
            "capacity": self._capacity,
            "latency": self._latency,
            "other_load": self._other_load,
            "mass_detach": self._mass_detach,
            "message_burst": self._message_burst,
        }
        for event in events:
            after(self._env, event["time_s"], partial(kinds[event["kind"]], event))

    def _capacity(self, event: Fields) -> None:
        rate = self._servers[event["target"]].rate
        if rate is None:
            raise ValueError(f"only a server with a rate changes it, but got {dict(event)}")
        rate.aim(event["value"], self._env.now, value(event, "until_s", self._env.now))

    def _latency(self, event: Fields) -> None:
        self._servers[event["target"]].latency_s = event["value_s"]

    def _other_load(self, event: Fields) -> None:
        self._servers[event["target"]].other_load.aim(event["value_per_s"], self._env.now, self._env.now)

    def _mass_detach(self, event: Fields) -> None:
        target = value(event, "target", EVERY_CLASS)
        self._population.detach(target, value(event, "share", 1.0), value(event, "spread_s", 0.0))

    def _message_burst(self, event: Fields) -> None:
        self._servers[event["target"]].load(round(event["count"]))
