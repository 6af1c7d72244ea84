"""A handset and what it does after each outcome of a request."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, Protocol

import numpy as np
import simpy

from tests.reference.clock import after

Span = tuple[float, float]

T3410_S: Span = (15.0, 15.0)  # TS 24.301 table 10.2.1: attach request without an answer
T3411_S: Span = (10.0, 10.0)  # TS 24.301 table 10.2.1: from a failed attempt to the next one
T3402_S: Span = (720.0, 720.0)  # TS 24.301 table 10.2.1: after the last failed attempt
T3310_S: Span = (15.0, 15.0)  # TS 24.008 table 11.3a: attach request without an answer
T3311_S: Span = (15.0, 15.0)  # TS 24.008 table 11.3a: from a failed attempt to the next one
T3302_S: Span = (720.0, 720.0)  # TS 24.008 table 11.3a: after the last failed attempt
SENDS = 5  # TS 24.008 4.7.3.1.5 c: the fifth expiry of T3310 aborts
ATTEMPT_LIMIT = 5  # TS 24.301 5.5.1.2.6, TS 24.008 4.7.3.1.5


class Next(NamedTuple):
    """The next request: its delay [s], its place on the ladder, and whether the long timer is what it waits for."""

    delay_s: float
    attempt: int
    long: bool = False


class Ladder(Protocol):
    """The timers of a kind of handset. A place on it is a number from 1, where every handset begins."""

    def response_s(self, rng: np.random.Generator) -> float:
        """The response timer of a request that is sent now."""

    def patience_s(self, attempt: int, response_s: float) -> float:
        """How long after this request an accept is of use."""

    def after_refusal(self, attempt: int, rng: np.random.Generator) -> Next:
        """The next request; its delay counts from the refusal."""

    def after_silence(self, attempt: int, response_s: float, rng: np.random.Generator) -> Next:
        """The next request; its delay counts from the unanswered one."""

    def after_all_patience(self, attempt: int, response_s: float, rng: np.random.Generator) -> Next:
        """The next request once patience has run out, too; its delay counts from the unanswered one."""


class EpsLadder:
    """TS 24.301 5.5.1.2.6: some attempts, a long pause, then attempt 1 again. Timers [s] are `(lo, hi)`."""

    def __init__(
        self,
        t3410_s: Span = T3410_S,
        t3411_s: Span = T3411_S,
        t3402_s: Span = T3402_S,
        attempt_limit: int = ATTEMPT_LIMIT,
    ) -> None:
        self._t3410_s, self._t3411_s, self._t3402_s = t3410_s, t3411_s, t3402_s
        self._attempt_limit = attempt_limit

    def response_s(self, rng: np.random.Generator) -> float:
        return rng.uniform(*self._t3410_s)

    def patience_s(self, attempt: int, response_s: float) -> float:
        return response_s

    def after_refusal(self, attempt: int, rng: np.random.Generator) -> Next:
        if attempt < self._attempt_limit:
            return Next(rng.uniform(*self._t3411_s), attempt + 1)
        return Next(rng.uniform(*self._t3402_s), 1, long=True)

    def after_silence(self, attempt: int, response_s: float, rng: np.random.Generator) -> Next:
        pause_s, following, long = self.after_refusal(attempt, rng)
        return Next(response_s + pause_s, following, long)

    def after_all_patience(self, attempt: int, response_s: float, rng: np.random.Generator) -> Next:
        return self.after_silence(attempt, response_s, rng)


class GprsLadder:
    """TS 24.008 4.7.3.1: several requests make an attempt, some attempts a round. Timers [s] are `(lo, hi)`.

    A place counts requests: with five sends an attempt, 1 to 5 are the first attempt's and 6 begins the second.
    A request is sent again within the attempt (4.7.3.1.5 c), so an accept helps until the attempt is aborted.
    """

    def __init__(
        self,
        t3310_s: Span = T3310_S,
        t3311_s: Span = T3311_S,
        t3302_s: Span = T3302_S,
        attempt_limit: int = ATTEMPT_LIMIT,
        sends: int = SENDS,
    ) -> None:
        self._t3310_s, self._t3311_s, self._t3302_s = t3310_s, t3311_s, t3302_s
        self._attempt_limit, self._sends = attempt_limit, sends

    def response_s(self, rng: np.random.Generator) -> float:
        return rng.uniform(*self._t3310_s)

    def patience_s(self, attempt: int, response_s: float) -> float:
        return ((-attempt) % self._sends + 1) * response_s

    def after_refusal(self, attempt: int, rng: np.random.Generator) -> Next:
        """A refusal ends the attempt, however many requests it has had."""
        ended = (attempt - 1) // self._sends + 1
        if ended < self._attempt_limit:
            return Next(rng.uniform(*self._t3311_s), ended * self._sends + 1)
        return Next(rng.uniform(*self._t3302_s), 1, long=True)

    def after_silence(self, attempt: int, response_s: float, rng: np.random.Generator) -> Next:
        if attempt % self._sends:
            return Next(response_s, attempt + 1)
        return self.after_all_patience(attempt, response_s, rng)

    def after_all_patience(self, attempt: int, response_s: float, rng: np.random.Generator) -> Next:
        pause_s, following, long = self.after_refusal(attempt, rng)
        return Next(self.patience_s(attempt, response_s) + pause_s, following, long)


class LaboratoryLadder:
    """Simulated handsets: two delays and no limit. The delay after silence is also the patience."""

    def __init__(self, retry_refused_s: Span, retry_silent_s: Span) -> None:
        self._refused, self._silent = retry_refused_s, retry_silent_s

    def response_s(self, rng: np.random.Generator) -> float:
        return rng.uniform(*self._silent)

    def patience_s(self, attempt: int, response_s: float) -> float:
        return response_s

    def after_refusal(self, attempt: int, rng: np.random.Generator) -> Next:
        return Next(rng.uniform(*self._refused), attempt)

    def after_silence(self, attempt: int, response_s: float, rng: np.random.Generator) -> Next:
        return Next(response_s, attempt)

    def after_all_patience(self, attempt: int, response_s: float, rng: np.random.Generator) -> Next:
        return self.after_silence(attempt, response_s, rng)


@dataclass(frozen=True)
class Habits:
    """What else a handset and its user do: times [s] are `(lo, hi)`.

    `honours_back_off`: obeys T3346. `power_cycles`: the user, left to the long timer, switches off and on
    `power_cycle_s` after the last attempt. `reattach_s`: within this time it is back after a detach by
    the network. `priority`: passes beside the gate and is never barred. `broken`: is always refused in the end.
    """

    honours_back_off: bool = False
    power_cycles: bool = False
    power_cycle_s: Span = (60.0, 300.0)
    reattach_s: float = 10.0
    priority: bool = False
    broken: bool = False


class State(Enum):
    """Where a subscriber is; always exactly one of these. Registered and refreshing ones have service."""

    IDLE = "idle"
    WAITING = "waiting"
    IN_PROCEDURE = "in procedure"
    REGISTERED = "registered"
    REFRESHING = "refreshing"
    HELD = "held"


class Handset:
    """One subscriber. `request` takes its attach requests, `moved` hears when service comes or goes.

    `flagged`: the HLR has forgotten where it is, so that it refreshes its location when it becomes active.
    """

    __slots__ = (
        "_env",
        "_habits",
        "_ladder",
        "_moved",
        "_request",
        "_response_s",
        "_rng",
        "_sent_s",
        "attempt",
        "flagged",
        "state",
    )

    def __init__(
        self,
        env: simpy.Environment,
        rng: np.random.Generator,
        ladder: Ladder,
        habits: Habits,
        request: Callable[["Handset"], None],
        moved: Callable[[bool], None],
    ) -> None:
        self._env, self._rng, self._ladder, self._habits = env, rng, ladder, habits
        self._request, self._moved = request, moved
        self._sent_s = self._response_s = 0.0
        self.attempt = 1
        self.flagged = False
        self.state = State.IDLE

    @property
    def priority(self) -> bool:
        return self._habits.priority

    @property
    def broken(self) -> bool:
        return self._habits.broken

    def lose_service(self, delay_s: float | None = 0.0) -> None:
        """A registered handset starts again from its first attempt, at once or after a delay; None: it is held."""
        self.flagged = False
        self._moved(False)
        if delay_s is None:
            self.hold()
        else:
            self._send_in(delay_s, 1)

    def hold(self) -> None:
        """It is kept from sending."""
        self.state = State.HELD

    def release(self, delay_s: float) -> None:
        """A held or idle one makes a first attempt after a delay."""
        self._send_in(delay_s, 1)

    def detached(self) -> None:
        """The network detaches it, with the wish to attach again."""
        self.lose_service(self._rng.uniform(0.0, self._habits.reattach_s))

    def send(self) -> None:
        """Send the attach request that is due."""
        self.state = State.IN_PROCEDURE
        self._sent_s = self._env.now
        self._response_s = self._ladder.response_s(self._rng)
        self._request(self)

    def accepted(self) -> bool:
        """An accept arrives. Whether it was in time; one that comes too late is silence to the handset."""
        patience_s = self._ladder.patience_s(self.attempt, self._response_s)
        if self._env.now - self._sent_s >= patience_s:
            following = self._ladder.after_all_patience(self.attempt, self._response_s, self._rng)
            self._follow(following, self._sent_s, patience_s)
            return False
        self.state = State.REGISTERED
        self._moved(True)
        return True

    def refused(self, back_off_s: float | None = None) -> None:
        """A refusal arrives, with or without T3346."""
        if back_off_s is not None and self._habits.honours_back_off:
            self._send_in(back_off_s, 1)
        else:
            self._follow(self._ladder.after_refusal(self.attempt, self._rng), self._env.now, 0.0)

    def unanswered(self) -> None:
        """The network holds the request no longer, and nothing was heard in time."""
        following = self._ladder.after_silence(self.attempt, self._response_s, self._rng)
        self._follow(following, self._sent_s, self._response_s)

    def _follow(self, following: Next, since_s: float, failed_after_s: float) -> None:
        """Wait for the next request; whoever power-cycles cuts the long timer short, from the end of the attempt."""
        delay_s = following.delay_s
        if following.long and self._habits.power_cycles:
            delay_s = failed_after_s + self._rng.uniform(*self._habits.power_cycle_s)
        self._send_in(max(0.0, since_s + delay_s - self._env.now), following.attempt)

    def _send_in(self, delay_s: float, attempt: int) -> None:
        self.state = State.WAITING
        self.attempt = attempt
        after(self._env, delay_s, self.send)
