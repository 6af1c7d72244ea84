"""From a family and a variant, or any scenario, to the complete options of an environment."""

import difflib
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, get_args

from signalstorm.envs.actions import ActionMode, Limits
from signalstorm.envs.arguments import is_number, is_storm, is_whole
from signalstorm.envs.families import FAMILIES, HARD_INTERVALS, NAMESPACE, VARIANTS, Family, ids
from signalstorm.envs.model import scenario_file
from signalstorm.envs.model.errors import ABSENT, Fault, Finding, InputError, Shown, located, wrong_input
from signalstorm.envs.model.knobs import validate
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.model.wording import nearest
from signalstorm.envs.options import Options
from signalstorm.envs.reward import Weights

_EASY_STORMS = (0, 1024)
"""Storms of the small networks: their pictures of the first step are soon all at hand."""
_STUCK_MS = 60_000
"""RTO-max of the variant whose knob cannot help [ms]."""
_LIMITS = tuple(field.name for field in fields(Limits))
_CHANGES = (
    "action_mode",
    "control_interval_s",
    "delay",
    "early_end",
    "knobs",
    "scenario",
    "shaping_gamma",
    "start",
    "storms",
    "vary",
    "weights",
    *_LIMITS,
)
"""What an environment can be made with."""


def parse_id(name: str) -> tuple[Family, str] | None:
    """Return the family and variant of an id such as ``signalstorm/IncidentSgsnEasy-v0``, None if it is none.

    A module before a colon, the namespace and the version may be left out.
    """
    plain = name.partition(":")[2] if name.startswith(f"{NAMESPACE}:") else name
    for known, family, variant in ids():
        if plain in (known, known.partition("/")[2], known.partition("/")[2].rpartition("-")[0]):
            return family, variant
    return None


def resolve_id(name: str) -> tuple[str, str]:
    """Return the family and variant of an id; what is none must be a scenario's name or path, without a variant.

    Raises:
        InputError: If it is neither, with what it is nearest to.
    """
    parsed = parse_id(name)
    if parsed is not None:
        return parsed[0].name, parsed[1]
    known = [full for full, _, _ in ids()]
    if name.startswith((f"{NAMESPACE}/", f"{NAMESPACE}:")):
        close = difflib.get_close_matches(name.rpartition(":")[2], known, n=3)
        raise wrong_input("there is no such environment", name, _meant(close, known), key="environment")
    try:
        scenario_file.read(name)
    except InputError:
        close = difflib.get_close_matches(name, [*map(_short, known), *scenario_file.list_names()], n=3)
        if "/" in name or name.endswith((".yaml", ".yml")) or not close:
            raise
        raise wrong_input("there is no such environment or scenario", name, _meant(close, known)) from None
    return name, ""


def _meant(close: Sequence[str], known: Sequence[str]) -> str:
    return f"did you mean {' or '.join(close)}?" if close else f"one of: {', '.join(known)}"


def _short(name: str) -> str:
    """Return an id without namespace and version."""
    return name.partition("/")[2].rpartition("-")[0]


def options_of(family: str, variant: str = "", *, beside: Sequence[Finding] = (), **changes: Any) -> Options:
    """Return the options of an environment.

    Args:
        family: A family's name, or a scenario's name or path.
        variant: A variant's name; empty for the plain one.
        beside: What else was found to be wrong with the call, to be reported together.
        **changes: What differs from it, see `StormEnv`.

    Raises:
        InputError: With everything that is wrong.
    """
    scenario = changes.get("scenario")
    given = {name: value for name, value in changes.items() if name in _CHANGES and name != "scenario"}
    findings = [*beside, *_unknown(changes), *_scenario_faults(family, variant, scenario)]
    faults: list[Fault] = []
    options = None
    if not any(finding.key in ("variant", "scenario") for finding in findings):
        try:
            options = _basis(family, variant, scenario)
        except InputError as error:
            faults += error.faults
    findings += [finding for name, value in given.items() if (finding := _fault(name, value, options)) is not None]
    if findings:
        faults += located(findings, "environment").faults
    if faults or options is None:
        raise InputError(faults)
    return _changed(options, given)


def _unknown(changes: Mapping[str, Any]) -> list[Finding]:
    return [
        Finding((name,), "an environment has no such argument", ABSENT, nearest(name, _CHANGES))
        for name in changes
        if name not in _CHANGES
    ]


def _scenario_faults(family: str, variant: str, scenario: Any) -> list[Finding]:
    """Return what is wrong with the words for the variant and the scenario."""
    words = [word for word in VARIANTS if word]
    found = []
    if variant not in VARIANTS:
        rule = f"must be one of {', '.join(words)}"
        found.append(Finding(("variant",), rule, Shown(repr(variant)), nearest(str(variant), words)))
    if not isinstance(scenario, str | os.PathLike | Scenario | None):
        rule = "must be a scenario, or the name or path of one"
        found.append(Finding(("scenario",), rule, Shown(repr(scenario)), "such as incident-2014"))
    return found


def _basis(family: str, variant: str, scenario: str | os.PathLike[str] | Scenario | None) -> Options:
    """Return the options of a variant of a family, or of a scenario."""
    known = FAMILIES.get(family)
    if known is None:
        return _varied(_of_scenario(_loaded(scenario or resolve_id(family)[0])), variant)
    return _of_family(known, variant, scenario)


