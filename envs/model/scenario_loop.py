"""What a closed loop moves while a storm goes on, and the setting that it starts from."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator, Field

from signalstorm.envs.model.errors import ABSENT, Finding, Path, Shown
from signalstorm.envs.model.faults import several
from signalstorm.envs.model.knob_checks import check
from signalstorm.envs.model.knob_table import KNOBS, KnobValue
from signalstorm.envs.model.scenario_parts import WHOLE, Part, whole_schema
from signalstorm.envs.model.wording import nearest

if TYPE_CHECKING:
    from signalstorm.envs.model.scenario import Scenario


def legal(values: Any) -> Any:
    """Return values by knob as the knob table writes them, each legal by itself and with the others."""
    if not isinstance(values, Mapping):
        return values
    legal, found = check({str(name): value for name, value in values.items()})
    if found:
        raise several(found)
    return legal


class Loop(Part):
    """What a closed loop moves while a storm goes on, and from where."""

    fast: Annotated[tuple[str, ...], Field(min_length=1)]
    """The knobs that it moves; all others stay as `start` has them."""
    start: Annotated[Mapping[str, KnobValue], BeforeValidator(legal)] = {}
    """The best static setting found for these storms, by knob, over the present one: where the loop starts."""
    delay: Annotated[int, WHOLE, Field(strict=True, ge=0, le=1000), whole_schema(0, 1000)] = 0
    """Intervals by which counters arrive late [control intervals]."""


def findings(scenario: "Scenario") -> Iterator[Finding]:
    """Yield every rule that the scenario's closed loop breaks."""
    loop = scenario.loop
    if loop is None:
        return
    named: list[tuple[Path, str]] = [(("loop", "start", name), name) for name in loop.start]
    for number, name in enumerate(loop.fast):
        path: Path = ("loop", "fast", number)
        if name not in KNOBS:
            yield Finding(path, "there is no such knob", name, nearest(name, KNOBS))
        elif KNOBS[name].change != "live" or KNOBS[name].kind == "choice":
            rule = "must be a number that can be changed while the element is in service"
            yield Finding(path, rule, Shown(f"{name} ({KNOBS[name].change})"), "leave it to the start")
        else:
            named.append((path, name))
    for place, name in named:
        element = KNOBS[name].element
        if getattr(scenario.topology, element) is None:
            rule = f"the knob {name} belongs to the {element}, which the topology does not have"
            yield Finding(place, rule, ABSENT, f"add topology.{element}, or leave the knob out")
