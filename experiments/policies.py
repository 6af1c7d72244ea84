"""Policies as contestants: a folder that holds a bundle, and the environment that it was trained in."""

from pathlib import Path

from signalstorm.agents.bundle import FACTS, Bundle, load
from signalstorm.agents.learnt import Learnt
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.options import Options
from signalstorm.envs.registry import options_of


def find_policy(thing: str, scenario: Scenario) -> Learnt | None:
    """Return the policy of a folder, of one of its files, or of the run that trained it; None if there is none.

    Raises:
        InputError: If the bundle is damaged, or means something else in the scenario.
    """
    path = Path(thing)
    for folder in (path, path / "policy", path.parent):
        if (folder / FACTS).is_file() and (folder == path or folder.parent == path or path.name.startswith("policy.")):
            bundle = load(folder)
            return Learnt(bundle, options_for(bundle, scenario), name_of(folder))
    return None


def name_of(folder: Path) -> str:
    """Return what tables call a policy: the name of its run."""
    return folder.resolve().parent.name if folder.name == "policy" else folder.name


def options_for(bundle: Bundle, scenario: Scenario) -> Options:
    """Return the environment of a bundle, around a scenario.

    Raises:
        InputError: If the scenario cannot be played so.
    """
    made = bundle.facts["environment"]
    changes = {**made["changes"], "scenario": scenario}
    return options_of(made["family"], made["variant"], **changes)
