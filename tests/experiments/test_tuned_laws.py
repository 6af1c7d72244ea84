"""Tuning of laws: on search storms only, kept with what they were tuned on, and read back."""

from importlib import resources
from pathlib import Path

import pytest
import yaml

from signalstorm.agents.catalogue import LAWS, law_of
from signalstorm.agents.plant import plant_of
from signalstorm.envs.model import scenario_file
from signalstorm.envs.model.errors import InputError
from signalstorm.envs.model.scenario_file import load
from signalstorm.experiments import tuned_laws
from signalstorm.experiments.contestants import laws
from signalstorm.experiments.tuned_laws import SPANS, main, tune_law
from tests.experiments.test_loops import LAB

FOLDER = Path(str(resources.files("signalstorm.configs"))) / "controllers"


def test_every_law_that_applies_anywhere_has_spans_of_its_own_parameters() -> None:
    assert set(SPANS) == set(LAWS) - {"adaptive-lifo"}
    for name, spans in SPANS.items():
        middle = {key: 0.5 * (span.low + span.high) for key, span in spans.items()}
        assert vars(law_of(name, middle)).items() >= middle.items()


def test_tuning_finds_better_parameters_and_the_same_ones_again() -> None:
    best, time_s, changes = tune_law("aimd", LAB, storms=6, trials=6)
    assert tune_law("aimd", LAB, storms=6, trials=6) == (best, time_s, changes)
    assert set(best) == set(SPANS["aimd"])
    default = tune_law("aimd", LAB, storms=6, trials=1)
    cost = 1.0 + tuned_laws.CHANGE_COST * max(changes - tuned_laws.MOST_CHANGES_PER_H, 0.0)
    before = 1.0 + tuned_laws.CHANGE_COST * max(default[2] - tuned_laws.MOST_CHANGES_PER_H, 0.0)
    assert time_s * cost <= default[1] * before


def test_the_file_says_what_they_were_tuned_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scenario_file, "load", lambda name: LAB)
    out = tmp_path / "lab.yaml"
    assert main(["lab", "--law", "aimd", "--storms", "4", "--trials", "2", "--out", str(out)]) == 0
    assert main(["lab", "--law", "doic-rate", "--storms", "4", "--trials", "2", "--out", str(out)]) == 0
    record = yaml.safe_load(out.read_text())
    assert record["scenario_hash"] == LAB.hash()
    assert record["tuned_on"]["first_storm"] == 0
    assert record["tuned_on"]["effort"]["aimd"] == {"storms": 4, "trials": 2}
    assert list(record["laws"]) == ["aimd", "doic-rate"]
    assert tuned_laws.tuned_laws(LAB, out.read_text(), "lab.yaml") == record["laws"]


def test_damaged_files_are_refused() -> None:
    for text, said in (
        ("laws: 3", "mapping"),
        ("laws: {aimt: {}}", "Did you mean aimd"),
        ("laws: {aimd: {x: 1}}", "parameter"),
    ):
        with pytest.raises(InputError, match=said):
            tuned_laws.tuned_laws(LAB, text, "x.yaml")
    assert tuned_laws.tuned_laws(LAB) == {}


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.yaml")), ids=lambda file: file.stem)
def test_packaged_files_belong_to_their_scenarios(file: Path) -> None:
    scenario = load(file.stem)
    record = yaml.safe_load(file.read_text("utf-8"))
    assert record["scenario_hash"] == scenario.hash()
    assert set(record["tuned_on"]["effort"]) == set(record["laws"])
    for effort in record["tuned_on"]["effort"].values():
        assert record["tuned_on"]["first_storm"] + effort["storms"] <= 10_000
    for name, parameters in record["laws"].items():
        assert not LAWS[name]().refuses(plant_of(scenario))
        assert laws(scenario)[name] == law_of(name, parameters)
