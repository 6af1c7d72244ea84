"""JSON schemas of the project's files, made from the classes that check them."""

from importlib import import_module
from typing import Any

from pydantic import BaseModel

from signalstorm.envs.model.errors import wrong_input
from signalstorm.envs.model.knob_table import KNOBS, Knob
from signalstorm.envs.model.wording import nearest

MODELS = {
    "scenario": "signalstorm.envs.model.scenario:Scenario",
    "study": "signalstorm.experiments.study_file:StudyFile",
    "recommendation": "signalstorm.experiments.recommendation:Recommendation",
}
"""The class of each kind of file, as ``module:attribute``."""
DIALECT = "https://json-schema.org/draft/2020-12/schema"
_SETTINGS = ("present", "recommended", "override")
"""Fields that hold values of knobs."""


def schema(name: str) -> dict[str, Any]:
    """Return the JSON schema of a kind of file.

    Args:
        name: One of `MODELS`.

    Raises:
        InputError: If there is no such kind.
    """
    if name not in MODELS:
        raise wrong_input("must be a kind of file that has a schema", name, nearest(name, MODELS), key="schema")
    module, attribute = MODELS[name].split(":")
    model: type[BaseModel] = getattr(import_module(module), attribute)
    found = {"$schema": DIALECT, **model.model_json_schema()}
    for field in _SETTINGS:
        if field in found["properties"]:
            found["properties"][field] = _setting(found["properties"][field])
    return found


def _setting(field: dict[str, Any]) -> dict[str, Any]:
    """Say of a setting which knobs there are and what is legal."""
    kept = {key: value for key, value in field.items() if key in ("description", "default", "title")}
    knobs = {name: _knob(knob) for name, knob in KNOBS.items()}
    return {**kept, "type": "object", "additionalProperties": False, "properties": knobs}


def _knob(knob: Knob) -> dict[str, Any]:
    said = {"description": f"{knob.meaning}; {knob.range_text}"}
    if knob.kind == "choice":
        return {**said, "enum": list(knob.choices)}
    low = 0 if knob.name == "nop_queue" else knob.low  # a queue that follows from rate and wait may be smaller
    kind = "integer" if knob.kind == "int" else "number"
    number = {"type": kind, "minimum": low, "maximum": knob.high}
    if knob.step != 1 and not knob.free:
        number["multipleOf"] = knob.step
    # YAML 1.1 reads the bare word off as false.
    words = [{"enum": [*knob.words, False] if "off" in knob.words else list(knob.words)}] if knob.words else []
    return {**said, "anyOf": [number, *words]} if words else {**said, **number}
