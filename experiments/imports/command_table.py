"""The StarOS commands that a storm depends on, as rows of a table.

A form that was read in the reference of one release is taken in all; units and ranges are those of the public "Command
Line Interface Reference" of StarOS.
"""

import re
from functools import partial

from signalstorm.experiments.imports.grammar import (
    CONTEXT,
    CREDIT,
    EGTP,
    ENDPOINT,
    FAILURE,
    GMM,
    GPRS,
    MAP,
    MME,
    MME_GATE,
    POLICY,
    PROFILE,
    PSP,
    RLF,
    ROOT,
    SCTP,
    SGSN,
    SGSN_GATE,
    SGSN_GLOBAL,
    SGTP,
    SGW,
    Command,
    Quantity,
)


def _command(
    modes: str, head: str, rest: str = "", slot: str = "", common: bool = False, **quantities: Quantity
) -> Command:
    form = re.compile(rf"{re.escape(head)}{rest}(?: -noconfirm)?")
    return Command(tuple(modes.split()), head, form, quantities, slot or head, common)


def _timer(modes: str, head: str, key: str, quantity: Quantity) -> Command:
    form = re.compile(rf"{re.escape(head)} (?P<{key}>\d+)(?: -noconfirm)?")
    return Command(tuple(modes.split()), head, form, {key: quantity}, head)


_ATTACH = r"drop|reject-with-emm-cause (?:congestion|network-failure|no-suitable-cell-in-tracking-area)"
_TAU = rf"{_ATTACH}|reject-with-emm-cause no-sec-ctxt-in-nw"
_QUEUE = r"(?: queue-size (?P<queue>\d+))?(?: wait-time (?P<wait>\d+))?"
_per_100_ms = partial(Quantity, "ms", 100.0)
_per_10_ms = partial(Quantity, "ms", 10.0)
_seconds = partial(Quantity, "s", 1.0)
_minutes = partial(Quantity, "s", 60.0)

_LINKS = (
    _command(
        f"{PSP} {SCTP}",
        "sctp-rto-max",
        r" (?P<rto_max_ms>\d+)",
        rto_max_ms=_per_100_ms(low=5, high=1200, default=60_000),
    ),
    _command(
        f"{PSP} {SCTP}",
        "sctp-rto-initial",
        r" (?P<rto_initial_ms>\d+)",
        rto_initial_ms=_per_100_ms(low=1, high=1200, default=3_000),
    ),
    _command(
        f"{PSP} {SCTP}",
        "sctp-rto-min",
        r" units-10ms (?P<rto_min_ms>\d+)",
        rto_min_ms=_per_10_ms(low=1, high=500, default=1_000),
    ),
    _command(
        f"{PSP} {SCTP}",
        "sctp-rto-min",
        r" (?P<rto_min_ms>\d+)",
        rto_min_ms=_per_100_ms(low=1, high=50, default=1_000),
    ),
    _command(
        f"{PSP} {SCTP}",
        "sctp-max-assoc-retx",
        r" (?P<max_assoc_retx>\d+)",
        max_assoc_retx=Quantity("retransmissions", low=0, high=255, default=10),
    ),
    _command(f"{PSP} {SCTP}", "sctp-max-path-retx", r" (?P<max_path_retx>\d+)", max_path_retx=Quantity(high=255)),
    _command(f"{PSP} {SCTP}", "sctp-init-retx", r" (?P<init_retx>\d+)", init_retx=Quantity(high=255)),
    _command(f"{PSP} {SCTP}", "sctp-alpha", r" (?P<sctp_alpha>\d+)", sctp_alpha=Quantity("%", high=65535)),
    _command(f"{PSP} {SCTP}", "sctp-beta", r" (?P<sctp_beta>\d+)", sctp_beta=Quantity("%", high=65535)),
    _command(
        f"{PSP} {SCTP}",
        "sctp-sack-period",
        r" units-10ms (?P<sack_period_ms>\d+)",
        sack_period_ms=_per_10_ms(high=50),
    ),
    _command(f"{PSP} {SCTP}", "sctp-sack-period", r" (?P<sack_period_ms>\d+)", sack_period_ms=_per_100_ms(high=5)),
    _command(
        f"{PSP} {SCTP}",
        "sctp-sack-frequency",
        r" (?P<sack_frequency>\d+)",
        sack_frequency=Quantity("packets", low=1, high=5),
    ),
    _command(
        f"{PSP} {SCTP}",
        "sctp-init-rwnd",
        r" (?P<init_rwnd_bytes>\d+)",
        init_rwnd_bytes=Quantity("bytes", low=32768, high=1048576),
    ),
    _command(f"{PSP} {SCTP}", "sctp-max-data-chunks", r" (?P<chunks>limit \d+|mtu-limit)"),
    _command(f"{PSP} {SCTP}", "sctp-max-out-strms", r" (?P<streams>\d+)", streams=Quantity(low=1, high=16)),
    _command(f"{PSP} {SCTP}", "sctp-cookie-life", r" (?P<cookie_life_ms>\d+)", cookie_life_ms=_per_100_ms()),
    _command(SCTP, "timeout sctp-bundle", r" units-10ms (?P<bundle_ms>\d+)", common=True, bundle_ms=_per_10_ms(low=1)),
    _command(SCTP, "timeout sctp-bundle", r" (?P<bundle_ms>\d+)", common=True, bundle_ms=_per_100_ms(low=1)),
    _command(
        SCTP, "timeout sctp-heart-beat", r" (?P<heartbeat_s>\d+)", common=True, heartbeat_s=_seconds(low=1, high=300)
    ),
    _command(PSP, "associate", r" asp instance (?P<asp>\d+)", common=True),
)

