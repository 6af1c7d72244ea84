"""Downloads: the setting that is shown, for people, for `simulate --config`, and for the boxes."""

import json

import yaml

from signalstorm.envs.model import scenario_file
from signalstorm.envs.model.knobs import resolve
from signalstorm.experiments.export.what_if import what_if_files
from signalstorm.experiments.serve.moves import Changed


def contents(changed: Changed) -> dict[str, str]:
    """Return what can be downloaded of a storm, by the name of the file.

    Raises:
        InputError: If no command can set a value.
    """
    setting = dict(changed.setting)
    present = resolve({}, changed.scenario)
    return {
        "setting.yaml": yaml.safe_dump(setting, sort_keys=False),
        "setting.json": json.dumps(setting, indent=2, allow_nan=False) + "\n",
        "scenario.yaml": scenario_file.dump(changed.scenario),
        **what_if_files(changed.scenario.name, present, changed.setting),
    }
