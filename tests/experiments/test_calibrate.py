"""Calibrate: known values are found again, what cannot be told apart is said, and wrong words are refused."""

import json
from pathlib import Path

import numpy as np
import pytest

from signalstorm.envs.model.errors import InputError
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.model.scenario_file import load
from signalstorm.experiments.calibrate import calibrate
from signalstorm.experiments.calibrate_data import FirstAlarm, Observed, Series, Single, model_vectors, read_observed
from signalstorm.experiments.calibrate_fit import Budget, Problem
from signalstorm.experiments.calibrate_space import space_of
from signalstorm.experiments.imports import counters, text, traps
from signalstorm.experiments.imports.counters import parse_columns
from tests.experiments.imports.incident_tables import ALARMS, ATTACHES

LAB = load("lab-pcrf")
FREE = ("topology.pcrf.rate_per_s=35:65", "topology.pcrf.buffer=60:240", "topology.gateway.tx_s=1.5:4")
QUICK = Budget(points=48, search_storms=4, starts=1, step_storms=8, steps=3, final_storms=24, draws=192)
NAMES = ("create-session requests", "attach accepts", "attach failures", "attach requests")


def observation(truth: Scenario, storm: int, base: Scenario = LAB) -> Observed:
    """Forty seconds of counters of one storm, every two seconds."""
    edges = np.arange(0.0, 41.0, 2.0)
    count = len(edges) - 1
    blank = Observed(base, tuple(Series(name, "", 1.0, edges[:-1], edges[1:], np.ones(count)) for name in NAMES))
    plain = model_vectors(blank, [truth], [storm], 1)[0]
    parts = zip(NAMES, plain.reshape(len(NAMES), count), strict=True)
    return Observed(base, tuple(Series(name, "", 1.0, edges[:-1], edges[1:], rates) for name, rates in parts))


def test_known_values_are_found_again(tmp_path: Path) -> None:
    space = space_of([LAB], FREE)
    truth = {"topology.pcrf.rate_per_s": 57.0, "topology.pcrf.buffer": 90.0, "topology.gateway.tx_s": 2.5}
    found = calibrate(LAB, observation(LAB.with_fields(truth), 30_000), FREE, budget=QUICK, out=tmp_path, threads=1)
    assert found.found.cost < 2.0
    assert found.found.cost < 0.1 * found.found.start_cost
    inside = [found.intervals[path][0] <= value <= found.intervals[path][1] for path, value in truth.items()]
    assert sum(inside) >= 2
    fitted = load(tmp_path / "lab-pcrf-fitted.yaml")
    assert fitted == found.scenarios[0]
    assert fitted.paths()["topology.pcrf.rate_per_s"].value == found.values["topology.pcrf.rate_per_s"]
    assert fitted.fitted["topology.pcrf.rate_per_s"].startswith("calibrated to create-session requests, attach accepts")
    record = json.loads((tmp_path / "calibration.json").read_text())
    assert [row["path"] for row in record["parameters"]] == [p.path for p in space.parameters]
    assert len(record["entries"]) == 80
    page = (tmp_path / "residuals.html").read_text()
    assert page.count("plotly-graph-div") == 4
    assert "https://cdn" not in page.split("plotly.js v")[0]


@pytest.mark.long
def test_the_true_values_lie_in_the_intervals() -> None:
    """Twenty repeats with other true values and other storms: at least 80 % inside, of each parameter and of all."""
    space = space_of([LAB], FREE)
    inside = []
    for repeat in range(20):
        truth = 0.15 + 0.7 * np.random.default_rng([repeat, 7]).random(3)
        seen = observation(space.applied(LAB, truth), 50_000 + repeat)
        budget = Budget(points=240, starts=2, final_storms=64, draws=384)
        found = calibrate(LAB, seen, FREE, budget=budget, seed=repeat).found
        inside.append((found.low <= truth) & (truth <= found.high))
    assert (np.mean(inside, axis=0) >= 0.8).all()


