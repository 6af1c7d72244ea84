"""From pydantic's errors to findings in plain words, and from findings to faults with file and line."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from signalstorm.envs.model.errors import ABSENT, Fault, Finding, Path
from signalstorm.envs.model.scenario_parts import is_number
from signalstorm.envs.model.scenario_paths import fields_at, kinds_at, split_unit
from signalstorm.envs.model.wording import nearest

_FINDINGS = "findings"
"""Type of the custom error that carries findings, and the key under which it does."""

_BOUNDS = {
    "greater_than": ("must be greater than", "gt"),
    "greater_than_equal": ("must be at least", "ge"),
    "less_than": ("must be less than", "lt"),
    "less_than_equal": ("must be at most", "le"),
}
_NUMBERS = {"float_type": "must be a number", "finite_number": "must be a finite number"}
_MAPPING = "must be a mapping of keys to values"
_PLAIN = {
    "int_type": "must be a whole number",
    "bool_type": "must be true or false",
    "string_type": "must be text",
    "tuple_type": "must be a list",
    "mapping_type": _MAPPING,
    "dict_type": _MAPPING,
    "model_type": _MAPPING,
    "model_attributes_type": _MAPPING,
}


class Problem(NamedTuple):
    """A finding with what kind it is."""

    kind: Literal["unknown", "missing", "value", "whole"]
    """A key that does not exist, one that is missing, a wrong value, or a rule over several fields."""
    finding: Finding
    """What is wrong."""


def several(findings: Sequence[Finding]) -> PydanticCustomError:
    """Return the error with which a validator reports several findings at once."""
    return PydanticCustomError(_FINDINGS, "{text}", {"text": " ".join(map(str, findings)), _FINDINGS: tuple(findings)})


def problems_of(error: ValidationError, data: Any, model: type[BaseModel]) -> list[Problem]:
    """Put a validation error into plain words.

    Args:
        error: What pydantic found.
        data: The data that were validated.
        model: The class by which they were validated.
    """
    problems: list[Problem] = []
    for detail in error.errors(include_url=False):
        if detail["type"] == "too_short" and detail["ctx"]["min_length"] <= len(detail["input"]):
            continue  # only because each entry has a fault of its own
        path = _path_in(data, detail["loc"])
        if path and isinstance(path[-1], int) and is_number(_at(data, path[:-1])):
            path = path[:-1]  # a number that stands for both ends of a pair
        if detail["type"] == _FINDINGS:
            kind: Literal["whole", "value"] = "value" if path else "whole"
            problems += [
                Problem(kind, finding._replace(path=path + finding.path)) for finding in detail["ctx"][_FINDINGS]
            ]
        else:
            problems.append(_problem(detail, path, data, model))
    return list({problem.finding[:2]: problem for problem in problems}.values())


def in_file(findings: Sequence[Finding], file: str | None, lines: Mapping[Path, int] | None) -> list[Fault]:
    """Say where in a file the findings are, in the order of their lines.

    Args:
        findings: What is wrong.
        file: The file.
        lines: Line of each key, by path; a path without one has the line of the nearest key above it.
    """
    faults = [
        Fault(file, line_of(finding.path, lines), finding.key, finding.rule, finding.value, finding.way_out)
        for finding in findings
    ]
    return sorted(faults, key=lambda fault: fault.line or 0)


def line_of(path: Path, lines: Mapping[Path, int] | None) -> int | None:
    """Return the line of a key, or of the nearest key above it; None where there are no lines."""
    if lines is None:
        return None
    above = (path[:length] for length in range(len(path), -1, -1))
    return next((lines[key] for key in above if key in lines), 1)


def _path_in(data: Any, location: tuple[int | str, ...]) -> Path:
    """Leave out what pydantic adds to a location: the tags of unions."""
    path: list[int | str] = []
    here = data
    for word in location:
        if isinstance(here, Mapping):
            if word not in here and here.get("kind") == word:
                continue
            here = here.get(word, ABSENT)
        elif isinstance(here, list | tuple) and isinstance(word, int) and word < len(here):
            here = here[word]
        path.append(word)
    return tuple(path)


def _at(data: Any, path: Path) -> Any:
    for word in path:
        data = data[word]
    return data


def _problem(detail: ErrorDetails, path: Path, data: Any, model: type[BaseModel]) -> Problem:
    kind, value, context = detail["type"], detail["input"], detail.get("ctx", {})
    named = path[:-1] if path and isinstance(path[-1], int) else path
    fields = fields_at(model, named[:-1], data) if named else {}
    field = fields.get(str(named[-1])) if named else None
    description, unit = split_unit(field.description or "") if field else ("", "")
    meaning = _inside_sentence(description.rstrip("."))
    if kind == "extra_forbidden":
        way_out = nearest(str(path[-1]), fields)
        return Problem("unknown", Finding(path, "there is no such key here", ABSENT, way_out))
    if kind == "missing":
        way_out = f"add it: {meaning}" if meaning else "add it"
        return Problem("missing", Finding(path, "this key is missing", ABSENT, way_out))
    if kind in ("union_tag_not_found", "union_tag_invalid"):
        tags = _tags(path, data, model)
        if kind == "union_tag_not_found":
            rule, way_out = "this key is missing", f"add it, {nearest('', tags)}"
            return Problem("missing", Finding((*path, "kind"), rule, ABSENT, way_out))
        tag = context["tag"]
        return Problem("value", Finding((*path, "kind"), _one_of(tags), tag, nearest(tag, tags)))
    if kind == "literal_error" and field:
        words = [str(word) for word in get_args(field.annotation)]
        return Problem("value", Finding(path, _one_of(words), value, nearest(str(value), words)))
    return Problem("value", Finding(path, _rule(detail, unit), value, _way_out(kind, value, meaning)))


def _one_of(words: Sequence[str]) -> str:
    return f"must be {'one of ' if len(words) > 1 else ''}{', '.join(words)}"


def _bound(value: float) -> str:
    """Return a bound: a large whole number in full, as it would be written."""
    return f"{value:,}" if isinstance(value, int) and 1e6 <= value < 1e15 else f"{value:g}"


def _rule(detail: ErrorDetails, unit: str) -> str:
    kind, context = detail["type"], detail.get("ctx", {})
    if kind in _BOUNDS:
        words, key = _BOUNDS[kind]
        return f"{words} {_bound(context[key])}{f' {unit}' if unit and unit != 'share' else ''}"
    if kind in _NUMBERS:
        return f"{_NUMBERS[kind]}{f', unit {unit}' if unit else ''}"
    if kind in ("too_short", "too_long"):
        word, key = ("least", "min_length") if kind == "too_short" else ("most", "max_length")
        return f"must have at {word} {context[key]} {'entry' if context[key] == 1 else 'entries'}"
    return _PLAIN.get(kind, _inside_sentence(detail["msg"]))


def _way_out(kind: str, value: Any, meaning: str) -> str:
    if kind in ("float_type", "int_type", "bool_type") and isinstance(value, str):
        return "write it without quotes, unit and thousands separators"
    if kind == "string_type" and not isinstance(value, list | dict):
        return "put it in quotes"
    return f"meaning: {meaning}" if meaning else ""


def _inside_sentence(text: str) -> str:
    """Lower the first letter, unless an acronym comes first, or a name and a colon, such as ``T3410:``."""
    first, _, _ = text.partition(" ")
    return text if first.endswith(":") or first[1:2].isupper() else f"{text[:1].lower()}{text[1:]}"


def _tags(path: Path, data: Any, model: type[BaseModel]) -> list[str]:
    """Return the words that ``kind`` may be at a path where the data do not tell which part is meant."""
    kinds = [kind for kind in kinds_at(model, path, data) if "kind" in kind.model_fields]
    return [word for kind in kinds for word in get_args(kind.model_fields["kind"].annotation)]
