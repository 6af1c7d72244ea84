"""The plant of a control law: one knob that lets requests through, and what an operator sees around it.

A law knows rates of requests and signs of overload; which counter, alarm or queue these are, and how a rate becomes the
value of a knob, is the plant's affair. So one law serves the gate of an SGSN, that of an MME, and the Diameter agent.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from signalstorm.envs.model.knob_table import KNOBS, OFF, KnobValue
from signalstorm.envs.model.procedures import PROCEDURES
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.observation import (
    ACCEPTS,
    ADMITTED,
    CONGESTED,
    DATABASE_CPU,
    DDN_DROPPED,
    DDN_SENT,
    FAILURES,
    IMSIMGR_CPU,
    MME_CPU,
    REQUESTS,
    THROTTLE,
    answers,
    failed,
    offered,
    passed,
    pending,
    queued,
    sent,
)

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

LONGEST_S = 60.0
"""A queue that takes nothing reads as this delay; longer ones mean nothing to a handset [s]."""
LEAST = 1e-9


@dataclass(frozen=True)
class View:
    """What a law sees of one interval; one number per storm, NaN where nobody can see it."""

    interval_s: float
    """Length of the interval [s]."""
    rate: Floats
    """What the knob lets through at most; infinite where it is off [1/s]."""
    offered: Floats
    """Requests before the knob [1/s]."""
    admitted: Floats
    """Requests behind it [1/s]."""
    completed: Floats
    """Those that got what they asked for [1/s]."""
    failed_share: Floats
    """Share of the decided requests behind the knob that failed [share]."""
    alarms: Floats
    """Congestion alarms that are up [alarms]."""
    delay_s: Floats
    """Longest queue behind the knob over what it is served at, at most `LONGEST_S` [s]."""
    utilisation: Floats
    """Of the busiest element whose load is displayed, 1: all of it [share]."""
    left: Floats | float = 1.0
    """What the equipment's own throttle leaves of the knob's value [share]."""


class Plant(Protocol):
    """A knob and what is seen around it."""

    @property
    def knob(self) -> str:
        """The knob."""
        ...

    @property
    def is_rate(self) -> bool:
        """Whether laws that set a rate of requests can steer it."""
        ...

    def view(self, values: Mapping[str, Floats], setting: Floats, interval_s: float) -> View:
        """Return what a law sees.

        Args:
            values: What an operator saw of the interval, by name, each of shape (rows,).
            setting: The knob's value in force, infinite where it is off, shape (rows,).
            interval_s: Length of the interval [s].
        """
        ...

    def value(self, rate: Floats, view: View) -> Floats:
        """Return the knob's value, not yet rounded, that lets a rate through, shape (rows,)."""
        ...


@dataclass(frozen=True)
class Gate:
    """Network overload protection of an SGSN or an MME: `nop_rate`."""

    links: int = 0
    """Signalling links behind it; 0: servers."""
    link_rate_per_s: float = 0.0
    """What a link is said to carry, for the display of its load [messages/s]."""
    servers: tuple[str, ...] = ()
    """Servers behind it that have a queue."""
    knob: str = "nop_rate"
    is_rate: bool = True

    def view(self, values: Mapping[str, Floats], setting: Floats, interval_s: float) -> View:
        """See `Plant.view`."""
        completed = _known(values, ACCEPTS, setting)
        admitted = values.get(ADMITTED, completed)
        failures = values.get(FAILURES, np.maximum(admitted - completed, 0.0))
        return View(
            interval_s,
            setting,
            _known(values, REQUESTS, setting),
            admitted,
            completed,
            failures / np.maximum(completed + failures, LEAST),
            values.get(CONGESTED, np.zeros_like(setting)),
            self._delay_s(values, setting),
            self._utilisation(values, setting),
        )

    def value(self, rate: Floats, view: View) -> Floats:
        """See `Plant.value`."""
        return rate

    def _delay_s(self, values: Mapping[str, Floats], like: Floats) -> Floats:
        if self.links and queued() in values:
            return _delay(values[queued()], values[sent()])
        return _longest(values, self.servers, like)

    def _utilisation(self, values: Mapping[str, Floats], like: Floats) -> Floats:
        shown = [values[name] for name in (IMSIMGR_CPU, MME_CPU, DATABASE_CPU) if name in values]
        if self.links and sent() in values:
            shown.append(values[sent()] / (self.links * self.link_rate_per_s))
        return np.maximum.reduce(shown) if shown else np.full_like(like, np.nan)


