"""Per-storm numbers of a batch: scenario fields and knobs, merged and turned into steps and counts per step.

A row of a batch is a storm (a scenario with its drawn fields) under a setting. Everything here is an array with one
number per row.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from signalstorm.envs.model import core_parameters
from signalstorm.envs.model.kernels import layout
from signalstorm.envs.model.knobs import OFF, resolve
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.model.scenario_parts import GprsLadder, LaboratoryLadder
from signalstorm.envs.model.scenario_topology import Database, Gateway, Links, Ocs, Pcrf

Floats = npt.NDArray[np.float64]

ACTIONS = {
    "drop": layout.DROP,
    "reject-congestion": layout.REJECT_CONGESTION,
    "reject-network-failure": layout.REJECT_FAILURE,
}

SETTING_FIELDS = (
    "nop_rate",
    "nop_wait_s",
    "nop_queue",
    "nop_action",
    "t3346_s",
    "gtpc_timeout_ms",
    "gtpc_retries",
    "diameter_tx_s",
    "pcrf_rate_per_s",
    "rto_min_ms",
    "rto_initial_ms",
    "rto_max_ms",
    "max_assoc_retx",
    "sack_period_ms",
    *core_parameters.NAMES,
    "refresh_delay_max_s",
)
"""Order of the numbers in a setting vector; NaN: the scenario's own field holds."""

GATE_RATE_KNOBS = frozenset(("nop_rate", "nop_wait_s", "nop_queue"))
"""Knobs that change rows of the gate's queue alone."""
GATE_KNOBS = GATE_RATE_KNOBS | {"nop_action", "t3346_s", "t3346_low_min", "t3346_high_min"}
"""Knobs that change rows of the gate alone."""
GATE_FIELDS = np.array([SETTING_FIELDS.index(name) for name in ("nop_rate", "nop_wait_s", "nop_queue")])
"""Numbers of the fields that make the gate's queue: rate, wait, length."""

OWN_FIELDS_FROM = SETTING_FIELDS.index("gtpc_timeout_ms")
"""From here on a scenario has a field of its own for each."""

T3346_SPREAD = 0.1
"""The MME sends a value uniform within 10 % of the configured one (StarOS Release 17 change reference, p. 320)."""


DEFAULT_T3346_HIGH_MIN = 30.0
"""Longest back-off of an SGSN where only the shortest is set [min]."""

ALARM_HOLD_S = 10.0
"""A link that flaps faster stays one alarm in the log; its congestion itself is counted in every step [s]."""
IMSIMGR_REACTION_S = 0.25
"""Work that may wait at the IMSI manager, in time; assumed [s]."""

SCATTER_SHARE = 1.0 / 3.0
"""Chance in the handsets' timers evens out over this share of their spread ``w``.

Derived: where handsets that each draw their own instant begin to wait at a rate ``r``, those that have fired deviate
from those that are due by a variance of ``r w / 6``, whose correlation over ``s w`` is ``(1 - s)^3``. Poisson firing
with a debt that evens out over ``w / 3`` gives the same variance, and ``exp(-3 s)``.
"""


def setting_vector(setting: Mapping[str, Any], scenario: Scenario) -> Floats:
    """Turn a setting into numbers, in the order of `SETTING_FIELDS`.

    Args:
        setting: Knob values that override the scenario's present ones.
        scenario: The nominal scenario.

    Raises:
        InputError: If the merged setting breaks a rule.
    """
    complete = resolve(setting, scenario)
    given = {**scenario.present, **setting}
    vector = np.full(len(SETTING_FIELDS), np.nan)
    for i, name in enumerate(SETTING_FIELDS):
        if i >= OWN_FIELDS_FROM and name not in given:
            continue
        value = complete.get(name)
        if name in core_parameters.NAMES and value is not None:
            vector[i] = core_parameters.encode(name, value)
        elif name == "nop_action" and value is not None:
            vector[i] = ACTIONS[str(value)]
        elif value == OFF or (name == "nop_queue" and value is None):
            vector[i] = layout.NEVER
        elif value is not None:
            vector[i] = float(value)
    return vector


