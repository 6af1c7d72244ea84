"""Builds the elements beside the attach chain: agent, dynamic limit, questions of the gateway, notifications."""

import math
from collections.abc import Mapping

import numpy as np
import simpy

from tests.reference.agent import KINDS, Agent, AgentLimits, Peer
from tests.reference.credit import Question
from tests.reference.dynamic_limit import EDGES, THROTTLES, DynamicLimit
from tests.reference.fields import Fields, section, value
from tests.reference.knobs import Knobs
from tests.reference.notifications import EVEN, Notifications, Throttle
from tests.reference.observer import Observer
from tests.reference.server import Server

OWN_GATEWAY: Fields = {"name": "gateway"}


def agent(
    env: simpy.Environment,
    rng: np.random.Generator,
    observer: Observer,
    topology: Fields,
    knobs: Knobs,
    servers: Mapping[str, Server],
) -> Agent | None:
    """The Diameter agent of a topology, with what its peers send of their own; None without one."""
    fields = topology.get("dra")
    if fields is None:
        return None
    limits = _limits(fields, knobs)
    described = fields.get("peers") or [OWN_GATEWAY]
    peers = {value(each, "name", "gateway"): Peer(env, limits, value(each, "dynamic", True)) for each in described}
    writes = {
        "ccr_i": 1.0,
        "ccr_u": value(fields, "writes_per_update", 1.0),
        "ccr_t": value(fields, "writes_per_end", 1.0),
    }
    database, ocs = servers.get("database"), servers.get("ocs")
    timers = knobs.tx_s, ocs.timer_s if ocs is not None else math.inf
    found = Agent(env, rng, observer, limits, peers, servers["pcrf"], ocs, database, writes, timers)
    for name, each in zip(peers, described, strict=True):
        for kind in KINDS:
            per_s = value(each, f"{kind}_per_s", 0.0)
            if per_s > 0.0:
                env.process(found.chatter(kind, name, per_s))
    if section(fields, "dynamic") and database is not None:
        base_share = value(section(topology, "database"), "cpu_base_share", 0.0)
        _dynamic(env, observer, section(fields, "dynamic"), found, database, base_share)
    return found


def _limits(fields: Fields, knobs: Knobs) -> AgentLimits:
    return AgentLimits(
        peer=knobs.dra("peer_limit_per_s"),
        kinds=tuple(knobs.dra(f"{kind}_limit_per_s") for kind in KINDS),
        pcrf=knobs.dra("pcrf_limit_per_s"),
        pcrf_kinds=tuple(knobs.dra(f"pcrf_{kind}_limit_per_s") for kind in KINDS[:3]),
        ocs=knobs.dra("ocs_limit_per_s"),
        burst=fields.get("burst"),
        action=str(knobs.either("dra_limit_action", value(fields, "limit_action", "3002"))),
        rate=fields.get("rate_per_s"),
        pool=fields.get("pool"),
        pcrf_pending=fields.get("pcrf_pending"),
        ocs_pending=knobs.dra("ocs_pending"),
    )


def _dynamic(
    env: simpy.Environment, observer: Observer, fields: Fields, found: Agent, database: Server, base_share: float
) -> None:
    sample_s = value(fields, "sample_s", 1.0)
    before_s = 0.0

    def cpu_percent() -> float:
        nonlocal before_s
        busy = (database.busy_s - before_s) / sample_s
        before_s = database.busy_s
        share = base_share + (1.0 - base_share) * min(busy, 1.0)
        observer.peak("database_cpu_peak", share)
        return 100.0 * share

    DynamicLimit(
        env,
        cpu_percent,
        found.throttle,
        fields.get("from_percent") or EDGES,
        fields.get("throttle_percent") or THROTTLES,
        value(fields, "hold_s", 30.0),
        value(fields, "step_percent", 20.0),
        sample_s,
    )


def questions(
    env: simpy.Environment,
    observer: Observer,
    topology: Fields,
    knobs: Knobs,
    servers: Mapping[str, Server],
    found: Agent | None,
) -> list[Question]:
    """CCR-I, then Gy, of those that the topology has."""
    asked = []
    if "pcrf" in servers:
        failure = str(knobs.either("gx_failure_action", value(section(topology, "gateway"), "gx_failure", "terminate")))
        asked.append(Question(env, observer, "ccr_i", servers["pcrf"], found, failure, servers.get("pcrf_mate")))
    if "ocs" in servers:
        failure = str(knobs.either("gy_failure_action", value(section(topology, "ocs"), "gy_failure", "terminate")))
        asked.append(Question(env, observer, "gy", servers["ocs"], found, failure, None))
    return asked


def notifications(
    env: simpy.Environment, rng: np.random.Generator, observer: Observer, topology: Fields, mme: Server | None
) -> Notifications | None:
    """The notifications of a topology; None without any."""
    fields = topology.get("ddn")
    if fields is None:
        return None
    throttle = Throttle(
        limit_per_s=value(fields, "limit_per_s", Throttle.limit_per_s),
        window_s=value(fields, "window_s", Throttle.window_s),
        poll_s=value(fields, "poll_s", Throttle.poll_s),
        factor_percent=value(fields, "factor_percent", Throttle.factor_percent),
        increment_percent=value(fields, "increment_percent", Throttle.increment_percent),
        watermark=value(fields, "arp_watermark", Throttle.watermark),
        throttle_time_s=value(fields, "throttle_time_s", Throttle.throttle_time_s),
        stabilisation_s=value(fields, "stabilisation_s", Throttle.stabilisation_s),
        by_mme=value(fields, "by_mme", Throttle.by_mme),
        delay_s=value(fields, "delay_s", Throttle.delay_s),
        overload_share=value(fields, "overload_share", Throttle.overload_share),
    )
    shares = fields.get("arp_shares") or EVEN
    return Notifications(
        env,
        rng,
        observer,
        mme,
        throttle,
        value(fields, "rate_per_s", 0.0),
        value(fields, "messages", 1.0),
        shares,
    )
