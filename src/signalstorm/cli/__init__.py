"""The command ``signalstorm``.

``app.py`` lists the sub-commands and each has a file of its own. Those files import heavy modules (numpy,
numba, pydantic, optuna, gymnasium) inside their functions only, so that ``--help`` stays quick.
"""

import errno
import sys
from collections.abc import Sequence

EXIT_OK = 0
"""Done."""
EXIT_REJECTED = 1
"""The command ran, but found no acceptable answer or a check failed."""
EXIT_WRONG_INPUT = 2
"""The command line, a file or a value in it is wrong."""

_LONGEST_NAME = 80
"""Characters of a path that a message shows."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave the process with its exit code.

    Args:
        arguments: The words after ``signalstorm``; those of the process if omitted.

    Raises:
        SystemExit: Always: 0 done, 1 no acceptable answer or a failed check, 2 wrong input.
    """
    from signalstorm.cli.app import app

    try:
        app(args=arguments, prog_name="signalstorm")
    except Exception as error:
        message, code = _in_words(error)
        if code is None:
            raise
        print(f"signalstorm: {message}", file=sys.stderr)  # noqa: T201  (the command line may print)
        raise SystemExit(code) from error


def _in_words(error: Exception) -> tuple[str, int | None]:
    """Return an error's message and exit code; no code for a mistake in the program."""
    if isinstance(error, MemoryError):
        return f"this run does not fit the memory: {error}", EXIT_WRONG_INPUT
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        # Even to ask whether such a path exists fails, so whatever option took it can be the cause.
        name = str(error.filename)
        shown = name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}..."
        return f"this path is too long for the file system, give a shorter one: {shown}", EXIT_WRONG_INPUT
    if isinstance(error, OSError) and _has_no_room(error):
        # Files are written whole or not at all, so what is there already can be gone on from.
        where = f": {error.filename}" if error.filename else ""
        return f"cannot be written, {error.strerror}{where}. Make room and give the same command", EXIT_WRONG_INPUT
    return str(error), _exit_code(error)


def _has_no_room(error: OSError) -> bool:
    from signalstorm.envs.model.files import NO_ROOM

    return error.errno in NO_ROOM


def _exit_code(error: Exception) -> int | None:
    """Return the exit code of the project's own errors, None for a mistake in the program."""
    errors = sys.modules.get("signalstorm.envs.model.errors")  # not imported: no error of ours, no need to load it
    if errors is None or not isinstance(error, errors.SignalstormError):
        return None
    return int(error.exit_code)
