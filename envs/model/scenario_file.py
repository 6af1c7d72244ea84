"""Scenario files: reading them by name or path, with every fault at once, and writing them."""

import difflib
import os
import re
from dataclasses import replace
from importlib import resources
from pathlib import Path as FilePath

from signalstorm.envs.model import random_core, validation, yaml_lines
from signalstorm.envs.model.errors import ABSENT, Fault, InputError, Path, wrong_input
from signalstorm.envs.model.faults import in_file
from signalstorm.envs.model.knobs import unsettable
from signalstorm.envs.model.scenario import Scenario

_LARGEST_BYTES = 10_000_000
_ENDING = ".yaml"
_DRAWN_FORM = f"{random_core.NAME}-N"
DRAWN = f"{_DRAWN_FORM}, such as {random_core.NAME}-17, is a network drawn at random by its number"
"""What a list of scenarios says of those that no file holds."""


def list_names() -> list[str]:
    """Return the names of the packaged scenarios, sorted."""
    folder = resources.files("signalstorm.configs") / "scenarios"
    return sorted(entry.name.removesuffix(_ENDING) for entry in folder.iterdir() if entry.name.endswith(_ENDING))


def load(name_or_path: str | os.PathLike[str]) -> Scenario:
    """Load a scenario by its name, or from a file.

    Text that ends in ``.yaml`` or ``.yml`` or holds a slash is a path, everything else a name; ``random-core-17`` is
    the 17th scenario of the generator (see ``random_core``).

    Raises:
        InputError: With every fault found.
    """
    return check(name_or_path)[0]


def load_settable(name_or_path: str | os.PathLike[str]) -> Scenario:
    """Load a scenario like `load` whose present setting is to be one that knobs can have, as for a search.

    Raises:
        InputError: With every fault found, values that no knob can have among them.
    """
    content, file = read(name_or_path)
    scenario, lines = _parsed(content, file)
    if found := unsettable(scenario):
        raise InputError(in_file(found, file, lines))
    return scenario


def check(name_or_path: str | os.PathLike[str]) -> tuple[Scenario, list[Fault]]:
    """Load a scenario like `load`, and return with it what is allowed but probably not meant.

    Raises:
        InputError: With every fault found.
    """
    content, file = read(name_or_path)
    return _parse(content, file)


def read(name_or_path: str | os.PathLike[str]) -> tuple[bytes, str]:
    """Return what the file of a scenario holds, unchecked, and what messages call the file.

    Raises:
        InputError: If there is no such scenario or file, or it cannot be read.
    """
    text = os.fspath(name_or_path)
    if isinstance(name_or_path, os.PathLike) or text.endswith((_ENDING, ".yml")) or {"/", os.sep} & set(text):
        return _read(FilePath(text)), text
    drawn = re.fullmatch(rf"{random_core.NAME}-(\d{{1,9}})", text)
    if drawn:
        return dump(random_core.random_core(int(drawn[1]))).encode(), text
    if text not in list_names():
        raise wrong_input("there is no such scenario", text, _nearest_scenario(text))
    file = resources.files("signalstorm.configs") / "scenarios" / f"{text}{_ENDING}"
    return file.read_bytes(), f"{text}{_ENDING}"


def parse(content: bytes, file: str) -> Scenario:
    """Read a scenario from the content of a file.

    Args:
        content: What the file holds.
        file: What messages call it.

    Raises:
        InputError: With every fault found.
    """
    return _parse(content, file)[0]


def dump(scenario: Scenario) -> str:
    """Return a scenario as YAML that loads back equal; fields that have their default are left out."""
    return yaml_lines.write(scenario.model_dump(mode="json", exclude_unset=True))


def renamed(name_or_path: str | os.PathLike[str], name: str) -> str:
    """Return the file of a scenario under another name, comments and layout included.

    Raises:
        InputError: If the scenario has faults, or the name is not legal.
    """
    content, file = read(name_or_path)
    scenario = parse(content, file)
    try:
        wanted = scenario.with_fields({"name": name})
    except InputError as error:
        raise InputError([replace(error.faults[0], key="", rule=f"the name {error.faults[0].rule}")]) from None
    text = re.sub(r"^name:.*$", f"name: {name}", _text(content, file), count=1, flags=re.MULTILINE)
    try:
        kept = parse(text.encode(), file) == wanted
    except InputError:
        kept = False
    return text if kept else dump(wanted)


def _parse(content: bytes, file: str) -> tuple[Scenario, list[Fault]]:
    scenario, lines = _parsed(content, file)
    known = scenario.warnings()
    said = {finding.path for finding in known}
    known += [finding for finding in unsettable(scenario) if finding.path not in said]
    return scenario, in_file(known, file, lines)


def _parsed(content: bytes, file: str) -> tuple[Scenario, dict[Path, int]]:
    try:
        data, lines, findings = yaml_lines.read(_text(content, file))
    except yaml_lines.YamlError as error:
        raise InputError([Fault(file, error.line, "", error.rule, ABSENT, error.way_out)]) from None
    if data is None:
        raise wrong_input("the file is empty", way_out="start from `signalstorm scenarios new`", file=file)
    if not isinstance(data, dict):
        kind = "a list" if isinstance(data, list) else "a single value"
        way_out = "write `key: value` lines, as `signalstorm scenarios new` does"
        raise wrong_input(f"must hold keys with values, but holds {kind}", way_out=way_out, file=file)
    scenario, found = validation.validate(data, Scenario)
    findings += found
    if findings or scenario is None:
        raise InputError(in_file(findings, file, lines))
    return scenario, lines


def _text(content: bytes, file: str) -> str:
    if len(content) > _LARGEST_BYTES:
        raise wrong_input(f"must be at most {_LARGEST_BYTES / 1e6:g} MB", file=file)
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
        way_out = f"did you mean {path.with_name(close[0])}?" if close else "give an existing file"
        raise wrong_input("there is no such file", way_out=way_out, file=file) from None
    except OSError as error:
        raise wrong_input(f"cannot be read: {error.strerror}", file=file) from None


def _siblings(path: FilePath) -> list[str]:
    try:
        return [entry.name for entry in path.parent.iterdir()]
    except OSError:
        return []


def _nearest_scenario(name: str) -> str:
    close = [f"{random_core.NAME}-17"] if name.startswith(random_core.NAME) else []
    close += difflib.get_close_matches(name, list_names(), n=1)
    nearest = f"did you mean {close[0]}? " if close else ""
    names = ", ".join(list_names())
    return (
        f"{nearest}The packaged scenarios are {names}; {_DRAWN_FORM} is the Nth drawn at random; "
        f"a file needs its path, such as ./{name}.yaml"
    )
