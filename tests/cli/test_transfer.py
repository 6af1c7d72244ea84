"""Commands refuse what was learnt on another scenario or model, and let it through with --transfer."""

import json
from pathlib import Path

import pytest

pytest.importorskip("safetensors")
pytest.importorskip("gymnasium")

from signalstorm.agents import rule_file
from signalstorm.cli import EXIT_OK, EXIT_REJECTED, EXIT_WRONG_INPUT
from signalstorm.envs.model import scenario_file
from signalstorm.experiments import distil
from signalstorm.experiments.policy_advice import needed, policy_of
from tests.cli.commands import Run
from tests.experiments.bundles import save_policy
from tests.experiments.recommendation_data import recommendation
from tests.experiments.test_policies import EASY, OTHER, PLAN, SHORTER, TABLE, rule


@pytest.fixture
def shorter(tmp_path: Path) -> Path:
    """Only the scenario's hash differs: what is seen and moved is the same."""
    path = tmp_path / "shorter.yaml"
    path.write_text(scenario_file.dump(SHORTER))
    return path


def test_evaluate_and_compare(run: Run, tmp_path: Path, shorter: Path) -> None:
    own = save_policy(tmp_path / "own")
    evaluate = ("evaluate", own, "--scenario", shorter, "--seeds", "1", "--json", "-q")
    compare = ("compare", "--with", own, "--scenario", shorter, "--seeds", "1", "--json", "-q",
               "--only", "present", "--beyond", "1", "--out", tmp_path / "out")  # fmt: skip
    for words in (evaluate, compare):
        code, out, err = run(*words)
        assert (code, out) == (EXIT_WRONG_INPUT, "")
        assert f"scenario was attach-lte-easy {EASY.hash()[:12]}, but is attach-lte-easy {SHORTER.hash()[:12]}" in err
        assert "--transfer" in err
        code, out, err = run(*words, "--transfer")
        assert code == EXIT_OK
        assert err.count("the policy was made on another scenario") == 1
        (learnt,) = json.loads(out)["learnt"]
        assert learnt["differs"]["scenario_hash"] == {"was": EASY.hash(), "is": SHORTER.hash()}
    assert json.loads((tmp_path / "out" / "compare.json").read_text())["learnt"] == [learnt]


def test_another_model(run: Run, tmp_path: Path) -> None:
    older = save_policy(tmp_path / "older", model=OTHER)
    words = ("evaluate", older, "--scenario", "AttachLteEasy", "--seeds", "1", "--curves", tmp_path / "c.html", "-q")
    code, _, err = run(*words)
    assert code == EXIT_WRONG_INPUT
    assert "model was 0123456789ab" in err
    assert not (tmp_path / "c.html").exists()
    code, out, err = run(*words, "--transfer")
    assert code == EXIT_OK
    assert "the policy older was made on another model" in out
    assert err.count("it is let through") == 1
    assert "made on another model" in (tmp_path / "c.html").read_text("utf-8")


def test_distil(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distil, "Plan", lambda: PLAN)
    monkeypatch.setattr(distil, "refined", lambda tables, *_: tables[0])
    older = save_policy(tmp_path / "older", model=OTHER)
    code, _, err = run("distil", older, "--rows", "1", "-q")
    assert code == EXIT_WRONG_INPUT
    assert "model was 0123456789ab" in err
    assert not (older / "rule.yaml").exists()
    code, out, err = run("distil", older, "--rows", "1", "-q", "--json", "--transfer")
    assert code == EXIT_REJECTED  # weights drawn at random help nobody
    assert "it is let through" in err
    assert "the table is no better than the setting with which its episodes begin" in err
    assert json.loads(out)["rule"]["distilled_from"]["interval_s"] == 10.0
    assert json.loads(out)["rule"]["distilled_from"]["trained_on"]["model"] == OTHER


def test_advise(run: Run, tmp_path: Path, shorter: Path) -> None:
    own = save_policy(tmp_path / "own")
    quantities = needed(policy_of(str(own), EASY), EASY)
    heads = [f"{one.name} per second" if one.is_rate else one.name for one in quantities]
    rows = [";".join(["time_s", *heads]), *(";".join([str(at), *("10" for _ in heads)]) for at in (10, 20))]
    (tmp_path / "now.csv").write_text("\n".join(rows) + "\n")
    for kind, thing in (("policy", own), ("rule", rule(tmp_path / "rule.yaml"))):
        words = ("advise", shorter, "--counters", tmp_path / "now.csv", "--set", "nop_rate=60", f"--{kind}", thing)
        code, _, err = run(*words)
        assert code == EXIT_WRONG_INPUT
        assert "scenario was attach-lte-easy" in err
        code, out, err = run(*words, "--transfer")
        assert code == EXIT_OK
        assert f"note: the {kind} was made on another scenario" in out
        assert err.count("it is let through") == 1
        code, out, _ = run(*words, "--transfer", "--json", "-q")
        assert json.loads(out)["learnt"]["differs"]["scenario_hash"]["was"] == EASY.hash()


def test_export(run: Run, tmp_path: Path) -> None:
    scenario = recommendation()["scenario"]
    (tmp_path / "recommendation.json").write_text(json.dumps(recommendation()))
    named = tmp_path / "elsewhere.yaml"
    words = ("export", tmp_path, "--target", "runbook", "--target", "json", "--json", "-q", "--out", tmp_path / "out")
    rule(named)
    code, _, err = run(*words, "--rule", named)
    assert code == EXIT_WRONG_INPUT
    assert f"scenario was attach-lte-easy {EASY.hash()[:12]}, but is lab-pcrf {scenario['hash']}" in err
    assert not (tmp_path / "out").exists()
    code, out, err = run(*words, "--rule", named, "--transfer")
    assert code == EXIT_OK
    assert "it is let through" in err
    assert json.loads(out)["rule"]["learnt"]["scenario_hash"] == EASY.hash()
    kept = json.loads((tmp_path / "out" / "recommended.json").read_text())
    assert kept["rule"]["learnt"]["differs"]["scenario_hash"] == {"was": EASY.hash(), "is": scenario["hash"]}
    page = (tmp_path / "out" / "runbook.md").read_text()
    assert "**The rule was made on another scenario: scenario was attach-lte-easy" in page
    assert "--transfer --set" in page
    # One that lies beside the recommendation is refused all the same; of another model it is only said.
    rule(tmp_path / "rule.yaml")
    assert run(*words)[0] == EXIT_WRONG_INPUT
    rule(tmp_path / "rule.yaml", scenario=scenario["name"], scenario_hash=scenario["hash"], model=OTHER)
    code, out, err = run(*words)
    assert code == EXIT_OK
    assert "was made on another model: model was 0123456789ab" in err
    assert json.loads(out)["rule"]["learnt"]["differs"]["model"]["was"] == OTHER
    page = (tmp_path / "out" / "runbook.md").read_text()
    assert "**The rule was made on another model" in page
    assert "--transfer" not in page
    # A rule that somebody wrote is of any scenario.
    rule_file.save(named, rule_file.rule_file(TABLE))
    code, out, err = run(*words, "--rule", named)
    assert (code, err) == (EXIT_OK, "")
    assert json.loads(out)["rule"] == {"name": str(named), "learnt": None}
