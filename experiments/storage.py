"""Storage of trials: a journal file, SQLite, PostgreSQL or a gRPC proxy, and patience with all of them."""

import contextlib
import errno
import json
import logging
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar
from urllib.parse import urlsplit

import optuna
from optuna.exceptions import DuplicatedStudyError, ExperimentalWarning, StorageInternalError
from optuna.storages import BaseStorage, JournalStorage, RDBStorage, RetryHeartbeatStaleTrialCallback
from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from signalstorm.envs.model.errors import InputError, wrong_input
from signalstorm.envs.model.wording import installing
from signalstorm.experiments.run_folder import masked

_log = logging.getLogger(__name__)
T = TypeVar("T")

HEARTBEAT_S, GRACE_S = 10, 60
"""A trial whose process has shown no sign of life for the second time is given to another one [s]."""
_PATIENCE_S = 300.0
"""So long a storage may be away before a search gives up [s]."""
_TABLES_S = 60.0
"""So long several processes may take to make the tables of one fresh database [s]."""
_LOCKED_S = 60.0
"""So long SQLite waits for other processes [s]."""
_GRPC_PORT = 13000
_JOURNAL_BEGINS = b'{"op_code"'
_NO_ROOM = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EROFS, errno.EIO)
"""Errors of a disk that takes no more."""


def open_storage(url: str | None, journal: Path) -> BaseStorage:
    """Open the storage of trials.

    Args:
        url: ``postgresql+psycopg://...``, ``sqlite:///...``, another URL that SQLAlchemy knows, ``grpc://host:port`` of
            a proxy, or the path of a journal file; None: the run's own journal.
        journal: The run's own journal.

    Raises:
        InputError: If the storage cannot be opened.
    """
    if url is None or "://" not in url:
        return _journal(journal if url is None else Path(url), own=url is None)
    try:
        if url.startswith("grpc://"):
            return _proxy(url)
        return patiently(lambda: _database(url), _TABLES_S, _other_was_first)
    except InputError:
        raise
    except Exception as error:  # each database has errors of its own
        first = masked(str(error).partition("\n")[0])
        way_out = f"check the URL; drivers come with {installing('distributed')}"
        raise wrong_input(f"cannot be opened ({first})", masked(url), way_out, key="--storage") from None


def patiently(
    action: Callable[[], T],
    longest_s: float = _PATIENCE_S,
    passing: Callable[[Exception], bool] | None = None,
) -> T:
    """Do something that may be done twice, again and again while the storage is away or busy.

    Args:
        action: What to do; has no effect the second time if it had one the first time.
        longest_s: How long to go on trying [s].
        passing: Tells whether an error may pass; by default one of a storage that is away or busy.
    """
    began, pause_s, passes = time.monotonic(), 0.05, passing or _passing
    while True:
        try:
            return action()
        except Exception as error:
            if not passes(error) or time.monotonic() - began > longest_s:
                raise
            if pause_s > 1.0:
                reason = masked(str(error.__cause__ or error).partition("\n")[0])
                _log.warning("the storage of trials does not answer (%s), trying again", reason)
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, 5.0)


@contextlib.contextmanager
def with_room() -> Iterator[None]:
    """Say in one message that the disk takes no more, wherever a run meets that.

    Raises:
        InputError: If it does.
    """
    try:
        yield
    except OSError as error:
        if error.errno not in _NO_ROOM:
            raise
        rule = f"the run cannot be written any further ({error.strerror})"
        way_out = "make room; the same command goes on where it stopped"
        raise wrong_input(rule, way_out=way_out, key="--out or --storage") from None


