"""A storm as it goes on: moving on a terminal, a table elsewhere."""

import io

import pytest
from rich.console import Console

from signalstorm.experiments.simulate import SimulationResult, simulate
from signalstorm.experiments.terminal.live import frame, play, table
from tests.experiments.short_storms import short


@pytest.fixture(scope="module")
def laboratory() -> SimulationResult:
    return simulate("lab-pcrf", {"nop_rate": 60, "nop_wait_s": 15}, 1, record=True)


def _text(result: SimulationResult, index: int) -> str:
    console = Console(file=io.StringIO(), width=100)
    console.print(frame(result, index))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_a_frame_shows_the_storm_at_its_time(laboratory: SimulationResult) -> None:
    first, last = _text(laboratory, 4), _text(laboratory, -1)
    assert first.startswith("lab-pcrf, storm 0: 5 s of 600 s\n")
    assert "over at" in last
    assert "nop_rate 60 per s" in first
    registered = [next(line for line in text.splitlines() if "Registered" in line) for text in (first, last)]
    assert registered[1].count("█") == 30 > registered[0].count("█")
    assert "100 % of all" in registered[1]


def test_links_with_an_alarm_are_named(laboratory: SimulationResult) -> None:
    result = simulate(short(rate_per_s=20.0), {}, 1, record=True)
    text = _text(result, -1)
    assert "stp1/slc1, stp2/slc1" in text
    assert "2 links, of 2" in text
    assert "600 s of 600 s, 06:35" in text
    assert "Links" not in _text(laboratory, 4)


def test_elsewhere_than_on_a_terminal_it_is_a_plain_table(laboratory: SimulationResult) -> None:
    file = io.StringIO()
    play(laboratory, Console(file=file, width=40))
    lines = file.getvalue().splitlines()
    assert lines == list(table(laboratory))
    assert "\x1b" not in file.getvalue()
    rows = [line.split() for line in lines if line.lstrip()[:1].isdigit()]
    assert len(rows) == 24
    assert rows[-1][3] == "100"
    assert {len(row) for row in rows} == {len(lines[1:]) - 25}


def test_on_a_terminal_the_view_ends_with_the_last_state(laboratory: SimulationResult) -> None:
    file = io.StringIO()
    play(laboratory, Console(file=file, width=100, force_terminal=True, color_system=None), lasts_s=0.3)
    text = file.getvalue()
    assert text.count("lab-pcrf, storm 0") >= 3
    assert "over at" in text[text.rindex("lab-pcrf, storm 0") :]


def test_no_color_is_heeded(laboratory: SimulationResult, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    file = io.StringIO()
    play(laboratory, Console(file=file, width=100, force_terminal=True), lasts_s=0.1)
    assert "\x1b[94m" not in file.getvalue()
    assert "\x1b[34m" not in file.getvalue()


def test_a_result_without_series_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="record=True"):
        next(table(simulate("lab-pcrf", {}, 1)))
