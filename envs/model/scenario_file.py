"""Scenario files: reading them by name or path, with every fault at once, and writing them."""

import difflib
import os
from importlib import resources
from pathlib import Path as FilePath
from typing import Any

from pydantic import ValidationError

from signalstorm.envs.model import yaml_lines
from signalstorm.envs.model.errors import ABSENT, Fault, Finding, InputError, wrong_input
from signalstorm.envs.model.faults import findings_of, input_error
from signalstorm.envs.model.scenario import Scenario

_LARGEST_BYTES = 10_000_000
_ENDING = ".yaml"


def list_names() -> list[str]:
    """Return the names of the packaged scenarios, sorted."""
    folder = resources.files("signalstorm.configs") / "scenarios"
    return sorted(
        entry.name.removesuffix(_ENDING) for entry in folder.iterdir() if entry.name.endswith(_ENDING)
    )


def load(name_or_path: str | os.PathLike[str]) -> Scenario:
    """Load a scenario by its name, or from a file.

    Text that ends in ``.yaml`` or ``.yml`` or holds a slash is a path, everything else a name.

    Raises:
        InputError: With every fault found.
    """
    text = os.fspath(name_or_path)
    if (
        isinstance(name_or_path, os.PathLike)
        or text.endswith((_ENDING, ".yml"))
        or "/" in text
        or os.sep in text
    ):
        return parse(_read(FilePath(text)), text)
    if text not in list_names():
        raise wrong_input("there is no such scenario", text, _nearest_scenario(text))
    file = resources.files("signalstorm.configs") / "scenarios" / f"{text}{_ENDING}"
    return parse(file.read_bytes(), f"{text}{_ENDING}")


def parse(content: bytes, file: str) -> Scenario:
    """Read a scenario from the content of a file.

    Args:
        content: What the file holds.
        file: What messages call it.

    Raises:
        InputError: With every fault found.
    """
    try:
        data, lines, findings = yaml_lines.read(_text(content, file))
    except yaml_lines.YamlError as error:
        raise InputError([Fault(file, error.line, "", error.rule, ABSENT, error.way_out)]) from None
    if data is None:
        raise wrong_input("the file is empty", way_out="start from `signalstorm scenarios new`", file=file)
    if not isinstance(data, dict):
        kind = "a list" if isinstance(data, list) else "a single value"
        way_out = "write `key: value` lines, as `signalstorm scenarios show` prints them"
        raise wrong_input(f"must hold keys with values, but holds {kind}", way_out=way_out, file=file)
    scenario, found = _validate(data)
    findings += found
    if findings or scenario is None:
        raise input_error(findings, file, lines)
    return scenario


def dump(scenario: Scenario) -> str:
    """Return a scenario as YAML that loads back equal; fields that have their default are left out."""
    return yaml_lines.write(scenario.model_dump(mode="json", exclude_unset=True))


def _validate(data: dict[str, Any]) -> tuple[Scenario | None, list[Finding]]:
    try:
        return Scenario.model_validate(data), []
    except ValidationError as error:
        return None, findings_of(error, data, Scenario)


def _text(content: bytes, file: str) -> str:
    if len(content) > _LARGEST_BYTES:
        size = f"{len(content) / 1e6:.1f} MB"
        raise wrong_input(f"must be at most {_LARGEST_BYTES / 1e6:g} MB, but has {size}", file=file)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        fault = Fault(file, line, "", "is not UTF-8 text", ABSENT, "save the file as UTF-8")
        raise InputError([fault]) from None


def _read(path: FilePath) -> bytes:
    file = str(path)
    try:
        if path.is_dir():
            raise wrong_input("is a folder", way_out="give the file inside it", file=file)
        with path.open("rb") as stream:
            return stream.read(_LARGEST_BYTES + 1)
    except FileNotFoundError:
        close = difflib.get_close_matches(path.name, _siblings(path), n=1)
        way_out = f"did you mean {path.with_name(close[0])}" if close else _names_way_out()
        raise wrong_input("there is no such file", way_out=way_out, file=file) from None
    except OSError as error:
        raise wrong_input(f"cannot be read: {error.strerror}", file=file) from None


def _siblings(path: FilePath) -> list[str]:
    try:
        return [entry.name for entry in path.parent.iterdir()]
    except OSError:
        return []


def _nearest_scenario(name: str) -> str:
    close = difflib.get_close_matches(name, list_names(), n=1)
    nearest = f"did you mean {close[0]}; " if close else ""
    return f"{nearest}{_names_way_out()}, or the path of a file"


def _names_way_out() -> str:
    return f"the packaged scenarios are {', '.join(list_names())}"
