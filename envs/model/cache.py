"""The folder in which Numba keeps compiled kernels.

Numba's cache notices a change only in the file that defines the compiled function. A change in a helper or a
constant of another file would silently give the old results. So the folder's name is a hash of everything a
kernel is made of: another source, compiler, interpreter or processor means another folder, empty at first.
"""

import atexit
import gc
import hashlib
import logging
import os
import platform
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

_log = logging.getLogger(__name__)

CONSTANT_FILES = ("constants.py",)
"""Files of this folder, beside all of ``kernels/``, whose values are compiled into kernels."""

_HASH_LENGTH = 16
_KEEP = 4
"""Folders of this many kernel versions stay on disk, the current one included."""
_IN_USE_S = 7 * 86400.0
"""Other versions used more recently stay as well: their runs may still be going on [s]."""

_OBJECTS_PER_COLLECTION = 200_000
"""While a kernel is compiled: for a tenth more memory that takes a tenth less time than Python's usual 700 or 2,000."""


@contextmanager
def compiling() -> Iterator[Callable[[], float]]:
    """Look for garbage less often meanwhile: Numba makes millions of objects, in use till the end.

    Yields:
        A function that says how long it has been [s].
    """
    began, usual = time.perf_counter(), gc.get_threshold()
    gc.set_threshold(_OBJECTS_PER_COLLECTION, *usual[1:])
    try:
        yield lambda: time.perf_counter() - began
    finally:
        gc.set_threshold(*usual)


@lru_cache(maxsize=1)
def prepare_cache() -> Path:
    """Point Numba at the folder that belongs to the present kernels; call it before any kernel is defined.

    The folder is ``numba/<hash>`` below, in this order: the environment variable ``SIGNALSTORM_CACHE_DIR``; a
    cache folder that the user gave to Numba itself; the user's cache folder of the operating system. If it
    cannot be written, a temporary folder serves this process.

    Returns:
        The folder. The first call does the work, later ones return the same path.
    """
    import numba

    folder = _base_folder(numba.config.CACHE_DIR) / "numba" / cache_key()
    if _make_writable(folder):
        _remove_old_siblings(folder)
    else:
        temporary = Path(tempfile.mkdtemp(prefix="signalstorm-"))
        atexit.register(shutil.rmtree, temporary, ignore_errors=True)
        _log.warning(
            "the cache folder %s cannot be written, so kernels are compiled again in every run; "
            "set SIGNALSTORM_CACHE_DIR to a folder that can",
            folder,
        )
        folder = temporary
    numba.config.CACHE_DIR = str(folder)
    return folder


def is_cold() -> bool:
    """Tell whether the folder holds no compiled kernel yet, so that the first run has to compile."""
    return next(prepare_cache().rglob("*.nbc"), None) is None


def cache_key(model_folder: Path | None = None) -> str:
    """Hash everything that decides how a kernel compiles.

    Args:
        model_folder: The folder that holds ``kernels/`` and the constants; this module's own if omitted.
    """
    import llvmlite
    import llvmlite.binding as llvm
    import numba

    folder = model_folder or Path(__file__).parent
    digest = hashlib.sha256()
    for part in (
        numba.__version__,
        llvmlite.__version__,
        sys.implementation.cache_tag,
        platform.python_version(),
        platform.machine(),
        llvm.get_host_cpu_name(),
        llvm.get_host_cpu_features().flatten(),
    ):
        digest.update(f"{part}\0".encode())
    for source in _kernel_sources(folder):
        content = source.read_bytes()
        digest.update(f"{source.relative_to(folder).as_posix()}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()[:_HASH_LENGTH]


def _kernel_sources(folder: Path) -> Iterator[Path]:
    yield from sorted((folder / "kernels").rglob("*.py"))
    yield from (folder / name for name in CONSTANT_FILES if (folder / name).is_file())


def _base_folder(numba_folder: str) -> Path:
    if own := os.environ.get("SIGNALSTORM_CACHE_DIR"):
        return Path(own).expanduser().absolute()
    if numba_folder:
        return Path(numba_folder).absolute() / "signalstorm"
    return _user_cache_folder() / "signalstorm"


def _user_cache_folder() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def _make_writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
        os.utime(folder)  # the time of last use, by which old folders are told
    except OSError:
        return False
    return True


def _remove_old_siblings(folder: Path) -> None:
    """Remove the folders of kernel versions not used for longest; Numba rebuilds what it misses."""
    try:
        siblings = [
            (sibling.stat().st_mtime, sibling)
            for sibling in folder.parent.iterdir()
            if re.fullmatch(rf"[0-9a-f]{{{_HASH_LENGTH}}}", sibling.name)
            and sibling != folder
            and sibling.is_dir()
            and not sibling.is_symlink()
        ]
    except OSError:  # another process removes them at the same time
        return
    for used, sibling in sorted(siblings, reverse=True)[_KEEP - 1 :]:
        if time.time() - used > _IN_USE_S:
            shutil.rmtree(sibling, ignore_errors=True)
