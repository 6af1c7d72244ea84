"""Where something learnt comes from, a policy or a rule, and in what that differs from where it is to be used."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

_log = logging.getLogger(__name__)

BASIS = ("scenario", "scenario_hash", "model")
"""What something was learnt on: none of it is seen or moved, so others may do, but only where that is asked for."""
WAY_THROUGH = "or let it through with --transfer"
"""The way out of a refusal that `transfer` lifts."""
_DIGITS = 12
"""Digits of a hash that a sentence shows."""
_HEXADECIMAL = set("0123456789abcdef")


@dataclass(frozen=True)
class Origin:
    """What something was learnt on."""

    kind: Literal["policy", "rule"]
    """A policy, or a rule that was distilled from one."""
    name: str
    """What tables call it."""
    file: str
    """Where it lies."""
    sha256: str
    """The hash of all that it says of itself."""
    known: Mapping[str, Any] = field(default_factory=dict)
    """Scenario, its hash and the model that it was learnt on, by `BASIS`; what is not known is absent."""
    differs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """In what that differs from where it is used: `was` and `is`, by the name."""

    @property
    def words(self) -> str:
        """In what that differs, as a part of a sentence; empty where it does not."""
        if not self.differs:
            return ""
        scenario = ["scenario"] if {"scenario", "scenario_hash"} & set(self.differs) else []
        other = " and ".join([*scenario, *({"model"} & set(self.differs))])
        return f"was made on another {other}: {basis_words(self.differs)}"

    def warn(self) -> None:
        """Say what differs, if anything does."""
        if self.differs:
            _log.warning("%s: the %s %s; it is let through", self.file, self.kind, self.words)

    def to_json(self) -> dict[str, Any]:
        """Return it in JSON's own types."""
        plain = {name: self.known.get(name) for name in BASIS}
        differs = {name: dict(pair) for name, pair in self.differs.items()}
        return {
            "kind": self.kind, "name": self.name, "file": self.file, "sha256": self.sha256, **plain, "differs": differs,
        }  # fmt: skip


def differences(known: Mapping[str, Any], here: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return what differs, by name: `was` and `is`. Scenarios are told apart by their hashes where both are known.

    Args:
        known: What something says of itself.
        here: What is the case where it is to be used.
    """
    found = {name: {"was": known.get(name), "is": now} for name, now in here.items() if known.get(name) != now}
    if "scenario_hash" in here and "scenario" in here:
        found.pop("scenario", None)
        if "scenario_hash" in found:
            found["scenario"] = {"was": known.get("scenario"), "is": here["scenario"]}
    return found


def basis_words(differs: Mapping[str, Mapping[str, Any]]) -> str:
    """Return in what scenario and model differ, in words."""
    parts = []
    if "scenario" in differs or "scenario_hash" in differs:
        names, hashes = differs.get("scenario", {}), differs.get("scenario_hash", {})
        was, now = (" ".join(_short(pair[key]) for pair in (names, hashes) if key in pair) for key in ("was", "is"))
        parts.append(f"scenario was {was}, but is {now}")
    if "model" in differs:
        was, now = (_short(differs["model"][key]) for key in ("was", "is"))
        parts.append(f"model was {was}, but is {now}")
    return "; ".join(parts)


def _short(value: Any) -> str:
    """Return a name, or the first digits of a hash."""
    if value is None:
        return "unknown"
    text = str(value)
    return text[:_DIGITS] if len(text) > _DIGITS and set(text) <= _HEXADECIMAL else text
