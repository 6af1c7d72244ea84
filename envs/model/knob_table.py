"""The knob table: every setting that an operator can change, or that a what-if may change.

It is the only source of action spaces, search spaces, validators, exporters and documentation tables.
Command forms and ranges are those of the public "Command Line Interface Reference" of StarOS, cited by
release and page (CLI-R17 p5406), and of its "Release Change Reference" (RCR-R17).
"""

from signalstorm.envs.model.core_knobs import CORE_ROWS
from signalstorm.envs.model.knob_row import OFF, Change, Knob, KnobValue

__all__ = ["KNOBS", "OFF", "Change", "Knob", "KnobValue"]

_NOP_COMMAND = (
    "network-overload-protection mme-new-connections-per-second {nop_rate} action attach {nop_action} "
    "tau {nop_action} fwd-reloc drop queue-size {nop_queue} wait-time {nop_wait_s}"
)
_NOP_SOURCE = "CLI-R17 p5406, CLI-R16 p5324"
_GTPC_SOURCE = "CLI-R17 p3644-3645"
QUEUE_RULE = "nop_rate <= nop_queue <= nop_rate * nop_wait_s"
"""The rule that the command itself checks."""
RTO_NAMES = ("rto_min_ms", "rto_initial_ms", "rto_max_ms")
"""The three limits of the retransmission time-out, smallest first."""
ACKNOWLEDGEMENT_DELAY_MS = 200
"""SCTP's default for how long a receiver may hold an acknowledgement back (RFC 9260 section 16)."""
RTO_RULE = "rto_min_ms <= rto_initial_ms <= rto_max_ms"
"""RFC 9260 6.3.1; StarOS refuses a command that breaks it."""

