"""What the gateway does on Gx and Gy: asks, and handles failure."""

from functools import partial

import simpy

from tests.reference.agent import Agent
from tests.reference.clock import after
from tests.reference.observer import Observer
from tests.reference.server import Answer, Server

TRANSIT_S = 0.02  # to the agent; without it the next question would always find the slot that the last answer left


class Question:
    """A question of the gateway to a policy server or charging system, through the agent where there is one.

    Args:
        kind: CCR-I or Gy.
        failure: `terminate`, `continue` without it, or `retry` at the mate, which answers under a new timer.
    """

    def __init__(
        self,
        env: simpy.Environment,
        observer: Observer,
        kind: str,
        server: Server,
        agent: Agent | None,
        failure: str,
        mate: Server | None,
    ) -> None:
        self._env, self._observer, self._kind, self._server = env, observer, kind, server
        self._agent, self._failure, self._mate = agent, failure, mate

    @property
    def immediate(self) -> bool:
        return self._agent is None and self._server.immediate

    def ask(self, answer: Answer) -> None:
        agent = self._agent
        if agent is not None:
            after(self._env, TRANSIT_S, lambda: agent.ask(self._kind, partial(self._heard, answer)))
        else:
            self._server.ask(lambda success: self._heard(answer, success, False))

    def _heard(self, answer: Answer, success: bool, final: bool) -> None:
        if not success and self._failure == "continue":
            if self._kind == "ccr_i":
                self._observer.note("degraded")
            answer(True)
        elif not success and self._failure == "retry" and self._mate is not None and not final:
            self._observer.note("retried")
            self._mate.ask(answer)
        else:
            answer(success)
