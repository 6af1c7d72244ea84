"""The folder of a run: what was run, with what, and what came out; safe against crashes and mix-ups."""

import contextlib
import csv
import hashlib
import io
import json
import os
import platform
import re
import secrets
import shlex
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from signalstorm import __version__
from signalstorm.envs import model
from signalstorm.envs.model import scenario_file, yaml_lines
from signalstorm.envs.model.errors import ABSENT, InputError, wrong_input
from signalstorm.envs.model.files import write_atomic
from signalstorm.envs.model.scenario import Scenario

STUDY = "study.yaml"
SCENARIO = "scenario.yaml"
JOURNAL = "journal.log"
_LOCK = "run.lock"
_WORKER = "worker.txt"
_PACKAGES = ("numpy", "numba", "llvmlite", "pydantic", "optuna")
"""Packages on which results depend."""
_FREE = ("name", "trials", "limits.seconds", "limits.stagnation")
"""Keys of a study that may differ when it is taken up again."""
_PASSWORD = re.compile(r"(://[^:/@\s]*:)\S+(?=@)|(?<=[?&])(password=)[^&\s]+")
"""A password in a URL: before the last ``@``, or as a parameter."""
_LONGEST = 200
"""Characters of a value of a study that a message shows."""
_TRIES, _PAUSE_S = 5, 0.02
"""How often a lock is tried, and the pause between [s]: who looks whether a folder is held locks it for a moment."""

Study = Mapping[str, Any]
"""Everything that decides what a study finds, in JSON's own types."""


