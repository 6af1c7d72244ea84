"""Settings of knobs: checking, completing and rounding them by the knob table."""

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from signalstorm.envs.model import yaml_lines
from signalstorm.envs.model.core_knobs import FIELDS, field_value
from signalstorm.envs.model.errors import ABSENT, Finding, Shown, located
from signalstorm.envs.model.knob_checks import check, check_core, check_rto, on_grid
from signalstorm.envs.model.knob_table import KNOBS, OFF, RTO_NAMES, RTO_RULE, Knob, KnobValue
from signalstorm.envs.model.knob_ties import lowered
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.model.scenario_core_events import NodeEvent
from signalstorm.envs.model.scenario_topology import Links
from signalstorm.envs.model.wording import nearest

__all__ = [
    "KNOBS",
    "OFF",
    "Knob",
    "KnobValue",
    "Setting",
    "effective_queue",
    "movable",
    "parse_set",
    "resolve",
    "round_to_legal",
    "unsettable",
    "validate",
]

_QUEUE = KNOBS["nop_queue"]
_UNSPOKEN = {"gx_failure_action": "terminate"}
"""What a complete setting leaves out unless somebody says it: the way every gateway without a bypass works."""


class Setting(Mapping[str, KnobValue]):
    """Values of knobs, frozen and in the table's order.

    Built by `validate`, `resolve`, `round_to_legal` and `parse_set`, so its values are legal.
    """

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, KnobValue]) -> None:
        self._values = {name: values[name] for name in KNOBS if name in values}

    def __getitem__(self, name: str) -> KnobValue:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __hash__(self) -> int:
        return hash(tuple(self._values.items()))

    def __repr__(self) -> str:
        return f"Setting({self._values!r})"

    def number(self, name: str) -> float:
        """Return the value of a knob that is a number; KeyError if it is a word or absent."""
        value = self._values[name]
        if isinstance(value, str):
            raise KeyError(f"{name} is {value!r}, not a number")
        return float(value)


def validate(values: Mapping[str, Any], origin: str | None = None) -> Setting:
    """Check values by the table and by the rules that tie knobs together.

    Args:
        values: Values by knob name; any subset of the knobs.
        origin: What messages name as the place of the values: a file, or an option such as ``--set``.

    Raises:
        InputError: With every fault found.
    """
    legal, findings = check(values)
    if findings:
        raise located(findings, origin)
    return Setting(legal)


def resolve(setting: Mapping[str, KnobValue], scenario: Scenario) -> Setting:
    """Complete a setting: the scenario's present one, overridden, and defaults for the rest.

    A new rate or wait without a queue means the queue that the command then has by default. What a scenario
    holds as fields (`gtpc_*`, `diameter_tx_s`, `pcrf_rate_per_s`) comes from there. The result has neither
    knobs of elements that the topology lacks nor the search form `nop_queue_wait_s`; its `nop_queue` is what
    the gate holds, and is absent where the gate is off.

    Raises:
        InputError: If the merged setting breaks a rule, or overrides a knob whose element is absent.
    """
    topology = scenario.topology
    present = dict(scenario.present)
    queue_forms = {"nop_queue", "nop_queue_wait_s"}
    if setting.keys() & (queue_forms | {"nop_rate", "nop_wait_s"}):
        for form in queue_forms:
            present.pop(form, None)
    merged, findings = check({**present, **setting})
    if topology.links is not None:
        findings = _rto_in_force(topology.links, merged, findings)
    findings += [
        Finding((name,), f"the scenario has no {KNOBS[name].element}", value, "leave the knob out")
        for name, value in setting.items()
        if name in KNOBS and getattr(topology, KNOBS[name].element) is None
    ]
    findings += [
        Finding((name,), f"the scenario's {KNOBS[name].element} has no such limit", value, "leave the knob out")
        for name, value in setting.items()
        if name in FIELDS and getattr(topology, KNOBS[name].element) is not None and field_value(topology, name) is None
    ]
    if findings:
        raise located(findings)
    values: dict[str, KnobValue] = {}
    if topology.gate is not None:
        for name in ("nop_rate", "nop_wait_s", "nop_action", "t3346_s"):
            values[name] = merged.get(name, KNOBS[name].default or 0)
        rate = values["nop_rate"]
        if not isinstance(rate, str):
            queue, _ = effective_queue(
                rate,
                float(values["nop_wait_s"]),
                queue=_number(merged.get("nop_queue")),
                queue_wait_s=_number(merged.get("nop_queue_wait_s")),
            )
            values["nop_queue"] = queue
    if topology.links is not None:
        for name in ("rto_min_ms", "rto_initial_ms", "rto_max_ms", "max_assoc_retx", "sack_period_ms"):
            values[name] = merged.get(name, getattr(topology.links, name))
        delay_s = merged.get("refresh_delay_max_s", topology.links.refresh_delay_max_s)
        if delay_s or "refresh_delay_max_s" in merged:
            values["refresh_delay_max_s"] = delay_s
        findings += check_rto(values)
        if findings:
            raise located(findings)
    if topology.gateway is not None:
        timeout_ms = 1000 * topology.gateway.t3_response_s
        values["gtpc_timeout_ms"] = merged.get("gtpc_timeout_ms", timeout_ms)
        values["gtpc_retries"] = merged.get("gtpc_retries", topology.gateway.n3_requests)
        values["diameter_tx_s"] = merged.get("diameter_tx_s", topology.gateway.tx_s)
    if topology.pcrf is not None and topology.pcrf.rate_per_s is not None:
        values["pcrf_rate_per_s"] = topology.pcrf.rate_per_s
    for name in FIELDS:
        own = field_value(topology, name)
        if name == "ddn_delay_s" and not (topology.ddn and topology.ddn.by_mme):
            continue  # the SGW's own throttle has no such time
        if own is not None and (name in merged or own != _UNSPOKEN.get(name)):
            values[name] = merged.get(name, own)
    findings += _nodes_left(scenario, values)
    values.update({name: merged[name] for name in ("t3346_low_min", "t3346_high_min") if name in merged})
    findings += check_core(values)
    if findings:
        raise located(findings)
    if "pcrf_rate_per_s" in merged:
        values["pcrf_rate_per_s"] = merged["pcrf_rate_per_s"]
    return Setting({name: _tidy(value) for name, value in values.items()})


