"""From pydantic's errors to findings in plain words, and from findings to faults with file and line."""

from collections.abc import Mapping, Sequence
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from signalstorm.envs.model.errors import ABSENT, Fault, Finding, InputError, Path
from signalstorm.envs.model.knob_checks import nearest
from signalstorm.envs.model.scenario_paths import fields_at, kinds_at, split_unit

_FINDINGS = "findings"
"""Type of the custom error that carries findings, and the key under which it does."""


def several(findings: Sequence[Finding]) -> PydanticCustomError:
    """Return the error with which a validator reports several findings at once."""
    text = "; ".join(f"{'.'.join(map(str, finding.path))}: {finding.rule}" for finding in findings)
    return PydanticCustomError(_FINDINGS, "{text}", {"text": text, _FINDINGS: tuple(findings)})


def findings_of(error: ValidationError, data: Any, model: type[BaseModel]) -> list[Finding]:
    """Put a validation error into plain words.

    Args:
        error: What pydantic found.
        data: The data that were validated.
        model: The class by which they were validated.
    """
    found: list[Finding] = []
    for detail in error.errors(include_url=False):
        path = _path_in(data, detail["loc"])
        if detail["type"] == _FINDINGS:
            found += [
                finding._replace(path=path + finding.path) for finding in detail.get("ctx", {})[_FINDINGS]
            ]
        else:
            found.append(_finding(detail, path, data, model))
    return found


def input_error(
    findings: Sequence[Finding], file: str | None, lines: Mapping[Path, int] | None = None
) -> InputError:
    """Return the error for findings in a file, in the order of their lines.

    Args:
        findings: What is wrong.
        file: The file.
        lines: Line of each key, by path; a path without one has the line of the nearest key above it.
    """
    faults = [
        Fault(file, _line(path, lines), ".".join(map(str, path)), rule, value, way_out)
        for path, rule, value, way_out in findings
    ]
    return InputError(sorted(faults, key=lambda fault: fault.line or 0))


def _line(path: Path, lines: Mapping[Path, int] | None) -> int | None:
    if lines is None:
        return None
    above = (path[:length] for length in range(len(path), -1, -1))
    return next((lines[key] for key in above if key in lines), 1)


def _path_in(data: Any, location: tuple[int | str, ...]) -> Path:
    """Leave out what pydantic adds to a location: the tags of unions."""
    path: list[int | str] = []
    here = data
    for word in location:
        if isinstance(here, Mapping) and word not in here and here.get("kind") == word:
            continue
        if isinstance(here, Mapping):
            here = here.get(word, ABSENT)
        elif isinstance(here, list | tuple) and isinstance(word, int) and word < len(here):
            here = here[word]
        path.append(word)
    return tuple(path)


def _finding(detail: ErrorDetails, path: Path, data: Any, model: type[BaseModel]) -> Finding:
    kind, value, context = detail["type"], detail["input"], detail.get("ctx", {})
    fields = fields_at(model, path[:-1], data)
    field = fields.get(str(path[-1])) if path else None
    description, unit = split_unit(field.description or "") if field else ("", "")
    unit = f" {unit}" if unit and unit != "share" else ""
    if kind == "extra_forbidden":
        return Finding(path, "there is no such key here", ABSENT, nearest(str(path[-1]), fields))
    if kind == "missing":
        return Finding(path, "this key is missing", ABSENT, f"add it: {description}".rstrip(". "))
    if kind == "union_tag_not_found":
        rule = f"needs the key kind, one of {_tags(path, data, model)}"
        return Finding(path, rule, ABSENT, "add kind: ...")
    if kind == "union_tag_invalid":
        rule = f"must be one of {context['expected_tags']}"
        tags = str(context["expected_tags"]).replace("'", "").split(", ")
        return Finding((*path, "kind"), rule, context["tag"], nearest(str(context["tag"]), tags))
    if kind == "literal_error":
        words = str(context["expected"]).replace("'", "").replace(" or ", ", ").split(", ")
        return Finding(path, f"must be {context['expected']}", value, nearest(str(value), words))
    rule, way_out = _rule(kind, context, unit, detail["msg"])
    return Finding(
        path, rule, value, way_out or (f"meaning: {description}".rstrip(". ") if description else "")
    )


def _rule(kind: str, context: Mapping[str, Any], unit: str, message: str) -> tuple[str, str]:
    bounds = {
        "greater_than": ("must be greater than", "gt"),
        "greater_than_equal": ("must be at least", "ge"),
        "less_than": ("must be less than", "lt"),
        "less_than_equal": ("must be at most", "le"),
    }
    if kind in bounds:
        words, key = bounds[kind]
        return f"{words} {context[key]:g}{unit}", ""
    plain = {
        "finite_number": (f"must be a finite number{unit and f' of{unit}'}", ""),
        "float_type": (f"must be a number{unit and f' of{unit}'}", ""),
        "int_type": ("must be a whole number", ""),
        "bool_type": ("must be true or false", ""),
        "string_type": ("must be text", "put it in quotes"),
        "tuple_type": ("must be a list", ""),
        "mapping_type": ("must be a mapping of keys to values", ""),
        "model_type": ("must be a mapping of keys to values", ""),
        "model_attributes_type": ("must be a mapping of keys to values", ""),
        "string_pattern_mismatch": (f"must look like {context.get('pattern', '')}", ""),
        "too_short": (f"must have at least {context.get('min_length')} entries", "add one"),
        "too_long": (f"must have at most {context.get('max_length')} entries", "leave some out"),
    }
    return plain.get(kind, (message[:1].lower() + message[1:], ""))


def _tags(path: Path, data: Any, model: type[BaseModel]) -> str:
    kinds = kinds_at(model, path, data)
    words = [
        word
        for kind in kinds
        if "kind" in kind.model_fields
        for word in get_args(kind.model_fields["kind"].annotation)
    ]
    return ", ".join(words)
