"""Curves of a storm as text."""

import re

import numpy as np
import pytest

from signalstorm.experiments.series import Series
from signalstorm.experiments.terminal.curves import plot


def _series(last_s: float = 600.0) -> Series:
    time_s = np.linspace(last_s / 100, last_s, 100)
    rate = np.where(time_s < last_s / 2, 150.0, 10.0)
    values = {
        ("handsets", "request rate"): ("1/s", np.column_stack([rate, rate, 3 * rate])),
        ("handsets", "registered share"): ("share", np.tile(np.linspace(0, 1, 100)[:, None], 3)),
        ("gate", "admitted rate"): ("1/s", np.zeros((100, 3))),
        ("gate", "waiting"): ("requests", np.zeros((100, 3))),
        ("pcrf", "waiting"): ("messages", np.tile(rate[:, None] / 50, 3)),
    }
    return Series((0, 1, 2), time_s, values)


def test_every_curve_that_shows_something_has_a_title_a_scale_and_a_time_axis() -> None:
    text = plot(_series(), 80)
    assert [line for line in text.splitlines() if line.endswith("]")] == [
        "Request rate, before the gate [requests per s]",
        "Registered subscribers [% of all]",
        "Queue of pcrf [messages]",
    ]
    assert text.count("(time [s])") == 3
    assert re.search(r"^ +160 \|", text, re.MULTILINE)
    assert re.search(r"\| 0 +150 +300 +450 +600", text)
    assert max(map(len, text.splitlines())) <= 80


def test_the_median_is_drawn_high_and_then_low() -> None:
    lines = plot(_series(), 80).splitlines()
    drawn = {float(match[1]): line for line in lines[1:10] if (match := re.match(r" +([\d.]+) \|", line))}
    dots = {level: [i for i, c in enumerate(line) if "\u2801" <= c <= "\u28ff"] for level, line in drawn.items()}
    assert len(dots[140.0]) == 20
    assert len(dots[0.0]) >= 19
    assert max(dots[140.0]) <= min(dots[0.0])
    assert not dots[160.0]


def test_what_reaches_the_top_of_a_scale_is_drawn_there() -> None:
    series = _series()
    series.values["handsets", "registered share"][1][:] = 1.0
    after = plot(series, 80).split("Registered subscribers")[1].splitlines()
    top = next(line for line in after if re.match(r" +87.5 \|", line))
    assert sum("\u2801" <= c <= "\u28ff" for c in top) >= 38


def test_long_storms_are_drawn_over_hours() -> None:
    text = plot(_series(28800.0), 100)
    assert "(time [h])" in text
    assert max(map(len, text.splitlines())) <= 100


def test_colours_are_for_terminals_that_want_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[" not in plot(_series(), 80)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[94m" in plot(_series(), 80)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in plot(_series(), 80)
