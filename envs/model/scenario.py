"""The scenario: the one typed, frozen input of every run."""

import hashlib
import json
from collections.abc import Collection, Mapping
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, ValidationError, ValidationInfo, model_validator

from signalstorm.envs.model import scenario_checks
from signalstorm.envs.model.errors import ABSENT, Finding, InputError, Path, located
from signalstorm.envs.model.faults import problems_of, several
from signalstorm.envs.model.knob_table import KnobValue
from signalstorm.envs.model.scenario_core import ChurnProfile
from signalstorm.envs.model.scenario_events import Event
from signalstorm.envs.model.scenario_loop import Loop, legal
from signalstorm.envs.model.scenario_parts import (
    DRAWN,
    Activity,
    ClockTime,
    Convergence,
    Demand,
    Flag,
    Name,
    Pair,
    Part,
    Positive,
    SubscriberClass,
    Trigger,
    is_number,
)
from signalstorm.envs.model.scenario_paths import FieldInfo, UnknownPath, leaves, put, split_path
from signalstorm.envs.model.scenario_topology import Topology

DEFAULT_VARIATION_SHARE = 0.2
"""Capacities and demand vary by this share of their nominal value where a scenario does not say."""

_PROSE = {"description", "source", "fitted"}
"""Fields that change no result and therefore not the hash either."""
_LATER = ("follows", "loop")
"""Fields that count in the hash only where they say something, so that hashes from before there were any still hold."""
_LATER_PARTS = (
    ("links", "refresh_delay_max_s", 0.0),
    ("dra", "pcrf_ccr_u_limit_per_s", None),
    ("dra", "pcrf_ccr_t_limit_per_s", None),
)
"""Likewise fields of the topology's parts, where they have their default."""
_CHANGED = "changed"
"""Validation context of a scenario made from a checked one: its variation is not checked again."""
_VARIABLE = ("subscribers", "demand", "trigger", "timeline", "activity", "churn_scale", "topology")
"""Fields whose parts may differ from storm to storm."""


_REFERRING = {"variation", "fitted", "follows"}
"""Fields that refer to others; where they change, what they refer to is checked again."""


