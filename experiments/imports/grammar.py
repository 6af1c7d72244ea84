"""The StarOS commands that a storm depends on: in which mode each is legal, how it reads, and what its numbers mean.

Forms, units and ranges are those of the public "Command Line Interface Reference" (CLI-Rnn) and "Release Change
Reference" (RCR-Rnn) of StarOS; a form that was read in one release is taken in all.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

ROOT = "config"
"""The mode in which a running configuration begins: global configuration."""
CONTEXT, PSP, PEER_SERVER, SS7 = "context", "psp", "peer-server", "ss7-domain"
MME, EGTP, POLICY, IMS = "mme-service", "egtp-service", "policy-control", "ims-auth-service"
SGTP = "sgtp-service"
SGSN, GPRS, GMM, SGW, MAP = "sgsn-service", "gprs-service", "gmm", "sgw-service", "map-service"
SCTP, FAILURE, PROFILE, ENDPOINT = "sctp-param-template", "failure-handling-template", "profile", "diameter-endpoint"
CHARGING, CREDIT = "active-charging", "credit-control"
LTE, SGSN_GLOBAL, SGSN_CONGESTION, CALL_CONTROL, RLF = "lte-policy", "sgsn-global", "congestion", "call-control", "rlf"
OTHER = "other"
"""A block that no knob depends on."""
SERVICE = "service"
"""A service that no knob depends on; it has commands of its own that begin with the same words."""

MME_GATE = "network-overload-protection mme-new-connections-per-second"
"""How the gate's line of an MME begins."""
SGSN_GATE = "network-overload-protection sgsn-new-connections-per-second"
"""How the gate's line of an SGSN begins."""


@dataclass(frozen=True, slots=True)
class Opener:
    """A line that enters a mode."""

    inside: tuple[str, ...]
    """The modes in which it is legal."""
    form: re.Pattern[str]
    """How it reads; the group ``name`` is the object's name, where it has one."""
    mode: str
    """The mode that it enters."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """What a number of a command means."""

    unit: str = ""
    """The unit of the value."""
    factor: float = 1.0
    """The value is the command's number times this."""
    low: float = 0.0
    """Smallest legal number of the command."""
    high: float = float("inf")
    """Largest legal number of the command."""
    default: float | None = None
    """The value where the command is absent; None: not known."""


@dataclass(frozen=True, slots=True)
class Command:
    """A line that sets something."""

    modes: tuple[str, ...]
    """The modes in which it is legal."""
    head: str
    """The words by which it is known."""
    form: re.Pattern[str]
    """How it reads; each group is a quantity, or a word of the slot."""
    quantities: Mapping[str, Quantity] = field(default_factory=dict)
    """The numbers, by the group's name: a knob's, where it sets one."""
    slot: str = ""
    """What the line sets, with groups as fields, by default the head; a second line of one slot replaces the first."""
    common: bool = False
    """Whether other modes, unknown here, have commands that begin with the same words."""


def _opener(inside: str, form: str, mode: str) -> Opener:
    return Opener(tuple(inside.split()), re.compile(form), mode)


_NAME = r"(?P<name>\S.*?)"

OPENERS = (
    _opener(ROOT, rf"context {_NAME}", CONTEXT),
    _opener(CONTEXT, rf"mme-service {_NAME}", MME),
    _opener(CONTEXT, rf"egtp-service {_NAME}", EGTP),
    _opener(CONTEXT, rf"sgtp-service {_NAME}", SGTP),
    _opener(CONTEXT, rf"ims-auth-service {_NAME}", IMS),
    _opener(IMS, r"policy-control", POLICY),
    _opener(CONTEXT, rf"sgsn-service {_NAME}", SGSN),
    _opener(CONTEXT, rf"gprs-service {_NAME}", GPRS),
    _opener(f"{SGSN} {GPRS}", r"gmm", GMM),
    _opener(CONTEXT, rf"sgw-service {_NAME}", SGW),
    _opener(CONTEXT, rf"map-service {_NAME}", MAP),
    _opener(CONTEXT, rf"diameter endpoint {_NAME}", ENDPOINT),
    _opener(ROOT, r"ss7-routing-domain (?P<name>\d+)(?: variant (?P<variant>\S+))?", SS7),
    _opener(SS7, r"peer-server id (?P<name>\d+)", PEER_SERVER),
    _opener(SS7, r"asp instance (?P<name>\d+)", OTHER),
    _opener(PEER_SERVER, r"psp instance (?P<name>\d+)", PSP),
    _opener(ROOT, rf"sctp-param-template {_NAME}", SCTP),
    _opener(f"{ROOT} {CONTEXT}", rf"failure-handling-template {_NAME}", FAILURE),
    _opener(ROOT, rf"rlf-template {_NAME}", RLF),
    _opener(ROOT, rf"active-charging service {_NAME}", CHARGING),
    _opener(CHARGING, rf"credit-control(?: group {_NAME})?", CREDIT),
    _opener(ROOT, rf"call-control-profile {_NAME}", CALL_CONTROL),
    _opener(ROOT, r"lte-policy", LTE),
    _opener(ROOT, r"sgsn-global", SGSN_GLOBAL),
    _opener(SGSN_GLOBAL, r"congestion-control", SGSN_CONGESTION),
    _opener(f"{LTE} {SGSN_CONGESTION}", rf"congestion-action-profile {_NAME}", PROFILE),
    _opener(
        f"{ROOT} {CHARGING} {CONTEXT} {SS7} {PEER_SERVER} {MME} {SGSN} {GPRS} {SGW} {EGTP} {ENDPOINT} {LTE} "
        f"{SGSN_GLOBAL}",
        r"(?:interface|subscriber|apn|aaa group|port|card|gtpp group|"
        r"access-list|ip access-list|ipv6 access-list|route-map|router|radius|"
        r"operator-policy|apn-profile|imei-profile|administrator|crypto|sccp-network|global-title-translation|"
        r"linkset|ruledef|rulebase|charging-action|server) "
        r"(?P<name>\S.*?)",
        OTHER,
    ),
    _opener(
        f"{ROOT} {CONTEXT}",
        r"(?:gtpu-service|pgw-service|ggsn-service|local-policy-service|sgs-service|hss-peer-service|"
        r"saegw-service|iups-service|gs-service|location-service|hnbgw-service|henbgw-access-service|"
        r"henbgw-network-service|epdg-service|samog-service|lma-service|mag-service|ha-service|fa-service|"
        r"lns-service|lac-service|pdsn-service|ipsg-service|dhcp-service|dhcpv6-service) (?P<name>\S.*?)",
        SERVICE,
    ),
)
"""Lines that enter modes. Those of `OTHER` are known only so that their ``exit`` closes nothing else."""
