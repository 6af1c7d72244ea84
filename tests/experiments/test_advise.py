"""Advise, fed with a storm's counters, decides as the same rule does inside the simulator."""

from pathlib import Path

import numpy as np
import pytest

from signalstorm.agents.base import SEEN, Counters
from signalstorm.agents.laws.table import Condition, Row, Table
from signalstorm.agents.rule_file import rule_file, save
from signalstorm.agents.rules import RULES
from signalstorm.envs.model.errors import InputError
from signalstorm.envs.model.knob_table import KnobValue
from signalstorm.envs.model.scenario_file import load
from signalstorm.experiments.advise import advise, in_words
from signalstorm.experiments.advise_data import read_history
from signalstorm.experiments.closed_loop import Loop, run

LAB = load("lab-pcrf").with_fields(
    {
        "subscribers.handset.size": 2000,
        "demand.rate_per_s": 200.0,
        "topology.pcrf.rate_per_s": 70.0,
        "topology.pcrf.buffer": 160.0,
        "horizon_s": 100.0,
        "control_interval_s": 2.0,
    }
)
"""A storm that does not end by itself within the horizon, and a bottleneck above the lowest legal rate of the gate."""


def write(history: list[Counters], path: Path) -> None:
    """Counters as an operator's table, rates per second, cells of missing counters empty."""
    heads = ["time_s", *(name if name.startswith("links") else f"{name} per second" for name in SEEN)]
    rows = [[str(seen.end_s), *(str(seen.values.get(name, "")) for name in SEEN)] for seen in history]
    path.write_text("\n".join(";".join(row) for row in [heads, *rows]) + "\n")


@pytest.mark.parametrize("rule", ["rate-matching", "constant-gain"])
@pytest.mark.parametrize(("delay", "missing"), [(0, None), (1, None), (0, "attach accepts"), (1, "attach failures")])
def test_equal_decisions(tmp_path: Path, rule: str, delay: int, missing: str | None) -> None:
    inside = list(run(LAB, RULES[rule], 3, delay=delay, missing=missing))
    assert any(decision.knobs for _, decision in inside)
    outside = Loop(LAB, 3)
    override: dict[str, KnobValue] = {}
    for number, (_, made) in enumerate(inside):
        seen = outside.advance()
        if missing is not None and number % 2 == 1:
            values = {name: value for name, value in seen.values.items() if name != missing}
            outside.history[-1] = Counters(seen.end_s, seen.interval_s, values)
        known = outside.history[: len(outside.history) - delay]
        if known:
            write(known, tmp_path / "counters.csv")
            known = read_history(tmp_path / "counters.csv", LAB)
        advice = advise(LAB, known, rule, override)
        assert advice.decision.knobs == made.knobs
        assert advice.decision.said == made.said
        override |= advice.decision.knobs
        outside.apply(advice.decision.knobs)
    assert outside.ended
    ends = [loop.convergence_time_s for loop in (inside[-1][0], outside)]
    np.testing.assert_array_equal(ends[0], ends[1])
    if rule == "rate-matching" and missing is None:
        assert np.isfinite(ends[0])


def test_the_storm_ends_sooner_than_untouched() -> None:
    untouched = Loop(LAB, 3)
    while not untouched.ended:
        untouched.advance()
    *_, (loop, _) = run(LAB, RULES["rate-matching"], 3)
    assert np.isnan(untouched.convergence_time_s)
    assert loop.convergence_time_s < 60.0


def test_a_command_line_with_its_reason(tmp_path: Path) -> None:
    file = tmp_path / "counters.csv"
    file.write_text("until,attach requests count,admitted count,attach accepts count,attach failures count\n"
                    "00:01,54000,24000,20000,4000\n00:02,54000,24000,18000,6000\n")  # fmt: skip
    scenario = load("incident-2014").with_fields({"clock_start": "00:00"})
    advice = advise(scenario, read_history(file, scenario), setting={"nop_rate": 400}, now_s=300.0)
    assert advice.decision.knobs == {"nop_rate": 330}
    assert advice.commands == (
        "network-overload-protection sgsn-new-connections-per-second 330 action reject-with-cause congestion "
        "queue-size 1650 wait-time 5",
    )
    assert any("180 s old" in sentence for sentence in advice.decision.said)
    assert "enter, after review" in in_words(advice)
    assert "300 attaches/s are completed and 25% fail" in in_words(advice)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("until,attach accepts\n00:01,5\n", "may be a count per interval or a rate"),
        ("until,apples\n00:01,5\n", "none of the counters"),
        ("when,attach accepts per second\nnow,5\n", "no column until"),
        ("until,attach accepts count\n08:02,5\n08:01,5\n", "until: must rise from row to row.*the latest last"),
        ("until,attach accepts count\n08:01,5\n08:03,5\n08:02,5\n", "must rise from row to row"),
        ("until,attach accepts count\n08:01,5\n08:01,5\n", "must rise from row to row"),
        ("time_s,attach accepts count\n120,5\n60,5\n", "must rise from row to row"),
        ("until,attach accepts count\n08:01,5\n08:02,-3\n", "counters.csv:3: .*at least 0 and finite"),
        ("until,attach accepts count\n08:05,90000\n", "counters.csv:2: .*how long its interval is.*Give --interval"),
        ("until,attach accepts count\n08:01,5\n08:02,5\n08:07,5\n", "counters.csv:3: .*one distance.*Give --interval"),
        (
            "until,attach accepts count,attach complete per second\n08:01,5,6\n08:02,5,6\n",
            "attach accepts once more: 'attach accepts count' and 'attach complete per second'",
        ),
        ("until,2G attach accepts count\n08:01,5\n08:02,5\n", "counts 2G only, but incident-2014 has 3G too"),
        (
            "until,attach accepts /s,2G attach accepts /s,3G attach accepts /s\n08:01,50,40,20\n",
            "50/s in the column of all, but the classes add up to 60/s",
        ),
        ("until,attach accepts per second\n08:01,1e12\n", "cannot be, with 2,386,266 subscribers"),
        (
            "until,admitted count,attach accepts count\n08:01,24000,20000\n08:02,24000,90000\n",
            "counters.csv:3: attach accepts: cannot be 1,500/s where admitted are 400/s",
        ),
    ],
)
def test_tables_that_cannot_be_read(tmp_path: Path, content: str, said: str) -> None:
    file = tmp_path / "counters.csv"
    file.write_text(content)
    with pytest.raises(InputError, match=said):
        read_history(file, load("incident-2014"))


