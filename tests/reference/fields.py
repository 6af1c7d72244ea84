"""Reading a scenario, whether it is plain data or a typed object."""

from collections.abc import Mapping
from typing import Any, TypeVar

Fields = Mapping[str, Any]
T = TypeVar("T")


def plain(scenario: Any) -> Fields:
    """A scenario as nested mappings: a mapping stays as it is, a pydantic model is dumped."""
    return scenario if isinstance(scenario, Mapping) else scenario.model_dump()


def section(fields: Fields, name: str) -> Fields:
    """A nested mapping; empty where it is absent or null."""
    return fields.get(name) or {}


def value(fields: Fields, name: str, default: T) -> T:
    """A field; the default, which also tells the type, where it is absent or null."""
    found: T | None = fields.get(name)
    return default if found is None else found
