"""Folders of runs, as the search leaves them, small and made up."""

import csv
import json
from pathlib import Path
from typing import Any

from tests.experiments.recommendation_data import recommendation

SEEDS = (0, 1, 2, 3, 4)


def write_series(path: Path, times: int = 40, interval_s: float = 1.0) -> None:
    """Write curves that fall in a straight line; the present ones end twice as late, each seed a bit higher."""
    quantities = [
        ("handsets", "request rate", "1/s", 100.0),
        ("gate", "admitted rate", "1/s", 50.0),
        ("handsets", "registered share", "share", 0.9),
        ("gate", "waiting", "requests", 500.0),
        ("pcrf", "waiting", "messages", 117.0),
        ("pcrf", "waiting stale", "messages", 60.0),
    ]
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["setting", "seed", "time_s", "element", "quantity", "unit", "value"])
        for setting, length in (("present", times), ("recommended", times // 2)):
            for element, quantity, unit, height in quantities:
                for seed in SEEDS:
                    for i in range(length):
                        value = height * (1 - i / length) + (seed if height > 1 else 0.0)
                        rows.writerow([setting, seed, (i + 1) * interval_s, element, quantity, unit, value])


LINKS = ("stp1/slc1", "stp1/slc2", "stp2/slc1")


def write_links(path: Path, times: int = 40, interval_s: float = 1.0) -> None:
    """Add links to a file of curves; those of STP 2 congest in the second half under the present setting."""
    with path.open("a", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        for setting in ("present", "recommended"):
            for link in LINKS:
                for seed in SEEDS:
                    for i in range(times):
                        at, on = (i + 1) * interval_s, setting == "present" and link[3] == "2" and i > times // 2
                        rows.writerow([setting, seed, at, link, "tx rate", "1/s", 100.0 + seed])
                        rows.writerow([setting, seed, at, link, "rx rate", "1/s", 40.0 if on else 100.0])
                        rows.writerow([setting, seed, at, link, "waiting", "messages", 900.0 * on + 1])
                        rows.writerow([setting, seed, at, link, "congested", "on", float(on)])
                    if setting == "present" and link[3] == "2":
                        at = (times // 2 + 2) * interval_s
                        rows.writerow([setting, seed, at, link, "congestion alarm", "on", 1.0])


def write_run(folder: Path, *, series: bool = True, **changes: Any) -> Path:
    """Write the records of a run into a folder and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "recommendation.json").write_text(json.dumps(recommendation(**changes)), "utf-8")
    (folder / "command.txt").write_text("signalstorm tune lab-pcrf --out runs/lab-pcrf\n", "utf-8")
    (folder / "scenario.yaml").write_text("topology: {gate: {instances: 2}}\n", "utf-8")
    if series:
        write_series(folder / "series.csv")
    return folder
