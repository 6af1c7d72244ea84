import pytest

from signalstorm.agents.steering import start_of
from signalstorm.envs.families import FAMILIES, ids
from signalstorm.envs.model.errors import InputError
from signalstorm.envs.model.scenario_file import load
from signalstorm.envs.registry import options_of
from signalstorm.experiments.drawn_scenario import scenario_of


def test_an_environment_stands_for_its_scenario() -> None:
    assert scenario_of("signalstorm/AttachLteRandomised-v0") == load("attach-lte-randomised")
    assert scenario_of("CoreStormEasy") == load("core-storm-easy")
    assert scenario_of("site-loss") == load("site-loss")
    broken = scenario_of("IncidentSgsnBrokenKnob")
    assert broken == load("incident-sgsn-broken-knob")
    assert start_of(broken)["rto_max_ms"] == 60_000
    with pytest.raises(InputError, match="Such as IncidentSgsnRandomised"):
        scenario_of("IncidentSgsnHard")
    with pytest.raises(InputError, match="AttachLteRandomised"):
        scenario_of("AttachLteRandomized")


def test_episodes_of_environments_begin_as_loops_of_their_scenarios_do() -> None:
    drawn = [one for _, family, variant in ids() if (one := options_of(family.name, variant)).vary]
    assert len(drawn) > len(FAMILIES)
    for options in drawn:
        assert options.start == start_of(options.scenario)
