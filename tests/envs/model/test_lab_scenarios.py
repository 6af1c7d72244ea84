"""The three laboratory scenarios are one laboratory."""

from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.model.scenario_file import load

PROSE = ("name", "description", "source")


def differing(one: Scenario, other: Scenario) -> dict[str, tuple[object, object]]:
    """Fields, beside the prose, in which two scenarios differ."""
    paths, others = one.paths(), other.paths()
    return {
        path: (paths[path].value if path in paths else None, others[path].value if path in others else None)
        for path in sorted(paths.keys() | others.keys())
        if path not in PROSE and (path not in paths or path not in others or paths[path] != others[path])
    }


def test_run_a_differs_in_the_demand_alone() -> None:
    assert differing(load("lab-pcrf"), load("lab-pcrf-a")) == {
        "demand.rate_per_s": (100.0, 50.0),
        "variation.demand.rate_per_s": ([80.0, 120.0], [40.0, 60.0]),
    }


def test_run_d_differs_in_the_gate_alone() -> None:
    assert differing(load("lab-pcrf"), load("lab-pcrf-nop50")) == {
        "present.nop_action": (None, "drop"),
        "present.nop_rate": ("off", 50),
        "present.nop_wait_s": (None, 5),
    }


def test_each_tells_its_own_story() -> None:
    for field in PROSE:
        assert len({getattr(load(name), field) for name in ("lab-pcrf", "lab-pcrf-a", "lab-pcrf-nop50")}) == 3