@dataclass(frozen=True)
class AgentLimit:
    """The Diameter agent's limit for the CCR-I of each peer: `dra_ccr_i_limit_per_s`.

    The agent lowers it by its own throttle, which it displays; a law's rate is what is left.
    """

    servers: tuple[str, ...] = ("pcrf", "database")
    """Servers behind it that have a queue."""
    knob: str = "dra_ccr_i_limit_per_s"
    is_rate: bool = True

    def view(self, values: Mapping[str, Floats], setting: Floats, interval_s: float) -> View:
        """See `Plant.view`."""
        completed = _known(values, ACCEPTS, setting)
        lost = np.sum([values[failed(name)] for name in self.servers if failed(name) in values], axis=0)
        left = 1.0 - 0.01 * values.get(THROTTLE, np.zeros_like(setting))
        return View(
            interval_s,
            setting * left,
            _known(values, offered("ccr_i"), setting),
            values.get(passed("ccr_i"), completed),
            completed,
            lost / np.maximum(completed + lost, LEAST),
            np.zeros_like(setting),
            _longest(values, self.servers, setting),
            _known(values, DATABASE_CPU, setting),
            left,
        )

    def value(self, rate: Floats, view: View) -> Floats:
        """See `Plant.value`."""
        return np.asarray(rate / np.maximum(view.left, LEAST))


@dataclass(frozen=True)
class NotificationFactor:
    """The share of low-priority notifications that the SGW drops: `ddn_factor_percent`.

    A law's rate is that of notifications sent; the share that does it is the one of all notifications, so where only a
    part of them is of low priority it takes a few intervals to get there. Nobody sees whether a page came in time; it
    shares the MME's queue with attaches, so their share of success stands for it.
    """

    servers: tuple[str, ...] = ("mme",)
    """Servers behind it that have a queue."""
    knob: str = "ddn_factor_percent"
    is_rate: bool = True

    def view(self, values: Mapping[str, Floats], setting: Floats, interval_s: float) -> View:
        """See `Plant.view`."""
        through = _known(values, DDN_SENT, setting)
        all_of_them = through + values.get(DDN_DROPPED, np.zeros_like(setting))
        completed = _known(values, ACCEPTS, setting)
        failures = values.get(FAILURES, np.zeros_like(setting))
        return View(
            interval_s,
            all_of_them * (1.0 - 0.01 * setting),
            all_of_them,
            through,
            through * completed / np.maximum(completed + failures, LEAST),
            failures / np.maximum(completed + failures, LEAST),
            np.zeros_like(setting),
            _longest(values, self.servers, setting),
            _known(values, MME_CPU, setting),
        )

    def value(self, rate: Floats, view: View) -> Floats:
        """See `Plant.value`."""
        return np.asarray(100.0 * (1.0 - rate / np.maximum(view.offered, LEAST)))


@dataclass(frozen=True)
class BroadcastThreshold:
    """The CPU from which an IMSI manager does not broadcast, `broadcast_off_percent`; no requests go through it."""

    knob: str = "broadcast_off_percent"
    is_rate: bool = False

    def view(self, values: Mapping[str, Floats], setting: Floats, interval_s: float) -> View:
        """See `Plant.view`."""
        nothing = np.full_like(setting, np.nan)
        completed, failures = _known(values, ACCEPTS, setting), values.get(FAILURES, np.zeros_like(setting))
        return View(
            interval_s, nothing, _known(values, REQUESTS, setting), values.get(ADMITTED, completed), completed,
            failures / np.maximum(completed + failures, LEAST), np.zeros_like(setting), nothing,
            _known(values, IMSIMGR_CPU, setting),
        )  # fmt: skip

    def value(self, rate: Floats, view: View) -> Floats:
        """See `Plant.value`; there is none."""
        return np.full_like(rate, np.nan)


def plant_of(scenario: Scenario) -> Plant:
    """Return the plant of a scenario: that of the first fast knob of its loop, or its gate."""
    knob = scenario.loop.fast[0] if scenario.loop else "nop_rate"
    topology = scenario.topology
    servers = tuple(name for name, server in topology.servers().items() if server.rate_per_s is not None)
    if knob == "dra_ccr_i_limit_per_s":
        return AgentLimit(tuple(name for name in ("pcrf", "database") if name in servers))
    if knob == "ddn_factor_percent":
        return NotificationFactor()
    if knob == "broadcast_off_percent":
        return BroadcastThreshold()
    links = topology.links
    if links is None:
        return Gate(servers=servers)
    return Gate(links.stps * links.links_per_stp, links.rate_per_s)


def messages_per_attach(scenario: Scenario, element: str) -> int:
    """Return the messages that an attach sends to an element."""
    return sum(step.element == element for step in PROCEDURES[scenario.access])


def as_number(knob: str, value: KnobValue | None) -> float:
    """Return a knob's value as a number: off is infinite."""
    found = KNOBS[knob].default if value is None else value
    return float("inf") if found is None or found == OFF or isinstance(found, str) else float(found)


def _known(values: Mapping[str, Floats], name: str, like: Floats) -> Floats:
    return values[name] if name in values else np.full_like(like, np.nan)


def _delay(waiting: Floats, served: Floats) -> Floats:
    return np.asarray(np.minimum(waiting / np.maximum(served, LEAST), LONGEST_S))


def _longest(values: Mapping[str, Floats], servers: tuple[str, ...], like: Floats) -> Floats:
    """Return the longest delay of some servers, NaN where none is seen."""
    found = [_delay(values[pending(n)], values[answers(n)]) for n in servers if pending(n) in values]
    return np.maximum.reduce(found) if found else np.full_like(like, np.nan)
