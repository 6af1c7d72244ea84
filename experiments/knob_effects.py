"""Where each knob changes a storm, and by how much: the evidence that none is decoration.

``python -m signalstorm.experiments.knob_effects docs`` runs every case and writes the table anew.
"""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from signalstorm.envs.model import scenario_file
from signalstorm.envs.model.core_knobs import THROTTLES
from signalstorm.envs.model.files import write_atomic
from signalstorm.envs.model.knob_table import KNOBS, KnobValue
from signalstorm.experiments.simulate import SimulationResult, simulate

BEGIN = "<!-- This table is generated: python -m signalstorm.experiments.knob_effects docs -->"
END = "<!-- End of the table. -->"
STORMS = 4
"""Storms of each side of a case; both sides have the same."""
LEAST = 0.01
"""Relative change of an outcome that counts."""


@dataclass(frozen=True)
class Case:
    """A knob moved from one value to another, all else equal."""

    knob: str
    scenario: str
    low: KnobValue
    high: KnobValue
    others: Mapping[str, KnobValue] = field(default_factory=dict)
    """Other knobs, on both sides."""
    fields: Mapping[str, Any] = field(default_factory=dict)
    """Other scenario fields, on both sides."""


_FLUSH: Mapping[str, KnobValue] = {"nop_rate": 500}
_NODE: Mapping[str, KnobValue] = {"nop_rate": 850, "nop_action": "reject-congestion"}
_DDN: Mapping[str, KnobValue] = {"nop_rate": 300}
_LINKS = {"horizon_s": 16_000.0}
_HONEST = {"subscribers.gsm.honours_t3346_share": 1.0, "subscribers.umts.honours_t3346_share": 1.0, **_LINKS}
_DEAD_LINK = {
    **_LINKS,
    "timeline": [
        {"kind": "hlr_reset", "time_s": 0.0},
        {"kind": "link_down", "target": "stp2", "time_s": 7000.0, "noticed": False},
    ],
}
_CALM = {"horizon_s": 6000.0, "churn_scale": 0.02}
_DEAD_FROM_THE_START = {
    "horizon_s": 6500.0,
    "timeline": [{"kind": "link_down", "target": "stp1/slc1", "time_s": 0.0, "noticed": False}],
}
_TIGHT = {"topology.dra.peer_limit_per_s": 600.0}
_ROOMY = {
    "topology.dra.peer_limit_per_s": 400.0,
    "topology.database.rate_per_s": 1000.0,
    "topology.dra.writes_per_end": 0.0,
}
_ONE_BAND: Mapping[str, KnobValue] = {name: 60 for name in THROTTLES}
_WAVE = {"timeline": [{"kind": "ddn_surge", "time_s": 600.0, "count": 400_000.0, "spread_s": 300.0}]}
CASES = (
    Case("nop_rate", "lab-pcrf", 50, 400),
    Case("nop_wait_s", "lab-pcrf", 1, 15, {"nop_rate": 60}),
    Case("nop_queue", "lab-pcrf", 250, 900, {"nop_rate": 60, "nop_wait_s": 15}),
    Case("nop_queue_wait_s", "site-loss", 1, 15, {"nop_rate": 450, "nop_wait_s": 15}),
    Case("nop_action", "mme-node-loss", "drop", "reject-congestion", {"nop_rate": 850}),
    Case("t3346_s", "mme-node-loss", 0, 1800, _NODE),
    Case("gtpc_timeout_ms", "lab-pcrf", 1000, 2000, {"gtpc_retries": 0}),
    Case("gtpc_retries", "lab-pcrf", 0, 4, {"gtpc_timeout_ms": 1000}),
    Case("diameter_tx_s", "lab-pcrf", 2, 4),
    Case("rto_min_ms", "incident-2014", 500, 5000, {"rto_initial_ms": 5000, "rto_max_ms": 5000}, _LINKS),
    Case("rto_initial_ms", "incident-2014", 1000, 60_000, {"max_assoc_retx": 1}, _DEAD_FROM_THE_START),
    Case("rto_max_ms", "incident-2014", 5000, 60_000, {}, _LINKS),
    Case("max_assoc_retx", "incident-2014", 0, 10, {}, _DEAD_LINK),
    Case("sack_period_ms", "incident-2014", 50, 200, {"rto_min_ms": 100}, _CALM),
    Case("refresh_delay_max_s", "incident-2014", 0.0, 3600.0, {}, _LINKS),
    Case("pcrf_rate_per_s", "lab-pcrf", 50, 100),
    Case("dra_peer_limit_per_s", "dra-db-cpu", 500, "off"),
    Case("dra_ccr_i_limit_per_s", "dra-db-cpu", 200, "off"),
    Case("dra_ccr_t_limit_per_s", "gateway-flush", 100, "off", _FLUSH),
    Case("dra_pcrf_limit_per_s", "gateway-flush", 400, "off", _FLUSH),
    Case("dra_ocs_limit_per_s", "dra-slow-ocs", 300, "off"),
    Case("dra_ocs_pending", "dra-slow-ocs", 500, "off"),
    Case("dra_limit_action", "dra-db-cpu", "drop", "3004"),
    Case("dynamic_throttle_50", "dra-db-cpu", 0, 30, {}, _TIGHT),
    Case("dynamic_throttle_55", "dra-db-cpu", 20, 40, {}, _TIGHT),
    Case("dynamic_throttle_60", "dra-db-cpu", 30, 50),
    Case("dynamic_throttle_65", "dra-db-cpu", 40, 60),
    Case("dynamic_throttle_70", "dra-db-cpu", 60, 100),
    Case("dynamic_hold_s", "dra-db-cpu", 5, 120, _ONE_BAND, _ROOMY),
    Case("dynamic_step_percent", "dra-db-cpu", 5, 60, _ONE_BAND, _ROOMY),
    Case("gx_failure_action", "pcrf-bypass", "terminate", "continue"),
    Case("gy_failure_action", "dra-slow-ocs", "terminate", "continue", {"dra_ocs_pending": 1000}),
    Case("broadcast_off_percent", "imsimgr-unknown", 50, 70),
    Case("session_managers", "imsimgr-unknown", 20, 150),
    Case("imsimgr_instances", "imsimgr-unknown", 1, 4),
    Case("t3346_low_min", "incident-2014", 0, 15, {}, _HONEST),
    Case("t3346_high_min", "incident-2014", 5, 30, {"t3346_low_min": 5}, _HONEST),
    Case("ddn_arp_watermark", "ddn-surge", 5, 15, _DDN),
    Case("ddn_limit_per_s", "ddn-surge", 300, 2000, _DDN),
    Case("ddn_window_s", "ddn-surge", 5, 120, _DDN),
    Case("ddn_factor_percent", "ddn-surge", 10, 80, _DDN),
    Case("ddn_increment_percent", "ddn-surge", 1, 50, _DDN),
    Case("ddn_poll_s", "ddn-surge", 1, 250, {**_DDN, "ddn_window_s": 300, "ddn_factor_percent": 100}, _WAVE),
    Case("ddn_throttle_time_s", "ddn-surge", 60, 3600, _DDN),
    Case("ddn_stabilisation_s", "ddn-surge", 30, 3600, _DDN),
    Case(
        "ddn_delay_s", "ddn-surge", 2, 600, {**_DDN, "ddn_factor_percent": 100}, {**_WAVE, "topology.ddn.by_mme": True}
    ),
    Case("failure_domains", "mme-node-loss", 2, 16, _NODE),
    Case("recovery_share", "mme-node-loss", 0.0, 0.9, _NODE),
    Case("release_stages", "docomo-2012", 1, 10),
)
"""One case per knob, in the order of the table."""


