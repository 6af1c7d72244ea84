"""Signalling storms in mobile core networks: a simulator, controllers and a search for the best settings.

The import registers the environments with Gymnasium, which it does not load itself. The public functions are loaded
when they are first used, so ``import signalstorm`` is quick and pulls in neither Numba nor pydantic nor torch.
"""

from importlib import import_module
from typing import Any

from signalstorm.envs import families

__version__ = "0.1.0"

_PUBLIC = {
    "calibrate": "signalstorm.experiments.calibrate:calibrate",
    "compare": "signalstorm.experiments.compare:compare",
    "export": "signalstorm.experiments.export:export",
    "make_sb3_vec": "signalstorm.envs.sb3:make_sb3_vec",
    "simulate": "signalstorm.experiments.simulate:simulate",
    "train": "signalstorm.experiments.train:train",
    "tune": "signalstorm.experiments.tune:tune",
    "tune_together": "signalstorm.experiments.together:tune_together",
    "tune_training": "signalstorm.experiments.tune_training:tune_training",
}
"""Where each public name lives, as ``module:attribute``."""

__all__ = ["__version__", *_PUBLIC]


def __getattr__(name: str) -> Any:
    """Load a public name on first use and keep it."""
    if name not in _PUBLIC:
        raise AttributeError(f"module 'signalstorm' has no attribute {name!r}")
    module, attribute = _PUBLIC[name].split(":")
    try:
        value = getattr(import_module(module), attribute)
    except ModuleNotFoundError as error:
        if error.name not in ("stable_baselines3", "sb3_contrib", "torch"):
            raise
        raise ImportError(f"{name} needs the extra `rl`: pip install 'signalstorm[rl]'") from error
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted({*globals(), *_PUBLIC})


families.register_with_gymnasium()
