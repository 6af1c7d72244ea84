"""Alarms: the kernel's log turned into rows with a time of setting and of clearing, and into trap lines."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from signalstorm.envs.model.kernels.layout import ALARM_DOWN, ALARM_IMSIMGR
from signalstorm.envs.model.scenario import Scenario
from signalstorm.experiments.clock import start_of_day_s, time_of_day

CONGESTION, LINK_DOWN, CPU_WARN = "congestion", "link down", "cpu warn"
"""Kinds of alarm."""


def alarm_rows(log: Iterable[tuple[float, int, bool]], scenario: Scenario) -> list[dict[str, Any]]:
    """Pair the edges of one storm's log.

    Args:
        log: Time [s], element, and whether the alarm was set, in order of time.
        scenario: The scenario, for the names of links.

    Returns:
        Rows with element, kind, set_s and cleared_s; None where the alarm was still up at the end.
    """
    names = scenario.topology.links.names() if scenario.topology.links else ()
    rows: list[dict[str, Any]] = []
    up: dict[int, dict[str, Any]] = {}
    for time_s, element, is_set in log:
        if is_set:
            name, kind = _about(element, names)
            row = {
                "element": name,
                "kind": kind,
                "set_s": time_s,
                "cleared_s": None,
            }
            rows.append(row)
            up[element] = row
        elif element in up:
            up.pop(element)["cleared_s"] = time_s
    return rows


def _about(element: int, names: Sequence[str]) -> tuple[str, str]:
    """Return the name of an element of the log, and the kind of its alarm."""
    if element == ALARM_IMSIMGR:
        return "imsimgr", CPU_WARN
    return (names[element - ALARM_DOWN], LINK_DOWN) if element >= ALARM_DOWN else (names[element], CONGESTION)


def trap_lines(alarms: Iterable[Mapping[str, Any]], clock_start: str | None) -> str:
    """Return the alarms of one storm as an alarm log, in order of time; ``import traps`` reads it back.

    Args:
        alarms: Rows as `alarm_rows` gives them.
        clock_start: The scenario's time of day at its start; None stands for midnight.
    """
    start_s = start_of_day_s(clock_start) or 0.0
    edges = [
        (start_s + alarm[key], alarm, word)
        for alarm in alarms
        for key, word in (("set_s", ""), ("cleared_s", " cleared"))
        if alarm[key] is not None
    ]
    lines = [f"{time_of_day(at_s, to_seconds=True)} {_said(alarm)}{word}\n"
             for at_s, alarm, word in sorted(edges, key=lambda edge: edge[0])]  # fmt: skip
    return "".join(lines)


def _said(alarm: Mapping[str, Any]) -> str:
    """Name an alarm as equipment does: STP-2 SLC-4 congestion, IMSI manager CPU warn."""
    if alarm["kind"] == CPU_WARN:
        return "IMSI manager CPU warn"
    stp, _, link = alarm["element"].partition("/")
    return f"STP-{stp.removeprefix('stp')} SLC-{link.removeprefix('slc')} {alarm['kind']}"
