"""Commands of the elements beside the attach chain: IMSI manager, an SGSN's back-off, notifications, failure of Gx."""

from collections.abc import Iterator, Mapping

from signalstorm.envs.model.errors import wrong_input
from signalstorm.envs.model.knob_table import KNOBS, KnobValue
from signalstorm.experiments.export.command import Command
from signalstorm.experiments.export.releases import Release

Values = Mapping[str, KnobValue]

_SGSN = ("context {sgsn-context}", "sgsn-service {sgsn-service}")
_SGW = ("context {sgw-context}", "sgw-service {sgw-service}")
_FAILURE = ("failure-handling-template {failure-template}",)
_CHARGING = ("active-charging service {charging-service}", "credit-control group {credit-control-group}")
_PROFILE = ("lte-policy", "congestion-action-profile {congestion-profile}")
_IMSIMGR_SOURCE = "CLI-R18 p5577"
_INSTANCES_BEFORE_21 = 4
_FAILURES = {"terminate": "terminate", "continue": "continue", "retry": "retry-and-terminate"}
_DDN = (
    "ddn_arp_watermark", "ddn_limit_per_s", "ddn_window_s", "ddn_factor_percent", "ddn_increment_percent", "ddn_poll_s",
    "ddn_throttle_time_s", "ddn_stabilisation_s",
)  # fmt: skip
_BY_MME = ("ddn_factor_percent", "ddn_delay_s")
_MINUTE_S, _HOUR_S = 60, 3600
_MOST_HOURS = 310


def core_commands(target: Values, other: Values, release: Release) -> Iterator[Command]:
    """Yield the commands for what differs, without those of the attach chain.

    Raises:
        InputError: If the release has no command for a value.
    """
    yield from _imsimgr(target, other, release)
    yield from _back_off(target, other)
    if "ddn_delay_s" in target:
        yield from _notifications_by_mme(target, other)
    else:
        yield from _notifications(target, other)
    yield from _gx_failure(target, other)
    yield from _gy_failure(target, other)


def _imsimgr(target: Values, other: Values, release: Release) -> Iterator[Command]:
    if _differs(target, other, "broadcast_off_percent"):
        percent = target["broadcast_off_percent"]
        never = isinstance(percent, str)
        line = "task facility imsimgr avoid-sessmgr-broadcast" + ("" if never else f" cpu_threshold {percent}")
        note = "never broadcast" if never else f"broadcast while the CPU of the IMSI manager is below {percent} %"
        doubt = ("that the line without cpu_threshold means never; one copy of the reference prints it in braces",)
        yield Command("mme", (), line, ("broadcast_off_percent",), _IMSIMGR_SOURCE, (note,), doubt if never else ())
    if _differs(target, other, "session_managers"):
        line = f"task facility imsimgr required-sessmgr {target['session_managers']}"
        doubt = ("that the box is an SGSN: the keyword is published for it only",)
        yield Command("mme", (), line, ("session_managers",), _IMSIMGR_SOURCE, (), doubt)
    if _differs(target, other, "imsimgr_instances"):
        count = int(target["imsimgr_instances"])
        if count > _INSTANCES_BEFORE_21 and release.number not in (0, 21):
            rule = f"must be at most {_INSTANCES_BEFORE_21} in release {release.number}; up to 8 from 21 on"
            raise wrong_input(rule, count, "choose fewer, or export for 21", key="imsimgr_instances")
        notes = ("RELOAD: takes effect at boot only; save the configuration and reload, before anything else is set",)
        doubts = ("that the chassis is an ASR 5500 or a VPC-DI: others have one IMSI manager",)
        line = f"task facility imsimgr max {count}"
        yield Command("mme", (), line, ("imsimgr_instances",), "MME administration guide 21-28", notes, doubts)


def _back_off(target: Values, other: Values) -> Iterator[Command]:
    names = ("t3346_low_min", "t3346_high_min")
    if not any(_differs(target, other, name) for name in names):
        return
    source = "CLI-R17 p8536"
    low, high = (target.get(name, KNOBS[name].default) for name in names)
    if not low:
        doubts = ("that the default sends none: the reference gives 15 to 30 min as the default range",)
        yield Command(
            "mme", _SGSN, "default gmm t3346", ("t3346_low_min",), source, ("no back-off of its own",), doubts
        )
        return
    notes = (f"uniform between {low} min = {60_000 * int(low)} ms and {high} min = {60_000 * int(high or 0)} ms",)
    doubts = ("that refusals from the gate's full queue carry this back-off",)
    yield Command("mme", _SGSN, f"gmm t3346 min {low} max {high}", names, source, notes, doubts)


