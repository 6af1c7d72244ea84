"""What the page sends, made by hand."""

from typing import Any

UPDATE = "/_dash-update-component"
OPEN = (
    "..base.data...knobs.children...charts.children...about.children...events.options...events.value"
    "...event-target.options...event-target.value...watch.disabled.."
)
ANSWER = "..answer.data...table.children...diagnosis.children.."


def body(output: str, *inputs: tuple[str, str, Any]) -> dict[str, Any]:
    """Return what the page sends to ask for an output."""
    wired = [dict(zip(("id", "property"), part.split("."), strict=True)) for part in output.strip(".").split("...")]
    return {
        "output": output,
        "outputs": wired if output.startswith("..") else wired[0],
        "inputs": [{"id": name, "property": field, "value": value} for name, field, value in inputs],
        "changedPropIds": [f"{name}.{field}" for name, field, _ in inputs],
    }


def opening(source: Any) -> dict[str, Any]:
    """Return what opens a source."""
    return body(OPEN, ("source", "value", source))


def moving(move: Any) -> dict[str, Any]:
    """Return what asks for the storm of a move."""
    return body(ANSWER, ("move", "data", move))
