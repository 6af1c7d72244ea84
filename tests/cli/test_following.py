"""How far a search is, on stderr."""

import io
import logging
import sys

import pytest
from rich.console import Console

from signalstorm.cli import following as module
from signalstorm.cli.following import following, standing_table
from signalstorm.envs.model.knobs import Setting
from signalstorm.experiments.standing import best_so_far, standing
from signalstorm.experiments.trials import Scores, Trial


def _trial(number: int, value_s: float, worse: int = 0, **knobs: int) -> Trial:
    return Trial(number, number and 1, {}, Setting(knobs), Scores(value_s, worse, (value_s,), (0.0,)))


TRIALS = [_trial(0, 120.0), _trial(1, 130.0), _trial(2, 20.0, worse=1, nop_rate=900), _trial(3, 40.0, nop_rate=60)]


def test_the_best_is_never_worse_on_any_storm() -> None:
    found = standing(TRIALS)
    assert (found.trials, found.feasible, found.present_s) == (4, 3, 120.0)
    assert found.best is TRIALS[3]
    assert found.words == "best 40.0 s against 120.0 s at present; 3 of 4 trials are feasible"
    assert best_so_far(TRIALS) == [120.0, 120.0, 120.0, 40.0]


def test_a_search_without_trials_says_so() -> None:
    assert standing([]).words == "no trial is finished yet"
    assert best_so_far([]) == []


def test_the_table_names_the_best_setting() -> None:
    console = Console(file=io.StringIO(), width=100)
    console.print(standing_table(TRIALS))
    console.print(standing_table(TRIALS[:1]))
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    assert "4, 3 of them feasible" in text
    assert "40.0 s, trial 3: nop_rate 60 per s" in text
    assert "120.0 s, trial 0: as at present" in text


def test_lines_tell_each_stage_once_and_the_standing_of_the_search(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO, "signalstorm")
    with following(quiet=False) as (progress, watch):
        assert progress is not None
        assert watch is not None
        progress("present setting", 0, 1)
        progress("search", 1, 4)
        watch(TRIALS)
        progress("search", 2, 4)
        monkeypatch.setattr(module, "_REPORT_EVERY_S", 0.0)
        progress("search", 3, 4)
    assert [message.split(":")[0] for message in caplog.messages] == ["present setting", "search", "search"]
    assert caplog.messages[-1].startswith("search: 3 of 4")
    assert caplog.messages[-1].endswith("best 40.0 s against 120.0 s at present; 3 of 4 trials are feasible")


def test_on_a_terminal_a_view_shows_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(logging.getLogger("signalstorm"), "handlers", [logging.StreamHandler(terminal)])
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    with following(quiet=False) as (progress, watch):
        assert progress is not None
        assert watch is not None
        progress("search", 1, 4)
        watch(TRIALS)
        progress("search", 4, 4)
    text = terminal.getvalue()
    assert "trial 3: nop_rate 60 per s" in text
    assert "4/4" in text


def test_quiet_follows_nothing() -> None:
    with following(quiet=True) as follower:
        assert follower == (None, None)