def test_what_cannot_be_told_apart_is_said() -> None:
    """A calm gateway: its rate and its buffer change nothing that is seen."""
    seen = observation(LAB, 30_001)
    free = ("topology.gateway.rate_per_s=1000:3000", "topology.pcrf.rate_per_s=35:65")
    base = LAB.with_fields({"topology.gateway.rate_per_s": 2000.0})
    found = calibrate(base, Observed(base, seen.series), free, budget=QUICK, threads=1)
    assert [one.paths for one in found.untold] == [("topology.gateway.rate_per_s",)]
    assert any("the data say nothing of topology.gateway.rate_per_s" in sentence for sentence in found.sentences())
    low, high = found.intervals["topology.gateway.rate_per_s"]
    assert high - low > 800.0


def test_files_of_the_incident(tmp_path: Path) -> None:
    scenario = load("incident-2014")
    (tmp_path / "attaches.csv").write_text(ATTACHES)
    log = traps.parse(text.clean(ALARMS.encode(), "alarms.txt"))
    (tmp_path / "alarms.csv").write_text(traps.dump(log.alarms()))
    (tmp_path / "figures.csv").write_text("quantity,value,unit\nconvergence time,120,min\n")
    files = [tmp_path / name for name in ("attaches.csv", "alarms.csv", "figures.csv")]
    with pytest.raises(InputError, match=r"counts one class.*attach requests:count:gsm"):
        read_observed(scenario, files)
    columns = parse_columns(["2G attach requests (count)=attach requests:count:gsm"])
    seen = read_observed(scenario, files, columns)
    assert seen.series[0].of == "gsm"
    assert seen.series[0].share == pytest.approx(0.56, abs=0.001)
    assert [(a.element, a.time_s) for a in seen.alarms] == [("stp2", 6494.0), ("stp1", 7080.0), ("imsimgr", 8580.0)]
    (tmp_path / "alarms.txt").write_text(ALARMS)
    as_text = read_observed(scenario, [tmp_path / "alarms.txt"])
    assert as_text.alarms == seen.alarms
    assert as_text.notes[0].endswith("alarms.txt: 1 lines are no trap that is known, left out")
    assert seen.series[0].start_s[0] == 2100.0
    assert seen.singles == (Single("convergence time", 7200.0),)
    assert seen.names[-2:] == ["first alarm of imsimgr", "convergence time"]
    with pytest.raises(InputError, match="cannot be, with 1,000 subscribers"):
        read_observed(LAB, files[:1])
    with pytest.raises(InputError, match="does not say when it starts"):
        read_observed(scenario.with_fields({"clock_start": None}), files[:1], columns)
    late = scenario.with_fields({"clock_start": "07:30"})
    assert "1 intervals are not wholly within the scenario" in read_observed(late, files[:1], columns).notes[0]
    (tmp_path / "alarms.txt").write_text(ALARMS.replace("STP-2", "STP-3"))
    with pytest.raises(InputError, match=r"alarms.txt:1: names an element that incident-2014 does not have"):
        read_observed(scenario, [tmp_path / "alarms.txt"])
    (tmp_path / "alarms.csv").write_text("element,kind,set,cleared\nstp3/slc1,congestion,08:13:14,\n")
    with pytest.raises(InputError, match="does not have"):
        read_observed(scenario, files[1:2])


def test_what_nothing_depends_on_keeps_its_bounds() -> None:
    """No answer takes long enough for the gateway's timer: every draw comes to one thing."""
    told: list[tuple[str, int, int]] = []
    seen = Observed(LAB, singles=(Single("convergence time", 120.0), Single("attempts", 10580.0)))
    budget = Budget(points=6, search_storms=2, starts=1, step_storms=4, steps=1, final_storms=8, draws=48)
    free = ("topology.gateway.t3_response_s=4:6",)
    found = calibrate(LAB, seen, free, budget=budget, threads=1, progress=lambda *now: told.append(now))
    low, high = found.intervals["topology.gateway.t3_response_s"]
    assert high - low > 1.6
    assert found.sentences()[0].startswith("the data say nothing of topology.gateway.t3_response_s")
    assert [stage for stage, _, _ in told] == ["search", *["least squares"] * 2, *["intervals"] * 4]
    assert told[-1] == ("intervals", 3, 3)


