"""Who takes part in a comparison: static settings, laws with tuned parameters, yardsticks, and what others add."""

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from signalstorm.agents.bundle import FACTS
from signalstorm.agents.catalogue import LAWS, law_of
from signalstorm.agents.clairvoyant import Clairvoyant
from signalstorm.agents.laws.base import Law
from signalstorm.agents.plant import BroadcastThreshold, NotificationFactor, messages_per_attach, plant_of
from signalstorm.agents.steering import Lawful, Static, Steering, fast_knobs, start_of
from signalstorm.envs.model.errors import ABSENT, Fault, InputError, wrong_input
from signalstorm.envs.model.knob_table import KNOBS, KnobValue
from signalstorm.envs.model.knobs import round_to_legal
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.model.wording import nearest
from signalstorm.experiments.policies import find_policy, find_rule
from signalstorm.experiments.tuned_laws import tuned_laws
from signalstorm.experiments.what_if import read_setting

PRESENT, DEFAULT, ADVICE, MEAN_ADVICE, BEST = (
    "present",
    "vendor-default",
    "vendor-advice",
    "vendor-advice-mean",
    "best-static",
)
CLAIRVOYANT = "clairvoyant"
RECOMMENDATION = "recommendation.json"
MARGIN = 1.2
"""The gate over the mean attach rate, where the advice is to take it from that; the margin is assumed."""

Finder = Callable[[str, Scenario], Steering | None]
"""Turns what a user names, for a scenario, into something that can be run; None if it does not know it."""
FINDERS: list[Finder] = []
"""Asked in turn after policies and rules: whoever has contestants of another kind appends one."""


def find(thing: str | os.PathLike[str], scenario: Scenario, *, transfer: bool = False) -> Steering:
    """Return what a name, a file or a folder stands for.

    Args:
        thing: The name of a contestant; or a file of knob values, a recommendation, or the folder of a run.
        scenario: The nominal scenario.
        transfer: Whether a policy or rule of another scenario, or a policy of another model, will do.

    Raises:
        InputError: If nobody knows it, it does not apply to the scenario's knob, or is of another scenario or model.
    """
    text = os.fspath(thing)
    own: list[Finder] = [partial(find_policy, transfer=transfer), partial(find_rule, transfer=transfer)]
    for finder in own + FINDERS:
        found = finder(text, scenario)
        if found is not None:
            return found
    if text in names(scenario):
        return _named(text, scenario)
    if text in LAWS:
        raise wrong_input(f"does not apply to {scenario.name}", text, LAWS[text]().refuses(plant_of(scenario)))
    if Path(text).exists() or "/" in text or text.endswith((".json", ".yaml", ".yml")):
        path = Path(text)
        if path.is_dir():
            path = _recommendation_in(path)
        return Static(path.parent.name if path.name == RECOMMENDATION else path.stem, read_setting(path))
    known = names(scenario)
    raise wrong_input("is no controller, and no such file", text, nearest(text, known), key="THING")


def find_all(things: Sequence[str | os.PathLike[str]], scenario: Scenario, *, transfer: bool = False) -> list[Steering]:
    """Return what each of some names, files and folders stands for, see `find`.

    Raises:
        InputError: With everything that is wrong with any of them.
    """
    found: list[Steering] = []
    faults: list[Fault] = []
    for thing in things:
        try:
            found.append(find(thing, scenario, transfer=transfer))
        except InputError as error:
            faults += error.faults
    if faults:
        raise InputError(faults)
    return found


def _recommendation_in(folder: Path) -> Path:
    """Return the recommendation of a run's folder."""
    file = folder / RECOMMENDATION
    if not file.exists():
        rule = f"holds nothing that can be run: neither a recommendation ({RECOMMENDATION}) nor a policy ({FACTS})"
        raise wrong_input(rule, ABSENT, "give the folder of a run of tune or train", file=str(folder))
    return file


def names(scenario: Scenario) -> tuple[str, ...]:
    """Return the contestants that apply to a scenario, in the order of tables."""
    advice = (ADVICE, MEAN_ADVICE) if _advised_rate(scenario) is not None else ()
    laws = (name for name, law in LAWS.items() if not law().refuses(plant_of(scenario)))
    knowing = () if isinstance(plant_of(scenario), BroadcastThreshold) else (CLAIRVOYANT,)
    return (PRESENT, DEFAULT, *advice, BEST, *laws, *knowing)


def left_out(scenario: Scenario) -> dict[str, str]:
    """Return the laws that do not apply to a scenario, each with the reason."""
    plant = plant_of(scenario)
    return {name: law().refuses(plant) for name, law in LAWS.items() if law().refuses(plant)}


def laws(scenario: Scenario) -> dict[str, Law]:
    """Return the laws that apply, with the parameters tuned for the scenario where there are any."""
    tuned = tuned_laws(scenario)
    return {name: law_of(name, tuned.get(name)) for name in LAWS if not LAWS[name]().refuses(plant_of(scenario))}


def all_of(scenario: Scenario) -> Sequence[Steering]:
    """Return every contestant that applies to a scenario."""
    return [_named(name, scenario) for name in names(scenario)]


def _named(name: str, scenario: Scenario) -> Steering:
    if name == PRESENT:
        return Static(PRESENT)
    if name == DEFAULT:
        return Static(DEFAULT, _defaults(scenario))
    if name in (ADVICE, MEAN_ADVICE):
        return Static(name, {**start_of(scenario), **_advised(scenario, mean=name == MEAN_ADVICE)})
    if name == BEST:
        return Static(BEST, start_of(scenario))
    if name == CLAIRVOYANT:
        return Clairvoyant()
    return Lawful(laws(scenario)[name])


def _defaults(scenario: Scenario) -> dict[str, KnobValue]:
    """Return the vendor's defaults of the knobs that may be tuned."""
    found: dict[str, KnobValue] = {}
    for name in scenario.tunable:
        default = KNOBS[name].default
        if default is not None:
            found[name] = default
    return found


def _advised_rate(scenario: Scenario) -> float | None:
    """Return the attaches that the bottleneck is said to carry, TPS over messages per attach; None: no such advice."""
    plant = plant_of(scenario)
    if isinstance(plant, BroadcastThreshold | NotificationFactor):
        return None
    links = scenario.topology.links
    if links is not None:
        return links.rate_per_s * links.stps * links.links_per_stp / messages_per_attach(scenario, "links")
    rates = [
        server.rate_per_s / messages_per_attach(scenario, name)
        for name, server in scenario.topology.servers().items()
        if server.rate_per_s is not None and messages_per_attach(scenario, name)
    ]
    return min(rates) if rates else None


def _advised(scenario: Scenario, *, mean: bool) -> dict[str, KnobValue]:
    rate = _advised_rate(scenario)
    if mean or rate is None:
        rate = MARGIN * sum(group.size * group.registered_share * group.churn_per_s for group in scenario.subscribers)
    return dict(round_to_legal({fast_knobs(scenario)[0]: round(max(rate, 1.0))}))
