"""The compiled model against the event-by-event reference, on the elements beyond the attach chain.

As in `test_batch_reference`: medians within 5 % away from the edge of collapse and within 15 % on it, and overlapping
Wilson intervals of the share of storms that do not converge. Beside times, attempts and peaks of a minute each
scenario compares what its mechanism counts.
"""

import math

import numpy as np
import pytest

from signalstorm.envs.model.scenario import Scenario
from tests.envs.model.core_storms import (
    agent_limits,
    another_node_restarts,
    at,
    barred,
    changed_while_stalled,
    dynamic_limit,
    failing,
    flush,
    kernel,
    lost_node,
    mme_overload,
    notifications,
    overlapping_bursts,
    overlapping_surges,
    slow_charging,
    stalled,
    unknown,
)
from tests.reference.compare import AWAY_FROM_EDGE, compare
from tests.reference.run import run

COMMON = ("convergence_time_s", "attempts", "peak_minute_rate_per_s")
AWAY: dict[str, tuple[Scenario, tuple[str, ...]]] = {
    "static limits, dropped": (agent_limits("drop"), ("dra_limited",)),
    "static limits, 3002": (agent_limits("3002"), ("dra_limited",)),
    "dynamic limit": (dynamic_limit(), ("dra_limited", "throttle_peak_percent", "database_cpu_peak")),
    "slow charging, pending limit": (slow_charging(ocs_pending=150.0), ("dra_busy_gy",)),
    "gateway flush": (flush(), ()),
    "failure handling: terminate": (failing("terminate"), ()),
    "failure handling: continue": (failing("continue"), ("degraded",)),
    "failure handling: retry": (failing("retry"), ("retried",)),
    "notifications": (notifications(), ("ddn_sent", "ddn_dropped", "ddn_factor_peak_percent")),
    "notifications, at the MME's word": (
        notifications(by_mme=True, factor_percent=50.0, delay_s=20.0),
        ("ddn_sent", "ddn_dropped"),
    ),
    "unknown subscribers": (unknown(60.0), ("broadcasts", "sent_to_one")),
    "barring, released at once": (barred(1), ("held_peak",)),
    "barring, released in four stages": (barred(4), ("held_peak",)),
    "lost node, load removed": (lost_node(600.0, removed=True), ("held_peak",)),
    "lost node, some sessions recovered": (lost_node(150.0, recovery=0.3), ()),
    "MME overload": (mme_overload(), ()),
    "stalled HSS": (stalled(), ()),
    "capacity that falls in a stall": (changed_while_stalled(at("capacity", 100.0, target="mme", value=25.0)), ()),
    "node lost in a stall": (changed_while_stalled(at("node_loss", 100.0, target="mme", spread_s=20.0)), ()),
    "another server's node starts": (another_node_restarts(), ()),
    "overlapping bursts": (overlapping_bursts(), ("broadcasts", "sent_to_one")),
    "overlapping surges": (overlapping_surges(), ("ddn_sent",)),
}
EDGE: dict[str, tuple[Scenario, tuple[str, ...]]] = {
    "lost node, 225 places": (lost_node(225.0), ()),
    "lost node, 315 places": (lost_node(315.0), ()),
}
SHORT = ("static limits, dropped", "unknown subscribers", "barring, released in four stages", "lost node, load removed")


@pytest.mark.long
@pytest.mark.parametrize("name", [*AWAY, *EDGE])
def test_the_model_agrees_with_the_reference(name: str) -> None:
    scenario, measures = (AWAY | EDGE)[name]
    comparison = compare(scenario, {}, 40, kernel=kernel, on_edge=name in EDGE, measures=(*COMMON, *measures))
    print(f"\n{name}\n{comparison}")  # noqa: T201  (the table for docs/validation.md: pytest -s)
    assert comparison.agrees, f"{name}\n{comparison}"


@pytest.mark.parametrize("name", SHORT)
def test_a_few_storms_agree_with_the_reference(name: str) -> None:
    """The short form: logarithms of means within the tolerance and 3.5 standard errors of three reference storms."""
    scenario, measures = AWAY[name]
    reference = [run(scenario, {}, seed) for seed in range(3)]
    model = kernel(scenario, {}, range(20))
    for measure in (*COMMON, *measures):
        found = [getattr(each, measure) if hasattr(each, measure) else each.beside[measure] for each in reference]
        theirs = np.log([float(value) for value in found])
        ours = np.log([each[measure] for each in model])
        error = math.sqrt(theirs.var(ddof=1) / len(theirs) + ours.var(ddof=1) / len(ours))
        assert abs(ours.mean() - theirs.mean()) < math.log1p(AWAY_FROM_EDGE) + 3.5 * error, measure
