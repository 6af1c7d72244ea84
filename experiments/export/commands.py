"""The commands that take a box from one setting to another, each with what an operator must know of it."""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from signalstorm.envs.model.errors import located, wrong_input
from signalstorm.envs.model.knob_checks import SGSN_ACTIONS, is_sgsn, without_command
from signalstorm.envs.model.knob_table import KNOBS, OFF, RTO_NAMES, KnobValue
from signalstorm.envs.model.knobs import effective_queue
from signalstorm.experiments.export.command import Command
from signalstorm.experiments.export.core_commands import core_commands
from signalstorm.experiments.export.releases import Release
from signalstorm.experiments.imports.present import LINK_KNOBS
from signalstorm.experiments.patience import fails_sooner

Values = Mapping[str, KnobValue]

NAMES = {
    "mme-context": "context of the MME service",
    "mme-service": "MME service",
    "egtp-context": "context of the eGTP service",
    "egtp-service": "eGTP service of the MME",
    "gateway-context": "context of the IMS authorization service",
    "ims-auth-service": "IMS authorization service",
    "ss7-domain": "number of the SS7 routing domain",
    "ss7-variant": "variant of the SS7 routing domain",
    "peer-server": "number of the peer server, the STP",
    "psp": "number of the PSP, the link",
    "asp": "number of the ASP instance",
    "sgsn-context": "context of the SGSN service",
    "sgsn-service": "SGSN service",
    "sgw-context": "context of the SGW service",
    "sgw-service": "SGW service",
    "failure-template": "failure handling template of Gx",
    "charging-service": "active charging service",
    "credit-control-group": "credit control group of Gy",
    "congestion-profile": "congestion action profile of the MME",
    "gx-peer": "peer of the gateway at the Diameter agent, its FQDN",
    "pcrf-group": "peer group of the policy servers",
    "ocs-group": "peer group of the charging system",
}
"""The objects whose names the commands need, and which no scenario knows."""

GATE_OFF = "default network-overload-protection mme-new-connections-per-second"
"""Switches the gate off."""

_MME = ("context {mme-context}", "mme-service {mme-service}")
_EGTP = ("context {egtp-context}", "egtp-service {egtp-service}")
_POLICY_CONTROL = ("context {gateway-context}", "ims-auth-service {ims-auth-service}", "policy-control")
PSP_MODES = (
    "ss7-routing-domain {ss7-domain} variant {ss7-variant}",
    "peer-server id {peer-server}",
    "psp instance {psp}",
)
BACK_OFF = "t3346_s"
"""The knob of an MME's back-off timer."""
BOX_T3346_S = 1500
"""What a box has without the command (RCR-R17 p320) [s]."""
_SCTP_COMMANDS = {
    "rto_min_ms": "sctp-rto-min",
    "rto_initial_ms": "sctp-rto-initial",
    "rto_max_ms": "sctp-rto-max",
}
_RETRANSMISSIONS, _SACK_PERIOD = "max_assoc_retx", "sack_period_ms"
_SGSN_GATE = (
    "network-overload-protection sgsn-new-connections-per-second {nop_rate} action {nop_action} "
    "queue-size {nop_queue} wait-time {nop_wait_s}"
)
_SGSN_GATE_OFF = "default network-overload-protection sgsn-new-connections-per-second"
_SGSN_SOURCE = "CLI-R16 p5328, CLI-R18 p5470"
_SGSN_ACTIONS = dict(zip(SGSN_ACTIONS, ("drop", "reject-with-cause congestion"), strict=True))
GATE_KNOBS = ("nop_rate", "nop_wait_s", "nop_queue", "nop_queue_wait_s", "nop_action")
"""Knobs that the gate's line sets."""
_MARK = re.compile(r":? \{\w+\}")
_CONGESTION = "reject-congestion"
_TAIL = re.compile(r"tau .+? fwd-reloc drop")
_TAIL_NOTE = "tau takes the action of attach, and fwd-reloc is dropped: the model has neither kind of request"
_DDN_DOUBT = "the references of releases 16 and 17"
_T3346_SOURCE = "CLI-R17 p7193, RCR-R17 p320"
_ACTIONS = {
    "drop": "drop",
    _CONGESTION: "reject-with-emm-cause congestion",
    "reject-network-failure": "reject-with-emm-cause network-failure",
}


