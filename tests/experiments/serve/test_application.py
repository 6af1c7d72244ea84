"""What the server answers to the page, and how it refuses everybody else."""

import json
import os
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import yaml

pytest.importorskip("dash", reason="pip install 'signalstorm[web]'")
from flask.testing import FlaskClient

from signalstorm.envs.model.knobs import resolve
from signalstorm.envs.model.scenario_file import load
from signalstorm.experiments.run_folder import RunFolder
from signalstorm.experiments.serve import application, sweeps
from signalstorm.experiments.serve.application import create_app
from signalstorm.experiments.serve.sources import Sources
from signalstorm.experiments.what_if import read_setting
from tests.experiments.serve.page_requests import ANSWER, OPEN, UPDATE, body, moving, opening
from tests.experiments.serve.runs import write_run, write_sweep

LABORATORY = {
    "source": "scenario:lab-pcrf",
    "knobs": {"nop_rate": "60", "nop_wait_s": "15"},
    "removed": [],
    "added": [],
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    write_run(folder / "night")
    write_sweep(folder / "going-on", [120.0, 90.0])
    (write_run(folder / "damaged") / "recommendation.json").write_text("{", "utf-8")
    write_run(folder / "without-a-gate", "docomo-2012")
    return folder


@pytest.fixture(scope="module")
def client(runs: Path) -> Iterator[FlaskClient]:
    with create_app(Sources(runs=runs)).server.test_client() as found:
        yield found


def _post(client: FlaskClient, content: dict[str, Any]) -> dict[str, Any]:
    answer = client.post(UPDATE, json=content)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.get_json()["response"]
    return found


def _texts(component: Any) -> list[str]:
    """Return the texts of a component and of everything in it."""
    if isinstance(component, str):
        return [component]
    if isinstance(component, list):
        return [text for each in component for text in _texts(each)]
    if isinstance(component, dict):
        return _texts(component.get("props", {}).get("children"))
    return []


def test_the_page_and_its_parts_are_served(client: FlaskClient) -> None:
    page = client.get("/")
    assert page.status_code == 200
    assert '<html lang="en">' in page.text
    for path in ("/_dash-layout", "/_dash-dependencies", "/assets/page.js", "/assets/page.css"):
        with client.get(path) as answer:
            assert answer.status_code == 200


def test_opening_a_source_brings_its_knobs_events_and_charts(client: FlaskClient) -> None:
    found = _post(client, opening("scenario:incident-2014"))
    base = found["base"]["data"]
    assert base["present"] == base["start"]
    assert base["present"]["nop_rate"] == "500"
    assert [option["label"] for option in found["events"]["options"]] == ["hlr reset of hlr at 0 s"]
    assert "stp2/slc1" in found["event-target"]["options"]
    about = " ".join(_texts(found["about"]["children"]))
    assert "T counts from 08:00, 5,700 s after the scenario's start at 06:25" in about
    assert "The dotted line in the curves is where it begins" in about
    assert "Congested links" in _texts(found["charts"]["children"])
    assert found["watch"]["disabled"] is True


def test_opening_a_run_brings_its_recommended_setting(client: FlaskClient) -> None:
    found = _post(client, opening("run:night"))
    base = found["base"]["data"]
    assert (base["present"]["nop_rate"], base["start"]["nop_rate"]) == ("off", "60")
    assert (base["present"]["nop_queue"], base["start"]["nop_queue"]) == ("", "480")
    assert found["watch"]["disabled"] is False
    assert "The page opened it with the setting that it recommends." in " ".join(_texts(found["about"]["children"]))


def test_a_damaged_run_is_shown_as_a_message(client: FlaskClient) -> None:
    found = _post(client, opening("run:damaged"))
    assert "is not JSON" in " ".join(_texts(found["about"]["children"]))
    assert found["knobs"]["children"] == []


def test_a_run_whose_setting_does_not_fit_its_scenario_is_a_message(client: FlaskClient) -> None:
    found = _post(client, opening("run:without-a-gate"))
    assert "has no gate" in " ".join(_texts(found["about"]["children"]))
    assert found["base"]["data"]["broken"] is True


def test_an_answer_holds_both_storms(client: FlaskClient) -> None:
    found = _post(client, moving(LABORATORY))
    answer = found["answer"]["data"]
    assert answer["messages"] == {}
    assert answer["setting"]["nop_queue"] == "900"
    assert answer["storms"] == 4
    lines = {trace["name"]: trace for trace in answer["charts"]["requests"]["data"] if trace.get("showlegend", True)}
    assert set(lines) == {"present", "changed"}
    assert lines["present"]["line"]["dash"] == "dash"
    assert lines["changed"]["line"]["dash"] == "solid"
    assert lines["present"]["dx"] == lines["changed"]["dx"]
    assert len(lines["present"]["y"]) > len(lines["changed"]["y"])
    for figure in answer["charts"].values():
        for axis in ("xaxis", "yaxis"):
            assert figure["layout"][axis]["title"]["text"]
    assert "Time to converge, T (median)" in _texts(found["table"]["children"])


def test_an_unchanged_setting_is_the_same_storm(client: FlaskClient) -> None:
    move = {**LABORATORY, "knobs": {}}
    for figure in _post(client, moving(move))["answer"]["data"]["charts"].values():
        lines = [trace["y"] for trace in figure["data"] if trace.get("name") in ("present", "changed")]
        assert lines[0] == lines[1]


def test_links_are_shown_one_by_one(client: FlaskClient) -> None:
    move = {"source": "scenario:incident-2014", "knobs": {"nop_rate": "400"}, "removed": [], "added": []}
    charts = _post(client, moving(move))["answer"]["data"]["charts"]
    for name, most in (("present", 1.0), ("changed", 1.0)):
        (trace,) = charts[f"links-{name}"]["data"]
        assert trace["y"] == [f"stp{stp}/slc{link}" for stp in (1, 2) for link in (1, 2, 3, 4)]
        assert {len(row) for row in trace["z"]} == {len(trace["x"])}
        assert max(map(max, trace["z"])) == most


def test_a_wrong_value_is_a_message_and_no_curve(client: FlaskClient) -> None:
    found = _post(client, moving({**LABORATORY, "knobs": {"nop_rate": "7"}}))
    assert found["answer"]["data"]["messages"]["nop_rate"].startswith("must be a whole number, 50 to 5000 per s")
    assert "charts" not in found["answer"]["data"]
    assert "table" not in found


def test_only_an_event_that_can_happen_is_listed(client: FlaskClient) -> None:
    own = [{"label": "its own", "value": "0"}]
    found = _post(client, _adding(client, "capacity", "pcrf", "5", "20", own, ["0"]))
    added = {"label": "capacity of pcrf at 5 s: 20", "value": "capacity:pcrf@5=20"}
    assert found["events"] == {"options": [*own, added], "value": ["0", added["value"]]}
    assert found["event-refused"]["children"] == ""
    again = _post(client, _adding(client, "capacity", "pcrf", "5.0", "20", [*own, added], []))
    assert again["events"] == {"options": [*own, added], "value": [added["value"]]}
    refused = _post(client, _adding(client, "capacity", "pcrf", "abc", "20", own, ["0"]))
    assert refused == {"event-refused": {"children": "Not added. The time must be a number, but is 'abc'."}}


@pytest.mark.parametrize(
    "form",
    [
        ("x", "pcrf", "5", "20", [], []), (1, "pcrf", "5", "20", [], []), ("capacity", [], "5", "20", [], []),
        ("capacity", "pcrf", {}, "20", [], []), ("capacity", "pcrf", "5", "20", None, []),
        ("capacity", "pcrf", "5", "20", [{}], []), ("capacity", "pcrf", "5", "20", [{"value": "x"}], []),
        ("capacity", "pcrf", "5", "20", [], None), ("capacity", "pcrf", "5", "20", [], [1]),
        ("capacity", "pcrf", "5", "20", [{"value": "-1"}], []),
    ],
)  # fmt: skip
def test_an_event_that_no_page_sends_is_a_bad_request(client: FlaskClient, form: tuple[Any, ...]) -> None:
    assert client.post(UPDATE, json=_adding(client, *form)).status_code == 400


def _adding(client: FlaskClient, *form: Any) -> dict[str, Any]:
    wires = client.get("/_dash-dependencies").get_json()
    output = next(wire["output"] for wire in wires if "event-refused" in wire["output"])
    fields = (
        ("event-kind", "value"), ("event-target", "value"), ("event-time", "value"), ("event-value", "value"),
        ("events", "options"), ("events", "value"), ("source", "value"),
    )  # fmt: skip
    states = [
        {"id": name, "property": field, "value": value}
        for (name, field), value in zip(fields, (*form, "scenario:lab-pcrf"), strict=True)
    ]
    return {**body(output, ("event-add", "n_clicks", 1)), "state": states}


def test_a_sweep_is_watched(client: FlaskClient, runs: Path) -> None:
    with RunFolder(runs / "going-on"):
        found = _post(client, _watching("run:going-on"))
    text = " ".join(_texts(found["sweep"]["children"]))
    assert "2 trials of 40, running. Best 90.0 s against 120.0 s at present" in text
    assert "Best so far, trial 1: nop_rate 51 per s." in text
    assert found["best"]["data"] == {"nop_rate": "51"}
    assert found["use-best"]["hidden"] is False


def test_a_sweep_that_nobody_works_on_is_not_said_to_be_running(client: FlaskClient, runs: Path) -> None:
    """Its journal is seconds old here, as it is right after the search was killed."""
    found = _post(client, _watching("run:going-on"))
    text = " ".join(_texts(found["sweep"]["children"]))
    assert "2 trials of 40, not finished, and no process on this machine is running it" in text
    assert found["use-best"]["hidden"] is False


def test_where_no_lock_tells_the_time_does(client: FlaskClient, runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeps, "is_held", lambda folder: None)
    journal = runs / "going-on" / "journal.log"
    for age_s, words in ((5.0, "2 trials of 40, running"), (900.0, "it may have been interrupted")):
        os.utime(journal, (time.time() - age_s,) * 2)
        assert words in " ".join(_texts(_post(client, _watching("run:going-on"))["sweep"]["children"]))


def test_a_finished_run_without_its_journal_has_no_best(client: FlaskClient) -> None:
    found = _post(client, _watching("run:night"))
    assert "no journal to watch" in " ".join(_texts(found["sweep"]["children"]))
    assert found["use-best"]["hidden"] is True


@pytest.mark.parametrize("source", ["scenario:lab-pcrf", "run:damaged"])
def test_nothing_else_is_watched(client: FlaskClient, source: str) -> None:
    found = _post(client, _watching(source))
    assert (found["sweep"]["children"], found["best"]["data"]) == ([], {})


def _watching(source: str) -> dict[str, Any]:
    output = "..sweep.children...best.data...use-best.hidden.."
    return body(output, ("watch", "n_intervals", 1), ("source", "value", source))


def _download(client: FlaskClient, name: str, move: Any = LABORATORY) -> Any:
    text = move if isinstance(move, str) else json.dumps(move)
    return client.get(f"/setting/{name}?move={quote(text)}")


def test_the_downloaded_setting_is_the_shown_one(client: FlaskClient, tmp_path: Path) -> None:
    shown = _post(client, moving(LABORATORY))["answer"]["data"]["setting"]
    for name, read in (("setting.yaml", yaml.safe_load), ("setting.json", json.loads)):
        answer = _download(client, name)
        assert answer.headers["Content-Disposition"] == f'attachment; filename="{name}"'
        assert {knob: str(value) for knob, value in read(answer.text).items()} == shown
        (tmp_path / name).write_text(answer.text, "utf-8")
        again = resolve(read_setting(tmp_path / name), load("lab-pcrf"))
        assert {knob: str(value) for knob, value in again.items()} == shown
    assert "mme-new-connections-per-second 60" in _download(client, "staros.cfg").text
    assert "horizon_s: 600" in _download(client, "scenario.yaml").text


def test_what_is_no_file_of_a_setting_is_not_found(client: FlaskClient) -> None:
    assert _download(client, "staros-gateway.cfg").status_code == 404
    assert _download(client, "..%2f..%2fetc%2fpasswd").status_code == 404


@pytest.mark.parametrize("move", ["", "[", "null", "{}", '{"source": "run:../x"}', '{"source": "file:7"}'])
def test_malformed_downloads_are_refused(client: FlaskClient, move: str) -> None:
    answer = _download(client, "setting.yaml", move)
    assert answer.status_code == 400
    assert "Traceback" not in answer.text


def test_a_download_of_a_wrong_value_is_refused_with_its_message(client: FlaskClient) -> None:
    answer = _download(client, "setting.yaml", {**LABORATORY, "knobs": {"nop_rate": "7"}})
    assert answer.status_code == 400
    assert "must be a whole number, 50 to 5000 per s" in answer.text


MALFORMED: list[Any] = [
    None, [], "x", 1, {}, {"output": 1}, {"output": "nothing.data"}, {"output": ANSWER},
    {"output": ANSWER, "inputs": {}}, {"output": ANSWER, "inputs": [1]}, {"output": ANSWER, "inputs": [{}]},
    {"output": OPEN, "inputs": []}, {**moving(LABORATORY), "outputs": 1}, {**moving(LABORATORY), "changedPropIds": 3},
    {**moving(LABORATORY), "inputs": []}, moving([]), moving({"source": 1}), moving({**LABORATORY, "source": "run:.."}),
    moving({**LABORATORY, "more": 1}), opening(None), opening(7), opening("run:../night"),
    opening(["scenario:lab-pcrf"]), {**opening("scenario:lab-pcrf"), "outputs": []},
    {**opening("scenario:lab-pcrf"), "state": 1},
]  # fmt: skip


@pytest.mark.parametrize("content", MALFORMED)
def test_malformed_requests_are_refused_without_a_traceback(client: FlaskClient, content: Any) -> None:
    answer = client.post(UPDATE, json=content)
    assert 400 <= answer.status_code < 500, answer.text
    assert "Traceback" not in answer.text
    assert answer.mimetype == "text/plain"


def test_noise_is_refused(client: FlaskClient) -> None:
    noise = random.Random(7)
    whole = json.dumps(moving(LABORATORY)).encode()
    for _ in range(200):
        damaged = bytearray(whole)
        for _ in range(noise.randint(1, 4)):
            damaged[noise.randrange(len(damaged))] = noise.randrange(256)
        answer = client.post(UPDATE, data=bytes(damaged), content_type="application/json")
        assert answer.status_code < 500, (damaged, answer.text)
        assert "Traceback" not in answer.text


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/etc/passwd"), ("GET", "/assets/../application.py"), ("GET", "/assets/%2e%2e/application.py"),
        ("GET", "/_dash-component-suites/os/path.py"), ("GET", "/_dash-component-suites/dash/../x.py"),
        ("GET", "/_dash-component-suites/nothing/x.js"), ("GET", UPDATE), ("PUT", "/"), ("DELETE", "/setting/x"),
        ("POST", "/setting/setting.yaml"), ("GET", "/_reload-hash"), ("GET", "/_alive_x"),
    ],
)  # fmt: skip
def test_other_paths_and_methods_are_refused(client: FlaskClient, method: str, path: str) -> None:
    answer = client.open(path, method=method)
    assert 400 <= answer.status_code < 500
    assert "Traceback" not in answer.text


