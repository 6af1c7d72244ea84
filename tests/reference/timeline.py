"""The events of a scenario, each called at its time."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import simpy

from tests.reference.clock import after
from tests.reference.fields import Fields, value
from tests.reference.handset import Handset
from tests.reference.links import Link, Signalling
from tests.reference.population import EVERY_CLASS, Population
from tests.reference.server import Server
from tests.reference.signalling import chosen


class Timeline:
    """What the world does to the network while the storm runs."""

    def __init__(
        self,
        env: simpy.Environment,
        servers: Mapping[str, Server],
        population: Population,
        refresh: Callable[[Handset], None],
        signalling: Signalling | None,
    ) -> None:
        self._env, self._servers, self._population = env, servers, population
        self._refresh, self._signalling = refresh, signalling

    def schedule(self, events: Sequence[Fields]) -> None:
        """Arm every event; an unknown kind is an error now, not later."""
        kinds = {
            "capacity": self._capacity,
            "latency": self._latency,
            "other_load": self._other_load,
            "mass_detach": self._mass_detach,
            "message_burst": self._message_burst,
            "hlr_reset": self._hlr_reset,
            "link_reset": self._link_reset,
            "link_up": self._link_reset,
            "link_down": self._link_down,
        }
        for event in events:
            after(self._env, event["time_s"], partial(kinds[event["kind"]], event))

    def _capacity(self, event: Fields) -> None:
        for server in self._targets(event):
            if server.rate is None:
                raise ValueError(f"only a server with a rate changes it, but got {dict(event)}")
            server.rate.aim(event["value"], self._env.now, value(event, "until_s", self._env.now))

    def _targets(self, event: Fields) -> list[Server]:
        if event["target"] in self._servers:
            return [self._servers[event["target"]]]
        return [link.stp for link in self._links(event)]

    def _links(self, event: Fields) -> list[Link]:
        if self._signalling is None:
            raise ValueError(f"there are no links, but got {dict(event)}")
        return chosen(self._signalling, event["target"])

    def _link_reset(self, event: Fields) -> None:
        for link in self._links(event):
            link.reset()

    def _link_down(self, event: Fields) -> None:
        for link in self._links(event):
            link.fall(value(event, "noticed", True))

    def _hlr_reset(self, event: Fields) -> None:
        self._population.forget(value(event, "share", 1.0), self._refresh)

    def _latency(self, event: Fields) -> None:
        self._servers[event["target"]].latency_s = event["value_s"]

    def _other_load(self, event: Fields) -> None:
        self._servers[event["target"]].other_load.aim(event["value_per_s"], self._env.now, self._env.now)

    def _mass_detach(self, event: Fields) -> None:
        target = value(event, "target", EVERY_CLASS)
        self._population.detach(target, value(event, "share", 1.0), value(event, "spread_s", 0.0))

    def _message_burst(self, event: Fields) -> None:
        self._servers[event["target"]].load(round(event["count"]))