def setting_matrix(settings: Sequence[Mapping[str, Any]], scenario: Scenario) -> Floats:
    """Stack the vectors of several settings; shape (settings, fields)."""
    return np.array([setting_vector(setting, scenario) for setting in settings]).reshape(-1, len(SETTING_FIELDS))


def column(settings: Floats, name: str) -> Floats:
    """Return one knob of several setting vectors; shape (settings,)."""
    return settings[:, SETTING_FIELDS.index(name)]


def timers(span: tuple[float, float], dt: float) -> tuple[float, float]:
    """Round a uniform delay to steps: at least one step away, at least one step wide."""
    low = max(round(span[0] / dt), 1)
    return float(low), float(max(round(span[1] / dt), low + 1))


class KernelClass(NamedTuple):
    """Subscribers that the kernel counts together: a class, or the part of it that does or does not honour T3346.

    Honouring is a handset's own property. Were a class with a share of such handsets counted as one, each of its
    refusals would send that share into the back-off, also of those who have just shown that they ignore it.
    """

    group: int
    """The class of the scenario."""
    honours: bool | None
    """Which part of it; None: all."""

    def size(self, scenario: Scenario) -> float:
        """Return how many they are."""
        group = scenario.subscribers[self.group]
        if self.honours is None:
            return float(group.size)
        honouring = float(round(group.size * group.honours_t3346_share))
        return honouring if self.honours else group.size - honouring


def kernel_classes(scenarios: Sequence[Scenario]) -> tuple[KernelClass, ...]:
    """Return the kernel's classes for storms of one structure."""
    found: list[KernelClass] = []
    for c in range(len(scenarios[0].subscribers)):
        shares = {scenario.subscribers[c].honours_t3346_share for scenario in scenarios}
        split = len(shares) > 1 or not shares <= {0.0, 1.0}
        found += [KernelClass(c, True), KernelClass(c, False)] if split else [KernelClass(c, None)]
    return tuple(found)


def class_columns(scenario: Scenario, part: KernelClass) -> dict[int, float]:
    """Return the rows of a class block of one storm."""
    group, dt = scenario.subscribers[part.group], scenario.dt
    ladder = group.ladder
    rows = dict.fromkeys(range(layout.C_COUNT), layout.NEVER)
    if isinstance(ladder, LaboratoryLadder):
        refused, silent = timers(ladder.retry_refused_s, dt), timers(ladder.retry_silent_s, dt)
        response = silent
        long_refused = long_silent = (layout.NEVER, layout.NEVER)
    elif isinstance(ladder, GprsLadder):
        resend = timers((ladder.t3310_s, ladder.t3310_s), dt)
        abort = ladder.t3310_s * ladder.sends
        refused = timers(ladder.t3311_s, dt)
        silent = timers(_both((ladder.t3310_s, ladder.t3310_s), ladder.t3311_s), dt)
        long_refused = timers(ladder.t3302_s, dt)
        long_silent = timers(_both((ladder.t3310_s, ladder.t3310_s), ladder.t3302_s), dt)
        response = timers((abort, abort), dt)
        rows[layout.C_RESEND_LOW], rows[layout.C_RESEND_HIGH] = resend
    else:
        refused = timers(ladder.t3411_s, dt)
        silent = timers(_both(ladder.t3410_s, ladder.t3411_s), dt)
        long_refused = timers(ladder.t3402_s, dt)
        long_silent = timers(_both(ladder.t3410_s, ladder.t3402_s), dt)
        response = timers(ladder.t3410_s, dt)
    rows[layout.C_REFUSED_LOW], rows[layout.C_REFUSED_HIGH] = refused
    rows[layout.C_SILENT_LOW], rows[layout.C_SILENT_HIGH] = silent
    rows[layout.C_REFUSED_LONG_LOW], rows[layout.C_REFUSED_LONG_HIGH] = long_refused
    rows[layout.C_SILENT_LONG_LOW], rows[layout.C_SILENT_LONG_HIGH] = long_silent
    rows[layout.C_RESPONSE_LOW], rows[layout.C_RESPONSE_HIGH] = response
    rows[layout.C_RETRY_IS_RESPONSE] = float(isinstance(ladder, LaboratoryLadder))
    rows[layout.C_POWER_SHARE] = group.power_cycle_share
    rows[layout.C_POWER_LOW], rows[layout.C_POWER_HIGH] = timers(group.power_cycle_s, dt)
    rows[layout.C_REATTACH] = max(round(group.reattach_s / dt), 1)
    rows[layout.C_HONOURS] = group.honours_t3346_share if part.honours is None else float(part.honours)
    rows[layout.C_CHURN] = scenario.churn_per_s(group) * dt
    rows[layout.C_SIZE] = part.size(scenario)
    spread = min(refused[1] - refused[0], silent[1] - silent[0])
    rows[layout.C_SCATTER] = 1.0 / max(SCATTER_SHARE * spread, 1.0) if spread > 1.0 else 0.0
    return rows


