"""The export as one JSON record: the setting, its commands, and the evidence for it."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from signalstorm import __version__
from signalstorm.experiments.export import staros
from signalstorm.experiments.export.commands import not_exported
from signalstorm.experiments.export.releases import Release
from signalstorm.experiments.export.rule_page import Followed
from signalstorm.experiments.export.source import Source

FILE = "recommended.json"
"""The file's name."""

_EVIDENCE = (
    "nominal",
    "held_out",
    "safe_interval",
    "safe_words",
    "importance",
    "ped_anova",
    "search",
    "diagnosis",
    "checks",
    "versions",
)
"""The parts of a recommendation that are its evidence, each as it stands there."""


def record(source: Source, release: Release, names: Mapping[str, str], rule: Followed | None = None) -> dict[str, Any]:
    """Return the record in JSON's own types.

    Args:
        source: The recommendation.
        release: The release of the box.
        names: Names of its objects.
        rule: The rule that the runbook offers first, if any; the record says what it was made on.

    Raises:
        InputError: If the release has no command for a value, or a name is not legal.
    """
    plan = staros.plan(source, release)
    texts = staros.files(source, release, names)
    return {
        "format": "signalstorm recommended setting, version 1",
        "signalstorm": __version__,
        "scenario": source.content["scenario"],
        "verdict": source.record.verdict,
        "never_worse": source.never_worse,
        "altered": source.altered,
        "setting": dict(source.recommended),
        "present": dict(source.present),
        "release": release.number or None,
        "commands": {name: [asdict(command) for command in todo] for name, todo in plan.items()},
        "lines": {name: staros.lines(todo, names) for name, todo in plan.items()},
        "confirm_on_box": list(dict.fromkeys(d for todo in plan.values() for command in todo for d in command.confirm)),
        "not_exported": list(not_exported(source.recommended, source.present)),
        "hashes": {
            "recommendation": source.sha256,
            **{name: hashlib.sha256(text.encode()).hexdigest() for name, text in texts.items()},
        },
        "evidence": {key: source.content[key] for key in _EVIDENCE},
        **({} if rule is None else {"rule": rule.to_json()}),
    }


def files(source: Source, release: Release, names: Mapping[str, str], rule: Followed | None = None) -> dict[str, str]:
    """Return the file by its name."""
    return {FILE: json.dumps(record(source, release, names, rule), indent=2, allow_nan=False) + "\n"}