def _rto_in_force(links: Links, merged: Mapping[str, KnobValue], findings: list[Finding]) -> list[Finding]:
    """Return findings in which one about the order of the time-outs shows all that are in force, given or not."""
    if not any(RTO_RULE in finding.rule for finding in findings):
        return findings
    in_force = {name: merged.get(name, getattr(links, name)) for name in RTO_NAMES}
    return [*(finding for finding in findings if RTO_RULE not in finding.rule), *check_rto(in_force)]


def _nodes_left(scenario: Scenario, values: Mapping[str, KnobValue]) -> Iterator[Finding]:
    """Yield a finding if the nodes that an event takes are all that the setting leaves."""
    domains = values.get("failure_domains")
    lost = [event.nodes for event in scenario.timeline if isinstance(event, NodeEvent) and event.kind == "node_loss"]
    if lost and isinstance(domains, int | float) and max(lost) >= domains:
        rule = f"must leave a node: an event of the timeline takes {max(lost)}"
        yield Finding(("failure_domains",), rule, domains, f"give at least {max(lost) + 1}")


_OTHER_FIELDS = {
    "gtpc_timeout_ms": "gateway.t3_response_s",
    "gtpc_retries": "gateway.n3_requests",
    "diameter_tx_s": "gateway.tx_s",
    "pcrf_rate_per_s": "pcrf.rate_per_s",
    **{name: f"links.{name}" for name in (*RTO_NAMES, "max_assoc_retx", "sack_period_ms", "refresh_delay_max_s")},
}
"""The field of the topology that a knob of the attach chain reads where the setting does not have it."""


def unsettable(scenario: Scenario) -> list[Finding]:
    """Return a finding for each field whose value no setting could have, such as a Tx of 2.5 s.

    Storms run with it as it is, but neither a search nor an export can call it the present setting.
    """
    _, findings = check(resolve({}, scenario))
    return [_of_field(finding) for finding in findings]


def _of_field(finding: Finding) -> Finding:
    """Return a finding about a knob as one about the field that it reads."""
    name = str(finding.path[0])
    field = {**FIELDS, **_OTHER_FIELDS}.get(name)
    if field is None:
        return finding
    path = ("topology", *(int(word) if word.isdecimal() else word for word in field.split(".")))
    rule = f"to be tuned, it must be a setting of the knob {name}, which {finding.rule}"
    unit = KNOBS[name].unit
    shown = Shown(f"{finding.value:g} {unit}") if isinstance(finding.value, int | float) else finding.value
    way_out = f"{finding.way_out}; `simulate` takes it as it is"
    return Finding(path, rule, shown, way_out)


