"""What is said while the model is compiled."""

import logging

from signalstorm.experiments.serve.announcements import Announcements

MODEL = logging.getLogger("signalstorm.envs.model.batch")


def test_compilation_is_announced_until_it_is_done() -> None:
    heard = Announcements()
    try:
        assert heard.latest == ""
        MODEL.info("compiling the model for this machine (storms in tiles of %d); once, about 15 s ...", 1)
        assert heard.latest.startswith("compiling the model for this machine")
        MODEL.info("compiled in %.0f s", 14)
        assert heard.latest == ""
    finally:
        heard.close()
        MODEL.setLevel(logging.NOTSET)
