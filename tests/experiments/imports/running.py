"""A running configuration as a terminal shows it, and what is in force by it."""

from signalstorm.experiments.imports import staros, text
from signalstorm.experiments.imports.configuration import Configuration
from signalstorm.experiments.imports.present import present

SGSN_LINE = (
    "network-overload-protection sgsn-new-connections-per-second 500 action reject-with-cause congestion "
    "queue-size 1500 wait-time 5"
)
MME_LINE = (
    "network-overload-protection mme-new-connections-per-second 400 action attach reject-with-emm-cause congestion "
    "tau reject-with-emm-cause congestion fwd-reloc drop queue-size 1600 wait-time 4"
)
RUNNING = f"""\
config
  cli hidden
  tech-support test-commands encrypted password +A1
  context local
    interface mgmt
      ip address 10.10.0.5 255.255.255.0
    #exit
    subscriber default
    exit
    aaa group default
    #exit
  #exit
  {SGSN_LINE}
  {MME_LINE}
  task facility imsimgr max 4
  task facility imsimgr avoid-sessmgr-broadcast cpu_threshold 60
  congestion-control
  congestion-control threshold system-cpu-utilization critical 80
  congestion-control policy critical sgsn-service action-profile sgsn1
  ss7-routing-domain 1 variant itu
    asp instance 1
      end-point address 172.16.0.1 context ingress
    #exit
    peer-server id 2
      name stp2
      psp instance 1
        psp-mode client
        sctp-rto-max 600
        sctp-rto-initial 30
        sctp-sack-period 2
        associate asp instance 1
      #exit
      psp instance 4
        psp-mode client
        sctp-rto-max 600
        sctp-max-assoc-retx 10
        associate asp instance 1
      #exit
    #exit
  #exit
  sctp-param-template s1
    sctp-rto-max 50
    timeout sctp-heart-beat 30
  #exit
  failure-handling-template gx
    msg-type credit-control-initial failure-type any action continue
  #exit
  sgsn-global
    congestion-control
      congestion-action-profile sgsn1
        new-call-policy drop
        active-call-policy rau reject
      #exit
    #exit
  #exit
  context ingress
    sgsn-service sgsn1
      gmm T3302-timeout 12
      gmm t3346 min 15 max 30
    exit
    mme-service mme1
      emm t3346-timeout 900
      policy overload reject
    exit
    egtp-service s11
      interface-type interface-mme
      gtpc retransmission-timeout-ms 3000
      gtpc max-retransmissions 2
    exit
    egtp-service s5
      interface-type interface-pgw-ingress
      gtpc max-retransmissions 4
    exit
    sgw-service sgw1
      ddn throttle arp-watermark 10 rate-limit 1000 time-factor 10 throttle-factor 10 increment-factor 10 poll-interval 2 throttle-time-sec 0 throttle-time-hour 240 stab-time-sec 0 stab-time-hour 8
    exit
    ims-auth-service gx
      policy-control
        diameter request-timeout 100 deciseconds
      exit
    exit
    diameter endpoint gx
      response-timeout 15
      watchdog-timeout 30
    exit
  #exit
end
"""  # noqa: E501  (as the box prints it)

SGSN = {
    "nop_rate": 500,
    "nop_wait_s": 5,
    "nop_queue": 1500,
    "nop_action": "reject-congestion",
    "rto_min_ms": 1000,
    "rto_initial_ms": 3000,
    "rto_max_ms": 60000,
    "max_assoc_retx": 10,
    "sack_period_ms": 200,
    "broadcast_off_percent": 60,
    "imsimgr_instances": 4,
    "t3346_low_min": 15,
    "t3346_high_min": 30,
}
"""What is in force on the links and at the gate of the SGSN; RTO-min by the box's default."""
MME = {
    "nop_rate": 400,
    "nop_wait_s": 4,
    "nop_queue": 1600,
    "nop_action": "reject-congestion",
    "t3346_s": 900,
    "gtpc_timeout_ms": 3000,
    "gtpc_retries": 2,
    "diameter_tx_s": 10,
    "broadcast_off_percent": 60,
    "imsimgr_instances": 4,
    "gx_failure_action": "continue",
    "ddn_arp_watermark": 10,
    "ddn_limit_per_s": 1000,
    "ddn_window_s": 10,
    "ddn_factor_percent": 10,
    "ddn_increment_percent": 10,
    "ddn_poll_s": 2,
    "ddn_throttle_time_s": 864000,
    "ddn_stabilisation_s": 28800,
}
LAB = {name: value for name, value in MME.items() if not name.startswith(("ddn_", "imsimgr_", "broadcast_"))}
"""The part of it that a network without notifications and IMSI manager has."""
"""What is in force on the MME and the gateway."""


def parsed(content: str | bytes) -> Configuration:
    """Read the content of a file."""
    return staros.parse(text.clean(content.encode() if isinstance(content, str) else content, "box.cfg"))


def values(configuration: Configuration, access: str, **names: str) -> dict[str, object]:
    """The setting in force, by knob."""
    return {key: found.value for key, found in present(configuration, access, names).items()}
