"""``signalstorm versions``: what a bug report and a run folder need to name."""

import platform
from importlib import metadata

from signalstorm import __version__
from signalstorm.cli.common import AsJson, Quiet, Verbose, start

PACKAGES = ("numpy", "numba", "llvmlite", "pydantic", "optuna", "gymnasium", "stable-baselines3", "torch")
"""The packages on which results and speed depend."""


def installed_versions() -> dict[str, str | None]:
    """Return the version of this package, of Python, of the machine and of each package; None if absent."""
    found: dict[str, str | None] = {
        "signalstorm": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
    }
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = None
    return found


def versions(as_json: AsJson = False, quiet: Quiet = False, verbose: Verbose = False) -> None:
    """Print the versions of signalstorm, Python and the packages that results depend on."""
    output = start(as_json=as_json, quiet=quiet, verbose=verbose)
    found = installed_versions()
    width = max(map(len, found))
    output.result(found, "\n".join(f"{name:{width}}  {value or '-'}" for name, value in found.items()))
