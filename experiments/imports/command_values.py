"""What the words of a command come to: knobs' values in their units, and a sentence that says them."""

from signalstorm.envs.model.knob_table import KNOBS, OFF, KnobValue
from signalstorm.experiments.imports.grammar import MME_GATE, SGSN_GATE, Command, Quantity

_MOST_DIGITS = 20
_ACTIONS = {
    "drop": "drop",
    "congestion": "reject-congestion",
    "network-failure": "reject-network-failure",
}
_TIME_PARTS = (("sec", 1), ("min", 60), ("hour", 3600))
_GX_ACTIONS = {"terminate": "terminate", "continue": "continue", "retry-and-terminate": "retry"}


class IllegalError(Exception):
    """A number outside its range; the message is the rule."""


def values_of(command: Command, groups: dict[str, str]) -> tuple[dict[str, KnobValue], str]:
    """Turn the words of a command into values and into a sentence.

    Raises:
        IllegalError: If a number is outside its range.
    """
    if command.head in (MME_GATE, SGSN_GATE):
        return _gate(groups)
    values: dict[str, KnobValue] = {}
    shown = []
    for key, word in groups.items():
        quantity = command.quantities.get(key)
        if quantity is None:
            values[key] = word.strip()
            continue
        number = _whole(word)
        if not quantity.low <= number <= quantity.high:
            highest = "" if quantity.high == float("inf") else f" to {quantity.high:g}"
            raise IllegalError(f"must have {key} as {quantity.low:g}{highest}, but has {number}")
        value = number * quantity.factor
        values[key] = round(value) if float(value).is_integer() else value
        shown.append(f"{key} = {_in_words(number, quantity)}")
    values |= _derived(command, values)
    return values, ", ".join(shown) or " ".join(f"{key} {value}" for key, value in values.items())


def _whole(word: str) -> int:
    """Turn digits into a number; no command takes so many that it would be too long to convert."""
    if len(word) > _MOST_DIGITS:
        raise IllegalError(f"must have a number of at most {_MOST_DIGITS} digits, but has one of {len(word)}")
    return int(word)


def _derived(command: Command, values: dict[str, KnobValue]) -> dict[str, KnobValue]:
    """Return knobs that follow from several words of a line, or from one that is missing."""
    if command.head == "task facility imsimgr avoid-sessmgr-broadcast" and not values:
        return {"broadcast_off_percent": OFF}
    if command.head == "ddn throttle" and "ddn_limit_per_s" in values:
        times = {"ddn_throttle_time_s": "throttle", "ddn_stabilisation_s": "stab"}
        found: dict[str, KnobValue] = {
            knob: sum(int(values.get(f"{word}_{unit}", 0)) * size for unit, size in _TIME_PARTS)
            for knob, word in times.items()
        }
        return found if "ddn_poll_s" in values else {**found, "ddn_poll_s": 1}
    if command.head == "msg-type" and values["of"] == "credit-control-initial failure-type any":
        action = _GX_ACTIONS.get(str(values["action"]).split(" ")[0])
        return {} if action is None else {"gx_failure_action": action}
    if command.head == "failure-handling" and values["of"] == "initial-request":
        word = str(values["action"]).split(" ")[0]
        return {"gy_failure_action": word} if word in KNOBS["gy_failure_action"].choices else {}
    return {}


def _in_words(number: int, quantity: Quantity) -> str:
    """Return a number with its unit; times also in milliseconds, the unit in which knobs are compared."""
    value = number * quantity.factor
    factor = f"{number} units of {quantity.factor:g} {quantity.unit} = " if quantity.factor != 1 else ""
    also = f" = {1000 * value:.10g} ms" if quantity.unit == "s" else ""
    return f"{factor}{value:.10g} {quantity.unit}".rstrip() + also


def _gate(groups: dict[str, str]) -> tuple[dict[str, KnobValue], str]:
    """Read a gate's line by the rules that the command itself checks."""
    rate, wait = _whole(groups["rate"]), _whole(groups.get("wait", "5"))
    queue = _whole(groups["queue"]) if "queue" in groups else None
    for name, number in (("nop_rate", rate), ("nop_wait_s", wait), ("nop_queue", queue)):
        knob = KNOBS[name]
        if number is not None and not knob.low <= number <= knob.high:
            raise IllegalError(f"must have {name} as {knob.range_text}, but has {number}")
    if queue is not None and not rate <= queue <= rate * wait:
        raise IllegalError(f"must have a queue-size of {rate} to {rate * wait}, rate to rate x wait, but has {queue}")
    word = groups["action"].replace(" ", "-").removeprefix("reject-with-cause-").removeprefix("reject-with-emm-cause-")
    if word not in _ACTIONS:
        raise IllegalError(f"refuses with {word}, which the model does not have")
    values: dict[str, KnobValue] = {"nop_rate": rate, "nop_wait_s": wait}
    if queue is not None:
        values["nop_queue"] = queue
    values["nop_action"] = _ACTIONS[word]
    held = (
        f"queue of {queue if queue is not None else rate * wait} requests{'' if queue is not None else ' by default'}"
    )
    shown = f"{rate} requests per s, {held}, stale after {wait} s = {1000 * wait} ms, {_ACTIONS[word]} when full"
    tau = groups.get("tau")
    if tau is not None and tau != groups["action"]:
        shown += f"; tau differs ({tau}), which the model does not have"
    return values, shown


def defaults_of(command: Command) -> dict[str, KnobValue]:
    """Return what a command's absence, or ``default`` before it, comes to."""
    if command.head in (MME_GATE, SGSN_GATE):
        return {"nop_rate": OFF}
    return {key: quantity.default for key, quantity in command.quantities.items() if quantity.default is not None}


def knobs_of(command: Command) -> tuple[str, ...]:
    """Return the knobs that a command sets."""
    if command.head in (MME_GATE, SGSN_GATE):
        return ("nop_rate", "nop_wait_s", "nop_queue", "nop_action")
    return tuple(key for key in command.quantities if key in KNOBS)
