"""The server: who may reach it, and twenty viewers at once."""

import json
import re
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("dash", reason="pip install 'signalstorm[web]'")
pytest.importorskip("waitress", reason="pip install 'signalstorm[web]'")

from signalstorm.envs.model.errors import InputError
from signalstorm.experiments.serve.server import Page, check_address
from tests.experiments.serve.page_requests import UPDATE, moving, opening
from tests.experiments.serve.served import Served, served

VIEWERS = 20


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("runs")) as found:
        yield found


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.10", "::1", "localhost", "LocalHost"])
def test_loopback_needs_no_flag(host: str) -> None:
    check_address(host, allow_remote=False)


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "::", "192.0.2.7", "", "example.org", "127.0.0.1.example.org", "2130706433"]
)
def test_other_addresses_need_the_flag(host: str) -> None:
    with pytest.raises(InputError, match="--allow-remote"):
        check_address(host, allow_remote=False)
    check_address(host, allow_remote=True)


def test_a_port_that_is_taken_is_refused() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(InputError, match="must be an address and a port to listen on"):
            Page(port=taken.getsockname()[1])


def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("signalstorm.experiments.serve.server.find_spec", lambda name: None)
    with pytest.raises(InputError, match=re.escape("pip install 'signalstorm[web]'")):
        Page()


def _post(address: str, content: dict[str, Any]) -> dict[str, Any]:
    asked = urllib.request.Request(address + UPDATE, json.dumps(content).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(asked, timeout=120) as answer:
        found: dict[str, Any] = json.load(answer)["response"]
        return found


def test_twenty_viewers_at_once(server: Served) -> None:
    together = threading.Barrier(VIEWERS)

    def view(number: int) -> list[str]:
        together.wait()
        with urllib.request.urlopen(server.address, timeout=120) as page:
            scripts = re.findall(r'src="([^"]+)"', page.read().decode())
        for path in (*scripts, "/_dash-layout", "/_dash-dependencies"):
            with urllib.request.urlopen(server.address + path, timeout=120) as answer:
                assert answer.read()
        _post(server.address, opening("scenario:lab-pcrf"))
        rates = []
        for step in range(3):
            knobs = {"nop_rate": str(60 + 3 * number + step)}
            move = {"source": "scenario:lab-pcrf", "knobs": knobs, "removed": [], "added": []}
            rates.append(_post(server.address, moving(move))["answer"]["data"]["setting"]["nop_rate"])
        return rates

    with ThreadPoolExecutor(VIEWERS) as viewers:
        found = list(viewers.map(view, range(VIEWERS)))
    assert found == [[str(60 + 3 * number + step) for step in range(3)] for number in range(VIEWERS)]


def test_broken_http_is_refused(server: Served) -> None:
    host, port = server.address.removeprefix("http://").split(":")
    for sent in (
        b"GARBAGE\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n",
    ):
        with socket.create_connection((host, int(port)), timeout=10) as connection:
            connection.sendall(sent)
            answer = connection.recv(4096).decode()
        assert re.match(r"HTTP/1\.[01] (4\d\d|505)", answer), (sent, answer)
        assert "Traceback" not in answer


def test_a_wrong_path_is_refused_by_the_server_too(server: Served) -> None:
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(f"{server.address}/etc/passwd", timeout=10)


def test_scenario_files_are_offered(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("name: 1\n", "utf-8")
    with pytest.raises(InputError):
        Page(scenarios=[tmp_path / "bad.yaml"])