def test_one_row_of_five_minutes(tmp_path: Path) -> None:
    """90,000 accepts in five minutes are 300/s, which closes the gate; in one minute they would open it."""
    file = tmp_path / "counters.csv"
    file.write_text("until,attach requests count,admitted count,attach accepts count,attach failures count\n"
                    "08:15,270000,120000,90000,30000\n")  # fmt: skip
    scenario = load("incident-2014")
    (seen,) = read_history(file, scenario, interval_s=300.0)
    assert (seen.interval_s, seen.values["attach accepts"]) == (300.0, 300.0)
    assert advise(scenario, [seen], setting={"nop_rate": 400}).decision.knobs == {"nop_rate": 330}
    file.write_text("until,attach accepts count\n08:14,50\n08:15,60\n")
    with pytest.raises(InputError, match="--interval: is longer than the 60 s from row to row"):
        read_history(file, scenario, interval_s=300.0)
    file.write_text("until,attach accepts count\n08:01,5\n08:02,60\n08:07,120\n")
    assert [one.values["attach accepts"] for one in read_history(file, scenario, interval_s=60.0)][1:] == [1.0, 2.0]


def test_the_classes_add_up_to_the_network(tmp_path: Path) -> None:
    file = tmp_path / "counters.csv"
    file.write_text("until;2G attach accepts per second;3G attach accepts per second;admitted count\n"
                    "08:14;60;200;\n08:15;50;200;30000\n08:16;;200;30000\n")  # fmt: skip
    history = read_history(file, load("incident-2014"))
    assert [seen.values.get("attach accepts") for seen in history] == [260.0, 250.0, None]
    assert history[1].values["admitted"] == 500.0
    file.write_text("until;attach accepts per second;2G attach accepts per second\n08:14;250;50\n")
    assert read_history(file, load("incident-2014"))[0].values == {"attach accepts": 250.0}


def test_more_accepts_than_were_admitted_are_said(tmp_path: Path) -> None:
    file = tmp_path / "counters.csv"
    file.write_text("until,admitted count,attach accepts count\n08:01,24000,20000\n08:02,24000,40000\n")
    scenario = load("incident-2014")
    advice = advise(scenario, read_history(file, scenario), setting={"nop_rate": 400})
    assert any(
        "attach accepts (666.7/s) are more than the admitted (400/s) explain" in said for said in advice.decision.said
    )
    file.write_text("until,admitted count,attach accepts count\n08:01,24000,20000\n08:02,20000,22000\n")
    advice = advise(scenario, read_history(file, scenario), setting={"nop_rate": 400})
    assert not any("explain" in said for said in advice.decision.said)


@pytest.mark.parametrize("now_s", [float("nan"), float("inf"), -1.0, 119.0])
def test_a_time_that_cannot_be_now(now_s: float) -> None:
    history = [Counters(end, 60.0, dict.fromkeys(SEEN, 10.0)) for end in (60.0, 120.0)]
    with pytest.raises(InputError, match=r"--now: must be at least 120 s, the end of the latest interval"):
        advise(LAB, history, now_s=now_s)


def test_an_unknown_rule() -> None:
    with pytest.raises(InputError, match="Did you mean rate-matching"):
        advise(LAB, [], "rate-maching")


def test_a_table_from_a_file(tmp_path: Path) -> None:
    alarm = Condition("failed_share", above=True, value=0.1)
    table = Table(
        rows=(Row((alarm,), 0.9), Row((), 1.2)), dead_band_share=0.05, step_share=4.0, cool_down=3.0, most_per_hour=12
    )
    save(tmp_path / "rule.yaml", rule_file(table))
    failing = Counters(60.0, 60.0, dict(zip(SEEN, (900.0, 400.0, 300.0, 100.0, 0.0), strict=True)))
    advice = advise(LAB, [failing], str(tmp_path / "rule.yaml"), {"nop_rate": 400})
    assert advice.decision.knobs == {"nop_rate": 270}
    assert "row 1, if share of failed attempts above 10 %" in advice.decision.reason
    assert not any("raise" in sentence for sentence in advice.decision.said)
    assert "enter it only if it was changed fewer than 12 times in the last hour" in advice.decision.said
    calm = Counters(60.0, 60.0, dict(zip(SEEN, (900.0, 400.0, 400.0, 0.0, 0.0), strict=True)))
    advice = advise(LAB, [calm], str(tmp_path / "rule.yaml"), {"nop_rate": 400})
    assert advice.decision.knobs == {"nop_rate": 480}
    assert any("raise it only if the last change is more than 3 intervals old" in said for said in advice.decision.said)
    save(tmp_path / "other.yaml", rule_file(table, knob="dra_ccr_i_limit_per_s"))
    with pytest.raises(InputError, match="must be of nop_rate"):
        advise(LAB, [], str(tmp_path / "other.yaml"))
    with pytest.raises(InputError, match=r"none\.yaml: cannot be read"):
        advise(LAB, [], "none.yaml")
