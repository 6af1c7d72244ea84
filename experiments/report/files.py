"""The figures of a report as files: pictures, and the numbers they show as CSV."""

import csv
import io
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from signalstorm.envs.model.errors import ABSENT, InputError, wrong_input
from signalstorm.envs.model.files import write_atomic
from signalstorm.envs.model.wording import nearest
from signalstorm.experiments.report.drawing import Figure
from signalstorm.experiments.report.drawings import Drawing, drawings
from signalstorm.experiments.report.tables import read_run

PICTURES = ("svg", "png")
FORMATS = (*PICTURES, "csv")
"""What a figure can be written as."""
_WIDTH, _ABOVE, _ROW = 860, 64, 24
"""Width of a picture, room for its title and a row of its legend, and for one more row [px]."""
_ONE_ROW = 2
"""Names that one row of a legend holds, however long they are."""
_SCALE = 2
"""Pixels of a PNG per pixel of the page."""


def write_figures(
    run_folder: str | os.PathLike[str], out: str | os.PathLike[str], formats: Sequence[str] = FORMATS
) -> list[Path]:
    """Write every figure of a run's report as files: all of them, or none.

    Args:
        run_folder: The folder that ``signalstorm tune`` wrote.
        out: The folder for the files.
        formats: Some of `FORMATS`.

    Returns:
        The files: ``NAME.svg``, ``NAME.png``, and ``NAME.csv`` with the numbers.

    Raises:
        InputError: If a record is not as it should be, there is no such format, or pictures are asked for and Kaleido
            or a browser is missing.
        OSError: If a file cannot be written.
    """
    for name in formats:
        if name not in FORMATS:
            raise wrong_input(f"must be some of {', '.join(FORMATS)}", name, nearest(name, FORMATS), key="--format")
    found = drawings(read_run(Path(run_folder)))
    content: dict[str, str | bytes] = _pictures(found, [name for name in PICTURES if name in formats])
    if "csv" in formats:
        content |= {f"{drawing.name}.csv": numbers_of(drawing.figure) for drawing in found}
    for name, text in content.items():
        write_atomic(Path(out) / name, text)
    return [Path(out) / name for name in content]


def _pictures(found: Sequence[Drawing], kinds: Sequence[str]) -> dict[str, str | bytes]:
    """Draw figures by Kaleido, which uses a browser on this machine."""
    if not kinds:
        return {}
    if find_spec("kaleido") is None:
        raise _without("the package kaleido", "pip install 'signalstorm[figures]'")
    from plotly import io as plotly_io

    jobs = [(drawing, kind) for drawing in found for kind in kinds]
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"{drawing.name}.{kind}" for drawing, kind in jobs]
        try:
            plotly_io.write_images(
                fig=[picture(drawing) for drawing, _ in jobs],
                file=files,
                width=_WIDTH,
                height=[drawing.figure["layout"]["height"] + _above(drawing.figure) for drawing, _ in jobs],
                scale=[_SCALE if kind == "png" else 1 for _, kind in jobs],
                validate=False,
            )
        except RuntimeError as error:
            missing = "Chrome or Chromium, and none was found that starts here"
            raise _without(missing, "install one, or name one in BROWSER_PATH") from error
        return {file.name: file.read_bytes() for file in files}


def _without(missing: str, way_out: str) -> InputError:
    """Return the error for something that pictures need and that is not there."""
    rule = f"pictures need {missing}"
    return wrong_input(rule, ABSENT, f"{way_out}; or ask for the numbers alone: --format csv", key="--figures")


def picture(drawing: Drawing) -> Figure:
    """Return a figure that stands by itself: with its title, on white."""
    layout = dict(drawing.figure["layout"])
    margin = {**layout["margin"], "t": layout["margin"]["t"] + _above(drawing.figure)}
    title = {"text": drawing.title, "x": 0.01, "xanchor": "left", "y": 1.0, "yanchor": "top", "yref": "container",
             "pad": {"t": 12, "l": 6}, "font": {"size": 16}}  # fmt: skip
    layout |= {"title": title, "margin": margin, "paper_bgcolor": "white", "plot_bgcolor": "white"}
    return {"data": drawing.figure["data"], "layout": layout}


def _above(figure: Figure) -> int:
    """Return the room that a title needs above a legend, which grows upwards [px]."""
    names = sum(trace.get("showlegend", True) for trace in figure["data"])
    return _ABOVE + (_ROW if names > _ONE_ROW else 0)


def numbers_of(figure: Figure) -> str:
    """Return the numbers of a figure as CSV: a row for each point, columns named as the axes are."""
    layout = figure["layout"]
    names = {"series": "series", **{key: layout[f"{key}axis"]["title"]["text"] or key for key in ("x", "y")}}
    rows = [row for trace in figure["data"] for row in _rows(trace)]
    used = [key for key in ("series", "x", "y", "z", "from", "low", "high", "text") if any(key in row for row in rows)]
    bar = next((trace["colorbar"]["title"]["text"] for trace in figure["data"] if "colorbar" in trace), "z")
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow([{**names, "z": f"value [{bar}]"}.get(key, key) for key in used])
    writer.writerows([row.get(key, "") for key in used] for row in rows)
    return table.getvalue()


def _rows(trace: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the points of a trace."""
    x = _places(trace, len(trace["z"][0]) if "z" in trace else len(trace["y"]))
    if "z" in trace:
        for name, values in zip(trace["y"], trace["z"], strict=True):
            yield from ({"x": at, "y": name, "z": value} for at, value in zip(x, values, strict=True))
        return
    text = trace.get("text")
    for i, (at, value) in enumerate(zip(x, trace["y"], strict=True)):
        row = {"series": trace.get("name", ""), "x": at, "y": value}
        if "base" in trace:
            row |= {"from": trace["base"][i], "x": trace["base"][i] + at}
        if "error_x" in trace:
            row |= {"low": at - trace["error_x"]["arrayminus"][i], "high": at + trace["error_x"]["array"][i]}
        if text is not None and trace["type"] == "scatter":
            row["text"] = str(text[i]).replace("<br>", "; ")
        yield row


def _places(trace: Mapping[str, Any], count: int) -> list[Any]:
    """Return the places along x; times of day as HH:MM:SS."""
    if "x" in trace:
        return list(trace["x"])
    start, step = trace["x0"], trace["dx"]
    if isinstance(start, str):
        began = datetime.fromisoformat(start)
        return [(began + timedelta(milliseconds=i * step)).strftime("%H:%M:%S") for i in range(count)]
    return [round(start + i * step, 6) for i in range(count)]
