"""Alarms: the kernel's log turned into rows with a time of setting and of clearing, and into trap lines."""

from collections.abc import Iterable
from typing import Any

from signalstorm.envs.model.kernels.layout import ALARM_IMSIMGR
from signalstorm.envs.model.scenario import Scenario

CONGESTION, CPU_WARN = "congestion", "cpu warn"
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
            manager = element == ALARM_IMSIMGR
            row = {
                "element": "imsimgr" if manager else names[element],
                "kind": CPU_WARN if manager else CONGESTION,
                "set_s": time_s,
                "cleared_s": None,
            }
            rows.append(row)
            up[element] = row
        elif element in up:
            up.pop(element)["cleared_s"] = time_s
    return rows
