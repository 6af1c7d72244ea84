"""Reads StarOS configuration files, written from the published command reference and from nothing of ours.

A file is read as the box does: line by line, each command legal in one mode only. `read` raises `NotLegal` with
the line, or returns the values that the file sets.
"""

import re
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
_MODES = {
    ("exec", r"config"): "config",
    ("config", rf"context {MARKS}"): "context",
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
]


class NotLegal(Exception):  # noqa: N818  (it is the answer that tests look for)
    """A line that the box would refuse."""


@dataclass
class Box:
    """A box that reads a file."""

    mode: str = "exec"
    values: dict[str, int | str] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    """The commands, without those that only change the mode."""

    def take(self, line: str) -> None:
        """Obey a command."""
        words = line.strip()
        if words == "end" and self.mode != "exec":
            self.mode = "exec"
            return
        for (mode, form), entered in _MODES.items():
            if mode == self.mode and re.fullmatch(form, words):
                self.mode = entered
                return
        if not (self._gate(words) or self._number(words)):
            raise NotLegal(f"in mode {self.mode}: {line!r}")
        self.lines.append(words)

    def _gate(self, words: str) -> bool:
        if self.mode != "config":
            return False
        if words == "default network-overload-protection mme-new-connections-per-second":
            self.values["nop_rate"] = "off"
            return True
        form = _GATE.fullmatch(words)
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
            "tau": form["tau"],
        }
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
                return True
        return False


def read(text: str) -> Box:
    """Let a box read a file."""
    if not text.isascii() or re.search(r"[|?\t\r]", text) or not text.endswith("\n"):
        raise NotLegal("must be ASCII with UNIX line ends, without tabs, pipes and question marks")
    box = Box()
    for line in text.split("\n")[:-1]:
        if len(line) > 250:
            raise NotLegal(f"too long: {line!r}")
        if not line.startswith("#"):
            box.take(line)
    if box.mode != "exec":
        raise NotLegal(f"ends in mode {box.mode}")
    return box