def _both(first: tuple[float, float], second: tuple[float, float]) -> tuple[float, float]:
    return first[0] + second[0], first[1] + second[1]


def server_columns(scenario: Scenario, name: str) -> dict[str, float]:
    """Return a server's fields of one storm, in seconds and per second; ``timer_s`` is the requester's."""
    server: Gateway | Pcrf | Ocs | Database = scenario.topology.servers()[name]
    gateway = scenario.topology.gateway
    fields = {
        "rate_per_s": layout.NEVER if server.rate_per_s is None else server.rate_per_s,
        "buffer": layout.NEVER if server.buffer is None else server.buffer,
        "refuses": float(server.overflow == "refuse"),
        "other_load_per_s": server.other_load_per_s,
        "latency_s": getattr(server, "latency_s", 0.0),
        "timer_s": np.inf,
        "t3_s": np.inf,
        "n3": 0.0,
    }
    if isinstance(server, Database):
        fields["timer_s"] = server.timer_s
    elif gateway is not None:
        fields["t3_s"] = gateway.t3_response_s
        fields["n3"] = float(gateway.n3_requests)
        if isinstance(server, Pcrf):
            fields["timer_s"] = gateway.tx_s
        if isinstance(server, Ocs):
            fields["timer_s"] = server.tx_s
    return fields


def server_rows(fields: Mapping[str, Floats], dt: float) -> dict[int, Floats]:
    """Turn a server's fields, knobs already merged in, into rows of its queue block.

    The requester waits for its timer, or until the MME has given up its last repeat, whichever comes first.
    """
    give_up = np.where(np.isfinite(fields["t3_s"]), fields["t3_s"] * (fields["n3"] + 1.0), np.inf)
    timer = np.maximum(np.rint(np.minimum(fields["timer_s"], give_up) / dt), 1.0)
    latency = np.rint(fields["latency_s"] / dt)
    return {
        layout.Q_MEAN: fields["rate_per_s"] * dt,
        layout.Q_BASE: fields["rate_per_s"] * dt,
        layout.Q_UP: np.ones_like(fields["rate_per_s"]),
        layout.Q_CAPACITY: fields["buffer"],
        layout.Q_PATIENCE: np.maximum(timer - latency, 0.0),
        layout.Q_LATENCY: latency,
        layout.Q_REFUSES: fields["refuses"],
        layout.Q_TIMER: timer,
        layout.Q_FOREIGN: fields["other_load_per_s"] * dt,
        layout.Q_REPEAT: np.where(
            np.isfinite(fields["t3_s"]), np.maximum(np.rint(fields["t3_s"] / dt), 1.0), layout.NEVER
        ),
        layout.Q_REPEATS: fields["n3"],
    }