_GATES = (
    _command(
        ROOT,
        SGSN_GATE,
        r" (?P<rate>\d+) action (?P<action>drop|reject[- ]with[- ]cause (?:congestion|network[- ]failure))" + _QUEUE,
    ),
    _command(
        ROOT,
        MME_GATE,
        rf" (?P<rate>\d+) action attach (?P<action>{_ATTACH}) tau (?P<tau>{_TAU}) fwd-reloc (?P<forward>drop|reject)"
        rf"(?: ddn (?P<ddn>drop|reject-with-cause (?:unable-to-page-ue|context-not-found)))?{_QUEUE}",
    ),
    _command(
        ROOT,
        "network-overload-protection mme-tx-msg-rate-control",
        r" (?P<of>enb s1-paging|egtp-pathfail(?: ecm-\S+ \d+)*)(?: (?P<rate>\d+))?",
        slot="mme-tx-msg-rate-control {of}",
    ),
    _command(
        ROOT,
        "task facility imsimgr avoid-sessmgr-broadcast",
        r"(?: cpu_threshold (?P<broadcast_off_percent>\d+))?",
        broadcast_off_percent=Quantity("%", low=50, high=70, default=50),
    ),
    _command(
        ROOT,
        "task facility imsimgr max",
        r" (?P<imsimgr_instances>\d+)",
        imsimgr_instances=Quantity("instances", low=1, high=8),
    ),
    _command(
        ROOT,
        "task facility imsimgr required-sessmgr",
        r" (?P<session_managers>\d+)",
        session_managers=Quantity("session managers", low=1, high=384),
    ),
    _command(
        ROOT,
        "task facility imsimgr sessmgr-sessions-threshold",
        r" high-watermark (?P<high>\d+) low-watermark (?P<low>\d+)",
        high=Quantity("%", low=70, high=100),
        low=Quantity("%", low=50, high=100),
    ),
)

