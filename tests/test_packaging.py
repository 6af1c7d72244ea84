"""The layout: four folders of the top level are subpackages, through links here and a map in the wheel."""

import json
import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import signalstorm

ROOT = Path(__file__).parents[1]
IMPORT_ROOT = ROOT / "src" / "signalstorm"
FOLDERS = ("agents", "configs", "envs", "experiments")


def run_python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=True, timeout=120, cwd=ROOT
    )


def files_below(folder: Path) -> set[str]:
    """Return the paths of a folder's own files, without what a link shows or a tool leaves behind."""
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file()
        and not any(parent.is_symlink() for parent in path.parents if parent.is_relative_to(folder))
        and "__pycache__" not in path.parts
        and path.name != ".gitkeep"
    }


def test_every_folder_has_a_relative_link_in_the_import_root() -> None:
    links = {path.name: os.readlink(path) for path in IMPORT_ROOT.iterdir() if path.is_symlink()}
    assert links == {name: f"../../{name}" for name in FOLDERS}


def test_every_folder_with_modules_is_linked() -> None:
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"tests"}
    assert packages == set(FOLDERS)


def test_links_and_wheel_map_agree() -> None:
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]
    wheel = build["targets"]["wheel"]
    expected = {name: f"signalstorm/{name}" for name in FOLDERS} | {"src/signalstorm": "signalstorm"}
    assert wheel["sources"] == expected
    assert set(wheel["only-include"]) == set(expected)
    assert {f"/src/signalstorm/{name}" for name in FOLDERS} <= set(build["exclude"])


def test_wheel_holds_exactly_the_tree(tmp_path: Path) -> None:
    run_python("-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(ROOT))
    (wheel,) = tmp_path.glob("signalstorm-*-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}
    expected = {f"signalstorm/{path}" for path in files_below(IMPORT_ROOT)}
    for name in FOLDERS:
        expected |= {f"signalstorm/{name}/{path}" for path in files_below(ROOT / name)}
    assert packed == expected


def test_import_is_light() -> None:
    code = "import json, sys, signalstorm; print(json.dumps(sorted(sys.modules)))"
    loaded = json.loads(run_python("-c", code).stdout)
    heavy = {"torch", "numba", "numpy", "pydantic", "optuna", "gymnasium", "plotly", "stable_baselines3"}
    assert not heavy & set(loaded)


def test_public_names_are_listed_and_unknown_ones_refused() -> None:
    assert {"simulate", "tune", "export", "__version__"} <= set(dir(signalstorm))
    with pytest.raises(AttributeError, match="module 'signalstorm' has no attribute 'simulat'"):
        _ = signalstorm.simulat


def test_public_name_is_loaded_on_first_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(signalstorm._PUBLIC, "square_root", "math:sqrt")
    try:
        assert signalstorm.square_root(9.0) == 3.0
        assert "square_root" in vars(signalstorm)
    finally:
        vars(signalstorm).pop("square_root", None)


def test_module_runs_as_the_command() -> None:
    assert run_python("-m", "signalstorm", "--version").stdout == f"signalstorm {signalstorm.__version__}\n"


def test_installed_version_is_the_one_in_the_source() -> None:
    # An editable install keeps the version of the day it was made, so a wheel's metadata is what counts.
    changelog = (ROOT / "CHANGELOG.md").read_text()
    citation = (ROOT / "CITATION.cff").read_text()
    assert f"version: {signalstorm.__version__}\n" in citation
    assert "## [Unreleased]" in changelog or f"## [{signalstorm.__version__}]" in changelog
