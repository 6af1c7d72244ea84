"""From a policy to a table: what is watched, what is chosen, what is written."""

from collections.abc import Mapping, Sequence
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
from signalstorm.agents.learnt import Learnt
from signalstorm.agents.policy import Policy, Shape, shapes
from signalstorm.agents.steering import Lawful, Steering
from signalstorm.envs.model.errors import InputError
from signalstorm.envs.model.scenario_file import load
from signalstorm.envs.observation import ACCEPTS, ADMITTED, FAILURES, REQUESTS, Reading
from signalstorm.experiments import contestants, distil
from signalstorm.experiments.distil_page import page
from signalstorm.experiments.evaluate import StormSet
from signalstorm.experiments.loops import LoopResult, run_loop
from signalstorm.experiments.refine import Score
from signalstorm.experiments.train import Judgement, facts_of
from signalstorm.experiments.training_environment import environment_of
from signalstorm.experiments.training_file import TrainingFile

TABLE = Table(rows=(Row((Condition("failed_share", above=True, value=0.1),), 0.9), Row((), 1.3)), step_share=4.0)
PLAN = distil.Plan(
    learn=range(8), choose=range(10_000, 10_004), refine=range(8, 12), judge=range(10_010, 10_014), trials=12
)


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
    assert "Of what the policy gains it keeps " in text or "The policy gains nothing here." in text
    assert f"changes of {rule.dead_band_share:.0%} or" in text
    # It takes part wherever a controller does, and does there what was judged.
    scenario = load("attach-lte-easy")
    steering = contestants.find(tmp_path / "rule.yaml", scenario)
    assert steering.name == "distilled"
    again = run_loop(steering, StormSet(scenario, tuple(PLAN.judge), vary=True))
    assert float(again.restricted_s.mean()) == found.table.rmst_s