class Heartbeat:
    """Shows that the trials under way are alive, where the storage has a place for that."""

    def __init__(self, storage: BaseStorage) -> None:
        self._storage = storage
        self._trials: set[int] = set()
        self._done = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        """Begin."""
        interval = getattr(self._storage, "get_heartbeat_interval", lambda: None)()
        if interval is not None:
            self._thread = threading.Thread(target=self._beat, args=(interval,), daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End."""
        self._done.set()

    def add(self, trial_id: int) -> None:
        """Take a trial under watch."""
        if self._thread is not None:
            self._trials.add(trial_id)
            self._record(trial_id)

    def remove(self, trial_id: int) -> None:
        """Let a finished trial go."""
        self._trials.discard(trial_id)

    def _beat(self, interval: float) -> None:
        while not self._done.wait(interval):
            for trial_id in tuple(self._trials):
                self._record(trial_id)

    def _record(self, trial_id: int) -> None:
        try:
            self._storage.record_heartbeat(trial_id)  # type: ignore[attr-defined]
        except Exception as error:
            if not _passing(error):
                raise
            _log.debug("no sign of life could be left: %s", error)


def _journal(path: Path, *, own: bool) -> BaseStorage:
    """Open a journal file, which may be new but not something else."""
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise OSError("is a device, not a file")
        if path.is_dir() or not path.parent.is_dir() or not path.name:
            raise OSError("is a folder" if path.is_dir() else f"there is no folder {path.parent}")
        lock = JournalFileOpenLock(str(path))
        storage = JournalStorage(JournalFileBackend(str(path), lock_obj=lock))
        storage.get_all_studies()  # reads all of it, but takes a last line that is damaged for one being written
        last = path.read_bytes().rpartition(b"\n")[0].rpartition(b"\n")[2]
        json.loads(last or "{}")
        _drop_half_line(path, lock)
        return storage
    except OSError as error:
        reason = error.strerror or str(error)
    except (ValueError, KeyError, TypeError, AttributeError):
        reason = "is no journal of trials, or a damaged one"
    if own:
        raise wrong_input(reason, way_out="give another --out, or remove the folder", file=str(path))
    way_out = "give the path of a journal file in a folder that exists, or the URL of a database"
    raise wrong_input(f"cannot be opened ({reason})", str(path), way_out, key="--storage")


def _drop_half_line(path: Path, lock: JournalFileOpenLock) -> None:
    """Take away half a line at the end of a journal, which a full disk has left; other processes may be writing."""
    with path.open("rb+") as journal:
        if journal.read(len(_JOURNAL_BEGINS)) != _JOURNAL_BEGINS:
            return
        lock.acquire()
        try:
            content = _JOURNAL_BEGINS + journal.read()
            if not content.endswith(b"\n"):
                journal.truncate(content.rfind(b"\n") + 1)
        finally:
            lock.release()


def _database(url: str) -> BaseStorage:
    sqlite = url.startswith("sqlite")
    options = {"connect_args": {"timeout": _LOCKED_S}} if sqlite else {"pool_pre_ping": True}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExperimentalWarning)
        storage = RDBStorage(
            url,
            engine_kwargs=options,
            heartbeat_interval=None if sqlite else HEARTBEAT_S,
            grace_period=None if sqlite else GRACE_S,
            heartbeat_stale_trial_callback=None if sqlite else RetryHeartbeatStaleTrialCallback(),
        )
    return optuna.storages.get_storage(storage)


def _proxy(url: str) -> BaseStorage:
    """Connect to a proxy, which has to be there."""
    parts = urlsplit(url)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExperimentalWarning)
        proxy = optuna.storages.GrpcStorageProxy(host=parts.hostname or "localhost", port=parts.port or _GRPC_PORT)
    proxy.wait_server_ready(timeout=10)
    return proxy


def _other_was_first(error: Exception) -> bool:
    """Tell whether another process has just made the same table or row."""
    words = ("already exists", "unique", "duplicate", "locked", "no such table")
    return isinstance(error, DBAPIError | StorageInternalError) and any(
        word in f"{error} {error.__cause__ or ''}".lower() for word in words
    )


def _passing(error: Exception) -> bool:
    """Tell whether an error may pass: the database is away, busy, or another process was first."""
    if isinstance(error, DuplicatedStudyError | StorageInternalError | PoolTimeout):
        return True
    if isinstance(error, DBAPIError):
        return True
    if isinstance(error, SQLAlchemyError):
        return False
    code = getattr(error, "code", None)  # of gRPC, which may not be installed
    return callable(code) and getattr(code(), "name", "") in ("UNAVAILABLE", "UNKNOWN", "DEADLINE_EXCEEDED")


@contextlib.contextmanager
def quiet_optuna() -> Iterator[None]:
    """Keep Optuna's own log lines off the terminal."""
    level = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(level)
