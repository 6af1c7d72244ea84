"""Policies and rules as contestants: a folder with a bundle and its environment, and a file with a table."""

from pathlib import Path

from signalstorm.agents import rule_file
from signalstorm.agents.bundle import FACTS, WEIGHTS, Bundle, load
from signalstorm.agents.learnt import Learnt
from signalstorm.agents.plant import plant_of
from signalstorm.agents.steering import Lawful
from signalstorm.envs.model.batch import Batch
from signalstorm.envs.model.errors import ABSENT, wrong_input
from signalstorm.envs.model.parameters import setting_matrix
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.options import Options
from signalstorm.envs.registry import options_of

TRAINING = "training.yaml"
"""The file by which a training's run is told."""


def find_policy(thing: str, scenario: Scenario | None) -> Learnt | None:
    """Return the policy of a folder, of one of its files, or of the run that trained it; None if there is none.

    Args:
        thing: The folder or file.
        scenario: What it is to be run in; None: what it was trained on.

    Raises:
        InputError: If the bundle is damaged, or means something else in the scenario.
    """
    path = Path(thing)
    for folder in (path, path / "policy", path.parent):
        known = path.name in (FACTS, WEIGHTS) if folder == path.parent else folder.is_dir()
        if known and any((folder / name).is_file() for name in (FACTS, WEIGHTS)):
            bundle = load(folder)
            found = Learnt(bundle, options_for(bundle, scenario), name_of(folder))
            if scenario is not None:
                _check_fits(found, scenario)
            return found
    if (path / TRAINING).is_file():
        rule = "holds a training without a policy: the folder policy is missing"
        raise wrong_input(rule, ABSENT, "let train go on until its first evaluation", file=thing)
    return None


def _check_fits(learnt: Learnt, scenario: Scenario) -> None:
    """Give the policy a hand on one storm that is never played: whatever does not fit is refused now."""
    setting = setting_matrix([learnt.start(scenario)], scenario)
    learnt.hand(scenario, Batch([scenario], [0], setting, threads=1), [scenario])


def find_rule(thing: str, scenario: Scenario) -> Lawful | None:
    """Return the rule of a file that holds a table, None if it is none.

    Raises:
        InputError: If the table is wrong, or of another knob than the scenario's loop moves.
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
    return Lawful(rule.law, rule.name)


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