def test_the_quickest_of_those_that_a_person_can_follow_of_each_length(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {0.1: (100.0, 40.0), 0.2: (120.0, 10.5), 0.3: (110.0, 10.9), 0.4: (300.0, 1.0)}
    told: list[tuple[int, int]] = []

    def run(steering: Lawful, options: object, numbers: object) -> tuple[float, float]:
        time_s, changes = known[steering.law.dead_band_share]
        # A long table is not better here.
        return time_s + len(cast(Table, steering.law).rows), changes

    monkeypatch.setattr(distil, "_run", run)
    monkeypatch.setattr(distil, "judge", lambda made: Judgement(made[0], 0.0, 1.0, made[1]))
    tables = [Table(rows=rows, dead_band_share=band) for rows in (TABLE.rows, TABLE.rows[1:]) for band in known]
    options = environment_of("AttachLteEasy").options
    chosen = distil.choose(tables, options, range(6), lambda stage, *how_far: told.append(how_far))
    assert [(len(one.rows), one.dead_band_share) for one in chosen] == [(1, 0.3), (2, 0.3)]
    assert told == [(done, 12) for done in range(12)]
    # Where all change too often, the one that does so least.
    assert distil.choose(tables[:1], options, range(1), lambda *_: None) == tables[:1]


def told_of(monkeypatch: pytest.MonkeyPatch, known: Mapping[float, Judgement]) -> tuple[Learnt, list[range]]:
    """Let tables do what is known by their dead band, the policy and the static setting something fixed."""
    asked: list[range] = []
    policy = cast(Learnt, SimpleNamespace(options=environment_of("AttachLteEasy").options))

    def run(steering: Steering, options: object, numbers: range) -> Judgement:
        asked.append(numbers)
        if isinstance(steering, Lawful):
            return known[steering.law.dead_band_share]
        return Judgement(100.0, 0.1, 1.0, 50.0) if steering is policy else Judgement(200.0, 0.3, 0.9, 0.0)

    monkeypatch.setattr(distil, "_run", run)
    monkeypatch.setattr(distil, "judge", lambda judged: judged)
    return policy, asked


@pytest.mark.parametrize(
    ("found", "kept"),
    [
        ({0.2: (110.0, 0.12), 0.3: (105.0, 0.11)}, 0.3),
        ({0.2: (110.0, 0.12), 0.3: (130.0, 0.16)}, 0.2),
        ({0.2: (160.0, 0.20), 0.3: (200.0, 0.10)}, 0.1),
        # The storm seems to end at once, but service is lost all the time.
        ({0.2: (1.0, 0.29), 0.3: (140.0, 0.18)}, 0.3),
    ],
)
def test_of_the_tables_of_a_search_the_one_that_loses_least_on_other_storms_stays(
    monkeypatch: pytest.MonkeyPatch, found: Mapping[float, tuple[float, float]], kept: float
) -> None:
    done = {0.1: (150.0, 0.20), **found}
    learnt, asked = told_of(
        monkeypatch, {band: Judgement(time_s, lost_h, 1.0, 10.0) for band, (time_s, lost_h) in done.items()}
    )
    start = Table(dead_band_share=0.1)

    def search(table: Table, scores: Sequence[Score], trials: int, told: object) -> list[Table]:
        assert table == start
        assert trials == PLAN.trials
        assert [score(table)[1] for score in scores] == pytest.approx([0.5, 0.5])
        return [Table(dead_band_share=band) for band in found]

    monkeypatch.setattr(distil, "refine", search)
    assert distil.refined([start], learnt, PLAN, lambda *_: None).dead_band_share == kept
    # Two sets of storms that share none, and those of the choice.
    assert set(asked) == {range(8, 9), range(9, 12), range(10_000, 10_004)}


def test_where_a_policy_gains_nothing_the_static_setting_is_the_measure(monkeypatch: pytest.MonkeyPatch) -> None:
    policy, static = Judgement(200.0, 0.3, 0.9, 50.0), Judgement(200.0, 0.3, 0.9, 0.0)
    monkeypatch.setattr(distil, "_run", lambda *_: Judgement(198.0, 0.3, 0.9, 10.0))
    monkeypatch.setattr(distil, "judge", lambda judged: judged)
    share = distil.Share(environment_of("AttachLteEasy").options, range(4), policy, static)
    assert share.lost(TABLE) == (0.0, 0.0)
    monkeypatch.setattr(distil, "_run", lambda *_: Judgement(198.0, 0.303, 0.9, 10.0))
    assert share.lost(TABLE)[1] == pytest.approx(1.0)


@pytest.mark.parametrize(("most", "kept"), [(0, 0.3), (12, 0.1)])
def test_more_changes_than_a_person_enters_outweigh_what_they_gain(
    monkeypatch: pytest.MonkeyPatch, most: int, kept: float
) -> None:
    known = {0.3: Judgement(150.0, 0.2, 1.0, 4.0), 0.1: Judgement(110.0, 0.12, 1.0, 12.0)}
    learnt, _ = told_of(monkeypatch, known)
    seldom, often = (Table(dead_band_share=band, most_per_hour=most) for band in known)
    monkeypatch.setattr(distil, "refine", lambda *_: [often])
    # A table that keeps its changes few by itself needs no average.
    assert distil.refined([seldom], learnt, PLAN, lambda *_: None).dead_band_share == kept


def test_candidates_have_the_limit_that_is_asked_for() -> None:
    columns = {name: np.linspace(0.0, 1.0, 8) for name in ("failed_share", "alarms")}
    samples = distil.Samples(columns, np.linspace(-0.1, 0.2, 8), np.ones(8))
    for most in (0, 12):
        tables = distil.candidates(samples, 4, most)
        assert {table.most_per_hour for table in tables} == {most}
        assert all(len(table.rows) <= 4 and not table.rows[-1].conditions for table in tables)
        assert len({table.dead_band_share for table in tables}) > 1


@pytest.mark.parametrize(
    ("static", "said"),
    [
        (
            (200.0, 0.3),
            "Of what the policy gains it keeps 80% in restricted mean time and 50% in service.",
        ),
        ((200.0, 0.1), "Of what the policy gains it keeps 80% in restricted mean time."),
        ((90.0, 0.1), "The policy gains nothing here."),
    ],
)
def test_the_page_says_what_is_kept_of_time_and_of_service(static: tuple[float, float], said: str) -> None:
    done = {"policy": (100.0, 0.1), "best_static": static, "rule": (120.0, 0.2)}
    evidence = {
        who: {"rmst_s": time_s, "lost_h": lost_h, "changes_per_hour": 1.0} for who, (time_s, lost_h) in done.items()
    }
    rule = rule_file.rule_file(TABLE).model_copy(update={"evidence": {"storms": [0, 4], **evidence}})
    assert f"On storms 0 to 3, which chose nothing of it. {said}" in page(rule)


def test_what_cannot_be_distilled(tmp_path: Path, policy: Path) -> None:
    with pytest.raises(InputError, match="holds no policy"):
        distil.distil(tmp_path)
    with pytest.raises(InputError, match="1 to 12"):
        distil.distil(policy, rows=13)
    with pytest.raises(InputError, match="1 to 60 per hour, or 0 for no limit") as failure:
        distil.distil(policy, rows=0, changes=-1)
    assert [fault.key for fault in failure.value.faults] == ["--rows", "--changes"]


def test_rules_of_another_knob_are_refused(tmp_path: Path) -> None:
    rule_file.save(tmp_path / "rule.yaml", rule_file.rule_file(TABLE))
    with pytest.raises(InputError, match="must be of dra_ccr_i_limit_per_s, which dra-throttle-randomised moves"):
        contestants.find(tmp_path / "rule.yaml", load("dra-throttle-randomised"))
