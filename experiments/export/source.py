"""Reads a recommendation, with what its run's folder tells beside it."""

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import yaml

from signalstorm.envs.model.errors import InputError, located
from signalstorm.envs.model.knobs import KNOBS, KnobValue, Setting, validate
from signalstorm.envs.model.validation import validate as validate_data
from signalstorm.experiments.recommendation import Recommendation, digest, load

Recommended = Recommendation | Mapping[str, Any] | str | os.PathLike[str]
"""A recommendation: the record, its content in JSON's types, a run's folder or a file."""


CPU_EDGES = (50.0, 55.0, 60.0, 65.0, 70.0)
"""Lower edges of the bands of a Diameter agent's dynamic limit, where a scenario says nothing else [%]."""


class NotBetterError(InputError):
    """The recommended setting is worse than the present one on a held-out storm."""

    exit_code: ClassVar[int] = 1


WORSE = "WORSE THAN THE PRESENT SETTING ON AT LEAST ONE HELD-OUT STORM."
"""The sentence with which a forced export begins."""
ALTERED = "ALTERED AFTER THE SEARCH, SO THE EVIDENCE MAY NOT BE THAT OF THIS SETTING"
"""How a forced export says that the record is not as the search wrote it."""


@dataclass(frozen=True)
class Association:
    """A PSP of the box, which is changed by itself."""

    names: Mapping[str, str]
    """Its objects, by the keys of `commands.NAMES`."""
    values: Mapping[str, KnobValue]
    """What is in force on it, by knob."""

    def __str__(self) -> str:
        psp, server, domain = (self.names[key] for key in ("psp", "peer-server", "ss7-domain"))
        return f"PSP {psp} of peer server {server} in SS7 domain {domain}"


@dataclass(frozen=True)
class Source:
    """What exports and reports are made from."""

    origin: str
    """The file, or how else the recommendation came."""
    record: Recommendation
    """The recommendation."""
    present: Setting
    """The setting in force."""
    recommended: Setting
    """The setting to export."""
    imsimgr_instances: int | None
    """IMSI managers that share the gate's rate; None where it is not known."""
    cpu_edges: tuple[float, ...] = CPU_EDGES
    """Lower edges of the bands of the session database's CPU at a Diameter agent [%]."""
    associations: tuple[Association, ...] = ()
    """The PSPs of the box, where its configuration is known; none: one block stands for all."""
    differs: tuple[str, ...] = ()
    """Where the box is set otherwise than the setting that the search compared with, in words."""

    t3346_s: int | None = None
    """The back-off timer on the box, whether its gate uses it or not, where its configuration is known [s]."""
    gate_tail: str = ""
    """What the gate's line of an MME says on the box of tau, fwd-reloc and ddn; empty where that is not known."""
    changed_files: tuple[str, ...] = ()
    """Files of the search beside the recommendation that are not as it wrote them."""

    @property
    def never_worse(self) -> bool:
        """Whether no held-out storm is worse, by the record's own word and by its storms."""
        held_out = self.record.held_out
        return self.record.never_worse and not held_out.worse and not any(row.worse for row in held_out.storms)

    @cached_property
    def altered(self) -> list[str]:
        """The parts that were changed after the search had written them; none where the record has no hashes."""
        return [*(self.record.altered() if self.record.checks else ()), *self.changed_files]

    @cached_property
    def content(self) -> dict[str, Any]:
        """The whole recommendation in JSON's types."""
        return self.record.model_dump(mode="json")

    @cached_property
    def sha256(self) -> str:
        """Of the content: the same for a file and for the record it was written from."""
        return digest(self.content)


def read(recommendation: Recommended) -> Source:
    """Read and check a recommendation.

    Raises:
        InputError: If there is no such file, it is not a recommendation, or a setting in it is not legal.
    """
    folder, origin = None, "recommendation"
    if isinstance(recommendation, Recommendation):
        record = recommendation
    elif isinstance(recommendation, Mapping):
        found, findings = validate_data(dict(recommendation), Recommendation)
        if found is None:
            raise located(findings, origin)
        record = found
    else:
        path = Path(recommendation)
        record, folder, origin = load(path), path if path.is_dir() else path.parent, str(path)
    present, recommended = (_setting(values, origin) for values in (record.present, record.recommended))
    changed = tuple(_changed(record, folder)) if folder is not None else ()
    instances = _field(folder, ("gate", "instances"))
    edges = _field(folder, ("dra", "dynamic", "from_percent"))
    return Source(
        origin,
        record,
        present,
        recommended,
        instances if isinstance(instances, int) and instances > 0 else None,
        tuple(map(float, edges)) if isinstance(edges, list) and len(edges) == len(CPU_EDGES) else CPU_EDGES,
        changed_files=changed,
    )


def _changed(record: Recommendation, folder: Path) -> Iterator[str]:
    """Yield the files in a run's folder whose content is not that of which the recommendation has the hash."""
    for name, known in (record.checks.files if record.checks else {}).items():
        path = folder / name
        if path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() != known:
            yield name


def _setting(values: Mapping[str, Any], origin: str) -> Setting:
    if "nop_rate" in values and "nop_wait_s" not in values:
        values = {**values, "nop_wait_s": KNOBS["nop_wait_s"].default}  # the queue's rule needs it
    return validate(values, origin)


def _field(folder: Path | None, path: tuple[str, ...]) -> Any:
    """Return a field of the topology by the scenario that a run keeps beside its recommendation; None without it."""
    try:
        found = yaml.safe_load((folder / "scenario.yaml").read_text("utf-8") if folder else "{}")["topology"]
        for key in path:
            found = found[key]
    except (OSError, ValueError, yaml.YAMLError, KeyError, TypeError):
        return None
    return found
