"""``signalstorm calibrate``."""

import json
from pathlib import Path

from signalstorm.cli import EXIT_OK, EXIT_WRONG_INPUT
from signalstorm.envs.model.scenario_file import dump, load
from tests.cli.commands import Run

FIGURES = "quantity,value,unit\nattempts,10580,\nsuccesses,1000,\npeak create-session rate,180,1/s\n"


def test_calibrate(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "figures.csv"
    file.write_text(FIGURES)
    scenario = tmp_path / "short.yaml"
    scenario.write_text(dump(load("lab-pcrf").with_fields({"horizon_s": 20.0})))
    words = ("calibrate", scenario, "--observed", file, "--points", "4")
    code, out, _ = run(*words, "--free", "topology.pcrf.buffer=90:140", "--out", tmp_path / "out", "--json")
    assert code == EXIT_OK
    assert json.loads(out)["parameters"][0]["path"] == "topology.pcrf.buffer"
    assert (tmp_path / "out" / "lab-pcrf-fitted.yaml").exists()
    assert run(*words, "--free", "topology.pcrf.bufer")[0] == EXIT_WRONG_INPUT
    code, _, said = run(*words, "--free", "present.nop_rate")
    assert code == EXIT_WRONG_INPUT
    assert "present.nop_rate: is no number of the scenario, but got" in said
    (tmp_path / "a.csv").write_text("quantity,value,unit\nconvergence time,20,s\n")
    code, out, said = run(*words, "--free", "topology.pcrf.buffer=90:140", "--also", f"lab-pcrf-a={tmp_path / 'a.csv'}")
    assert code == EXIT_OK
    assert "  lab-pcrf-a: convergence time: 20 observed" in out
    assert "search: 4 of 4" in said
    assert run(*words, "--points", "0")[0] == EXIT_WRONG_INPUT
    assert run(*words, "--also", "lab-pcrf-a")[0] == EXIT_WRONG_INPUT


def test_times_that_must_be_told(run: Run, tmp_path: Path) -> None:
    """A time may mark the start or the end: the options that the questions name are there."""
    file = tmp_path / "accepts.csv"
    file.write_text("time_s,attach accepts count\n1,1\n2,2\n9,1000000000000\n")
    words = ("calibrate", "lab-pcrf", "--observed", file, "--free", "topology.pcrf.buffer")
    code, _, said = run(*words)
    assert code == EXIT_WRONG_INPUT
    assert "Give --marks start or --marks end" in said
    assert "Give --interval" in said
    code, _, said = run(*words, "--marks", "end", "--interval", "1")
    assert code == EXIT_WRONG_INPUT
    assert "cannot be, with 1,000 subscribers, in the unit count" in said
    assert "correct the cell" in said.lower()
    assert run(*words, "--marks", "middle", "--interval", "1")[0] == EXIT_WRONG_INPUT
