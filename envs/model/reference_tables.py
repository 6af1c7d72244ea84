"""The reference pages for knobs and scenario files, written from the knob table and the models themselves.

``python -m signalstorm.envs.model.reference_tables docs`` writes them anew.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from signalstorm.envs.model import (
    scenario_core,
    scenario_core_events,
    scenario_events,
    scenario_loop,
    scenario_parts,
    scenario_topology,
)
from signalstorm.envs.model.files import write_atomic
from signalstorm.envs.model.knob_table import KNOBS, SOURCES, Knob
from signalstorm.envs.model.random_core import RANGES
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.model.scenario_paths import split_unit

MARK = "<!-- The tables below are generated: python -m signalstorm.envs.model.reference_tables docs -->"
"""Stands in a page above its generated part."""

_PARTS: tuple[tuple[str, type[BaseModel]], ...] = (
    ("The scenario", Scenario),
    ("`subscribers`: each class", scenario_parts.SubscriberClass),
    ("`ladder` of kind `eps`", scenario_parts.EpsLadder),
    ("`ladder` of kind `gprs`", scenario_parts.GprsLadder),
    ("`ladder` of kind `laboratory`", scenario_parts.LaboratoryLadder),
    ("`demand`", scenario_parts.Demand),
    ("`trigger`", scenario_parts.Trigger),
    ("`activity`", scenario_parts.Activity),
    ("`topology`", scenario_topology.Topology),
    ("`topology.gate`", scenario_topology.Gate),
    ("`topology.imsimgr`", scenario_topology.ImsiManager),
    ("`topology.links`", scenario_topology.Links),
    ("`topology.gateway`", scenario_topology.Gateway),
    ("`topology.pcrf`", scenario_topology.Pcrf),
    ("`topology.mme` and `topology.hss`", scenario_topology.Database),
    ("`topology.database`", scenario_topology.SessionDatabase),
    ("`topology.pcrf_mate`, as `topology.pcrf`; `topology.ocs`", scenario_topology.Ocs),
    ("`topology.dra`", scenario_core.Dra),
    ("`topology.dra.peers`: each", scenario_core.Peer),
    ("`topology.dra.dynamic`", scenario_core.DynamicLimit),
    ("`topology.ddn`", scenario_core.Ddn),
    ("`topology.resilience`", scenario_core.Resilience),
    ("`churn_profile`", scenario_core.ChurnProfile),
    ("`timeline`: event `capacity`", scenario_events.CapacityEvent),
    ("`timeline`: event `latency`", scenario_events.LatencyEvent),
    ("`timeline`: event `other_load`", scenario_events.OtherLoadEvent),
    ("`timeline`: event `mass_detach`", scenario_events.MassDetachEvent),
    ("`timeline`: event `message_burst`", scenario_events.MessageBurstEvent),
    ("`timeline`: event `hlr_reset`", scenario_events.HlrResetEvent),
    ("`timeline`: event `activity`", scenario_events.ActivityEvent),
    ("`timeline`: events `link_reset`, `link_down` and `link_up`", scenario_events.LinkEvent),
    ("`timeline`: event `peer_burst`", scenario_core_events.PeerBurstEvent),
    ("`timeline`: event `gateway_flush`", scenario_core_events.GatewayFlushEvent),
    ("`timeline`: event `user_plane_loss`", scenario_core_events.ReconnectEvent),
    ("`timeline`: event `redirect`", scenario_core_events.RedirectEvent),
    ("`timeline`: event `stall`", scenario_core_events.StallEvent),
    ("`timeline`: event `release`", scenario_core_events.ReleaseEvent),
    ("`timeline`: events `node_loss` and `node_restart`", scenario_core_events.NodeEvent),
    ("`timeline`: event `hold`", scenario_core_events.HoldEvent),
    ("`timeline`: event `staged_release`", scenario_core_events.StagedReleaseEvent),
    ("`timeline`: event `unknown_burst`", scenario_core_events.UnknownEvent),
    ("`timeline`: event `ddn_surge`", scenario_core_events.DdnSurgeEvent),
    ("`timeline`: event `imsimgr_reboot`", scenario_core_events.RebootEvent),
    ("`convergence`", scenario_parts.Convergence),
    ("`loop`", scenario_loop.Loop),
)


def knobs_markdown() -> str:
    """Return the generated part of the page on knobs."""
    lines = [
        "| knob | meaning | legal values | default | scale | changed |",
        "|---|---|---|---|---|---|",
        *(_range_row(knob) for knob in KNOBS.values()),
        "",
        "| knob | rule | command | source |",
        "|---|---|---|---|",
        *(_rule_row(knob) for knob in KNOBS.values()),
        "",
        SOURCES,
    ]
    return "\n".join(lines) + "\n"


def fields_markdown() -> str:
    """Return the generated part of the page on scenario files."""
    parts = [line for title, model in _PARTS for line in _part(title, model)]
    return "\n".join([*parts, *_ranges()])


def _ranges() -> Iterator[str]:
    """Yield what the generator of random networks draws."""
    yield "### The generator `random-core`"
    yield ""
    yield "`random-core-17` is a scenario name like any other: the 17th network drawn. Each element, and each kind of"
    yield "trigger, is present or not by a coin. The number alone decides. What a knob reads is then moved to the"
    yield "nearest value that the knob can have, so that every network can be tuned."
    yield ""
    yield "| drawn | between | unit | scale |"
    yield "|---|---|---|---|"
    for name, bounds in RANGES.items():
        scale = "log" if bounds.log else "linear"
        yield f"| {name} | {bounds.low:g} and {bounds.high:g} | {bounds.unit} | {scale} |"
    yield ""


def pages() -> dict[str, str]:
    """Return the generated part of each page, by its file name."""
    return {"knobs.md": knobs_markdown(), "scenarios.md": fields_markdown()}


def renewed(page: str, generated: str) -> str:
    """Return a page with a new generated part below its mark."""
    above, mark, _ = page.partition(MARK)
    if not mark:
        raise ValueError(f"the page has no line {MARK}")
    return f"{above}{MARK}\n\n{generated}"


def _range_row(knob: Knob) -> str:
    scale = "" if knob.kind == "choice" else knob.scale
    change = knob.change if knob.exportable else "what-if"
    cells = (f"`{knob.name}`", knob.meaning, knob.range_text, knob.text(knob.default), scale, change)
    return f"| {' | '.join(cells)} |"


def _rule_row(knob: Knob) -> str:
    command = f"`{knob.command}`" if knob.command else ""
    return f"| `{knob.name}` | {knob.rule} | {command} | {knob.source} |"


def _part(title: str, model: type[BaseModel]) -> Iterator[str]:
    yield f"### {title}"
    yield ""
    yield (model.__doc__ or "").strip()
    yield ""
    yield "| key | meaning | unit | default |"
    yield "|---|---|---|---|"
    for name, field in model.model_fields.items():
        description, unit = split_unit(field.description or "")
        words = get_args(field.annotation)
        if len(words) > 1 and all(isinstance(word, str) for word in words):
            description += f" One of {', '.join(f'`{word}`' for word in words)}."
        yield f"| `{name}` | {description} | {unit} | {_default(field)} |"
    yield ""


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "must be given"
    default: Any = field.get_default(call_default_factory=True)
    if isinstance(default, BaseModel):
        return "its own defaults"
    if isinstance(default, tuple) and default and isinstance(default[0], BaseModel):
        return "one, with its own defaults"
    if isinstance(default, tuple) and not default:
        return "`[]`"
    if isinstance(default, tuple) and len(set(default)) == 1:
        return f"`{default[0]:g}`"
    if isinstance(default, str):
        return f"`{default}`"
    if scenario_parts.is_number(default):
        return f"`{default:g}`"
    return f"`{json.dumps(default)}`"


def main(folder: str) -> None:
    """Write the generated part of every page in a folder."""
    for name, generated in pages().items():
        page = Path(folder) / name
        write_atomic(page, renewed(page.read_text(encoding="utf-8"), generated))


if __name__ == "__main__":
    main(*sys.argv[1:])
