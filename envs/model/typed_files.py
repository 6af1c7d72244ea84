"""YAML files of one class each, packaged or the user's own: studies, trainings, rules."""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from signalstorm.envs.model import validation, yaml_lines
from signalstorm.envs.model.errors import ABSENT, Fault, Finding, InputError, wrong_input
from signalstorm.envs.model.faults import in_file
from signalstorm.envs.model.files import read_text
from signalstorm.envs.model.wording import nearest

M = TypeVar("M", bound=BaseModel)
Look = Callable[[Mapping[str, Any]], Iterable[Finding | Fault]]
"""Looks at the data of a file for what its class cannot know; faults have places of their own."""

_ENDING = ".yaml"


@dataclass(frozen=True)
class Kind(Generic[M]):
    """A kind of file."""

    model: type[M]
    """What a file holds."""
    word: str
    """What messages call it, such as ``study``."""
    manual: str
    """The page that explains it."""
    folder: str = ""
    """Where the packaged ones lie, below ``configs``; empty: there are none."""
    prepare: Callable[[dict[str, Any]], dict[str, Any]] = field(default=dict)
    """Turns short forms into the full one."""

    def names(self) -> list[str]:
        """Return the names of the packaged files, sorted."""
        entries = (resources.files("signalstorm.configs") / self.folder).iterdir()
        return sorted(entry.name.removesuffix(_ENDING) for entry in entries if entry.name.endswith(_ENDING))

    def load(self, name_or_path: str | os.PathLike[str], look: Look | None = None) -> M:
        """Load a packaged file by its name, or a user's by its path.

        Args:
            name_or_path: The name, or the path.
            look: Looks for more faults.

        Raises:
            InputError: With every fault found.
        """
        text = os.fspath(name_or_path)
        if isinstance(name_or_path, os.PathLike) or text.endswith((_ENDING, ".yml")) or {"/", os.sep} & set(text):
            return self.read(Path(text), look)
        if text not in self.names():
            way_out = f"{nearest(text, self.names())}; a file needs its path, such as ./{text}{_ENDING}"
            raise wrong_input(f"there is no such {self.word}", text, way_out, key=f"--{self.word}")
        packaged = resources.files("signalstorm.configs") / self.folder / f"{text}{_ENDING}"
        return self.parse(packaged.read_text("utf-8"), text, look)

    def read(self, path: Path, look: Look | None = None) -> M:
        """Read a file.

        Args:
            path: The file.
            look: Looks for more faults.

        Raises:
            InputError: With every fault found.
        """
        return self.parse(read_text(path, f"give a {self.word} file"), str(path), look)

    def parse(self, text: str, file: str, look: Look | None = None) -> M:
        """Read the content of a file.

        Args:
            text: The content.
            file: What messages call it.
            look: Looks for more faults.

        Raises:
            InputError: With every fault found.
        """
        try:
            data, lines, findings = yaml_lines.read(text)
        except yaml_lines.YamlError as error:
            raise InputError([Fault(file, error.line, "", error.rule, ABSENT, error.way_out)]) from None
        if not isinstance(data, dict):
            raise wrong_input("must hold keys with values", way_out=f"see {self.manual}", file=file)
        found, faults = validation.validate(self.prepare(data), self.model)
        findings += faults
        more = [] if look is None else list(look(data))
        findings += [one for one in more if isinstance(one, Finding)]
        elsewhere = [one for one in more if isinstance(one, Fault)]
        if findings or elsewhere or found is None:
            raise InputError([*in_file(findings, file, lines), *elsewhere])
        return found
