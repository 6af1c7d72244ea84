"""How long an association endures silence: lower time-outs make it give up sooner."""

from collections.abc import Iterator, Mapping

from signalstorm.envs.model.knob_table import KNOBS, KnobValue
from signalstorm.envs.model.sctp import path_death_s

_NEEDED = ("rto_min_ms", "rto_max_ms", "max_assoc_retx")
_MINUTE_S = 60.0


def fails_sooner(target: Mapping[str, KnobValue], other: Mapping[str, KnobValue]) -> Iterator[str]:
    """Yield a sentence if associations fail sooner under a setting than under another, and what would prevent it.

    A peer that is silent for a while, in a restart or behind a congested path, then loses the association and what
    is queued on it.

    Args:
        target: The setting to come.
        other: The setting in force.
    """
    now_s, then_s = endures_s(other), endures_s(target)
    if now_s is None or then_s is None or then_s >= now_s:
        return
    most = round(KNOBS["max_assoc_retx"].high)
    text = f"an association fails after {endurance(target)} without an acknowledgement, instead of {endurance(other)}"
    as_before = retransmissions_for(target, now_s)
    if as_before is not None:
        yield f"{text}; max_assoc_retx={as_before} would keep it for as long as now"
        return
    if target["max_assoc_retx"] == most:
        yield text
        return
    minute = retransmissions_for(target, _MINUTE_S)
    at_least = "" if minute is None or then_s >= _MINUTE_S else f"max_assoc_retx={minute} would keep it for a minute, "
    longest = endures_s({**target, "max_assoc_retx": most})
    yield f"{text}; {at_least}max_assoc_retx={most}, the most that is legal, for {longest:g} s"


def patient_retransmissions(target: Mapping[str, KnobValue], other: Mapping[str, KnobValue]) -> int | None:
    """Return the `max_assoc_retx` that goes with lower time-outs, None if that of ``target`` will do.

    A minute of silence, or less where an association endures less now, must not end it: about what the default limits
    give to a path (RFC 9260 16). More would find a dead peer later, and until then half of its messages are lost.

    Args:
        target: The setting to come, complete.
        other: The setting in force, complete.
    """
    now_s, then_s = endures_s(other), endures_s(target)
    if now_s is None or then_s is None:
        return None
    least_s = min(now_s, _MINUTE_S)
    return retransmissions_for(target, least_s) if then_s < least_s else None


def retransmissions_for(setting: Mapping[str, KnobValue], seconds: float) -> int | None:
    """Return the least legal `max_assoc_retx` with which an association endures a time, None if none does."""
    legal = range(round(KNOBS["max_assoc_retx"].low), round(KNOBS["max_assoc_retx"].high) + 1)
    return next((n for n in legal if (endures_s({**setting, "max_assoc_retx": n}) or 0.0) >= seconds), None)


def endures_s(setting: Mapping[str, KnobValue]) -> float | None:
    """Return the least time of silence after which an association that worked fails [s]; None without links."""
    times_s = _times_s(setting)
    return None if times_s is None else times_s[0]


def endurance(setting: Mapping[str, KnobValue]) -> str | None:
    """Return the times of silence after which an association fails, in words; None without links.

    The least is that of RTO at RTO-min, where it last worked; the most that of RTO at RTO-max, to which expiries of a
    closed window have backed it off.
    """
    times_s = _times_s(setting)
    if times_s is None:
        return None
    least_s, most_s = times_s
    return f"{least_s:g} s" if least_s == most_s else f"{least_s:g} to {most_s:g} s"


def _times_s(setting: Mapping[str, KnobValue]) -> tuple[float, float] | None:
    """Return the least and the most of that time [s]; None without links."""
    if any(name not in setting for name in _NEEDED):
        return None
    low, high, retransmissions = (float(setting[name]) for name in _NEEDED)
    count = round(retransmissions)
    return path_death_s(low, high, count), path_death_s(low, high, count, high)