class RunFolder:
    """A run's folder, held by one process from ``with`` to its end."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._lock: IO[str] | None = None
        self._new = False
        self._made: list[Path] = []
        """Folders above it that were made for it, the nearest first."""

    def __enter__(self) -> Self:
        """Make the folder and lock it.

        Raises:
            InputError: If it cannot be written, or another process holds it.
        """
        self._new = not self.path.exists()
        self._made = [folder for folder in self.path.parents if not folder.exists()]
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock = (self.path / _LOCK).open("a", encoding="utf-8")
        except OSError as error:
            raise _not_writable(self.path, error) from None
        if not _try_lock(self._lock):
            self._lock.close()
            way_out = "wait for it to end, or give another --out"
            raise wrong_input("another process is running in this folder", ABSENT, way_out, file=str(self.path))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let the folder go; the system does the same when the process is killed. Refused input leaves no new one."""
        if self._lock is not None:
            self._lock.close()
        if self._new and isinstance(error, InputError) and not (self.path / STUDY).exists():
            with contextlib.suppress(OSError):
                for name in (_LOCK, _WORKER):
                    (self.path / name).unlink(missing_ok=True)
                for folder in (self.path, *self._made):
                    folder.rmdir()

    @property
    def journal(self) -> Path:
        """The file in which Optuna keeps the trials."""
        return self.path / JOURNAL

    def check(self, study: Study) -> bool:
        """Check that the folder holds the same study or none, and return whether it holds one; writes nothing.

        Raises:
            InputError: If the folder holds something else.
        """
        known = self._known_study()
        if known is not None:
            self._check_same(known, study)
        elif taken := [name for name in (SCENARIO, "recommendation.json") if (self.path / name).exists()]:
            rule = f"holds {taken[0]} of another run"
            raise wrong_input(rule, ABSENT, "give another --out or --name", file=str(self.path))
        return known is not None

    def claim(self, scenario: Scenario, study: Study, command: Sequence[str] | None = None) -> bool:
        """Write what the run is made of, or check that the folder holds the same study.

        Args:
            scenario: The scenario.
            study: The study.
            command: The words of the command line; by default those of this process.

        Returns:
            Whether the folder held the study already.

        Raises:
            InputError: If the folder holds something else, or cannot be written.
        """
        known = self.check(study)
        self.write(STUDY, yaml_lines.write(dict(study)))
        self.write(SCENARIO, scenario_file.dump(scenario))
        words = sys.argv if command is None else command
        self.write("command.txt", shlex.join(masked(word) for word in words) + "\n")
        self.write_json("versions.json", installed_versions())
        return known

    def write(self, name: str, text: str) -> None:
        """Write a file of the run, atomically.

        Raises:
            InputError: If it cannot be written.
        """
        try:
            write_atomic(self.path / name, text)
        except OSError as error:
            raise _not_writable(self.path, error) from None

    def write_json(self, name: str, content: Any) -> None:
        """Write a file of JSON's own types."""
        self.write(name, json.dumps(content, indent=2, allow_nan=False) + "\n")

    def write_table(self, name: str, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Write a table as CSV."""
        table = io.StringIO()
        writer = csv.writer(table, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
        self.write(name, table.getvalue())

    def read_json(self, name: str) -> Any:
        """Return the content of a JSON file, None if it is missing or damaged."""
        try:
            return json.loads((self.path / name).read_text("utf-8"))
        except (OSError, ValueError):
            return None

    def digests(self, names: Iterable[str]) -> dict[str, str]:
        """Return the SHA-256 of files of the run, by name."""
        return {name: hashlib.sha256((self.path / name).read_bytes()).hexdigest() for name in names}

    def worker(self) -> str:
        """Return the name of this run among those that share a storage: made once, 16 hexadecimal digits."""
        path = self.path / _WORKER
        if not path.exists():
            self.write(_WORKER, secrets.token_hex(8) + "\n")
        return path.read_text("utf-8").strip()

    def note(self, text: str) -> None:
        """Append a line with the time of day to log.txt."""
        with contextlib.suppress(OSError), (self.path / "log.txt").open("a", encoding="utf-8") as log:
            log.write(f"{time.strftime('%Y-%m-%dT%H:%M:%S')} {text}\n")

    def mend_journal(self) -> None:
        """Take away what a killed process may have left: half a line, and the lock of Optuna's journal."""
        for lock in self.path.glob(f"{JOURNAL}.lock*"):
            lock.unlink(missing_ok=True)
        if not self.journal.exists():
            return
        with self.journal.open("rb+") as journal:
            content = journal.read()
            whole = content.rfind(b"\n") + 1
            if whole < len(content):
                journal.truncate(whole)

    def _known_study(self) -> dict[str, Any] | None:
        path = self.path / STUDY
        if not path.exists():
            return None
        try:
            data, _, _ = yaml_lines.read(path.read_text("utf-8"))
        except (OSError, ValueError, yaml_lines.YamlError):
            data = None
        if not isinstance(data, dict):
            raise wrong_input("is damaged", ABSENT, "give another --out, or remove the folder", file=str(path))
        return data

    def _check_same(self, known: Study, study: Study) -> None:
        known, study = _flat(known), _flat(study)
        differing = [key for key in {**known, **study} if key not in _FREE and known.get(key) != study.get(key)]
        if not differing:
            return
        keys = [key for key in differing if key in ("scenario", "scenario_hash")] or differing
        rule = f"the folder holds the run of another study ({_named(known, keys)}), asked is ({_named(study, keys)})"
        way_out = "give another --out or --name, or remove the folder"
        raise wrong_input(rule, ABSENT, way_out, file=str(self.path))


def masked(text: str) -> str:
    """Return a text with the passwords of the URLs in it left out."""
    return _PASSWORD.sub(r"\1\2***", text)


def is_held(folder: Path) -> bool | None:
    """Tell whether a process is running in a run's folder; None where there are no locks that say so."""
    try:
        import fcntl

        with (folder / _LOCK).open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except (BlockingIOError, FileNotFoundError) as error:
        return isinstance(error, BlockingIOError)
    except (ImportError, OSError):
        return None
    return False


def installed_versions() -> dict[str, str | None]:
    """Return the versions of this package, of Python, of the machine and of what results depend on."""
    found: dict[str, str | None] = {
        "signalstorm": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
    }
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = None
    return found


def model_hash() -> str:
    """Hash the sources of the model: values of another model do not belong into the same study."""
    folder = Path(model.__file__).parent
    digest = hashlib.sha256()
    for source in sorted(folder.rglob("*.py")):
        digest.update(source.relative_to(folder).as_posix().encode() + b"\0" + source.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _flat(study: Study) -> dict[str, Any]:
    """Return a study with the keys of its parts joined by dots."""
    flat: dict[str, Any] = {}
    for key, value in study.items():
        flat |= {f"{key}.{part}": x for part, x in value.items()} if isinstance(value, Mapping) else {key: value}
    return flat


def _named(study: Study, keys: Iterable[str]) -> str:
    return ", ".join(f"{key}={_in_words(study.get(key))}" for key in keys)


def _in_words(value: Any) -> str:
    """Show a value; a long one ends behind a word."""
    text = "[" + ", ".join(map(str, value)) + "]" if isinstance(value, list) else str(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST].rpartition(' ')[0]} ..."


def _try_lock(file: IO[str]) -> bool:
    """Lock a file for as long as it is open; true where the system has no such locks."""
    try:
        import fcntl
    except ImportError:
        return True
    for _ in range(_TRIES):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_PAUSE_S)
        except OSError:
            return True  # a file system without locks
        else:
            return True
    return False


def _not_writable(path: Path, error: OSError) -> Exception:
    rule = f"must be a folder that can be written ({error.strerror or error})"
    return wrong_input(rule, str(path), "give another --out", key="--out")
