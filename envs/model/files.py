"""Files: written so that a reader, or a crash, never meets half of one, and read as text."""

import contextlib
import errno
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from signalstorm.envs.model.errors import wrong_input

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Errors of a file system that has no room, or no more for this user or file."""


def write_atomic(path: str | os.PathLike[str], content: str | bytes, *, overwrite: bool = True) -> None:
    """Write a whole file: into a temporary file beside it, to the disk, then into its place.

    Args:
        path: The file; its folder is made where it is missing.
        content: Text, written as UTF-8 with the line ends it has, or bytes.
        overwrite: Whether an older file is replaced.

    Raises:
        FileExistsError: If there is an older file that is not to be replaced.
        OSError: If the file cannot be written; an older one is then as it was.
    """
    _write({Path(path): content}, os.replace if overwrite else _place_beside_others)


def write_together(contents: Mapping[Path, str | bytes]) -> None:
    """Write several files as `write_atomic` does, all of them or, if one cannot be written, none.

    Args:
        contents: Text or bytes by the file.

    Raises:
        OSError: If a file cannot be written; older ones are then as they were, unless the very last step failed, in
            which written files take their places one by one. No new folder stays behind empty.
    """
    _write(contents, os.replace)


def _write(contents: Mapping[Path, str | bytes], place: Callable[[str, Path], None]) -> None:
    """Write all of the files beside where they belong, and only then put them there."""
    made: list[Path] = []
    temporaries: list[str] = []
    try:
        for target, content in contents.items():
            made += _make_folder(target.parent)
            temporaries.append(_temporary(target, content))
        for temporary, target in zip(temporaries, contents, strict=True):
            place(temporary, target)
    except BaseException:
        _remove(temporaries, made)
        raise
    _remove(temporaries, [])


def _temporary(target: Path, content: str | bytes) -> str:
    """Write the content of a file into a temporary one beside it, and to the disk; returns where."""
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    except OSError as error:
        # Who reads the message has never heard of the temporary file.
        raise OSError(error.errno, error.strerror, str(target)) from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, _mode(target))
    except BaseException:
        _remove([temporary], [])
        raise
    return temporary


def _make_folder(folder: Path) -> list[Path]:
    """Make a folder, and those above it, where they are missing; returns those that were, the uppermost first."""
    missing = [one for one in (folder, *folder.parents) if not one.exists()][::-1]
    folder.mkdir(parents=True, exist_ok=True)
    return missing


def _remove(files: Iterable[str], folders: Sequence[Path]) -> None:
    """Remove files, and folders that are empty, as far as that goes."""
    for file in files:
        with contextlib.suppress(OSError):
            os.unlink(file)
    for folder in reversed(folders):
        with contextlib.suppress(OSError):
            folder.rmdir()


def _place_beside_others(temporary: str, target: Path) -> None:
    """Put a file into its place unless there is one, even one that has only just appeared."""
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        if target.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target)) from None
        os.replace(temporary, target)


def _mode(target: Path) -> int:
    """Return the mode of the file that is replaced, or the one that any new file gets."""
    try:
        return target.stat().st_mode & 0o777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


def read_text(path: Path, way_out: str) -> str:
    """Return the text of a file, with the line ends it has.

    Args:
        path: The file.
        way_out: What to do where it cannot be read.

    Raises:
        InputError: If it cannot be read, or is not UTF-8 text.
    """
    try:
        return path.read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "is not UTF-8 text"
        raise wrong_input(f"cannot be read: {reason}", way_out=way_out, file=str(path)) from None
