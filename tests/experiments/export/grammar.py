"""Reads StarOS configuration files, written from the published command reference and from nothing of ours.

A file is read as the box does: line by line, each command legal in one mode only. `read` raises `NotLegal` with
the line, or returns the values that the file sets.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

MARKS = r"(?:[A-Za-z0-9][A-Za-z0-9._-]{0,78}|< [A-Za-z ]+ >)"
"""A name, or the mark where one is to be filled in."""

_ATTACH = r"drop|reject-with-emm-cause (?:congestion|network-failure|no-suitable-cell-in-tracking-area)"
_TAU = rf"{_ATTACH}|reject-with-emm-cause no-sec-ctxt-in-nw"
_GATE = re.compile(
    r"network-overload-protection mme-new-connections-per-second (?P<rate>\d+) action"
    rf" attach (?P<attach>{_ATTACH}) tau (?P<tau>{_TAU}) fwd-reloc (?P<fwd>drop|reject)"
    r"(?: ddn (?:drop|reject-with-cause (?:unable-to-page-ue|context-not-found)))?"
    r"(?: queue-size (?P<queue>\d+))?(?: wait-time (?P<wait>\d+))?"
)
_CAUSES = r"drop|reject-with-cause congestion"
_SGSN_GATE = re.compile(
    rf"network-overload-protection sgsn-new-connections-per-second (?P<rate>\d+) action (?P<attach>{_CAUSES})"
    r"(?: queue-size (?P<queue>\d+))?(?: wait-time (?P<wait>\d+))?"
)
_OFF = re.compile(r"default network-overload-protection (?:mme|sgsn)-new-connections-per-second")
_MODES = {
    ("exec", r"config"): "config",
    ("config", rf"ss7-routing-domain {MARKS} variant {MARKS}"): "ss7",
    ("ss7", rf"peer-server id {MARKS}"): "peer-server",
    ("peer-server", rf"psp instance {MARKS}"): "psp",
    ("config", rf"context {MARKS}"): "context",
    ("context", rf"sgsn-service {MARKS}"): "sgsn-service",
    ("context", rf"sgw-service {MARKS}"): "sgw-service",
    ("config", rf"failure-handling-template {MARKS}"): "failure-handling-template",
    ("config", rf"active-charging service {MARKS}"): "active-charging",
    ("active-charging", rf"credit-control group {MARKS}"): "credit-control",
    ("config", r"lte-policy"): "lte-policy",
    ("lte-policy", rf"congestion-action-profile {MARKS}"): "congestion-action-profile",
    ("context", rf"mme-service {MARKS}"): "mme-service",
    ("context", rf"egtp-service {MARKS}"): "egtp-service",
    ("context", rf"ims-auth-service {MARKS}"): "ims-auth-service",
    ("ims-auth-service", r"policy-control"): "policy-control",
}
_NUMBERS = [
    # mode, command, what it sets, factor, lowest, highest, step
    ("mme-service", r"emm t3346-timeout (\d+)", "t3346_s", 1, 0, 11160, 1),
    ("egtp-service", r"gtpc retransmission-timeout-ms (\d+)", "gtpc_timeout_ms", 1, 1000, 20000, 100),
    ("egtp-service", r"gtpc retransmission-timeout (\d+)", "gtpc_timeout_ms", 1000, 1, 20, 1),
    ("egtp-service", r"gtpc max-retransmissions (\d+)", "gtpc_retries", 1, 0, 15, 1),
    ("policy-control", r"diameter request-timeout (\d+)", "diameter_tx_s", 1, 1, 300, 1),
    ("psp", r"sctp-rto-max (\d+)", "rto_max_ms", 100, 5, 1200, 1),
    ("psp", r"sctp-rto-initial (\d+)", "rto_initial_ms", 100, 1, 1200, 1),
    ("psp", r"sctp-rto-min (\d+)", "rto_min_ms", 100, 1, 50, 1),
    ("psp", r"sctp-rto-min units-10ms (\d+)", "rto_min_ms", 10, 1, 500, 1),
    ("psp", r"sctp-sack-period (\d+)", "sack_period_ms", 100, 0, 5, 1),
    ("psp", r"sctp-sack-period units-10ms (\d+)", "sack_period_ms", 10, 0, 50, 1),
    ("psp", r"sctp-max-assoc-retx (\d+)", "max_assoc_retx", 1, 0, 255, 1),
]
_TIME = r"{0}-sec (?P<{1}s>\d+)(?: {0}-min (?P<{1}m>\d+))?(?: {0}-hour (?P<{1}h>\d+))?"
_LINES: list[tuple[str, str, dict[str, tuple[int, int]]]] = [
    # mode, command, range of each number
    ("config", r"task facility imsimgr avoid-sessmgr-broadcast(?: cpu_threshold (?P<p>\d+))?", {"p": (50, 70)}),
    ("config", r"task facility imsimgr max (?P<n>\d+)", {"n": (1, 8)}),
    ("config", r"task facility imsimgr required-sessmgr (?P<n>\d+)", {"n": (1, 384)}),
    ("sgsn-service", r"gmm t3346 min (?P<low>\d+) max (?P<high>\d+)", {"low": (1, 15), "high": (1, 30)}),
    ("sgsn-service", r"default gmm t3346", {}),
    (
        "failure-handling-template",
        r"msg-type credit-control-initial failure-type any action (?:continue|retry-and-terminate|terminate)",
        {},
    ),
    ("credit-control", r"failure-handling initial-request (?:continue|terminate)", {}),
    (
        "congestion-action-profile",
        r"ddn sgw-throttling throttle-factor (?P<factor>\d+) delay (?P<delay>\d+)",
        {"factor": (1, 100), "delay": (2, 1116000)},
    ),
    ("sgw-service", r"ddn throttle arp-watermark (?P<arp>\d+)", {"arp": (1, 15)}),
    (
        "sgw-service",
        r"ddn throttle arp-watermark (?P<arp>\d+) rate-limit (?P<limit>\d+) time-factor (?P<window>\d+)"
        r" throttle-factor (?P<factor>\d+) increment-factor (?P<step>\d+)(?: poll-interval (?P<poll>\d+))?"
        rf" {_TIME.format('throttle-time', 't')} {_TIME.format('stab-time', 'c')}",
        {
            "arp": (1, 15), "limit": (1, 999999999), "window": (1, 300), "factor": (1, 100), "step": (1, 100),
            "poll": (2, 299), "ts": (0, 59), "tm": (0, 59), "th": (0, 310), "cs": (0, 59), "cm": (0, 59),
            "ch": (0, 310),
        },
    ),
]  # fmt: skip
_RTO = ("rto_min_ms", "rto_initial_ms", "rto_max_ms")


class NotLegal(Exception):  # noqa: N818  (it is the answer that tests look for)
    """A line that the box would refuse."""


@dataclass
class Box:
    """A box that reads a file."""

    mode: str = "exec"
    values: dict[str, int | str] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    """The commands, without those that only change the mode."""
    limits: dict[str, int] = field(default_factory=lambda: dict(zip(_RTO, (1000, 3000, 60000), strict=True)))
    """The limits of the retransmission time-out that are in force on the association [ms]."""
    down: bool = False
    """Whether the association is taken down, which a change of its SCTP parameters needs."""

    def take(self, line: str) -> None:
        """Obey a command."""
        words = line.strip()
        if words == "end" and self.mode != "exec":
            if self.down:
                raise NotLegal("the association is left down")
            self.mode = "exec"
            return
        for (mode, form), entered in _MODES.items():
            if mode == self.mode and re.fullmatch(form, words):
                self.mode = entered
                return
        if not (self._association(words) or self._gate(words) or self._number(words) or self._line(words)):
            raise NotLegal(f"in mode {self.mode}: {line!r}")
        self.lines.append(words)

    def _association(self, words: str) -> bool:
        """One association at a time: down, changed, up again, before the next."""
        if self.mode != "psp":
            return False
        down = words == "no associate"
        if not down and not re.fullmatch(rf"associate asp instance {MARKS}", words):
            return False
        if self.down == down:
            raise NotLegal(f"the association is {'down' if down else 'up'} already")
        self.down = down
        return True

    def _gate(self, words: str) -> bool:
        if self.mode != "config":
            return False
        if _OFF.fullmatch(words):
            self.values["nop_rate"] = "off"
            return True
        form = _GATE.fullmatch(words) or _SGSN_GATE.fullmatch(words)
        if form is None:
            return False
        rate, wait = int(form["rate"]), int(form["wait"] or 5)
        queue = int(form["queue"]) if form["queue"] else rate * wait
        if not (50 <= rate <= 5000 and 1 <= wait <= 15 and rate <= queue <= rate * wait):
            raise NotLegal(words)
        if form["queue"] and not 250 <= queue <= 25000:
            raise NotLegal(words)
        self.values |= {
            "nop_rate": rate,
            "nop_wait_s": wait,
            "queue": queue,
            "attach": form["attach"],
        }
        if "tau" in form.groupdict():
            self.values["tau"] = form["tau"]
        return True

    def _number(self, words: str) -> bool:
        if (self.mode, words) == ("mme-service", "default emm t3346-timeout"):
            self.values["t3346_s"] = "default"
            return True
        for mode, form, name, factor, low, high, step in _NUMBERS:
            found = re.fullmatch(form, words)
            if found and mode == self.mode:
                number = int(found[1])
                if not low <= number <= high or number % step:
                    raise NotLegal(words)
                self.values[name] = factor * number
                if mode == "psp" and not self.down:
                    raise NotLegal(f"with the association up: {words}")
                self._limit(name, factor * number)
                return True
        return False

    def _line(self, words: str) -> bool:
        for mode, form, ranges in _LINES:
            found = re.fullmatch(form, words)
            if found is None or mode != self.mode:
                continue
            numbers = {key: int(found[key]) for key in ranges if found[key] is not None}
            if any(not low <= numbers[key] <= high for key, (low, high) in ranges.items() if key in numbers):
                raise NotLegal(words)
            if numbers.get("low", 0) > numbers.get("high", 0) or numbers.get("poll", 0) >= numbers.get("window", 1):
                raise NotLegal(words)
            if "ts" in numbers and not all(any(numbers.get(f"{kind}{part}", 0) for part in "smh") for kind in "tc"):
                raise NotLegal(f"a time of nothing: {words}")
            return True
        return False

    def _limit(self, name: str, value_ms: int) -> None:
        if name not in self.limits:
            return
        self.limits[name] = value_ms
        if list(self.limits.values()) != sorted(self.limits.values()):
            raise NotLegal(f"RTO-min <= RTO-initial <= RTO-max, but {self.limits}")


def read(text: str, limits: Mapping[str, int] | None = None) -> Box:
    """Let a box read a file; ``limits``: those of the retransmission time-out that are in force before it does."""
    if not text.isascii() or re.search(r"[|?\t\r]", text) or not text.endswith("\n"):
        raise NotLegal("must be ASCII with UNIX line ends, without tabs, pipes and question marks")
    box = Box()
    box.limits |= limits or {}
    for line in text.split("\n")[:-1]:
        if len(line) > 250:
            raise NotLegal(f"too long: {line!r}")
        if not line.startswith("#"):
            box.take(line)
    if box.mode != "exec":
        raise NotLegal(f"ends in mode {box.mode}")
    return box
