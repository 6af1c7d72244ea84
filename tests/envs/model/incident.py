"""Storms of `incident-2014` and its relatives, and the figures in which the incident was published."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from signalstorm.envs.model.batch import Batch
from signalstorm.envs.model.kernels import layout
from signalstorm.envs.model.parameters import setting_matrix
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.model.scenario_file import load

Floats = npt.NDArray[np.float64]

MARK_S = 300
"""Counters are kept every five minutes, so that the published hours and half-hours begin and end on one."""
STP = 4
"""Links of an STP; those of STP-2 are the second four."""


def variant(name: str, *, events: Sequence[Mapping[str, Any]] | None = None, **fields: Any) -> Scenario:
    """A packaged scenario with other fields (dots as double underscores), and events added, or none at all."""
    scenario = load(name).with_fields({path.replace("__", "."): value for path, value in fields.items()})
    data = scenario.model_dump(mode="json")
    timeline = [] if events is None else [*data["timeline"], *events]
    return Scenario.model_validate({**data, "timeline": timeline})


class Story:
    """Some storms from beginning to end; times of day as HH:MM, figures of shape (storms,)."""

    def __init__(self, scenario: Scenario, seeds: int, knobs: Mapping[str, Any] | None = None) -> None:
        self.scenario, self.seeds = scenario, seeds
        self.batch = Batch([scenario] * seeds, range(seeds), setting_matrix([knobs or {}], scenario))
        hours, minutes = (scenario.clock_start or "00:00").split(":")
        self._start = 3600 * int(hours) + 60 * int(minutes)
        self._counters = [self.batch.counters()]
        self._links = [self.batch.links()]
        while self.batch.step < self.batch.end:
            self.batch.run(round(MARK_S / scenario.dt))
            self._counters.append(self.batch.counters())
            self._links.append(self.batch.links())

    def seconds(self, clock: str) -> float:
        """A time of day from the scenario's start."""
        hours, minutes = clock.split(":")
        return float(3600 * int(hours) + 60 * int(minutes) - self._start)

    def _between(self, since: str, until: str) -> tuple[int, int]:
        return round(self.seconds(since) / MARK_S), round(self.seconds(until) / MARK_S)

    def gained(self, row: int, since: str, until: str) -> Floats:
        """What a counter gained."""
        first, last = self._between(since, until)
        return np.asarray(self._counters[last][row] - self._counters[first][row])

    def attempts_per_s(self, since: str, until: str) -> Floats:
        return self.gained(layout.K_ATTEMPTS, since, until) / (self.seconds(until) - self.seconds(since))

    def links(self, row: int, since: str, until: str) -> Floats:
        """What a quantity of STP-2's links gained; shape (links, storms)."""
        first, last = self._between(since, until)
        return np.asarray(self._links[last][STP:, row] - self._links[first][STP:, row])

    def congested_share(self, since: str, until: str) -> Floats:
        """Share of the time for which STP-2's links were congested; shape (links, storms)."""
        steps = (self.seconds(until) - self.seconds(since)) / self.scenario.dt
        return self.links(layout.L_SUM_CONGESTED, since, until) / steps

    def first_alarm_s(self) -> Floats:
        """First congestion of a link, NaN without one."""
        return self._first(lambda element: element < layout.ALARM_IMSIMGR)

    def first_alarm_is_on_stp2(self) -> list[bool]:
        return [log[0][1] >= STP for log in self.batch.alarms()]

    def warn_s(self) -> Floats:
        """First warning of the IMSI manager, NaN without one."""
        return self._first(lambda element: element == layout.ALARM_IMSIMGR)

    def _first(self, wanted: Any) -> Floats:
        return np.array(
            [next((t for t, element, up in log if up and wanted(element)), np.nan) for log in self.batch.alarms()]
        )

    def over_s(self) -> Floats:
        """When the storm was over, NaN while it is not."""
        steps = self.batch.counters()[layout.K_T]
        return np.where(steps < 0, np.nan, steps * self.scenario.dt)

    def stormed(self) -> npt.NDArray[np.bool_]:
        return np.asarray(self.batch.counters()[layout.K_STORMED] > 0)

    def lost_hours(self) -> Floats:
        """Subscriber-hours without service."""
        return np.asarray(self.batch.counters()[layout.K_LOST] * self.scenario.dt / 3600.0)

    def amplification(self) -> Floats:
        """Largest hourly attach rate within three hours of the alarm over the calm one.

        Both classes have one ladder and nearly one rate of churn, so this is the 2G class's factor too.
        """
        hours = [("08:00", "09:00"), ("09:00", "10:00"), ("10:00", "11:00")]
        largest = np.max([self.attempts_per_s(*hour) for hour in hours], axis=0)
        return np.asarray(largest / self.attempts_per_s("07:00", "08:00"))

    def survivor(self, since: str, until: str) -> tuple[Floats, Floats]:
        """The busiest link of STP-2: its share of the requests, and its answers per request."""
        sent, received = (self.links(row, since, until) for row in (layout.L_SUM_TX, layout.L_SUM_RX))
        busiest = sent.argmax(axis=0)
        storms = np.arange(self.seeds)
        return sent[busiest, storms] / sent.sum(axis=0), received[busiest, storms] / sent[busiest, storms]

    def answers_per_request(self, since: str, until: str) -> Floats:
        sent, received = (self.links(row, since, until) for row in (layout.L_SUM_TX, layout.L_SUM_RX))
        return np.asarray(received.sum(axis=0) / sent.sum(axis=0))
