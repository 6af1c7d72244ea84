"""Storms beyond those that anything was tuned or trained on: the out-of-distribution grid of a comparison."""

from collections.abc import Callable, Mapping

from signalstorm.envs.model.scenario import Scenario

Bounds = dict[str, tuple[float, float]]
Change = Callable[[Scenario, Bounds], dict[str, object]]
"""Changes the bounds in place, and returns fields of the nominal scenario to be changed."""

STUBBORN = 0.9
"""Share of handsets that ignore the long timer in the hardest variant [share]."""
CHURN = 1.5
"""Factor on power-cycles in the variant with more of them."""


def variants(scenario: Scenario) -> dict[str, Scenario]:
    """Return scenarios of the same network and events, each with one thing beyond the variation, by a name in words."""
    changes: Mapping[str, Change] = {
        "capacity x 0.7": lambda s, b: _capacity(s, b, 0.7),
        "capacity x 1.6": lambda s, b: _capacity(s, b, 1.6),
        "slow-downs deeper and longer": _slower,
        f"churn x {CHURN:g}": _churn,
        f"{STUBBORN:.0%} ignore the long timer": _stubborn,
    }
    found = {}
    for name, change in changes.items():
        bounds = scenario.variation_or_default()
        fields = change(scenario, bounds)
        if fields or bounds != scenario.variation_or_default():
            found[name] = scenario.with_fields({**fields, "variation": {path: list(b) for path, b in bounds.items()}})
    return found


def _capacity(scenario: Scenario, bounds: Bounds, factor: float) -> dict[str, object]:
    """Scale what the elements serve that vary; events that follow them move with them."""
    ends = (".rate_per_s", ".capacity_per_s")
    paths = [path for path in bounds if path.startswith("topology.") and path.endswith(ends) and ".peers." not in path]
    for path in paths:
        bounds[path] = (factor * bounds[path][0], factor * bounds[path][1])
    return {}


def _slower(scenario: Scenario, bounds: Bounds) -> dict[str, object]:
    """Halve what slow-downs leave, and let them last half as long again."""
    slow = {
        path.removesuffix(".value") for path in scenario.follows if path in bounds and bounds[path][1] < 1.0 - _NEAR
    }
    for head in slow:
        number = int(head.rpartition(".")[2])
        event = scenario.timeline[number]
        bounds[f"{head}.value"] = (0.5 * bounds[f"{head}.value"][0], 0.5 * bounds[f"{head}.value"][1])
        restored = [n for n, later in enumerate(scenario.timeline) if n > number and later.kind == event.kind
                    and later.target == event.target]  # fmt: skip
        for path in (f"timeline.{n}.time_s" for n in restored[:1]):
            if path in bounds:
                low, high = bounds[path]
                end = scenario.horizon_s * 0.9
                bounds[path] = (low, min(event.time_s + 1.5 * (high - event.time_s), end))
    return {}


_NEAR = 0.05
"""A draw that follows another within this share is a return to normal, not a slow-down."""


def _churn(scenario: Scenario, bounds: Bounds) -> dict[str, object]:
    """Let subscribers power-cycle more often."""
    fields: dict[str, object] = {}
    for group in scenario.subscribers:
        path = f"subscribers.{group.name}.churn_per_s"
        fields[path] = CHURN * group.churn_per_s
        if path in bounds:
            bounds[path] = (CHURN * bounds[path][0], CHURN * bounds[path][1])
    return fields


def _stubborn(scenario: Scenario, bounds: Bounds) -> dict[str, object]:
    """Let nearly everybody power-cycle rather than wait for the long timer."""
    for group in scenario.subscribers:
        bounds[f"subscribers.{group.name}.power_cycle_share"] = (STUBBORN, STUBBORN)
    return {}
