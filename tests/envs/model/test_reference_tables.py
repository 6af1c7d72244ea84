"""The generated parts of the reference pages are up to date."""

from pathlib import Path

import pytest
from pydantic import BaseModel

from signalstorm.envs.model import reference_tables
from signalstorm.envs.model.knob_table import KNOBS
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.model.scenario_paths import models_in

DOCS = Path(__file__).parents[3] / "docs"


@pytest.mark.parametrize("name", ["knobs.md", "scenarios.md"])
def test_the_page_is_up_to_date(name: str) -> None:
    page = (DOCS / name).read_text(encoding="utf-8")
    assert reference_tables.renewed(page, reference_tables.pages()[name]) == page, (
        "run: python -m signalstorm.envs.model.reference_tables docs"
    )


def test_the_command_renews_the_pages_and_keeps_the_rest(tmp_path: Path) -> None:
    for name in ("knobs.md", "scenarios.md"):
        (tmp_path / name).write_text(f"# Mine\n\n{reference_tables.MARK}\n\noutdated\n")
    reference_tables.main(str(tmp_path))
    text = (tmp_path / "knobs.md").read_text()
    assert text.startswith(f"# Mine\n\n{reference_tables.MARK}\n\n| knob |")
    assert "outdated" not in text
    with pytest.raises(ValueError, match="has no line"):
        reference_tables.renewed("# Mine\n", "x")


def test_every_knob_and_every_part_of_a_scenario_is_there() -> None:
    knobs = reference_tables.knobs_markdown()
    assert all(f"`{name}`" in knobs for name in KNOBS)
    fields = reference_tables.fields_markdown()
    for part in _parts():
        for name, field in part.model_fields.items():
            assert f"| `{name}` | {(field.description or '').split(' [')[0].rstrip('.')}" in fields
    assert len(_parts()) == 45


def test_no_description_has_a_line_break_which_would_break_its_row_and_its_message() -> None:
    described = [(part, name, field) for part in _parts() for name, field in part.model_fields.items()]
    broken = [f"{part.__name__}.{name}" for part, name, field in described if "\n" in (field.description or "")]
    assert broken == []


def _parts() -> set[type[BaseModel]]:
    """Every part of a scenario, and the scenario."""
    parts: list[type[BaseModel]] = [Scenario]
    seen: set[type[BaseModel]] = set()
    while parts:
        part = parts.pop()
        seen.add(part)
        for field in part.model_fields.values():
            parts += [found for found in models_in(field.annotation) if found not in seen]
    return seen
