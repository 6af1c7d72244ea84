"""Calibration from what was published alone: the incident's tables, and the three laboratory runs at once."""

from pathlib import Path

import numpy as np
import pytest

import signalstorm as ss
from signalstorm.envs.model.scenario_file import load
from signalstorm.experiments.calibrate import calibrate
from signalstorm.experiments.calibrate_fit import Budget
from signalstorm.experiments.imports import text, traps
from signalstorm.experiments.imports.counters import parse_columns
from tests.experiments.imports.incident_tables import ALARMS, ATTACHES

INCIDENT_FREE = (
    "activity.points.1.1=1e-6:1e-4",
    "activity.points.2.1=1e-5:1e-3",
    "activity.points.3.1=1e-4:2e-2",
    "activity.points.4.1=1e-4:5e-2",
    "topology.links.rate_per_s=150:500",
    "topology.links.window=200:3000",
    "subscribers.gsm.ladder.t3302_s=300:1000",
    "subscribers.umts.ladder.t3302_s=300:1000",
    "topology.links.answer_loss_share",
    "subscribers.gsm.power_cycle_share=0:0.5",
    "mix.gsm=0.45:0.7",
)
LAB_FREE = (
    "topology.pcrf.buffer=60:240",
    "topology.gateway.tx_s=1:4",
    "subscribers.handset.ladder.retry_refused_s=0.4:2.5",
    "subscribers.handset.ladder.retry_silent_s=0.4:2.5",
)


@pytest.mark.long
def test_the_incident_from_its_tables(tmp_path: Path) -> None:
    """Attaches within 25 % in each of the five hours, the first alarm within 15 minutes of 08:13."""
    (tmp_path / "attaches.csv").write_text(ATTACHES)
    log = traps.parse(text.clean(ALARMS.encode(), "alarms.txt"))
    (tmp_path / "alarms.csv").write_text(traps.dump(log.alarms()))
    scenario = load("incident-2014-as-run").with_fields({"step_s": 0.5, "horizon_s": 20400.0})
    budget = Budget(
        points=320, per_round=32, search_storms=1, starts=2, step_storms=2, steps=4, final_storms=8, draws=128
    )
    columns = parse_columns(["2G attach requests (count)=attach requests:count:gsm"])
    files = [tmp_path / "attaches.csv", tmp_path / "alarms.csv"]
    rows = calibrate(scenario, files, INCIDENT_FREE, columns=columns, budget=budget).entries()
    hours = [row for row in rows if row["entry"].startswith("attach requests of gsm")]
    assert [abs(row["ratio"] - 1.0) <= 0.25 for row in hours] == [True] * 5
    (alarm,) = (row for row in rows if row["entry"] == "first alarm of stp2")
    assert abs(alarm["model"] - alarm["observed"]) <= 900.0


@pytest.mark.long
def test_three_laboratory_runs_at_once(tmp_path: Path) -> None:
    """One set of values for A, C and D, within the tolerances of the published figures."""
    figures = {
        "c": "attempts,10580,\nsuccesses,1000,\nfailures,9580,\npeak create-session rate,180,1/s\n"
        "convergence time,120,s",
        "a": "convergence time,20,s",
        "d": "convergence time,30,s\nattempts,1000,\npeak admitted rate,50,1/s",
    }
    for name, rows in figures.items():
        (tmp_path / f"{name}.csv").write_text(f"quantity,value,unit\n{rows}\n")
    budget = Budget(points=192, search_storms=4, starts=2, step_storms=8, steps=4, final_storms=32, draws=192)
    also = {"lab-pcrf-a": [tmp_path / "a.csv"], "lab-pcrf-nop50": [tmp_path / "d.csv"]}
    found = calibrate("lab-pcrf", [tmp_path / "c.csv"], LAB_FREE, also=also, budget=budget)
    c, a, d = (
        {row["entry"]: row["model"] for row in found.entries() if row["scenario"] == name}
        for name in ("lab-pcrf", "lab-pcrf-a", "lab-pcrf-nop50")
    )
    assert a["convergence time"] == pytest.approx(20.0, rel=0.05)
    assert 120.0 <= c["convergence time"] <= 260.0
    assert c["attempts"] == pytest.approx(10580.0, rel=0.3)
    assert c["peak create-session rate"] == pytest.approx(180.0, rel=0.2)
    assert d["convergence time"] == pytest.approx(30.0, rel=0.2)
    assert d["attempts"] == pytest.approx(1000.0, rel=0.005)
    assert d["peak admitted rate"] <= 50.0 + 1e-6
    # The mean holds rare storms in which the policy server falls behind by chance; the run that was published had none.
    behind = ss.simulate(found.scenarios[2], seeds=40).outcomes
    assert np.median(behind.admitted) == pytest.approx(1000.0, abs=0.5)
    assert np.median(behind.failures) == 0.0
    assert [scenario.name for scenario in found.scenarios] == [
        "lab-pcrf-fitted",
        "lab-pcrf-a-fitted",
        "lab-pcrf-nop50-fitted",
    ]
