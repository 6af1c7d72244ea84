"""``signalstorm import``."""

import json
from pathlib import Path

import pytest

from signalstorm.cli import EXIT_OK, EXIT_WRONG_INPUT
from signalstorm.envs.model.scenario_file import load
from tests.cli.commands import Run
from tests.experiments.imports.incident_tables import ALARMS, ATTACHES, DETACHES
from tests.experiments.imports.running import LAB, RUNNING, SGSN


@pytest.fixture
def box(tmp_path: Path) -> Path:
    file = tmp_path / "box.cfg"
    file.write_text(RUNNING)
    return file


def test_staros_says_what_it_understood(run: Run, box: Path) -> None:
    code, out, _ = run("import", "staros", box)
    assert code == EXIT_OK
    assert "line 28: sctp-rto-max 600\n        rto_max_ms = 600 units of 100 ms = 60000 ms" in out
    assert "line 2: cli hidden" in out


def test_staros_into_a_scenario(run: Run, box: Path, tmp_path: Path) -> None:
    code, out, _ = run("import", "staros", box, "--into", "incident-2014", "--out", tmp_path / "out", "--json")
    assert code == EXIT_OK
    record = json.loads(out)
    assert record["present"] == SGSN
    assert dict(load(record["scenario_file"]).present) == SGSN
    assert json.loads((tmp_path / "out" / "import.json").read_text()) == record
    code, out, _ = run("import", "staros", box, "--into", "lab-pcrf")
    assert code == EXIT_OK
    file = tmp_path / "lab.yaml"
    file.write_text(out[out.index("\nname: lab-pcrf") :])
    assert dict(load(file).present) == LAB


def test_a_contradiction_is_shown_and_no_scenario_written(run: Run, box: Path, tmp_path: Path) -> None:
    box.write_text(RUNNING.replace("sctp-rto-max 600", "sctp-rto-max 600\n        sctp-rto-max 50"))
    code, out, err = run("import", "staros", box, "--into", "incident-2014", "--out", tmp_path / "out")
    assert code == EXIT_WRONG_INPUT
    assert "line 28" in out
    assert f"{box}:28: ss7-domain 1 > peer-server 2 > psp 1: sctp-rto-max: is set 2 times" in err
    assert not (tmp_path / "out").exists()
    assert run("import", "staros", box, "--into", "lab-pcrf")[0] == EXIT_OK


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--into", "incident-2015"), "no such scenario"),
        (("--into", "incident-2014", "--name", "psp"), "must be KEY=VALUE"),
        (("--into", "incident-2014", "--name", "psq=1"), "Did you mean psp"),
    ],
)
def test_wrong_words(run: Run, box: Path, words: tuple[str, ...], said: str) -> None:
    code, _, err = run("import", "staros", box, *words)
    assert code == EXIT_WRONG_INPUT
    assert said in err


def test_no_such_file(run: Run, tmp_path: Path) -> None:
    code, _, err = run("import", "staros", tmp_path / "none.cfg")
    assert code == EXIT_WRONG_INPUT
    assert "cannot be read" in err


def test_counters_and_traps(run: Run, tmp_path: Path) -> None:
    (tmp_path / "attaches.csv").write_text(ATTACHES)
    out = tmp_path / "out"
    words = ("import", "counters", tmp_path / "attaches.csv", "--into", "incident-2014", "--out", out)
    assert run(*words)[0] == EXIT_WRONG_INPUT
    code, said, _ = run(*words, "--column", "2G attach requests (count)=attach requests:count:gsm")
    assert code == EXIT_OK
    assert "205.08 to 6,850.96 per s" in said
    code, said, _ = run("import", "counters", out / "observed.csv", "--json")
    assert code == EXIT_OK
    assert json.loads(said)["counters"][0]["quantity"] == "attach requests"
    (tmp_path / "alarms.txt").write_text(ALARMS)
    code, said, _ = run("import", "traps", tmp_path / "alarms.txt", "--into", "incident-2014", "--out", out)
    assert code == EXIT_OK
    assert "2014-11-21 08:13:29  stp2/slc4     congestion  cleared 2014-11-21 08:18:47" in said
    first = "element,kind,set,cleared\nstp2/slc1,congestion,2014-11-21 08:13:14,\n"
    assert (out / "alarms.csv").read_text().startswith(first)
    (tmp_path / "detaches.csv").write_text(DETACHES)
    code, _, err = run("import", "counters", tmp_path / "detaches.csv", "--out", tmp_path / "none")
    assert code == EXIT_WRONG_INPUT
    assert "says per second, but holds what looks like counts per interval" in err
    assert not (tmp_path / "none").exists()
    (tmp_path / "figures.csv").write_text("quantity,value,unit\nattempts,10580,\n")
    code, said, _ = run("import", "counters", tmp_path / "figures.csv")
    assert code == EXIT_OK
    assert "attempts" in said
    assert run("import", "counters", tmp_path / "figures.csv", "--marks", "middle")[0] == EXIT_WRONG_INPUT
