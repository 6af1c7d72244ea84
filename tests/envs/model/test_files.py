"""Atomic writing: all or nothing, whatever was there before."""

import os
from pathlib import Path

import pytest

from signalstorm.envs.model.files import write_atomic, write_together


def test_writes_text_and_bytes_into_new_folders(tmp_path: Path) -> None:
    write_atomic(tmp_path / "a" / "b" / "text", "ä\r\n")
    write_atomic(str(tmp_path / "bytes"), b"\x00\xff")
    assert (tmp_path / "a" / "b" / "text").read_bytes() == b"\xc3\xa4\r\n"
    assert (tmp_path / "bytes").read_bytes() == b"\x00\xff"


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "file"
    write_atomic(target, "old")

    def fail(handle: int) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        write_atomic(target, "new")
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_an_older_file_is_kept_on_request(tmp_path: Path) -> None:
    target = tmp_path / "file"
    write_atomic(target, "old", overwrite=False)
    with pytest.raises(FileExistsError):
        write_atomic(target, "new", overwrite=False)
    assert target.read_text() == "old"
    write_atomic(target, "new")
    assert target.read_text() == "new"
    assert list(tmp_path.iterdir()) == [target]


def test_a_file_system_without_links_keeps_older_files_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(source: str, target: Path) -> None:
        raise PermissionError("no hard links")

    monkeypatch.setattr(os, "link", fail)
    target = tmp_path / "file"
    write_atomic(target, "old", overwrite=False)
    with pytest.raises(FileExistsError):
        write_atomic(target, "new", overwrite=False)
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_the_mode_is_that_of_the_old_file_or_of_any_new_one(tmp_path: Path) -> None:
    target = tmp_path / "file"
    write_atomic(target, "x")
    (tmp_path / "other").touch()
    assert target.stat().st_mode == (tmp_path / "other").stat().st_mode
    target.chmod(0o600)
    write_atomic(target, "y")
    assert target.stat().st_mode & 0o777 == 0o600


def test_what_cannot_be_written_is_named_by_its_own_name(tmp_path: Path) -> None:
    target = tmp_path / "made" / f"{'x' * 300}.txt"
    with pytest.raises(OSError, match="File name too long") as caught:
        write_atomic(target, "text")
    assert caught.value.filename == str(target)


def test_files_are_written_together_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = tmp_path / "old", tmp_path / "folder" / "below" / "new"
    write_atomic(old, "old")
    write_together({old: "newer", new: b"new"})
    assert (old.read_text(), new.read_text()) == ("newer", "new")
    synced, real = [], os.fsync

    def fail(handle: int) -> None:
        synced.append(handle)
        if len(synced) > 1:
            raise OSError("disk full")
        real(handle)

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        write_together({old: "newest", tmp_path / "other" / "file": "new"})
    assert old.read_text() == "newer"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "old"]


def test_a_failure_leaves_no_new_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(handle: int) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        write_atomic(tmp_path / "new" / "below" / "file", "text")
    assert list(tmp_path.iterdir()) == []
