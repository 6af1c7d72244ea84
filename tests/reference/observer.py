"""What is counted while a storm runs."""

from collections import Counter

import simpy

HOUR_S = 3600.0
MINUTE_S = 60
EPSILON_S = 1e-9  # a sum of intervals that ends a rounding error before a full second belongs to the next one


class Tally:
    """A count of something, in all and per clock second."""

    def __init__(self, env: simpy.Environment) -> None:
        self._env = env
        self._per_second: Counter[int] = Counter()

    def add(self) -> None:
        self._per_second[int(self._env.now + EPSILON_S)] += 1

    def total(self) -> int:
        return self._per_second.total()

    def peak_per_s(self, horizon_s: float) -> float:
        """The largest count in a clock second; over more than an hour, the largest mean of a clock minute."""
        return self.largest_mean_per_s(MINUTE_S if horizon_s > HOUR_S else 1)

    def largest_mean_per_s(self, width_s: int) -> float:
        """The largest mean over a clock interval of so many seconds."""
        bins: Counter[int] = Counter()
        for second, count in self._per_second.items():
            bins[second // width_s] += count
        return max(bins.values(), default=0) / width_s


class Observer:
    """The counters of one run; `without_service` are not registered now, `curve` is how that went.

    `alarms` is how the number of congested links went.
    """

    def __init__(self, env: simpy.Environment, without_service: int) -> None:
        self._env = env
        self.requests, self.admissions, self.create_sessions = Tally(env), Tally(env), Tally(env)
        self.refused = self.dropped = self.expired = self.lost = 0
        self.refreshes = self.network_detaches = self.subscriber_detaches = 0
        self.successes = self.failures = 0
        self.without_service = without_service
        self.curve: list[tuple[float, int]] = [(0.0, without_service)]
        self.alarms: list[tuple[float, int]] = [(0.0, 0)]
        self.restored = env.event()
        self.noted: Counter[str] = Counter()
        self.peaks: dict[str, float] = {}

    def request(self) -> None:
        """A request arrives before the gate."""
        self.requests.add()

    def admission(self) -> None:
        """A request passes the gate."""
        self.admissions.add()

    def create_session(self) -> None:
        """A create-session request, first or repeated, goes to the gateway."""
        self.create_sessions.add()

    def outcome(self, success: bool) -> None:
        """An admitted request ends."""
        if success:
            self.successes += 1
        else:
            self.failures += 1

    def moved(self, served: bool) -> None:
        """A subscriber gains or loses service."""
        self.without_service += -1 if served else 1
        self.curve.append((self._env.now, self.without_service))
        if self.without_service == 0 and not self.restored.triggered:
            self.restored.succeed()

    def note(self, name: str) -> None:
        """Count something beside the attaches."""
        self.noted[name] += 1

    def peak(self, name: str, level: float) -> None:
        """Keep the largest value of something."""
        self.peaks[name] = max(level, self.peaks.get(name, 0.0))

    def alarmed(self, begins: bool) -> None:
        """A link becomes congested, or is so no longer."""
        self.alarms.append((self._env.now, self.alarms[-1][1] + (1 if begins else -1)))