def test_too_much_is_refused(client: FlaskClient) -> None:
    assert client.post(UPDATE, json={"output": "x" * 300_000}).status_code == 413


def test_other_content_types_are_refused(client: FlaskClient) -> None:
    """A form of another site can be sent without asking, but not as JSON."""
    text = json.dumps(moving(LABORATORY))
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        assert client.post(UPDATE, data=text, content_type=kind).status_code == 415


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8050", "localhost.evil.example", "127.0.0.1.nip.io", ""]
)
def test_other_names_of_this_machine_are_refused(client: FlaskClient, host: str) -> None:
    """A site whose name is made to resolve to 127.0.0.1 does not get the page."""
    assert client.get("/", headers={"Host": host}).status_code == 403
    assert client.post(UPDATE, json=moving(LABORATORY), headers={"Host": host}).status_code == 403


@pytest.mark.parametrize("host", ["127.0.0.1:8050", "localhost:1", "LOCALHOST", "[::1]:8050", "192.0.2.7"])
def test_own_names_and_addresses_are_served(client: FlaskClient, host: str) -> None:
    assert client.get("/", headers={"Host": host}).status_code == 200


def test_every_answer_forbids_foreign_scripts(client: FlaskClient) -> None:
    for path in ("/", "/nothing", "/assets/page.js"):
        with client.get(path) as answer:
            headers = answer.headers
        assert headers["Content-Security-Policy"].startswith("default-src 'none'; script-src 'self' 'sha256-")
        assert "unsafe-eval" not in headers["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["X-Frame-Options"] == "DENY"


def test_a_mistake_of_the_program_is_one_plain_sentence(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*_: Any) -> None:
        raise ZeroDivisionError("secret")

    monkeypatch.setattr(application, "changed", fails)
    answer = client.post(UPDATE, json=moving(LABORATORY))
    assert answer.status_code == 500
    assert answer.text == "Something went wrong; the terminal of `signalstorm serve` says what.\n"
    assert "ZeroDivisionError" in caplog.text
