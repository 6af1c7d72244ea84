"""The events of a scenario, each called at its time."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from tests.reference.clock import after
from tests.reference.fields import Fields, value
from tests.reference.handset import Handset
from tests.reference.links import Link
from tests.reference.population import EVERY_CLASS
from tests.reference.server import Server
from tests.reference.signalling import chosen

if TYPE_CHECKING:
    from tests.reference.network import Network


class Timeline:
    """What the world does to a network while the storm runs; `refresh` takes those who refresh their location."""

    def __init__(self, network: "Network", refresh: Callable[[Handset], None]) -> None:
        self._network, self._refresh = network, refresh
        self._env, self._servers, self._population = network.env, network.servers, network.population
        self._nodes = network.nodes()
        self._asked: list[Fields] = []
        self._calm_per_s = network.unknown.at(network.env.now)

    def schedule(self, events: Sequence[Fields]) -> None:
        """Arm every event; an unknown kind is an error now, not later."""
        kinds = {
            "capacity": self._capacity,
            "latency": self._latency,
            "other_load": self._other_load,
            "mass_detach": self._mass_detach,
            "message_burst": self._message_burst,
            "hlr_reset": self._hlr_reset,
            "activity": lambda event: None,  # the profile knows it beforehand
            "link_reset": self._link_reset,
            "link_up": self._link_reset,
            "link_down": self._link_down,
            "peer_burst": self._peer_burst,
            "gateway_flush": self._mass_detach,
            "user_plane_loss": self._mass_detach,
            "redirect": self._redirect,
            "stall": self._stall,
            "release": self._serve_again,
            "node_loss": self._node_loss,
            "node_restart": self._node_restart,
            "hold": self._hold,
            "staged_release": self._release,
            "unknown_burst": self._unknown,
            "ddn_surge": self._ddn_surge,
            "imsimgr_reboot": self._reboot,
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
        if self._network.signalling is None:
            raise ValueError(f"there are no links, but got {dict(event)}")
        return chosen(self._network.signalling, event["target"])

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
        spread_s, flush_s = value(event, "spread_s", 0.0), value(event, "flush_s", 0.0)
        self._population.detach(target, value(event, "share", 1.0), spread_s, flush_s)

    def _message_burst(self, event: Fields) -> None:
        self._servers[event["target"]].load(round(event["count"]))

    def _peer_burst(self, event: Fields) -> None:
        agent = self._network.agent
        if agent is None:
            raise ValueError(f"there is no agent, but got {dict(event)}")
        agent.burst(event["message"], event["target"], round(event["count"]), value(event, "spread_s", 0.0))

    def _redirect(self, event: Fields) -> None:
        target = value(event, "target", EVERY_CLASS)
        self._population.redirect(target, value(event, "share", 1.0), value(event, "spread_s", 0.0))

    def _stall(self, event: Fields) -> None:
        server = self._servers[event["target"]]
        server.stalled_until_s = max(server.stalled_until_s, value(event, "until_s", math.inf))

    def _serve_again(self, event: Fields) -> None:
        self._servers[event["target"]].stalled_until_s = self._env.now

    def _node_loss(self, event: Fields) -> None:
        spread_s, removed = value(event, "spread_s", 10.0), value(event, "load_removed", False)
        self._nodes.lose(event["target"], value(event, "nodes", 1), spread_s, removed)

    def _node_restart(self, event: Fields) -> None:
        self._nodes.restart(event["target"], value(event, "nodes", 1), value(event, "spread_s", 10.0))

    def _hold(self, event: Fields) -> None:
        self._network.barring.bar(value(event, "share", 1.0))

    def _release(self, event: Fields) -> None:
        stages = self._network.release_stages
        self._network.barring.release(stages, value(event, "stage_s", 60.0), value(event, "spread_s", 60.0))

    def _unknown(self, event: Fields) -> None:
        """Of those that go on the one that began last says the rate; when none does, it is the scenario's own."""
        self._asked.append(event)
        self._ask()
        if event.get("until_s") is not None:
            after(self._env, event["until_s"] - self._env.now, self._ask)

    def _ask(self) -> None:
        now_s = self._env.now
        going = [event for event in self._asked if value(event, "until_s", math.inf) > now_s + 1e-9]
        self._network.unknown.aim(going[-1]["value_per_s"] if going else self._calm_per_s, now_s, now_s)

    def _ddn_surge(self, event: Fields) -> None:
        notifications = self._network.notifications
        if notifications is None:
            raise ValueError(f"there are no notifications, but got {dict(event)}")
        notifications.surge(round(event["count"]), value(event, "spread_s", 0.0))

    def _reboot(self, event: Fields) -> None:
        if self._network.imsimgr is not None:
            self._network.imsimgr.reboot()