def merge_knobs(name: str, fields: dict[str, Floats], settings: Floats) -> None:
    """Let the knobs of the gateway and the policy server override a server's fields, where given."""
    knob = dict(zip(SETTING_FIELDS, settings.T, strict=True))
    if name in ("gateway", "pcrf", "pcrf_mate", "ocs"):
        fields["t3_s"] = _override(fields["t3_s"], knob["gtpc_timeout_ms"] / 1000.0)
        fields["n3"] = _override(fields["n3"], knob["gtpc_retries"])
    if name in ("pcrf", "pcrf_mate"):
        fields["timer_s"] = _override(fields["timer_s"], knob["diameter_tx_s"])
    if name == "pcrf":
        fields["rate_per_s"] = _override(fields["rate_per_s"], knob["pcrf_rate_per_s"])


def _override(own: Floats, given: Floats) -> Floats:
    return np.where(np.isnan(given), own, given)


def gate_storm_rows(settings: Floats, dt: float) -> dict[int, Floats]:
    """Return the gate's rows among the per-storm scalars."""
    low_s, high_s = back_off_s(settings)
    sent = high_s > 0
    low = np.maximum(np.rint(low_s / dt), 1.0)
    high = np.maximum(np.rint(high_s / dt), low + 1.0)
    return {
        layout.S_GATE_ACTION: np.nan_to_num(column(settings, "nop_action")),
        layout.S_T3346_LOW: np.where(sent, low, 0.0),
        layout.S_T3346_HIGH: np.where(sent, high, 0.0),
    }


def back_off_s(settings: Floats) -> tuple[Floats, Floats]:
    """Return the shortest and the longest back-off sent: the MME's value 10 % either way, the SGSN's two [s]."""
    value = np.nan_to_num(column(settings, "t3346_s"))
    low = np.nan_to_num(column(settings, "t3346_low_min")) * 60.0
    high = np.where(low > 0, np.nan_to_num(column(settings, "t3346_high_min"), nan=DEFAULT_T3346_HIGH_MIN) * 60.0, 0.0)
    own = low > 0
    return np.where(own, low, value * (1.0 - T3346_SPREAD)), np.where(own, high, value * (1.0 + T3346_SPREAD))


def storm_columns(scenario: Scenario) -> dict[int, float]:
    """Return the per-storm scalars that do not depend on knobs or seeds."""
    dt, demand = scenario.dt, scenario.demand
    population = float(sum(group.size for group in scenario.subscribers))
    per_step = demand.rate_per_s * dt if demand else 0.0
    return {
        layout.S_DEMAND: per_step,
        layout.S_DEMAND_FROM: round(demand.start_s / dt) if demand else layout.NEVER,
        layout.S_POPULATION: population,
        layout.S_ACTIVITY: scenario.activity.scale if scenario.activity else 0.0,
        layout.S_ANSWER_LOSS: scenario.topology.links.answer_loss_share if scenario.topology.links else 0.0,
        layout.S_BAND: scenario.convergence.band_share * population,
    }


def link_columns(scenario: Scenario, links: Links, link: int) -> dict[str, float]:
    """Return a link's fields of one storm, in messages, seconds and per second."""
    stp = link // links.links_per_stp
    share = links.stp_rate_shares[stp] if links.stp_rate_shares else 1.0
    return {
        "rate_per_s": links.rate_per_s * share,
        "window": links.window,
        "trickle_per_s": links.trickle_per_s,
        "updates": float(links.names()[link] in links.window_updates),
        "start": links.start,
        "stop": links.stop,
        "queue": links.queue,
        "rto_min_ms": links.rto_min_ms,
        "rto_initial_ms": links.rto_initial_ms,
        "rto_max_ms": links.rto_max_ms,
        "max_assoc_retx": float(links.max_assoc_retx),
        "sack_period_ms": links.sack_period_ms,
        "map_timer_s": links.map_timer_s,
        "refresh_delay_max_s": links.refresh_delay_max_s,
    }