def test_the_class_of_a_table_is_kept(tmp_path: Path) -> None:
    (tmp_path / "attaches.csv").write_text(ATTACHES)
    found, _ = counters.read(tmp_path / "attaches.csv")
    assert [one.of for one in found] == ["2G"]
    (tmp_path / "observed.csv").write_text(counters.dump(found))
    with pytest.raises(InputError, match="class of subscribers that incident-2014 does not have, but got '2G'"):
        read_observed(load("incident-2014"), [tmp_path / "observed.csv"])
    alone = load("incident-2014").with_fields({"subscribers": [load("incident-2014").subscribers[0].model_dump()]})
    (series,) = read_observed(alone, [tmp_path / "observed.csv"]).series
    assert (series.of, series.share) == ("", 1.0)


def test_an_alarm_that_never_comes_counts_as_the_horizon() -> None:
    scenario = load("incident-2014").with_fields({"horizon_s": 6000.0, "convergence.count_from_s": 0.0})
    seen = Observed(scenario, alarms=(FirstAlarm("stp2", 5000.0),))
    assert model_vectors(seen, [scenario], [0], 1)[0, 0] == 6000.0


@pytest.mark.parametrize(
    ("free", "said"),
    [
        (["topology.pcrf.rate"], "Did you mean topology.pcrf.rate_per_s"),
        (["topology.pcrf.rate_per_s=65:35"], "LOW below HIGH"),
        (["topology.pcrf.rate_per_s=fast"], "of the form LOW:HIGH"),
        (["topology.pcrf.buffer", "topology.pcrf.buffer=1:2"], "given twice"),
        (["closed"], "is no number"),
        (["mix.handset"], "is no number"),
        ([], "at least one free parameter"),
    ],
)
def test_wrong_parameters(free: list[str], said: str) -> None:
    with pytest.raises(InputError, match=said):
        space_of([LAB], free)


def test_pairs_mixes_and_profiles() -> None:
    space = space_of([LAB], ["subscribers.handset.ladder.retry_refused_s=0.5:2"])
    changed = space.applied(LAB, [1.0])
    assert changed.paths()["subscribers.0.ladder.retry_refused_s"].value == [7.0, 13.0]
    incident = load("incident-2014")
    mixed = space_of([incident], ["mix.gsm=0.4:0.8"]).applied(incident, [0.5])
    sizes = [group.size for group in mixed.subscribers]
    assert sum(sizes) == sum(group.size for group in incident.subscribers)
    assert sizes[0] / sum(sizes) == pytest.approx(0.4 * 2**0.5)
    profile = space_of([incident], ["activity.points"])
    assert [p.path for p in profile.parameters] == [f"activity.points.{i}.1" for i in range(5)]
    again = profile.applied(incident, profile.start).activity
    assert again is not None
    assert incident.activity is not None
    np.testing.assert_allclose(again.points, incident.activity.points)


def test_all_rows_of_a_batch_have_the_finest_step() -> None:
    """Tx decides the step of the laboratory scenario; a batch of several Tx must not take that of its first row."""
    space = space_of([LAB], ["topology.gateway.tx_s=1:4"])
    seen = observation(LAB, 1)
    problem = Problem([seen], space, 1)
    both = problem.run(np.array([[1.0], [0.0]]), [0, 1])
    alone = problem.run(np.array([[0.0]]), [0, 1])
    np.testing.assert_array_equal(both[1], alone[0])
