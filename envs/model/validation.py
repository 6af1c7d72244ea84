"""Validation that reports everything at once.

Pydantic stops short of the rules that tie fields together when a field is wrong, and does not look into a
part whose key is misspelt. So after the first pass the data are mended, as far as that is possible without
guessing what the user meant, and validated again for what else is wrong with them.
"""

import copy
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError

from signalstorm.envs.model.errors import Finding, Path
from signalstorm.envs.model.faults import Problem, problems_of
from signalstorm.envs.model.scenario_paths import fields_at
from signalstorm.envs.model.wording import closest

M = TypeVar("M", bound=BaseModel)

_PASSES = 5
_LOOSE_LISTS = ("timeline",)
"""Lists that stay meaningful without one of their items."""


class _Rename(NamedTuple):
    """A misspelt key that was mended for the next pass."""

    parent: Path
    wrong: str
    right: str


def validate(data: Any, model: type[M]) -> tuple[M | None, list[Finding]]:
    """Return the typed data, or None and everything that is wrong with them.

    Args:
        data: Nested mappings and lists, as read from a file.
        model: The class of the whole.
    """
    try:
        return model.model_validate(data), []
    except ValidationError as error:
        problems = problems_of(error, data, model)
    mender = _Mender(copy.deepcopy(data), model)
    findings: list[Finding] = []
    for _ in range(_PASSES):
        findings += mender.news(problems)
        if not mender.mend(problems):
            break
        try:
            model.model_validate(mender.data)
            break
        except ValidationError as error:
            problems = problems_of(error, mender.data, model)
    return None, findings


class _Mender:
    """Data on the way to be valid, and the way back to where the user wrote them."""

    def __init__(self, data: Any, model: type[BaseModel]) -> None:
        self.data = data
        self.model = model
        self.renames: list[_Rename] = []
        self.indices = {
            name: list(range(len(data[name])))
            for name in _LOOSE_LISTS
            if isinstance(data, dict) and isinstance(data.get(name), list)
        }
        self.seen: set[tuple[Path, str]] = set()
        self.removed: set[Path] = set()

    def news(self, problems: Sequence[Problem]) -> list[Finding]:
        """Return the findings that are not consequences of the mending, where the user wrote them."""
        renames = [rename for problem in problems if (rename := self._rename(problem))]
        known = {(*rename.parent, rename.right) for rename in renames}
        found = []
        for problem in problems:
            path = problem.finding.path
            # What is wrong with the default of a value that was taken out, the user never wrote.
            consequence = path in self.removed or (problem.kind == "missing" and path in known)
            original = self._original(path)
            if not consequence and (original, problem.finding.rule) not in self.seen:
                found.append(problem.finding._replace(path=original))
            self.seen.add((original, problem.finding.rule))
        return found

    def mend(self, problems: Sequence[Problem]) -> bool:
        """Rename misspelt keys and take wrong values out; tells whether anything was done."""
        done = False
        loose: set[tuple[str, int]] = set()
        for problem in problems:
            path = problem.finding.path
            if _is_item(path, self.indices):
                if problem.kind != "unknown" or not self._remove(path):
                    loose.add((str(path[0]), int(path[1])))
                done = True
            elif rename := self._rename(problem):
                parent = self._at(rename.parent)
                parent[rename.right] = parent.pop(rename.wrong)
                self.renames.append(rename)
                done = True
            elif problem.kind != "missing" and problem.kind != "whole":
                done |= self._remove(path)
        for name, index in sorted(loose, reverse=True):
            del self.data[name][index]
            del self.indices[name][index]
        return done

    def _rename(self, problem: Problem) -> _Rename | None:
        if problem.kind != "unknown":
            return None
        parent, wrong = problem.finding.path[:-1], str(problem.finding.path[-1])
        holder = self._at(parent)
        free = [name for name in fields_at(self.model, parent, self.data) if name not in holder]
        close = closest(wrong, free)
        return _Rename(parent, wrong, close) if close and wrong in holder else None

    def _remove(self, path: Path) -> bool:
        holder = self._at(path[:-1]) if path else None
        value = holder.get(path[-1]) if isinstance(holder, dict) else None
        if not isinstance(holder, dict) or path[-1] not in holder or _has_parts(value):
            return False
        del holder[path[-1]]
        self.removed.add(path)
        return True

    def _at(self, path: Path) -> Any:
        here = self.data
        for word in path:
            try:
                here = here[word]
            except (KeyError, IndexError, TypeError):
                return {}
        return here

    def _original(self, path: Path) -> Path:
        for rename in reversed(self.renames):
            depth = len(rename.parent)
            if path[: depth + 1] == (*rename.parent, rename.right):
                path = (*rename.parent, rename.wrong, *path[depth + 1 :])
        if _is_item(path, self.indices):
            path = (path[0], self.indices[str(path[0])][int(path[1])], *path[2:])
        return path


def _is_item(path: Path, lists: Mapping[str, list[int]]) -> bool:
    return len(path) > 1 and path[0] in lists and isinstance(path[1], int)


def _has_parts(value: Any) -> bool:
    """Tell whether a value has parts of its own, which other fields may refer to."""
    return isinstance(value, dict) or (isinstance(value, list) and any(isinstance(x, dict) for x in value))
