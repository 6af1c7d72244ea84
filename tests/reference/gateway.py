"""The gateway: create-session requests with the MME's repeats, and the policy server behind it."""

import math
from collections.abc import Callable
from typing import Protocol

import simpy

from tests.reference.clock import after
from tests.reference.observer import Observer
from tests.reference.server import Answer, Server


class Asked(Protocol):
    """A server, or what stands before one."""

    @property
    def immediate(self) -> bool:
        """Whether it answers at once."""

    def ask(self, answer: Answer) -> None:
        """Ask."""


class Repeater:
    """The MME's T3-RESPONSE while one request is unanswered: so many repeats, then it gives up.

    Args:
        t3_response_s: Time between a request and its repeat [s].
        n3_requests: Repeats before the MME gives up.
        repeat: Sends the request once more.
        give_up: Called when the last repeat has had its time, too.
    """

    def __init__(
        self,
        env: simpy.Environment,
        t3_response_s: float,
        n3_requests: int,
        repeat: Callable[[], None],
        give_up: Callable[[], None],
    ) -> None:
        self._env, self._t3_response_s, self._left = env, t3_response_s, n3_requests
        self._repeat, self._give_up = repeat, give_up
        self.running = True
        after(env, t3_response_s, self._expire)

    def stop(self) -> None:
        """An answer has come."""
        self.running = False

    def _expire(self) -> None:
        if not self.running:
            return
        if self._left == 0:
            self.running = False
            self._give_up()
            return
        self._left -= 1
        self._repeat()
        after(self._env, self._t3_response_s, self._expire)


class Gateway:
    """SGW and PGW. Each part of its work has an MME clock of its own, so the clock restarts at the PCRF.

    Args:
        sessions: The queue of create-session requests; live requests and repeats use it alike.
        t3_response_s: The MME repeats an unanswered request after this time [s]; infinite never does.
        n3_requests: Repeats before the MME gives up and refuses the attach.
    """

    def __init__(
        self,
        env: simpy.Environment,
        observer: Observer,
        sessions: Server,
        t3_response_s: float = math.inf,
        n3_requests: int = 0,
    ) -> None:
        self._env, self._observer, self._sessions = env, observer, sessions
        self._t3_response_s, self._n3_requests = t3_response_s, n3_requests

    def create_session(self, answer: Answer) -> None:
        """First transaction: the gateway takes the request from its queue."""
        self._observer.create_session()
        self._watched(self._sessions, answer)

    def through(self, server: Asked) -> Callable[[Answer], None]:
        """A transaction of the gateway with a server, during which the MME waits and repeats."""
        return lambda answer: self._watched(server, answer)

    def _watched(self, server: Asked, answer: Answer) -> None:
        """Ask a server under the MME's clock; whichever ends first decides, the other is ignored."""
        if server.immediate or self._t3_response_s == math.inf:
            server.ask(answer)
            return
        clock = Repeater(self._env, self._t3_response_s, self._n3_requests, self._repeat, lambda: answer(False))
        server.ask(lambda success: self._heard(clock, answer, success))

    def _heard(self, clock: Repeater, answer: Answer, success: bool) -> None:
        if clock.running:
            clock.stop()
            answer(success)

    def _repeat(self) -> None:
        """Recognised as a repeat, so no second CCR-I; but it counts, and it takes the gateway's time."""
        self._observer.create_session()
        self._sessions.load()
