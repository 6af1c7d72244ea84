"""Scenario files: what they mean, what is refused and how, and that writing gives back what was read."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from signalstorm.envs.model import scenario_file
from signalstorm.envs.model.errors import InputError
from signalstorm.envs.model.scenario import Scenario
from tests.envs.model.scenario_data import full, full_data

Write = Callable[[str | bytes], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a scenario file."""

    def _write(content: str | bytes) -> Path:
        path = tmp_path / "core.yaml"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return _write


def lines_of(path: Path) -> list[str]:
    """The message about a file, by lines, without its folder."""
    with pytest.raises(InputError) as error:
        scenario_file.load(path)
    return str(error.value).replace(f"{path.parent}/", "").splitlines()


def test_names_are_those_of_the_package() -> None:
    names = scenario_file.list_names()
    assert names == sorted(names)
    assert {"lab-pcrf", "lab-pcrf-a", "lab-pcrf-nop50"} <= set(names)
    for name in names:
        assert scenario_file.load(name).name == name


def test_a_path_is_a_path(write: Write) -> None:
    path = write(scenario_file.dump(full()))
    assert scenario_file.load(path) == scenario_file.load(str(path)) == full()


@pytest.mark.parametrize("scenario", [full(), *map(scenario_file.load, scenario_file.list_names())])
def test_what_is_written_loads_back_equal(scenario: Scenario, write: Write) -> None:
    text = scenario_file.dump(scenario)
    assert scenario_file.load(write(text)) == scenario
    assert Scenario.model_validate(yaml.safe_load(text)) == scenario
    changed = scenario.with_fields({"horizon_s": 1e5})
    assert scenario_file.load(write(scenario_file.dump(changed))) == changed


@pytest.mark.parametrize("text", ["yes", "12:30", "1e5", "null", "line one\nline two", "a: b # c", "¡ñ 統計!", ""])
def test_any_text_survives_writing(text: str, write: Write) -> None:
    scenario = full(description=text)
    assert scenario_file.load(write(scenario_file.dump(scenario))) == scenario
    assert yaml.safe_load(scenario_file.dump(scenario))["description"] == text


def test_everything_wrong_is_reported_at_once_with_its_line(write: Write) -> None:
    path = write(
        """\
# comment
name: my-core
descripton: misspelt
source: me
access: eps
subscribers:
  - name: phone
    size: -5
    ladder: {kind: eps, t3410: 15}
demand:
  rate_per_s: 100

trigger: {kind: cut, time_s: 700}
timeline:
  - {kind: capacity, target: pcrf, time_s: 5, value: 3}
  - {kind: capacity, target: pcrf, time_s: 5, vlaue: 3}
  - {kind: capacity, target: pcfr, time_s: 5, value: 3}
topolgy:
  gate: {}
  gateway:
    tx_s: .nan
  pcrf: {rate: 50}
present:
  nop_rate: 400
  nop_wait_s: 5
  nop_queue: 2500
variation: {topology.pcrf.bufer: [1, 2]}
control_interval_s: 0.033
"""
    )
    assert lines_of(path) == [
        "core.yaml:2: horizon_s: this key is missing. Add it: the length of a run.",
        "core.yaml:3: descripton: there is no such key here. Did you mean description?",
        "core.yaml:8: subscribers.0.size: must be at least 1 subscribers, but got -5. Meaning: subscribers.",
        "core.yaml:9: subscribers.0.ladder.t3410: there is no such key here. Did you mean t3410_s?",
        "core.yaml:16: timeline.1.vlaue: there is no such key here. Did you mean value?",
        "core.yaml:18: topolgy: there is no such key here. Did you mean topology?",
        "core.yaml:21: topolgy.gateway.tx_s: must be a finite number, unit s, but got nan. "
        "Meaning: Tx: time for which the gateway waits for the policy server.",
        "core.yaml:22: topolgy.pcrf.rate: there is no such key here. Did you mean rate_per_s?",
        "core.yaml:26: present.nop_queue: `nop_rate <= nop_queue <= nop_rate * nop_wait_s` must hold, but got "
        "(nop_rate=400 per s, nop_wait_s=5 s, nop_queue=2500 requests). "
        "Give a nop_queue of 400 to 2000, or leave it out for the default.",
    ]


def test_rules_over_several_fields_are_reported_beside_misspelt_keys(write: Write) -> None:
    data = full_data(trigger={"kind": "cut", "time_s": 700}, control_interval_s=0.07)
    data["topology"]["pcrf"] = {"rate": 50}
    data["timeline"][1] = {"kind": "latency", "target": "hss", "time_s": "soon", "value_s": 1}
    data["timeline"][4]["target"] = "databse"
    data["variation"] = {"topology.pcrf.bufer": [1, 2], "demand.rate_per_s": [2, 1]}
    with pytest.raises(InputError) as error:
        scenario_file.load(write(yaml.safe_dump(data)))
    assert {fault.key for fault in error.value.faults} == {
        "trigger.time_s",
        "control_interval_s",
        "topology.pcrf.rate",
        "timeline.1.time_s",
        "timeline.4.target",
        "variation.topology.pcrf.bufer",
        "variation.demand.rate_per_s",
    }


