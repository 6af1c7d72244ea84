"""A storm on the screen: lines of text that work over ssh, and a picture with the same content."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from signalstorm.envs.loop import Loop
from signalstorm.envs.model.knob_table import KNOBS
from signalstorm.envs.observation import (
    ACCEPTS,
    ADMITTED,
    CONGESTED,
    DATABASE_CPU,
    DOWN,
    GATE_QUEUE,
    IMSIMGR_CPU,
    MME_CPU,
    REGISTERED,
    REQUESTS,
)

RENDER_MODES = ("rgb_array", "ansi")
RENDER_FPS = 10

_BAR = 24
_LEVELS = " ▁▂▃▄▅▆▇█"
_TRACES = (REQUESTS, ADMITTED, ACCEPTS)
_COLOURS = {REQUESTS: (213, 94, 0), ADMITTED: (86, 180, 233), ACCEPTS: (0, 158, 115)}
"""Okabe and Ito's colours, which colour-blind people tell apart."""
_PROCESSORS = (IMSIMGR_CPU, MME_CPU, DATABASE_CPU)
_WIDTH, _HEIGHT = 640, 400
_MARGIN = 8


@dataclass
class Screen:
    """Keeps what a storm has shown, and draws it."""

    loop: Loop
    """The loop whose first row is shown."""
    history: list[dict[str, float]] = field(default_factory=list)
    """The readings of all intervals so far."""

    def clear(self) -> None:
        """Begin with another storm."""
        self.history.clear()

    def look(self) -> None:
        """Keep the last interval."""
        self.history.append({name: float(values[0]) for name, values in self.loop.seen.items()})

    def text(self) -> str:
        """Return the storm in lines of text."""
        lines = [describe(self.loop, 0)]
        for name in _TRACES:
            values = [seen[name] for seen in self.history][-60:]
            top = max(values, default=0.0)
            lines.append(
                f"{name:<16} {spark(values, top):<60} {values[-1] if values else 0.0:10,.0f} of {top:,.0f} per s"
            )
        return "\n".join(lines) + "\n"

    def image(self) -> npt.NDArray[np.uint8]:
        """Return a picture: rates over time above, registered share and knobs below; shape (height, width, 3)."""
        picture = np.full((_HEIGHT, _WIDTH, 3), 255, np.uint8)
        half = _HEIGHT * 5 // 8
        top = max((seen[name] for seen in self.history for name in _TRACES), default=0.0)
        frame(picture, _MARGIN, half - _MARGIN)
        frame(picture, half + _MARGIN, _HEIGHT - _MARGIN)
        steps = self.loop.options.episode_steps
        for name in _TRACES:
            shares = [seen[name] / top if top > 0 else 0.0 for seen in self.history]
            trace(picture, shares, steps, _MARGIN, half - _MARGIN, _COLOURS[name])
        population = sum(group.size for group in self.loop.options.scenario.subscribers)
        registered = [seen[REGISTERED] / population for seen in self.history]
        trace(picture, registered, steps, half + _MARGIN, _HEIGHT - _MARGIN, (0, 0, 0))
        for place, share in enumerate(self.loop.actuator.scaled(self.loop.values)[0]):
            bar(picture, place, float(share))
        return picture