def _notifications(target: Values, other: Values) -> Iterator[Command]:
    if not any(_differs(target, other, name) for name in _DDN):
        return
    value = {name: int(target.get(name, KNOBS[name].default or 0)) for name in _DDN}
    poll = "" if value["ddn_poll_s"] == 1 else f" poll-interval {value['ddn_poll_s']}"
    line = (
        f"ddn throttle arp-watermark {value['ddn_arp_watermark']} rate-limit {value['ddn_limit_per_s']} "
        f"time-factor {value['ddn_window_s']} throttle-factor {value['ddn_factor_percent']} "
        f"increment-factor {value['ddn_increment_percent']}{poll} "
        f"{_time('throttle-time', value['ddn_throttle_time_s'])} {_time('stab-time', value['ddn_stabilisation_s'])}"
    )
    limit = value["ddn_limit_per_s"] * value["ddn_window_s"]
    notes = (
        f"beyond {limit} notifications in {value['ddn_window_s']} s = {1000 * value['ddn_window_s']} ms it drops "
        f"{value['ddn_factor_percent']} % of those with an ARP above {value['ddn_arp_watermark']}",
        f"ends after {value['ddn_throttle_time_s']} s, or sooner by {value['ddn_stabilisation_s']} s of calm",
    )
    doubts = (
        "which ARP counts as low: above the watermark by one reference, at or above it by another",
        "the order of the keywords after increment-factor: every printed copy has an unbalanced bracket",
    )
    yield Command("gateway", _SGW, line, _DDN, "CLI-R18 p8722", notes, doubts)


def _notifications_by_mme(target: Values, other: Values) -> Iterator[Command]:
    """Release 10: the MME names factor and delay while it is overloaded; the SGW knows the watermark alone."""
    if _differs(target, other, "ddn_factor_percent") or _differs(target, other, "ddn_delay_s"):
        factor, delay_s = (int(target.get(name, KNOBS[name].default or 0)) for name in _BY_MME)
        line = f"ddn sgw-throttling throttle-factor {factor} delay {delay_s}"
        notes = (f"an overloaded MME asks for {factor} % to be dropped for {delay_s} s = {1000 * delay_s} ms",)
        doubt = "that the profile is that of the level at which the MME is to ask for it: minor, major or critical"
        yield Command("mme", _PROFILE, line, _BY_MME, "RCR-R19 p218", notes, (doubt,))
    if _differs(target, other, "ddn_arp_watermark"):
        watermark = int(target["ddn_arp_watermark"])
        notes = (f"drops what has an ARP above {watermark}, by the factor and for the time that the MME names",)
        doubts = (
            "which ARP counts as low: above the watermark by one reference, at or above it by another",
            "that this line takes the place of one with a rate-limit",
        )
        line = f"ddn throttle arp-watermark {watermark}"
        yield Command("gateway", _SGW, line, ("ddn_arp_watermark",), "CLI-R18 p8724", notes, doubts)


def _gx_failure(target: Values, other: Values) -> Iterator[Command]:
    if not _differs(target, other, "gx_failure_action"):
        return
    action = _FAILURES[str(target["gx_failure_action"])]
    line = f"msg-type credit-control-initial failure-type any action {action}"
    doubts = ["that the template is the one that the IMS authorization service uses"]
    if action == "continue":
        doubts += ["that sessions go on without policy: the keyword local-fallback was read for another product"]
    yield Command("gateway", _FAILURE, line, ("gx_failure_action",), "CLI-R16 p3462", (), tuple(doubts))


def _gy_failure(target: Values, other: Values) -> Iterator[Command]:
    if not _differs(target, other, "gy_failure_action"):
        return
    line = f"failure-handling initial-request {target['gy_failure_action']}"
    doubts = (
        "that the credit control group is the one of these sessions",
        "that the group has no failure handling template of its own, which would decide instead",
    )
    yield Command("gateway", _CHARGING, line, ("gy_failure_action",), "CLI-R16 p2758", (), doubts)


def _time(keyword: str, seconds: int) -> str:
    hours, rest = divmod(seconds, _HOUR_S)
    minutes, left = divmod(rest, _MINUTE_S)
    if hours > _MOST_HOURS:
        raise wrong_input(f"must be at most {_MOST_HOURS} h", f"{seconds} s", "choose a shorter one", key=keyword)
    words = [f"{keyword}-sec {left}"]
    words += [f"{keyword}-min {minutes}"] if minutes else []
    words += [f"{keyword}-hour {hours}"] if hours else []
    return " ".join(words)


def _differs(target: Values, other: Values, name: str) -> bool:
    return name in target and target[name] != other.get(name)