def effective_queue(
    rate_per_s: float, wait_s: float, queue: float | None = None, queue_wait_s: float | None = None
) -> tuple[int, int | None]:
    """Return the queue that the gate holds, and the value of the command's keyword, None if it is omitted.

    Args:
        rate_per_s: `nop_rate` as a number.
        wait_s: `nop_wait_s`.
        queue: `nop_queue`; the default rule if neither form is given.
        queue_wait_s: `nop_queue_wait_s`.
    """
    default = round(rate_per_s * wait_s)
    if default < _QUEUE.low:
        return default, None  # no value of the keyword is legal
    highest = min(round(_QUEUE.high), default)
    if queue is not None:
        return round(queue), round(queue)
    if queue_wait_s is not None:
        held = min(max(round(rate_per_s * queue_wait_s), round(_QUEUE.low), math.ceil(rate_per_s)), highest)
        return held, held
    return highest, None if highest == default else highest


def round_to_legal(values: Mapping[str, KnobValue]) -> Setting:
    """Move each value to the nearest legal one, and the queue into the bounds that rate and wait set.

    RTO-min and RTO-initial are lowered to RTO-max where they exceed it, and so are the throttles of the lower
    bands, the shortest back-off and the polls of the notifications.

    Raises:
        InputError: For an unknown knob, NaN, a word that is not legal, or both forms of the queue.
    """
    rounded = {name: _rounded(name, value) for name, value in values.items()}
    queue, rate = rounded.get("nop_queue"), rounded.get("nop_rate")
    wait = rounded.get("nop_wait_s", KNOBS["nop_wait_s"].default)
    if rate == OFF:
        rounded.pop("nop_queue", None)
    if isinstance(queue, int) and isinstance(rate, int) and isinstance(wait, int):
        if rate * wait < _QUEUE.low:
            del rounded["nop_queue"]
        else:
            rounded["nop_queue"] = min(max(queue, rate), rate * wait)
    return validate(lowered(rounded))


def movable(scenario: Scenario) -> list[str]:
    """Return the knobs that a search or an agent can move: searchable, and with a field in the scenario's network.

    An SGSN, which alone has signalling links, has no command for the back-off of an MME.
    """
    return [
        name
        for name, knob in KNOBS.items()
        if knob.searchable
        and getattr(scenario.topology, knob.element) is not None
        and not (name == "t3346_s" and scenario.topology.links is not None)
        and (name not in FIELDS or field_value(scenario.topology, name) is not None)
    ]


def parse_set(items: Iterable[str], origin: str = "--set") -> tuple[Setting, dict[str, Any]]:
    """Read overrides such as ``nop_rate=400`` and ``topology.pcrf.rate_per_s=45``.

    Args:
        items: ``NAME=VALUE``; a name is a knob's, or the dotted path of a scenario field.
        origin: What messages name as the place of the values.

    Returns:
        The knobs, checked, and the field overrides for `Scenario.with_fields`, which checks them.

    Raises:
        InputError: With every fault found in the words themselves and in the knobs.
    """
    knobs: dict[str, Any] = {}
    fields: dict[str, Any] = {}
    findings: list[Finding] = []
    for item in items:
        name, equals, text = (part.strip() for part in item.partition("="))
        try:
            value = yaml_lines.read_value(text)
        except yaml_lines.YamlError:
            value = None
            equals = ""
        if not equals or not name or text == "":
            findings.append(Finding((name,), "must be NAME=VALUE", item, "for example nop_rate=400"))
        elif name in knobs or name in fields:
            findings.append(Finding((name,), "must be given once", item, "leave one of them out"))
        elif name in KNOBS:
            knobs[name] = value
        elif name.partition(".")[0] in Scenario.model_fields:
            fields[name] = value
        else:
            way_out = nearest(name, [*KNOBS, *Scenario.model_fields])
            findings.append(Finding((name,), "is neither a knob nor a scenario field", ABSENT, way_out))
    legal, wrong = check(knobs)
    if findings or wrong:
        raise located(findings + wrong, origin)
    return Setting(legal), fields


def _rounded(name: str, value: KnobValue) -> KnobValue:
    knob = KNOBS.get(name)
    if knob is None or knob.kind == "choice" or isinstance(value, str | bool) or not math.isfinite(value):
        return value
    return on_grid(knob, value)


def _tidy(value: KnobValue) -> KnobValue:
    """Turn 5000.0, as a scenario field may hold it, into 5000, as the knob does."""
    return round(value) if isinstance(value, float) and value.is_integer() else value


def _number(value: KnobValue | None) -> float | None:
    return None if value is None or isinstance(value, str) else float(value)