def commands(
    target: Values, other: Values, release: Release, *, back: bool = False, t3346_s: int | None = None
) -> list[Command]:
    """Return the commands that set `target` where `other` is in force, in the order to enter them.

    At no time in between does the gate refuse with another back-off than that of one of the two settings.

    Args:
        target: The setting to reach.
        other: The setting in force.
        release: The release of the box.
        back: Whether the commands undo those that led from `target` to `other`.
        t3346_s: See `on_box`.

    Raises:
        InputError: If the release has no command for a value.
    """
    now, then = on_box(target, other, t3346_s) if back else on_box(other, target, t3346_s)
    before, after = (then, now) if back else (now, then)
    timer = _t3346(after, before, release)
    return [
        replace(
            command,
            before={name: before[name] for name in command.knobs if name in before},
            after={name: after[name] for name in command.knobs if name in after},
        )
        for command in _in_order(target, other, release, timer)
    ]


def _in_order(target: Values, other: Values, release: Release, timer: Iterator[Command]) -> list[Command]:
    beside = list(core_commands(target, other, release))
    if is_sgsn(target):
        gate = list(_sgsn_gate(target))
        links = list(_links(target, other))
        own = [*beside, *gate] if _refuses(target) else [*gate, *beside]
        # Links that cannot carry what the gate lets through make matters worse: the gate first where its rate falls.
        return [*own, *links] if gate_rate(target) < gate_rate(other) else [*links, *own]
    timers = [*beside, *timer, *_gtpc(target, other, release), *_diameter(target, other)]
    gate = list(_gate(target, release))
    return [*timers, *gate] if _refuses(target) else [*gate, *timers]


def on_box(present: Values, recommended: Values, t3346_s: int | None = None) -> tuple[Values, Values]:
    """Return two settings as they stand on the box: with T3346 whether used or not, without values of an absent gate.

    The commands touch the timer only where the gate is to refuse with it. Where the gate does not, a setting's value
    of it means nothing, and the box keeps its own.

    Args:
        present: The setting in force.
        recommended: The setting that the commands lead to.
        t3346_s: The timer on the box, where its configuration tells it although the gate does not use it [s].

    Returns:
        Both settings; ``t3346_s`` is absent where it is not known.
    """
    before, after = (
        {name: value for name, value in one.items() if _stands(name, one)} for one in (present, recommended)
    )
    if is_sgsn(present):  # its back-off is a range of minutes, and `t3346_s` no command of it
        return before, after
    now = present.get(BACK_OFF, 0) if _refuses(present) else t3346_s
    then = recommended.get(BACK_OFF, 0) if _refuses(recommended) else now
    before |= {} if now is None else {BACK_OFF: now}
    after |= {} if then is None else {BACK_OFF: then}
    return before, after


def _stands(name: str, values: Values) -> bool:
    """Tell whether a value of a setting is one on the box; the timer is seen to by `on_box`."""
    return name != BACK_OFF and (name == "nop_rate" or name not in GATE_KNOBS or values.get("nop_rate") != OFF)


def not_exported(target: Values, other: Values) -> Iterator[str]:
    """Yield a sentence for each knob that has no command or no effect, and is therefore left out."""
    for name, value in target.items():
        knob = KNOBS[name]
        if not knob.exportable:
            text = f"{name} = {knob.text(value)} is a what-if, no command sets it"
            if value != other.get(name, value):
                text += f": the results hold only where it really changes from {knob.text(other[name])}"
            yield text
        elif not knob.exported and value != other.get(name, value):
            how = "the target vdra writes it" if knob.element == "dra" else "set it by hand"
            yield f"{name} = {knob.text(value)} is not written here, {how}: {_MARK.sub('', knob.command)}"
    if not is_sgsn(target) and not _refuses(target) and (target.get(BACK_OFF) or _refuses(other)):
        yield "t3346_s stays as it is on the box: it has no effect unless nop_action is reject-congestion"


