"""The server: the page on an address of this machine, for several viewers at once."""

import ipaddress
import logging
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from signalstorm.envs.model.errors import wrong_input
from signalstorm.envs.model.wording import installing
from signalstorm.experiments.serve.sources import Sources

_THREADS = 48
"""Requests answered at once: of twenty viewers each may wait for a storm, and others then still get the page."""
_CONNECTIONS = 200
_NEEDED = ("dash", "waitress")


class Page:
    """The page on an address, ready to be run."""

    def __init__(
        self,
        host: str = "127.0.0.1",
        port: int = 8050,
        *,
        scenarios: Sequence[Path] = (),
        runs: Path | None = None,
        check_runs: bool = False,
    ) -> None:
        """Read the scenarios and listen.

        Args:
            host: The address to listen on.
            port: The port; 0 takes a free one.
            scenarios: Scenario files to offer beside the packaged ones.
            runs: The folder below which runs of ``signalstorm tune`` have theirs, or the folder of one.
            check_runs: Whether that folder must be there.

        Raises:
            InputError: If the packages of the extra ``web`` are missing, a scenario is wrong, a folder of runs that
                must be there is missing, or the port is taken.
        """
        if missing := [name for name in _NEEDED if find_spec(name) is None]:
            way_out = f"install it with: {installing('web')}"
            raise wrong_input(f"the page needs {' and '.join(missing)}", way_out=way_out, key="serve")
        sources = Sources(scenarios, runs)
        if check_runs:
            sources.check_runs()
        from waitress.server import create_server
        from waitress.wasyncore import close_all

        from signalstorm.experiments.serve.application import create_app

        application = create_app(sources, [host])
        logging.getLogger("waitress.queue").setLevel(logging.ERROR)  # that viewers wait for storms is no news
        self._sockets: dict[int, Any] = {}
        try:
            self._server = create_server(
                application.server,
                map=self._sockets,
                host="127.0.0.1" if host.lower() == "localhost" else host,
                port=port,
                threads=_THREADS,
                connection_limit=_CONNECTIONS,
                ident="signalstorm",
            )
        except (OSError, ValueError) as error:
            close_all(self._sockets)
            reason = getattr(error, "strerror", None) or str(error)
            rule = f"must be an address and a port to listen on ({reason})"
            raise wrong_input(rule, f"{host}:{port}", "give another --port") from None
        name = f"[{host}]" if ":" in host else host
        self.url = f"http://{name}:{getattr(self._server, 'effective_port', port)}/"
        """Where it is."""

    def run(self) -> None:
        """Answer until Ctrl-C, or until it is closed."""
        self._server.run()

    def close(self) -> None:
        """End; another thread than the one that runs it may call this."""
        from waitress.wasyncore import close_all

        trigger = self._server.trigger
        trigger.pull_trigger(lambda: close_all(self._sockets))
        self._server.task_dispatcher.shutdown()


def check_address(host: str, *, allow_remote: bool) -> None:
    """Refuse an address that other machines reach, unless that is allowed.

    Raises:
        InputError: If it is one.
    """
    if not allow_remote and not _is_loopback(host):
        rule = "must be an address of this machine alone, or everybody on the network can use the page"
        raise wrong_input(rule, host, "--allow-remote allows it all the same", key="--host")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"
