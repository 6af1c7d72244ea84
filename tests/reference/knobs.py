"""What the knobs mean: a setting over the scenario's present one, over the scenario's fields."""

from dataclasses import dataclass
from typing import Any

from tests.reference.fields import Fields, section, value

QUEUE_FORMS = ("nop_queue", "nop_queue_wait_s")
SMALLEST_QUEUE, LARGEST_QUEUE = 250, 25_000  # what the queue keyword of the gate accepts [requests]
WAIT_S, TX_S, T3_RESPONSE_S, N3_REQUESTS = 5.0, 10.0, 5.0, 4  # where nothing says otherwise


@dataclass(frozen=True)
class Pace:
    """How a gate paces: releases [1/s], entries, age at which one leaves [s], action, T3346 [s] if sent."""

    rate: float
    capacity: float
    wait_s: float
    action: str = "drop"
    back_off_s: float | None = None


class Knobs:
    """The setting in force."""

    def __init__(self, scenario: Fields, settings: Fields) -> None:
        topology = section(scenario, "topology")
        self._gateway, self._pcrf = section(topology, "gateway"), section(topology, "pcrf")
        self._links, self._dra = section(topology, "links"), section(topology, "dra")
        present = dict(section(scenario, "present"))
        if settings.keys() & {"nop_rate", "nop_wait_s", *QUEUE_FORMS}:
            for form in QUEUE_FORMS:
                present.pop(form, None)
        self._values = {**present, **settings}

    @property
    def pace(self) -> Pace | None:
        """The gate's, None where it is off."""
        rate = self._values.get("nop_rate")
        if rate in (None, "off"):
            return None
        wait_s = value(self._values, "nop_wait_s", WAIT_S)
        queue, queue_wait_s = (self._values.get(form) for form in QUEUE_FORMS)
        return Pace(
            rate=float(rate),
            capacity=queue_capacity(float(rate), wait_s, queue, queue_wait_s),
            wait_s=wait_s,
            action=value(self._values, "nop_action", "drop"),
            back_off_s=self._values.get("t3346_s") or None,
        )

    @property
    def t3_response_s(self) -> float:
        timeout_ms = value(self._values, "gtpc_timeout_ms", 0.0)
        return timeout_ms / 1000.0 or value(self._gateway, "t3_response_s", T3_RESPONSE_S)

    @property
    def n3_requests(self) -> int:
        return value(self._values, "gtpc_retries", value(self._gateway, "n3_requests", N3_REQUESTS))

    @property
    def tx_s(self) -> float:
        return value(self._values, "diameter_tx_s", value(self._gateway, "tx_s", TX_S))

    def links(self, name: str, default: float) -> float:
        """A knob of the links, or the links' field of that name."""
        found: float = value(self._values, name, value(self._links, name, default))
        return found

    def either(self, name: str, field: Any) -> Any:
        """A knob, or the scenario's field where the knob is not set."""
        found = self._values.get(name)
        return field if found is None else found

    def dra(self, name: str) -> float | None:
        """A limit of the Diameter agent; None where there is none."""
        found = self.either(f"dra_{name}", self._dra.get(name))
        return None if found in (None, "off") else float(found)

    @property
    def pcrf_rate_per_s(self) -> float | None:
        rate: float | None = value(self._values, "pcrf_rate_per_s", self._pcrf.get("rate_per_s"))
        return rate


def queue_capacity(rate: float, wait_s: float, queue: float | None = None, queue_wait_s: float | None = None) -> float:
    """Entries of the gate: the keyword's, or what the rate releases in a time, within the keyword's range."""
    longest = rate * wait_s
    if longest < SMALLEST_QUEUE:
        return longest
    if queue is not None:
        return queue
    if queue_wait_s is not None:
        longest = min(longest, max(rate * queue_wait_s, SMALLEST_QUEUE, rate))
    return min(longest, LARGEST_QUEUE)
