"""Arguments that environments get from Python: every fault of a call is found before anything is built or moved."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from signalstorm.envs.model.errors import ABSENT, Finding, Shown, located
from signalstorm.envs.model.wording import nearest

STORM, MASK = "storm", "reset_mask"
"""What ``reset`` takes among its options; the second only rows do."""

LARGEST = (1 << 53) - 1
"""The largest number of a storm: a float holds it exactly, as reports do."""
LARGEST_ROWS = 16_384
"""Rows of an environment at most; one takes 13 kB (`AttachLteEasy`) to 340 kB (`CoreStormRandomised`): up to 6 GB."""


def is_whole(value: Any) -> bool:
    """Whether a value is a whole number; truth values are none."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Whether a value is a finite number; truth values are none."""
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool) and finite(value)


def finite(value: Any) -> bool:
    """Whether a number can be computed with: neither NaN nor infinite, nor too large for a float."""
    try:
        return bool(np.isfinite(float(value)))
    except OverflowError:
        return False


def is_storm(value: Any) -> bool:
    """Whether a value is a storm's number."""
    return is_whole(value) and 0 <= value <= LARGEST


def fault(name: str, holds: bool, rule: str, value: Any, way_out: str) -> list[Finding]:
    """Return nothing if a rule holds, else what is wrong."""
    return [] if holds else [Finding((name,), rule, Shown(repr(value)), way_out)]


def faults_of_making(
    modes: Sequence[str],
    render_mode: Any,
    threads: Any,
    num_envs: Any = 1,
    max_episode_steps: Any = None,
    wrapped: Sequence[str] = (),
) -> list[Finding]:
    """Return what is wrong with the arguments that do not belong to the storm.

    Args:
        modes: The render modes there are.
        render_mode: One of them, or None.
        threads: Threads at most, or None.
        num_envs: Rows, `LARGEST_ROWS` at most.
        max_episode_steps: Intervals of an episode at most, or None.
        wrapped: Render modes that ``gymnasium.make`` adds with a wrapper.
    """
    at_least = "must be a whole number of at least 1"
    way_out = nearest(str(render_mode), (*modes, *wrapped))
    if render_mode in wrapped:
        way_out = "make the environment with gymnasium.make, whose wrapper adds it"
    return [
        *fault(
            "num_envs",
            is_whole(num_envs) and 1 <= num_envs <= LARGEST_ROWS,
            f"must be a whole number from 1 to {LARGEST_ROWS:,}, for every row takes memory",
            num_envs,
            "say how many storms to play",
        ),
        *fault(
            "max_episode_steps",
            max_episode_steps is None or (is_whole(max_episode_steps) and max_episode_steps >= 1),
            at_least,
            max_episode_steps,
            "leave it out for episodes up to the horizon",
        ),
        *fault(
            "threads",
            threads is None or (is_whole(threads) and threads >= 1),
            at_least,
            threads,
            "leave it out for one per core",
        ),
        *fault("render_mode", render_mode is None or render_mode in modes, "is no render mode", render_mode, way_out),
    ]


def check_reset(options: Any, rows: int | None = None) -> None:
    """Refuse options of ``reset`` that are wrong.

    Args:
        options: What was given; None: nothing.
        rows: Rows of a vector environment; None: a single one.

    Raises:
        InputError: With everything that is wrong.
    """
    if options is None:
        return
    known = (STORM,) if rows is None else (STORM, MASK)
    if not isinstance(options, Mapping):
        rule = "must be a mapping of names to values"
        raise located([Finding(("options",), rule, Shown(repr(options)), f"such as {{{known[0]!r}: 7}}")], "reset")
    found = [
        Finding(("options", str(name)), "there is no such option", ABSENT, nearest(str(name), known))
        for name in options
        if name not in known
    ]
    found += _faults_of_storm(options.get(STORM), rows)
    mask = options.get(MASK) if rows is not None else None
    if mask is not None:
        given = np.asarray(mask)
        if given.dtype != np.bool_ or given.shape != (rows,):
            rule = f"must hold one truth value per row, shape ({rows},)"
            found.append(Finding(("options", MASK), rule, Shown(repr(mask)), "give an array of booleans"))
    if found:
        raise located(found, "reset")


def _faults_of_storm(storm: Any, rows: int | None) -> list[Finding]:
    """Return what is wrong with the storm asked for: a number, or one per row where there are rows."""
    if storm is None or is_storm(storm):
        return []
    each = rows is not None and isinstance(storm, list | tuple | np.ndarray) and np.ndim(storm) == 1
    if each and len(storm) == rows and all(is_storm(number) for number in storm):
        return []
    rule = f"must be a whole number from 0 to {LARGEST:,}" + ("" if rows is None else f", or {rows} of them")
    return [Finding(("options", STORM), rule, Shown(repr(storm)), "give the number of a storm")]
