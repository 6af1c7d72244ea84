"""Downloads: the setting that is shown, for people, for `simulate --config`, and for the boxes."""

import json

import yaml

from signalstorm.envs.model import scenario_file
from signalstorm.envs.model.knobs import resolve
from signalstorm.experiments.export.what_if import what_if_files
from signalstorm.experiments.serve.moves import Changed

_OWN = {
    "setting.yaml": lambda changed: yaml.safe_dump(dict(changed.setting), sort_keys=False),
    "setting.json": lambda changed: json.dumps(dict(changed.setting), indent=2, allow_nan=False) + "\n",
    "scenario.yaml": lambda changed: scenario_file.dump(changed.scenario),
}


def names(changed: Changed) -> list[str]:
    """Return the names of the files that can be downloaded of a storm.

    Raises:
        InputError: If no command can set a value.
    """
    return [*_OWN, *_commands(changed)]


def content(changed: Changed, name: str) -> str | None:
    """Return what a file holds; None if there is no such file.

    Raises:
        InputError: If no command can set a value.
    """
    write = _OWN.get(name)
    return write(changed) if write is not None else _commands(changed).get(name)


def _commands(changed: Changed) -> dict[str, str]:
    return what_if_files(changed.scenario.name, resolve({}, changed.scenario), changed.setting)