def _gate(target: Values, release: Release) -> Iterator[Command]:
    rate = target.get("nop_rate")
    source = KNOBS["nop_rate"].source
    if rate is None:
        return
    if isinstance(rate, str):
        yield Command("mme", (), GATE_OFF, ("nop_rate",), source, ("no gate: every request is let through at once",))
        return
    wait_s = _number(target, "nop_wait_s", default=KNOBS["nop_wait_s"].default)
    held, keyword = effective_queue(
        rate,
        wait_s,
        queue=_number_or_none(target, "nop_queue"),
        queue_wait_s=_number_or_none(target, "nop_queue_wait_s"),
    )
    action = _ACTIONS[str(target.get("nop_action", KNOBS["nop_action"].default))]
    line = KNOBS["nop_rate"].command
    if keyword is None:
        line = line.replace("queue-size {nop_queue} ", "")
    line = line.format(nop_rate=rate, nop_action=action, nop_queue=keyword, nop_wait_s=round(wait_s))
    queue = f"the queue holds {held} requests, {1000 * held / rate:.0f} ms of the rate"
    notes = [
        f"{rate} requests per s: one every {1000 / rate:.4g} ms; wait-time {wait_s:g} s = {1000 * wait_s:.0f} ms",
        queue if keyword else f"{queue}: the default, rate x wait, because 250 to 25000 cannot say it",
        _TAIL_NOTE,
    ]
    if action != "drop":
        notes.append("each refusal costs the IMSI manager a call to a session manager; drop costs it nothing")
    yield Command(
        "mme",
        (),
        line,
        tuple(name for name in GATE_KNOBS if name in target),
        source,
        tuple(notes),
        tuple(_gate_doubts(release)),
    )


def with_tail(command: Command, tail: str) -> Command:
    """Return an MME's gate command with what the box's line says of tau, fwd-reloc and ddn; any other as it is."""
    if _TAIL_NOTE not in command.notes:
        return command
    line = _TAIL.sub(lambda _: tail, command.line, count=1)
    kept = f"`{tail}` is as on the box: the model has none of these requests"
    notes = tuple(kept if note == _TAIL_NOTE else note for note in command.notes)
    doubts = tuple(doubt for doubt in command.confirm if not doubt.startswith(_DDN_DOUBT))
    return replace(command, line=line, notes=notes, confirm=doubts)


def gate_rate(values: Values) -> float:
    """Return the gate's rate [1/s]; infinite where it is off."""
    rate = values.get("nop_rate", OFF)
    return math.inf if isinstance(rate, str) else float(rate)


def _sgsn_gate(target: Values) -> Iterator[Command]:
    rate = target.get("nop_rate")
    if faults := list(without_command(target)):
        raise located(faults)
    if rate is None:
        return
    if isinstance(rate, str):
        off = ("no gate: every request is let through at once",)
        yield Command("mme", (), _SGSN_GATE_OFF, ("nop_rate",), _SGSN_SOURCE, off)
        return
    action = str(target.get("nop_action", KNOBS["nop_action"].default))
    wait_s = _number(target, "nop_wait_s", default=KNOBS["nop_wait_s"].default)
    held, keyword = effective_queue(
        rate,
        wait_s,
        queue=_number_or_none(target, "nop_queue"),
        queue_wait_s=_number_or_none(target, "nop_queue_wait_s"),
    )
    line = _SGSN_GATE if keyword is not None else _SGSN_GATE.replace("queue-size {nop_queue} ", "")
    line = line.format(nop_rate=rate, nop_action=_SGSN_ACTIONS[action], nop_queue=keyword, nop_wait_s=round(wait_s))
    notes = (
        f"{rate} requests per s: one every {1000 / rate:.4g} ms; wait-time {wait_s:g} s = {1000 * wait_s:.0f} ms",
        f"the queue holds {held} requests, {1000 * held / rate:.0f} ms of the rate",
        "each attach it lets through is four messages on the links: see that they can carry them",
    )
    doubts = ("the hyphens of `reject-with-cause`, which the references also print with blanks",)
    yield Command("mme", (), line, tuple(name for name in GATE_KNOBS if name in target), _SGSN_SOURCE, notes, doubts)


