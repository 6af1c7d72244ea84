"""Study files: every packaged one loads, and every fault is named with its line."""

from pathlib import Path

import pytest

from signalstorm.envs.model import scenario_file
from signalstorm.envs.model.errors import InputError
from signalstorm.envs.model.storms import HELD_OUT
from signalstorm.experiments.search_space import search_space
from signalstorm.experiments.storm_sets import Budget
from signalstorm.experiments.study_file import StudyFile, list_studies, load_study, parse_study

LAB = scenario_file.load("lab-pcrf")


@pytest.mark.parametrize("name", list_studies())
def test_packaged_studies_load(name: str) -> None:
    study = load_study(name)
    assert study.description
    assert study.budget_of(Budget()).trials == study.budget.trials


def test_an_empty_mapping_is_the_default_study() -> None:
    study = parse_study("description: ''", "x.yaml")
    assert study == StudyFile()
    assert study.budget_of(Budget()).storms == tuple(range(32))
    assert (study.budget.trials, study.sampler.kind, study.pruner.kind) == (256, "tpe", "none")


def test_every_fault_is_named_with_its_line() -> None:
    text = "sampler: {kind: tpee}\nbudget: {trials: 0, secnds: 5}\nrobustness: {risk: median}\n"
    with pytest.raises(InputError) as caught:
        parse_study(text, "my.yaml")
    lines = str(caught.value).splitlines()
    assert [line.split(":")[1] for line in lines] == ["1", "2", "2", "3"]
    assert all(line.startswith("my.yaml:") for line in lines)
    assert "seconds" in lines[2]


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("objectives: [refused_share]", "the first objective must be time"),
        ("objectives: [time, time]", "each objective can be named once"),
        ("objectives: [time, change_cost]\nsampler: {kind: cma-es}", "cma-es knows one objective"),
        ("objectives: [time, change_cost]\npruner: {kind: halving}", "cannot be pruned"),
        ("robustness: {storms: {first: 9990, count: 20}}", "must be below 10000"),
        ("robustness: {storms: {count: 4}, list: [3]}", "has both a list and a generator"),
        ("robustness: {list: [20000]}", "at most 9999"),
        ("confirmation: {storms: 4, guards: 625}", "below 20000.*come to 10004"),
        ("confirmation: {held_out: 100000000}", "10000"),
        ("constraints: {refused_share: -1}", "at least 0"),
        ("knobs: {}", "knobs"),
        ("- a", "must hold keys"),
        ("a: *b", "alias"),
    ],
)
def test_what_does_not_fit_together_is_refused(text: str, rule: str) -> None:
    with pytest.raises(InputError, match=rule):
        parse_study(text, "x.yaml")


def test_storms_come_from_a_list_or_a_generator() -> None:
    listed = parse_study("robustness: {list: [3, 1, 3, 9999]}", "x.yaml")
    assert listed.robustness.numbers == (3, 1, 9999)
    spread = parse_study("robustness: {storms: {first: 100, count: 3, every: 50}}", "x.yaml")
    budget = spread.budget_of(Budget())
    assert budget.storms == (100, 150, 200)
    assert not set(budget.search_scan) & {100, 150, 200}
    assert max(budget.search_scan) < 10000


def test_an_unknown_study_names_the_nearest() -> None:
    with pytest.raises(InputError, match=r"Did you mean pareto\?"):
        load_study("paretto")


def test_a_missing_file_is_wrong_input(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        load_study(tmp_path / "none.yaml")


def test_knobs_are_a_list_or_have_ranges() -> None:
    listed = parse_study("knobs: [nop_rate, nop_wait_s]", "x.yaml")
    assert search_space(LAB, None, listed.knobs).knobs == ("nop_rate", "nop_wait_s")
    ranged = parse_study("knobs: {nop_rate: {low: 55, high: 70}, nop_action: {choices: [drop]}}", "x.yaml")
    space = search_space(LAB, None, ranged.knobs)
    rate = space.distributions["nop_rate"]
    assert (rate.low, rate.high) == (55, 70)  # type: ignore[attr-defined]
    assert all(55 <= int(point["nop_rate"]) <= 70 for point in space.start_points)
    assert {point["nop_action"] for point in space.start_points} == {"drop"}
    pinned = search_space(LAB, None, parse_study("knobs: {nop_rate: {low: 62, high: 62}}", "x.yaml").knobs)
    assert pinned.distributions["nop_rate"].single()
    assert {point["nop_rate"] for point in pinned.start_points} == {62}


@pytest.mark.parametrize(
    ("knobs", "words"),
    [
        ("{nop_rate: {low: 20}}", "nop_rate.*within 50 to 5000 per s.*low 20"),
        ("{nop_rate: {low: 90, high: 60}}", "low <= high"),
        ("{nop_action: {low: 3}}", "is a knob of words"),
        ("{nop_action: {choices: [dropp]}}", "did you mean drop"),
        ("{nop_ratte: {low: 60}}", "did you mean nop_rate"),
    ],
)
def test_ranges_are_those_of_the_table_or_narrower(knobs: str, words: str) -> None:
    study = parse_study(f"knobs: {knobs}", "x.yaml")
    with pytest.raises(InputError, match=f"(?i)--study.*{words}"):
        search_space(LAB, None, study.knobs)


def test_a_choice_may_use_every_storm_before_the_held_out_ones() -> None:
    most = parse_study("confirmation: {storms: 16, guards: 624}", "x.yaml").budget_of(Budget())
    assert most.choice_scan.stop == HELD_OUT


def test_a_device_is_no_study() -> None:
    with pytest.raises(InputError, match="/dev/zero: is a device"):
        load_study("/dev/zero")
