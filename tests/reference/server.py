"""A server with a finite buffer, and the patience of those who ask it."""

import math
from collections import deque
from collections.abc import Callable, Generator
from typing import Any

import numpy as np
import simpy

from tests.reference.clock import after
from tests.reference.rate import Rate

Answer = Callable[[bool], None]


class Transaction:
    """One question to a server: exactly one outcome reaches whoever asked."""

    __slots__ = ("_answer", "asked_s")

    def __init__(self, asked_s: float, answer: Answer) -> None:
        self.asked_s = asked_s
        self._answer: Answer | None = answer

    @property
    def settled(self) -> bool:
        return self._answer is None

    def settle(self, success: bool) -> None:
        """Report the outcome, unless one was reported before."""
        if self._answer is not None:
            answer, self._answer = self._answer, None
            answer(success)


class Server:
    """One at a time, first in, first out, exponential. Who has given up stays, is served and is wasted.

    Args:
        rate: Service [1/s]; None answers at once and never queues.
        buffer: Messages it can hold: live, given up, foreign, and the one in service.
        overflow: `refuse` answers at once that there is no room, `drop` says nothing.
        timer_s: Time after which those who ask give up [s].
        latency_s: Pure delay of every answer [s].
        other_load: Poisson foreign messages [1/s].
    """

    def __init__(
        self,
        env: simpy.Environment,
        rng: np.random.Generator,
        *,
        rate: Rate | None = None,
        buffer: float = math.inf,
        overflow: str = "refuse",
        timer_s: float = math.inf,
        latency_s: float = 0.0,
        other_load: Rate | None = None,
    ) -> None:
        self._env, self._rng = env, rng
        self.rate, self._buffer, self._overflow = rate, buffer, overflow
        self.timer_s, self.latency_s = timer_s, latency_s
        self.other_load = other_load or Rate(0.0, 0.0)
        self.lost = 0
        self.stalled_until_s = -math.inf
        self._queue: deque[Transaction | None] = deque()
        self._busy = False
        self._busy_s = 0.0
        self._busy_from_s = 0.0
        if self.other_load.ceiling > 0.0:
            env.process(self._disturb())

    def __len__(self) -> int:
        return len(self._queue)

    @property
    def busy_s(self) -> float:
        """Time for which there was work so far [s]."""
        return self._busy_s + (self._env.now - self._busy_from_s if self._busy else 0.0)

    @property
    def immediate(self) -> bool:
        """Whether it answers every question at once."""
        return self.rate is None and self.latency_s == 0.0

    def ask(self, answer: Answer) -> None:
        """Ask; `answer` is called once, with whether it succeeded."""
        transaction = Transaction(self._env.now, answer)
        if self.rate is None:
            self._finish(transaction)
        elif self._enter(transaction):
            self._give_up_later(transaction)
        elif self._overflow == "refuse":
            transaction.settle(False)
        else:
            self._give_up_later(transaction)

    def load(self, messages: int = 1) -> None:
        """Foreign messages arrive: nobody waits for them."""
        if self.rate is not None:
            for _ in range(messages):
                self._enter(None)

    def clear(self) -> None:
        """Everything that waits is gone; nobody is told."""
        self._queue.clear()

    def _enter(self, transaction: Transaction | None) -> bool:
        if len(self._queue) >= self._buffer:
            self.lost += 1
            return False
        self._queue.append(transaction)
        if not self._busy and self.rate is not None and self.rate.ceiling > 0.0:
            self._busy = True
            self._busy_from_s = self._env.now
            self._serve_later(self.rate)
        return True

    def _give_up_later(self, transaction: Transaction) -> None:
        if self.timer_s < math.inf:
            after(self._env, self.timer_s, lambda: transaction.settle(False))

    def _serve_later(self, rate: Rate) -> None:
        after(self._env, self._interval_s(rate), lambda: self._serve(rate))

    def _serve(self, rate: Rate) -> None:
        """Service at a varying rate by thinning: the ceiling proposes, the present rate accepts."""
        if self._queue and self._env.now >= self.stalled_until_s and self._accepts(rate):
            served = self._queue.popleft()
            if served is not None:
                self._finish(served)
        self._busy = bool(self._queue)
        if self._busy:
            self._serve_later(rate)
        else:
            self._busy_s += self._env.now - self._busy_from_s

    def _disturb(self) -> Generator[simpy.Event, Any, None]:
        while True:
            yield self._env.timeout(self._interval_s(self.other_load))
            if self._accepts(self.other_load):
                self.load()

    def _interval_s(self, rate: Rate) -> float:
        return self._rng.standard_exponential() / rate.ceiling

    def _accepts(self, rate: Rate) -> bool:
        present = rate.at(self._env.now)
        return present >= rate.ceiling or self._rng.random() * rate.ceiling < present

    def _finish(self, transaction: Transaction) -> None:
        """The work is done; the answer helps only if it arrives before the timer of whoever asked."""
        age_s = self._env.now - transaction.asked_s
        if age_s + self.latency_s >= self.timer_s:
            if self.rate is None:
                self._give_up_later(transaction)
        elif self.latency_s > 0.0:
            after(self._env, self.latency_s, lambda: transaction.settle(True))
        else:
            transaction.settle(True)
