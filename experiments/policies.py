"""Policies and rules as contestants: a folder with a bundle and its environment, and a file with a table."""

from dataclasses import replace
from pathlib import Path

from signalstorm.agents import rule_file
from signalstorm.agents.bundle import FACTS, WEIGHTS, Bundle, check_fits, load
from signalstorm.agents.learnt import Learnt
from signalstorm.agents.origin import BASIS, Origin
from signalstorm.agents.plant import plant_of
from signalstorm.agents.steering import Lawful
from signalstorm.envs.model.batch import Batch
from signalstorm.envs.model.errors import ABSENT, InputError, wrong_input
from signalstorm.envs.model.parameters import setting_matrix
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.options import Options
from signalstorm.envs.registry import options_of
from signalstorm.experiments.run_folder import model_hash

TRAINING = "training.yaml"
"""The file by which a training's run is told."""


def find_policy(thing: str, scenario: Scenario | None, *, transfer: bool = False) -> Learnt | None:
    """Return the policy of a folder, of one of its files, or of the run that trained it; None if there is none.

    Args:
        thing: The folder or file.
        scenario: What it is to be run in; None: what it was trained on.
        transfer: Whether a policy of another scenario or another model will do.

    Raises:
        InputError: If the bundle is damaged, means something else in the scenario, or, without `transfer`, was trained
            on another one or on another model.
    """
    path = Path(thing)
    for folder in (path, path / "policy", path.parent):
        known = path.name in (FACTS, WEIGHTS) if folder == path.parent else folder.is_dir()
        if known and any((folder / name).is_file() for name in (FACTS, WEIGHTS)):
            return _fitting(load(folder), name_of(folder), scenario, transfer=transfer)
    if (path / TRAINING).is_file():
        rule = "holds a training without a policy: the folder policy is missing"
        raise wrong_input(rule, ABSENT, "let train go on until its first evaluation", file=thing)
    return None


def _fitting(bundle: Bundle, name: str, scenario: Scenario | None, *, transfer: bool) -> Learnt:
    """Return a policy that is what it takes to be run, or refuse it."""
    basis = None if scenario is None else basis_of(scenario.name, scenario.hash())
    try:
        learnt = Learnt(bundle, options_for(bundle, scenario), name)
        played = learnt.options.scenario
        batch = Batch([played], [0], setting_matrix([learnt.start(played)], played), threads=1)
        meant = learnt.interface(batch)
    except InputError:
        if basis is not None:
            check_fits(bundle, basis, transfer=transfer)  # another scenario says it better than what follows from it
        raise
    differs = check_fits(bundle, {**meant, **(basis or basis_of(played.name, played.hash()))}, transfer=transfer)
    if scenario is not None:
        learnt.hand(scenario, batch, [scenario])  # refuses what a comparison does not move
    facts = {fact: bundle.facts.get(fact) for fact in BASIS}
    return replace(learnt, origin=Origin("policy", name, str(bundle.path), bundle.facts["sha256"], facts, differs))


def basis_of(name: str, scenario_hash: str) -> dict[str, str]:
    """Return what something learnt is to be of here, by `origin.BASIS`.

    Args:
        name: The scenario's name.
        scenario_hash: The scenario's hash.
    """
    return dict(zip(BASIS, (name, scenario_hash, model_hash()), strict=True))


def find_rule(thing: str, scenario: Scenario, *, transfer: bool = False) -> Lawful | None:
    """Return the rule of a file that holds a table, None if it is none.

    Args:
        thing: The file.
        scenario: What it is to be run in.
        transfer: Whether a rule that was distilled on another scenario will do.

    Raises:
        InputError: If the table is wrong, of another knob than the scenario's loop moves, or, without `transfer`, was
            distilled on another scenario.
    """
    path = Path(thing)
    if not rule_file.is_rule(path):
        return None
    rule, plant = rule_file.load(path), plant_of(scenario)
    if rule.knob != plant.knob or not plant.is_rate:
        way_out = f"give a rule for {plant.knob}" if plant.is_rate else "no table of rates steers it"
        raise wrong_input(
            f"must be of {plant.knob}, which {scenario.name} moves", rule.knob, way_out, file=thing, key="knob"
        )
    here = basis_of(scenario.name, scenario.hash())
    return Lawful(rule.law, rule.name, rule_file.origin_of(rule, path, here, transfer=transfer))


def name_of(folder: Path) -> str:
    """Return what tables call a policy: the name of its run."""
    return folder.resolve().parent.name if folder.name == "policy" else folder.name


def options_for(bundle: Bundle, scenario: Scenario | None) -> Options:
    """Return the environment of a bundle, around a scenario, or around its own.

    Raises:
        InputError: If the scenario cannot be played so.
    """
    made = bundle.facts["environment"]
    changes = made["changes"] if scenario is None else {**made["changes"], "scenario": scenario}
    return options_of(made["family"], made["variant"], **changes)
