"""The page, served for a test."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from signalstorm.experiments.serve.server import Page


@dataclass(frozen=True)
class Served:
    """A running server."""

    address: str
    """Its address, without a path."""


@contextmanager
def served(runs: Path, scenarios: Sequence[Path] = ()) -> Iterator[Served]:
    """Serve the page on a free port."""
    page = Page("127.0.0.1", 0, scenarios=scenarios, runs=runs)
    thread = threading.Thread(target=page.run, daemon=True)
    thread.start()
    try:
        yield Served(page.url.rstrip("/"))
    finally:
        page.close()
        thread.join(10)
