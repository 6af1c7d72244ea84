"""Dotted paths into a scenario, such as ``topology.pcrf.rate_per_s`` or ``subscribers.handset.size``."""

import re
import types
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo as PydanticField

from signalstorm.envs.model.errors import ABSENT, Finding, Path
from signalstorm.envs.model.knob_table import KNOBS
from signalstorm.envs.model.wording import nearest

KEYED = ("present", "variation", "follows", "fitted")
"""Fields that are mappings with keys of their own, which may hold dots."""


class FieldInfo(NamedTuple):
    """A field as ``scenarios show`` prints it."""

    value: Any
    """The value in JSON's own types."""
    unit: str
    """The unit; empty where there is none."""
    description: str
    """What the field means."""


class UnknownPath(Exception):  # noqa: N818  (carries a finding, is never shown itself)
    """A dotted path leads nowhere."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.rule)
        self.finding = finding


def split_path(dotted: str, data: Mapping[str, Any], model: type[BaseModel]) -> Path:
    """Return the keys and indices that a dotted path names.

    Args:
        dotted: The path; a list's item goes by its index or, where it has one, by its name.
        data: The scenario in plain data.
        model: The class of the scenario.

    Raises:
        UnknownPath: If there is no such field.
    """
    head, _, rest = dotted.partition(".")
    if head in KEYED and rest:
        return (head, rest)
    path: list[str | int] = []
    here: Any = data
    kinds: list[type[BaseModel]] = [model]
    for word in dotted.split("."):
        if isinstance(here, list):
            index = _index(word, here)
            if index is None:
                names = [item.get("name", str(i)) if isinstance(item, dict) else str(i) for i, item in enumerate(here)]
                raise UnknownPath(_unknown(dotted, word, names))
            path.append(index)
            here = here[index]
            kinds = [kind for kind in kinds if _fits(kind, here)]
            continue
        fields = {name: field for kind in kinds for name, field in kind.model_fields.items()}
        if word not in fields:
            raise UnknownPath(_unknown(dotted, word, list(fields)))
        path.append(word)
        here = here.get(word) if isinstance(here, Mapping) else None
        kinds = [kind for kind in models_in(fields[word].annotation) if _fits(kind, here)]
    return tuple(path)


def kinds_at(model: type[BaseModel], path: Path, data: Any) -> list[type[BaseModel]]:
    """Return the classes that may stand at a path; several where the data do not tell which is meant."""
    kinds, here = [model], data
    for word in path:
        if isinstance(word, int):
            here = here[word] if isinstance(here, list | tuple) and word < len(here) else None
        else:
            fields = [kind.model_fields[word] for kind in kinds if word in kind.model_fields]
            here = here.get(word) if isinstance(here, Mapping) else None
            kinds = [found for field in fields for found in models_in(field.annotation)]
        fitting = [kind for kind in kinds if _fits(kind, here)]
        kinds = fitting or kinds
    return kinds


def fields_at(model: type[BaseModel], path: Path, data: Any) -> dict[str, PydanticField]:
    """Return the fields that may stand at a path, by name."""
    return {name: field for kind in kinds_at(model, path, data) for name, field in kind.model_fields.items()}


def put(data: dict[str, Any], path: Path, value: Any) -> None:
    """Write a value into plain data in place, creating mappings where there was null.

    Raises:
        UnknownPath: If the path leads through a value without parts, which can only have been put there before.
    """
    here: Any = data
    for word in path[:-1]:
        if isinstance(here, dict) and here.get(str(word)) is None:
            here[str(word)] = {}
        here = here[word] if _has_parts(here) else None
    if not _has_parts(here):
        rule = "lies inside another field that is set to a value without parts"
        raise UnknownPath(Finding((".".join(map(str, path)),), rule, ABSENT, "leave one of them out"))
    here[path[-1]] = value


def leaves(model: BaseModel, prefix: str = "") -> Iterator[tuple[str, FieldInfo]]:
    """Yield every field that is no part of its own: dotted path, value, unit and description."""
    plain = model.model_dump(mode="json")
    for name, field in type(model).model_fields.items():
        value = getattr(model, name)
        path = f"{prefix}{name}"
        description, unit = split_unit(field.description or "")
        if isinstance(value, BaseModel):
            yield from leaves(value, f"{path}.")
        elif isinstance(value, tuple) and value and isinstance(value[0], BaseModel):
            for number, item in enumerate(value):
                yield from leaves(item, f"{path}.{number}.")
        elif name == "present" and value:
            for knob in (KNOBS[key] for key in value):
                yield f"{path}.{knob.name}", FieldInfo(value[knob.name], knob.unit, f"{knob.meaning}.")
        elif name in KEYED and value:
            for key in value:
                yield f"{path}.{key}", FieldInfo(plain[name][key], unit, description)
        else:
            yield path, FieldInfo(plain[name], unit, description)


def split_unit(description: str) -> tuple[str, str]:
    """Split ``Time for which ... [s].`` into the sentence and the unit."""
    match = re.search(r"\s*\[([^\]]+)\]\.?$", description)
    return (f"{description[: match.start()]}.", match[1]) if match else (description, "")


def models_in(annotation: Any) -> list[type[BaseModel]]:
    """Return the model classes that a field's annotation names, at any depth."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    if get_origin(annotation) in (Annotated, Union, types.UnionType, tuple):
        return [model for argument in get_args(annotation) for model in models_in(argument)]
    return []


def _fits(kind: type[BaseModel], data: Any) -> bool:
    """Tell whether a member of a union told apart by ``kind`` is the one that the data mean."""
    field = kind.model_fields.get("kind")
    if field is None or not isinstance(data, Mapping):
        return True
    return data.get("kind") in get_args(field.annotation) or get_args(field.annotation) == ()


def _has_parts(value: Any) -> bool:
    return isinstance(value, dict | list)


def _index(word: str, items: list[Any]) -> int | None:
    if word.isdecimal() and int(word) < len(items):
        return int(word)
    named = [number for number, item in enumerate(items) if isinstance(item, dict) and item.get("name") == word]
    return named[0] if len(named) == 1 else None


def _unknown(dotted: str, word: str, known: list[str]) -> Finding:
    way_out = nearest(word, known) if known else "leave the path shorter"
    return Finding((dotted,), f"there is no scenario field {word!r} at this place", ABSENT, way_out)