class Scenario(Part):
    """A network, its subscribers, what happens to them, and what may be tuned."""

    name: Name
    """The scenario's name."""
    description: str
    """What it shows, in plain words."""
    source: str
    """Where its figures come from."""
    access: Literal["eps", "gprs"]
    """The access: LTE (eps) or 2G and 3G (gprs) attach procedures."""
    closed: Flag = False
    """Laboratory run: everybody starts unattached and the run is over when everybody is registered."""
    stochastic: Flag = True
    """Whether servers draw what they serve; false: exactly their rate."""
    subscribers: Annotated[tuple[SubscriberClass, ...], Field(min_length=1, max_length=4)]
    """The classes of subscribers, one to four."""
    demand: Demand | None = None
    """How idle subscribers are switched on; null: they stay idle."""
    trigger: Trigger
    """What starts the storm."""
    timeline: tuple[Event, ...] = ()
    """What happens, in any order."""
    activity: Activity | None = None
    """When flagged subscribers become active; null: they never refresh."""
    churn_scale: Positive = 1.0
    """Factor on the power-cycles of every class, and so on the calm load; what a variation may move."""
    churn_profile: ChurnProfile | None = None
    """How the rate of power-cycles moves over the day; null: it does not."""
    topology: Topology
    """The elements of the network."""
    present: Annotated[Mapping[str, KnobValue], BeforeValidator(legal)] = {}
    """The setting in force, by knob; what is absent has its default."""
    tunable: tuple[str, ...] = ()
    """The knobs that a search moves."""
    clock_start: ClockTime | None = None
    """The time of day at the scenario's start, as HH:MM; null: none is shown."""
    horizon_s: Positive
    """The length of a run [s]."""
    step_s: Positive | None = None
    """The step; null: the default rule [s]."""
    control_interval_s: Positive = 1.0
    """Time between two decisions of a controller [s]."""
    convergence: Convergence = Convergence()
    """When the storm counts as over."""
    variation: Mapping[str, Pair] | None = None
    """Bounds between which fields differ from storm to storm, by dotted path; null: the default."""
    follows: Mapping[str, str] = {}
    """Fields of the variation whose draw is a factor on that of the field named, by dotted path."""
    loop: Loop | None = None
    """What a closed loop moves on these storms, and from where; null: nothing was chosen."""
    fitted: Mapping[str, str] = {}
    """Fields that were fitted, by dotted path, and to what."""

    @model_validator(mode="after")
    def _consistent(self, info: ValidationInfo) -> Self:
        found = list(scenario_checks.findings(self))
        if info.context not in (_CHANGED, DRAWN):
            found.extend(self._path_findings({(finding.key, finding.rule) for finding in found}))
        if found:
            raise several(found)
        return self

    @property
    def dt(self) -> float:
        """The step of a run [s]."""
        return self.step_s_default() if self.step_s is None else self.step_s

    def churn_per_s(self, group: SubscriberClass) -> float:
        """Return the rate at which each registered subscriber of a class power-cycles [per s]."""
        return self.churn_scale * group.churn_per_s

    def step_s_default(self) -> float:
        """Return the step of the default rule [s]."""
        return scenario_checks.default_step_s(self)

    def warnings(self) -> list[Finding]:
        """Return what is allowed but probably not meant."""
        return list(scenario_checks.warnings(self))

    def hash(self) -> str:
        """Return a hash of everything that can change a result, as 64 hexadecimal digits."""
        return self._hash

    def variation_or_default(self) -> dict[str, tuple[float, float]]:
        """Return the bounds between which fields differ from storm to storm.

        Without a key ``variation`` these are every server's rate and the demand, 20 % either way. An empty
        mapping means that nothing differs.
        """
        if self.variation is not None:
            return dict(self.variation)
        nominal = {
            f"topology.{name}.rate_per_s": server.rate_per_s
            for name, server in self.topology.servers().items()
            if server.rate_per_s is not None
        }
        if self.demand is not None:
            nominal["demand.rate_per_s"] = self.demand.rate_per_s
        share = DEFAULT_VARIATION_SHARE
        return {path: (value * (1 - share), value * (1 + share)) for path, value in nominal.items()}

    def paths(self) -> dict[str, FieldInfo]:
        """Return every field by its dotted path, with value, unit and description."""
        return dict(leaves(self))

    def with_fields(self, values: Mapping[str, Any], origin: str | None = None, *, drawn: bool = False) -> "Scenario":
        """Return a scenario with other values, checked again.

        Args:
            values: Values by dotted path: ``topology.pcrf.rate_per_s``, ``subscribers.0.size`` or
                ``subscribers.handset.size``. An element that is null appears with its defaults.
            origin: What messages name as the place of the values.
            drawn: The values are draws from the variation: round those of whole-number fields.

        Raises:
            InputError: With every fault found.
        """
        data = self._plain_copy()
        found = []
        known = self._drawn_paths if drawn else {}
        for dotted, value in values.items():
            try:
                put(data, known.get(dotted) or split_path(dotted, data, type(self)), value)
            except UnknownPath as unknown:
                found.append(unknown.finding)
        if found:
            raise located(found, origin)
        heads = {dotted.partition(".")[0] for dotted in values}
        context = DRAWN if drawn else None if _REFERRING & heads else _CHANGED
        try:
            return type(self).model_validate(data, context=context)
        except ValidationError as error:
            problems = problems_of(error, data, type(self))
            raise located((problem.finding for problem in problems), origin) from None

    def __hash__(self) -> int:
        return hash(self._hash)

    @cached_property
    def _hash(self) -> str:
        silent = {name for name in _LATER if not getattr(self, name)}
        plain = self.model_dump(mode="json", exclude=_PROSE | silent)
        for part, name, default in _LATER_PARTS:
            fields = plain["topology"].get(part) or {}
            if name in fields and fields[name] == default:
                del fields[name]
        return hashlib.sha256(json.dumps(plain, sort_keys=True, separators=(",", ":")).encode()).hexdigest()

    @cached_property
    def _drawn_paths(self) -> dict[str, Path]:
        """The fields of the variation, looked up once: an environment draws thousands of storms."""
        data = self._plain_copy()
        return {dotted: split_path(dotted, data, type(self)) for dotted in self.variation_or_default()}

    @cached_property
    def _plain(self) -> str:
        return json.dumps(self.model_dump(mode="json"))

    def _plain_copy(self) -> dict[str, Any]:
        copy: dict[str, Any] = json.loads(self._plain)
        return copy

    def _path_findings(self, known: Collection[tuple[str, str]]) -> list[Finding]:
        """Check the paths that the scenario gives of its own fields, and the bounds of its variation.

        Args:
            known: Key and rule of what is wrong whatever the variation.
        """
        data = self._plain_copy()
        found = self._factor_findings(data)
        for field, paths in (("variation", self.variation or {}), ("fitted", self.fitted)):
            for dotted in paths:
                try:
                    split_path(dotted, data, type(self))
                except UnknownPath as unknown:
                    found.append(unknown.finding._replace(path=(field, dotted)))
                    continue
                if field == "variation":
                    found.extend(self._bound_findings(dotted, known))
        return found

    def _factor_findings(self, data: dict[str, Any]) -> list[Finding]:
        """Check that factors are drawn, and are factors on numbers that are no factors themselves."""
        found = []
        for dotted, base in self.follows.items():
            path = ("follows", dotted)
            if dotted not in (self.variation or {}):
                rule = "must be a field of the variation, whose draw is then a factor"
                found.append(Finding(path, rule, ABSENT, f"add variation.{dotted}: [lo, hi], or leave it out"))
            try:
                split_path(base, data, type(self))
            except UnknownPath as unknown:
                found.append(unknown.finding._replace(path=path))
                continue
            if base in self.follows or not is_number(self.paths()[base].value if base in self.paths() else None):
                rule = "must follow a number that follows no other"
                found.append(Finding(path, rule, base, "name such a field, as topology.pcrf.rate_per_s"))
        return found

    def _bound_findings(self, dotted: str, known: Collection[tuple[str, str]]) -> list[Finding]:
        path = ("variation", dotted)
        if dotted.partition(".")[0] not in _VARIABLE:
            rule = f"only parts of {', '.join(_VARIABLE)} may differ from storm to storm"
            return [Finding(path, rule, ABSENT, "leave it out")]
        for bound in (self.variation or {})[dotted]:
            try:
                self.with_fields({dotted: bound})
            except InputError as error:
                fault = next((fault for fault in error.faults if (fault.key, fault.rule) not in known), None)
                if fault is None:
                    continue
                rule = f"both bounds must be legal values: {fault.key} {fault.rule}"
                return [Finding(path, rule, fault.value, fault.way_out)]
        return []
