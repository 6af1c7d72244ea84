"""What the kernel must agree with, written for reading: one entry after another, one step after another."""

import math
from collections import deque
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass
class Slot:
    """Entries that arrived together: how many are left, what one consists of, and the age at which they time out."""

    step: int
    entries: float
    mixture: Floats
    grace: int
    """Steps beyond the patience; a zombie queue's service falls anywhere in a step, so half of a slot has one more."""
    dead: bool = False


class SlotQueue:
    """A first-in-first-out queue with a patience, as a list of slots."""

    def __init__(self, payload: int, *, purging: bool, stages: int = 1) -> None:
        self._slots: deque[Slot] = deque()
        self._payload, self._purging = payload, purging
        self._stage = payload // stages

    @property
    def waiting(self) -> float:
        """Entries that wait, dead ones included."""
        return sum(slot.entries for slot in self._slots)

    def advance(self, step: int, offered: Floats, draw: float, patience: int, capacity: float) -> "Moved":
        """One step: age, serve, admit, overflow."""
        expired = self._age(step, patience)
        fresh = self._serve(draw)
        return Moved(fresh, expired, *self._admit(step, offered, capacity))

    def _age(self, step: int, patience: int) -> Floats:
        expired = np.zeros(self._payload)
        for slot in self._slots:
            if not slot.dead and step - slot.step >= patience + slot.grace:
                slot.dead = True
                expired += slot.entries * slot.mixture
        if self._purging:
            self._slots = deque(slot for slot in self._slots if not slot.dead)
        return expired

    def _serve(self, draw: float) -> Floats:
        fresh = np.zeros(self._payload)
        while draw > 0.0 and self._slots:
            head = self._slots[0]
            part = min(head.entries, draw)
            if not head.dead:
                fresh += part * head.mixture
            head.entries -= part
            draw -= part
            if head.entries <= 0.0:
                self._slots.popleft()
        return fresh

    def _admit(self, step: int, offered: Floats, capacity: float) -> tuple[float, float]:
        """What follows an answer of this queue first, then the others in proportion."""
        new, later = offered.copy(), offered.copy()
        new[self._stage :] = 0.0
        later[: self._stage] = 0.0
        room = max(capacity - self.waiting, 0.0)
        taken = np.zeros(self._payload)
        for part in (later, new):
            total = self.entries(part)
            if total > 0.0:
                share = min(total, room) / total
                taken += share * part
                room -= share * total
        entries = self.entries(taken)
        if entries > 0.0:
            for grace in (0,) if self._purging else (0, 1):
                self._slots.append(Slot(step, entries if self._purging else entries / 2, taken / entries, grace))
        return entries, self.entries(offered) - entries

    def entries(self, payload: Floats) -> float:
        """Number of entries in a payload: all of its numbers but the last of each stage."""
        return float(payload.reshape(-1, self._stage)[:, :-1].sum())


@dataclass
class Moved:
    """What one step did."""

    fresh: Floats
    """Payload served in time."""
    expired: Floats
    """Payload timed out."""
    taken: float
    over: float


def fired_uniformly(puts: list[tuple[int, int, float, int, int]], *, steps: int, lanes: int) -> tuple[Floats, Floats]:
    """Owners fired per step and lane, and those that wait, if each insertion is spread over its steps by hand."""
    fired = np.zeros((steps, lanes))
    waiting = np.zeros(lanes)
    for step, lane, n, low, high in puts:
        for delay in range(low, high):
            if step + delay < steps:
                fired[step + delay, lane] += n / (high - low)
            else:
                waiting[lane] += n / (high - low)
    return fired, waiting


def poisson_pmf(mean: float, count: int) -> Floats:
    """P(N = 0), ..., P(N = count - 1)."""
    return np.array([math.exp(n * math.log(mean) - mean - math.lgamma(n + 1)) for n in range(count)])


def chi_square_limit(freedom: int, z: float) -> float:
    """What chi-square exceeds as rarely as a normal variable exceeds ``z`` (Wilson and Hilferty 1931)."""
    share = 2.0 / (9.0 * freedom)
    return freedom * (1.0 - share + z * math.sqrt(share)) ** 3


def four_bytes() -> tuple[Floats, Floats]:
    """Values and probabilities of the sum of four uniform bytes."""
    one = np.full(256, 1.0 / 256.0)
    two = np.convolve(one, one)
    return np.arange(1021.0), np.convolve(two, two)


def mm1k_loss(rho: float, buffer: int) -> float:
    """Share of arrivals that an M/M/1/K system loses."""
    return 1.0 / (buffer + 1) if rho == 1.0 else (1.0 - rho) * rho**buffer / (1.0 - rho ** (buffer + 1))


def stepped_loss(arrivals: float, services: float, buffer: int) -> float:
    """The same when a step first serves a Poisson number and then admits one: the chain that the kernel walks.

    Args:
        arrivals: Mean arrivals per step.
        services: Mean services per step.
        buffer: Most entries.
    """
    count = buffer + 60
    come, served = poisson_pmf(arrivals, count), poisson_pmf(services, count)
    serve = np.zeros((buffer + 1, buffer + 1))
    admit = np.zeros((buffer + 1, buffer + 1))
    lost = np.zeros(buffer + 1)
    for n in range(buffer + 1):
        serve[n, 1 : n + 1] = served[:n][::-1]
        serve[n, 0] = 1.0 - serve[n, 1:].sum()
        admit[n, n:buffer] = come[: buffer - n]
        admit[n, buffer] = 1.0 - admit[n, :buffer].sum()
        room = buffer - n
        # Mean of what exceeds the room: E(N) - room + the mean room left over.
        lost[n] = arrivals - room + sum((room - k) * come[k] for k in range(room))
    walk = serve @ admit
    system = np.vstack([walk.T - np.eye(buffer + 1), np.ones(buffer + 1)])
    level = np.linalg.lstsq(system, np.append(np.zeros(buffer + 1), 1.0), rcond=None)[0]
    return float(level @ serve @ lost / arrivals)
