"""Tune from the first trial to the recommendation: what it leaves behind, what it never does."""

import csv
import json
import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.importance import PedAnovaImportanceEvaluator

from signalstorm.cli import main
from signalstorm.envs.model import scenario_file
from signalstorm.envs.model.errors import InputError
from signalstorm.envs.model.knobs import KNOBS as TABLE
from signalstorm.envs.model.knobs import validate
from signalstorm.envs.model.storms import CHOICE, HELD_OUT
from signalstorm.experiments.evaluate import StormSet, evaluate
from signalstorm.experiments.recommendation import Recommendation, load
from signalstorm.experiments.storage import open_storage
from signalstorm.experiments.study_file import Limits, Pruner, Sampler, StudyFile
from signalstorm.experiments.tune import tune
from tests.experiments.tuning import KNOBS, SMALL, busy_scenario, small_scenario, write_small, write_study

BUDGET = replace(SMALL, trials=48)
"""Enough trials for PED-ANOVA."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Recommendation, Path]:
    folder = tmp_path_factory.mktemp("tune") / "run"
    return tune(busy_scenario(), knobs=KNOBS, out=folder, budget=BUDGET), folder


def _trials(folder: Path) -> list[dict[str, str]]:
    with (folder / "trials.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_the_recommendation_beats_the_present_setting(run: tuple[Recommendation, Path]) -> None:
    record, _ = run
    assert record.changed
    assert record.nominal.recommended.rmst_s < record.nominal.present.rmst_s
    assert record.never_worse == (not record.held_out.worse)
    assert record.verdict.startswith("WORSE" if record.held_out.worse else "The recommended setting ends the storm")


def test_the_recommended_setting_is_complete_legal_and_exportable(run: tuple[Recommendation, Path]) -> None:
    record, _ = run
    assert dict(validate(record.recommended)) == dict(record.recommended)
    assert set(record.override) <= set(record.recommended)
    assert all(TABLE[name].exportable for name in record.recommended)
    assert {row.knob for row in record.diff} >= {"nop_rate"}


def test_every_storm_set_keeps_to_its_own_range(run: tuple[Recommendation, Path]) -> None:
    record, folder = run
    seeds = json.loads((folder / "seeds.json").read_text("utf-8"))
    search = {*record.search.seeds, *record.search.guards}
    choice = {*record.search.choice, *record.search.choice_guards}
    held_out = {row.number for row in record.held_out.storms}
    assert max(search) < CHOICE <= min(choice) <= max(choice) < HELD_OUT <= min(held_out)
    assert {*seeds["search"], *seeds["search_guards"]} == search
    assert {*seeds["choice"], *seeds["choice_guards"]} == choice
    assert set(seeds["held_out"]) == held_out


def test_the_present_setting_is_trial_0_and_never_clipped(run: tuple[Recommendation, Path]) -> None:
    _, folder = run
    rows = _trials(folder)
    assert len(rows) == BUDGET.trials
    assert [row["number"] for row in rows] == [str(i) for i in range(BUDGET.trials)]
    assert (rows[0]["present"], rows[0]["nop_rate"]) == ("True", "off")
    assert all(row["present"] == "False" for row in rows[1:])


def test_no_setting_is_tried_twice(run: tuple[Recommendation, Path]) -> None:
    rows = _trials(run[1])
    settings = [tuple(value for key, value in row.items() if key in TABLE) for row in rows]
    assert len(set(settings)) == len(settings)


def test_a_trial_can_be_simulated_again(run: tuple[Recommendation, Path]) -> None:
    record, folder = run
    row = _trials(folder)[-1]
    storms = StormSet(busy_scenario(), tuple(int(n) for n in row["seeds"].split()), vary=True)
    names = [name for name in (*KNOBS[:2], "nop_action", "nop_queue", "diameter_tx_s") if row[name]]
    setting = {name: row[name] if name == "nop_action" else float(row[name]) for name in names}
    times = evaluate([setting], storms).outcomes.convergence_time_s[0]
    assert [float(t) for t in row["times_s"].replace("-", "nan").split()] == pytest.approx(list(times), nan_ok=True)
    assert len(record.search.seeds) + len(record.search.guards) == times.size


def test_the_folder_holds_everything(run: tuple[Recommendation, Path]) -> None:
    record, folder = run
    names = "scenario.yaml study.yaml command.txt versions.json seeds.json trials.csv series.csv log.txt report.html"
    assert all((folder / name).stat().st_size > 0 for name in names.split())
    assert load(folder) == record
    assert not record.altered()


def test_a_finished_run_is_not_run_again(run: tuple[Recommendation, Path], caplog: pytest.LogCaptureFixture) -> None:
    record, folder = run
    before = (folder / "journal.log").read_bytes()
    with caplog.at_level(logging.INFO, "signalstorm"):
        assert tune(busy_scenario(), knobs=KNOBS, out=folder, budget=BUDGET) == record
    assert (folder / "journal.log").read_bytes() == before
    assert "finished" in caplog.text


def test_a_finished_run_can_be_extended(run: tuple[Recommendation, Path], tmp_path: Path) -> None:
    budget = SMALL
    tune(busy_scenario(), knobs=KNOBS, out=tmp_path / "run", budget=budget, trials=10)
    tune(busy_scenario(), knobs=KNOBS, out=tmp_path / "run", budget=budget, trials=24)
    assert _trials(tmp_path / "run") == _trials(run[1])[:24]


def test_safe_intervals_hold_the_recommended_value(run: tuple[Recommendation, Path]) -> None:
    record, _ = run
    for name, interval in record.safe_interval.items():
        if name in record.recommended:
            assert interval.low <= float(record.recommended[name]) <= interval.high


def test_importance_and_map_come_from_what_each_knob_changes(run: tuple[Recommendation, Path]) -> None:
    record, _ = run
    assert record.importance is not None
    assert sum(record.importance.values()) == pytest.approx(1.0, abs=1e-3)
    for name, profile in record.profiles.items():
        change = max(profile.value_s) - min(profile.value_s)
        assert (record.importance[name] > 0) == (change >= 0.01 * min(profile.value_s))
        if name in record.recommended:
            assert record.recommended[name] in profile.values
    assert record.interaction is not None
    ranked = sorted(record.importance, key=lambda name: -(record.importance or {})[name])
    assert set(record.interaction.knobs) <= set(ranked[:3])
    assert record.interaction.recommended is not None
    for value, axis in zip(
        record.interaction.recommended, (record.interaction.first, record.interaction.second), strict=True
    ):
        assert value in axis


@pytest.mark.filterwarnings("ignore:Some regimes")  # the present setting, whose gate is off, is no point
def test_ped_anova_is_what_optuna_says_of_the_study(run: tuple[Recommendation, Path]) -> None:
    """Anybody who opens the store, as the dashboard does, finds the same."""
    record, folder = run
    study = optuna.load_study(study_name=None, storage=open_storage(None, folder / "journal.log"))
    found = optuna.importance.get_param_importances(study, evaluator=PedAnovaImportanceEvaluator())
    assert record.ped_anova is not None
    assert dict(record.ped_anova) == pytest.approx(found, abs=1e-4)


def test_series_leave_out_what_never_happens(run: tuple[Recommendation, Path]) -> None:
    with (run[1] / "series.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    largest: dict[tuple[str, str], float] = {}
    for row in rows:
        key = row["element"], row["quantity"]
        largest[key] = max(largest.get(key, 0.0), abs(float(row["value"])))
    assert ("handsets", "request rate") in largest
    assert min(largest.values()) > 0
    assert ("gate", "refused for network failure rate") not in largest


def test_the_record_says_when_t_counts(run: tuple[Recommendation, Path]) -> None:
    assert run[0].scenario.count_from_s == busy_scenario().convergence.count_from_s
    assert run[0].scenario.clock_start is None


def test_a_knob_without_effect_leaves_the_present_setting(tmp_path: Path) -> None:
    record = tune(small_scenario(), knobs=["t3346_s"], out=tmp_path / "run", budget=SMALL, trials=12)
    assert not record.changed
    assert record.never_worse
    assert record.recommended == record.present
    assert record.verdict.startswith("Keep the present setting: no setting tried is better")
    assert record.held_out.worst_ratio == 1.0


def test_where_no_storm_ends_the_setting_that_serves_more_is_recommended(tmp_path: Path) -> None:
    slow = {"topology.pcrf.rate_per_s": 20.0, "variation": {"topology.pcrf.rate_per_s": [18.0, 22.0]}}
    scenario = small_scenario().with_fields({**slow, "horizon_s": 13.0})  # the server alone needs at least 13.6 s
    record = tune(scenario, knobs=KNOBS, out=tmp_path / "run", budget=SMALL)
    assert record.nominal.present.converged_share == record.nominal.recommended.converged_share == 0.0
    assert record.changed
    assert record.never_worse
    assert record.nominal.recommended.subscriber_hours_lost is not None
    assert record.nominal.present.subscriber_hours_lost is not None
    assert record.nominal.recommended.subscriber_hours_lost < record.nominal.present.subscriber_hours_lost
    assert "subscriber-hours of service instead of" in record.verdict


def test_a_small_space_ends_before_the_asked_number(tmp_path: Path) -> None:
    record = tune(small_scenario(), knobs=["nop_action"], out=tmp_path / "run", budget=SMALL)
    assert record.search.trials == 3  # drop is the present action


def test_a_present_setting_inside_the_space_is_trial_0_of_it(tmp_path: Path) -> None:
    present = {"nop_rate": 90, "nop_wait_s": 5}
    scenario = small_scenario().with_fields({"present": present})
    record = tune(scenario, knobs=["nop_rate"], out=tmp_path / "run", budget=SMALL, trials=20)
    rows = _trials(tmp_path / "run")
    assert (rows[0]["present"], rows[0]["nop_rate"]) == ("True", "90")
    assert record.present["nop_rate"] == 90


def test_a_folder_of_another_scenario_is_refused(run: tuple[Recommendation, Path]) -> None:
    with pytest.raises(InputError) as caught:
        tune(busy_scenario("other-lab"), knobs=KNOBS, out=run[1], budget=BUDGET)
    assert "scenario=small-lab" in str(caught.value)
    assert "scenario=other-lab" in str(caught.value)
    assert "--out" in str(caught.value)


def test_a_folder_of_another_study_is_refused(run: tuple[Recommendation, Path]) -> None:
    with pytest.raises(InputError, match=r"storms\.seeds=4.*storms\.seeds=5"):
        tune(busy_scenario(), knobs=KNOBS, out=run[1], budget=BUDGET, seeds=5)


def test_another_storage_gives_the_same_answer(
    run: tuple[Recommendation, Path], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    url = f"sqlite:///{tmp_path}/trials.db"
    record = tune(busy_scenario(), knobs=KNOBS, out=tmp_path / "run", budget=BUDGET, storage=url)
    assert record.checks == run[0].checks
    assert "SQLite" not in caplog.text
    tune(busy_scenario(), knobs=KNOBS, out=tmp_path / "second", budget=BUDGET, storage=url)
    assert "SQLite does not stand several workers" in caplog.text
    with pytest.raises(InputError, match="another study of the name small-lab"):
        tune(busy_scenario(), knobs=KNOBS, out=tmp_path / "other", budget=BUDGET, seeds=5, storage=url)
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize(
    ("wrong", "rule"),
    [
        ({"storage": "nothing://here"}, "--storage: cannot be opened"),
        ({"storage": "/dev/null"}, "--storage: cannot be opened"),
        ({"jobs": 0}, "--jobs: must be 1 to"),
        ({"engine": "slurm"}, "--engine: must be local or ray"),
    ],
)
def test_refused_input_leaves_no_folder_behind(wrong: dict[str, Any], rule: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=rule):
        tune(small_scenario(), out=tmp_path / "runs" / "run", budget=SMALL, **wrong)
    assert not (tmp_path / "runs").exists()


def test_a_range_beyond_a_knobs_own_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("knobs:\n  nop_action:\n  nop_rate: {low: 1, high: 9999}\n  nop_ratte:\n", "utf-8")
    with pytest.raises(InputError) as caught:
        tune(small_scenario(), study=path, out=tmp_path / "run", budget=SMALL)
    unknown, beyond = sorted(str(caught.value).splitlines(), reverse=True)
    assert unknown.startswith(f"{path}:4: knobs.nop_ratte")
    assert beyond.startswith(f"{path}:3: knobs.nop_rate: its range must have low <= high")


def test_another_choice_of_knobs_is_named_in_full(run: tuple[Recommendation, Path]) -> None:
    with pytest.raises(InputError) as caught:
        tune(busy_scenario(), knobs=["nop_rate", "nop_action"], out=run[1], budget=BUDGET)
    assert f"(knobs=[{', '.join(KNOBS)}]), asked is (knobs=[nop_rate, nop_action])" in str(caught.value)


def test_the_command_refuses_the_folder_of_another_scenario(
    run: tuple[Recommendation, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _exit("tune", str(write_small(tmp_path, "other-lab")), "--out", str(run[1])) == 2
    assert "other-lab" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--seeds", "--trials"])
def test_no_storms_or_trials_are_wrong_input(option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _exit("tune", "lab-pcrf", option, "0", "--out", str(tmp_path / "run")) == 2
    assert option in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_a_folder_that_cannot_be_written_is_wrong_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("", "utf-8")
    assert _exit("tune", "lab-pcrf", "--out", str(tmp_path / "file" / "run")) == 2
    assert "--out" in capsys.readouterr().err


def test_unknown_knobs_are_all_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["tune", "lab-pcrf", "--knobs", "nop_ratte,pcrf_rate_per_s", "--out", str(tmp_path / "run")]
    assert _exit(*arguments) == 2
    err = capsys.readouterr().err
    assert "Did you mean nop_rate?" in err
    assert "pcrf_rate_per_s" in err


def test_a_present_value_that_no_knob_can_have_is_refused_before_the_search(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "my-lab.yaml"
    changed = {"name": "my-lab", "topology.gateway.tx_s": 2.5, "topology.pcrf.rate_per_s": 37.25, "variation": None}
    text = scenario_file.dump(scenario_file.load("lab-pcrf").with_fields(changed))
    file.write_text(text, "utf-8")
    line = next(number for number, row in enumerate(text.splitlines(), 1) if row.strip().startswith("tx_s:"))
    assert _exit("tune", str(file), "--trials", "3", "--seeds", "2", "--out", str(tmp_path / "run")) == 2
    err = capsys.readouterr().err
    assert f"{file}:{line}: topology.gateway.tx_s: to be tuned, it must be a setting of the knob diameter_tx_s" in err
    assert "but got 2.5 s. The nearest legal value is 2 s" in err
    assert "pcrf" not in err
    assert not (tmp_path / "run").exists()
    with pytest.raises(InputError, match=r"topology\.gateway\.tx_s"):
        tune(scenario_file.load(file), out=tmp_path / "run")
    assert [warning.key for warning in scenario_file.check(file)[1]] == ["topology.gateway.tx_s"]


def test_the_command_says_1_where_nothing_is_better(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, out, study = str(write_small(tmp_path)), str(tmp_path / "run"), ("--study", str(write_study(tmp_path)))
    assert _exit("tune", file, "--knobs", "t3346_s", "--trials", "4", "--out", out, "-q", "--json", *study) == 1
    shown = json.loads(capsys.readouterr().out)
    assert shown["verdict"].startswith("Keep the present setting")


def test_where_no_setting_keeps_a_limit_the_present_one_stays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = write_study(tmp_path, "constraints: {time: 1.0}\n")
    file, out = str(write_small(tmp_path)), str(tmp_path / "run")
    assert _exit("tune", file, "--study", str(study), "--trials", "20", "--out", out, "-q", "--json") == 1
    shown = json.loads(capsys.readouterr().out)
    trials = _trials(tmp_path / "run")
    least = min(trials, key=lambda row: float(row["value_s"]))
    assert shown["verdict"] == (
        f"Keep the present setting: no trial keeps time at most 1: the least is {float(least['value_s']):.4g} (trial "
        f"{least['number']}), the present setting breaks the limit, too, with {float(trials[0]['value_s']):.4g}."
    )
    assert not any("faster on average" in sentence for sentence in shown["diagnosis"])
    assert not shown["changed"]
    assert shown["override"] == {}
    assert shown["search"]["feasible"] == 0
    assert all(row["feasible"] == "False" for row in _trials(tmp_path / "run"))


def test_the_best_trial_is_the_best_feasible_one(run: tuple[Recommendation, Path]) -> None:
    record, folder = run
    rows = _trials(folder)
    assert {row["feasible"] for row in rows} == {"True", "False"}
    assert record.pareto is not None
    on_front = [next(row for row in rows if row["number"] == str(point.trial)) for point in record.pareto]
    assert all(row["feasible"] == "True" for row in on_front)
    quickest = min(float(row["value_s"]) for row in rows if row["feasible"] == "True")
    assert record.pareto[0].values["time"] == pytest.approx(quickest, abs=1e-6)


def test_a_study_ends_at_a_standstill(tmp_path: Path) -> None:
    study = StudyFile(budget=Limits(stagnation=20))
    record = tune(small_scenario(), study=study, knobs=KNOBS, out=tmp_path / "run", budget=SMALL, trials=400)
    assert 20 <= record.search.trials < 400
    longer = StudyFile(budget=Limits(stagnation=40))
    further = tune(small_scenario(), study=longer, knobs=KNOBS, out=tmp_path / "run", budget=SMALL, trials=400)
    assert record.search.trials < further.search.trials < 400


@pytest.mark.parametrize(
    "study",
    [
        StudyFile(pruner=Pruner(kind="halving", first=2)),
        StudyFile(objectives=("time", "refused_share"), sampler=Sampler(kind="nsga2", population=8)),
    ],
)
def test_other_studies_leave_their_records_too(study: StudyFile, tmp_path: Path) -> None:
    record = tune(small_scenario(), study=study, knobs=KNOBS, out=tmp_path / "run", budget=SMALL)
    rows = _trials(tmp_path / "run")
    assert len(rows) == SMALL.trials == record.search.trials
    assert all(len(row["seeds"].split()) == len(row["times_s"].split()) for row in rows)
    assert ("False" in {row["complete"] for row in rows}) == (study.pruner.kind == "halving")


def test_an_aim_that_the_network_does_not_have_is_wrong_input(tmp_path: Path) -> None:
    study = StudyFile(constraints={"imsimgr_cpu_peak": 0.9})
    with pytest.raises(InputError, match="has no IMSI manager"):
        tune(small_scenario(), study=study, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_the_command_prints_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, out = str(write_small(tmp_path)), str(tmp_path / "run")
    code = _exit("tune", file, "--knobs", ",".join(KNOBS), "--out", out, "--study", str(write_study(tmp_path)))
    captured = capsys.readouterr()
    record = load(out)
    assert code == (0 if record.changed and record.never_worse else 1)
    assert "lower bound" in captured.out
    assert "not converged" in captured.out
    assert "T counts from the scenario's start; the horizon is at T = 60 s." in captured.out
    assert out in captured.out
    assert "search" in captured.err


def _exit(*arguments: str) -> int:
    with pytest.raises(SystemExit) as leave:
        main(arguments)
    return int(leave.value.code or 0)
