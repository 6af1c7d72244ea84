"""Who makes environments from Python hears that the first step compiles the model, as on the command line."""

import logging

from signalstorm.envs.model import batch

_MODEL = logging.getLogger(batch.__name__)
_PACKAGE = logging.getLogger("signalstorm")


def announce_compiling() -> None:
    """Let the model's announcements reach stderr, unless this process has said what it wants to hear.

    Whoever gives the package's log a level (the command line does; quiet is ``WARNING``), or lets pass what the model
    says, is not interfered with.
    """
    if _PACKAGE.level != logging.NOTSET or _MODEL.isEnabledFor(logging.INFO):
        return
    if not _MODEL.hasHandlers():
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))
        _MODEL.addHandler(handler)
    _MODEL.setLevel(logging.INFO)
