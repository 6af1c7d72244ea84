"""What a folder without a recommendation is, and what can be done with it."""

from collections.abc import Iterator
from pathlib import Path

_KINDS = (
    ("training.yaml", "the folder of a training, which recommends no setting",
     "`signalstorm evaluate DIR --scenario NAME` judges its policy, `signalstorm distil DIR` makes rules of it"),
    ("policy.json", "a trained policy, which is no setting",
     "`signalstorm evaluate DIR --scenario NAME` judges it, `signalstorm distil DIR` makes rules of it"),
    ("policy.safetensors", "a trained policy, which is no setting, and its policy.json is missing",
     "copy the whole folder that `signalstorm train` wrote"),
    ("compare.json", "the folder of a comparison", "its page is comparison.md"),
    ("calibration.json", "the folder of a calibration", "its page is residuals.html"),
    ("rule.yaml", "the folder of a rule", "its page is rule.md"),
    ("result.json", "the folder of `signalstorm simulate`",
     "`signalstorm tune` finds a setting that can be recommended; `signalstorm serve` shows the storms"),
    ("import.json", "the folder of an import", "give its scenario to `signalstorm tune`"),
)  # fmt: skip
"""A file that only such a folder holds, what the folder is, and the way out."""
_SEARCH = ("journal.log", "study.yaml")
_COMMAND = "command.txt"
_LONGEST_COMMAND = 200
_NAMED = 5
"""Runs that are named at most."""


def described(folder: Path, file: str) -> tuple[str, str]:
    """Return what a folder is that lacks a file, and what to do, both in words.

    Args:
        folder: The folder.
        file: The file, which a finished run of ``signalstorm tune`` has.
    """
    if any((folder / name).is_file() for name in _SEARCH):
        return f"is the folder of a search that has not come to its {file} yet", _going_on(folder)
    for marker, what, way_out in _KINDS:
        if (folder / marker).is_file():
            return f"is {what}", way_out.replace("DIR", str(folder))
    if runs := list(_runs(folder, file)):
        more = f" and {len(runs) - _NAMED} more" if len(runs) > _NAMED else ""
        return f"holds runs, but is none ({', '.join(runs[:_NAMED])}{more})", f"give one, such as {folder / runs[0]}"
    return f"has no {file}, so it is not the folder of a run", "give the --out of `signalstorm tune`"


def _going_on(folder: Path) -> str:
    try:
        command = (folder / _COMMAND).read_text("utf-8").strip()
    except (OSError, ValueError):
        command = ""
    named = f": {command}" if command and command.isprintable() and len(command) <= _LONGEST_COMMAND else ""
    return f"wait for it to end, or run the same command again, which goes on with it{named}"


def _runs(folder: Path, file: str) -> Iterator[str]:
    try:
        yield from sorted(each.name for each in folder.iterdir() if (each / file).is_file())
    except OSError:
        return
