"""Reads a recommendation as the plain record that exporters need."""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol

import yaml

from signalstorm.envs.model.errors import ABSENT, Fault, InputError, wrong_input
from signalstorm.envs.model.knobs import KNOBS, Setting, validate

FILE = "recommendation.json"
"""The name of the file in a run's folder."""


class NotBetterError(InputError):
    """The recommended setting is worse than the present one on a held-out storm."""

    exit_code: ClassVar[int] = 1


class Record(Protocol):
    """A pydantic model, without the need for pydantic here."""

    def model_dump(self, *, mode: str) -> dict[str, Any]:
        """Return the model in JSON's own types."""


Recommended = Record | Mapping[str, Any] | str | os.PathLike[str]
"""A recommendation: the record, its content in JSON's types, a run's folder or a file."""


@dataclass(frozen=True)
class Source:
    """What an export is made from."""

    origin: str
    """The file, or how else the recommendation came."""
    content: Mapping[str, Any]
    """The whole recommendation in JSON's types."""
    sha256: str
    """Of the content, as JSON with sorted keys: the same for a file and for the record it was written from."""
    present: Setting
    """The setting in force."""
    recommended: Setting
    """The setting to export."""
    imsimgr_instances: int | None
    """IMSI managers that share the gate's rate; None where it is not known."""

    @property
    def never_worse(self) -> bool:
        """Whether no held-out storm is worse than under the present setting."""
        return bool(self.content["never_worse"])

    @property
    def verdict(self) -> str:
        """The verdict in words."""
        return str(self.content.get("verdict", ""))

    @property
    def scenario(self) -> Mapping[str, Any]:
        """Name and hash of the scenario."""
        scenario = self.content.get("scenario")
        return scenario if isinstance(scenario, Mapping) else {}


def read(recommendation: Recommended) -> Source:
    """Read and check a recommendation.

    Raises:
        InputError: If there is no such file, it is not a recommendation, or a setting in it is not legal.
    """
    if isinstance(recommendation, Mapping):
        return _source("recommendation", recommendation, None)
    if isinstance(recommendation, str | os.PathLike):
        path = Path(recommendation)
        path = path / FILE if path.is_dir() else path
        return _source(str(path), _parsed(path), path.parent)
    return _source("recommendation", recommendation.model_dump(mode="json"), None)


def _source(origin: str, content: Any, folder: Path | None) -> Source:
    if not isinstance(content, Mapping):
        raise wrong_input("must be a recommendation, an object of JSON", type(content).__name__, file=origin)
    kinds = {"never_worse": bool, "present": Mapping, "recommended": Mapping}
    faults = [
        Fault(origin, None, key, "must be there, as `signalstorm tune` writes it", content.get(key, ABSENT), "")
        for key, kind in kinds.items()
        if not isinstance(content.get(key), kind)
    ]
    if faults:
        raise InputError(faults)
    present, recommended = (_setting(content[key], f"{origin}: {key}") for key in ("present", "recommended"))
    sha256 = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    return Source(origin, content, sha256, present, recommended, _instances(folder))


def _setting(values: Mapping[str, Any], origin: str) -> Setting:
    if "nop_rate" in values and "nop_wait_s" not in values:
        values = {**values, "nop_wait_s": KNOBS["nop_wait_s"].default}  # the queue's rule needs it
    return validate(values, origin)


def _parsed(path: Path) -> Any:
    way_out = f"give a {FILE} or the folder of a run of `signalstorm tune`"
    try:
        return json.loads(path.read_bytes())
    except OSError as error:
        raise wrong_input(f"cannot be read: {error.strerror}", way_out=way_out, file=str(path)) from None
    except ValueError as error:
        raise wrong_input(f"must be JSON ({error})", way_out=way_out, file=str(path)) from None


def _instances(folder: Path | None) -> int | None:
    """Return the number of IMSI managers by the scenario file that a run keeps beside its recommendation."""
    try:
        text = (folder / "scenario.yaml").read_text("utf-8") if folder else "{}"
        count = yaml.safe_load(text)["topology"]["gate"]["instances"]
    except (OSError, ValueError, yaml.YAMLError, KeyError, TypeError):
        return None
    return count if isinstance(count, int) and count > 0 else None
