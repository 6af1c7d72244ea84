"""Short storms behind signalling links, for tests."""

from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.model.scenario_file import load


def short(**changes: object) -> Scenario:
    """Two links of the incident's kind, one to each STP; they are in use from the start."""
    data = load("incident-2014").model_dump(mode="json", exclude={"fitted", "variation"})
    links = {"stps": 2, "links_per_stp": 1, "window_updates": [], **changes}
    data["topology"]["links"] |= links
    return Scenario.model_validate(
        {**data, "name": "short", "horizon_s": 600.0, "convergence": {}, "control_interval_s": 60.0}
    )