def _links(target: Values, other: Values) -> Iterator[Command]:
    """Yield the commands of one PSP, in an order in which RTO-min <= RTO-initial <= RTO-max holds after each."""
    changed = [name for name in LINK_KNOBS if _differs(target, other, name)]
    if not changed:
        return
    limits = [name for name in RTO_NAMES if name in changed]
    lowered = [name for name in limits if _number(target, name) < _number(other, name, KNOBS[name].default)]
    raised = [name for name in reversed(limits) if name not in lowered]
    source = "StarOS Command Line Interface Reference, PSP configuration mode"
    effect = (
        "SERVICE-AFFECTING: the association is taken down and set up again, which will most likely end all sessions on "
        "its peer server; one PSP at a time: go on once it is in service",
        *(f"WARNING: {sentence}" for sentence in fails_sooner(target, other)),
    )
    yield Command("mme", PSP_MODES, "no associate", (), source, effect)
    if _RETRANSMISSIONS in changed:
        count = round(_number(target, _RETRANSMISSIONS))
        seen = ("the range, which is published for the HNB gateway only",)
        yield Command(
            "mme",
            PSP_MODES,
            f"sctp-max-assoc-retx {count}",
            (_RETRANSMISSIONS,),
            KNOBS[_RETRANSMISSIONS].source,
            (),
            seen,
        )
    if _SACK_PERIOD in changed:
        yield _sack_period(round(_number(target, _SACK_PERIOD)))
    for name in [*lowered, *raised]:
        value, knob = round(_number(target, name)), KNOBS[name]
        form, notes = _in_units(value, fine=name == "rto_min_ms")
        doubts = ("the range, which is not published for a PSP",) if name == "rto_initial_ms" else ()
        yield Command("mme", PSP_MODES, f"{_SCTP_COMMANDS[name]} {form}", (name,), knob.source, notes, doubts)
    yield Command("mme", PSP_MODES, "associate asp instance {asp}", (), source)


def _in_units(value_ms: int, *, fine: bool) -> tuple[str, tuple[str]]:
    """Return a time as its command has it, and a note; in 100 ms, or in 10 ms where that is needed and `fine`."""
    unit_ms = 10 if fine and value_ms % 100 else 100
    units = round(value_ms / unit_ms)
    return f"{'units-10ms ' if unit_ms == 10 else ''}{units}", (f"{units} units of {unit_ms} ms = {value_ms} ms",)


def _sack_period(period_ms: int) -> Command:
    """Return the command for the period of acknowledgements."""
    form, notes = _in_units(period_ms, fine=True)
    doubts = ["that the STP is set alike: this line sets the box's own end, and what RTO must exceed is the STP's"]
    if period_ms == 0:
        doubts.append("that 0 means at once: in an SCTP template the box takes it for 10 ms")
    source = KNOBS[_SACK_PERIOD].source
    return Command("mme", PSP_MODES, f"sctp-sack-period {form}", (_SACK_PERIOD,), source, notes, tuple(doubts))


def _gate_doubts(release: Release) -> Iterator[str]:
    yield (
        f"{_DDN_DOUBT} print `ddn {{ drop or reject-with-cause ... }}` behind fwd-reloc as "
        "required; a published working line has none, and none is given here"
    )
    if release.number and not release.gate_line_read:
        yield f"this line was read in the references of releases 16 and 17, not of {release.number}"
    if release.number in (0, 21):
        yield "release 21 describes the rate as enforced in each IMSI manager on its own, older ones as shared"