def link_rows(fields: Mapping[str, Floats], settings: Floats, dt: float) -> dict[int, Floats]:
    """Turn a link's fields, overridden by knobs where given, into rows of its block."""
    knob = dict(zip(SETTING_FIELDS, settings.T, strict=True))

    def steps(name: str) -> Floats:
        return _override(fields[name], knob[name]) / 1000.0 / dt

    return {
        layout.L_MEAN: fields["rate_per_s"] * dt,
        layout.L_WINDOW: fields["window"],
        layout.L_TRICKLE: fields["trickle_per_s"] * dt,
        layout.L_UPDATES: fields["updates"],
        layout.L_SET: fields["start"],
        layout.L_CLEAR: fields["stop"],
        layout.L_QUEUE: fields["queue"],
        layout.L_RTO_MIN: steps("rto_min_ms"),
        layout.L_RTO_INITIAL: steps("rto_initial_ms"),
        layout.L_RTO_MAX: steps("rto_max_ms"),
        layout.L_RETRANSMISSIONS: _override(fields["max_assoc_retx"], knob["max_assoc_retx"]),
        layout.L_PATIENCE: np.maximum(np.rint(fields["map_timer_s"] / dt), 1.0),
        layout.L_ACK_DELAY: steps("sack_period_ms"),
        layout.L_HOLD: np.full_like(fields["window"], max(round(ALARM_HOLD_S / dt), 1)),
    }


def longest_put_off(scenarios: Sequence[Scenario], settings: Floats) -> int:
    """Return the longest delay of a location refresh [steps]; one beyond the horizon is as good as the horizon."""
    delays = [scenario.topology.links.refresh_delay_max_s for scenario in scenarios if scenario.topology.links]
    if not delays:
        return 0
    asked = float(np.nan_to_num(column(settings, "refresh_delay_max_s")).max())
    return round(min(max(*delays, asked), scenarios[0].horizon_s) / scenarios[0].dt)


def put_off_rows(links: Sequence[Mapping[str, Floats]], settings: Floats, dt: float, longest: int) -> dict[int, Floats]:
    """Return the row of the delay of location refreshes among the per-storm scalars.

    Args:
        links: The fields of each link.
        settings: Setting vectors, shape (rows, fields).
        dt: The step [s].
        longest: Slots of the wheel that the delays are for; 0: there is none [steps].
    """
    if longest == 0:
        return {}
    delay_s = _override(links[0]["refresh_delay_max_s"], column(settings, "refresh_delay_max_s"))
    return {layout.S_PUT_OFF: np.minimum(np.rint(delay_s / dt), longest - 1)}


def imsimgr_columns(scenario: Scenario, dt: float) -> dict[int, float]:
    """Return the rows of the IMSI manager's block of one storm."""
    manager, gate = scenario.topology.imsimgr, scenario.topology.gate
    if manager is None:
        return {}
    return {
        layout.I_BASE: manager.base_share * manager.capacity_per_s * dt,
        layout.I_REQUEST: 1.0,
        layout.I_REFUSAL: manager.refusal_cost,
        layout.I_DROP: manager.drop_cost,
        layout.I_CAPACITY: manager.capacity_per_s * dt,
        layout.I_ROOM: manager.capacity_per_s * IMSIMGR_REACTION_S,
        layout.I_SMOOTH: min(dt / manager.smooth_s, 1.0),
        layout.I_WARN: manager.warn_share,
        layout.I_OVER: manager.over_share,
        _INSTANCES: float(gate.instances if gate else 1),
    }


_INSTANCES = -1
"""Key of the number of IMSI managers, which is no row."""


def imsimgr_rows(columns: Mapping[int, Floats], settings: Floats) -> dict[int, Floats]:
    """Return these rows with the number of IMSI managers that a knob asks for; capacity and base follow it."""
    own = columns[_INSTANCES]
    factor = _override(own, column(settings, "imsimgr_instances")) / own
    scaled = (layout.I_BASE, layout.I_CAPACITY, layout.I_ROOM)
    return {row: values * factor if row in scaled else values for row, values in columns.items() if row >= 0}
