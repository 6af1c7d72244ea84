"""Times of day: when a scenario starts, from when its convergence time T counts, and until when."""

from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.model.wording import amount

_DAY_S = 86_400.0


def start_of_day_s(clock_start: str | None) -> float | None:
    """Return a scenario's start since midnight [s]; None where it names no time of day.

    Args:
        clock_start: The scenario's ``clock_start``, such as 06:25.
    """
    if clock_start is None:
        return None
    hours, minutes = clock_start.split(":")
    return 3600.0 * int(hours) + 60.0 * int(minutes)


def time_of_day(seconds: float, *, to_seconds: bool = False) -> str:
    """Return a time since midnight as HH:MM, or HH:MM:SS; past midnight it starts again.

    Args:
        seconds: Since midnight [s].
        to_seconds: Whether to give the seconds too; else they are cut off.
    """
    whole = int(seconds % _DAY_S)
    text = f"{whole // 3600:02d}:{whole // 60 % 60:02d}"
    return f"{text}:{whole % 60:02d}" if to_seconds else text


def counted(clock_start: str | None, count_from_s: float, watched_s: float) -> str:
    """Say from when T counts, and up to which T storms are watched.

    Args:
        clock_start: The scenario's ``clock_start``; None if it has none.
        count_from_s: When T starts to count, from the scenario's start [s].
        watched_s: From then to the horizon [s].
    """
    start_s = start_of_day_s(clock_start)
    if start_s is None:
        since = "the scenario's start" if count_from_s == 0 else f"{amount(count_from_s)} s after the scenario's start"
        return f"T counts from {since}; the horizon is at T = {amount(watched_s)} s."
    since, end = (time_of_day(start_s + s) for s in (count_from_s, count_from_s + watched_s))
    began = "" if count_from_s == 0 else f", {amount(count_from_s)} s after the scenario's start at {clock_start}"
    return f"T counts from {since}{began}; the horizon is at {end}, which is T = {amount(watched_s)} s."


def counted_of(scenario: Scenario) -> str:
    """Say it of a scenario."""
    count_from_s = scenario.convergence.count_from_s
    return counted(scenario.clock_start, count_from_s, scenario.horizon_s - count_from_s)
