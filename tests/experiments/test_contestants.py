"""Who takes part: by name, from files, from what others register, and what does not apply."""

import json
from pathlib import Path

import pytest

from signalstorm.agents.catalogue import LAWS, law_of
from signalstorm.agents.laws.rates import Aimd
from signalstorm.agents.steering import Lawful, Static, Steering
from signalstorm.envs.model.errors import InputError
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.model.scenario_file import load
from signalstorm.experiments import contestants

INCIDENT = load("incident-2014-randomised")


def test_names_apply_to_the_scenario() -> None:
    names = contestants.names(INCIDENT)
    assert names[:5] == ("present", "vendor-default", "vendor-advice", "vendor-advice-mean", "best-static")
    assert names[-1] == "clairvoyant"
    assert not {"dra-bands", "ddn-additive", "adaptive-lifo"} & set(names)
    assert set(contestants.left_out(INCIDENT)) == {"dra-bands", "ddn-additive", "adaptive-lifo"}
    assert "dra-bands" in contestants.names(load("dra-throttle-randomised"))
    assert "ddn-additive" in contestants.names(load("ddn-surge-randomised"))
    assert contestants.names(load("imsimgr-randomised")) == ("present", "vendor-default", "best-static")
    for name in names:
        assert contestants.find(name, INCIDENT).name == name


def test_settings_of_the_static_ones() -> None:
    start = INCIDENT.loop.start if INCIDENT.loop else {}
    assert contestants.find("present", INCIDENT).start(INCIDENT) == {}
    assert contestants.find("best-static", INCIDENT).start(INCIDENT) == start
    # Eight links of 275/s, four messages per attach.
    assert contestants.find("vendor-advice", INCIDENT).start(INCIDENT) == {**start, "nop_rate": 550}
    # 1.2 times 1,336,309 x 7.67e-5 + 1,049,957 x 7.64e-5 power-cycles per second.
    assert contestants.find("vendor-advice-mean", INCIDENT).start(INCIDENT)["nop_rate"] == 219
    default = contestants.find("vendor-default", INCIDENT).start(INCIDENT)
    assert (default["nop_rate"], default["rto_max_ms"]) == ("off", 60000)


def test_files_and_runs(tmp_path: Path) -> None:
    file = tmp_path / "night.yaml"
    file.write_text("nop_rate: 300\n")
    assert contestants.find(file, INCIDENT) == Static("night", {"nop_rate": 300})
    run = tmp_path / "run-7"
    run.mkdir()
    (run / "recommendation.json").write_text(json.dumps({"recommended": {"nop_rate": 320, "nop_wait_s": 5}}))
    assert contestants.find(run, INCIDENT) == Static("run-7", {"nop_rate": 320, "nop_wait_s": 5})


@pytest.mark.parametrize(
    ("thing", "said"),
    [("aimt", "Did you mean aimd"), ("dra-bands", "session database"), ("none/such.yaml", "no such file")],
)
def test_what_is_refused(thing: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        contestants.find(thing, INCIDENT)


def test_everything_wrong_with_several_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(InputError) as failure:
        contestants.find_all(["aimt", "aimd", tmp_path, "none/such.yaml"], INCIDENT)
    assert len(failure.value.faults) == 3
    assert "holds nothing that can be run: neither a recommendation" in str(failure.value)


def test_others_can_add_contestants(monkeypatch: pytest.MonkeyPatch) -> None:
    def policy(thing: str, scenario: Scenario) -> Steering | None:
        return Static("a policy", {"nop_rate": 111}) if thing.endswith(".zip") else None

    monkeypatch.setattr(contestants, "FINDERS", [policy])
    assert contestants.find("runs/policy.zip", INCIDENT).name == "a policy"
    assert isinstance(contestants.find("aimd", INCIDENT), Lawful)


def test_laws_from_names_and_parameters() -> None:
    assert law_of("aimd", {"decrease": 0.5}) == Aimd(decrease=0.5)
    with pytest.raises(InputError, match="Did you mean aimd"):
        law_of("aimed")
    with pytest.raises(InputError) as error:
        law_of("aimd", {"decreese": 0.5, "decrease": "half", "increase_per_s": True}, "laws.yaml")
    assert len(error.value.faults) == 3
    assert "decrease?" in str(error.value)
    for name, law in LAWS.items():
        assert law_of(name) == law()
        assert law.source
