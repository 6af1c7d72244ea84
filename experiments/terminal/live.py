"""A storm as it goes on: queues, links, CPU, knobs and the registered share over simulated time."""

import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from signalstorm.envs.model.knob_table import KNOBS, KnobValue
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.model.wording import amount
from signalstorm.experiments.series import Series
from signalstorm.experiments.simulate import SimulationResult
from signalstorm.experiments.storm_views import stirred, views

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

_LASTS_S = 15.0
"""So long the view of a storm takes [s]."""
_FRAMES_PER_S = 12
_ROWS = 24
"""Rows of the plain table."""
_BAR = 30
"""Characters of a full bar."""


def play(result: SimulationResult, console: "Console", lasts_s: float = _LASTS_S) -> None:
    """Show the first storm of a recorded result on a terminal; elsewhere print it as a table. Ctrl-C ends the view.

    Args:
        result: A result with time series.
        console: Where to.
        lasts_s: How long the view takes [s].

    Raises:
        ValueError: If the result has no time series.
    """
    series = _recorded(result)
    if not console.is_terminal:
        for line in table(result):
            console.print(line, markup=False, highlight=False, soft_wrap=True)
        return
    from rich.live import Live

    last = len(series.time_s) - 1
    began = time.monotonic()
    with Live(frame(result, 0), console=console, auto_refresh=False) as view:
        try:
            while (share := (time.monotonic() - began) / lasts_s) < 1.0:
                view.update(frame(result, round(share * last)), refresh=True)
                time.sleep(1.0 / _FRAMES_PER_S)
        except KeyboardInterrupt:
            pass
        view.update(frame(result, last), refresh=True)


def frame(result: SimulationResult, index: int) -> "RenderableType":
    """Return the first storm of a result as it stands at the end of an interval.

    Raises:
        ValueError: If the result has no time series.
    """
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    series = _recorded(result)
    grid = Table.grid(padding=(0, 1))
    for view in stirred(views(series), series):
        values = view.values(series)[:, 0]
        now, most = float(values[index]), view.most or float(values.max())
        grid.add_row(view.title, Text(_bar(now / most), style="bright_blue"), f"{_amount(now)} {view.unit}")
    congested = _congested(series, index)
    if congested is not None:
        grid.add_row("Links with an alarm", "", Text(congested, style="bold" if congested != "none" else ""))
    head = Text(f"{result.scenario.name}, storm {series.seeds[0]}: {_clock(result, float(series.time_s[index]))}")
    head.stylize("bold")
    return Group(head, grid, Text(f"Knobs: {_knobs(result.setting)}"))


def table(result: SimulationResult, rows: int = _ROWS) -> Iterator[str]:
    """Yield the first storm of a result as lines of plain text.

    Raises:
        ValueError: If the result has no time series.
    """
    series = _recorded(result)
    shown = stirred(views(series), series)
    yield f"{result.scenario.name}, storm {series.seeds[0]}; knobs: {_knobs(result.setting)}"
    heads = ["time [s]", *(f"{view.title} [{view.unit}]" for view in shown)]
    for number, head in enumerate(heads):
        yield f"  ({number}) {head}"
    last = len(series.time_s) - 1
    yield "".join(f"{f'({number})':>11}" for number in range(len(heads)))
    for index in dict.fromkeys(round(row * last / max(rows - 1, 1)) for row in range(rows)):
        values = [float(view.values(series)[index, 0]) for view in shown]
        yield "".join(f"{text:>11}" for text in (f"{series.time_s[index]:g}", *map(_amount, values)))


def _recorded(result: SimulationResult) -> Series:
    if result.series is None:
        raise ValueError("the storms were not recorded: simulate them with record=True")
    return result.series


def _amount(value: float) -> str:
    """Write a number as people read it; what is left of a queue by rounding is nothing."""
    return amount(round(value, 3))


def _bar(share: float) -> str:
    return ("\N{FULL BLOCK}" * round(_BAR * min(max(share, 0.0), 1.0))).ljust(_BAR, "\N{MIDDLE DOT}")


def _congested(series: Series, index: int) -> str | None:
    """Return the links whose congestion alarm is up, in words; None where there are no links."""
    links = {name: numbers for (name, quantity), (_, numbers) in series.values.items() if quantity == "congested"}
    if not links:
        return None
    return ", ".join(name for name, numbers in links.items() if numbers[index, 0] > 0) or "none"


def _clock(result: SimulationResult, time_s: float) -> str:
    scenario: Scenario = result.scenario
    text = f"{time_s:,.0f} s of {scenario.horizon_s:,.0f} s"
    if scenario.clock_start is not None:
        hours, minutes = map(int, scenario.clock_start.split(":"))
        at = (hours * 60 + minutes + int(time_s // 60)) % (24 * 60)
        text += f", {at // 60:02d}:{at % 60:02d}"
    over_s = float(result.convergence_time_s[0]) + scenario.convergence.count_from_s
    return f"{text}, over at {over_s:,.0f} s" if time_s >= over_s else text


def _knobs(setting: Mapping[str, KnobValue]) -> str:
    return ", ".join(f"{name} {KNOBS[name].text(value)}" for name, value in setting.items())