def describe(loop: Loop, row: int) -> str:
    """Return the state of one row in lines: service, gate, links, processors, knobs."""
    options, seen = loop.options, {name: float(values[row]) for name, values in loop.seen.items()}
    population = float(sum(group.size for group in options.scenario.subscribers))
    time_s = float(loop.storms.steps[row]) * loop.batch.dt
    end_s = options.scenario.horizon_s
    lines = [f"{options.scenario.name}, storm {loop.storms.numbers[row]}, {time_s:,.0f} s of {end_s:,.0f} s"]
    if not seen:
        return "\n".join([*lines, "nothing has been reported yet", *_knob_lines(loop, row)])
    lines.append(_line("registered", seen[REGISTERED] / population, f"{seen[REGISTERED]:,.0f} subscribers"))
    rates = (seen[REQUESTS], seen[ADMITTED], seen[ACCEPTS])
    lines.append("attaches         asked {:,.0f}, admitted {:,.0f}, completed {:,.0f} per s".format(*rates))
    if GATE_QUEUE in seen:
        lines.append(f"gate             {seen[GATE_QUEUE]:,.0f} requests wait")
    pending = {
        name.removeprefix("pending at "): value for name, value in seen.items() if name.startswith("pending at ")
    }
    lines += [f"{'queue of ' + name:<16} {value:,.0f} messages wait" for name, value in pending.items()]
    if CONGESTED in seen:
        links = options.scenario.topology.links
        names = links.names() if links is not None else ()
        marks = ["!" if seen[f"{n} congested"] > 0 else "x" if seen[f"{n} down"] > 0 else "." for n in names]
        lines.append(
            f"links            {''.join(marks)}  {seen[CONGESTED]:.0f} congested (!), {seen[DOWN]:.0f} down (x); "
            f"{seen['links tx']:,.0f} sent, {seen['links rx']:,.0f} answered per s"
        )
    lines += [_line(name.removeprefix("CPU of the ")[:16], seen[name], "CPU") for name in _PROCESSORS if name in seen]
    return "\n".join([*lines, *_knob_lines(loop, row)])


def _knob_lines(loop: Loop, row: int) -> list[str]:
    named = loop.actuator.named(loop.values[row])
    shares = loop.actuator.scaled(loop.values)[row]
    return [
        _line(name[:16], float(share), KNOBS[name].text(value))
        for (name, value), share in zip(named.items(), shares, strict=True)
    ]


def _line(name: str, share: float, words: str) -> str:
    filled = round(min(max(share, 0.0), 1.0) * _BAR)
    return f"{name:<16} [{'#' * filled}{'-' * (_BAR - filled)}] {share:6.1%} {words}"


def spark(values: Sequence[float], top: float) -> str:
    """Return values as a row of blocks, the highest for ``top``."""
    if top <= 0:
        return _LEVELS[0] * len(values)
    return "".join(_LEVELS[round(min(max(value / top, 0.0), 1.0) * (len(_LEVELS) - 1))] for value in values)


def frame(picture: npt.NDArray[np.uint8], top: int, bottom: int) -> None:
    """Draw the lines around a plot."""
    picture[[top, bottom - 1], _MARGIN : _WIDTH - _MARGIN] = 160
    picture[top:bottom, [_MARGIN, _WIDTH - _MARGIN - 1]] = 160


def trace(
    picture: npt.NDArray[np.uint8], shares: Sequence[float], steps: int, top: int, bottom: int, colour: Any
) -> None:
    """Draw a curve of shares of the plot's height over the whole episode."""
    if not shares:
        return
    width = _WIDTH - 2 * _MARGIN - 4
    columns = np.arange(round(width * min(len(shares) / steps, 1.0)))
    index = np.minimum((columns * steps / width).astype(int), len(shares) - 1)
    heights = np.clip(np.asarray(shares)[index], 0.0, 1.0)
    rows = (bottom - 4 - heights * (bottom - top - 8)).astype(int)
    for column, (row, before) in enumerate(zip(rows, np.r_[rows[:1], rows[:-1]], strict=True)):
        low, high = sorted((int(row), int(before)))
        picture[low - 1 : high + 1, _MARGIN + 2 + column] = colour


def bar(picture: npt.NDArray[np.uint8], place: int, share: float) -> None:
    """Draw a knob's place in its range as a bar at the right."""
    half = _HEIGHT * 5 // 8
    height = round((_HEIGHT - half - 4 * _MARGIN) * share)
    left = _WIDTH - 2 * _MARGIN - 14 * (place + 1)
    if left > _WIDTH // 2:
        picture[_HEIGHT - 2 * _MARGIN - height : _HEIGHT - 2 * _MARGIN, left : left + 10] = (204, 121, 167)