_CONGESTION = (
    _command(
        ROOT,
        "congestion-control threshold",
        r" (?P<of>\S+)(?: (?P<level>critical|major|minor))? (?P<percent>\d+)",
        slot="congestion-control threshold {of} {level}",
    ),
    _command(
        ROOT,
        "congestion-control policy",
        r" (?P<of>(?:critical |major |minor )?\S+-service)"
        r" (?P<action>action-profile \S.*|action (?:drop|none|reject|redirect))",
        slot="congestion-control policy {of}",
    ),
    _command(ROOT, "congestion-control overload-disconnect", r"(?P<options>(?: \S+)*)"),
    _command(f"{ROOT} {SGSN_GLOBAL}", "congestion-control", common=True),
    _command(PROFILE, "new-call-policy", r" (?P<action>(?:\S+ ?)+)", common=True),
    _command(
        PROFILE,
        "active-call-policy",
        r" (?P<of>rau|service-req) (?P<action>.+)",
        slot="active-call-policy {of}",
        common=True,
    ),
    _command(PROFILE, "sm-messages", r" (?P<action>.+)", common=True),
    _command(PROFILE, "report-overload", r" (?P<action>.+)", common=True),
    _command(PROFILE, "reject", r" (?P<of>\S+)(?P<action> .+)?", slot="reject {of}", common=True),
    _command(PROFILE, "drop", r" (?P<of>\S+)(?P<action> .+)?", slot="drop {of}", common=True),
    _command(
        PROFILE,
        "ddn sgw-throttling",
        r" throttle-factor (?P<ddn_factor_percent>\d+) delay (?P<ddn_delay_s>\d+)",
        ddn_factor_percent=Quantity("%", low=1, high=100),
        ddn_delay_s=_seconds(low=2, high=1116000),
    ),
    _command(MME, "policy overload", r" (?P<action>drop|reject)", common=True),
    _command(
        SGW,
        "ddn throttle",
        r" arp-watermark (?P<ddn_arp_watermark>\d+)(?: rate-limit (?P<ddn_limit_per_s>\d+)"
        r" time-factor (?P<ddn_window_s>\d+) throttle-factor (?P<ddn_factor_percent>\d+)"
        r" increment-factor (?P<ddn_increment_percent>\d+)(?: poll-interval (?P<ddn_poll_s>\d+))?"
        r" throttle-time-sec (?P<throttle_sec>\d+)(?: throttle-time-min (?P<throttle_min>\d+))?"
        r"(?: throttle-time-hour (?P<throttle_hour>\d+))?"
        r" stab-time-sec (?P<stab_sec>\d+)(?: stab-time-min (?P<stab_min>\d+))?"
        r"(?: stab-time-hour (?P<stab_hour>\d+))?)?",
        ddn_arp_watermark=Quantity(low=1, high=15),
        ddn_limit_per_s=Quantity("per s", low=1, high=999999999),
        ddn_window_s=_seconds(low=1, high=300),
        ddn_factor_percent=Quantity("%", low=1, high=100),
        ddn_increment_percent=Quantity("%", low=1, high=100),
        ddn_poll_s=_seconds(low=2, high=999999999),
        throttle_sec=_seconds(high=59),
        throttle_min=Quantity("min", high=59),
        throttle_hour=Quantity("h", high=310),
        stab_sec=_seconds(high=59),
        stab_min=Quantity("min", high=59),
        stab_hour=Quantity("h", high=310),
    ),
)

