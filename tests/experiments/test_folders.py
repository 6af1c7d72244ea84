"""What is said of a folder that holds no recommendation."""

from pathlib import Path

import pytest

from signalstorm.envs.model.errors import InputError
from signalstorm.experiments.recommendation import load


def _said(folder: Path) -> str:
    with pytest.raises(InputError) as caught:
        load(folder)
    return str(caught.value)


def test_a_search_on_its_way_says_how_it_goes_on(tmp_path: Path) -> None:
    (tmp_path / "journal.log").touch()
    assert "has not come to its recommendation.json yet" in _said(tmp_path)
    (tmp_path / "command.txt").write_text("signalstorm tune lab-pcrf\n", "utf-8")
    assert "goes on with it: signalstorm tune lab-pcrf" in _said(tmp_path)
    (tmp_path / "command.txt").write_bytes(b"\x1b[2J\xff")
    assert "\x1b" not in _said(tmp_path)


@pytest.mark.parametrize(
    ("file", "what", "way_out"),
    [
        ("training.yaml", "a training, which recommends no setting", "signalstorm distil"),
        ("policy.json", "a trained policy", "signalstorm evaluate"),
        ("policy.safetensors", "its policy.json is missing", "Copy the whole folder"),
        ("result.json", "`signalstorm simulate`", "signalstorm tune"),
        ("compare.json", "a comparison", "comparison.md"),
    ],
)
def test_other_folders_are_told_apart(tmp_path: Path, file: str, what: str, way_out: str) -> None:
    (tmp_path / file).touch()
    said = _said(tmp_path)
    assert said.startswith(f"{tmp_path}: ")
    assert what in said
    assert way_out in said


def test_a_folder_of_runs_names_them(tmp_path: Path) -> None:
    assert "has no recommendation.json, so it is not the folder of a run" in _said(tmp_path)
    for i in range(7):
        (tmp_path / f"run-{i}").mkdir()
        (tmp_path / f"run-{i}" / "recommendation.json").touch()
    said = _said(tmp_path)
    assert "(run-0, run-1, run-2, run-3, run-4 and 2 more)" in said
    assert f"such as {tmp_path / 'run-0'}" in said
