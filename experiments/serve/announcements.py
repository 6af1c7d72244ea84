"""Announcements: what the model says while it is compiled, for viewers who wait for their first storm."""

import logging

_MODEL = "signalstorm.envs.model.batch"
_ENDS = "compiled in"


class Announcements(logging.Handler):
    """Keeps what the model last announced, until that is done."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.latest = ""
        """What is going on; empty when nothing is."""
        logger = logging.getLogger(_MODEL)
        logger.addHandler(self)
        if logger.getEffectiveLevel() > logging.INFO:
            logger.setLevel(logging.INFO)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep an announcement, or forget it."""
        text = record.getMessage()
        self.latest = "" if text.startswith(_ENDS) else text

    def close(self) -> None:
        """Stop listening."""
        logging.getLogger(_MODEL).removeHandler(self)
        super().close()
