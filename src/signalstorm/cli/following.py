"""How far a search is, on stderr: a view that moves on a terminal, else a line now and then."""

import logging
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

    from signalstorm.experiments.standing import Watch
    from signalstorm.experiments.trials import Trial

    Follower = tuple[Callable[[str, int, int], None] | None, Watch | None]

_REPORT_EVERY_S = 10.0
_log = logging.getLogger(__name__)


@contextmanager
def following(*, quiet: bool) -> "Iterator[Follower]":
    """Follow a search: yield what is told the stage, and what is shown the trials."""
    if quiet:
        yield None, None
    elif sys.stderr.isatty():
        with _live() as follower:
            yield follower
    else:
        lines = _Lines()
        yield lines.tell, lines.watch


class _Lines:
    """A line for each stage, and every ten seconds."""

    def __init__(self) -> None:
        self._began, self._last, self._first = time.monotonic(), 0.0, 0
        self._shown, self._words = "", ""

    def tell(self, stage: str, done: int, total: int) -> None:
        now = time.monotonic()
        if stage != self._shown:
            self._began, self._first, self._shown = now, done, stage
        elif now - self._last < _REPORT_EVERY_S:
            return
        self._last = now
        left = (now - self._began) / (done - self._first) * (total - done) if done > self._first else 0.0
        words = f"; {self._words}" if stage == "search" and self._words else ""
        _log.info("%s: %d of %d%s%s", stage, done, total, f", about {left:.0f} s left" if left else "", words)

    def watch(self, trials: "Sequence[Trial]") -> None:
        from signalstorm.experiments.standing import standing

        self._words = standing(trials).words


@contextmanager
def _live() -> "Iterator[Follower]":
    """Show a bar with the standing of the search above it."""
    from rich.console import Console, Group
    from rich.live import Live
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    bar = Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), TextColumn("left"))
    task = bar.add_task("")
    shown = ""
    with Live(bar, console=Console(stderr=True), transient=True, refresh_per_second=4) as view:
        _log_to_stderr()  # now the one that lets the view stay below the lines

        def tell(stage: str, done: int, total: int) -> None:
            nonlocal shown
            if stage != shown:
                bar.reset(task, total=total)
                shown = stage
            bar.update(task, description=stage, completed=done, total=total)

        def watch(trials: "Sequence[Trial]") -> None:
            view.update(Group(standing_table(trials), bar))

        try:
            yield tell, watch
        finally:
            view.stop()
            _log_to_stderr()


def standing_table(trials: "Sequence[Trial]") -> "Table":
    """Return how far a search has come as a small table."""
    from rich.table import Table
    from rich.text import Text

    from signalstorm.envs.model.knob_table import KNOBS
    from signalstorm.experiments.standing import standing

    found = standing(trials)
    table = Table.grid(padding=(0, 2))
    meant = "worse than the present setting on no storm, every limit kept"
    table.add_row("trials", f"{found.trials}, {found.feasible} of them feasible: {meant}")
    if found.best is not None and found.present_s is not None:
        table.add_row("present", f"{found.present_s:,.1f} s")
        knobs = ", ".join(f"{name} {KNOBS[name].text(value)}" for name, value in found.best.setting.items())
        best = Text(f"{found.best.value_s:,.1f} s", style="bold")
        table.add_row("best", best.append(f", trial {found.best.number}: {knobs or 'as at present'}", style="not bold"))
    return table


def _log_to_stderr() -> None:
    for handler in logging.getLogger("signalstorm").handlers:
        if isinstance(handler, logging.StreamHandler):
            handler.setStream(sys.stderr)
