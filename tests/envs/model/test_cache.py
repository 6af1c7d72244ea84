"""The kernel cache: another source, another folder; an unwritable folder does not stop a run."""

import ast
import gc
import logging
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numba
import pytest

from signalstorm.envs.model import cache
from signalstorm.envs.model.cache import compiling

MODEL = Path(cache.__file__).parent


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """Let prepare_cache work again, below a folder of the test's own."""
    before = numba.config.CACHE_DIR
    base = tmp_path / "base"
    monkeypatch.setenv("SIGNALSTORM_CACHE_DIR", str(base))
    cache.prepare_cache.cache_clear()
    yield base
    numba.config.CACHE_DIR = before
    cache.prepare_cache.cache_clear()


@pytest.fixture
def model_copy(tmp_path: Path) -> Path:
    """A folder like envs/model with two kernels and a constant."""
    folder = tmp_path / "model"
    (folder / "kernels").mkdir(parents=True)
    (folder / "kernels" / "queue.py").write_text("RATE = 1.0\n")
    (folder / "kernels" / "gate.py").write_text("WAIT = 2.0\n")
    (folder / "constants.py").write_text("T3410_S = 15.0\n")
    (folder / "scenario.py").write_text("NAME = 'lab'\n")
    return folder


@pytest.mark.parametrize("changed", ["kernels/queue.py", "constants.py"])
def test_key_changes_with_every_source_that_is_compiled(model_copy: Path, changed: str) -> None:
    before = cache.cache_key(model_copy)
    assert cache.cache_key(model_copy) == before
    with (model_copy / changed).open("a") as file:
        file.write("\n")
    assert cache.cache_key(model_copy) != before


def test_key_changes_with_a_new_kernel_and_its_name(model_copy: Path) -> None:
    keys = {cache.cache_key(model_copy)}
    (model_copy / "kernels" / "wheel.py").write_text("")
    keys.add(cache.cache_key(model_copy))
    (model_copy / "kernels" / "wheel.py").rename(model_copy / "kernels" / "timer.py")
    keys.add(cache.cache_key(model_copy))
    assert len(keys) == 3


def test_key_ignores_what_is_not_compiled(model_copy: Path) -> None:
    before = cache.cache_key(model_copy)
    (model_copy / "scenario.py").write_text("NAME = 'incident'\n")
    assert cache.cache_key(model_copy) == before


def test_kernels_import_only_what_the_key_covers() -> None:
    covered = {"signalstorm.envs.model.cache"} | {
        f"signalstorm.envs.model.{name.removesuffix('.py')}" for name in cache.CONSTANT_FILES
    }
    for source in (MODEL / "kernels").rglob("*.py"):
        for node in ast.walk(ast.parse(source.read_text())):
            names = (
                [node.module or ""]
                if isinstance(node, ast.ImportFrom)
                else [alias.name for alias in node.names]
                if isinstance(node, ast.Import)
                else []
            )
            for name in names:
                if name.startswith("signalstorm"):
                    assert name in covered or name.startswith("signalstorm.envs.model.kernels"), (
                        f"{source.name} compiles in {name}, which the cache key does not cover: "
                        "move the constant into a file of cache.CONSTANT_FILES"
                    )


def test_folder_is_named_by_the_key(fresh: Path) -> None:
    folder = cache.prepare_cache()
    assert folder == fresh / "numba" / cache.cache_key()
    assert folder.is_dir()
    assert str(folder) == numba.config.CACHE_DIR
    assert cache.prepare_cache() is folder


def test_folder_is_cold_until_something_is_compiled(fresh: Path) -> None:
    assert cache.is_cold()
    (cache.prepare_cache() / "kernels_0").mkdir()
    (cache.prepare_cache() / "kernels_0" / "queue.nbc").touch()
    assert not cache.is_cold()


def test_folder_given_to_numba_is_respected(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SIGNALSTORM_CACHE_DIR")
    numba.config.CACHE_DIR = str(fresh / "mine")
    assert cache.prepare_cache().parent == fresh / "mine" / "signalstorm" / "numba"


@pytest.mark.skipif(sys.platform != "linux", reason="the XDG folders are Linux's")
def test_users_cache_folder_is_the_default(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SIGNALSTORM_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(fresh / "xdg"))
    numba.config.CACHE_DIR = ""
    assert cache.prepare_cache().parent == fresh / "xdg" / "signalstorm" / "numba"


def test_unwritable_folder_is_replaced_by_a_temporary_one(fresh: Path, caplog: pytest.LogCaptureFixture) -> None:
    fresh.write_text("a file where the folder should be")
    with caplog.at_level(logging.WARNING):
        folder = cache.prepare_cache()
        cache.prepare_cache()
    assert folder.is_dir()
    assert not folder.is_relative_to(fresh)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    shutil.rmtree(folder)


def test_only_the_newest_folders_are_kept(fresh: Path) -> None:
    parent = fresh / "numba"
    for age in range(6):
        old = parent / f"{age:016x}"
        old.mkdir(parents=True)
        (old / "queue.nbc").touch()
        os.utime(old, (1_000_000 - age, 1_000_000 - age))
    (parent / "notes-of-the-user").mkdir()
    folder = cache.prepare_cache()
    assert {path.name for path in parent.iterdir()} == {
        folder.name,
        *(f"{age:016x}" for age in range(3)),
        "notes-of-the-user",
    }


def test_folders_that_others_use_are_kept(fresh: Path) -> None:
    for version in range(6):
        (fresh / "numba" / f"{version:016x}").mkdir(parents=True)
    cache.prepare_cache()
    assert len(list((fresh / "numba").iterdir())) == 7


KERNEL = """
import numba
@numba.njit(cache=True)
def double(x):
    return 2.0 * x
"""


def test_numba_compiles_into_the_folder_from_the_first_kernel_on(tmp_path: Path) -> None:
    (tmp_path / "one_kernel.py").write_text(KERNEL)
    code = (
        "import signalstorm.envs.model.kernels, one_kernel; from signalstorm.envs.model import cache\n"
        "print(cache.is_cold()); one_kernel.double(1.5); print(cache.is_cold())\n"
        "print(sum(one_kernel.double.stats.cache_hits.values()))"
    )
    environment = os.environ | {"SIGNALSTORM_CACHE_DIR": str(tmp_path / "base"), "PYTHONPATH": str(tmp_path)}

    def run() -> list[str]:
        return subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
        ).stdout.split()

    assert run() == ["True", "False", "0"]
    assert run() == ["False", "False", "1"]


def test_garbage_is_looked_for_as_usual_after_compiling() -> None:
    usual = gc.get_threshold()
    with compiling() as elapsed_s:
        assert gc.get_threshold()[0] > usual[0]
    assert elapsed_s() >= 0.0
    assert gc.get_threshold() == usual