@dataclass(frozen=True)
class Effect:
    """What a knob did in its case: the outcome that moved most."""

    case: Case
    outcome: str
    low: float
    high: float

    @property
    def change(self) -> float:
        """Relative difference, from 0 (none) to 1 (one side is nothing)."""
        return abs(self.high - self.low) / max(abs(self.high), abs(self.low), 1e-9)


def effect_of(case: Case) -> Effect:
    """Run a case and return the outcome that moved most: time to recover, hours lost, requests, messages, resends."""
    scenario = scenario_file.load(case.scenario)
    scenario = scenario.with_fields(case.fields) if case.fields else scenario
    low, high = simulate(scenario, [{**case.others, case.knob: value} for value in (case.low, case.high)], STORMS)
    found = [
        Effect(case, name, below, above)
        for (name, below), (_, above) in zip(_outcomes(low), _outcomes(high), strict=True)
    ]
    return max(found, key=lambda effect: effect.change)


def _outcomes(result: SimulationResult) -> Iterator[tuple[str, float]]:
    yield "time to recover, at most the horizon [s]", float(result.restricted_s.mean())
    yield "subscriber-hours lost", float(np.mean(result.outcomes.subscriber_hours_lost))
    yield "requests", float(np.mean(result.outcomes.attempts))
    if result.outcomes.link_resent:
        yield "messages sent again in vain", float(np.mean(sum(result.outcomes.link_resent.values())))
    if "ddn_dropped" in result.outcomes.core:
        yield "notifications dropped", float(np.mean(result.outcomes.core["ddn_dropped"]))


def table(effects: list[Effect]) -> str:
    """Return the effects as a Markdown table."""
    lines = ["| knob | scenario, with | from, to | outcome that moves most | there | by |", "|---|---|---|---|---|---|"]
    for e in effects:
        knob = KNOBS[e.case.knob]
        beside = ", ".join(f"{name} {value}" for name, value in e.case.others.items() if name not in THROTTLES)
        beside += "all throttles 60 %" if e.case.others == _ONE_BAND else ""
        own = " (some fields changed)" if set(e.case.fields) - {"horizon_s"} else ""
        where = f"`{e.case.scenario}`{own}{f', {beside}' if beside else ''}"
        moved = f"{knob.text(e.case.low)}, {knob.text(e.case.high)}"
        by = f"{(e.high - e.low) / e.low:+.0%}" if e.low > 0 else "from nothing"
        lines.append(f"| `{e.case.knob}` | {where} | {moved} | {e.outcome} | {e.low:.4g}, {e.high:.4g} | {by} |")
    return "\n".join(lines)


def renewed(page: str, generated: str) -> str:
    """Return a page with a new table between its marks.

    Raises:
        ValueError: If the page lacks a mark.
    """
    above, begin, rest = page.partition(BEGIN)
    _, end, below = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page lacks {BEGIN} or {END}")
    return f"{above}{BEGIN}\n\n{generated}\n\n{END}{below}"


def main(folder: str) -> None:
    """Run every case and write the table into a folder's ``knobs.md``."""
    page = Path(folder) / "knobs.md"
    effects = [effect_of(case) for case in CASES]
    write_atomic(page, renewed(page.read_text(encoding="utf-8"), table(effects)))


if __name__ == "__main__":
    main(*sys.argv[1:])
