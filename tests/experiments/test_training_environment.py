"""What a training is on: every fault of a training file at once, with its line, before anything is written."""

from pathlib import Path

import pytest

pytest.importorskip("gymnasium")

from signalstorm.envs.model.errors import InputError
from signalstorm.experiments.training_environment import training_of
from signalstorm.experiments.training_file import TrainingFile, load_training


def faults(tmp_path: Path, text: str, what: str | None = None) -> list[tuple[str | None, int | None, str]]:
    """Return file, line and key of everything that is wrong with a training file."""
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(InputError) as refused:
        training_of(what, path)
    return [
        (None if fault.file is None else Path(fault.file).name, fault.line, fault.key) for fault in refused.value.faults
    ]


OPTIONS = "environment: AttachLteEasy\noptions:\n  "


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("delya: 3", [(3, "options.delya")]),
        ("delay: -3\n  weights: {x: 1}", [(3, "options.delay"), (4, "options.weights")]),
        ("delay: 1\n  knobs: [foo]", [(4, "options.knobs")]),
        ("knobs: []", [(3, "options.knobs")]),
        ("start:\n    nop_rate: 3\n    foo: 4", [(4, "options.start.nop_rate"), (5, "options.start.foo")]),
        ("start: {rto_max_ms: 500}", [(3, "options.start.rto_max_ms")]),
        ("delay: 0\n  scenario: nowhere", [(4, "options.scenario")]),
        ("scenario: ./nowhere.yaml", [(3, "options.scenario")]),
        ("largest_change: {foo: 1}", [(3, "options.largest_change.foo")]),
        ("delay: -3\nrows: 10\nlearning: {batch_size: 77}", [(3, "options.delay"), (5, "learning.batch_size")]),
        ("delay: -3\nrows: 0\nwarm_start: {law: pdi}", [(3, "options.delay"), (4, "rows"), (5, "warm_start.law")]),
        ("action_mode: discrete\nwarm_start:\n  rounds: 2\n  law: pid", [(6, "warm_start.law")]),
        ("vary: true\nrows: 0\nwarm_start:\n  law: dra-bands", [(4, "rows"), (6, "warm_start.law")]),
    ],
)
def test_options_have_file_and_line(tmp_path: Path, text: str, wrong: list[tuple[int, str]]) -> None:
    assert faults(tmp_path, OPTIONS + text) == [("mine.yaml", *one) for one in wrong]


@pytest.mark.parametrize(
    "named", ["NoSuch", "AttachLteEazy", "signalstorm/Nope-v0", "./nowhere.yaml", "nowhere-randomised"]
)
def test_an_unknown_environment_has_file_and_line(tmp_path: Path, named: str) -> None:
    found = faults(tmp_path, f"rows: 0\nenvironment: {named}\noptions: {{delay: 1}}")
    assert found == [("mine.yaml", 1, "rows"), ("mine.yaml", 2, "environment")]


def test_no_environment_at_all(tmp_path: Path) -> None:
    assert faults(tmp_path, "rows: 0\n") == [("mine.yaml", 1, "rows"), ("mine.yaml", 1, "environment")]
    for training in (None, TrainingFile()):
        with pytest.raises(InputError, match="names no environment"):
            training_of(None, training)


def test_what_the_command_names_counts(tmp_path: Path) -> None:
    # The file's own name is not looked at, and what is wrong with the command's is not the file's.
    assert faults(tmp_path, "environment: NoSuch\noptions: {delay: -1}", "AttachLteEasy") == [
        ("mine.yaml", 2, "options.delay")
    ]
    assert faults(tmp_path, "environment: AttachLteEasy\nrows: 0", "NoSuch") == [
        ("mine.yaml", 2, "rows"), (None, None, ""),
    ]  # fmt: skip
    (tmp_path / "mine.yaml").write_text("environment: NoSuch\nrows: 16")
    environment, file = training_of("AttachLteEasy", tmp_path / "mine.yaml")
    assert (environment.name, file.environment, file.learning.batch_size) == ("attach-lte-easy", "AttachLteEasy", 1024)


def test_faults_of_a_scenario_stay_in_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("broken.yaml").write_text("name: broken\nhorizon_s: -1\n")
    for text in ("environment: ./broken.yaml\nrows: 0", f"{OPTIONS}scenario: ./broken.yaml\nrows: 0"):
        found = faults(tmp_path, text)
        assert ("mine.yaml", text.count("\n") + 1, "rows") in found
        assert ("broken.yaml", 2, "horizon_s") in found


def test_a_packaged_training(tmp_path: Path) -> None:
    environment, file = training_of(None, "attach-lte-easy")
    assert file == load_training("attach-lte-easy")
    assert environment.options.scenario.name == "attach-lte-easy"
    assert training_of("AttachLteEasy", None) == (environment, file)
