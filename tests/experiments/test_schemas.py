"""JSON schemas: the same keys and ranges as the classes that check the files."""

from typing import Any

import pytest

from signalstorm.envs.model.errors import InputError
from signalstorm.envs.model.knob_table import KNOBS
from signalstorm.envs.model.scenario import Scenario
from signalstorm.experiments.recommendation import Recommendation
from signalstorm.experiments.schemas import schema
from signalstorm.experiments.study_file import StudyFile


@pytest.mark.parametrize(
    ("name", "model"), [("scenario", Scenario), ("study", StudyFile), ("recommendation", Recommendation)]
)
def test_every_field_with_its_meaning(name: str, model: Any) -> None:
    found = schema(name)
    assert set(found["properties"]) == set(model.model_fields)
    assert found["additionalProperties"] is False
    for part in [found, *found["$defs"].values()]:
        for key, field in part.get("properties", {}).items():
            assert field.get("description") or "$ref" in field, key


def test_settings_know_the_knobs() -> None:
    rate = schema("scenario")["properties"]["present"]["properties"]["nop_rate"]
    assert rate["anyOf"][0] == {"type": "integer", "minimum": 50, "maximum": 5000}
    assert "off" in rate["anyOf"][1]["enum"]
    assert set(schema("recommendation")["properties"]["recommended"]["properties"]) == set(KNOBS)


def test_whole_numbers_have_the_bounds_that_messages_give() -> None:
    parts = schema("study")["$defs"]
    for part, field, least, most in (
        ("Limits", "trials", 1, 1_000_000),
        ("StormRange", "first", 0, 9999),
        ("Confirmation", "held_out", 1, 10_000),
        ("Sampler", "points", 2, 10**10),
    ):
        found = parts[part]["properties"][field]
        assert (found["type"], found["minimum"], found["maximum"]) == ("integer", least, most)


def test_times_are_a_number_or_a_pair() -> None:
    ladder = schema("scenario")["$defs"]["GprsLadder"]["properties"]
    number, pair = ladder["t3311_s"]["anyOf"]
    assert (number["type"], pair["minItems"], pair["maxItems"]) == ("number", 2, 2)
    assert ladder["sends"]["minimum"] == 1


def test_an_unknown_kind() -> None:
    with pytest.raises(InputError, match="Did you mean scenario"):
        schema("scenaro")
