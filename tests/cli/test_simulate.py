"""``signalstorm simulate``: what it prints and writes, and how it refuses wrong input."""

import csv
import json
from pathlib import Path

import pytest

from signalstorm.cli import main
from signalstorm.envs.model import scenario_file

QUICK = ["--seeds", "4", "-q"]


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Run the command line in this process; returns exit code, stdout, stderr."""
    with pytest.raises(SystemExit) as caught:
        main(words)
    shown = capsys.readouterr()
    return int(caught.value.code or 0), shown.out, shown.err


def result(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, object]:
    code, out, _ = run(capsys, "simulate", *words, *QUICK, "--json")
    assert code == 0
    found: dict[str, object] = json.loads(out)
    return found


def test_the_json_has_every_name_that_scripts_rely_on(capsys: pytest.CaptureFixture[str]) -> None:
    found = result(capsys, "lab-pcrf")
    assert {
        "scenario", "scenario_hash", "version", "seeds", "knobs", "horizon_s", "stormed", "converged_share",
        "convergence_time_s", "rmst_s", "lower_bound_s", "ratio_to_lower_bound", "t50_s", "t75_s", "t95_s",
        "peak_request_rate_per_s", "peak_admitted_rate_per_s", "second_wave_peak_per_s", "attempts",
        "attempts_per_subscriber", "admitted", "successes", "failures", "refused", "dropped", "expired", "detaches",
        "subscriber_hours_lost", "goodput_over_capacity", "imsimgr_cpu_peak", "db_cpu_peak", "links", "alarms",
        "degraded_sessions", "diagnosis",
    } <= found.keys()  # fmt: skip
    assert found["imsimgr_cpu_peak"] is None
    assert found["db_cpu_peak"] is None
    assert found["seeds"] == [0, 1, 2, 3]
    assert found["lower_bound_s"] == pytest.approx(20.0, abs=0.05)


def test_a_bound_beyond_the_horizon_gives_no_ratio(capsys: pytest.CaptureFixture[str]) -> None:
    found = result(capsys, "lab-pcrf", "--horizon", "12")  # the PCRF alone needs 20 s
    assert found["lower_bound_s"] is None
    assert found["ratio_to_lower_bound"] is None


def test_a_setting_changes_the_storm(capsys: pytest.CaptureFixture[str]) -> None:
    present = result(capsys, "lab-pcrf")
    gated = result(capsys, "lab-pcrf", "--set", "nop_rate=50", "--set", "nop_wait_s=15")
    assert gated["rmst_s"] < 22 < present["rmst_s"]  # type: ignore[operator]
    assert gated["knobs"]["nop_queue"] == 750  # type: ignore[index]


def test_a_field_a_horizon_and_events_change_the_storm(capsys: pytest.CaptureFixture[str]) -> None:
    slow = result(capsys, "lab-pcrf-a", "--set", "topology.pcrf.rate_per_s=40", "--horizon", "60")
    assert slow["horizon_s"] == 60
    event = result(capsys, "lab-pcrf-a", "--event", "capacity:pcrf@5=25")
    assert event["rmst_s"] > 30  # type: ignore[operator]


def test_events_of_a_kind_can_be_left_out(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    model = scenario_file.load("lab-pcrf-a").with_fields(
        {"timeline": [{"kind": "capacity", "target": "pcrf", "time_s": 5.0, "value": 25.0}]}
    )
    path = tmp_path / "slow.yaml"
    path.write_text(scenario_file.dump(model))
    with_event, without = result(capsys, str(path)), result(capsys, str(path), "--without-event", "capacity")
    assert without["rmst_s"] < 22 < with_event["rmst_s"]  # type: ignore[operator]


def test_a_file_of_knobs_or_a_recommendation_gives_the_setting(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    knobs, record = tmp_path / "knobs.yaml", tmp_path / "recommendation.json"
    knobs.write_text("nop_rate: 55\nnop_wait_s: 12\n")
    record.write_text(json.dumps({"recommended": {"nop_rate": 55, "nop_wait_s": 12}}))
    first, second = (result(capsys, "lab-pcrf", "--config", str(path)) for path in (knobs, record))
    assert first == second
    assert first["knobs"]["nop_rate"] == 55  # type: ignore[index]


def test_a_wrong_knob_in_a_file_is_shown_with_its_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "knobs.yaml"
    path.write_text("nop_wait_s: 12\nnop_rate: 20\n")
    code, _, err = run(capsys, "simulate", "lab-pcrf", "--config", str(path))
    assert code == 2
    assert f"{path}:2: nop_rate" in err


def test_the_text_shows_time_bound_and_diagnosis(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "simulate", "lab-pcrf", "--check", *QUICK)
    assert code == 0
    for words in ("convergence time T", "lower bound", "stale work", "conservation"):
        assert words in out


def test_a_storm_that_does_not_end_is_said_to_be_open(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "simulate", "lab-pcrf", "--set", "topology.pcrf.buffer=150", *QUICK)
    assert code == 0
    assert "not reached in 600 s" in out


def test_the_files_of_a_run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, _, _ = run(capsys, "simulate", "lab-pcrf-nop50", "--out", str(tmp_path), *QUICK)
    assert code == 0
    assert scenario_file.load(tmp_path / "scenario.yaml") == scenario_file.load("lab-pcrf-nop50")
    assert json.loads((tmp_path / "result.json").read_text())["dropped"] == pytest.approx(251, abs=1)
    with (tmp_path / "series.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["seed", "time_s", "element", "quantity", "unit", "value"]
    dropped = [float(r["value"]) for r in rows if r["quantity"] == "dropped rate" and r["seed"] == "0"]
    assert sum(dropped) == pytest.approx(251, abs=1)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["lab-pcfr"], "Did you mean lab-pcrf"),
        (["lab-pcrf", "--set", "nop_rat=400"], "Did you mean nop_rate"),
        (["lab-pcrf", "--set", "nop_rate=20"], "50 to 5000 per s"),
        (
            ["lab-pcrf", "--set", "nop_rate=400", "--set", "nop_wait_s=5", "--set", "nop_queue=2500"],
            "`nop_rate <= nop_queue <= nop_rate * nop_wait_s` must hold",
        ),
        (["lab-pcrf", "--set", "subscribers.0.size=-5"], "must be at least 1"),
        (["lab-pcrf", "--set", "step_s=0.6"], "at most a quarter of the shortest patience"),
        (["lab-pcrf", "--set", "trigger.time_s=700"], "before the end of the scenario"),
        (["lab-pcrf", "--set", "topology.pcrf.rate_per_s=.nan"], "must be a finite number"),
        (["lab-pcrf", "--seeds", "0"], "must be at least 1 storm"),
        (["lab-pcrf", "--seeds", "1", "--out", "/proc/nowhere"], "must be a folder that can be written"),
        (["lab-pcrf", "--event", "foo"], "must have the form KIND:TARGET@TIME_S"),
        (["lab-pcrf", "--event", "capacty:pcrf@3=2"], "did you mean capacity"),
        (["lab-pcrf", "--event", "capacity:pcrf@soon=2"], "with numbers"),
        (["lab-pcrf", "--event", "capacity:pcfr@3=2"], "did you mean pcrf"),
        (["lab-pcrf", "--without-event", "capacty"], "did you mean capacity"),
        (["lab-pcrf", "--config", "/nowhere.yaml"], "/nowhere.yaml"),
    ],
)
def test_wrong_input_is_refused_in_one_message(
    capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    code, out, err = run(capsys, "simulate", *words)
    assert code == 2
    assert out == ""
    assert message.lower() in err.lower()
    assert "Traceback" not in err


@pytest.mark.parametrize("content", [b"", b"- 1\n", b"\xff\xfe", b"{", b"a: 1\na: 2\n"])
def test_a_damaged_file_of_knobs_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "knobs.yaml"
    path.write_bytes(content)
    code, _, err = run(capsys, "simulate", "lab-pcrf", "--config", str(path))
    assert code == 2
    assert str(path) in err


def test_the_folder_of_a_search_is_left_alone(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "recommendation.json").write_text("{}")
    code, _, err = run(capsys, "simulate", "lab-pcrf-a", "--out", str(tmp_path), *QUICK)
    assert code == 2
    assert "holds the run of tune" in err
    assert [path.name for path in tmp_path.iterdir()] == ["recommendation.json"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--set", "topology.pcrf.latency_s=99999"], "must be at most horizon_s"),
        (["--set", "topology.pcrf.rate_per_s=1e308"], "topology.pcrf.rate_per_s"),
        (["--seeds", "1000000000"], "at most 10000 storms"),
    ],
)
def test_values_beyond_reason_are_refused_at_once(
    capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    code, _, err = run(capsys, "simulate", "lab-pcrf", *words)
    assert code == 2
    assert message in err


def test_a_run_that_does_not_fit_the_memory_is_no_traceback(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_large(*_: object, **__: object) -> None:
        raise MemoryError("10 TiB")

    monkeypatch.setattr("signalstorm.experiments.simulate.simulate", too_large)
    code, _, err = run(capsys, "simulate", "lab-pcrf")
    assert code == 2
    assert "does not fit the memory" in err


def test_plot_draws_curves_below_the_result(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "simulate", "lab-pcrf", *QUICK, "--plot")
    assert code == 0
    assert out.index("convergence time T") < out.index("Request rate, before the gate [requests per s]")
    assert "Queue of pcrf [messages]" in out
    assert "\x1b" not in out


def test_plot_leaves_json_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert result(capsys, "lab-pcrf", "--plot") == result(capsys, "lab-pcrf")


def test_live_is_a_table_on_stderr_where_that_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "simulate", "lab-pcrf", "--seeds", "2", "--live")
    assert code == 0
    assert "convergence time T" in out
    assert "lab-pcrf, storm 0; knobs: nop_rate off" in err
    assert len(err.splitlines()) > 24


def test_a_step_that_is_too_coarse_is_warned_of(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "simulate", "lab-pcrf", "--set", "step_s=0.25", "--seeds", "1")
    assert code == 0
    assert "step_s: the step should be at most" in err
    assert "but got 0.25 s" in err
    assert "step_s" not in run(capsys, "simulate", "lab-pcrf", "--seeds", "1")[2]


@pytest.mark.parametrize(
    ("name", "scenario"),
    [("IncidentSgsn", "incident-2014"), ("signalstorm/CoreStormEasy-v0", "core-storm-easy")],
)
def test_an_environment_is_no_scenario_but_has_one(
    name: str, scenario: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = run(capsys, "simulate", name)
    assert code == 2
    assert f"this is an environment's id, but got '{name}'. Its storms are those of {scenario}" in err


def test_a_network_in_which_nobody_asks_has_no_storm_for_that_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    quiet = scenario_file.load("attach-lte-easy").with_fields({"subscribers.0.registered_share": 0.0})
    (tmp_path / "quiet.yaml").write_text(scenario_file.dump(quiet))
    _, out, _ = run(capsys, "simulate", str(tmp_path / "quiet.yaml"), *QUICK)
    assert "no storm: nobody asked to attach" in out


def test_a_message_keeps_acronyms_in_capitals(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = scenario_file.dump(scenario_file.load("attach-lte-easy")).replace("instances: 1", "instances: []")
    (tmp_path / "wrong.yaml").write_text(wrong)
    code, _, err = run(capsys, "simulate", str(tmp_path / "wrong.yaml"))
    assert code == 2
    assert "Meaning: IMSI managers among which rate and queue are split" in err
