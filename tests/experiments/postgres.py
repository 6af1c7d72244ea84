"""A PostgreSQL server of one's own, for tests that need one."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

_FOLDERS = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)


def free_port() -> int:
    """Return a port of this host that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def answers(port: int) -> bool:
    """Tell whether somebody listens on a port of this host."""
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


class Postgres:
    """A server in a folder; it listens on a free port of this host only."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        # PostgreSQL refuses to run as root.
        self._user = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
        if self._user is not None:
            os.chown(folder, self._user.pw_uid, self._user.pw_gid)
        self._run("initdb", "-D", str(folder / "data"), "-U", "tests", "-A", "trust", "--no-sync")

    @property
    def url(self) -> str:
        """Where Optuna finds it."""
        return f"postgresql+psycopg://tests@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = ["-c", f"port={self.port}", "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"]
        options += ["-c", f"unix_socket_directories={self.folder}"]
        command = [_binary("postgres"), "-D", str(self.folder / "data"), *options]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder, **self._as_user())
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            if answers(self.port):
                return
            time.sleep(0.05)
        raise RuntimeError((self.folder / "log").read_text())

    def stop(self) -> None:
        """Stop it at once, as if its host were switched off."""
        if self._process is not None:
            self._process.send_signal(3)  # SIGQUIT: immediate shutdown
            self._process.wait(timeout=30)
            self._process = None

    def _run(self, name: str, *arguments: str) -> None:
        subprocess.run([_binary(name), *arguments], check=True, cwd=self.folder, capture_output=True, **self._as_user())

    def _as_user(self) -> dict[str, Any]:
        if self._user is None:
            return {}
        return {"user": self._user.pw_uid, "group": self._user.pw_gid, "extra_groups": []}


@contextmanager
def postgres() -> Iterator[Postgres]:
    """Run a server, or skip the test where PostgreSQL or its driver is missing."""
    pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'signalstorm[distributed]'")
    if not all(_find(name) for name in ("initdb", "postgres")):
        pytest.skip("PostgreSQL is not installed on this host")
    # Not in the tests' own folder, which nobody else may enter.
    with tempfile.TemporaryDirectory(prefix="signalstorm-postgres-") as folder:
        server = Postgres(Path(folder))
        server.start()
        try:
            yield server
        finally:
            server.stop()


def _find(name: str) -> str | None:
    places = os.pathsep.join([os.environ.get("PATH", ""), *map(str, _FOLDERS)])
    return shutil.which(name, path=places)


def _binary(name: str) -> str:
    found = _find(name)
    if found is None:
        raise FileNotFoundError(name)
    return found
