import subprocess
import sys
from typing import Any

import pytest

from signalstorm.envs.model.errors import InputError
from signalstorm.envs.registry import options_of, parse_id, resolve_id


def test_an_id_may_be_written_short() -> None:
    for name in (
        "signalstorm/IncidentSgsnEasy-v0",
        "signalstorm:signalstorm/IncidentSgsnEasy-v0",
        "IncidentSgsnEasy-v0",
        "IncidentSgsnEasy",
    ):
        parsed = parse_id(name)
        assert parsed is not None
        assert (parsed[0].name, parsed[1]) == ("IncidentSgsn", "Easy")
    assert parse_id("incident-2014") is None


def test_variants_differ_as_they_say() -> None:
    plain, hard = options_of("IncidentSgsn"), options_of("IncidentSgsn", "Hard")
    assert plain.knobs == plain.scenario.tunable
    assert (plain.action_mode, plain.vary, plain.delay) == ("absolute", False, 0)
    assert (hard.control_interval_s, hard.delay) == (300.0, 1)
    easy = options_of("IncidentSgsn", "Easy")
    assert (easy.knobs, easy.action_mode, easy.vary) == (("nop_rate",), "ratio", True)
    assert easy.interval_steps <= 40
    broken = options_of("IncidentSgsn", "BrokenKnob")
    assert broken.start["rto_max_ms"] == 60_000
    assert (broken.knobs, broken.action_mode, broken.vary) == (("nop_rate",), "ratio", True)
    given = options_of("IncidentSgsn", "BrokenKnob", scenario="incident-2014-randomised")
    assert given.start == {**options_of("IncidentSgsn", "Randomised").start, "rto_max_ms": 60_000}
    assert options_of("IncidentSgsn", "Discrete").action_mode == "discrete"


def test_any_scenario_is_an_environment() -> None:
    options = options_of("site-loss", action_mode="delta", control_interval_s=30.0, delay=2, storms=[5, 9])
    assert options.scenario.name == "site-loss"
    assert (options.control_interval_s, options.delay, options.storms) == (30.0, 2, (5, 9))


def test_a_family_takes_another_scenario() -> None:
    assert options_of("IncidentSgsn", scenario="incident-2014-advised").scenario.name == "incident-2014-advised"


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"dleay": 1}, "delay"),
        ({"delay": -1}, "whole number"),
        ({"action_mode": "relative"}, "absolute, delta, ratio, discrete"),
        ({"control_interval_s": 1e9}, "horizon"),
        ({"storms": [5, 5]}, "first < beyond"),
        ({"weights": {"alarm": 1.0}}, "alarms"),
        ({"vary": "yes"}, "true or false"),
        ({"shaping_gamma": 2}, "discount"),
        ({"knobs": "nop_rate"}, "list"),
        ({"largest_change": {"nop_rate": -1}}, "at least 0"),
    ],
)
def test_what_is_wrong_is_named(changes: dict[str, Any], word: str) -> None:
    with pytest.raises(InputError, match=word):
        options_of("IncidentSgsn", **changes)


def test_unknown_variants_and_missing_loops_are_explained() -> None:
    with pytest.raises(InputError, match="Incremental"):
        options_of("IncidentSgsn", "Incrementall")
    with pytest.raises(InputError, match="what a closed loop moves"):
        options_of("site-loss", "Randomised")


@pytest.mark.parametrize("order", ["import signalstorm, gymnasium", "import gymnasium, signalstorm"])
def test_environments_are_registered_in_whatever_order_one_imports(order: str) -> None:
    code = f"{order}; assert 'signalstorm/CoreStormHard-v0' in gymnasium.registry"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"delay": True}, "whole number of intervals"),
        ({"weights": {"alarms": float("inf")}}, "finite"),
        ({"weights": {"alarms": float("nan")}}, "finite"),
        ({"knobs": ["nop_rate", "nop_rate"]}, "each once"),
        ({"storms": (0, 10**30)}, "first storm"),
        ({"storms": (False, True)}, "first storm"),
        ({"scenario": 3}, "must be a scenario, or the name or path of one"),
        ({"largest_change": {"nop_rate": float("inf")}}, "finite"),
        ({"control_interval_s": 10**400}, "must lie between"),
    ],
)
def test_odd_values_are_named(changes: dict[str, Any], word: str) -> None:
    with pytest.raises(InputError, match=word):
        options_of("IncidentSgsn", **changes)


def test_all_faults_of_a_call_are_named_at_once() -> None:
    with pytest.raises(InputError) as failure:
        options_of("incident-2041", "Hrad", dleay=1, delay=True, weights={"alarms": float("nan")}, scenario=3)
    keys = [fault.key for fault in failure.value.faults]
    assert keys == ["dleay", "variant", "scenario", "delay", "weights"]
    with pytest.raises(InputError, match="no such environment or scenario") as failure:
        options_of("incident-2041", dleay=1)
    assert [fault.key for fault in failure.value.faults] == ["", "dleay"]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("signalstorm/IncidentSgsnEazy-v0", "Did you mean .*signalstorm/IncidentSgsnEasy-v0"),
        ("signalstorm:signalstorm/DraThrotle-v0", "Did you mean .*signalstorm/DraThrottle-v0"),
        ("IncidentSgsnRandomized", "Did you mean .*IncidentSgsnRandomised"),
        ("incident-2015", "incident-2014"),
        ("signalstorm:zzz", "One of: signalstorm/IncidentSgsn-v0"),
        ("quite-another", "The packaged scenarios are"),
        ("./nowhere.yaml", "no such file"),
    ],
)
def test_a_wrong_id_suggests_the_nearest(name: str, meant: str) -> None:
    with pytest.raises(InputError, match=meant):
        resolve_id(name)


def test_what_is_no_id_is_a_scenario() -> None:
    assert resolve_id("IncidentSgsnEasy") == ("IncidentSgsn", "Easy")
    assert resolve_id("site-loss") == ("site-loss", "")
    assert resolve_id("random-core-17") == ("random-core-17", "")
