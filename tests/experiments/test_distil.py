"""From a policy to a table: what is watched, what is chosen, what is written."""

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

pytest.importorskip("safetensors")
pytest.importorskip("gymnasium")

from signalstorm.agents import rule_file
from signalstorm.agents.bundle import save
from signalstorm.agents.laws.table import Condition, Row, Table
from signalstorm.agents.policy import Policy, Shape, shapes
from signalstorm.agents.steering import Lawful
from signalstorm.envs.model.errors import InputError
from signalstorm.envs.model.scenario_file import load
from signalstorm.envs.observation import ACCEPTS, ADMITTED, FAILURES, REQUESTS, Reading
from signalstorm.experiments import contestants, distil
from signalstorm.experiments.evaluate import StormSet
from signalstorm.experiments.loops import LoopResult, run_loop
from signalstorm.experiments.refine import Score
from signalstorm.experiments.train import Judgement, facts_of
from signalstorm.experiments.training_environment import environment_of
from signalstorm.experiments.training_file import TrainingFile

TABLE = Table(rows=(Row((Condition("failed_share", above=True, value=0.1),), 0.9), Row((), 1.3)), step_share=4.0)
PLAN = distil.Plan(learn=range(8), choose=range(10_000, 10_004), refine=range(8, 12), judge=range(10_010, 10_014))


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A policy that sets the gate to 4 to the power of a constant, times what is completed."""
    environment = environment_of("AttachLteEasy")
    facts = facts_of(environment, TrainingFile())
    shape = Shape(len(facts["features"]), (4,), (1,), "box")
    weights = {name: np.zeros(size, np.float32) for name, size in shapes(shape).items()}
    weights["action.bias"][:] = np.log(1.2) / np.log(4.0)
    folder = tmp_path_factory.mktemp("run") / "policy"
    save(folder, Policy(shape, weights), facts)
    return folder


def test_what_is_seen_is_paired_with_the_rate_set_next() -> None:
    scenario = load("attach-lte-easy")
    rates = np.array([[100.0, 100.0], [80.0, 200.0], [120.0, 200.0]])
    accepts = np.array([[100.0, 100.0], [80.0, 20.0], [90.0, 90.0]])
    readings = tuple(
        Reading(
            60.0 * (i + 1),
            60.0,
            {REQUESTS: rates[i] / 2.0, ADMITTED: rates[i] / 2.0, ACCEPTS: accepts[i], FAILURES: np.array([0.0, 10.0])},
        )
        for i in range(3)
    )
    made = SimpleNamespace(
        storms=SimpleNamespace(scenario=scenario), values={"nop_rate": rates}, readings=readings,
        restricted_s=np.array([60.0 - scenario.convergence.count_from_s, 1e6]),
    )  # fmt: skip
    watched = cast(LoopResult, made)
    samples = distil.samples_of(watched)
    # The first storm is over after one interval; where less than 50 per s are completed, 50 are taken.
    np.testing.assert_allclose(np.exp(samples.target), [80 / 100, 200 / 100, 200 / 50])
    np.testing.assert_allclose(samples.columns["failed_share"], [0.0, 10 / 110, 10 / 30])
    np.testing.assert_allclose(samples.columns["completed_share"], [1.0, 1.0, 0.1])
    np.testing.assert_allclose(samples.weight, 0.5)
    late = distil.samples_of(watched, delay=1)
    np.testing.assert_allclose(np.exp(late.target), [200 / 100])


def test_a_constant_policy_becomes_its_constant(policy: Path, tmp_path: Path) -> None:
    stages: list[str] = []
    found = distil.distil(
        policy, out=tmp_path, rows=4, changes=12, plan=PLAN, progress=lambda stage, *_: stages.append(stage)
    )
    rule = rule_file.load(tmp_path)
    assert rule == found.rule
    assert 1 <= len(rule.rows) <= 4
    assert any(row.factor == pytest.approx(1.2, abs=0.05) for row in rule.rows)
    assert rule.distilled_from is not None
    assert rule.distilled_from["scenario_hash"] == load("attach-lte-easy").hash()
    assert rule.distilled_from["refining_storms"] == [8, 12]
    assert rule.evidence is not None
    assert rule.evidence["storms"] == [10_010, 10_014]
    assert rule.evidence["rule"] == vars(found.table)
    assert list(dict.fromkeys(stages)) == ["watch", "choose", "refine", "judge"]
    assert rule.most_per_hour == 12
    assert rule.evidence["rule"]["most_changes_in_an_hour"] <= 12
    text = (tmp_path / "rule.md").read_text()
    assert "It is changed at most 12 times in any 60 minutes." in text
    assert "| this rule |" in text
    assert f"changes of {rule.dead_band_share:.0%} or" in text
    # It takes part wherever a controller does, and does there what was judged.
    scenario = load("attach-lte-easy")
    steering = contestants.find(tmp_path / "rule.yaml", scenario)
    assert steering.name == "distilled"
    again = run_loop(steering, StormSet(scenario, tuple(PLAN.judge), vary=True))
    assert float(again.restricted_s.mean()) == found.table.rmst_s


def test_the_quickest_of_those_that_a_person_can_follow(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {0.1: (100.0, 40.0), 0.2: (120.0, 10.5), 0.3: (110.0, 10.9), 0.4: (300.0, 1.0)}

    def run(steering: Lawful, options: object, numbers: object) -> tuple[float, float]:
        return known[steering.law.dead_band_share]

    monkeypatch.setattr(distil, "_run", run)
    monkeypatch.setattr(distil, "judge", lambda made: Judgement(made[0], 0.0, 1.0, made[1]))
    tables = [Table(dead_band_share=band) for band in known]
    options = environment_of("AttachLteEasy").options
    assert distil.choose(tables, options, range(6), lambda *_: None).dead_band_share == 0.3
    # Where all change too often, the one that does so least.
    chosen = distil.choose(tables[:1], options, range(1), lambda *_: None)
    assert chosen.dead_band_share == 0.1


@pytest.mark.parametrize(
    ("on_choice", "kept"), [((90.0, 80.0), 0.3), ((90.0, 95.0), 0.2), ((101.0, 102.0), 0.1), ((100.0, 100.0), 0.1)]
)
def test_of_the_tables_of_a_search_the_best_on_other_storms_stays(
    monkeypatch: pytest.MonkeyPatch, on_choice: tuple[float, float], kept: float
) -> None:
    path = [Table(dead_band_share=band) for band in (0.1, 0.2, 0.3)]
    times = dict(zip((0.1, 0.2, 0.3), (100.0, *on_choice), strict=True))
    asked: list[range] = []

    def run(steering: Lawful, options: object, numbers: range) -> float:
        asked.append(numbers)
        # On the storms that move its numbers each is better than the one before.
        return times[steering.law.dead_band_share] if numbers.start == 10_000 else 1.0 - steering.law.dead_band_share

    def search(table: Table, scores: Sequence[Score], told: object) -> list[Table]:
        for score in scores:
            values = [score(one) for one in path]
            assert values == sorted(values, reverse=True)
        assert table == path[0]
        return path

    monkeypatch.setattr(distil, "_run", run)
    monkeypatch.setattr(distil, "judge", lambda time_s: Judgement(time_s, 2.0, 1.0, 0.0))
    monkeypatch.setattr(distil, "refine", search)
    options = environment_of("AttachLteEasy").options
    assert distil.refined(path[0], options, PLAN, lambda *_: None).dead_band_share == kept
    # Two sets of storms that share none, and those of the choice.
    assert set(asked) == {range(8, 9), range(9, 12), range(10_000, 10_004)}


def test_more_changes_than_a_person_enters_outweigh_what_they_gain(monkeypatch: pytest.MonkeyPatch) -> None:
    path = [Table(dead_band_share=band) for band in (0.3, 0.1)]
    monkeypatch.setattr(distil, "_run", lambda steering, *_: steering.law.dead_band_share)
    monkeypatch.setattr(distil, "judge", lambda band: Judgement(band, 1.0, 1.0, 1.2 / band))
    monkeypatch.setattr(distil, "refine", lambda *_: path)
    assert distil.refined(path[0], environment_of("AttachLteEasy").options, PLAN, lambda *_: None) == path[0]


def test_a_table_that_keeps_its_changes_few_needs_no_average(monkeypatch: pytest.MonkeyPatch) -> None:
    path = [Table(dead_band_share=band, most_per_hour=12) for band in (0.3, 0.1)]
    monkeypatch.setattr(distil, "_run", lambda steering, *_: steering.law.dead_band_share)
    monkeypatch.setattr(distil, "judge", lambda band: Judgement(band, 1.0, 1.0, 1.2 / band))
    monkeypatch.setattr(distil, "refine", lambda *_: path)
    assert distil.refined(path[0], environment_of("AttachLteEasy").options, PLAN, lambda *_: None) == path[1]


def test_candidates_have_the_limit_that_is_asked_for() -> None:
    columns = {name: np.linspace(0.0, 1.0, 8) for name in ("failed_share", "alarms")}
    samples = distil.Samples(columns, np.linspace(-0.1, 0.2, 8), np.ones(8))
    for most in (0, 12):
        tables = distil.candidates(samples, 4, most)
        assert {table.most_per_hour for table in tables} == {most}
        assert all(len(table.rows) <= 4 and not table.rows[-1].conditions for table in tables)
        assert len({table.dead_band_share for table in tables}) > 1


def test_what_cannot_be_distilled(tmp_path: Path, policy: Path) -> None:
    with pytest.raises(InputError, match="holds no policy"):
        distil.distil(tmp_path)
    with pytest.raises(InputError, match="1 to 12"):
        distil.distil(policy, rows=13)
    with pytest.raises(InputError, match="1 to 60 per hour, or 0 for no limit"):
        distil.distil(policy, changes=-1)


def test_rules_of_another_knob_are_refused(tmp_path: Path) -> None:
    rule_file.save(tmp_path / "rule.yaml", rule_file.rule_file(TABLE))
    with pytest.raises(InputError, match="must be of dra_ccr_i_limit_per_s, which dra-throttle-randomised moves"):
        contestants.find(tmp_path / "rule.yaml", load("dra-throttle-randomised"))