def _loaded(scenario: str | os.PathLike[str] | Scenario) -> Scenario:
    return scenario if isinstance(scenario, Scenario) else scenario_file.load(scenario)


def _of_family(family: Family, variant: str, scenario: str | os.PathLike[str] | Scenario | None) -> Options:
    """Return the options of a variant of a family."""
    named = {"Easy": family.easy, "Randomised": family.randomised, "BrokenKnob": family.broken}
    chosen = _loaded(scenario or named.get(variant, family.scenario))
    return _varied(_of_scenario(chosen), variant)


def _of_scenario(scenario: Scenario) -> Options:
    return Options(scenario, scenario.tunable, control_interval_s=scenario.control_interval_s)


def _varied(options: Options, variant: str) -> Options:
    return _VARIANTS[variant](options)


def _fast(options: Options) -> Options:
    """Move the scenario's fast knobs alone on storms that are drawn: the gate by ratio, others within their range."""
    loop = options.scenario.loop
    if loop is None:
        rule = "the variant needs a scenario that says what a closed loop moves"
        way_out = "add `loop: {fast: [...], start: {...}}` to it, or take another variant"
        raise located([Finding(("loop",), rule, ABSENT, way_out)], options.scenario.name)
    # Only the gate's rate is near what is completed: the agent's limit counts messages of peers, the rest are shares.
    mode: ActionMode = "ratio" if "nop_rate" in loop.fast else "absolute"
    return replace(options, knobs=loop.fast, action_mode=mode, vary=True, start=loop.start, delay=loop.delay)


def _easy(options: Options) -> Options:
    return replace(_fast(options), storms=_EASY_STORMS)


def _hard(options: Options) -> Options:
    return replace(options, control_interval_s=options.control_interval_s * HARD_INTERVALS, delay=1)


def _broken(options: Options) -> Options:
    fast = _fast(options)
    return replace(fast, start={**fast.start, "rto_max_ms": _STUCK_MS})


_VARIANTS: Mapping[str, Callable[[Options], Options]] = {
    "": lambda options: options,
    "Incremental": lambda options: replace(options, action_mode="delta"),
    "Ratio": lambda options: replace(options, action_mode="ratio"),
    "Discrete": lambda options: replace(options, action_mode="discrete"),
    "Easy": _easy,
    "Hard": _hard,
    "BrokenKnob": _broken,
    "Randomised": _fast,
}


def _changed(options: Options, changes: Mapping[str, Any]) -> Options:
    """Return options with the arguments of a user, which were checked."""
    given = dict(changes)
    if "knobs" in given:
        given["knobs"] = tuple(given["knobs"])
    if "delay" in given:
        given["delay"] = int(given["delay"])
    if "start" in given:
        given["start"] = validate(given["start"], "start")
    if "storms" in given:
        given["storms"] = (int(given["storms"][0]), int(given["storms"][1]))
    if "weights" in given:
        given["weights"] = replace(options.weights, **{name: float(w) for name, w in given["weights"].items()})
    limits = {name: dict(given.pop(name)) for name in _LIMITS if name in given}
    if limits:
        given["limits"] = replace(options.limits, **limits)
    return replace(options, **given)


def _fault(name: str, value: Any, options: Options | None) -> Finding | None:
    """Return what is wrong with one argument; without options it is not known yet how long storms are."""
    dt, horizon_s = (options.scenario.dt, options.scenario.horizon_s) if options else (0.0, math.inf)
    weights = [field.name for field in fields(Weights)]
    rules: dict[str, tuple[bool, str]] = {
        "action_mode": (value in get_args(ActionMode), f"must be one of {', '.join(get_args(ActionMode))}"),
        "control_interval_s": (
            is_number(value) and dt <= value <= horizon_s,
            f"must lie between the step of {dt:g} s and the horizon of {horizon_s:g} s",
        ),
        "delay": (is_whole(value) and 0 <= value <= 1000, "must be a whole number of intervals, 0 to 1000"),
        "early_end": (isinstance(value, bool), "must be true or false"),
        "vary": (isinstance(value, bool), "must be true or false"),
        "storms": (
            isinstance(value, list | tuple) and len(value) == 2 and all(map(is_storm, value)) and value[0] < value[1],
            "must be the first storm's number and the first beyond, 0 <= first < beyond",
        ),
        "shaping_gamma": (
            value is None or (is_number(value) and 0 <= value <= 1),
            "must be a discount from 0 to 1, or none",
        ),
        "weights": (
            isinstance(value, Mapping) and set(value) <= set(weights) and all(map(is_number, value.values())),
            f"must give a finite number for some of {', '.join(weights)}",
        ),
        "knobs": (
            isinstance(value, list | tuple) and all(isinstance(knob, str) for knob in value) and _differ(value),
            "must be a list of knobs' names, each once",
        ),
        "start": (isinstance(value, Mapping), "must give values by knob"),
        **dict.fromkeys(
            _LIMITS,
            (
                isinstance(value, Mapping) and all(is_number(x) and x >= 0 for x in value.values()),
                "must give finite numbers of at least 0 by name",
            ),
        ),
    }
    holds, rule = rules[name]
    return None if holds else Finding((name,), rule, Shown(repr(value)), "give a legal value")


def _differ(words: Sequence[str]) -> bool:
    return len(set(words)) == len(words)
