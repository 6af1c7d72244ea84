"""Safe intervals in words, as tables and the runbook show them."""

from signalstorm.experiments.recommendation import IntervalEnd, Recommendation, SafeInterval

_ENDS: dict[IntervalEnd, str] = {"range": "range ends", "rule": "rule", "warning": "warned of"}

_BEYOND: dict[IntervalEnd, str] = {
    "cost": "storms cost more than 10 % more",
    "range": "nothing is legal",
    "rule": "a rule with another knob is broken",
    "warning": "values are warned of",
}


def span(interval: SafeInterval) -> str:
    """Return an interval with its unit: ``300 to 600 ms``."""
    return f"{interval.low:g} to {interval.high:g} {interval.unit}".rstrip()


def ends(interval: SafeInterval) -> str:
    """Return where an interval ends for another reason than the cost, such as ``warned of below, rule above``."""
    sides = ((interval.low_end, "below"), (interval.high_end, "above"))
    return ", ".join(f"{_ENDS[why]} {side}" for why, side in sides if why in _ENDS)


def beyond(interval: SafeInterval) -> str:
    """Return what is outside of an interval: ``below it is warned of, above it costs more than 10 %``."""
    low, high = interval.low_end or "cost", interval.high_end or "cost"
    if low == high:
        return f"outside of it {_BEYOND[low]}"
    return f"below it {_BEYOND[low]}, above it {_BEYOND[high]}"


def safe_values(record: Recommendation) -> dict[str, str]:
    """Return the safe values of each knob in words, by its name; of the queue, in seconds of the rate."""
    safe = {name: span(i) + (f" ({ends(i)})" if ends(i) else "") for name, i in record.safe_interval.items()}
    if "nop_queue_wait_s" in record.safe_interval:
        queue = record.safe_interval["nop_queue_wait_s"]
        safe["nop_queue"] = f"{span(queue)} of the rate" + (f" ({ends(queue)})" if ends(queue) else "")
    return safe | {name: ", ".join(words) for name, words in record.safe_words.items()}
