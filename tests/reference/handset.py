"""A handset and what it does after each outcome of a request."""

from collections.abc import Callable
from enum import Enum
from typing import Protocol

import numpy as np
import simpy

from tests.reference.clock import after

Span = tuple[float, float]

T3410_S: Span = (15.0, 15.0)  # TS 24.301 table 10.2.1: attach request without an answer
T3411_S: Span = (10.0, 10.0)  # TS 24.301 table 10.2.1: from a failed attempt to the next one
T3402_S: Span = (720.0, 720.0)  # TS 24.301 table 10.2.1: after the last failed attempt
ATTEMPT_LIMIT = 5  # TS 24.301 5.5.1.2.6


class Ladder(Protocol):
    """The timers of a kind of handset."""

    def response_s(self, rng: np.random.Generator) -> float:
        """How long the handset waits for the answer to a request that it sends now."""

    def after_refusal(self, attempt: int, rng: np.random.Generator) -> tuple[float, int]:
        """The delay of the next request, counted from the refusal, and its attempt number."""

    def after_silence(self, attempt: int, response_s: float, rng: np.random.Generator) -> tuple[float, int]:
        """The delay of the next request, counted from the unanswered one, and its attempt number."""


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

    def after_refusal(self, attempt: int, rng: np.random.Generator) -> tuple[float, int]:
        if attempt < self._attempt_limit:
            return rng.uniform(*self._t3411_s), attempt + 1
        return rng.uniform(*self._t3402_s), 1

    def after_silence(self, attempt: int, response_s: float, rng: np.random.Generator) -> tuple[float, int]:
        pause_s, following = self.after_refusal(attempt, rng)
        return response_s + pause_s, following


class LaboratoryLadder:
    """Simulated handsets: two delays and no limit. The delay after silence is also the patience."""

    def __init__(self, retry_refused_s: Span, retry_silent_s: Span) -> None:
        self._refused, self._silent = retry_refused_s, retry_silent_s

    def response_s(self, rng: np.random.Generator) -> float:
        return rng.uniform(*self._silent)

    def after_refusal(self, attempt: int, rng: np.random.Generator) -> tuple[float, int]:
        return rng.uniform(*self._refused), attempt

    def after_silence(self, attempt: int, response_s: float, rng: np.random.Generator) -> tuple[float, int]:
        return response_s, attempt


class State(Enum):
    """Where a subscriber is; always exactly one of these."""

    IDLE = "idle"
    WAITING = "waiting"
    IN_PROCEDURE = "in procedure"
    REGISTERED = "registered"


class Handset:
    """One subscriber. `request` takes its attach requests, `moved` hears when service comes or goes."""

    __slots__ = (
        "_env",
        "_ladder",
        "_moved",
        "_request",
        "_response_s",
        "_rng",
        "_sent_s",
        "attempt",
        "honours_back_off",
        "state",
    )

    def __init__(
        self,
        env: simpy.Environment,
        rng: np.random.Generator,
        ladder: Ladder,
        honours_back_off: bool,
        request: Callable[["Handset"], None],
        moved: Callable[[bool], None],
    ) -> None:
        self._env, self._rng, self._ladder = env, rng, ladder
        self._request, self._moved = request, moved
        self._sent_s = self._response_s = 0.0
        self.honours_back_off = honours_back_off
        self.attempt = 1
        self.state = State.IDLE

    def lose_service(self, delay_s: float = 0.0) -> None:
        """A registered handset starts again from its first attempt, at once or after a delay."""
        self._moved(False)
        self._send_in(delay_s, 1)

    def send(self) -> None:
        """Send the attach request that is due."""
        self.state = State.IN_PROCEDURE
        self._sent_s = self._env.now
        self._response_s = self._ladder.response_s(self._rng)
        self._request(self)

    def accepted(self) -> bool:
        """An accept arrives. Whether it was in time; one that comes too late is silence to the handset."""
        if self._env.now - self._sent_s >= self._response_s:
            self.unanswered()
            return False
        self.state = State.REGISTERED
        self._moved(True)
        return True

    def refused(self, back_off_s: float | None = None) -> None:
        """A refusal arrives, with or without T3346."""
        if back_off_s is not None and self.honours_back_off:
            self._send_in(back_off_s, 1)
        else:
            self._send_in(*self._ladder.after_refusal(self.attempt, self._rng))

    def unanswered(self) -> None:
        """The network holds the request no longer, and nothing was heard in time."""
        delay_s, attempt = self._ladder.after_silence(self.attempt, self._response_s, self._rng)
        self._send_in(max(0.0, self._sent_s + delay_s - self._env.now), attempt)

    def _send_in(self, delay_s: float, attempt: int) -> None:
        self.state = State.WAITING
        self.attempt = attempt
        after(self._env, delay_s, self.send)
