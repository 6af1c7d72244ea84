"""The scenario that a name stands for where storms are drawn: its own, or that of an environment."""

from signalstorm.envs.families import FAMILIES
from signalstorm.envs.model.errors import wrong_input
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.registry import options_of, resolve_id


def scenario_of(what: str) -> Scenario:
    """Return the scenario of a comparison: one by its name or path, or that of an environment on drawn storms.

    Args:
        what: A scenario's name or path, or an environment's id.

    Raises:
        InputError: If there is no such thing, or the environment plays a storm that is not drawn.
    """
    family, variant = resolve_id(what)
    options = options_of(family, variant)
    if family not in FAMILIES:
        return options.scenario
    loop = options.scenario.loop
    if not options.vary or loop is None:
        rule = "a comparison needs an environment on storms that are drawn"
        raise wrong_input(rule, what, f"such as {family}Randomised, or the name of a scenario", key="--scenario")
    return options.scenario
