"""How a search stands, as a part of the page."""

from typing import Any

from dash import html

from signalstorm.envs.model.errors import InputError
from signalstorm.envs.model.knob_table import KNOBS
from signalstorm.envs.model.wording import amount
from signalstorm.experiments.serve.controls import start_fields
from signalstorm.experiments.serve.sources import Opened
from signalstorm.experiments.serve.sweeps import Sweep, read_sweep

_STALLED_S = 60.0
"""Where no lock tells, a search that has finished no trial for so long is probably not running any more [s]."""
_STOPPED = "not finished, and no process on this machine is running it: the same command goes on with it"


def sweep_view(opened: Opened) -> tuple[list[Any], dict[str, str]]:
    """Return how the search of a run stands, or why that cannot be said, and the fields of its best setting so far."""
    if opened.run is None:
        return [], {}
    try:
        sweep = read_sweep(opened.run)
        best = sweep.standing.best
        fields = start_fields(opened.scenario, best.setting) if best is not None else {}
    except InputError as error:
        return [html.P(str(error), className="note")], {}
    return _words(sweep), fields


def _words(sweep: Sweep) -> list[Any]:
    standing = sweep.standing
    parts: list[Any] = [html.H3("The search"), html.P(f"{_count(sweep)}. {standing.words.capitalize()}.")]
    if standing.best is not None and standing.best.setting:
        knobs = ", ".join(f"{name} {KNOBS[name].text(value)}" for name, value in standing.best.setting.items())
        best = "Best on the storms of the search" if sweep.finished else "Best so far"
        parts.append(html.P(f"{best}, trial {standing.best.number}: {knobs}."))
    if sweep.planned:
        parts.append(html.Progress(value=str(min(standing.trials, sweep.planned)), max=str(sweep.planned)))
    return parts


def _count(sweep: Sweep) -> str:
    of = f" of {sweep.planned}" if sweep.planned else ""
    if sweep.held:
        state = "running"
    elif sweep.finished:
        state = "finished"
    elif sweep.held is not None:
        state = _STOPPED
    elif sweep.quiet_s > _STALLED_S:
        state = f"no trial for {amount(sweep.quiet_s)} s: it may have been interrupted"
    else:
        state = "running"
    return f"{len(sweep.trials)} trials{of}, {state}"
