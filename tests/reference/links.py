"""M3UA/SCTP links: queues of messages towards signalling transfer points that sometimes take none."""

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import simpy

from tests.reference.clock import after
from tests.reference.rate import Rate
from tests.reference.server import Answer, Server, Transaction

QUARTER = 0.25  # a peer tells of its window once so much of it is free (RFC 9260 6.2.1 allows it to wait for that)


@dataclass(frozen=True)
class Marks:
    """What all links have: numbers of messages, shares, and times [s]."""

    window: float
    start: float = 8000.0
    stop: float = 5000.0
    queue: float = 8000.0
    trickle_per_s: float = 0.0
    rto_min_s: float = 1.0
    rto_initial_s: float = 3.0
    rto_max_s: float = 60.0
    max_assoc_retx: int = 10
    map_timer_s: float = 30.0
    answer_loss_share: float = 0.0
    ack_delay_s: float = 0.2


class Link:
    """One association: a queue before a window of messages that the STP holds and serves.

    Args:
        rate: What the STP takes from this link [1/s].
        updates: Whether the peer tells when its window opens; otherwise only an expiry of T3 finds out.
        alarmed: Hears when congestion begins and ends.
    """

    def __init__(
        self,
        env: simpy.Environment,
        rng: np.random.Generator,
        marks: Marks,
        rate: Rate,
        updates: bool,
        alarmed: Callable[[bool], None],
    ) -> None:
        self._env, self._marks, self._updates, self._alarmed = env, marks, updates, alarmed
        self.stp = Server(env, rng, rate=rate)
        self.in_service = True
        self.congested = False
        self.closed = False
        self.sent = self.answers = self.discarded = self.lost = self.expiries = 0
        self.rto_s = marks.rto_min_s
        self._queue: deque[Transaction] = deque()
        self._dead = False
        self._in_a_row = self._closing = 0
        self._association = object()
        self._trickling = False
        self.resent = 0
        self._unacknowledged: object | None = None

    @property
    def works(self) -> bool:
        """Whether anything comes over it, noticed or not."""
        return self.in_service and not self._dead

    def __len__(self) -> int:
        return len(self._queue)

    def send(self, question: Transaction) -> None:
        """Take a message: into the window, into the queue before it, or nowhere."""
        self.sent += 1
        if self._dead:
            self._lose()
        elif len(self._queue) >= self._marks.queue:
            self.discarded += 1
        else:
            self._queue.append(question)
            self._pass_on()
            self._look()

    def reset(self) -> None:
        """A new association: nothing waits, the window is free, and no round trip has been measured."""
        self._restart()
        self._dead = False
        self.in_service = True
        self._look()

    def fall(self, noticed: bool) -> None:
        """The path dies. Until that is noticed the link takes messages and loses them."""
        rto_s = self.rto_s
        self._restart()
        self.rto_s = rto_s
        self._dead = True
        if noticed:
            self.in_service = False
        self._look()

    def _restart(self) -> None:
        self.lost += len(self._queue) + len(self.stp)
        self._queue.clear()
        self.stp.clear()
        self._association = object()
        self._trickling = False
        self.closed = False
        self._in_a_row = 0
        self.rto_s = self._marks.rto_initial_s

    def _pass_on(self) -> None:
        """Fill the window. What was sent and left it open gives a fresh round trip, one that was filled gives none."""
        if self.closed:
            self._trickle()
            return
        passed = False
        while self._queue and len(self.stp) < self._marks.window:
            self._hand_over(self._queue.popleft())
            passed = True
        if len(self.stp) >= self._marks.window:
            self.closed = True
            self._closing += 1
            self._await_expiry()
            self._trickle()
        elif passed:
            self.rto_s = self._marks.rto_min_s

    def _hand_over(self, question: Transaction) -> None:
        association = self._association
        if self.rto_s <= self._marks.ack_delay_s:
            self._await_acknowledgement()
        self.stp.ask(lambda _: self._served(association, question))

    def _await_acknowledgement(self) -> None:
        """The peer acknowledges every second message at once, a lone one after its delay (RFC 9260 6.2)."""
        if self._unacknowledged is not None:
            self._unacknowledged = None
            return
        first = self._unacknowledged = object()
        after(self._env, self.rto_s, lambda: self._send_again(first))
        after(self._env, self._marks.ack_delay_s, lambda: self._acknowledged(first))

    def _send_again(self, first: object) -> None:
        """T3 runs out although the message has arrived: the peer drops the copy."""
        self.resent += self._unacknowledged is first

    def _acknowledged(self, first: object) -> None:
        if self._unacknowledged is first:
            self._unacknowledged = None

    def _served(self, association: object, question: Transaction) -> None:
        """The STP has taken a message out of its window, towards HLR or EIR, which answer at once."""
        question.settle(True)
        if association is not self._association:
            return
        if not self.closed:
            self._pass_on()
        elif self._updates and len(self.stp) <= (1.0 - QUARTER) * self._marks.window:
            self._open()
        self._look()

    def _open(self) -> None:
        self.closed = False
        self._pass_on()

    def _await_expiry(self) -> None:
        association, closing = self._association, self._closing
        after(self._env, self.rto_s, lambda: self._expire(association, closing))

    def _expire(self, association: object, closing: int) -> None:
        """T3 expires on a window that was full. RTO doubles, and stays until a fresh round trip (RFC 9260 6.3.3 E2)."""
        if association is not self._association or closing != self._closing or not self.closed:
            return
        self._double()
        if len(self.stp) < self._marks.window:
            self._open()
        else:
            self._await_expiry()
        self._look()

    def _double(self) -> None:
        self.expiries += 1
        self.rto_s = min(2.0 * self.rto_s, self._marks.rto_max_s)

    def _trickle(self) -> None:
        """The peer keeps announcing small windows, so that a little passes into the full one, to be served with it."""
        if self._marks.trickle_per_s > 0.0 and self._queue and not self._trickling:
            self._trickling = True
            association = self._association
            after(self._env, 1.0 / self._marks.trickle_per_s, lambda: self._drop_through(association))

    def _drop_through(self, association: object) -> None:
        if association is not self._association:
            return
        self._trickling = False
        if self.closed and self._queue:
            self._hand_over(self._queue.popleft())
            self._trickle()
            self._look()

    def _lose(self) -> None:
        """A dead path: the first loss starts T3, and expiries in a row beyond the limit end the association."""
        self.lost += 1
        if self._in_a_row == 0:
            self._in_a_row = 1
            self._await_death(self._association)

    def _await_death(self, association: object) -> None:
        after(self._env, self.rto_s, lambda: self._die_a_little(association))

    def _die_a_little(self, association: object) -> None:
        if association is not self._association or not self.in_service:
            return
        if self._in_a_row > self._marks.max_assoc_retx:
            self.in_service = False
            return
        self._in_a_row += 1
        self._double()
        self._await_death(association)

    def _look(self) -> None:
        """Congested while the window is closed or the queue above START, until the queue is at or below STOP."""
        was, length = self.congested, len(self._queue)
        if not self.in_service:
            self.congested = False
        elif self.closed or length > self._marks.start:
            self.congested = True
        elif length <= self._marks.stop:
            self.congested = False
        if self.congested is not was:
            self._alarmed(self.congested)


