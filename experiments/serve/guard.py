"""Guard: who may ask the page for what; anything else is refused with a 4xx and a short word.

A page on loopback is open to every site that the viewer's browser visits unless it looks at who asks: a site's own
name that resolves to 127.0.0.1 (DNS rebinding) shows in the Host header, a form sent from elsewhere in its content
type.
"""

import ipaddress
import json
import logging
import socket
from collections.abc import Collection, Mapping
from typing import Any

from flask import Flask, Response, request
from werkzeug.exceptions import BadRequest, Forbidden, HTTPException, NotFound, UnsupportedMediaType

_log = logging.getLogger(__name__)

UPDATE = "/_dash-update-component"
"""The path of every move of the page."""
_LARGEST_BYTES = 200_000
_PATHS = ("/", UPDATE, "/_dash-layout", "/_dash-dependencies", "/_favicon.ico")
_PREFIXES = ("/_dash-component-suites/", "/assets/", "/setting/")
_ANYTHING = "/<path:path>"
"""The rule by which Dash answers every other path with the page."""


class MistakeError(Exception):
    """A mistake of the program in answering a request, as against one in the request."""


def guard(server: Flask, hosts: Collection[str], scripts: Collection[str]) -> None:
    """Put a guard before every request and safe headers on every answer.

    Args:
        server: The Flask application, before it has answered anything.
        hosts: Names under which the page may be asked for, beside addresses and those of this machine.
        scripts: Sources of scripts that the page may run, as a content security policy names them.
    """
    server.config.update(MAX_CONTENT_LENGTH=_LARGEST_BYTES, MAX_FORM_MEMORY_SIZE=_LARGEST_BYTES)
    known = {"localhost", socket.gethostname().lower(), *(host.lower() for host in hosts)}

    def check() -> None:
        if not _is_ours(request.headers.get("Host", ""), known):
            raise Forbidden("The page is not to be had under this name.")
        known_path = request.path in _PATHS or request.path.startswith(_PREFIXES)
        if not known_path or (request.url_rule is not None and request.url_rule.rule == _ANYTHING):
            raise NotFound("There is no such page.")
        if request.path == UPDATE and request.method == "POST":
            _check_update()

    def protect(response: Response) -> Response:
        response.headers["Content-Security-Policy"] = _policy(scripts)
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["X-Frame-Options"] = "DENY"
        response.headers["Referrer-Policy"] = "no-referrer"
        response.headers["Cross-Origin-Resource-Policy"] = "same-origin"
        return response

    def refuse(error: Exception) -> tuple[str, int, Mapping[str, str]]:
        plain = {"Content-Type": "text/plain; charset=utf-8"}
        if isinstance(error, HTTPException) and error.code is not None:
            return f"{error.description}\n", error.code, plain
        if not isinstance(error, MistakeError):
            # Our own answers raise MistakeError: what is left is a request that the framework could not read.
            _log.debug("refused a malformed request", exc_info=error)
            return "This is not a request of the what-if page.\n", 404 if request.method == "GET" else 400, plain
        _log.error("could not answer %s", request.path, exc_info=error)
        return "Something went wrong; the terminal of `signalstorm serve` says what.\n", 500, plain

    server.before_request(check)
    server.after_request(protect)
    server.register_error_handler(Exception, refuse)


def _is_ours(host: str, known: Collection[str]) -> bool:
    """Tell whether a Host header names this machine: an address cannot be rebound, a name could."""
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
    try:
        ipaddress.ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        return name.lower() in known
    return True


def _check_update() -> None:
    """Check the envelope of a move; what is inside is checked where it is used."""
    if request.mimetype != "application/json":
        raise UnsupportedMediaType("A move must be JSON.")
    try:
        body: Any = json.loads(request.get_data(cache=True))
    except (ValueError, RecursionError):
        raise BadRequest("A move must be JSON.") from None
    if not isinstance(body, dict) or not isinstance(body.get("output"), str):
        raise BadRequest("A move must say what it asks for.")


def _policy(scripts: Collection[str]) -> str:
    return (
        f"default-src 'none'; script-src {' '.join(scripts)}; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'"
    )
