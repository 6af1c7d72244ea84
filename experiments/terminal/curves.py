"""Storm curves as text."""

import math
from typing import Any

import numpy as np

from signalstorm.experiments.series import Series
from signalstorm.experiments.storm_views import View, stirred, time_axis, views

_HEIGHT = 8
"""Lines of a curve, each with a number on the scale."""
_DOTS = 4
"""Dots above one another in a line."""
_PER_TICK = 10
"""Characters between two numbers of the time axis."""
_BESIDE = 25
"""Characters beside a curve: its scale, and the name of the time axis."""
_FEWEST_TICKS, _MOST_TICKS = 3, 16
_STEPS = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
"""Distances of numbers on a scale that people read easily, and ten to some power times these."""
_COLOUR = "bright_blue"


def plot(series: Series, width: int) -> str:
    """Draw the median over the storms, as braille dots, a curve below the other.

    It has colours where stdout is a terminal, unless the environment holds ``NO_COLOR``.

    Args:
        series: Time series of some storms.
        width: Characters of a line.
    """
    return "\n\n".join(_curve(view, series, width) for view in stirred(views(series), series))


def _curve(view: View, series: Series, width: int) -> str:
    import plotille

    last_s = float(series.time_s[-1])
    unit, length_s = time_axis(last_s)
    values = np.median(view.values(series), axis=1)
    room = min(max((width - _BESIDE) // _PER_TICK, _FEWEST_TICKS), _MOST_TICKS)
    step = _step(last_s / length_s / room)
    ticks = math.ceil(last_s / length_s / step - 1e-9)
    figure = plotille.Figure()
    figure.width, figure.height = ticks * _PER_TICK, _HEIGHT
    figure.origin = False
    figure.x_label, figure.y_label = f"time [{unit}]", ""
    figure.register_label_formatter(float, _label)
    figure.set_x_limits(0.0, ticks * step)
    top = view.most or _HEIGHT * _step(float(values.max()) / _HEIGHT)
    figure.set_y_limits(0.0, top)
    # The upper end of a scale lies above its highest dot, and what has no dot is not drawn.
    shown = np.minimum(values, top * (1.0 - 1.0 / (_HEIGHT * _DOTS)))
    figure.plot((series.time_s / length_s).tolist(), shown.tolist(), lc=_COLOUR)
    lines = figure.show().splitlines()
    return "\n".join(
        [f"{view.title} [{view.unit}]", *(line.rstrip(" \N{BRAILLE PATTERN BLANK}") for line in lines[1:])]
    )


def _step(least: float) -> float:
    """Return the smallest step of a scale that is not below the least one."""
    if least <= 0.0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(least))
    return power * next(step for step in _STEPS if step >= least / power * (1.0 - 1e-9))


def _label(value: float, chars: int, delta: Any, left: bool = False) -> str:
    text = f"{value:,.6g}"
    return text.ljust(chars) if left else text.rjust(chars)
