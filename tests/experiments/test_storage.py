"""Stores of trials: what can be opened, who may share it, what it survives."""

import contextlib
import multiprocessing
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import optuna
import pytest
from optuna.exceptions import StorageInternalError
from sqlalchemy import create_engine, text
from sqlalchemy.exc import OperationalError, ProgrammingError

from signalstorm.envs.model.errors import InputError
from signalstorm.experiments.run_folder import masked
from signalstorm.experiments.storage import open_storage, patiently, with_room
from tests.experiments import sharing
from tests.experiments.postgres import Postgres, answers, free_port, postgres

pytestmark = pytest.mark.processes


@pytest.fixture
def server() -> Iterator[Postgres]:
    with postgres() as running:
        yield running


def test_an_action_is_tried_again_while_the_storage_is_away() -> None:
    errors = [StorageInternalError("away"), OperationalError("x", {}, Exception("away"))]

    def action() -> int:
        if errors:
            raise errors.pop()
        return 7

    assert patiently(action) == 7


@pytest.mark.parametrize("device", ["/dev/null", "/dev/full"])
def test_a_device_is_no_journal(device: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a device"):
        open_storage(device, tmp_path / "journal.log")


def test_a_disk_without_room_is_said_in_one_message(tmp_path: Path) -> None:
    message = "cannot be written any further .No space left on device.*the same command goes on"
    with pytest.raises(InputError, match=message), with_room():
        Path("/dev/full").write_text("x")
    with pytest.raises(FileNotFoundError), with_room():
        (tmp_path / "none").read_text()


def test_half_a_line_of_a_shared_journal_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "shared.log"
    optuna.create_study(storage=open_storage(str(path), path), study_name="first")
    whole = path.read_bytes()
    path.write_bytes(whole + whole[: len(whole) // 2])
    optuna.create_study(storage=open_storage(str(path), path), study_name="second")
    assert path.read_bytes().startswith(whole)
    assert {study.study_name for study in open_storage(str(path), path).get_all_studies()} == {"first", "second"}
    path.write_bytes(whole.partition(b"\n")[0])
    optuna.create_study(storage=open_storage(str(path), path), study_name="third")
    assert [study.study_name for study in open_storage(str(path), path).get_all_studies()] == ["third"]
    path.write_text("some notes")
    with contextlib.suppress(InputError):
        open_storage(str(path), path)
    assert path.read_text() == "some notes"


def test_passwords_stay_out_of_messages(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        open_storage("postgresql+psycopg://storm:s3cr/t@x@127.0.0.1:1/none", tmp_path / "journal.log")
    assert "s3cr" not in str(caught.value)
    assert "postgresql+psycopg://storm:***@127.0.0.1:1/none" in str(caught.value)
    assert masked("a://b/c?user=x&password=s3cr&d=1") == "a://b/c?user=x&password=***&d=1"
    assert masked("grpc://host:13000 sqlite:///a.db") == "grpc://host:13000 sqlite:///a.db"


def test_patience_has_an_end() -> None:
    def action() -> None:
        raise StorageInternalError("away for good")

    with pytest.raises(StorageInternalError, match="for good"):
        patiently(action, longest_s=0.1)


def test_a_mistake_is_not_tried_again() -> None:
    calls = []

    def action() -> None:
        calls.append(1)
        raise KeyError("no such trial")

    with pytest.raises(KeyError):
        patiently(action)
    assert len(calls) == 1


@pytest.mark.parametrize("url", ["nothing://here", "postgresql+psycopg://nobody@127.0.0.1:1/none"])
def test_a_storage_that_cannot_be_opened_is_wrong_input(url: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--storage: cannot be opened"):
        open_storage(url, tmp_path / "journal.log")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "is a folder"),
        ("folder", "is a folder"),
        ("none/trials.log", "there is no folder"),
        ("junk.log", "journal"),
    ],
)
def test_a_path_that_is_no_journal_is_wrong_input(name: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "junk.log").write_text("no journal\n")
    (tmp_path / "text.log").write_text('"a string"\n')
    with pytest.raises(InputError, match=f"--storage: cannot be opened .*{reason}"):
        open_storage(str(tmp_path / name) if name else "", tmp_path / "journal.log")
    with pytest.raises(InputError, match=r"junk\.log: is no journal of trials"):
        open_storage(None, tmp_path / "junk.log")
    with pytest.raises(InputError, match=r"text\.log: is no journal of trials"):
        open_storage(None, tmp_path / "text.log")


def test_two_processes_search_together_over_a_journal(tmp_path: Path) -> None:
    _together(2, str(tmp_path / "shared.log"), tmp_path, trials=50)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["journal", "sqlite"])
def test_eight_processes_share_one_fresh_file(kind: str, tmp_path: Path) -> None:
    url = str(tmp_path / "shared.log") if kind == "journal" else f"sqlite:///{tmp_path}/shared.db"
    _together(8, url, tmp_path, trials=100)


@pytest.mark.long
def test_eight_processes_share_one_fresh_postgresql_database(server: Postgres, tmp_path: Path) -> None:
    _together(8, server.url, tmp_path, trials=100)


@pytest.mark.long
def test_eight_processes_share_one_fresh_proxy(tmp_path: Path) -> None:
    pytest.importorskip("grpc", reason="grpcio is not installed: pip install 'signalstorm[distributed]'")
    port = free_port()
    context = multiprocessing.get_context("spawn")
    proxy = context.Process(target=serve, args=(f"sqlite:///{tmp_path}/behind.db", port), daemon=True)
    proxy.start()
    try:
        while not answers(port):  # a process that searches waits 10 s for its proxy
            assert proxy.is_alive()
            time.sleep(0.1)
        _together(8, f"grpc://127.0.0.1:{port}", tmp_path, trials=100)
    finally:
        proxy.kill()
        proxy.join()


def serve(url: str, port: int) -> None:
    """Run a proxy before a database, as docs/sweeps.md shows it."""
    from optuna.storages import get_storage, run_grpc_proxy_server

    run_grpc_proxy_server(get_storage(url), host="127.0.0.1", port=port)


def test_a_search_outlives_a_restart_of_postgresql(server: Postgres, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    process = sharing.start(folder, server.url, 60)
    _wait_for(server.url, 15)
    server.stop()
    time.sleep(1.0)
    assert process.poll() is None
    server.start()
    sharing.finish([process], [folder])
    sharing.check_together([folder], server.url, 60)


def test_a_killed_process_leaves_its_claims_to_another(server: Postgres, tmp_path: Path) -> None:
    """The other one has nothing left to do but the claims of the dead."""
    folders = [tmp_path / "dead", tmp_path / "alive"]
    dead = sharing.start(folders[0], server.url, 60)
    try:
        _wait_for(server.url, 20)
    finally:
        os.killpg(dead.pid, signal.SIGKILL)
        dead.wait()
    sharing.finish([sharing.start(folders[1], server.url, 60)], folders[1:])
    sharing.check_together(folders[1:], server.url, 60)


def _together(count: int, url: str, tmp_path: Path, trials: int) -> None:
    folders = [tmp_path / f"run{i}" for i in range(count)]
    sharing.compile_first()
    sharing.finish([sharing.start(folder, url, trials) for folder in folders], folders)
    sharing.check_together(folders, url, trials)


def _wait_for(url: str, trials: int) -> None:
    """Wait until a study holds so many trials."""
    deadline = time.monotonic() + 280
    engine = create_engine(url)
    try:
        while time.monotonic() < deadline:
            with contextlib.suppress(ProgrammingError), engine.connect() as connection:  # no tables yet
                if (
                    connection.execute(text("SELECT count(*) FROM trials WHERE state = 'COMPLETE'")).scalar_one()
                    >= trials
                ):
                    return
            time.sleep(0.05)
    finally:
        engine.dispose()
    raise TimeoutError(f"{trials} trials")