def test_warnings_have_lines(write: Write) -> None:
    text = scenario_file.dump(full()) + "step_s: 0.5\n"
    scenario, (warning,) = scenario_file.check(write(text))
    assert scenario.step_s == 0.5
    assert (warning.line, warning.key) == (text.count("\n"), "step_s")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "core.yaml: the file is empty. Start from `signalstorm scenarios new`."),
        ("# nothing\n", "core.yaml: the file is empty. Start from `signalstorm scenarios new`."),
        ("- a\n- b\n", "core.yaml: must hold keys with values, but holds a list. "),
        ("lab-pcrf", "core.yaml: must hold keys with values, but holds a single value. "),
        (b"name: caf\xe9\n", "core.yaml:1: is not UTF-8 text. Save the file as UTF-8."),
        (b"name: x\nsource: \xff\xfe\n", "core.yaml:2: is not UTF-8 text. Save the file as UTF-8."),
        (b"name: a\x00b\n", "core.yaml: is no valid YAML: special characters are not allowed. Save it as plain"),
        ("name: [a\nsource: x\n", "core.yaml:2: is no valid YAML: "),
        ("name: a\n\tsource: x\n", "core.yaml:2: is no valid YAML: "),
        ("name: a\n---\nname: b\n", "core.yaml:2: is no valid YAML: expected a single document"),
        ("name: &a x\nsource: *a\n", "core.yaml:2: is no valid YAML: aliases (*a) are not allowed. Write"),
        ("name: " + "[" * 5000, "core.yaml: is nested too deeply. "),
        ("a: " + "{a: " * 60 + "1" + "}" * 60, "core.yaml:1: is nested too deeply. "),
        ("x" * 10_000_001, "core.yaml: must be at most 10 MB. "),
    ],
)
def test_a_file_that_cannot_be_read_gives_one_message(content: str | bytes, message: str, write: Write) -> None:
    (line,) = lines_of(write(content))
    assert line.startswith(message.strip())


def test_an_alias_bomb_is_refused_quickly(write: Write) -> None:
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 30)
    )
    (line,) = lines_of(write(bomb))
    assert "aliases (*a0) are not allowed" in line


def test_a_recursive_alias_is_refused(write: Write) -> None:
    (line,) = lines_of(write("name: &a [*a]\n"))
    assert "aliases (*a) are not allowed" in line


@pytest.mark.parametrize(
    "line",
    [
        "source: !!python/object/apply:os.system [id]",
        "source: !!python/name:os.system",
        "source: !!binary aGk=",
        "source: !mine x",
        "source: !!set {a, b}",
        "source: !!timestamp 2012-01-25",
        "source: !!float abc",
        "source: !!int 'abc'",
        "source: !!str 5",
        "source: !!seq x",
    ],
)
def test_tags_are_refused_and_never_obeyed(line: str, write: Write) -> None:
    text = scenario_file.dump(full()).replace("source: invented", line)
    assert line in text
    found = lines_of(write(text))
    assert "core.yaml:3: source: tags are not allowed" in found[0]


def test_a_key_that_stands_twice_is_refused_with_both_lines(write: Write) -> None:
    text = scenario_file.dump(full()) + "horizon_s: 300\n"
    (line,) = lines_of(write(text))
    last = text.count("\n")
    assert line.startswith(f"core.yaml:{last}: horizon_s: this key stands twice, first on line ")


def test_values_mean_what_people_mean(write: Write) -> None:
    text = scenario_file.dump(full(clock_start=None, present=None))
    text += "clock_start: 12:30\npresent: {nop_rate: off}\n"
    scenario = scenario_file.load(write(text.replace("size: 9000", "size: 1.25e8")))
    assert scenario.clock_start == "12:30"
    assert scenario.present == {"nop_rate": "off"}
    assert scenario.subscribers[0].size == 125_000_000


@pytest.mark.parametrize("value", ["off", '"off"', "false", "no"])
def test_the_gate_can_be_off_however_yaml_reads_it(value: str, write: Write) -> None:
    text = scenario_file.dump(full(present=None)) + f"present: {{nop_rate: {value}}}\n"
    assert scenario_file.load(write(text)).present["nop_rate"] == "off"


@pytest.mark.parametrize("value", ["on", "true", "0"])
def test_the_gate_cannot_be_on(value: str, write: Write) -> None:
    text = scenario_file.dump(full(present=None)) + f"present: {{nop_rate: {value}}}\n"
    (line,) = lines_of(write(text))
    assert "50 to 5000 per s, or off" in line


def test_an_unknown_name_suggests_the_nearest_and_lists_all() -> None:
    with pytest.raises(InputError) as error:
        scenario_file.load("lab-pcfr")
    message = str(error.value)
    assert "there is no such scenario, but got 'lab-pcfr'. Did you mean lab-pcrf?" in message
    for name in scenario_file.list_names():
        assert name in message


def test_a_missing_file_suggests_its_neighbour(write: Write) -> None:
    path = write("")
    (line,) = lines_of(path.with_name("cor.yaml"))
    assert line == "cor.yaml: there is no such file. Did you mean core.yaml?"
    with pytest.raises(InputError, match=r"there is no such file\. Give an existing file\."):
        scenario_file.load("/nowhere/at/all.yaml")


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"is a folder\. Give the file inside it\."):
        scenario_file.load(tmp_path)


def test_control_characters_do_not_reach_the_terminal(write: Write) -> None:
    text = scenario_file.dump(full()) + '"\\e[31mred": 1\n'
    (line,) = lines_of(write(text))
    assert "\x1b" not in line


def test_renaming_keeps_comments_and_layout() -> None:
    text = scenario_file.renamed("lab-pcrf", "my-core")
    original = scenario_file.read("lab-pcrf")[0].decode()
    assert text == original.replace("name: lab-pcrf", "name: my-core", 1)
    assert scenario_file.parse(text.encode(), "x").name == "my-core"


def test_renaming_works_for_a_file_in_flow_style(write: Write) -> None:
    data: dict[str, Any] = full_data()
    path = write(yaml.safe_dump(data, default_flow_style=True))
    assert scenario_file.parse(scenario_file.renamed(path, "other").encode(), "x") == full(name="other")
