"""Numbers, drawings and the page made of them; each reads plain records and never a kernel."""

import os
from pathlib import Path

from signalstorm.envs.model.files import write_atomic
from signalstorm.experiments.report.files import write_figures
from signalstorm.experiments.report.page import render
from signalstorm.experiments.report.tables import read_run

__all__ = ["FILE", "write_figures", "write_report"]

FILE = "report.html"
"""The file's name in a run's folder."""


def write_report(run_folder: str | os.PathLike[str]) -> Path:
    """Write a run's report: one HTML file that needs no network.

    Args:
        run_folder: The folder that ``signalstorm tune`` wrote; ``series.csv`` may be missing.

    Returns:
        The file.

    Raises:
        InputError: If there is no recommendation in the folder, or a record is not as it should be.
        OSError: If the file cannot be written.
    """
    folder = Path(run_folder)
    path = folder / FILE
    write_atomic(path, render(read_run(folder)))
    return path