_ROWS = (
    Knob(
        name="nop_rate",
        element="gate",
        meaning="attach requests that the gate lets through; off: no gate",
        kind="int",
        unit="per s",
        low=50,
        high=5000,
        scale="log",
        default=OFF,
        words=(OFF,),
        rule=QUEUE_RULE,
        command=_NOP_COMMAND,
        source=_NOP_SOURCE,
    ),
    Knob(
        name="nop_wait_s",
        element="gate",
        meaning="age at which a request waiting in the gate is stale and dropped",
        kind="int",
        unit="s",
        low=1,
        high=15,
        default=5,
        rule=QUEUE_RULE,
        command=_NOP_COMMAND,
        source=_NOP_SOURCE,
    ),
    Knob(
        name="nop_queue",
        element="gate",
        meaning="requests that the gate's queue holds",
        kind="int",
        unit="requests",
        low=250,
        high=25000,
        scale="log",
        searchable=False,
        rule=f"{QUEUE_RULE}; without it nop_rate * nop_wait_s, at most 25000; where that is below 250 the "
        "keyword is omitted",
        command=_NOP_COMMAND,
        source=_NOP_SOURCE,
    ),
    Knob(
        name="nop_queue_wait_s",
        element="gate",
        meaning="the queue in seconds of the gate's rate, the form in which searches move it",
        kind="float",
        unit="s",
        low=1,
        high=15,
        step=0.5,
        rule="nop_queue = nop_rate * nop_queue_wait_s, kept within 250 to 25000 and within "
        f"{QUEUE_RULE}; either this or nop_queue, never both",
        command=_NOP_COMMAND,
        source="another form of nop_queue",
    ),
    Knob(
        name="nop_action",
        element="gate",
        meaning="what a request gets that finds the gate's queue full: nothing, cause 22 or cause 17",
        kind="choice",
        choices=("drop", "reject-congestion", "reject-network-failure"),
        default="drop",
        rule="reject-congestion carries the back-off of t3346_s where that is not 0; the command's words are "
        "drop, reject-with-emm-cause congestion and reject-with-emm-cause network-failure",
        command=_NOP_COMMAND,
        source=_NOP_SOURCE,
    ),
    Knob(
        name="t3346_s",
        element="gate",
        meaning="back-off sent with a refusal for congestion, spread by 10 % either way; 0: none is sent",
        kind="int",
        unit="s",
        low=0,
        high=11160,
        default=0,
        rule="sent only with nop_action reject-congestion; StarOS itself starts from 1500 s",
        command="emm t3346-timeout {t3346_s}",
        source="CLI-R19, RCR-R17 p320",
    ),
    Knob(
        name="gtpc_timeout_ms",
        element="gateway",
        meaning="T3-RESPONSE: time after which the MME repeats an unanswered create-session request",
        kind="int",
        unit="ms",
        low=1000,
        high=20000,
        step=100,
        default=5000,
        rule="gtpc_timeout_ms * (gtpc_retries + 1) should stay below T3410 (15 s)",
        command="gtpc retransmission-timeout-ms {gtpc_timeout_ms}",
        source=_GTPC_SOURCE,
    ),
    Knob(
        name="gtpc_retries",
        element="gateway",
        meaning="N3-REQUESTS: repeats before the MME gives up",
        kind="int",
        unit="repeats",
        low=0,
        high=15,
        default=4,
        rule="gtpc_timeout_ms * (gtpc_retries + 1) should stay below T3410 (15 s)",
        command="gtpc max-retransmissions {gtpc_retries}",
        source=_GTPC_SOURCE,
    ),
    Knob(
        name="diameter_tx_s",
        element="gateway",
        meaning="Tx: time for which the gateway waits for the policy server",
        kind="int",
        unit="s",
        low=1,
        high=300,
        scale="log",
        default=10,
        rule="keep it below the response time-out of the Diameter endpoint",
        command="diameter request-timeout {diameter_tx_s}",
        source="CLI-R18 p8108 (policy control, Gx); default: RFC 4006 section 13",
    ),
    Knob(
        name="rto_min_ms",
        element="links",
        meaning="RTO-min of the M3UA/SCTP associations towards the STPs",
        kind="int",
        unit="ms",
        low=100,
        high=5000,
        step=100,
        scale="log",
        default=1000,
        command_unit=100,
        change="association restart",
        rule=RTO_RULE,
        command="sctp-rto-min {rto_min_ms / 100}",
        source="CLI-R16 p8317",
    ),
    Knob(
        name="rto_initial_ms",
        element="links",
        meaning="RTO-initial of the M3UA/SCTP associations towards the STPs",
        kind="int",
        unit="ms",
        low=100,
        high=120000,
        step=100,
        scale="log",
        default=3000,
        command_unit=100,
        change="association restart",
        rule=f"{RTO_RULE}; its own range is not published",
        command="sctp-rto-initial {rto_initial_ms / 100}",
        source="HNBGW R14",
    ),
    Knob(
        name="rto_max_ms",
        element="links",
        meaning="RTO-max of the M3UA/SCTP associations towards the STPs",
        kind="int",
        unit="ms",
        low=500,
        high=120000,
        step=100,
        scale="log",
        default=60000,
        command_unit=100,
        change="association restart",
        rule=RTO_RULE,
        command="sctp-rto-max {rto_max_ms / 100}",
        source="CLI-R16 p8316",
    ),
    Knob(
        name="max_assoc_retx",
        element="links",
        meaning="retransmissions in a row beyond which an association fails",
        kind="int",
        unit="retransmissions",
        low=0,
        high=255,
        default=10,
        change="association restart",
        rule="raise it in the same change that lowers rto_max_ms: with a low RTO-max an association fails sooner",
        command="sctp-max-assoc-retx {max_assoc_retx}",
        source="CLI-R16 p6251",
    ),
    Knob(
        name="sack_period_ms",
        element="links",
        meaning="time for which an acknowledgement waits for a second packet; the model takes both ends to be alike",
        kind="int",
        unit="ms",
        low=0,
        high=500,
        step=10,
        default=ACKNOWLEDGEMENT_DELAY_MS,
        change="association restart",
        rule="keep it below the RTO-min of the peer, which sends again what is not acknowledged by then; the command "
        "counts in 100 ms, or in 10 ms with `units-10ms`",
        command="sctp-sack-period units-10ms {sack_period_ms / 10}",
        source="CLI-R17 p8508",
    ),
    Knob(
        name="refresh_delay_max_s",
        element="links",
        meaning="longest time by which the SGSN puts a location refresh off, uniform up to it: what if it could",
        kind="float",
        unit="s",
        low=0,
        high=3600,
        free=True,
        default=0.0,
        rule="TS 23.060 lets an SGSN delay the refreshes after a reset of the HLR; range assumed",
        exportable=False,
        searchable=False,
        source="a what-if, no command sets it",
    ),
    Knob(
        name="pcrf_rate_per_s",
        element="pcrf",
        meaning="transactions that the policy server serves: what if it were faster",
        kind="float",
        unit="per s",
        low=1,
        high=100000,
        free=True,
        scale="log",
        exportable=False,
        searchable=False,
        source="a what-if, no command sets it",
    ),
)

SOURCES = (
    'CLI-Rnn is Cisco\'s "Command Line Interface Reference, StarOS Release nn", RCR-Rnn its "Release Change '
    'Reference"; RFC and TS are documents of the IETF and of 3GPP.'
)
"""What the short names in `Knob.source` stand for."""

KNOBS: dict[str, Knob] = {knob.name: knob for knob in (*_ROWS, *CORE_ROWS)}
"""The table by name."""