def _t3346(target: Values, other: Values, release: Release) -> Iterator[Command]:
    """Yield the command for the timer as it stands on the box, see `on_box`.

    A gate that begins to refuse gets its timer in any case: it must not hang on what the box was thought to have.
    """
    value = target.get(BACK_OFF)
    begins = _refuses(target) and not _refuses(other)
    if value == other.get(BACK_OFF) and not begins:
        return
    if not release.has_t3346:
        if value and _refuses(target):
            rule = f"must be 0 in release {release.number}, which has no `emm t3346-timeout` (new in 17.0)"
            raise wrong_input(rule, value, "leave the knob out of the search, or export for 17", key=BACK_OFF)
        return
    if value is None or (value == BOX_T3346_S and not _refuses(target)):
        notes = (f"the box's own {BOX_T3346_S} s = {1000 * BOX_T3346_S} ms",)
        doubts = () if value else ("the value before the change, if it was not the default: show mme-service all",)
        yield Command("mme", _MME, "default emm t3346-timeout", (BACK_OFF,), _T3346_SOURCE, notes, doubts)
        return
    seconds = round(float(value))
    yield Command(
        "mme",
        _MME,
        KNOBS[BACK_OFF].command.format(t3346_s=seconds),
        (BACK_OFF,),
        _T3346_SOURCE,
        (f"{seconds} s = {1000 * seconds} ms, sent within 10 % either way; needs a licence (RCR-R17 p318)",),
        (
            "that refusals from the gate's full queue carry this back-off",
            *(() if seconds else ("that 0 means that no back-off is sent",)),
        ),
    )


def _gtpc(target: Values, other: Values, release: Release) -> Iterator[Command]:
    timeout_ms = round(_number(target, "gtpc_timeout_ms", default=5000))
    retries = round(_number(target, "gtpc_retries", default=4))
    total_ms = timeout_ms * (retries + 1)
    notes = [f"repeats after {timeout_ms} ms, {retries} repeats: gives up after {total_ms} ms"]
    if total_ms >= 15000:
        notes.append("WARNING: the handset's T3410 (15000 ms) has run out by then")
    if _differs(target, other, "gtpc_timeout_ms"):
        knob = KNOBS["gtpc_timeout_ms"]
        doubts: tuple[str, ...] = ()
        line, source = knob.command.format(gtpc_timeout_ms=timeout_ms), knob.source
        if not release.gtpc_in_ms:
            if timeout_ms % 1000:
                rule = f"must be whole seconds in release {release.number}, which has no form in milliseconds"
                raise wrong_input(
                    rule, f"{timeout_ms} ms", "choose whole seconds, or export for 17", key="gtpc_timeout_ms"
                )
            line = f"gtpc retransmission-timeout {timeout_ms // 1000}"
            source = "Cisco ASR 5x00 Command Line Interface Reference p4982, for the GGSN"
            doubts = ("the form in seconds, which was read for the GGSN only",)
        yield Command("mme", _EGTP, line, ("gtpc_timeout_ms",), source, tuple(notes), doubts)
    if _differs(target, other, "gtpc_retries"):
        line = KNOBS["gtpc_retries"].command.format(gtpc_retries=retries)
        yield Command("mme", _EGTP, line, ("gtpc_retries",), KNOBS["gtpc_retries"].source, tuple(notes))


def _diameter(target: Values, other: Values) -> Iterator[Command]:
    if not _differs(target, other, "diameter_tx_s"):
        return
    value = round(_number(target, "diameter_tx_s"))
    yield Command(
        "gateway",
        _POLICY_CONTROL,
        f"diameter request-timeout {value}",
        ("diameter_tx_s",),
        "CLI-R18 p8108",
        (
            f"{value} s = {1000 * value} ms: a number alone is in seconds; the box shows deciseconds",
            "this is the timer towards the policy server (Gx); credit control (Gy) has `diameter pending-timeout`",
        ),
        ("the response time-out of the Diameter endpoint, which must be longer",),
    )


def _refuses(values: Values) -> bool:
    """Tell whether the gate refuses for congestion, the only case in which T3346 matters."""
    return values.get("nop_rate", OFF) != OFF and values.get("nop_action") == _CONGESTION


def _differs(target: Values, other: Values, name: str) -> bool:
    return name in target and target[name] != other.get(name)


def _number(values: Values, name: str, default: KnobValue | None = None) -> float:
    value = values.get(name, default)
    if value is None or isinstance(value, str):
        raise KeyError(name)
    return float(value)


def _number_or_none(values: Values, name: str) -> float | None:
    return _number(values, name) if name in values else None