class Signalling:
    """The links of all STPs. A MAP question goes out over one link, its answer comes back over any of that STP."""

    def __init__(
        self, env: simpy.Environment, rng: np.random.Generator, marks: Marks, stps: Sequence[Sequence[Link]]
    ) -> None:
        self._env, self._rng, self._marks = env, rng, marks
        self.stps = stps
        self._turn = 0
        self._waiting: deque[Transaction] = deque()

    def ask(self, answer: Answer) -> None:
        """One MAP question; `answer` is called once, with False when its timer ends."""
        waiting = Transaction(self._env.now, answer)
        if self._marks.map_timer_s < math.inf:
            self._waiting.append(waiting)
            if len(self._waiting) == 1:
                self._look_at_the_first()
        self._turn += 1
        usable = [links for links in self.stps if any(link.in_service for link in links)]
        if usable:
            links = usable[self._turn % len(usable)]
            at_work = [link for link in links if link.in_service]
            free = [link for link in at_work if not link.congested] or at_work
            chosen = free[self._turn // len(usable) % len(free)]
            chosen.send(Transaction(self._env.now, lambda _: self._come_back(links, waiting)))

    def _look_at_the_first(self) -> None:
        """All questions have one timer, so the first of them is due first."""
        due_s = self._waiting[0].asked_s + self._marks.map_timer_s
        after(self._env, max(0.0, due_s - self._env.now), self._expire)

    def _expire(self) -> None:
        first = self._waiting[0]
        first.settle(False)
        while self._waiting and self._waiting[0].settled:
            self._waiting.popleft()
        if self._waiting:
            self._look_at_the_first()

    def _come_back(self, links: Sequence[Link], waiting: Transaction) -> None:
        """Answers return over all links of the STP that work alike; a share of those on congested links is lost."""
        working = [link for link in links if link.works] or links
        link = working[int(self._rng.integers(len(working)))]
        if link.congested and self._rng.random() < self._marks.answer_loss_share:
            return
        link.answers += 1
        waiting.settle(True)