_SIGNALLING = (
    _command(
        f"{EGTP} {SGTP}",
        "gtpc retransmission-timeout-ms",
        r" (?P<gtpc_timeout_ms>\d+)",
        gtpc_timeout_ms=Quantity("ms", low=1000, high=20000, default=5000),
    ),
    _command(
        f"{EGTP} {SGTP}",
        "gtpc retransmission-timeout",
        r" (?P<gtpc_timeout_ms>\d+)",
        slot="gtpc retransmission-timeout-ms",
        gtpc_timeout_ms=Quantity("ms", factor=1000, low=1, high=20, default=5000),
    ),
    _command(
        f"{EGTP} {SGTP}",
        "gtpc max-retransmissions",
        r" (?P<gtpc_retries>\d+)",
        gtpc_retries=Quantity("repeats", high=15, default=4),
    ),
    _command(EGTP, "interface-type", r" (?P<interface>\S+)", common=True),
    _command(
        CONTEXT,
        "gtpc overload-protection ingress msg-rate",
        r" (?P<msg_rate_per_s>\d+)(?: delay-tolerance (?P<tolerance_s>\d+))?(?: queue-size (?P<queue_size>\d+))?",
        msg_rate_per_s=Quantity("per s", low=100, high=12000),
        tolerance_s=_seconds(low=1, high=10),
        queue_size=Quantity("messages"),
    ),
    _command(
        POLICY,
        "diameter request-timeout",
        r" (?P<diameter_tx_s>\d+) deciseconds?",
        diameter_tx_s=Quantity("s", 0.1, low=1, high=3000),
    ),
    _command(POLICY, "diameter request-timeout", r" (?P<diameter_tx_s>\d+)", diameter_tx_s=_seconds(low=1, high=300)),
    _command(
        ENDPOINT,
        "response-timeout",
        r" (?P<response_timeout_s>\d+)",
        common=True,
        response_timeout_s=_seconds(low=1, high=300),
    ),
    _command(ENDPOINT, "watchdog-timeout", r" (?P<watchdog_s>\d+)", common=True, watchdog_s=_seconds(low=6, high=30)),
    _command(
        ENDPOINT,
        "max-outstanding",
        r" (?P<max_outstanding>\d+)",
        common=True,
        max_outstanding=Quantity(low=1, high=4096),
    ),
    _command(
        FAILURE,
        "msg-type",
        r" (?P<of>\S+ failure-type (?:any|diabase-error|diameter result-code (?:any-error|\d+(?: to \d+)?)|"
        r"resp-timeout|tx-expiry))"
        r" action (?P<action>(?:continue|retry-and-terminate|terminate)(?: \S+)*)",
        slot="msg-type {of}",
        common=True,
    ),
    _command(
        CREDIT,
        "failure-handling",
        r" (?P<of>initial-request|update-request|terminate-request)"
        r" (?P<action>(?:continue|retry-and-terminate|terminate)(?: \S+)*)",
        slot="failure-handling {of}",
        common=True,
    ),
    _command(
        RLF,
        "msg-rate",
        r" (?P<msg_rate_per_s>\d+)(?: burst-size (?P<burst>\d+))?",
        common=True,
        msg_rate_per_s=Quantity("per s", low=1, high=100000),
        burst=Quantity("messages", low=1, high=100000),
    ),
    _command(
        MAP,
        "application-context-name",
        r" (?P<of>\S+)(?: operation-timer (?P<operation_timer_s>\d+))?(?P<more> .+)?",
        slot="application-context-name {of}",
        common=True,
        operation_timer_s=_seconds(),
    ),
)

_TIMERS = (
    _command(MME, "emm t3346-timeout", r" (?P<t3346_s>\d+)", t3346_s=_seconds(high=11160, default=1500)),
    _command(MME, "emm t3412-timeout", r" (?P<t3412_s>\d+)", t3412_s=_seconds()),
    _command(MME, "emm implicit-detach-timeout", r" (?P<implicit_detach_s>\d+)", implicit_detach_s=_seconds()),
    *(
        _timer(modes, f"{prefix}{timer}-timeout", key, quantity)
        for modes, prefix in ((f"{SGSN} {GPRS}", "gmm "), (GMM, ""))
        for timer, key, quantity in (
            ("T3302", "t3302_s", _minutes(low=1, high=186, default=600)),
            ("T3312", "t3312_s", _minutes(low=1, high=186)),
            ("T3313", "t3313_s", _seconds()),
            ("T3314", "t3314_s", _seconds()),
            ("mobile-reachable", "mobile_reachable_s", _minutes(low=4, high=1440)),
            ("implicit-detach", "implicit_detach_s", _seconds(low=240, high=86400)),
            ("trau", "trau_s", _seconds(low=5, high=60)),
        )
    ),
    *(
        _command(
            modes,
            f"{prefix}t3346",
            r" min (?P<t3346_low_min>\d+) max (?P<t3346_high_min>\d+)",
            t3346_low_min=Quantity("min", low=1, high=15),
            t3346_high_min=Quantity("min", low=1, high=30),
        )
        for modes, prefix in ((f"{SGSN} {GPRS}", "gmm "), (GMM, ""))
    ),
)

COMMANDS = (*_LINKS, *_GATES, *_CONGESTION, *_SIGNALLING, *_TIMERS)
"""All commands that are understood; where two have one head, the first form that fits counts."""
