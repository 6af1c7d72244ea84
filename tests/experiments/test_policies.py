"""Policies and rules of another scenario or another model: refused with what differs, or let through and recorded."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("safetensors")
pytest.importorskip("gymnasium")

from signalstorm.agents import rule_file
from signalstorm.agents.laws.table import Row, Table
from signalstorm.agents.learnt import Learnt
from signalstorm.agents.steering import Lawful
from signalstorm.envs.model.errors import InputError
from signalstorm.envs.model.scenario_file import load
from signalstorm.experiments import advise, compare_all, compare_tables, contestants, distil
from signalstorm.experiments.compare import compare
from signalstorm.experiments.drawn_scenario import scenario_of
from signalstorm.experiments.loop_curves import write_curves
from signalstorm.experiments.policies import find_policy, find_rule
from signalstorm.experiments.policy_advice import policy_of
from signalstorm.experiments.run_folder import model_hash
from tests.experiments.bundles import save_policy

EASY = load("attach-lte-easy")
SHORTER = EASY.with_fields({"horizon_s": 600.0})
"""The same network, seen and moved in the same way, whose storms are watched for a shorter time."""
OTHER = "0123456789abcdef"
"""The hash of no model."""
TABLE = Table(rows=(Row((), 1.1),))


@pytest.fixture
def own(tmp_path: Path) -> Path:
    return save_policy(tmp_path / "own")


@pytest.fixture
def older(tmp_path: Path) -> Path:
    return save_policy(tmp_path / "older", model=OTHER)


def rule(path: Path, **sources: Any) -> Path:
    known = {"scenario": EASY.name, "scenario_hash": EASY.hash(), "model": model_hash()} | sources
    rule_file.save(path, rule_file.rule_file(TABLE, name="table", distilled_from=known))
    return path


def test_where_it_was_trained_nothing_differs(own: Path, caplog: pytest.LogCaptureFixture) -> None:
    for scenario in (EASY, None):
        found = find_policy(str(own), scenario)
        assert found is not None
        assert found.origin is not None
        assert found.origin.differs == {}
        assert found.origin.words == ""
        found.origin.warn()
    assert not caplog.records


def test_another_scenario_is_refused_though_all_that_is_seen_and_moved_is_the_same(own: Path) -> None:
    assert SHORTER.hash() != EASY.hash()
    was, now = EASY.hash()[:12], SHORTER.hash()[:12]
    said = (
        f"does not fit the environment: scenario was attach-lte-easy {was}, but is attach-lte-easy {now}. "
        "It was trained on attach-lte-easy: give that scenario, or train a policy for this one, or let it through "
        "with --transfer."
    )
    for look in (find_policy, contestants.find, policy_of):
        with pytest.raises(InputError) as refused:
            look(str(own), SHORTER)
        assert str(refused.value) == f"{own / 'policy'}: {said}"


def test_another_model_is_refused_and_everything_is_said_at_once(older: Path) -> None:
    with pytest.raises(
        InputError, match=rf"environment: model was 0123456789ab, but is {model_hash()[:12]}\. Train it"
    ):
        find_policy(str(older), EASY)
    with pytest.raises(InputError, match=r"scenario was .*; model was 0123456789ab, but is .* --transfer\."):
        find_policy(str(older), SHORTER)
    # Distilling looks at the policy in the environment that it was trained in.
    with pytest.raises(InputError, match=r"model was 0123456789ab, .* --transfer\."):
        distil.distil(older)


def test_a_bundle_that_names_no_model_is_of_another_one(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="model was unknown"):
        find_policy(str(save_policy(tmp_path, model=None)), EASY)


def test_what_is_seen_is_never_let_through(own: Path) -> None:
    for transfer in (False, True):
        with pytest.raises(InputError, match=r"scenario was attach-lte-easy .*features were trained") as refused:
            find_policy(str(own), load("incident-sgsn-easy"), transfer=transfer)
        assert "--transfer" not in str(refused.value)


def test_what_is_let_through_is_said_and_recorded(
    older: Path, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    found = compare(SHORTER, [older], 2, beyond=0, only=[], transfer=True, threads=1)
    (warning,) = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert "was made on another scenario and model: scenario was attach-lte-easy" in warning.getMessage()
    (said,) = found.to_json()["learnt"]
    differs = said.pop("differs")
    assert said == {
        "kind": "policy", "name": "older", "file": str(older / "policy"), "scenario": EASY.name,
        "scenario_hash": EASY.hash(), "model": OTHER,
        "sha256": json.loads((older / "policy" / "policy.json").read_text())["sha256"],
    }  # fmt: skip
    assert differs["scenario_hash"] == {"was": EASY.hash(), "is": SHORTER.hash()}
    assert differs["model"] == {"was": OTHER, "is": model_hash()}
    assert found.to_json()["model"] == model_hash()
    for text in (compare_tables.text(found), compare_tables.markdown(found), compare_tables.page([found])):
        assert "the policy older was made on another scenario and model" in text
    page = write_curves(str(older), "attach-lte-easy", tmp_path / "c.html", 1, transfer=True).read_text("utf-8")
    assert "The policy older was made on another model: model was 0123456789ab" in page
    with pytest.raises(InputError, match="model was"):
        write_curves(str(older), "attach-lte-easy", tmp_path / "c.html", 1)


def test_variants_of_the_scenario_itself_need_no_leave(own: Path, caplog: pytest.LogCaptureFixture) -> None:
    found = compare(EASY, [own], 2, beyond=2, only=[], threads=1)
    assert len(found.beyond) > 1
    assert all(runs[-1].name == "own" for runs in found.beyond.values())
    assert found.to_json()["learnt"][0]["differs"] == {}
    assert "another" not in compare_tables.markdown(found)
    assert not [record for record in caplog.records if record.levelno == logging.WARNING]


@pytest.mark.parametrize("environment", ["IncidentSgsnBrokenKnob", "IncidentSgsnRandomised", "CoreStormEasy"])
def test_a_policy_is_at_home_in_its_environment(tmp_path: Path, environment: str) -> None:
    folder = save_policy(tmp_path, environment)
    found = contestants.find(folder, scenario_of(environment))
    assert isinstance(found, Learnt)
    assert found.origin is not None
    assert found.origin.differs == {}
    with pytest.raises(InputError, match="scenario was"):
        contestants.find(folder, scenario_of("IncidentSgsnEasy"))


def test_all_policies_are_looked_at_before_one_is_trained(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    trained: list[str] = []
    monkeypatch.setattr(compare_all, "train", lambda name, **_: trained.append(name))
    older = save_policy(tmp_path / "attach-lte-easy-0", model=OTHER)
    (older / "result.json").write_text("{}")
    with pytest.raises(InputError, match=rf"model was .* Remove {older}, and it is trained anew, or let .* --transfer"):
        compare_all.compare_all(2, which=["IncidentSgsnEasy", "AttachLteEasy"], runs=tmp_path, out=tmp_path)
    assert trained == []


PLAN = distil.Plan(learn=range(4), choose=range(10_000, 10_003), refine=range(8, 12), judge=range(10_010, 10_012))


def test_a_table_from_a_policy_of_another_model_says_so(
    older: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(distil, "refined", lambda tables, *_: tables[0])
    made = distil.distil(older, rows=1, plan=PLAN, transfer=True).rule
    assert made.distilled_from is not None
    assert made.distilled_from["model"] == model_hash()
    assert made.distilled_from["trained_on"] == {
        "scenario": EASY.name, "scenario_hash": EASY.hash(), "model": OTHER,
    }  # fmt: skip
    assert "the policy was made on another model: model was 0123456789ab" in caplog.text


def test_rules_of_another_scenario_are_refused_and_of_another_model_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    own = rule(tmp_path / "rule.yaml")
    found = find_rule(str(own), EASY)
    assert isinstance(found, Lawful)
    assert found.origin is not None
    assert found.origin.differs == {}
    for refuse in (lambda: contestants.find(own, SHORTER), lambda: advise.rule_of(str(own), SHORTER)):
        with pytest.raises(InputError, match=r"the rule was made on another scenario: scenario was .* --transfer\."):
            refuse()
    assert not caplog.records
    for scenario, said in ((EASY, "another model"), (SHORTER, "another scenario and model")):
        older = rule(tmp_path / "older.yaml", model=OTHER)
        transfer = scenario is SHORTER
        (origin,) = compare(scenario, [older], 1, beyond=0, only=[], transfer=transfer, threads=1).learnt
        assert origin.to_json()["differs"]["model"] == {"was": OTHER, "is": model_hash()}
        assert f"the rule was made on {said}" in caplog.text
        advised = advise.advise(scenario, [], str(older), transfer=transfer).to_json()
        assert advised["learnt"]["model"] == OTHER


def test_rules_that_somebody_wrote_are_of_any_scenario(tmp_path: Path) -> None:
    rule_file.save(tmp_path / "mine.yaml", rule_file.rule_file(TABLE))
    found = contestants.find(tmp_path / "mine.yaml", SHORTER)
    assert isinstance(found, Lawful)
    assert found.origin is None
    rule_file.save(tmp_path / "mine.yaml", rule_file.rule_file(TABLE, distilled_from={"scenario": "elsewhere"}))
    with pytest.raises(InputError, match="scenario was elsewhere, but is attach-lte-easy"):
        contestants.find(tmp_path / "mine.yaml", EASY)
